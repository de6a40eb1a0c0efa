"""The key of a recording, and how near two keys are on the circle of fifths."""

from functools import cache

import numpy as np
import scipy.fft
import scipy.signal

NAMES = ("C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B")
CHROMA_HOP = 4096  # samples from one frame of chroma to the next
# How well each degree of the chromatic scale fits a key, from listening tests (Krumhansl and Kessler 1982).
_MAJOR = (6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88)
_MINOR = (6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17)
_WINDOW = 2 * CHROMA_HOP
_BLOCK_FRAMES = 64  # of chroma, computed at once


def key_of(samples: np.ndarray, rate: int) -> str:
    """The key of a mono recording [N]: "C", "Am", ...; empty if all tones are equally strong."""
    return best_fit(chroma_of(samples, rate).mean(axis=0))


def chroma_of(samples: np.ndarray, rate: int) -> np.ndarray:
    """Strength of the twelve tones from C on, the strongest 1 in every frame (librosa's chroma): [N] -> [T, 12]."""
    padded = np.pad(samples, _WINDOW // 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[:: _WINDOW // 2]
    hann = scipy.signal.get_window("hann", _WINDOW).astype(np.float32)
    blocks = [windows[first : first + _BLOCK_FRAMES] for first in range(0, len(windows), _BLOCK_FRAMES)]
    tones = np.concatenate(
        [_tone_filters(rate) @ (np.abs(scipy.fft.rfft(own * hann)) ** 2).T for own in blocks], axis=1
    )
    return (tones / np.maximum(tones.max(axis=0), np.finfo(np.float32).tiny)).T


@cache
def _tone_filters(rate: int) -> np.ndarray:
    """How much every bin of a spectrum belongs to each of the twelve tones: [12, bins] (Ellis 2007).

    A bell around each tone in every octave, as wide as a semitone or a bin, and a wide one around the octave of 880 Hz.
    """
    place = 12 * np.log2(np.arange(1, _WINDOW) * (rate / _WINDOW) / 27.5)  # in semitones above A0
    place = np.concatenate([[place[0] - 18], place])
    width = np.concatenate([np.maximum(np.diff(place), 1.0), [1.0]])
    distance = (place - np.arange(12)[:, None] + 6) % 12 - 6
    filters = np.exp(-0.5 * (2 * distance / width) ** 2)
    filters *= np.exp(-0.5 * ((place / 12 - 5) / 2) ** 2) / np.linalg.norm(filters, axis=0)
    return np.roll(filters, -3, axis=0)[:, : 1 + _WINDOW // 2].astype(np.float32)


def best_fit(chroma: np.ndarray) -> str:
    """The key whose profile correlates best with the strength of the twelve tones from C on: [12] -> its name."""
    if not np.isfinite(chroma).all() or np.ptp(chroma) < 1e-9:
        return ""
    mode, root = divmod(int(_fits(chroma).argmax()), 12)
    return NAMES[root] + "m" * mode


def relatedness(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How alike two chromas fit all keys: [..., 12] twice -> [...], 1 for the same key, 0 for opposite ones.

    Krumhansl's measure of how near two keys are, for music whose key is not certain.
    """
    return (1 + (_standard(_fits(a)) * _standard(_fits(b))).mean(axis=-1)) / 2


def _fits(chroma: np.ndarray) -> np.ndarray:
    """Correlation with the profiles of the major keys from C on, then the minor keys: [..., 12] -> [..., 24]."""
    profiles = np.array([np.roll(profile, root) for profile in (_MAJOR, _MINOR) for root in range(12)])
    return _standard(chroma) @ _standard(profiles).T / 12


def _standard(values: np.ndarray) -> np.ndarray:
    """Mean 0 and standard deviation 1 along the last axis."""
    values = np.asarray(values, np.float64)
    return (values - values.mean(axis=-1, keepdims=True)) / (values.std(axis=-1, keepdims=True) + 1e-12)


def closeness(a: str, b: str) -> float:
    """1 for the same key or its relative, 1/6 less for every fifth between them; 0 if one is unknown."""
    if not a or not b:
        return 0.0
    steps = (_fifths(a) - _fifths(b)) % 12
    return 1.0 - min(steps, 12 - steps) / 6


def transposed(key: str, semitones: int) -> str:
    """The name of a key some semitones higher: "C", 1 -> "Db"."""
    if not key:
        return ""
    minor = key.endswith("m")
    return NAMES[(NAMES.index(key.removesuffix("m")) + semitones) % 12] + "m" * minor


def _fifths(key: str) -> int:
    """Place on the circle of fifths; a minor key stands with its relative major."""
    root = NAMES.index(key.removesuffix("m")) + (3 if key.endswith("m") else 0)
    return root * 7 % 12
