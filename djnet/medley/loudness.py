"""Loudness and true peak, a limiter, and gains that make the clips of a mix equally loud.

Each clip gets one gain (in dB), raised or lowered near its beginning and near its end, so that there is no step in
loudness where two meet: a quiet ending comes up while the loud beginning that follows comes down, slowly, and no more
than needed. All gains are solved for together, because a clip that gives way at one join must stay as loud as the rest.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.ndimage
import soxr

_BLOCK_SECONDS, _BLOCK_STEP_SECONDS = 0.4, 0.1  # of ITU-R BS.1770
_ABSOLUTE_GATE_LUFS, _RELATIVE_GATE_LU = -70.0, 10.0

_LIMITER_SECONDS = 0.06
_LIMITER_BLOCK_FRAMES = 1 << 20
_LIMITER_ROUNDS = 3
_MARGIN = 0.98  # of the ceiling, because a gain that changes moves what lies between the samples

_EDGE_SECONDS = 6.0  # before and after a join, where loudness is compared
_SHORTEST_EDGE_SECONDS = 1.0
_HELD_SECONDS = 3.0  # the gain at an edge is kept this long, then it goes to that of the clip
_LARGEST_EDGE_DB = 6.0
_DB_A_SECOND = 2.0  # the gain never changes faster within a clip
_CLIP_WEIGHT, _EDGE_WEIGHT = 1e-3, 0.2  # of a gain of 1 dB, where 1 LU of loudness error has weight 1
_ITERATIONS = 4  # which blocks the gate leaves out depends on the gains

Span = tuple[float, float]  # seconds


def loudness_of(samples: np.ndarray, rate: int) -> float:
    """Integrated loudness by ITU-R BS.1770: [N, C] -> LUFS; -inf for silence or less than 0.4 s."""
    return _measure(samples, rate)[0]


def blocks_of(samples: np.ndarray, rate: int) -> tuple[np.ndarray, np.ndarray]:
    """Loudness of blocks of 0.4 s that begin every 0.1 s: [N, C] -> seconds of their middles [B], LUFS [B]."""
    blocks = _measure(samples, rate)[1]
    return np.arange(len(blocks)) * _BLOCK_STEP_SECONDS + _BLOCK_SECONDS / 2, blocks


def _measure(samples: np.ndarray, rate: int) -> tuple[float, np.ndarray]:
    import pyloudnorm

    if len(samples) < _BLOCK_SECONDS * rate + 1 or not samples.any():
        return -np.inf, np.zeros(0)
    meter = pyloudnorm.Meter(rate)
    with np.errstate(divide="ignore"):
        loudness = float(meter.integrated_loudness(samples.astype(np.float64)))
    return loudness, np.array(meter.blockwise_loudness)


def gate(blocks: np.ndarray) -> np.ndarray:
    """Which blocks count for the integrated loudness, by ITU-R BS.1770; others are pauses: LUFS [B] -> bool [B]."""
    audible = blocks[blocks >= _ABSOLUTE_GATE_LUFS]
    if not len(audible):
        return np.zeros(len(blocks), bool)
    relative = 10 * np.log10((10 ** (audible / 10)).mean()) - _RELATIVE_GATE_LU
    return blocks > max(relative, _ABSOLUTE_GATE_LUFS)


def true_peak(samples: np.ndarray, rate: int) -> float:
    """The highest absolute value, also between samples, by fourfold oversampling: [N, C] -> float."""
    highest = _peak(samples)
    for first in range(0, len(samples), rate):
        block = samples[max(0, first - 64) : first + rate + 64]
        if _peak(block) > 0.7 * highest:  # others cannot reach it between their samples
            highest = max(highest, _peak(soxr.resample(block, 1, 4)))
    return highest


def _peaks(samples: np.ndarray) -> np.ndarray:
    """The highest absolute value around each sample, also between samples: [N, C] -> float32 [N]."""
    fine = functools.reduce(np.maximum, np.abs(soxr.resample(samples, 1, 4)).T)
    fine = np.pad(fine, (2, max(0, 4 * len(samples) + 2 - len(fine))))[: 4 * len(samples) + 4]
    four = functools.reduce(np.maximum, (fine[i::4] for i in range(4)))  # much faster than a maximum over a short axis
    return np.maximum(four[:-1], four[1:]).astype(np.float32)


def _peak(samples: np.ndarray) -> float:
    return float(max(samples.max(initial=0.0), -samples.min(initial=0.0)))


def limit(samples: np.ndarray, ceiling: float, rate: int) -> float:
    """Bring the true peak of samples [N, C] below a ceiling, in place: -> dB taken from the highest peak.

    The gain dips around the peaks only, smoothly and in time; everything else stays as loud as it was.
    """
    highest = peak = _peak(samples)
    for _ in range(_LIMITER_ROUNDS):  # a gain that changes moves what lies between the samples
        _lower_peaks(samples, _MARGIN * ceiling, rate)
        peak = true_peak(samples, rate)
        if peak <= ceiling:
            break
    samples *= np.float32(min(1.0, ceiling / max(peak, 1e-9)))  # by the little that may be left
    return max(0.0, 20 * float(np.log10(max(highest, 1e-9) / ceiling)))


def _lower_peaks(samples: np.ndarray, target: float, rate: int) -> None:
    """Lower samples [N, C] around the peaks above a target, in place."""
    size = 2 * round(_LIMITER_SECONDS * rate / 2) + 1
    before = samples[:0]
    for first in range(0, len(samples), _LIMITER_BLOCK_FRAMES):  # in blocks, to spare memory; each sees its neighbours
        block = samples[first : first + _LIMITER_BLOCK_FRAMES]
        around = np.concatenate([before, samples[first : first + _LIMITER_BLOCK_FRAMES + 2 * size]])
        begin, before = len(before), block[-2 * size :].copy()
        if _peak(around) > 0.7 * target:  # others cannot reach it between their samples
            needed = target / np.maximum(_peaks(around), target)
            gain = scipy.ndimage.minimum_filter1d(needed, size)
            for width in (size // 2 + 1, size - size // 2):  # two running means, together as wide as the minimum
                gain = scipy.ndimage.uniform_filter1d(gain, width)
            block *= np.minimum(gain, needed)[begin:][: len(block), None]


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
        inside = np.abs(2 * self.times - sum(span)) <= span[1] - span[0] - _BLOCK_SECONDS + 1e-6
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
