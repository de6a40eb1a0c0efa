"""Loudness, and gains that make the clips of a mix equally loud.

Each clip gets one gain (in dB), raised or lowered near its beginning and near its end, so that there is no step in
loudness where two meet: a quiet ending comes up while the loud beginning that follows comes down, slowly, and no more
than needed. All gains are solved for together, because a clip that gives way at one join must stay as loud as the rest.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.signal

from djnet.audio.sample_file import Samples
from djnet.medley.piecewise import Piecewise

_BLOCK_SECONDS, _BLOCK_STEP_SECONDS = 0.4, 0.1  # of ITU-R BS.1770
_OFFSET_LU = -0.691
_ABSOLUTE_GATE_LUFS, _RELATIVE_GATE_LU = -70.0, 10.0
_PIECE_FRAMES = 1 << 19
_PIECE_STEPS, _SETTLING_STEPS = 100, 10  # that are filtered at once, and around them: a filter rings a while

_EDGE_SECONDS = 6.0  # before and after a join, where loudness is compared
_SHORTEST_EDGE_SECONDS = 1.0
_HELD_SECONDS = 3.0  # the gain at an edge is kept this long, then it goes to that of the clip
_LARGEST_EDGE_DB = 6.0
_DB_A_SECOND = 2.0  # the gain never changes faster within a clip
_CLIP_WEIGHT, _EDGE_WEIGHT = 1e-3, 0.2  # of a gain of 1 dB, where 1 LU of loudness error has weight 1
_ITERATIONS = 4  # which blocks the gate leaves out depends on the gains

Span = tuple[float, float]  # seconds


def loudness_of(samples: Samples, rate: int) -> float:
    """Integrated loudness by ITU-R BS.1770: [N, C] -> LUFS; -inf for silence or less than 0.4 s."""
    return integrated(blocks_of(samples, rate)[1])


def blocks_of(samples: Samples, rate: int) -> tuple[np.ndarray, np.ndarray]:
    """Loudness of blocks of 0.4 s that begin every 0.1 s: [N, C] -> seconds of their middles [B], LUFS [B].

    No blocks for silence. Computed in pieces, so that a long mix takes no more memory than a short one.
    """
    stream = power_stream(rate)
    for first in range(0, max(1, len(samples)), _PIECE_FRAMES):
        stream.add(samples[first : first + _PIECE_FRAMES])
    blocks = in_blocks(stream.end())
    return np.arange(len(blocks)) * _BLOCK_STEP_SECONDS + _BLOCK_SECONDS / 2, blocks


def power_stream(rate: int) -> Piecewise:
    """Weighted power of every 0.1 s, of samples [n, C] or [n] that are added block by block: -> [P]."""
    step = round(_BLOCK_STEP_SECONDS * rate)

    def powers(samples: np.ndarray) -> np.ndarray:
        steps = len(samples) // step
        if not steps:
            return np.zeros(0)
        weighted = scipy.signal.sosfilt(_weighting(rate), samples[: steps * step].astype(np.float64), axis=0)
        weighted = weighted.reshape(steps, step * math.prod(samples.shape[1:]))
        return np.einsum("ij,ij->i", weighted, weighted) / step

    return Piecewise(powers, step, _PIECE_STEPS, _SETTLING_STEPS)


def in_blocks(power: np.ndarray) -> np.ndarray:
    """Powers of every 0.1 s -> loudness of blocks of 0.4 s; no blocks for silence: [P] -> LUFS [B]."""
    overlap = round(_BLOCK_SECONDS / _BLOCK_STEP_SECONDS)
    if len(power) < overlap or not power.any():
        return np.zeros(0)
    with np.errstate(divide="ignore"):
        return _OFFSET_LU + 10 * np.log10(np.lib.stride_tricks.sliding_window_view(power, overlap).mean(axis=1))


@functools.cache
def _weighting(rate: int) -> np.ndarray:
    """The filters of BS.1770, a shelf for the head and a high-pass, as second-order sections: [2, 6]."""
    from pyloudnorm import IIRfilter

    shelf = IIRfilter(4.0, 1 / np.sqrt(2), 1500.0, rate, "high_shelf")
    high_pass = IIRfilter(0.0, 0.5, 38.0, rate, "high_pass")
    return np.array([np.concatenate([one.b, one.a]) for one in (shelf, high_pass)])


def integrated(blocks: np.ndarray) -> float:
    """Loudness of blocks together, without pauses: LUFS [B] -> LUFS; -inf if there is nothing but pauses."""
    counts = gate(blocks)
    return 10 * float(np.log10((10 ** (blocks[counts] / 10)).mean())) if counts.any() else -np.inf


def within(times: np.ndarray, start: float, end: float) -> np.ndarray:
    """Which blocks, by their middles in seconds, lie wholly between two times: [B] -> bool [B]."""
    return np.abs(2 * times - start - end) <= end - start - _BLOCK_SECONDS + 1e-6


def gate(blocks: np.ndarray) -> np.ndarray:
    """Which blocks count for the integrated loudness, by ITU-R BS.1770; others are pauses: LUFS [B] -> bool [B]."""
    audible = blocks[blocks >= _ABSOLUTE_GATE_LUFS]
    if not len(audible):
        return np.zeros(len(blocks), bool)
    relative = 10 * np.log10((10 ** (audible / 10)).mean()) - _RELATIVE_GATE_LU
    return blocks > max(relative, _ABSOLUTE_GATE_LUFS)


@dataclass(frozen=True)
class Gain:
    """Gains in dB of a clip that plays alone in a span of the mix: of the whole, and what its two edges add."""

    alone: Span
    whole: float = 0.0
    lead: float = 0.0
    tail: float = 0.0

    @property
    def largest_edge(self) -> float:
        """The most that an edge may add, in dB."""
        seconds = max(0.0, self.alone[1] - self.alone[0])
        return min(_LARGEST_EDGE_DB, _DB_A_SECOND * (seconds / 2 - min(_HELD_SECONDS, seconds / 4)))

    def weights(self, times: np.ndarray) -> np.ndarray:
        """How much of each of the three gains there is at times of the mix: [N] -> [N, 3]."""
        begin, end = self.alone
        middle, held = (begin + end) / 2, min(_HELD_SECONDS, max(0.0, end - begin) / 4)
        lead = np.interp(times, [begin + held, middle], [1.0, 0.0])
        tail = np.interp(times, [middle, end - held], [0.0, 1.0])
        return np.stack([np.ones(len(times)), lead, tail], axis=1)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Gain in dB at times of the mix: [N] -> [N]."""
        return self.weights(times) @ [self.whole, self.lead, self.tail]


