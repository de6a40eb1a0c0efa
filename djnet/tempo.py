"""Beats -> tempo, how steady it is, and times more exact than the tracker's frames."""

import numpy as np

_REACH_BEATS = 4


def smoothed(beats: np.ndarray) -> np.ndarray:
    """Each beat on the line through its neighbours, four on each side: [K, 2] -> [K, 2].

    A tracker answers to the nearest hundredth of a second; music that keeps its tempo over two bars is more exact than
    that. Where a beat lies further from the line than the tracker's error, the music is free there and the beat stays.
    """
    times = beats[:, 0].copy()
    for i in range(len(beats)):
        first, last = max(0, i - _REACH_BEATS), min(len(beats), i + _REACH_BEATS + 1)
        if last - first < 4:
            continue
        slope, level = np.polyfit(np.arange(first, last) - i, beats[first:last, 0], 1)
        errors = beats[first:last, 0] - (level + slope * (np.arange(first, last) - i))
        if np.abs(errors).max() < 0.02:
            times[i] = level
    return np.stack([times, beats[:, 1]], axis=1)


def bpm(beats: np.ndarray) -> float:
    """Beats a minute: [K, 2] -> float; 0 for fewer than two beats."""
    return float(60.0 / np.median(np.diff(beats[:, 0]))) if len(beats) > 1 else 0.0


def unsteadiness(beats: np.ndarray) -> float:
    """How far a beat's length usually is from that of the beats around it, as a share of it: 0 for a machine."""
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
    even = np.concatenate([[0], (np.diff(places) == meter).astype(int), [0]])
    edges = np.flatnonzero(np.diff(even)).reshape(-1, 2)
    if not len(edges):
        return np.zeros(0)
    first, last = edges[np.argmax(edges[:, 1] - edges[:, 0])]
    return beats[places[first : last + 1], 0]
