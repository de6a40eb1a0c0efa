"""Clips in their order -> one waveform: beats matched, cross-faded on downbeats, equally loud.

A join is one of three kinds. `blend`: the last bars of one clip and the first bars of the next sound together, both
stretched bar by bar (the pitch stays) so that their downbeats coincide and the tempo goes gradually from the one to the
other; the highs cross-fade with equal power, the lows change places in the middle within a beat. `cut`: on the
downbeat, where the tempos are too far apart. `fade`: a short cross-fade, where there are no downbeats to cut at.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.signal

from djnet.medley import levels
from djnet.medley.loudness import keep_below, turn_down
from djnet.medley.stretch import warped

RATE_HZ = 44_100
LIMIT = 0.08  # largest change of tempo
LOUDNESS_LUFS = -14.0
PEAK_DB = -1.1  # true peak, a little below the -1 dB that is promised

_CUT_SECONDS = 0.02
_FADE_SECONDS = 1.0
_ENDING_SECONDS = 2.0
_CROSSOVER_HZ = 180.0
_SUBSONIC_HZ = 10.0  # what is lower is not music, and would thump at a join
_SETTLING_SECONDS = 0.2  # of a filter
# Bars of the first and of the second clip that last as long as each other: also double and half tempo.
_STEPS = ((1, 1), (2, 1), (1, 2))


@dataclass(frozen=True)
class Part:
    """A clip: samples [N] or [N, 2] at 44,100 Hz, beats [K, 2] (seconds from the first sample, position in the bar).

    The clip goes from `start` to `end` (seconds); what the samples hold beyond is used at its edges only. To be
    joined on downbeats, it begins and ends on one.
    """

    samples: np.ndarray
    beats: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    start: float = 0.0
    end: float | None = None

    @property
    def last(self) -> float:
        """The end of the clip in seconds of its samples."""
        return len(self.samples) / RATE_HZ if self.end is None else self.end

    @property
    def downbeats(self) -> np.ndarray:
        """Downbeats of the clip, with its beginning and its end; none if it does not begin and end on one: [K]."""
        times = self.beats[self.beats[:, 1] == 1, 0]
        near = 0.05
        inside = times[(times > self.start - near) & (times < self.last + near)]
        if len(inside) < 2 or abs(inside[0] - self.start) > near or abs(inside[-1] - self.last) > near:
            return np.zeros(0)
        return np.concatenate([[self.start], inside[1:-1], [self.last]])

    @property
    def meter(self) -> int:
        """Beats in a bar; 0 without beats."""
        return int(self.beats[:, 1].max()) if len(self.beats) else 0


@dataclass(frozen=True)
class Join:
    """Where two clips meet in the mix, in seconds; `stretch` is the largest change of speed in it, 0.02 for 2%."""

    kind: str
    start: float
    middle: float
    end: float
    bars: int
    stretch: float
    reason: str  # why it is not a blend


@dataclass(frozen=True)
class Mix:
    """The mix: samples float32 [N, 2], the span of every clip and its beats in seconds of the mix, and the joins."""

    samples: np.ndarray
    clips: list[tuple[float, float]]
    beats: list[np.ndarray]  # of every clip [K, 2]
    joins: list[Join]

    @property
    def cuts(self) -> list[float]:
        """The middle of every join, between the beginning and the end of the mix."""
        return [0.0, *(join.middle for join in self.joins), len(self.samples) / RATE_HZ]


@dataclass(frozen=True)
class _Plan:
    """A join before it is placed: times in the first and the second clip that shall coincide, and the steps between."""

    kind: str
    before: np.ndarray  # [m + 1]
    after: np.ndarray  # [m + 1]
    seconds: np.ndarray  # [m]: how long each step lasts in the mix
    reason: str = ""

    @property
    def stretch(self) -> float:
        speeds = np.concatenate([np.diff(self.before), np.diff(self.after)]) / np.tile(self.seconds, 2)
        return float(np.exp(np.abs(np.log(speeds)).max()) - 1) if self.kind == "blend" else 0.0


def render(
    parts: Sequence[Part],
    bars: int = 2,
    loudness: float = LOUDNESS_LUFS,
    peak_db: float = PEAK_DB,
    done: Callable[[], object] = lambda: None,
) -> Mix:
    """Join clips to one mix; blends last up to `bars` bars (no more than a third of a clip), 0 for cuts only.

    Every clip is brought to the same loudness (LUFS), measured where it is the louder one, and so are the two sides of
    a join (see `levels`); peaks are kept below `peak_db` (see `loudness.keep_below`). `done` is called after each clip.
    """
    if not parts:
        raise ValueError("A mix needs at least one clip.")
    plans = [_plan(a, b, bars) for a, b in itertools.pairwise(parts)]
    maps = _place(parts, plans)
    joins = _placed(plans, maps)
    heard = [
        levels.listen(_stereo(part.samples), RATE_HZ, map_, own, alone)
        for part, map_, (own, alone) in zip(parts, maps, _spans(joins, maps[-1][1][-1]), strict=True)
    ]
    gains = levels.even(heard, loudness)
    samples = np.zeros((_at(maps[-1][1][-1]), 2), np.float32)
    for i, (part, (source, target)) in enumerate(zip(parts, maps, strict=True)):
        places = _at(target)
        stem = _stereo(part.samples)
        stem = warped(stem - _lows(stem, _SUBSONIC_HZ), source, places - places[0], RATE_HZ)
        _amplify(stem, gains[i].at(np.arange(places[0], places[-1]) / RATE_HZ))
        if i > 0:
            _fade(stem, plans[i - 1].kind, places[: len(plans[i - 1].after)] - places[0], rising=True)
        if i < len(plans):
            _fade(stem, plans[i].kind, places[-len(plans[i].before) :] - places[0], rising=False)
        samples[places[0] : places[-1]] += stem
        done()
    _soften_ends(samples)
    keep_below(samples, 10 ** (peak_db / 20), RATE_HZ)
    _even_out(samples, joins, loudness)
    turn_down(samples, 10 ** (peak_db / 20), RATE_HZ)
    clips = [(float(target[0]), float(target[-1])) for _, target in maps]
    return Mix(samples, clips, [_moved(part, *map_) for part, map_ in zip(parts, maps, strict=True)], joins)


def joins_of(parts: Sequence[Part], bars: int = 2) -> list[Join]:
    """Where `render` would join clips, and how; only beats, starts and ends of the clips are looked at."""
    plans = [_plan(a, b, bars) for a, b in itertools.pairwise(parts)]
    return _placed(plans, _place(parts, plans))


def _plan(a: Part, b: Part, bars: int) -> _Plan:
    """The best kind of join that two clips allow."""
    ends, begins = a.downbeats, b.downbeats
    if not len(ends) or not len(begins):
        seconds = min(_FADE_SECONDS, (a.last - a.start) / 4, (b.last - b.start) / 4)
        reason = "no downbeats"
        return _Plan(
            "fade", a.last + np.array([-seconds, 0]), b.start + np.array([0, seconds]), np.array([seconds]), reason
        )
    reason = "a clip is too short" if bars else "asked for"
    for step_a, step_b in _STEPS:
        count = min(bars, _third(ends) // step_a, _third(begins) // step_b)
        if count < 1:
            continue
        before = ends[len(ends) - 1 - count * step_a :: step_a]
        after = begins[: count * step_b + 1 : step_b]
        share = (np.arange(count) + 0.5) / count
        seconds = np.diff(before) ** (1 - share) * np.diff(after) ** share
        plan = _Plan("blend", before, after, seconds)
        change = abs(np.log((before[-1] - before[0]) / (after[-1] - after[0])))
        if a.meter == b.meter and max(change, np.log1p(plan.stretch)) <= np.log1p(LIMIT):
            return plan
        if (step_a, step_b) == (1, 1):
            reason = (
                "tempo not steady" if change <= np.log1p(LIMIT) else f"tempos differ by {100 * np.expm1(change):.0f}%"
            )
            if a.meter != b.meter:
                reason = f"{a.meter} against {b.meter} beats in a bar"
    ahead = max(min(_CUT_SECONDS, b.start), 1 / RATE_HZ)
    return _Plan("cut", a.last + np.array([-ahead, 0]), b.start + np.array([-ahead, 0]), np.array([ahead]), reason)


def _third(downbeats: np.ndarray) -> int:
    """How many bars of a clip a join may take, so that most of it plays alone; one at least if there are two."""
    bars = len(downbeats) - 1
    return max(bars // 3, 1) if bars > 1 else 0


def _place(parts: Sequence[Part], plans: list[_Plan]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For every clip, times in its samples and the times in the mix where they shall be heard."""
    maps, begin = [], 0.0
    for i, part in enumerate(parts):
        source = plans[i - 1].after if i else np.array([part.start])
        target = begin + np.concatenate([[0.0], np.cumsum(plans[i - 1].seconds)] if i else [[0.0]])
        tail = plans[i].before if i < len(plans) else np.array([part.last])
        begin = float(target[-1] + tail[0] - source[-1])
        leave = begin + np.concatenate([[0.0], np.cumsum(plans[i].seconds)] if i < len(plans) else [[0.0]])
        maps.append((np.concatenate([source, tail]), np.concatenate([target, leave])))
    return maps


