"""Segments of songs in their order -> one waveform: beats matched, cross-faded on downbeats, equally loud."""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from djnet.audio.sample_file import SampleFile, Samples
from djnet.medley.fades import equal_power, fade, lows, repeated
from djnet.medley.limiter import limit
from djnet.medley.loudness import ClipLoudness, Span, blocks_of, equal_gains, within
from djnet.medley.stretch import stretched
from djnet.medley.transitions import RATE_HZ, Asked, Join, Segment, TimeMap, lay_out

LOUDNESS_LUFS = -14.0
PEAK_DB = -1.1  # true peak, a little below the -1 dB that is promised
LOSSY_PEAK_DB = -2.5  # lossy encoders overshoot

_FADE_IN_SECONDS, _FADE_OUT_SECONDS = 0.005, 2.0  # of the whole mix
_SUBSONIC_HZ = 10.0  # lower frequencies are not music, and would thump at a join
_CONTEXT_SECONDS = 0.5  # around what is heard of a segment, for filters and stretching
_SETTLING_FRAMES = RATE_HZ  # around a block that is filtered
_LIMITER_PASSES = 3
_EQUAL_DB = 0.2  # smaller gains are not worth another pass
_BLOCK_FRAMES = 1 << 20
_IN_MEMORY_SECONDS = 600.0


@dataclass(frozen=True)
class Mix:
    """The mix: samples float32 [N, 2], the beats [K, 2] of every segment in seconds of the mix, and the joins."""

    samples: Any  # an array; of a long mix a SampleFile, which is used in the same way
    beats: list[np.ndarray]
    joins: list[Join]
    limited_db: float = 0.0  # the most that the limiter took from a peak
    voices: list[np.ndarray] = field(default_factory=list)  # of every segment, as its beats; see Segment

    @property
    def cuts(self) -> list[float]:
        """The middle of every join, between the beginning and the end of the mix, in seconds."""
        return [0.0, *(join.middle for join in self.joins), len(self.samples) / RATE_HZ]


def render(
    segments: Sequence[Segment],
    bars: int = 2,
    peak_db: float = PEAK_DB,
    asked: Sequence[Asked] = (),
    folder: Path | None = None,
    done: Callable[[], object] = lambda: None,
) -> Mix:
    """Join segments to one mix, equally loud, also on the two sides of a join (see `equal_gains`).

    bars: how long a blend lasts at most, and never more than a third of a segment; 0 for cuts only
    peak_db: the limiter keeps the true peak below it
    asked: transition and bars of each join, where somebody asked for them; empty leaves all joins to the rule
    folder: where to keep a long mix while it is made, instead of memory
    done: is called after each segment
    """
    if not segments:
        raise ValueError("A mix needs at least one clip.")
    return _rendered(segments, *lay_out(segments, bars, asked), peak_db, folder, done)


def _rendered(
    segments: Sequence[Segment],
    maps: Sequence[TimeMap],
    joins: list[Join],
    peak_db: float,
    folder: Path | None = None,
    done: Callable[[], object] = lambda: None,
) -> Mix:
    """Mix segments that are laid out; for the others see `render`."""
    frames = _frames(maps[-1][1][-1])
    in_memory = folder is None or frames <= _IN_MEMORY_SECONDS * RATE_HZ
    if in_memory:  # else segments are decoded twice, to spare memory
        segments = [replace(segment, samples=segment.read()) for segment in segments]
    clips = []
    for segment, time_map, spans in zip(segments, maps, _spans(joins, maps[-1][1][-1]), strict=True):
        times, blocks = blocks_of(_stereo(segment.read()), RATE_HZ)
        clips.append(ClipLoudness(np.interp(times, *time_map), blocks - segment.gain, *spans))
    gains = equal_gains(clips, LOUDNESS_LUFS)
    samples: Samples = np.zeros((frames, 2), np.float32) if in_memory or folder is None else SampleFile(frames, folder)
    for i, (segment, (source, target)) in enumerate(zip(segments, maps, strict=True)):
        places = _frames(target)
        stem = _without_subsonic(_stereo(segment.read()))
        stem = stretched(stem, source, places - places[0], RATE_HZ, segment.transpose)
        _amplify(stem, (0, len(stem)), gains[i].at, places[0])
        if i > 0:
            fade(stem, joins[i - 1], places - places[0], rising=True)
        if i < len(joins):
            again = repeated(stem, joins[i])
            fade(stem, joins[i], places - places[0], rising=False)
            samples[places[-1] : places[-1] + len(again)] += again[: len(samples) - places[-1]]
        samples[places[0] : places[-1]] += stem
        done()
    _fade_ends(samples)
    limited = limit(samples, 10 ** (peak_db / 20), RATE_HZ)
    for _ in range(_LIMITER_PASSES):  # what the limiter takes from the loudness of a clip is given back
        if not _equalise(samples, joins, [segment.gain for segment in segments]):
            break
        limited += limit(samples, 10 ** (peak_db / 20), RATE_HZ)
    beats = [_moved(segment.beats, *time_map) for segment, time_map in zip(segments, maps, strict=True)]
    voices = [_moved(segment.voices, *time_map) for segment, time_map in zip(segments, maps, strict=True)]
    return Mix(samples, beats, joins, limited, voices)


