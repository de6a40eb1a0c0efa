"""Segments of songs in their order -> one waveform: beats matched, cross-faded on downbeats, equally loud.

In a blend the highs cross-fade with equal power, and the lows change places in the middle within a beat. Echoes have no
lows, which the next segment brings.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.signal

from djnet.medley.loudness import ClipLoudness, Span, blocks_of, equal_gains, limit
from djnet.medley.stretch import stretched
from djnet.medley.transitions import BLENDS, RATE_HZ, Join, Segment, lay_out

LOUDNESS_LUFS = -14.0
PEAK_DB = -1.1  # true peak, a little below the -1 dB that is promised

_FADE_IN_SECONDS, _FADE_OUT_SECONDS = 0.005, 2.0  # of the whole mix
_CROSSOVER_HZ = 180.0
_SUBSONIC_HZ = 10.0  # lower frequencies are not music, and would thump at a join
_FILTER_SECONDS = 0.2  # in which a filter settles
_FADE_MARGIN_SECONDS = 0.1
_LIMITER_PASSES = 3


@dataclass(frozen=True)
class Mix:
    """The mix: samples float32 [N, 2], the beats [K, 2] of every segment in seconds of the mix, and the joins."""

    samples: np.ndarray
    beats: list[np.ndarray]
    joins: list[Join]
    limited_db: float = 0.0  # the most that the limiter took from a peak

    @property
    def cuts(self) -> list[float]:
        """The middle of every join, between the beginning and the end of the mix, in seconds."""
        return [0.0, *(join.middle for join in self.joins), len(self.samples) / RATE_HZ]


def render(
    segments: Sequence[Segment], bars: int = 2, peak_db: float = PEAK_DB, done: Callable[[], object] = lambda: None
) -> Mix:
    """Join segments to one mix; blends last up to `bars` bars (no more than a third of a segment), 0 for cuts only.

    Every segment is brought to the same loudness, and so are the two sides of a join (see `equal_gains`); the limiter
    keeps the true peak below `peak_db`. `done` is called after each segment.
    """
    if not segments:
        raise ValueError("A mix needs at least one clip.")
    maps, joins = lay_out(segments, bars)
    clips = []
    for segment, time_map, spans in zip(segments, maps, _spans(joins, maps[-1][1][-1]), strict=True):
        times, blocks = blocks_of(_stereo(segment.samples), RATE_HZ)
        clips.append(ClipLoudness(np.interp(times, *time_map), blocks, *spans))
    gains = equal_gains(clips, LOUDNESS_LUFS)
    samples = np.zeros((_frames(maps[-1][1][-1]), 2), np.float32)
    for i, (segment, (source, target)) in enumerate(zip(segments, maps, strict=True)):
        places = _frames(target)
        stem = _stereo(segment.samples)
        stem = stretched(stem - _lows(stem, _SUBSONIC_HZ), source, places - places[0], RATE_HZ)
        _amplify(stem, gains[i].at(np.arange(places[0], places[-1]) / RATE_HZ))
        if i > 0:
            _fade(stem, joins[i - 1], places - places[0], rising=True)
        if i < len(joins):
            echoes = _echoes(stem, segment.last_beat, joins[i]) if joins[i].kind == "echo" else stem[:0]
            _fade(stem, joins[i], places - places[0], rising=False)
            samples[places[-1] :][: len(echoes)] += echoes[: len(samples) - places[-1]]
        samples[places[0] : places[-1]] += stem
        done()
    _fade_ends(samples)
    limited = limit(samples, 10 ** (peak_db / 20), RATE_HZ)
    for _ in range(_LIMITER_PASSES):  # what the limiter takes from the loudness of a clip is given back
        _equalise(samples, joins)
        limited += limit(samples, 10 ** (peak_db / 20), RATE_HZ)
    beats = [_moved(segment.beats, *time_map) for segment, time_map in zip(segments, maps, strict=True)]
    return Mix(samples, beats, joins, limited)


def _stereo(samples: np.ndarray) -> np.ndarray:
    """[N] or [N, 1] or [N, 2] -> float32 [N, 2]."""
    samples = np.asarray(samples, np.float32).reshape(len(samples), -1)
    if samples.shape[1] > 2:
        raise ValueError(f"A clip has one or two channels, got {samples.shape[1]}.")
    return np.repeat(samples, 2, axis=1) if samples.shape[1] == 1 else samples


def _frames(seconds: Any) -> Any:
    """Seconds, one or an array of them, in samples."""
    return np.round(np.multiply(seconds, RATE_HZ)).astype(int)


def _spans(joins: list[Join], seconds: float) -> list[tuple[Span, Span]]:
    """For every segment, where it is louder than its neighbours, and where it plays alone."""
    cuts = [0.0, *(join.middle for join in joins), seconds]
    begins, ends = [0.0, *(join.end for join in joins)], [*(join.start for join in joins), seconds]
    return list(zip(itertools.pairwise(cuts), zip(begins, ends, strict=True), strict=True))


def _fade(stem: np.ndarray, join: Join, places: np.ndarray, rising: bool) -> None:
    """Fade a segment [N, 2] in or out over a join, in place; its first or last steps, in samples, are the join's."""
    steps = max(join.bars, 1)
    places = places[: steps + 1] if rising else places[-steps - 1 :]
    part = stem[places[0] : places[-1]]
    progress = np.interp(np.arange(places[0], places[-1]), places, np.linspace(0, 1, len(places)))
    highs = _equal_power(progress, rising)
    if join.kind in BLENDS:
        beats = 4 * steps  # of which the lows take one to change places
        lows = _equal_power(np.clip((progress - 0.5) * beats + 0.5, 0, 1), rising)
        begin = max(0, places[0] - _frames(_FADE_MARGIN_SECONDS))
        low = _lows(stem[begin : places[-1] + _frames(_FADE_MARGIN_SECONDS)], _CROSSOVER_HZ)
        low = low[places[0] - begin :][: len(part)]
        part[:] = (part - low) * highs + low * lows
    else:
        part *= highs