def _placed(plans: list[_Plan], maps: list[tuple[np.ndarray, np.ndarray]]) -> list[Join]:
    found = []
    for plan, (_, target) in zip(plans, maps, strict=False):
        times = target[-len(plan.before) :]
        bars = len(plan.seconds) if plan.kind == "blend" else 0
        middle = times[-1] if plan.kind == "cut" else np.interp(0.5 * (len(times) - 1), np.arange(len(times)), times)
        found.append(Join(plan.kind, float(times[0]), float(middle), float(times[-1]), bars, plan.stretch, plan.reason))
    return found


def _stereo(samples: np.ndarray) -> np.ndarray:
    """[N] or [N, 1] or [N, 2] -> float32 [N, 2]."""
    samples = np.asarray(samples, np.float32).reshape(len(samples), -1)
    if samples.shape[1] > 2:
        raise ValueError(f"A clip has one or two channels, got {samples.shape[1]}.")
    return np.repeat(samples, 2, axis=1) if samples.shape[1] == 1 else samples


def _at(seconds: Any) -> Any:
    """Seconds, one or an array of them, in samples."""
    return np.round(np.multiply(seconds, RATE_HZ)).astype(int)


def _fade(stem: np.ndarray, kind: str, places: np.ndarray, rising: bool) -> None:
    """Fade a clip in or out over a join whose steps begin and end at these samples."""
    part = stem[places[0] : places[-1]]
    progress = np.interp(np.arange(places[0], places[-1]), places, np.linspace(0, 1, len(places)))
    highs = _power(progress, rising)
    if kind == "blend":
        within = 4 * (len(places) - 1)  # of this many beats the lows take one to change places
        lows = _power(np.clip((progress - 0.5) * within + 0.5, 0, 1), rising)
        margin = round(0.1 * RATE_HZ)
        begin, end = max(0, places[0] - margin), min(len(stem), places[-1] + margin)
        low = _lows(stem[begin:end], _CROSSOVER_HZ)[places[0] - begin :][: len(part)]
        part[:] = (part - low) * highs + low * lows
    else:
        part *= highs


