"""How segments of songs follow each other: the kind of every join, and where everything lies in the mix.

| kind | what is heard |
|---|---|
| blend | the last bars of one segment and the first of the next together, stretched bar by bar in step (see below) |
| ramp | the same for tempos further apart; the tempo begins to change before these bars and goes on after them |
| overlay | a long cross-fade, where there are no downbeats |
| loop | the last bar of one segment goes on under the first bars of the next, in their tempo, and fades out |
| sweep | a low-pass filter closes over the last bars of one segment; the next begins on its downbeat |
| echo | the last beat of one segment dies away in echoes while the next begins on its downbeat |
| cut | the next begins on its downbeat, with nothing to soften it |

In a blend the pitch stays, downbeats coincide, and the tempo goes gradually from the one to the other.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

RATE_HZ = 44_100
BLENDS = ("blend", "ramp")  # kinds of joins whose beats are in step
# How well each kind brings two tempos together, in [0, 1]. Of what can be rendered, the best is chosen.
KINDS = {"blend": 1.0, "ramp": 0.9, "loop": 0.7, "overlay": 0.6, "sweep": 0.1, "echo": 0.1, "cut": 0.05}
MOST_BARS = 8  # that sound together
MOST_SEMITONES = 6  # that a segment is transposed by
LARGEST_CHANGE = {"blend": 0.05, "ramp": 0.20}  # of tempo, from one segment to the next
LARGEST_STRETCH = {"blend": 0.08, "ramp": 0.13, "loop": 0.05}  # of a bar
ECHOES = 4  # beats after the end of a segment, unless bars are asked for

_RAMP_BARS = 4  # of each segment, at most, besides those that sound together
_CUT_SECONDS = 0.02
_OVERLAY_SECONDS = (8.0, 16.0)
_BEAT_SECONDS = 0.5  # of music without beats
_TOLERANCE_SECONDS = 0.05  # from the edge of a segment to a downbeat
# Bars of the first and of the second segment that play in the same time (also double, half and 3:2 time), and what is
# left of the value of a kind.
_AGAINST = {(1, 1): 1.0, (2, 1): 0.85, (1, 2): 0.85, (3, 2): 0.6, (2, 3): 0.6}
_AUDIBLE_STRETCH = 0.05
_STRAIN = (0.2, 0.8)  # lost by an audible stretch, and by the largest of all

TimeMap = tuple[np.ndarray, np.ndarray]  # seconds of a segment's samples, and of the mix where they play


@dataclass(frozen=True)
class Segment:
    """Samples [N] or [N, 2] at 44,100 Hz that play from `start` to `end` (seconds from the first sample).

    What the samples hold beyond is used at the edges only. Beats [K, 2] are seconds and positions in the bar; to be
    joined on downbeats, a segment begins or ends on one. In place of samples there may be a function that reads them.
    It plays `gain` dB louder than the others, and `transpose` semitones higher than it is. Voices [V, 2] are seconds
    and how likely somebody sings, if it is known.
    """

    samples: np.ndarray | Callable[[], np.ndarray]
    start: float
    end: float
    beats: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    gain: float = 0.0
    voices: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    transpose: int = 0

    def read(self) -> np.ndarray:
        """The samples."""
        return self.samples() if callable(self.samples) else self.samples

    @functools.cached_property
    def _inside(self) -> np.ndarray:
        """Downbeats from start to end: [K]; those at the edges lie on them."""
        times = self.beats[self.beats[:, 1] == 1, 0]
        times = times[(times > self.start - _TOLERANCE_SECONDS) & (times < self.end + _TOLERANCE_SECONDS)]
        for edge in (self.start, self.end):
            times = np.where(np.abs(times - edge) <= _TOLERANCE_SECONDS, edge, times)
        return times

    @functools.cached_property
    def opening(self) -> np.ndarray:
        """Downbeats from the start on; none if the segment does not begin on one: [K]."""
        return self._inside if len(self._inside) > 1 and self._inside[0] == self.start else np.zeros(0)

    @functools.cached_property
    def ending(self) -> np.ndarray:
        """Downbeats up to the end; none if the segment does not end on one: [K]."""
        return self._inside if len(self._inside) > 1 and self._inside[-1] == self.end else np.zeros(0)

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
        """Seconds of a beat in the last bar; half a second without beats."""
        return float(np.diff(self.ending[-2:])[0]) / self.meter if len(self.ending) else _BEAT_SECONDS


@dataclass(frozen=True)
class Asked:
    """What somebody asked of a join: its kind (see KINDS) and its length in bars; None leaves it to the rule."""

    transition: str | None = None
    bars: int | None = None


@dataclass(frozen=True)
class Join:
    """Where two segments meet in the mix, in seconds; `stretch` is the largest change of speed in it, 0.02 for 2%.

    The last `looped` seconds of the first segment are heard again from each of the times `repeats` to the next.
    """

    kind: str
    start: float
    middle: float
    end: float
    bars: int
    stretch: float
    reason: str  # why it is neither a blend nor a ramp, or how many bars play against how many
    looped: float = 0.0
    repeats: tuple[float, ...] = ()


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
    swept: np.ndarray = field(default_factory=lambda: np.zeros(1))  # times of swept bars, up to 0 at the end: [s + 1]
    looped: float = 0.0  # seconds of the first segment that are repeated after its end
    repeats: np.ndarray = field(default_factory=lambda: np.zeros(1))  # when, from 0 at the end: [r + 1]

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
        if self.kind in BLENDS:
            speeds = [np.diff(self.before) / self.seconds[: len(self.before) - 1]]
            speeds += [np.diff(self.after) / self.seconds[self.alone :]]
        else:
            speeds = [np.diff(self.repeats) / self.looped] if self.kind == "loop" else [np.ones(1)]
        return float(np.exp(np.abs(np.log(np.concatenate(speeds))).max()) - 1)

    @property
    def possible(self) -> bool:
        """Whether nothing is stretched further than its kind allows."""
        change = self.tempo_change if self.kind in BLENDS else 0.0
        return change <= np.log1p(LARGEST_CHANGE.get(self.kind, 0.0)) and self.stretch <= LARGEST_STRETCH[self.kind]

    @property
    def quality(self) -> float:
        """How well it brings the two tempos together, in [0, 1]: less for other times than 1:1, and for stretching."""
        heard, all_of_it = _AUDIBLE_STRETCH, max(LARGEST_STRETCH.values())
        strain = np.interp(self.stretch, [0.0, heard, all_of_it], [0.0, *_STRAIN])
        return float(KINDS[self.kind] * _AGAINST[self.against] * (1 - strain))

    def placed(self, times: np.ndarray) -> Join:
        """The join at times [m + 1] of the mix."""
        start, end = times[self.alone], times[len(self.before) - 1]
        middle = end
        if self.kind in (*BLENDS, "overlay"):
            middle = np.interp(self.alone + self.together / 2, np.arange(len(times)), times)
        else:
            start = min(start, end + self.swept[0])
        bars = {"sweep": len(self.swept) - 1, "loop": (len(self.repeats) - 1) * self.against[1]}.get(self.kind, 0)
        return Join(
            self.kind, float(start), float(middle), float(end + self.repeats[-1]),
            self.together if self.kind in BLENDS else bars, self.stretch, self.reason,
            self.looped, tuple(float(end + time) for time in self.repeats if self.looped),
        )  # fmt: skip


def lay_out(
    segments: Sequence[Segment], bars: int = 2, asked: Sequence[Asked] = ()
) -> tuple[list[TimeMap], list[Join]]:
    """Where each segment plays, and the joins; blends last up to `bars` bars. Samples are not looked at.

    `asked` has one entry for each join, or none at all.
    """
    maps, joins = [], []
    source, target = np.array([segments[0].start]), np.zeros(1)
    wishes = asked or [Asked()] * (len(segments) - 1)
    for (a, b), wish in zip(itertools.pairwise(segments), wishes, strict=True):
        transition = plan(a, b, bars, wish)
        begin = target[-1] + transition.before[0] - source[-1]
        times = begin + np.concatenate([[0.0], np.cumsum(transition.seconds)])
        own = times[: len(transition.before)]
        maps.append((np.concatenate([source, transition.before]), np.concatenate([target, own])))
        joins.append(transition.placed(times))
        source, target = transition.after, times[transition.alone :]
    end = segments[-1].end
    maps.append((np.append(source, end), np.append(target, target[-1] + end - source[-1])))
    return maps, joins


def plan(a: Segment, b: Segment, bars: int, asked: Asked = Asked()) -> Transition:  # noqa: B008 (frozen)
    """The best transition that two segments allow, or the one that is asked for if they allow it.

    Up to `bars` bars sound together, and 0 asks for cuts.
    """
    kind, bars = asked.transition, bars if asked.bars is None else asked.bars
    if kind == "cut" or bars == 0:
        return _cut(a, b)
    if kind == "overlay":
        return _overlay(a, b, "asked for")
    if kind == "echo":
        return _echo(a, b, "asked for", ECHOES if asked.bars is None else bars * max(a.meter, 1))
    if kind == "sweep":
        return _sweep(a, b, bars, "asked for")
    chosen = _by_rule(a, b, bars, kind)
    if kind not in (None, chosen.kind):
        chosen = _by_rule(a, b, bars, None)
        return replace(chosen, reason=f"{chosen.reason}, so no {kind}" if chosen.reason else f"no {kind}")
    return chosen


def _by_rule(a: Segment, b: Segment, bars: int, kind: str | None) -> Transition:
    """The best transition by its quality; of a kind (blend, ramp or loop), if there is one."""
    ends, begins = a.ending, b.opening
    if not len(ends) or not len(begins):
        return _overlay(a, b, "no downbeats")
    if a.meter != b.meter:
        return _sweep(a, b, bars, f"{a.meter} against {b.meter} beats in a bar")
    of_kind = kind if kind in BLENDS else None
    blends = [blend for ratio in _AGAINST if (blend := _blend(ends, begins, bars, *ratio, of_kind)) is not None]
    change = blends[0].tempo_change if blends else 0.0
    if change > np.log1p(LARGEST_CHANGE["ramp"]):
        reason = f"tempos differ by {100 * np.expm1(change):.0f}%"
    else:
        reason = "tempo not steady" if blends else "a clip is too short"
    reason = "asked for" if kind == "loop" else reason
    loops = [loop for ratio in ((1, 1), (2, 1), (1, 2)) if (loop := _loop(a, b, bars, *ratio, reason)) is not None]
    possible = [one for one in (*blends, *loops) if one.possible]
    asked = [one for one in possible if one.kind == kind]
    return max([*(asked or possible), _echo(a, b, reason, ECHOES)], key=lambda one: one.quality)


def _fitting(bars: int, most: int) -> int:
    """As many bars as are wanted and as there is room for, else 1, 2, 4 or 8, as phrases have them."""
    return bars if bars <= most else 1 << int(most).bit_length() - 1 if most > 0 else 0


def _blend(
    ends: np.ndarray, begins: np.ndarray, bars: int, step_a: int, step_b: int, kind: str | None
) -> Transition | None:
    """A blend where `step_a` bars of one segment play against `step_b` of the next; none if they cannot.

    A segment gives at most a third of its bars to the join, so that most of it plays alone; half of them to a single
    step that needs more, or to a ramp. Without a `kind`, the tempos decide between blend and ramp.
    """
    own = np.array([len(ends) - 1, len(begins) - 1])
    steps = np.array([step_a, step_b])
    count = _fitting(bars, min(np.maximum(own // 3, np.minimum(own // 2, steps)) // steps))
    if count < 1:
        return None
    reason = "" if step_a == step_b else f"{step_a} bar{'s' * (step_a > 1)} against {step_b}"
    before, after = ends[len(ends) - 1 - count * step_a :: step_a], begins[: count * step_b + 1 : step_b]
    far = abs(np.log(np.ptp(before) / np.ptp(after))) > np.log1p(LARGEST_CHANGE["blend"])
    kind = kind or ("ramp" if far else "blend")
    if kind == "ramp":
        if min(step_a, step_b) > 1:  # three bars against two are hard enough to follow without a change of tempo
            return None
        lead, tail = np.clip(own // 2 // steps - count, 0, _RAMP_BARS)
        before = ends[len(ends) - 1 - (count + lead) * step_a :: step_a]
        after = begins[: (count + tail) * step_b + 1 : step_b]
    total = len(before) + len(after) - 2 - count
    lengths = np.log([np.diff(before[-count - 1 :]).mean(), np.diff(after[: count + 1]).mean()])
    first, second = (np.full(total, length) for length in lengths)  # of a bar of each, where it does not play
    first[: len(before) - 1], second[total + 1 - len(after) :] = np.log(np.diff(before)), np.log(np.diff(after))
    share = (np.arange(total) + 0.5) / total
    return Transition(kind, before, after, np.exp(first * (1 - share) + second * share), reason, (step_a, step_b))


def _overlay(a: Segment, b: Segment, reason: str) -> Transition:
    """A cross-fade of 8 to 16 s: a third of a segment, nearly half of a short one."""
    shortest, longest = _OVERLAY_SECONDS
    seconds = min(min(longest, max(own / 3, min(shortest, 0.45 * own))) for own in (a.seconds, b.seconds))
    before, after = a.end + np.array([-seconds, 0]), b.start + np.array([0, seconds])
    return Transition("overlay", before, after, np.array([seconds]), reason)


def _cut(a: Segment, b: Segment, reason: str = "asked for") -> Transition:
    """From one sample to the next, but for a fade too short to be heard."""
    ahead = np.array([-max(min(_CUT_SECONDS, b.start), 1 / RATE_HZ), 0.0])
    return Transition("cut", a.end + ahead, b.start + ahead, -ahead[:1], reason)


def _echo(a: Segment, b: Segment, reason: str, beats: int) -> Transition:
    """A cut after which the last beat of the first segment is heard a few times more."""
    echoes = min(beats, int(b.seconds / 4 / a.last_beat))
    times = a.last_beat * np.arange(echoes + 1)
    return replace(_cut(a, b, reason), kind="echo", looped=a.last_beat, repeats=times)


def _sweep(a: Segment, b: Segment, bars: int, reason: str) -> Transition:
    """A cut before which a low-pass filter closes over the last bars of the first segment."""
    downbeats = a.ending if len(a.ending) else np.arange(a.end, a.start - 1e-6, -4 * _BEAT_SECONDS)[::-1]
    count = max(1, _fitting(bars, (len(downbeats) - 1) // 3))
    swept = downbeats[-count - 1 :] - a.end if len(downbeats) > 1 else np.array([-a.seconds / 3, 0.0])
    return replace(_cut(a, b, reason), kind="sweep", swept=swept)


def _loop(a: Segment, b: Segment, bars: int, step_a: int, step_b: int, reason: str) -> Transition | None:
    """A cut after which the last bars of the first segment go on in the tempo of the second, and fade out."""
    count = _fitting(bars, (len(b.opening) - 1) // 3 // step_b)
    if count < 1 or len(a.ending) <= step_a:
        return None
    times = b.opening[: count * step_b + 1 : step_b] - b.start
    looped = float(a.end - a.ending[-1 - step_a])
    return replace(_cut(a, b, reason), kind="loop", looped=looped, repeats=times, against=(step_a, step_b))
