"""Beats -> tempo, how steady it is, and times more exact than the tracker's frames."""

import numpy as np

_REACH_BEATS = 4
# Probability that a tracker gives beats, from which on they are believed: any, and those of a machine's steadiness.
_CLEAR, _CLEAR_IF_STEADY, _STEADY = 0.3, 0.15, 0.01
_AROUND_BEATS = 8


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
            times[i] = max(level, 0.0)
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
    run = longest_run(np.diff(places) == meter)
    return beats[places[run.start : run.stop + 1], 0] if run.stop > run.start else np.zeros(0)


def clear(beats: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Which beats are to be believed, by how probable they and those around them are: [K, 2], [K] -> bool [K]."""
    found = np.zeros(len(beats), bool)
    for i in range(len(beats)):
        around = slice(max(0, i - _AROUND_BEATS), i + _AROUND_BEATS + 1)
        steady = unsteadiness(beats[around]) < _STEADY
        found[i] = strengths[around].mean() >= (_CLEAR_IF_STEADY if steady else _CLEAR)
    return found


def longest_run(flags: np.ndarray) -> slice:
    """Where the longest stretch of true values lies; empty if there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]]))).reshape(-1, 2)
    if not len(edges):
        return slice(0, 0)
    first, last = edges[np.argmax(edges[:, 1] - edges[:, 0])]
    return slice(int(first), int(last))
