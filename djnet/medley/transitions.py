"""How segments of songs follow each other: the kind of every join, and where everything lies in the mix.

`blend`: the last bars of one segment and the first bars of the next sound together, stretched bar by bar (the pitch
stays) so that their downbeats coincide and the tempo goes gradually from the one to the other. `ramp`: the same for
tempos further apart; the change of tempo begins before the bars that sound together and ends after them. `overlay`: a
long cross-fade, where there are no downbeats. `echo`: the last beat of one segment dies away in echoes while the next
begins on its downbeat, where the tempos are too far apart. `cut`: on the downbeat, with nothing to soften it.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

RATE_HZ = 44_100
BLENDS = ("blend", "ramp")  # kinds of joins whose beats are in step
LARGEST_CHANGE = {"blend": 0.05, "ramp": 0.20}  # of tempo, from one segment to the next
LARGEST_STRETCH = {"blend": 0.08, "ramp": 0.13}  # of a bar
ECHOES = 4  # beats after the end of a segment

_RAMP_BARS = 4  # of each segment, at most, besides those that sound together
_CUT_SECONDS = 0.02
_OVERLAY_SECONDS = (8.0, 16.0)
_TOLERANCE_SECONDS = 0.05  # from the edge of a segment to a downbeat
# Bars of the first and of the second segment that play in the same time: also double, half and 3:2 time.
_BARS_AGAINST_BARS = ((1, 1), (2, 1), (1, 2), (3, 2), (2, 3))

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

    @functools.cached_property
    def downbeats(self) -> np.ndarray:
        """Downbeats from start to end; none if the segment does not begin and end on one: [K]."""
        times = self.beats[self.beats[:, 1] == 1, 0]
        inside = times[(times > self.start - _TOLERANCE_SECONDS) & (times < self.end + _TOLERANCE_SECONDS)]
        edges = [self.start, self.end]
        if len(inside) < 2 or np.abs(inside[[0, -1]] - edges).max() > _TOLERANCE_SECONDS:
            return np.zeros(0)
        return np.concatenate([edges[:1], inside[1:-1], edges[1:]])

    @functools.cached_property
    def meter(self) -> int:
        """Beats in a bar; 0 without beats."""
        return int(self.beats[:, 1].max(initial=0))

    @property
    def seconds(self) -> float:
        """How long it plays."""
        return self.end - self.start

    @property
    def last_beat(self) -> float:
        """Seconds of a beat in the last bar."""
        return float(self.downbeats[-1] - self.downbeats[-2]) / self.meter


@dataclass(frozen=True)
class Join:
    """Where two segments meet in the mix, in seconds; `stretch` is the largest change of speed in it, 0.02 for 2%."""

    kind: str
    start: float
    middle: float
    end: float
    bars: int
    stretch: float
    reason: str  # why it is neither a blend nor a ramp, or how many bars play against how many


@dataclass(frozen=True)
class Transition:
    """A join before it has its place: times of both segments, and how long each step to the next time lasts.

    The steps of a ramp are bars of the first segment alone, then bars of both, then bars of the second alone.
    """

    kind: str
    before: np.ndarray  # seconds of the first segment, whose last step ends where it ends: [a + 1]
    after: np.ndarray  # seconds of the second, whose first step begins where it begins: [b + 1]
    seconds: np.ndarray  # of the mix: [m], m <= a + b
    reason: str = ""  # see Join
    against: tuple[int, int] = (1, 1)  # bars of the first and of the second segment in a step
    tail: float = 0.0  # seconds that the first segment sounds on after its end

    @property
    def alone(self) -> int:
        """Steps of the first segment before the second begins."""
        return len(self.seconds) + 1 - len(self.after)

    @property
    def together(self) -> int:
        """Steps that both segments play."""
        return len(self.before) - 1 - self.alone

    @property
    def overlap(self) -> tuple[float, float, float, float]:
        """The span that sounds together, in seconds of the first and of the second segment."""
        return self.before[self.alone], self.before[-1], self.after[0], self.after[self.together]

    @property
    def tempo_change(self) -> float:
        """From the one tempo to the other, as |log ratio|."""
        first, last, begin, end = self.overlap
        return float(abs(np.log((last - first) / (end - begin))))

    @property
    def stretch(self) -> float:
        """The largest change of speed that either segment undergoes."""
        if self.kind not in BLENDS:
            return 0.0
        speeds = [np.diff(self.before) / self.seconds[: len(self.before) - 1]]
        speeds += [np.diff(self.after) / self.seconds[self.alone :]]
        return float(np.exp(np.abs(np.log(np.concatenate(speeds))).max()) - 1)

    def placed(self, times: np.ndarray) -> Join:
        """The join at times [m + 1] of the mix."""
        start, end = times[self.alone], times[len(self.before) - 1]
        middle = (
            end
            if self.kind in ("cut", "echo")
            else np.interp(self.alone + self.together / 2, np.arange(len(times)), times)
        )
        bars = self.together if self.kind in BLENDS else 0
        return Join(self.kind, float(start), float(middle), float(end + self.tail), bars, self.stretch, self.reason)


def lay_out(segments: Sequence[Segment], bars: int = 2) -> tuple[list[TimeMap], list[Join]]:
    """Where each segment plays, and the joins; blends last up to `bars` bars. Samples are not looked at."""
    maps, joins = [], []
    source, target = np.array([segments[0].start]), np.zeros(1)
    for a, b in itertools.pairwise(segments):
        transition = plan(a, b, bars)
        begin = target[-1] + transition.before[0] - source[-1]
        times = begin + np.concatenate([[0.0], np.cumsum(transition.seconds)])
        own = times[: len(transition.before)]
        maps.append((np.concatenate([source, transition.before]), np.concatenate([target, own])))
        joins.append(transition.placed(times))
        source, target = transition.after, times[transition.alone :]
    end = segments[-1].end
    maps.append((np.append(source, end), np.append(target, target[-1] + end - source[-1])))
    return maps, joins


def plan(a: Segment, b: Segment, bars: int) -> Transition:
    """The best transition that two segments allow; up to `bars` bars sound together, and 0 asks for cuts."""
    ends, begins = a.downbeats, b.downbeats
    if bars == 0:
        return _cut(a, b)
    if not len(ends) or not len(begins):
        return _overlay(a, b)
    if a.meter != b.meter:
        return _echo(a, b, f"{a.meter} against {b.meter} beats in a bar")
    blends = [blend for ratio in _BARS_AGAINST_BARS if (blend := _blend(ends, begins, bars, *ratio)) is not None]
    if not blends:
        return _echo(a, b, "a clip is too short")
    for blend in blends:
        if blend.tempo_change <= np.log1p(LARGEST_CHANGE[blend.kind]) and blend.stretch <= LARGEST_STRETCH[blend.kind]:
            return blend
    change = blends[0].tempo_change
    steady = change > np.log1p(LARGEST_CHANGE["ramp"])
    return _echo(a, b, f"tempos differ by {100 * np.expm1(change):.0f}%" if steady else "tempo not steady")


def _blend(ends: np.ndarray, begins: np.ndarray, bars: int, step_a: int, step_b: int) -> Transition | None:
    """A blend where `step_a` bars of one segment play against `step_b` of the next; none if they cannot.

    A segment gives at most a third of its bars to the join, so that most of it plays alone; half of them to a single
    step that needs more, or to a ramp.
    """
    own = np.array([len(ends) - 1, len(begins) - 1])
    steps = np.array([step_a, step_b])
    count = min(bars, *(np.maximum(own // 3, np.minimum(own // 2, steps)) // steps))
    if count < 1:
        return None
    reason = "" if step_a == step_b else f"{step_a} bar{'s' * (step_a > 1)} against {step_b}"
    before, after = ends[len(ends) - 1 - count * step_a :: step_a], begins[: count * step_b + 1 : step_b]
    kind = "blend"
    if abs(np.log(np.ptp(before) / np.ptp(after))) > np.log1p(LARGEST_CHANGE["blend"]):
        if min(step_a, step_b) > 1:  # three bars against two are hard enough to follow without a change of tempo
            return None
        kind = "ramp"
        lead, tail = np.clip(own // 2 // steps - count, 0, _RAMP_BARS)
        before = ends[len(ends) - 1 - (count + lead) * step_a :: step_a]
        after = begins[: (count + tail) * step_b + 1 : step_b]
    total = len(before) + len(after) - 2 - count
    lengths = np.log([np.diff(before[-count - 1 :]).mean(), np.diff(after[: count + 1]).mean()])
    first, second = (np.full(total, length) for length in lengths)  # of a bar of each, where it does not play
    first[: len(before) - 1], second[total + 1 - len(after) :] = np.log(np.diff(before)), np.log(np.diff(after))
    share = (np.arange(total) + 0.5) / total
    return Transition(kind, before, after, np.exp(first * (1 - share) + second * share), reason, (step_a, step_b))


def _overlay(a: Segment, b: Segment) -> Transition:
    """A cross-fade of 8 to 16 s: a third of a segment, nearly half of a short one."""
    shortest, longest = _OVERLAY_SECONDS
    seconds = min(min(longest, max(own / 3, min(shortest, 0.45 * own))) for own in (a.seconds, b.seconds))
    before, after = a.end + np.array([-seconds, 0]), b.start + np.array([0, seconds])
    return Transition("overlay", before, after, np.array([seconds]), "no downbeats")


def _cut(a: Segment, b: Segment) -> Transition:
    """From one sample to the next, but for a fade too short to be heard."""
    ahead = np.array([-max(min(_CUT_SECONDS, b.start), 1 / RATE_HZ), 0.0])
    return Transition("cut", a.end + ahead, b.start + ahead, -ahead[:1], "asked for")


def _echo(a: Segment, b: Segment, reason: str) -> Transition:
    """A cut after which the last beat of the first segment is heard a few times more."""
    cut = _cut(a, b)
    echoes = min(ECHOES, int(b.seconds / 4 / a.last_beat))
    return Transition("echo", cut.before, cut.after, cut.seconds, reason, tail=echoes * a.last_beat)
