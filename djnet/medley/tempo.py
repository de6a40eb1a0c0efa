"""Beats -> tempo, bars and which of them are clear, and beat times more exact than the tracker's frames."""

import itertools
from typing import NamedTuple

import numpy as np

_SMOOTHING_BEATS = 4
# Mean beat probability from which on beats are trusted: any, and those as steady as a machine's.
_TRUSTED, _TRUSTED_IF_STEADY, _STEADY = 0.3, 0.15, 0.01
_TRUST_BEATS = 8
_TEMPO_TOLERANCE = 0.08  # of the length of a beat or a bar that is as long as others
_FEWEST_SLOW_BEATS = 4  # in half the tempo
_AROUND_BARS = 6  # on each side, that a bar is compared with
_BRIDGED_BARS = 8  # that may be faint between clear ones


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


def unsteadiness(lengths: np.ndarray) -> np.ndarray:
    """Median deviation from the median length of a beat, as a share of it: [..., N], NaN is no beat -> [...]."""
    median = np.nanmedian(lengths, axis=-1, keepdims=True)
    return np.nanmedian(np.abs(lengths / median - 1), axis=-1)


def undoubled(beats: np.ndarray) -> np.ndarray:
    """The same beats where a passage was followed in half the song's tempo: beats are put between them.

    [K, 2] -> [L, 2]. A tracker changes to half the tempo where few instruments are left.
    """
    lengths = np.diff(beats[:, 0])
    if len(lengths) < 2:
        return beats
    slow = np.append(np.abs(lengths / np.median(lengths) - 2) < _TEMPO_TOLERANCE * 2, False)
    slow &= _long_runs(slow, _FEWEST_SLOW_BEATS)
    meter = beats[:, 1].max()
    first = np.where(slow, 2 * (beats[:, 1] - 1) % meter + 1, beats[:, 1])
    between = np.stack([beats[:-1, 0] + lengths / 2, first[:-1] % meter + 1], axis=1)[slow[:-1]]
    together = np.concatenate([np.stack([beats[:, 0], first], axis=1), between])
    return together[np.argsort(together[:, 0], kind="stable")]


class Bars(NamedTuple):
    """Downbeats [B + 1] in seconds, and which of the bars between them have clear and even beats: bool [B]."""

    lines: np.ndarray
    clear: np.ndarray


def bars_of(beats: np.ndarray, strengths: np.ndarray) -> Bars:
    """All bars from the first clear one to the last: [K, 2], [K] -> Bars.

    A bar is clear if its beats are trusted and it is as long as those around it. One that the tracker made longer or
    shorter, because the music has a beat more or less there, is not; it parts the bars on both sides of it from each
    other, but does not end the search. A few faint bars between clear ones are clear if they are even.
    """
    places = np.flatnonzero(beats[:, 1] == 1)
    if len(places) < 2:
        return Bars(np.zeros(0), np.zeros(0, bool))
    lines, counts = beats[places, 0], np.diff(places)
    lengths = np.diff(lines)
    usual = np.array([np.median(lengths[max(0, i - _AROUND_BARS) : i + _AROUND_BARS + 1]) for i in range(len(lengths))])
    even = (counts == np.median(counts)) & (np.abs(lengths / usual - 1) < _TEMPO_TOLERANCE)
    sure = trusted(beats, strengths)
    clear = even & [bool(sure[a:b].all()) for a, b in itertools.pairwise(places)]
    gaps = even & ~clear
    clear |= gaps & ~_long_runs(~clear, _BRIDGED_BARS + 1) & _inside(clear)
    numbers = np.flatnonzero(clear)
    if len(numbers) == 0:
        return Bars(np.zeros(0), np.zeros(0, bool))
    return Bars(lines[numbers[0] : numbers[-1] + 2], clear[numbers[0] : numbers[-1] + 1])


def whole_bars(beats: np.ndarray) -> np.ndarray:
    """Downbeats of the longest run of bars that all have the same number of beats: [K, 2] -> [bars + 1]."""
    places = np.flatnonzero(beats[:, 1] == 1)
    if len(places) < 2:
        return np.zeros(0)
    meter = int(np.median(np.diff(places)))
    run = longest_run(np.diff(places) == meter)
    return beats[places[run.start : run.stop + 1], 0] if run.stop > run.start else np.zeros(0)


def _long_runs(flags: np.ndarray, least: int) -> np.ndarray:
    """Which values belong to runs of at least so many true values: bool [N] -> bool [N]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]]))).reshape(-1, 2)
    long = np.zeros(len(flags), bool)
    for first, last in edges[edges[:, 1] - edges[:, 0] >= least]:
        long[first:last] = True
    return long


def _inside(flags: np.ndarray) -> np.ndarray:
    """Which values lie between the first and the last true one: bool [N] -> bool [N]."""
    return np.logical_or.accumulate(flags) & np.logical_or.accumulate(flags[::-1])[::-1]


def trusted(beats: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Which beats to trust, by how probable they and those around them are: [K, 2], [K] -> bool [K]."""
    if len(beats) < 2:
        return strengths >= _TRUSTED_IF_STEADY
    steady = unsteadiness(_around(np.diff(beats[:, 0]), 2 * _TRUST_BEATS)) < _STEADY
    strength = np.nanmean(_around(strengths, 2 * _TRUST_BEATS + 1), axis=1)
    return strength >= np.where(steady, _TRUSTED_IF_STEADY, _TRUSTED)


def _around(values: np.ndarray, count: int) -> np.ndarray:
    """The values around each beat, `count` of them or fewer, with NaN in place of the missing ones: -> [K, count]."""
    padded = np.pad(values.astype(float), _TRUST_BEATS, constant_values=np.nan)
    return np.lib.stride_tricks.sliding_window_view(padded, count)


def longest_run(flags: np.ndarray) -> slice:
    """Where the longest run of true values lies: bool [N] -> slice, empty if there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]]))).reshape(-1, 2)
    if not len(edges):
        return slice(0, 0)
    first, last = edges[np.argmax(edges[:, 1] - edges[:, 0])]
    return slice(int(first), int(last))
