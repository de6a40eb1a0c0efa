"""Beats -> tempo, how steady it is, and beat times more exact than the tracker's frames."""

import numpy as np

_SMOOTHING_BEATS = 4
# Mean beat probability from which on beats are trusted: any, and those as steady as a machine's.
_TRUSTED, _TRUSTED_IF_STEADY, _STEADY = 0.3, 0.15, 0.01
_TRUST_BEATS = 8


def smoothed(beats: np.ndarray) -> np.ndarray:
    """Each beat on the line through its neighbours, four on each side: [K, 2] -> [K, 2].

    A tracker answers to the nearest hundredth of a second; music that keeps its tempo over two bars is more exact than
    that. Where a beat lies further from the line than the tracker's error, the tempo is free and the beat stays.
    """
    times = beats[:, 0].copy()
    for i in range(len(beats)):
        first, last = max(0, i - _SMOOTHING_BEATS), min(len(beats), i + _SMOOTHING_BEATS + 1)
        if last - first < 4:
            continue
        offsets = np.arange(first, last) - i
        slope, level = np.polyfit(offsets, beats[first:last, 0], 1)
        if np.abs(beats[first:last, 0] - (level + slope * offsets)).max() < 0.02:
            times[i] = max(level, 0.0)
    return np.stack([times, beats[:, 1]], axis=1)


def bpm(beats: np.ndarray) -> float:
    """Beats a minute: [K, 2] -> float; 0 for fewer than two beats."""
    return float(60.0 / np.median(np.diff(beats[:, 0]))) if len(beats) > 1 else 0.0


def octaves_apart(a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
    """Distance of tempos in octaves, |log2(a / b)|, where double and half tempo count as the same: 0 to 0.5."""
    apart = np.abs(np.log2(np.maximum(a, 1.0)) - np.log2(np.maximum(b, 1.0))) % 1.0
    return np.minimum(apart, 1.0 - apart)


def unsteadiness(beats: np.ndarray) -> float:
    """Median deviation of a beat's length from the median length, as a share of it: [K, 2] -> 0 for a machine."""
    lengths = np.diff(beats[:, 0])
    if len(lengths) < 2:
        return 0.0
    return float(np.median(np.abs(lengths - np.median(lengths))) / np.median(lengths))


def whole_bars(beats: np.ndarray) -> np.ndarray:
    """Downbeats of the longest run of bars that all have the same number of beats: [K, 2] -> [bars + 1]."""
    places = np.flatnonzero(beats[:, 1] == 1)
    if len(places) < 2:
        return np.zeros(0)
    meter = int(np.median(np.diff(places)))
    run = longest_run(np.diff(places) == meter)
    return beats[places[run.start : run.stop + 1], 0] if run.stop > run.start else np.zeros(0)


def trusted(beats: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Which beats to trust, by how probable they and those around them are: [K, 2], [K] -> bool [K]."""
    around = [slice(max(0, i - _TRUST_BEATS), i + _TRUST_BEATS + 1) for i in range(len(beats))]
    needed = [_TRUSTED_IF_STEADY if unsteadiness(beats[near]) < _STEADY else _TRUSTED for near in around]
    return np.array([strengths[near].mean() for near in around]) >= needed


def longest_run(flags: np.ndarray) -> slice:
    """Where the longest run of true values lies: bool [N] -> slice, empty if there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]]))).reshape(-1, 2)
    if not len(edges):
        return slice(0, 0)
    first, last = edges[np.argmax(edges[:, 1] - edges[:, 0])]
    return slice(int(first), int(last))
