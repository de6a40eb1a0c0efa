"""The part of a song that stands for it: one that comes back, with energy, cut where a phrase begins."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from djnet.constants import HOPS_PER_SECOND, hops_to_seconds
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.medley.analysis import Song

SHORTEST_SECONDS, LONGEST_SECONDS = 8.0, 30.0
_PSEUDO_BAR_SECONDS = 2.0  # in songs without bars
_QUARTERS = 4  # of a bar, each described by itself
_BANDS = 32
_NOVELTY_BARS = 4
_RANGE_DB = 30.0  # below the song's loud bars, where energy no longer counts
_QUIET_DB = 12.0  # below them: an intro from nothing, a break, applause dying away


@dataclass(frozen=True)
class Part:
    """A part of a song that may play: its span in seconds and bars, and how well it stands for the song."""

    song: Song
    start: float
    end: float
    bars: int
    fitness: float

    @property
    def mel(self) -> np.ndarray:
        """Features of the part's own samples: float32 [T, 128]."""
        return log_mel(self.song.waveform(self.start, self.end))

    @property
    def beats(self) -> np.ndarray:
        """Beats of the part and half a second around it; none if the song's beat is not clear: [K, 2]."""
        beats = self.song.beats if len(self.song.bars) else np.zeros((0, 2))
        return beats[(beats[:, 0] > self.start - 0.5) & (beats[:, 0] < self.end + 0.5)]


def candidates(
    song: Song, seconds: float, count: int, start: float | None = None, length: float | None = None
) -> list[Part]:
    """The best parts of a song of about that many seconds, best first; or the one of a given start or length."""
    bars = song.bars if len(song.bars) else _pseudo_bars(song)
    if length is not None:
        n = round(length / _bar_seconds(bars))
    elif len(song.bars):
        n = min(_phrases(song), key=lambda phrase: abs(np.log(phrase * _bar_seconds(bars) / seconds)))
    else:
        n = round(seconds / _PSEUDO_BAR_SECONDS)
    n = min(max(1, n), len(bars) - 1)
    if start is None:
        fitness = thumbnails(song.mel, bars, n, count)
    elif 0 <= start < bars[-1]:
        first = min(int(np.argmin(np.abs(bars - start))), len(bars) - 2)
        n = min(n, len(bars) - 1 - first)
        fitness = {first: 1.0}
    else:
        raise UserError(f"{song.name}: start = {start:g} lies outside the song's bars, which end at {bars[-1]:.1f} s.")
    return [Part(song, float(bars[i]), float(bars[i + n]), n, value) for i, value in fitness.items()]


def possible_lengths(song: Song) -> list[float]:
    """Lengths that a part of a song may have, in seconds."""
    if len(song.bars):
        return [phrase * _bar_seconds(song.bars) for phrase in _phrases(song)]
    return [min(length, song.seconds) for length in np.arange(SHORTEST_SECONDS, LONGEST_SECONDS, _PSEUDO_BAR_SECONDS)]


def _bar_seconds(bars: np.ndarray) -> float:
    """The usual length of a bar: downbeats [K + 1] -> seconds."""
    return float(np.median(np.diff(bars)))


def _phrases(song: Song) -> Sequence[int]:
    """Phrases of a song, in bars, that last 8 to 30 s; the nearest that it has if none does."""
    bar = _bar_seconds(song.bars)
    possible = [phrase for phrase in (4, 8, 16) if phrase < len(song.bars)]
    fitting = [phrase for phrase in possible if SHORTEST_SECONDS <= phrase * bar <= LONGEST_SECONDS]
    return fitting or [4 if 4 * bar > LONGEST_SECONDS else possible[-1]]


def _pseudo_bars(song: Song) -> np.ndarray:
    """Every two seconds or so from the first sound to the last, where there are no downbeats: [K + 1]."""
    loud = np.flatnonzero(song.mel.mean(axis=1, dtype=np.float32) > 0.1)
    first, last = (loud[0], loud[-1] + 1) if len(loud) else (0, len(song.mel))
    begin, end = hops_to_seconds(first), hops_to_seconds(last)
    if end - begin < _PSEUDO_BAR_SECONDS:
        return np.array([0.0, song.seconds])
    return np.append(np.arange(begin, end - _PSEUDO_BAR_SECONDS / 2, _PSEUDO_BAR_SECONDS), end)


def thumbnails(mel: np.ndarray, bars: np.ndarray, length: int, count: int = 3) -> dict[int, float]:
    """First bar -> fitness of the best spans of `length` bars, best first: mel [T, 128], bars [K + 1] seconds.

    Fitness adds up how alike the span is to its best two repetitions elsewhere in the song, its energy, and how much
    changes in the music where it begins and ends; edges much quieter or louder than the rest count against it. No two
    spans share more than half.
    """
    features, level = _describe(mel, bars)
    similarity = features @ features.T
    below = np.clip(np.percentile(level, 90) - level, 0.0, _RANGE_DB)  # dB
    spans = np.lib.stride_tricks.sliding_window_view(below, length)
    energy = 1.0 - spans.mean(axis=1) / _RANGE_DB
    quiet = spans.max(axis=1) > _QUIET_DB
    edge = max(1, length // 4)
    uneven = sum(np.abs(spans[:, part].mean(axis=1) - spans.mean(axis=1)) for part in (slice(edge), slice(-edge, None)))
    novelty = _novelty(similarity)
    changes = 0.25 * (novelty[: len(spans)] + novelty[length:])
    fitness = _repetition(similarity, length) + 0.5 * energy + changes - quiet - uneven / _RANGE_DB
    chosen: dict[int, float] = {}
    for first in np.argsort(-fitness, kind="stable"):
        if len(chosen) < count and all(abs(first - other) * 2 >= length for other in chosen):
            chosen[int(first)] = float(fitness[first])
    return chosen


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
