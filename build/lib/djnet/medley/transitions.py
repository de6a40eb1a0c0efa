"""How segments of songs follow each other: the kind of every join, and where everything lies in the mix.

A join is one of three kinds. `blend`: the last bars of one segment and the first bars of the next sound together, both
stretched bar by bar (the pitch stays) so that their downbeats coincide and the tempo goes gradually from the one to the
other. `cut`: on the downbeat, where the tempos are too far apart. `fade`: a short cross-fade, where there are no
downbeats to cut at.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

RATE_HZ = 44_100
LARGEST_STRETCH = 0.08  # change of tempo in a blend

_CUT_SECONDS = 0.02
_FADE_SECONDS = 1.0
_TOLERANCE_SECONDS = 0.05  # from the edge of a segment to a downbeat
# Bars of the first and of the second segment that play in the same time: also double and half tempo.
_BARS_AGAINST_BARS = ((1, 1), (2, 1), (1, 2))

TimeMap = tuple[np.ndarray, np.ndarray]  # seconds of a segment's samples, and of the mix where they play


@dataclass(frozen=True)
class Segment:
    """Samples [N] or [N, 2] at 44,100 Hz that play from `start` to `end` (seconds from the first sample).

    What the samples hold beyond is used at the edges only. Beats [K, 2] are seconds and positions in the bar; to be
    joined on downbeats, a segment begins and ends on one.
    """

    samples: np.ndarray
    start: float
    end: float
    beats: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def downbeats(self) -> np.ndarray:
        """Downbeats from start to end; none if the segment does not begin and end on one: [K]."""
        times = self.beats[self.beats[:, 1] == 1, 0]
        inside = times[(times > self.start - _TOLERANCE_SECONDS) & (times < self.end + _TOLERANCE_SECONDS)]
        edges = [self.start, self.end]
        if len(inside) < 2 or np.abs(inside[[0, -1]] - edges).max() > _TOLERANCE_SECONDS:
            return np.zeros(0)
        return np.concatenate([edges[:1], inside[1:-1], edges[1:]])

    @property
    def meter(self) -> int:
        """Beats in a bar; 0 without beats."""
        return int(self.beats[:, 1].max(initial=0))


@dataclass(frozen=True)
class Join:
    """Where two segments meet in the mix, in seconds; `stretch` is the largest change of speed in it, 0.02 for 2%."""

    kind: str
    start: float
    middle: float
    end: float
    bars: int
    stretch: float
    reason: str  # why it is not a blend


@dataclass(frozen=True)
class Transition:
    """A join before it has its place: times in the first and in the second segment that shall coincide."""

    kind: str
    before: np.ndarray  # [m + 1]
    after: np.ndarray  # [m + 1]
    seconds: np.ndarray  # [m]: how long each step from one time to the next lasts in the mix
    reason: str = ""

    @property
    def tempo_change(self) -> float:
        """From the one tempo to the other, as |log ratio|."""
        return float(abs(np.log((self.before[-1] - self.before[0]) / (self.after[-1] - self.after[0]))))

    @property
    def stretch(self) -> float:
        """The largest change of speed that either segment undergoes."""
        speeds = np.concatenate([np.diff(self.before), np.diff(self.after)]) / np.tile(self.seconds, 2)
        return float(np.exp(np.abs(np.log(speeds)).max()) - 1) if self.kind == "blend" else 0.0

    def placed(self, times: np.ndarray) -> Join:
        """The join at times [m + 1] of the mix."""
        middle = times[-1] if self.kind == "cut" else np.interp(len(self.seconds) / 2, np.arange(len(times)), times)
        bars = len(self.seconds) if self.kind == "blend" else 0
        return Join(self.kind, float(times[0]), float(middle), float(times[-1]), bars, self.stretch, self.reason)


def lay_out(segments: Sequence[Segment], bars: int = 2) -> tuple[list[TimeMap], list[Join]]:
    """Where each segment plays, and the joins; blends last up to `bars` bars. Samples are not looked at."""
    maps, joins = [], []
    source, target = np.array([segments[0].start]), np.zeros(1)
    for a, b in itertools.pairwise(segments):
        transition = plan(a, b, bars)
        begin = target[-1] + transition.before[0] - source[-1]
        times = begin + np.concatenate([[0.0], np.cumsum(transition.seconds)])
        maps.append((np.concatenate([source, transition.before]), np.concatenate([target, times])))
        joins.append(transition.placed(times))
        source, target = transition.after, times
    end = segments[-1].end
    maps.append((np.append(source, end), np.append(target, target[-1] + end - source[-1])))
    return maps, joins


def plan(a: Segment, b: Segment, bars: int) -> Transition:
    """The best kind of transition that two segments allow: a blend of up to `bars` bars, a cut, or a fade."""
    ends, begins = a.downbeats, b.downbeats
    if not len(ends) or not len(begins):
        seconds = min(_FADE_SECONDS, (a.end - a.start) / 4, (b.end - b.start) / 4)
        before, after = a.end + np.array([-seconds, 0]), b.start + np.array([0, seconds])
        return Transition("fade", before, after, np.array([seconds]), "no downbeats")
    blends = [_blend(ends, begins, bars, *ratio) for ratio in _BARS_AGAINST_BARS]
    possible = [blend for blend in blends if blend is not None]
    if not possible:
        reason = "a clip is too short" if bars else "asked for"
    elif a.meter != b.meter:
        reason = f"{a.meter} against {b.meter} beats in a bar"
    else:
        limit = np.log1p(LARGEST_STRETCH)
        for blend in possible:
            if max(blend.tempo_change, np.log1p(blend.stretch)) <= limit:
                return blend
        change = possible[0].tempo_change
        reason = "tempo not steady" if change <= limit else f"tempos differ by {100 * np.expm1(change):.0f}%"
    ahead = np.array([-max(min(_CUT_SECONDS, b.start), 1 / RATE_HZ), 0.0])
    return Transition("cut", a.end + ahead, b.start + ahead, -ahead[:1], reason)


def _blend(ends: np.ndarray, begins: np.ndarray, bars: int, step_a: int, step_b: int) -> Transition | None:
    """A blend where `step_a` bars of one segment play against `step_b` of the next; none if one is too short.

    A segment gives at most a third of its bars to a join, so that most of it plays alone, but one if it has two.
    """
    thirds = [max(own // 3, 1) if own > 1 else 0 for own in (len(ends) - 1, len(begins) - 1)]
    count = min(bars, thirds[0] // step_a, thirds[1] // step_b)
    if count < 1:
        return None
    before = ends[len(ends) - 1 - count * step_a :: step_a]
    after = begins[: count * step_b + 1 : step_b]
    share = (np.arange(count) + 0.5) / count
    return Transition("blend", before, after, np.diff(before) ** (1 - share) * np.diff(after) ** share)
