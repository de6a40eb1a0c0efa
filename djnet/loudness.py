"""How loud music is, how high its peaks are, and how to keep them below a ceiling."""

import numpy as np
import scipy.ndimage
import soxr

_LIMITED_DB = 6.0  # of a peak that are taken away by the limiter
_WINDOW_SECONDS = 0.06
_MARGIN = 0.97  # of the ceiling, for what lies between the samples


def loudness_of(samples: np.ndarray, rate: int) -> float:
    """Integrated loudness by ITU-R BS.1770: [N, C] -> LUFS; -inf for silence or less than 0.4 s."""
    import pyloudnorm

    if len(samples) < 0.4 * rate + 1 or not samples.any():
        return -np.inf
    with np.errstate(divide="ignore"):
        return float(pyloudnorm.Meter(rate).integrated_loudness(samples.astype(np.float64)))


def true_peak(samples: np.ndarray, rate: int) -> float:
    """The highest absolute value between samples too, by fourfold oversampling: [N, C] -> float."""
    highest = _highest(samples)
    for first in range(0, len(samples), rate):
        block = samples[max(0, first - 64) : first + rate + 64]
        if _highest(block) > 0.7 * highest:  # others cannot reach it between their samples
            highest = max(highest, _highest(soxr.resample(block, 1, 4)))
    return highest


def _highest(samples: np.ndarray) -> float:
    return float(max(samples.max(initial=0.0), -samples.min(initial=0.0)))


def keep_below(samples: np.ndarray, ceiling: float, rate: int) -> None:
    """Bring the true peak of samples [N, C] below a ceiling, in place.

    Up to 6 dB are taken away around the peaks only, by a gain that dips smoothly and in time; if that is not enough,
    everything is turned down, so that what was equally loud stays so.
    """
    loudest = _highest(samples)
    samples *= np.float32(min(1.0, ceiling * 10 ** (_LIMITED_DB / 20) / max(loudest, 1e-9)))
    level = np.full(len(samples), _MARGIN * ceiling, np.float32)
    for channel in samples.T:
        np.maximum(level, np.abs(channel), out=level)
    needed = np.divide(_MARGIN * ceiling, level, out=level)
    if len(needed) and needed.min() < 1.0:
        size = 2 * round(_WINDOW_SECONDS * rate / 2) + 1
        dip = scipy.ndimage.minimum_filter1d(needed, size)
        samples *= np.minimum(_smooth(dip, size), needed)[:, None]
    samples *= np.float32(min(1.0, ceiling / max(true_peak(samples, rate), 1e-9)))


def _smooth(gains: np.ndarray, size: int) -> np.ndarray:
    """Two running means, which make corners round; together as wide as the minimum was taken over: [N] -> [N]."""
    for width in (size // 2 + 1, size - size // 2):
        gains = scipy.ndimage.uniform_filter1d(gains, width)
    return gains
