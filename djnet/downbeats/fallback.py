"""Beats where madmom cannot be had: less reliable, and a bar is taken to have four beats unless somebody knows better.

Onsets are rises of the spectrum; a steady tempo is the lag at which they repeat; dynamic programming places the beats
on onsets about that far apart (Ellis, 2007). librosa does the same, but brings 200 MB more than the app has.
"""

import numpy as np

from djnet.constants import HOPS_PER_SECOND

_SLOWEST_BPM, _FASTEST_BPM, _LIKELIEST_BPM = 55.0, 215.0, 120.0
_TIGHTNESS = 100.0  # how much a beat at another distance than the tempo's costs
_LOW_BANDS = 20  # of 128: bass and bass drum, strongest at the beginning of a bar
_FEWEST = 8
_STEADY = 0.1  # of the onsets' energy repeats at the tempo's lag; less is no beat


def track(mel: np.ndarray, bpm: float | None = None, meter: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Beats of music by its log-mel: [T, 128] -> float [K, 2] (seconds, position in the bar) and strengths [K].

    Both are empty where no tempo is found, nor given.
    """
    rises = np.maximum(np.diff(mel.astype(np.float32), axis=0, prepend=0), 0)
    rises[0] = 0
    onsets = rises.mean(axis=1)
    period = 60 * HOPS_PER_SECOND / bpm if bpm else _period(onsets)
    if period is None or len(onsets) < 4 * period or not onsets.any():
        return np.zeros((0, 2)), np.zeros(0)
    frames = _beats(onsets / onsets.std(), period)
    if len(frames) < _FEWEST:
        return np.zeros((0, 2)), np.zeros(0)
    low = rises[frames, :_LOW_BANDS].mean(axis=1)
    first = int(np.argmax([low[i::meter].mean() for i in range(meter)]))
    positions = (np.arange(len(frames)) - first) % meter + 1
    strengths = onsets[frames] / onsets[frames].max()
    return np.stack([frames / HOPS_PER_SECOND, positions], axis=1), strengths


def _period(onsets: np.ndarray) -> float | None:
    """Frames between beats, None without a steady tempo: [T] -> float."""
    centred = onsets - onsets.mean()
    shortest, longest = (int(60 * HOPS_PER_SECOND / bpm) for bpm in (_FASTEST_BPM, _SLOWEST_BPM))
    energy = float(centred @ centred)
    if len(onsets) < 4 * longest or energy == 0:
        return None
    lags = np.arange(shortest, longest + 1)
    repeats = np.array([centred[lag:] @ centred[:-lag] for lag in lags]) / energy
    octaves = np.log2(60 * HOPS_PER_SECOND / lags / _LIKELIEST_BPM)
    weighted = repeats * np.exp(-0.5 * np.square(octaves))
    best = int(np.argmax(weighted))
    if repeats[best] < _STEADY:
        return None
    if 0 < best < len(lags) - 1:  # the peak of a parabola through three lags
        left, middle, right = weighted[best - 1 : best + 2]
        return float(lags[best] + 0.5 * (left - right) / (left - 2 * middle + right))
    return float(lags[best])


def _beats(onsets: np.ndarray, period: float) -> np.ndarray:
    """Frames of the beats that lie best on onsets and about a period apart: [T] -> int [K]."""
    lags = np.arange(round(period / 2), round(2 * period) + 1)
    costs = _TIGHTNESS * np.square(np.log(lags / period))
    scores, came_from = onsets.astype(float), np.full(len(onsets), -1)
    for t in range(lags[-1], len(onsets)):
        ways = scores[t - lags] - costs
        best = int(np.argmax(ways))
        scores[t] += ways[best]
        came_from[t] = t - lags[best]
    frame = int(len(scores) - lags[-1] + np.argmax(scores[-lags[-1] :]))
    frames = []
    while frame >= 0:
        frames.append(frame)
        frame = int(came_from[frame])
    return np.array(frames[::-1])