def _echoes(stem: np.ndarray, beat: float, join: Join) -> np.ndarray:
    """The last beat of a segment [N, 2] again and again, each time at half the level: -> [M, 2]."""
    last = stem[-_frames(beat) :]
    last = last - _lows(last, _CROSSOVER_HZ)
    edge = min(_frames(_FADE_IN_SECONDS), len(last) // 2)
    last[:edge] *= _equal_power(np.linspace(0, 1, edge), rising=True)
    last[len(last) - edge :] *= _equal_power(np.linspace(0, 1, edge), rising=False)
    out = np.zeros((_frames(join.end - join.middle), 2), np.float32)
    for number in range(1, round((join.end - join.middle) / beat) + 1):
        place = _frames((number - 1) * beat)
        out[place : place + len(last)] += 0.5**number * last[: len(out) - place]
    return out


def _equal_power(progress: np.ndarray, rising: bool) -> np.ndarray:
    """Gain of an equal-power fade: [n] -> float32 [n, 1]."""
    angle = np.pi / 2 * progress
    return (np.sin(angle) if rising else np.cos(angle)).astype(np.float32)[:, None]


def _lows(samples: np.ndarray, hertz: float) -> np.ndarray:
    """What lies below a frequency, in phase, so that the rest is a plain difference: [N, 2] -> [N, 2]."""
    filters = scipy.signal.butter(2, hertz, fs=RATE_HZ, output="sos")
    padding = min(_frames(_FILTER_SECONDS), len(samples) - 1)
    return scipy.signal.sosfiltfilt(filters, samples, axis=0, padlen=padding).astype(np.float32)


def _equalise(samples: np.ndarray, joins: list[Join]) -> None:
    """Make the segments of a mix [N, 2] equally loud once more, after the limiter took from some."""
    clips = []
    for own, alone in _spans(joins, len(samples) / RATE_HZ):
        begin, end = _frames(own)
        times, blocks = blocks_of(samples[begin:end], RATE_HZ)
        clips.append(ClipLoudness(own[0] + times, blocks, own, alone))
    gains = equal_gains(clips, LOUDNESS_LUFS)
    for i, gain in enumerate(gains):
        begin, end = _frames(gain.alone)
        _amplify(samples[begin:end], gain.at(np.arange(begin, end) / RATE_HZ))
        if i < len(joins):
            begin, end = end, _frames(joins[i].end)
            edges = gain.whole + gain.tail, gains[i + 1].whole + gains[i + 1].lead
            _amplify(samples[begin:end], np.linspace(*edges, end - begin))


def _amplify(samples: np.ndarray, decibels: np.ndarray) -> None:
    samples *= (10 ** (decibels / 20)).astype(np.float32)[:, None]


def _fade_ends(samples: np.ndarray) -> None:
    """No click at the beginning, a fade at the end, in place."""
    short, long = (min(round(s * RATE_HZ), len(samples) // 4) for s in (_FADE_IN_SECONDS, _FADE_OUT_SECONDS))
    samples[:short] *= _equal_power(np.linspace(0, 1, short), rising=True)
    samples[len(samples) - long :] *= _equal_power(np.linspace(0, 1, long), rising=False)


def _moved(beats: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The beats of a segment that play, in seconds of the mix: [K, 2] -> [J, 2]."""
    beats = beats[(beats[:, 0] >= source[0] - 1e-6) & (beats[:, 0] <= source[-1] + 1e-6)]
    return np.stack([np.interp(beats[:, 0], source, target), beats[:, 1]], axis=1)
