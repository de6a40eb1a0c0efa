"""Samples -> log-mel. The one log-mel, for training and for medleys alike."""

from functools import cache

import numpy as np
import scipy.fft
import scipy.signal
import scipy.sparse

from djnet.constants import HOP_SAMPLES, LOG_GAIN, MEL_BINS, SAMPLE_RATE_HZ, WINDOW_SAMPLES

# Frames are transformed in blocks of one size: small enough for the processor's cache, and always the same, so that
# a frame's value does not depend, to the bit, on how many frames stand before or after it.
_BLOCK_FRAMES = 64


def count_frames(samples: int) -> int:
    """How many whole windows fit into that many samples."""
    return max(0, 1 + (samples - WINDOW_SAMPLES) // HOP_SAMPLES)


def log_mel(samples: np.ndarray) -> np.ndarray:
    """Log-mel spectrogram: float32 [N] -> float32 [T, 128], T = 1 + (N - 2048) // 512.

    Frame t sees the samples [512 t, 512 t + 2048) and no others: there is no padding, so a fragment's features are
    a function of the fragment's own samples.
    """
    if samples.ndim != 1 or len(samples) < WINDOW_SAMPLES:
        raise ValueError(f"log_mel needs mono samples, at least {WINDOW_SAMPLES}, and got shape {samples.shape}.")
    windows = np.lib.stride_tricks.sliding_window_view(samples, WINDOW_SAMPLES)[::HOP_SAMPLES]
    mel = np.empty((len(windows), MEL_BINS), np.float32)
    block = np.zeros((_BLOCK_FRAMES, WINDOW_SAMPLES), np.float32)
    power, imaginary = np.empty((2, _BLOCK_FRAMES, WINDOW_SAMPLES // 2 + 1), np.float32)
    for first in range(0, len(windows), _BLOCK_FRAMES):
        count = min(_BLOCK_FRAMES, len(windows) - first)
        np.multiply(windows[first : first + count], _window(), out=block[:count])
        spectrum = scipy.fft.rfft(block)
        np.square(spectrum.real, out=power)
        np.square(spectrum.imag, out=imaginary)
        np.add(power, imaginary, out=power)
        # Sparse: a bin belongs to two filters, and (unlike a dense product) every column is added up the same way.
        mel[first : first + count] = (_filterbank() @ power.T).T[:count]
    mel *= np.float32(LOG_GAIN)
    mel += np.float32(1.0)
    return np.log(mel, out=mel)


@cache
def _window() -> np.ndarray:
    """The paper's Hamming window, periodic as usual in a spectrogram: [2048]."""
    return scipy.signal.get_window("hamming", WINDOW_SAMPLES).astype(np.float32)


@cache
def _filterbank() -> scipy.sparse.csr_matrix:
    """Librosa's mel filters: sparse [128, 1025]."""
    import librosa.filters

    return scipy.sparse.csr_matrix(librosa.filters.mel(sr=SAMPLE_RATE_HZ, n_fft=WINDOW_SAMPLES, n_mels=MEL_BINS))
