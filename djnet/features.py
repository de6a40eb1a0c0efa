"""Samples -> log-mel. The one log-mel, for training and for medleys alike."""

from functools import cache

import numpy as np
import scipy.fft
import scipy.signal
import scipy.sparse

from djnet.constants import HOP_SAMPLES, LOG_GAIN, MEL_BINS, SAMPLE_RATE_HZ, WINDOW_SAMPLES
from djnet.errors import UserError

HALF_WINDOW = WINDOW_SAMPLES // 2
SHORTEST_SAMPLES = HALF_WINDOW + 1  # fewer cannot be mirrored

# Frames are transformed in blocks of one size: small enough for the processor's cache, and always the same, so that
# a frame's value does not depend, to the bit, on how many frames stand before or after it.
_BLOCK_FRAMES = 64


def log_mel(samples: np.ndarray, window: str = "hamming") -> np.ndarray:
    """Log-mel spectrogram: float32 [N] -> float32 [T, 128], T = 1 + N // 512; the release has a "hann" window.

    Frame t is centred on sample 512 t and sees the 2,048 samples around it. Beyond both ends the samples are mirrored
    (as librosa does by default), so the features of a fragment are a function of its own samples and of no others.
    """
    if samples.ndim != 1 or len(samples) < SHORTEST_SAMPLES:
        raise ValueError(f"log_mel needs mono samples, at least {SHORTEST_SAMPLES}, and got shape {samples.shape}.")
    mirrored = np.pad(samples, HALF_WINDOW, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(mirrored, WINDOW_SAMPLES)[::HOP_SAMPLES]
    mel = mel_of_windows(windows, window)
    if not np.isfinite(mel).all():
        raise UserError(f"Samples as large as {np.abs(samples).max():.3g} have no log-mel that is a number.")
    return mel


def mel_of_windows(windows: np.ndarray, window: str = "hamming") -> np.ndarray:
    """The log-mel of every window of 2,048 samples: float32 [T, 2048] -> float32 [T, 128]."""
    mel = np.empty((len(windows), MEL_BINS), np.float32)
    block = np.zeros((_BLOCK_FRAMES, WINDOW_SAMPLES), np.float32)
    power, imaginary = np.empty((2, _BLOCK_FRAMES, HALF_WINDOW + 1), np.float32)
    for first in range(0, len(windows), _BLOCK_FRAMES):
        count = min(_BLOCK_FRAMES, len(windows) - first)
        np.multiply(windows[first : first + count], analysis_window(window), out=block[:count])
        spectrum = scipy.fft.rfft(block)
        np.square(spectrum.real, out=power)
        np.square(spectrum.imag, out=imaginary)
        np.add(power, imaginary, out=power)
        # Sparse: a bin belongs to two filters, and (unlike a dense product) every column is added up the same way.
        mel[first : first + count] = (_sparse_filters() @ power.T).T[:count]
    mel *= np.float32(LOG_GAIN)
    mel += np.float32(1.0)
    return np.log(mel, out=mel)


@cache
def analysis_window(name: str = "hamming") -> np.ndarray:
    """The paper's Hamming window or another by its name, periodic as usual in a spectrogram: float32 [2048]."""
    return scipy.signal.get_window(name, WINDOW_SAMPLES).astype(np.float32)


@cache
def mel_filters(bins: int = MEL_BINS, rate: int = SAMPLE_RATE_HZ, window: int = WINDOW_SAMPLES) -> np.ndarray:
    """Triangles of equal area on Slaney's mel scale, to the bit as librosa's: float32 [bins, 1 + window // 2]."""
    # Linear up to 1,000 Hz, 15 mel; then logarithmic, 27 mel from 1,000 to 6,400 Hz.
    step = np.log(6.4) / 27.0
    mel = np.linspace(0.0, 15.0 + np.log(rate / 2 / 1000.0) / step, bins + 2)
    hz = np.where(mel < 15.0, 200.0 / 3 * mel, 1000.0 * np.exp(step * (mel - 15.0)))
    ramps = hz[:, None] - np.fft.rfftfreq(window, 1.0 / rate)
    widths = np.diff(hz)[:, None]
    filters = np.maximum(0, np.minimum(-ramps[:-2] / widths[:-1], ramps[2:] / widths[1:])).astype(np.float32)
    filters *= (2.0 / (hz[2:] - hz[:-2]))[:, None]
    return filters


@cache
def _sparse_filters() -> scipy.sparse.csr_matrix:
    return scipy.sparse.csr_matrix(mel_filters())