@dataclass(frozen=True)
class ClipLoudness:
    """Loudness [B] (LUFS) of a clip's blocks around times [B] of the mix, before any gain.

    `own` goes from the middle of one join to that of the next, `alone` from the end of one to the start of the next.
    """

    times: np.ndarray
    loudness: np.ndarray
    own: Span
    alone: Span

    @property
    def edges(self) -> tuple[Span, Span]:
        """The first and the last seconds, outside of joins."""
        (first, last), (begin, end) = self.own, self.alone
        lead = (min(begin, last - _SHORTEST_EDGE_SECONDS), min(last, begin + _EDGE_SECONDS))
        return lead, (max(first, end - _EDGE_SECONDS), max(end, first + _SHORTEST_EDGE_SECONDS))

    def within(self, span: Span, gains: np.ndarray) -> tuple[float, np.ndarray]:
        """Loudness of a span with gains [3] (whole, lead, tail), and its derivative by each of them [3]."""
        inside = within(self.times, *span)
        weights = Gain(self.alone).weights(self.times[inside])
        loudness = self.loudness[inside] + weights @ gains
        counts = gate(loudness)
        if not counts.any():
            return -np.inf, np.zeros(3)
        power = 10 ** (loudness[counts] / 10)
        return 10 * float(np.log10(power.mean())), power @ weights[counts] / power.sum()


def equal_gains(clips: Sequence[ClipLoudness], loudness: float) -> list[Gain]:
    """Gains that bring every clip to a loudness (LUFS) and close the steps between them, by least squares."""
    from scipy.optimize import lsq_linear

    bounds = np.array([[np.inf, *[Gain(clip.alone).largest_edge + 1e-6] * 2] for clip in clips]).ravel()
    gains = np.zeros((len(clips), 3))
    for _ in range(_ITERATIONS):
        gains = lsq_linear(*_equations(clips, gains, loudness), (-bounds, bounds)).x.reshape(-1, 3)
    return [Gain(clip.alone, *map(float, values)) for clip, values in zip(clips, gains.round(3), strict=True)]


def _equations(clips: Sequence[ClipLoudness], gains: np.ndarray, loudness: float) -> tuple[np.ndarray, np.ndarray]:
    """What the gains should fulfil, linearised around gains [n, 3]: -> coefficients [R, 3 n] and values [R]."""
    rows = list(np.diag(np.tile([_CLIP_WEIGHT, _EDGE_WEIGHT, _EDGE_WEIGHT], len(clips))))  # no more than needed
    values = [0.0] * len(rows)

    def require(difference: float, *terms: tuple[float, int, Span]) -> None:
        """The loudness of clips in spans, each with a sign, shall add up to a difference."""
        row = np.zeros_like(gains)
        for sign, i, span in terms:
            measured, slope = clips[i].within(span, gains[i])
            row[i] += sign * slope
            difference -= sign * measured
        if np.isfinite(difference):  # silence cannot be made louder
            rows.append(row.ravel())
            values.append(difference + float((row * gains).sum()))

    for i, clip in enumerate(clips):
        require(loudness, (1.0, i, clip.own))
        if i:
            require(0.0, (1.0, i, clip.edges[0]), (-1.0, i - 1, clips[i - 1].edges[1]))
    return np.array(rows), np.array(values)
