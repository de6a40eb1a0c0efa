"""Where in a song somebody sings: the tag network of musicnn, in NumPy.

The network was trained on MagnaTagATune, whose tags say whether a clip has voices. Its weights (ISC licence, see
voices.txt) are kept in half precision, with only the output that is needed: how much more likely the tags vocal,
vocals, voice and singing are than no vocal, no vocals and no voice (Pons and Serra 2019, arXiv:1909.06654).
"""

from functools import cache
from pathlib import Path

import numpy as np
import scipy.fft
import scipy.signal

from djnet.features import mel_filters

RATE_HZ = 16_000
HOP_SAMPLES = 62 * 256  # from one value of the curve to the next, 0.99 s
CONTEXT_HOPS = 3  # on each side, that a value depends on
_WINDOW, _MEL_HOP, _MEL_BINS = 512, 256, 96
_AROUND_FRAMES = 93  # on each side, that are pooled: 3 s in all
_BLOCK_FRAMES = 32
_STRIDE = 2  # every second frame of the front end tells as much, in half the time
_FILE = Path(__file__).with_name("voices.npz")


def is_installed() -> bool:
    """Whether the weights are there."""
    return _FILE.exists()


def voices_of(samples: np.ndarray) -> np.ndarray:
    """How likely somebody sings, about once a second: float32 [N] at 16,000 Hz -> float32 [1 + N // 15,872]."""
    frames = _features(_log_mel(samples))
    weights = _weights()
    pooled = []
    for place in range(0, len(samples) + 1, HOP_SAMPLES):
        middle = place // _MEL_HOP
        near = frames[max(0, middle - _AROUND_FRAMES) : middle + _AROUND_FRAMES + 1]
        pooled.append(np.stack([near.max(axis=0), near.mean(axis=0)], axis=1).ravel())
    hidden = np.maximum(_normal(np.array(pooled), 9) @ weights["dense"] + weights["dense_bias"], 0)
    odds = _normal(hidden, 10) @ weights["voices"] + weights["voices_bias"]
    return (1 / (1 + np.exp(-odds))).astype(np.float32)


def _log_mel(samples: np.ndarray) -> np.ndarray:
    """The network's own log-mel: [N] -> [1 + N // 256, 96]."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(samples, _WINDOW // 2), _WINDOW)[::_MEL_HOP]
    hann = scipy.signal.get_window("hann", _WINDOW).astype(np.float32)
    power = np.abs(scipy.fft.rfft(windows * hann)) ** 2
    return np.log10(10_000 * (power @ mel_filters(_MEL_BINS, RATE_HZ, _WINDOW).T) + 1).astype(np.float32)


def _features(mel: np.ndarray) -> np.ndarray:
    """Front end (timbre, rhythm) and three layers above it, side by side: [T, 96] -> [T, 753]."""
    mel = _normal(mel, 0)
    front = np.concatenate([_highest(mel, layer) for layer in range(5)], axis=1)
    first = _layer(front, 5)
    second = first + _layer(first, 6)
    return np.concatenate([front, first, second, second + _layer(second, 7)], axis=1)


def _highest(mel: np.ndarray, layer: int) -> np.ndarray:
    """The highest answer of each filter over all bins it can be moved to: [T, 96] -> [T, filters]."""
    weights = _weights()
    kernel, bias = weights[f"kernel_{layer}"], weights[f"bias_{layer}"]
    scale, shift = weights[f"scale_{layer + 1}"], weights[f"shift_{layer + 1}"]
    # Where the normalisation turns a filter around, its lowest answer is the highest: the filter is turned before.
    sign = np.where(scale < 0, -1, 1).astype(np.float32)
    length, width, filters = kernel.shape
    padded = np.pad(mel, (((length - 1) // 2, length // 2), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (length, width))[::_STRIDE]
    flat = kernel.reshape(-1, filters) * sign
    best = np.empty((len(windows), filters), np.float32)
    for first in range(0, len(windows), _BLOCK_FRAMES):
        block = windows[first : first + _BLOCK_FRAMES]
        answers = block.reshape(-1, length * width) @ flat
        best[first : first + len(block)] = answers.reshape(len(block), -1, filters).max(axis=1)
    best = np.maximum(best * sign + bias, 0) * scale + shift
    return np.repeat(best, _STRIDE, axis=0)[: len(mel)]


def _layer(values: np.ndarray, layer: int) -> np.ndarray:
    """A convolution over seven frames: [T, C] -> [T, 64]."""
    weights = _weights()
    kernel = weights[f"kernel_{layer}"]
    padded = np.pad(values, ((3, 3), (0, 0)))
    answers = sum(padded[k : k + len(values)] @ kernel[k] for k in range(len(kernel)))
    return _normal(np.maximum(answers + weights[f"bias_{layer}"], 0), layer + 1)


def _normal(values: np.ndarray, number: int) -> np.ndarray:
    """Batch normalisation with the moments of training, as a scale and a shift."""
    return values * _weights()[f"scale_{number}"] + _weights()[f"shift_{number}"]


@cache
def _weights() -> dict[str, np.ndarray]:
    with np.load(_FILE, allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}
