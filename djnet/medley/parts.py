"""The part of a song that stands for it: one that comes back, with energy, cut where a phrase begins."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from djnet.constants import HOPS_PER_SECOND, hops_to_seconds
from djnet.errors import UserError
from djnet.medley.analysis import Song
from djnet.medley.key import transposed
from djnet.medley.tempo import longest_run

_SHORTEST_SECONDS = 8.0  # in songs without bars
_PSEUDO_BAR_SECONDS = 2.0  # there
_SHARED_SECONDS = 8.0  # there, that sound together with the neighbours and are added
_QUARTERS = 4  # of a bar, each described by itself
_BANDS = 32
_NOVELTY_BARS = 4
_EDGE_BARS = 2  # at least, of a part, where others are joined to it
_RANGE_DB = 30.0  # below the song's loud bars, where energy no longer counts
_QUIET_DB = 12.0  # below them: an intro from nothing, a break, applause dying away
_AUDIBLE = 0.1  # mean log-mel of a frame
_LEAD_SECONDS = 8.0  # from the first sound to the first bar, and from the last bar to the last sound, at most


@dataclass(frozen=True)
class Part:
    """A part of a song that may play: its span in seconds and bars, and how well it stands for the song.

    `terms` are what the fitness is the sum of, see `thumbnails`. A part may be made to stand at one place only: `only`
    is "first" for the opening of a song, "last" for its ending. It plays `transpose` semitones higher than recorded.
    """

    song: Song
    start: float
    end: float
    bars: int
    fitness: float
    terms: Mapping[str, float] = field(default_factory=dict, compare=False)
    only: str = ""
    transpose: int = 0

    @property
    def key(self) -> str:
        """The key in which it plays."""
        return transposed(self.song.key, self.transpose)

    @property
    def beats(self) -> np.ndarray:
        """Beats of the part and half a second around it; none if the song's beat is not clear: [K, 2]."""
        beats = self.song.beats if len(self.song.bars) else np.zeros((0, 2))
        return beats[(beats[:, 0] > self.start - 0.5) & (beats[:, 0] < self.end + 0.5)]


def candidates(
    song: Song, seconds: float, count: int, start: float | None = None, length: float | None = None
) -> list[Part]:
    """The best parts of a song of about that many seconds, best first; or the one of a given start or length."""
    bars, clear = _bars(song)
    if length is not None:
        n = round(length / _bar_seconds(bars))
    elif len(song.bars):
        n = min(_phrases(song), key=lambda phrase: abs(np.log(phrase * _bar_seconds(bars) / seconds)))
    else:
        n = round((seconds + _SHARED_SECONDS) / _PSEUDO_BAR_SECONDS)
    usable = np.array([song.plays(*bar) for bar in itertools.pairwise(bars)])
    if not usable.any():
        raise UserError(f"{song.name}: never = ... leaves no bar of the song; allow more of it.")
    n = min(max(1, n), _longest(usable))
    if start is None:
        spans = thumbnails(song.mel, bars, n, count, clear, usable)
    elif 0 <= start < bars[-1]:
        first = min(int(np.argmin(np.abs(bars - start))), len(bars) - 2)
        if not usable[first]:
            raise UserError(f"{song.name}: start = {start:g} lies in a bar that must never play.")
        n = min(n, int(np.argmin(np.append(usable[first:], False))))
        spans = {first: {"set by hand": 1.0}}
    else:
        raise UserError(f"{song.name}: start = {start:g} lies outside the song's bars, which end at {bars[-1]:.1f} s.")
    return [Part(song, float(bars[i]), float(bars[i + n]), n, sum(terms.values()), terms) for i, terms in spans.items()]


def ends(best: Part) -> list[Part]:
    """The opening and the ending of a song, as long as its best part, from the first sound and to the last.

    They count as much as the best part, if there is music: not where it is much quieter than the rest, where bars are
    found only later in the song, or where it must not play.
    """
    song, n = best.song, best.bars
    bars, _ = _bars(song)
    first, last = sounding(song)
    below = _below(_describe(song.mel, bars)[1])
    spans = {"first": (first, float(bars[n]), below[:n]), "last": (float(bars[-1 - n]), last, below[-n:])}
    late = {"first": bars[0] - first, "last": last - bars[-1]}
    return [
        replace(best, start=start, end=end, terms={}, only=only)
        for only, (start, end, quieter) in spans.items()
        if 0 <= late[only] < _LEAD_SECONDS and quieter.mean() < _QUIET_DB and song.plays(start, end)
    ]