def render_join(
    before: Segment,
    after: Segment,
    bars: int = 2,
    asked: Asked = Asked(),  # noqa: B008 (frozen)
    seconds: float = 6.0,
    peak_db: float = PEAK_DB,
) -> tuple[np.ndarray, Join]:
    """One join with some seconds around it: -> samples float32 [N, 2], and the join in seconds of these samples.

    The same as around this join in the mix of all segments, but for the loudness: the gains (within a few dB) and the
    limiter know the two segments only. To hear a join of a receipt while somebody tries transitions:
    `a, b = receipt.read_segments(content)[i : i + 2]; render_join(a, b, content["bars"], Asked("echo", 4))`.

    before, after: the two segments, whole
    bars: how long a blend lasts at most
    asked: the transition and its bars, if somebody asked for them
    seconds: how much is heard on each side of the join, if the segments are that long
    peak_db: the limiter keeps the true peak below it
    """
    maps, (join,) = lay_out([before, after], bars, [asked])
    begin = max(0, _frames(join.start - max(seconds, join.looped) - _FADE_IN_SECONDS)) / RATE_HZ
    end = min(maps[1][1][-1], join.end + seconds + _FADE_OUT_SECONDS)
    pieces = [_within(*one, begin, end) for one in zip((before, after), maps, strict=True)]
    join = _earlier(join, begin)
    made = _rendered([piece for piece, _ in pieces], [time_map for _, time_map in pieces], [join], peak_db)
    first = max(0, _frames(join.start - seconds))
    return made.samples[first : _frames(join.end + seconds)], _earlier(join, first / RATE_HZ)


def _earlier(join: Join, seconds: float) -> Join:
    """A join where the mix begins some seconds later."""
    moved = {name: getattr(join, name) - seconds for name in ("start", "middle", "end")}
    return replace(join, repeats=tuple(time - seconds for time in join.repeats), **moved)


def _within(segment: Segment, time_map: TimeMap, begin: float, end: float) -> tuple[Segment, TimeMap]:
    """What of a segment plays between two times of the mix, and where, from the first of them on."""
    source, target = time_map
    first, last = max(begin, target[0]), min(end, target[-1])
    times = np.concatenate([[first], target[(target > first) & (target < last)], [last]])
    source = np.interp(times, target, source)
    skipped = max(0, _frames(source[0] - _CONTEXT_SECONDS))
    samples = _stereo(segment.read())[skipped : _frames(source[-1] + _CONTEXT_SECONDS)]
    source = source - skipped / RATE_HZ
    beats = segment.beats - [skipped / RATE_HZ, 0]
    return Segment(samples, source[0], source[-1], beats, transpose=segment.transpose), (source, times - begin)


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


def _equalise(samples: Samples, joins: list[Join], wanted: Sequence[float]) -> bool:
    """Make the segments of a mix [N, 2] equally loud after the limiter took from some: -> False if they were.

    `wanted` says how much louder each shall be than the rest, in dB.
    """
    times, blocks = blocks_of(samples, RATE_HZ)
    clips = []
    for (own, alone), louder in zip(_spans(joins, len(samples) / RATE_HZ), wanted, strict=True):
        inside = within(times, *own)
        clips.append(ClipLoudness(times[inside], blocks[inside] - louder, own, alone))
    gains = equal_gains(clips, LOUDNESS_LUFS)
    if max(abs(value) for gain in gains for value in (gain.whole, gain.lead, gain.tail)) < _EQUAL_DB:
        return False
    for i, gain in enumerate(gains):
        _amplify(samples, _frames(gain.alone), gain.at)
        if i < len(joins):
            edges = gain.whole + gain.tail, gains[i + 1].whole + gains[i + 1].lead
            between = functools.partial(np.interp, xp=(joins[i].start, joins[i].end), fp=edges)
            _amplify(samples, _frames((joins[i].start, joins[i].end)), between)
    return True


def _amplify(samples: Samples, span: tuple[int, int], gain: Callable[[np.ndarray], np.ndarray], place: int = 0) -> None:
    """Apply a gain in dB, a function of seconds of the mix, to a span of samples [N, 2], in place.

    The first of the samples has its `place` in the mix.
    """
    begin, end = span
    for first in range(begin, end, _BLOCK_FRAMES):
        last = min(end, first + _BLOCK_FRAMES)
        decibels = gain((place + np.arange(first, last)) / RATE_HZ)
        samples[first:last] *= (10 ** (decibels / 20)).astype(np.float32)[:, None]


def _without_subsonic(samples: np.ndarray) -> np.ndarray:
    """What lies above 10 Hz, in blocks, which spares memory: [N, 2] -> [N, 2]."""
    out = np.empty_like(samples)
    for first in range(0, len(samples), _BLOCK_FRAMES):
        lead = min(first, _SETTLING_FRAMES)
        around = samples[first - lead : first + _BLOCK_FRAMES + _SETTLING_FRAMES]
        block = samples[first : first + _BLOCK_FRAMES]
        out[first : first + len(block)] = block - lows(around, _SUBSONIC_HZ)[lead : lead + len(block)]
    return out


def _fade_ends(samples: Samples) -> None:
    """No click at the beginning, a fade at the end, in place."""
    short, long = (min(round(s * RATE_HZ), len(samples) // 4) for s in (_FADE_IN_SECONDS, _FADE_OUT_SECONDS))
    samples[:short] *= equal_power(np.linspace(0, 1, short), rising=True)
    samples[len(samples) - long :] *= equal_power(np.linspace(0, 1, long), rising=False)


def _moved(beats: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The beats (or voices) of a segment that play, in seconds of the mix: [K, 2] -> [J, 2]."""
    beats = beats[(beats[:, 0] >= source[0] - 1e-6) & (beats[:, 0] <= source[-1] + 1e-6)]
    return np.stack([np.interp(beats[:, 0], source, target), beats[:, 1]], axis=1)
