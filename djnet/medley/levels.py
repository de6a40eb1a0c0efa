"""Clips that are equally loud, and no step in loudness where they meet.

Each clip gets one gain (in dB), raised or lowered near its beginning and near its end: a quiet ending comes up while
the loud beginning that follows comes down, slowly, and no more than needed. All gains are found together, because a
clip that gives way at one join must stay as loud as the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from djnet.medley.loudness import BLOCK_SECONDS, BLOCK_STEP_SECONDS, blocks_of, counted

_EDGE_SECONDS = 6.0  # before and behind a join, where loudness is compared
_HELD_SECONDS = 3.0  # the gain at an edge is kept this long, then it goes to that of the clip
_LARGEST_DB = 6.0  # difference between the gain of a clip and that at its edge
_DB_A_SECOND = 2.0  # the gain never changes faster within a clip
_RELUCTANCE, _ANCHOR = 0.2, 1e-3  # to change an edge or a clip, against a step or a difference of as many LU
_ROUNDS = 4  # what counts as silence depends on the gains
_LEAST_SECONDS = 1.0  # of a clip that is compared


@dataclass(frozen=True)
class Heard:
    """A clip in a mix, in seconds of it: loudness [B] (LUFS) of blocks around times [B]; where it is heard, and alone.

    `own` goes from the middle of one join to that of the next, `alone` from the end of one to the start of the next.
    """

    times: np.ndarray
    loudness: np.ndarray
    own: tuple[float, float]
    alone: tuple[float, float]

    @property
    def edges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The first and the last seconds, outside of joins."""
        (first, last), (begin, end) = self.own, self.alone
        lead = (min(begin, last - _LEAST_SECONDS), min(last, begin + _EDGE_SECONDS))
        return lead, (max(first, end - _EDGE_SECONDS), max(end, first + _LEAST_SECONDS))

    def measure(self, span: tuple[float, float], gains: np.ndarray, shape: np.ndarray) -> tuple[float, np.ndarray]:
        """Loudness of a span with gains [3], and how it changes with each of them [3]; shape as of `Gain.shape`."""
        inside = np.abs(2 * self.times - sum(span)) <= span[1] - span[0] - BLOCK_SECONDS + 1e-6
        loudness, shape = (self.loudness + shape @ gains)[inside], shape[inside]
        counts = counted(loudness)
        if not counts.any():
            return -np.inf, np.zeros(3)
        power = 10 ** (loudness[counts] / 10)
        return 10 * float(np.log10(power.mean())), power @ shape[counts] / power.sum()


@dataclass(frozen=True)
class Gain:
    """Gains in dB of a clip that plays alone from `alone[0]` to `alone[1]`: of the whole, and what its edges add."""

    alone: tuple[float, float]
    whole: float = 0.0
    lead: float = 0.0
    tail: float = 0.0

    @property
    def largest(self) -> float:
        """The most that an edge may add."""
        seconds = max(0.0, self.alone[1] - self.alone[0])
        return min(_LARGEST_DB, _DB_A_SECOND * (seconds / 2 - min(_HELD_SECONDS, seconds / 4)))

    def shape(self, times: np.ndarray) -> np.ndarray:
        """How much of each of the three gains there is at times [N]: -> [N, 3]."""
        begin, end = self.alone
        middle, held = (begin + end) / 2, min(_HELD_SECONDS, max(0.0, end - begin) / 4)
        lead = np.interp(times, [begin + held, middle], [1.0, 0.0])
        tail = np.interp(times, [middle, end - held], [0.0, 1.0])
        return np.stack([np.ones(len(times)), lead, tail], axis=1)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Gain in dB at times: [N] -> [N]."""
        return self.shape(times) @ [self.whole, self.lead, self.tail]


def listen(
    samples: np.ndarray,
    rate: int,
    moved: tuple[np.ndarray | Sequence[float], np.ndarray | Sequence[float]],
    own: tuple[float, float],
    alone: tuple[float, float],
) -> Heard:
    """How loud a clip [N, C] is; `moved` are times in its samples, and where in the mix they are heard."""
    blocks = blocks_of(samples, rate)
    times = np.arange(len(blocks)) * BLOCK_STEP_SECONDS + BLOCK_SECONDS / 2
    return Heard(np.interp(times, *moved), blocks, own, alone)


def even(clips: Sequence[Heard], loudness: float) -> list[Gain]:
    """Gains that bring every clip to a loudness (LUFS) and close the steps between them."""
    from scipy.optimize import lsq_linear

    blank = [Gain(clip.alone) for clip in clips]
    shapes = [gain.shape(clip.times) for gain, clip in zip(blank, clips, strict=True)]
    largest = np.array([[np.inf, gain.largest + 1e-6, gain.largest + 1e-6] for gain in blank]).ravel()
    keep = np.diag(np.tile([_ANCHOR, _RELUCTANCE, _RELUCTANCE], len(clips)))
    gains = np.zeros((len(clips), 3))
    for _ in range(_ROUNDS):
        rows, wanted = _equations(clips, gains, shapes, loudness)
        rows, wanted = np.concatenate([rows, keep]), np.concatenate([wanted, np.zeros(len(keep))])
        gains = lsq_linear(rows, wanted, (-largest, largest)).x.reshape(-1, 3)
    return [Gain(gain.alone, *map(float, values)) for gain, values in zip(blank, gains.round(3), strict=True)]


def _equations(
    clips: Sequence[Heard], gains: np.ndarray, shapes: Sequence[np.ndarray], loudness: float
) -> tuple[np.ndarray, np.ndarray]:
    """What the gains [n, 3] should fulfil, linear around what they are: rows [R, 3 n] and values [R]."""
    rows, wanted = [], []

    def add(aim: float, *terms: tuple[float, int, tuple[float, float]]) -> None:
        """A sum of loudnesses, each with a sign, of a clip and in a span of it."""
        row, missing = np.zeros_like(gains), aim
        for sign, i, span in terms:
            heard, slope = clips[i].measure(span, gains[i], shapes[i])
            row[i] += sign * slope
            missing -= sign * heard
        if np.isfinite(missing):  # silence is no measure
            rows.append(row.ravel())
            wanted.append(missing + float((row * gains).sum()))

    for i, clip in enumerate(clips):
        add(loudness, (1.0, i, clip.own))
        if i:
            add(0.0, (1.0, i, clip.edges[0]), (-1.0, i - 1, clips[i - 1].edges[1]))
    return np.reshape(rows, (-1, gains.size)), np.array(wanted)