def sounding(song: Song) -> tuple[float, float]:
    """From the first sound of a song to its last, in seconds."""
    frames = np.flatnonzero(song.mel.mean(axis=1, dtype=np.float32) > _AUDIBLE)
    if not len(frames):
        return 0.0, song.seconds
    return float(hops_to_seconds(frames[0])), min(song.seconds, float(hops_to_seconds(frames[-1] + 1)))


def _longest(usable: np.ndarray) -> int:
    """How many bars in a row may play at most: bool [K] -> int."""
    run = longest_run(usable)
    return run.stop - run.start


def edges(song: Song) -> np.ndarray:
    """Where a part may begin or end: the downbeats or, where there are none, every two seconds or so: [K + 1]."""
    return _bars(song)[0]


def possible_lengths(song: Song) -> np.ndarray:
    """Lengths that a part of a song may have, in seconds: [L]."""
    if len(song.bars):
        return np.array(_phrases(song)) * _bar_seconds(song.bars)
    return np.arange(_SHORTEST_SECONDS, max(song.seconds, _SHORTEST_SECONDS + 1), _PSEUDO_BAR_SECONDS)


def _bars(song: Song) -> tuple[np.ndarray, np.ndarray]:
    """Bar lines [K + 1] of a song, or every two seconds or so without downbeats; and which bars are clear [K]."""
    if len(song.bars):
        return song.bars, song.clear
    bars = _pseudo_bars(song)
    return bars, np.ones(len(bars) - 1, bool)


def _bar_seconds(bars: np.ndarray) -> float:
    """The usual length of a bar: downbeats [K + 1] -> seconds."""
    return float(np.median(np.diff(bars)))


def _phrases(song: Song) -> list[int]:
    """How many bars a part may have: 4, or eights of which the song has enough that begin and end clearly."""
    lengths = [4, *range(8, len(song.bars), 8)]
    return [n for n in lengths if n < len(song.bars) and _clear_edges(song.clear, n).any()] or [1]


