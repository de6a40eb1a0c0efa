"""The part of a song that stands for it: what comes back, with energy, cut where a phrase begins."""

from dataclasses import dataclass

import numpy as np

from djnet.constants import HOPS_PER_SECOND

_QUARTERS = 4  # of a bar, each heard by itself
_BANDS = 32
_NOVELTY_BARS = 4
_RANGE_DB = 30.0  # below the song's loud bars, where energy no longer counts
_QUIET_DB = 12.0  # below them: an intro from nothing, a break, applause dying away


@dataclass(frozen=True)
class Thumbnail:
    """A span of bars in seconds, and how well it stands for the song (higher is better)."""

    start: float
    end: float
    bars: int
    fitness: float


def thumbnails(mel: np.ndarray, bars: np.ndarray, length: int, count: int = 3) -> list[Thumbnail]:
    """The best spans of `length` bars, best first, no two sharing more than half: mel [T, 128], bars [K + 1] seconds.

    Fitness adds up how alike the span is to its best two repetitions elsewhere in the song, its energy, and how much
    changes in the music where it begins and ends; edges much quieter or louder than the rest count against it. A song
    of fewer bars gives its whole self.
    """
    length = min(length, len(bars) - 1)
    if length < 1:
        return []
    features, level = _describe(mel, bars)
    alike = features @ features.T
    starts = np.arange(len(bars) - length)
    below = np.clip(np.percentile(level, 90) - level, 0.0, _RANGE_DB)  # dB
    spans = np.lib.stride_tricks.sliding_window_view(below, length)
    energy = 1.0 - spans.mean(axis=1) / _RANGE_DB
    quiet = spans.max(axis=1) > _QUIET_DB
    edge = max(1, length // 4)
    uneven = sum(np.abs(spans[:, part].mean(axis=1) - spans.mean(axis=1)) for part in (slice(edge), slice(-edge, None)))
    edges = _novelty(alike)
    changes = 0.25 * (edges[starts] + edges[starts + length])
    fitness = _repetition(alike, length) + 0.5 * energy + changes - quiet - uneven / _RANGE_DB
    found: list[Thumbnail] = []
    taken: list[int] = []
    for i in np.argsort(-fitness, kind="stable"):
        if all(abs(int(i) - other) * 2 >= length for other in taken):
            taken.append(int(i))
            found.append(Thumbnail(float(bars[i]), float(bars[i + length]), length, float(fitness[i])))
        if len(found) == count:
            break
    return found


def phrase_bars(bars: np.ndarray, seconds: float, phrases: tuple[int, ...] = (4, 8, 16)) -> int:
    """The phrase of bars whose length is nearest to so many seconds."""
    bar = float(np.median(np.diff(bars)))
    return min(phrases, key=lambda count: abs(np.log(count * bar / seconds)))


def _describe(mel: np.ndarray, bars: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every bar as a unit vector of what sounds in its quarters, and its level in dB: -> [K, 128], [K]."""
    places = np.interp(np.arange((len(bars) - 1) * _QUARTERS + 1) / _QUARTERS, np.arange(len(bars)), bars)
    frames = np.clip(np.round(places * HOPS_PER_SECOND).astype(int), 0, len(mel) - 1)
    bands = mel.reshape(len(mel), _BANDS, -1).mean(axis=2, dtype=np.float32)
    power = np.expm1(mel.astype(np.float32)).mean(axis=1, keepdims=True)
    quarters = _means(bands, frames)
    level = 10 * np.log10(_means(power, frames).reshape(-1, _QUARTERS).mean(axis=1) + 1e-3)
    features = quarters.reshape(len(bars) - 1, -1)
    features = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-3)
    return features / (np.linalg.norm(features, axis=1, keepdims=True) + 1e-9), level


def _means(values: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Means over the stretches between frames: [T, C], int [K + 1] -> [K, C]."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)])
    counts = np.maximum(np.diff(frames), 1)
    return (sums[frames[:-1] + counts] - sums[frames[:-1]]) / counts[:, None]


def _repetition(alike: np.ndarray, length: int) -> np.ndarray:
    """How alike each span is to its best two repetitions that do not overlap it: [K, K] -> [K - length + 1]."""
    spans = len(alike) - length + 1
    diagonals = sum(alike[k : k + spans, k : k + spans] for k in range(length)) / length
    apart = np.abs(np.subtract.outer(np.arange(spans), np.arange(spans))) >= length
    best = np.sort(np.where(apart, diagonals, 0.0), axis=1)[:, -2:]
    return best.mean(axis=1)


def _novelty(alike: np.ndarray) -> np.ndarray:
    """How much changes at each bar line: the bars before and after it are alike among themselves only: -> [K + 1]."""
    edges = np.zeros(len(alike) + 1)
    for i in range(1, len(alike)):
        reach = min(_NOVELTY_BARS, i, len(alike) - i)
        before, after = slice(i - reach, i), slice(i, i + reach)
        within = (alike[before, before].mean() + alike[after, after].mean()) / 2
        edges[i] = within - alike[before, after].mean()
    edges[0] = edges[-1] = edges.max()
    return edges