def _power(progress: np.ndarray, rising: bool) -> np.ndarray:
    """Gain of an equal-power fade: [n] -> float32 [n, 1]."""
    angle = np.pi / 2 * progress
    return (np.sin(angle) if rising else np.cos(angle)).astype(np.float32)[:, None]


def _lows(samples: np.ndarray, hertz: float) -> np.ndarray:
    """What lies below a frequency, in phase, so that the rest is a plain difference: [N, 2] -> [N, 2]."""
    filters = scipy.signal.butter(2, hertz, fs=RATE_HZ, output="sos")
    padding = min(_at(_SETTLING_SECONDS), len(samples) - 1)
    return scipy.signal.sosfiltfilt(filters, samples, axis=0, padlen=padding).astype(np.float32)


def _spans(joins: list[Join], seconds: float) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """For every clip, where it is the louder one, and where it plays alone."""
    cuts = [0.0, *(join.middle for join in joins), seconds]
    begins, ends = [0.0, *(join.end for join in joins)], [*(join.start for join in joins), seconds]
    return list(zip(itertools.pairwise(cuts), zip(begins, ends, strict=True), strict=True))


def _even_out(samples: np.ndarray, joins: list[Join], loudness: float) -> None:
    """Level the clips once more, after some lost a little loudness with their peaks."""
    heard = []
    for own, alone in _spans(joins, len(samples) / RATE_HZ):
        begin, end = _at(own)
        heard.append(levels.listen(samples[begin:end], RATE_HZ, ((0.0, own[1] - own[0]), own), own, alone))
    gains = levels.even(heard, loudness)
    for i, gain in enumerate(gains):
        begin, end = _at(gain.alone)
        _amplify(samples[begin:end], gain.at(np.arange(begin, end) / RATE_HZ))
        if i < len(joins):
            begin, end = end, _at(joins[i].end)
            edges = gain.whole + gain.tail, gains[i + 1].whole + gains[i + 1].lead
            _amplify(samples[begin:end], np.linspace(*edges, end - begin))


def _amplify(samples: np.ndarray, decibels: np.ndarray) -> None:
    samples *= (10 ** (decibels / 20)).astype(np.float32)[:, None]


def _soften_ends(samples: np.ndarray) -> None:
    """No click at the beginning, a fade at the end."""
    short, long = (min(round(s * RATE_HZ), len(samples) // 4) for s in (_CUT_SECONDS / 4, _ENDING_SECONDS))
    samples[:short] *= _power(np.linspace(0, 1, short), rising=True)
    samples[len(samples) - long :] *= _power(np.linspace(0, 1, long), rising=False)


def _moved(part: Part, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The beats of a clip in seconds of the mix: -> [K, 2]."""
    inside = (part.beats[:, 0] >= source[0] - 1e-6) & (part.beats[:, 0] <= source[-1] + 1e-6)
    beats = part.beats[inside]
    return np.stack([np.interp(beats[:, 0], source, target), beats[:, 1]], axis=1)
