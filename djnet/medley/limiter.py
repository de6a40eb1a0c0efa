"""True peak, and a limiter that lowers single peaks and leaves the rest as loud as it was."""

import numpy as np
import scipy.ndimage
import soxr

from djnet.audio.sample_file import Samples

_OVERSAMPLING = 4  # as ITU-R BS.1770 has it
_CONTEXT_FRAMES = 512  # around what is resampled: where music is cut off the resampler rings, which are no peaks
_BETWEEN = 0.7  # samples below this share of a height are not that high in between
_DIP_SECONDS = 0.06  # in which the gain goes down before a peak and up after it
_BLOCK_FRAMES = 1 << 16
_ROUNDS = 3
_MARGIN = 0.98  # of the ceiling, because a gain that changes moves what lies between the samples


def true_peak(samples: Samples) -> float:
    """The highest absolute value, also between samples, by fourfold oversampling: [N, C] -> float."""
    heights = [_peak(samples[first : first + _BLOCK_FRAMES]) for first in range(0, len(samples), _BLOCK_FRAMES)]
    highest = max(heights, default=0.0)
    for first, height in zip(range(0, len(samples), _BLOCK_FRAMES), heights, strict=True):
        if height > _BETWEEN * highest:
            lead = min(first, _CONTEXT_FRAMES)
            around = samples[first - lead : first + _BLOCK_FRAMES + _CONTEXT_FRAMES]
            fine = soxr.resample(around, 1, _OVERSAMPLING)[_OVERSAMPLING * lead :]
            highest = max(highest, _peak(fine[: _OVERSAMPLING * min(_BLOCK_FRAMES, len(samples) - first)]))
    return highest


def limit(samples: Samples, ceiling: float, rate: int) -> float:
    """Bring the true peak of samples [N, C] below a ceiling, in place: -> dB taken from the highest peak.

    The gain dips around the peaks only, smoothly and in time; everything else stays as loud as it was.
    """
    highest = peak = true_peak(samples)
    for _ in range(_ROUNDS):  # a gain that changes moves what lies between the samples
        if peak <= ceiling:
            break
        _lower_peaks(samples, _MARGIN * ceiling, rate)
        peak = true_peak(samples)
    if peak > ceiling:  # by the little that may be left
        for first in range(0, len(samples), _BLOCK_FRAMES):
            samples[first : first + _BLOCK_FRAMES] *= np.float32(ceiling / peak)
    return max(0.0, 20 * float(np.log10(max(highest, 1e-9) / ceiling)))


def _lower_peaks(samples: Samples, target: float, rate: int) -> None:
    """Lower samples [N, C] around the peaks above a target, in place."""
    size = 2 * round(_DIP_SECONDS * rate / 2) + 1
    context = 2 * size + _CONTEXT_FRAMES
    before = samples[:0]
    for first in range(0, len(samples), _BLOCK_FRAMES):  # each block sees its neighbours as they were
        around = np.concatenate([before, samples[first : first + _BLOCK_FRAMES + context]])
        begin, frames = len(before), min(_BLOCK_FRAMES, len(samples) - first)
        before = around[begin + frames - min(context, begin + frames) : begin + frames]
        if _peak(around) > _BETWEEN * target:
            needed = target / np.maximum(_peaks(around), target)
            gain = scipy.ndimage.minimum_filter1d(needed, size)
            for width in (size // 2 + 1, size - size // 2):  # two running means, together as wide as the minimum
                gain = scipy.ndimage.uniform_filter1d(gain, width)
            samples[first : first + frames] *= np.minimum(gain, needed)[begin : begin + frames, None]


def _peaks(samples: np.ndarray) -> np.ndarray:
    """The highest absolute value around each sample, also between samples: [N, C] -> float32 [N]."""
    fine = np.abs(soxr.resample(samples, 1, _OVERSAMPLING))
    fine = _highest(fine.T)[: _OVERSAMPLING * len(samples)]
    fine = np.pad(fine, (_OVERSAMPLING // 2, _OVERSAMPLING * (len(samples) + 1) - len(fine) - _OVERSAMPLING // 2))
    groups = _highest(fine.reshape(-1, _OVERSAMPLING).T)
    return np.maximum(groups[:-1], groups[1:]).astype(np.float32)


def _highest(rows: np.ndarray) -> np.ndarray:
    """The maximum over a few rows, many times as fast as `max(axis=0)`: [R, N] -> [N]."""
    highest = rows[0]
    for row in rows[1:]:
        highest = np.maximum(highest, row)
    return highest


def _peak(samples: np.ndarray) -> float:
    return float(max(samples.max(initial=0.0), -samples.min(initial=0.0)))