def _clear_edges(clear: np.ndarray, length: int) -> np.ndarray:
    """Which spans of `length` bars begin and end with clear bars, where they are joined: [K] -> [K - length + 1]."""
    spans = np.lib.stride_tricks.sliding_window_view(clear, length)
    edge = min(length, max(_EDGE_BARS, length // 4))
    return spans[:, :edge].all(axis=1) & spans[:, -edge:].all(axis=1)


def _pseudo_bars(song: Song) -> np.ndarray:
    """Every two seconds or so from the first sound to the last, where there are no downbeats: [K + 1]."""
    begin, end = sounding(song)
    if end - begin < _PSEUDO_BAR_SECONDS:
        return np.array([0.0, song.seconds])
    return np.append(np.arange(begin, end - _PSEUDO_BAR_SECONDS / 2, _PSEUDO_BAR_SECONDS), end)


def thumbnails(
    mel: np.ndarray,
    bars: np.ndarray,
    length: int,
    count: int = 3,
    clear: np.ndarray | None = None,
    usable: np.ndarray | None = None,
) -> dict[int, dict[str, float]]:
    """First bar -> terms of the fitness of the best spans of `length` bars, best first: mel [T, 128], bars [K + 1].

    Bars are seconds. Fitness is the sum of its terms: how alike the span is to its best two repetitions elsewhere in
    the song, its energy, and how much changes in the music where it begins and ends; edges much quieter or louder than
    the rest count against it, and so do bars inside that are not clear (bool [K]; all are if not given). Those at its
    edges are, if the song has such spans. No two spans share more than half, and none has a bar that is not usable
    (bool [K]; all are if not given).
    """
    clear = np.ones(len(bars) - 1, bool) if clear is None else clear
    usable = np.ones(len(bars) - 1, bool) if usable is None else usable
    terms = _terms(mel, bars, length, clear)
    allowed = np.lib.stride_tricks.sliding_window_view(usable, length).all(axis=1)
    joinable = _clear_edges(clear, length) & allowed
    joinable = joinable if joinable.any() else allowed
    chosen: list[int] = []
    for first in np.argsort(-sum(terms.values()), kind="stable"):
        if joinable[first] and len(chosen) < count and all(abs(first - other) * 2 >= length for other in chosen):
            chosen.append(int(first))
    return {first: {name: float(values[first]) for name, values in terms.items()} for first in chosen}


def _terms(mel: np.ndarray, bars: np.ndarray, length: int, clear: np.ndarray) -> dict[str, np.ndarray]:
    """What the fitness of every span of `length` bars is the sum of: -> [K - length + 1] each."""
    features, level = _describe(mel, bars)
    similarity = features @ features.T
    spans = np.lib.stride_tricks.sliding_window_view(_below(level), length)
    edge = max(1, length // 4)
    uneven = sum(np.abs(spans[:, part].mean(axis=1) - spans.mean(axis=1)) for part in (slice(edge), slice(-edge, None)))
    novelty = _novelty(similarity)
    return {
        "repetition": _repetition(similarity, length),
        "energy": 0.5 * (1.0 - spans.mean(axis=1) / _RANGE_DB),
        "change at its edges": 0.25 * (novelty[: len(spans)] + novelty[length:]),
        "quiet bars": -1.0 * (spans.max(axis=1) > _QUIET_DB),
        "uneven level": -uneven / _RANGE_DB,
        "unclear bars": np.lib.stride_tricks.sliding_window_view(clear, length).mean(axis=1) - 1.0,
    }


def _below(level: np.ndarray) -> np.ndarray:
    """How far every bar lies below the song's loud bars, in dB: [K] -> [K]."""
    return np.clip(np.percentile(level, 90) - level, 0.0, _RANGE_DB)


def _describe(mel: np.ndarray, bars: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every bar as a unit vector of the spectra of its quarters, and its level in dB: -> [K, 128], [K]."""
    places = np.interp(np.arange((len(bars) - 1) * _QUARTERS + 1) / _QUARTERS, np.arange(len(bars)), bars)
    frames = np.clip(np.round(places * HOPS_PER_SECOND).astype(int), 0, len(mel) - 1)
    bands = mel.reshape(len(mel), _BANDS, -1).mean(axis=2, dtype=np.float32)
    power = np.expm1(mel.astype(np.float32)).mean(axis=1, keepdims=True)
    level = 10 * np.log10(_means(power, frames).reshape(-1, _QUARTERS).mean(axis=1) + 1e-3)
    features = _means(bands, frames).reshape(len(bars) - 1, -1)
    features = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-3)
    return features / (np.linalg.norm(features, axis=1, keepdims=True) + 1e-9), level


def _means(values: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Means between frames: [T, C], int [K + 1] -> [K, C]."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)])
    counts = np.maximum(np.diff(frames), 1)
    return (sums[frames[:-1] + counts] - sums[frames[:-1]]) / counts[:, None]


def _repetition(similarity: np.ndarray, length: int) -> np.ndarray:
    """How alike each span is to its best two repetitions that do not overlap it: [K, K] -> [K - length + 1]."""
    spans = len(similarity) - length + 1
    diagonals = sum(similarity[k : k + spans, k : k + spans] for k in range(length)) / length
    apart = np.abs(np.subtract.outer(np.arange(spans), np.arange(spans))) >= length
    return np.sort(np.where(apart, diagonals, 0.0), axis=1)[:, -2:].mean(axis=1)


def _novelty(similarity: np.ndarray) -> np.ndarray:
    """How much changes at each bar line: how alike the bars on each side of it are, less than across: -> [K + 1]."""
    novelty = np.zeros(len(similarity) + 1)
    for i in range(1, len(similarity)):
        reach = min(_NOVELTY_BARS, i, len(similarity) - i)
        before, after = slice(i - reach, i), slice(i, i + reach)
        within = (similarity[before, before].mean() + similarity[after, after].mean()) / 2
        novelty[i] = within - similarity[before, after].mean()
    novelty[0] = novelty[-1] = novelty.max()
    return novelty
