"""How good each join would be to hear: the transition between every two parts is planned, then scored in [0, 1].

| term | 1 | 0 |
|---|---|---|
| tempo | beats in step, nothing stretched | tempos that cannot be brought together |
| harmony | what sounds together is in one key | keys a tritone apart |
| energy | as loud after the join as before it | a step of 12 dB or more |
| voices | nobody sings, or only one song does | somebody sings in both songs at once |
| sen | the network is sure that the music goes on | no better than most joins of different songs |

Spans are seconds of a song, [P, P, 2] for every ordered pair of P parts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import scipy.stats

from djnet.constants import HOPS_PER_SECOND, SAMPLE_RATE_HZ
from djnet.features import log_mel
from djnet.medley import key, tempo, voices
from djnet.medley.parts import Part
from djnet.medley.transitions import Asked, Segment, Transition, plan

# What each term counts for, by the name that --order gives it. Tempo counts most: beats out of step are heard by all.
WEIGHTS = {
    "mix": {"tempo": 0.45, "harmony": 0.2, "energy": 0.1, "voices": 0.1, "sen": 0.15},
    "tempo": {"tempo": 1.0},
    "sen": {"sen": 1.0},  # the paper's rule: the network alone, and no overlap
}
_HEARD_SECONDS = 4.0  # on each side of a join, where energy is compared, and keys if nothing sounds together
_LARGEST_STEP_DB = 12.0
_SHORTEST_TOGETHER_SECONDS = 0.5  # of two voices, that anybody minds
_NOISE_PERCENTILE = 95  # of the network's scores; up to there they count as equal
_LONGEST_SECONDS = 12.0  # at each end of a part, that the network hears
_MOST_EDGES = 3  # of a part, which the network is asked about

# Log-mels of n fragments, and which pairs are wanted (bool [n, n]) -> scores [n, n] of one before another.
Scorer = Callable[..., np.ndarray]


@dataclass(frozen=True)
class JoinScores:
    """Scores of all joins by an order's weights, what they are made of, and the network's percentile: all [P, P].

    The percentile is among all joins of different songs, in [0, 100]. Joins within a song are NaN, and so are those
    that lead to an opening or from an ending.
    """

    total: np.ndarray
    terms: dict[str, np.ndarray]
    percentile: np.ndarray


def score_joins(
    parts: Sequence[Part],
    scorer: Scorer,
    bars: int,
    order: str = "mix",
    asked: Mapping[tuple[str, str], Asked] = MappingProxyType({}),
) -> JoinScores:
    """Score the join of every part with every part of another song; blends last up to `bars` bars.

    `asked` says what is asked of the join from one song to another, by their paths. Parts that differ in their
    transposition only differ in harmony only.
    """
    transposed = parts
    parts, same = _distinct(parts)
    paths = [part.song.path for part in parts]
    allowed = np.array([[a != b for b in paths] for a in paths])
    allowed &= np.array([[a.only != "last" and b.only != "first" for b in parts] for a in parts])
    transitions = plan_all(parts, allowed, bars, asked)
    spans = np.full((*allowed.shape, 4), np.nan)
    spans[allowed] = [transition.overlap for transition in transitions]
    out, into = spans[..., :2], spans[..., 2:]
    terms = {name: np.full(allowed.shape, np.nan) for name in ("tempo", "harmony")}
    bpm = np.array([part.song.bpm for part in parts])
    apart = 2 * tempo.octaves_apart(bpm[:, None], bpm)
    terms["tempo"][allowed] = [_tempo(*pair) for pair in zip(transitions, apart[allowed], strict=True)]
    terms["energy"] = _energy(parts, out, into)
    terms["voices"] = _voices(parts, out, into)
    harmony = _harmony(transposed, out[same], into[same])
    if order == "sen":
        out, into = (np.where(allowed[..., None], edge, np.nan) for edge in _whole(parts))
    network = np.where(allowed, _network(parts, scorer, out[..., 0], into[..., 1]), np.nan)
    noise = np.nanpercentile(network, _NOISE_PERCENTILE)
    terms["sen"] = network if order == "sen" else np.clip((network - noise) / (1 - noise), 0, 1)
    percentile = np.full(allowed.shape, np.nan)
    percentile[allowed] = 100 * (scipy.stats.rankdata(network[allowed]) - 0.5) / allowed.sum()
    terms = {name: values[same] for name, values in terms.items()} | {"harmony": harmony}
    total = sum(weight * terms[name] for name, weight in WEIGHTS[order].items())
    return JoinScores(np.asarray(total), terms, percentile[same])


def _distinct(parts: Sequence[Part]) -> tuple[list[Part], tuple[np.ndarray, ...]]:
    """Parts that differ in more than transposition, and where in scores of these [Q, Q] those of all [P, P] stand."""
    spans = [(part.song.path, part.start, part.end, part.only) for part in parts]
    first = {span: i for i, span in reversed(list(enumerate(spans)))}
    places = list(dict.fromkeys(first[span] for span in spans))
    number = np.searchsorted(places, [first[span] for span in spans])
    return [parts[i] for i in places], np.ix_(number, number)


def plan_all(
    parts: Sequence[Part], allowed: np.ndarray, bars: int, asked: Mapping[tuple[str, str], Asked]
) -> list[Transition]:
    """The transitions of the pairs that are allowed, row by row: bool [P, P] -> list."""
    silent = np.zeros((0, 2), np.float32)
    segments = [Segment(silent, part.start, part.end, part.beats) for part in parts]
    paths = [part.song.path for part in parts]
    return [
        plan(segments[a], segments[b], bars, asked.get((paths[a], paths[b]), Asked())) for a, b in np.argwhere(allowed)
    ]


def _tempo(transition: Transition, apart: float) -> float:
    """How well tempo and metre go together; `apart` is 0 for the same tempo, 1 for the greatest difference."""
    return transition.quality * (1 - apart if transition.kind in ("sweep", "echo", "cut") else 1.0)


def _harmony(parts: Sequence[Part], out: np.ndarray, into: np.ndarray) -> np.ndarray:
    """How near the keys of what sounds together are: spans -> [P, P]."""
    rate = SAMPLE_RATE_HZ / key.CHROMA_HOP
    chroma = [part.song.chroma[int(part.start * rate) : int(np.ceil(part.end * rate)) + 1] for part in parts]
    chroma = [np.roll(own, part.transpose, axis=1) for own, part in zip(chroma, parts, strict=True)]
    means = _Means(parts, chroma, rate)
    last = np.stack([np.minimum(out[..., 0], out[..., 1] - _HEARD_SECONDS), out[..., 1]], axis=-1)
    first = np.stack([into[..., 0], np.maximum(into[..., 1], into[..., 0] + _HEARD_SECONDS)], axis=-1)
    pairs = zip(means.before(last), means.after(first), strict=True)
    return np.stack([key.relatedness(*row) for row in pairs])


def _energy(parts: Sequence[Part], out: np.ndarray, into: np.ndarray) -> np.ndarray:
    """How small the step from before the overlap to after it is, when both parts are equally loud: spans -> [P, P]."""
    mels = [part.song.mel[int(part.start * HOPS_PER_SECOND) : int(part.end * HOPS_PER_SECOND) + 1] for part in parts]
    power = [np.expm1(mel.astype(np.float32)).mean(axis=1, keepdims=True) + 1e-3 for mel in mels]
    means = _Means(parts, [part / part.mean() for part in power], HOPS_PER_SECOND)
    before = np.stack([out[..., 0] - _HEARD_SECONDS, out[..., 0]], axis=-1)
    after = np.stack([into[..., 1], into[..., 1] + _HEARD_SECONDS], axis=-1)
    step = 10 * np.log10(means.after(after)[..., 0] / means.before(before)[..., 0])
    return 1 - np.minimum(np.abs(step) / _LARGEST_STEP_DB, 1)


def _voices(parts: Sequence[Part], out: np.ndarray, into: np.ndarray) -> np.ndarray:
    """How likely it is that not both sing while both sound; 1 where that is not known: spans -> [P, P]."""
    rate = voices.RATE_HZ / voices.HOP_SAMPLES
    curves = [part.song.voices[int(part.start * rate) : int(np.ceil(part.end * rate)) + 1] for part in parts]
    means = _Means(parts, [(curve if len(curve) else np.zeros(1))[:, None] for curve in curves], rate)
    together = np.diff(out)[..., 0] > _SHORTEST_TOGETHER_SECONDS
    return 1 - np.where(together, 1, 0) * (means.before(out) * means.after(into))[..., 0]


class _Means:
    """Means of features over spans of parts, for all pairs at once: features [t_i, C] of every part at a rate."""

    def __init__(self, parts: Sequence[Part], features: Sequence[np.ndarray], rate: float):
        counts = [len(own) for own in features]
        self._sums = np.cumsum(np.concatenate([np.zeros((1, features[0].shape[1])), *features]), axis=0)
        self._first = np.cumsum([0, *counts[:-1]])
        self._last = np.cumsum(counts)
        self._start = np.array([part.start for part in parts])
        self._rate = rate

    def before(self, spans: np.ndarray) -> np.ndarray:
        """Of the first parts of all pairs: [P, P, 2] -> [P, P, C]; NaN where a span is."""
        return self._over(spans, np.arange(len(spans))[:, None])

    def after(self, spans: np.ndarray) -> np.ndarray:
        """Of the second parts."""
        return self._over(spans, np.arange(len(spans))[None])

    def _over(self, spans: np.ndarray, part: np.ndarray) -> np.ndarray:
        places = np.nan_to_num((spans - self._start[part][..., None]) * self._rate).round().astype(int)
        first = np.clip(self._first[part] + places[..., 0], self._first[part], self._last[part] - 1)
        last = np.clip(self._first[part] + places[..., 1], first + 1, self._last[part])
        means = (self._sums[last] - self._sums[first]) / (last - first)[..., None]
        return np.where(np.isnan(spans[..., :1]), np.nan, means)


def _whole(parts: Sequence[Part]) -> tuple[np.ndarray, np.ndarray]:
    """Spans of no length at the end of every first and the beginning of every second part."""
    starts, ends = (np.array([[getattr(part, name)] for part in parts]) for name in ("start", "end"))
    square = np.ones((len(parts), len(parts), 2))
    return square * ends[:, None], square * starts[None]


def _network(parts: Sequence[Part], scorer: Scorer, ends: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """The network's scores of what follows the overlap after what came before it: seconds [P, P] twice -> [P, P].

    A part is heard as a few fragments, from each of its usual beginnings to each of its usual ends.
    """
    mels: list[np.ndarray] = []
    row, column = np.zeros((2, *ends.shape), int)
    for i, part in enumerate(parts):
        length = part.end - part.start
        own_ends = _usual(np.maximum(ends[i], part.start + 0.6 * length), part.end)
        own_begins = _usual(np.minimum(begins[:, i], part.start + 0.4 * length), part.start)
        row[i] = len(mels) + _nearest(own_ends, ends[i])
        column[:, i] = len(mels) + _nearest(own_begins, begins[:, i])
        for k in range(max(len(own_ends), len(own_begins))):
            span = own_begins[min(k, len(own_begins) - 1)], own_ends[min(k, len(own_ends) - 1)]
            mels.append(_mel(part, *span))
    wanted = np.zeros((len(mels), len(mels)), bool)
    wanted[row[~np.isnan(ends)], column[~np.isnan(ends)]] = True
    return scorer(mels, wanted)[row, column]


def _mel(part: Part, begin: float, end: float) -> np.ndarray:
    """Log-mel of a part from one time to another; of a long one the beginning and the end: -> [T, 128]."""
    if end - begin <= 2 * _LONGEST_SECONDS:
        return log_mel(part.song.waveform(begin, end))
    edges = (begin, begin + _LONGEST_SECONDS), (end - _LONGEST_SECONDS, end)
    return np.concatenate([log_mel(part.song.waveform(*span)) for span in edges])


def _usual(values: np.ndarray, otherwise: float) -> np.ndarray:
    """The most frequent values, to the millisecond, or another where there are none: [n] -> [1 to 3]."""
    known = values[~np.isnan(values)]
    distinct, counts = np.unique((known if len(known) else np.array([otherwise])).round(3), return_counts=True)
    return distinct[np.argsort(-counts, kind="stable")[:_MOST_EDGES]]


def _nearest(choices: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The number of the choice that is nearest to each value; 0 for NaN: [c], [n] -> int [n]."""
    return np.abs(np.nan_to_num(values[:, None], nan=choices[0]) - choices).argmin(axis=1)
