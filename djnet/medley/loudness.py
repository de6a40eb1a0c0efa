"""How loud music is, how high its peaks are, and how to keep them below a ceiling."""

import numpy as np
import scipy.ndimage
import soxr

BLOCK_SECONDS, BLOCK_STEP_SECONDS = 0.4, 0.1

_FAINTEST_LUFS = -70.0
_PAUSE_LU = 10.0  # below the loudness of what is audible
_LIMITED_DB = 6.0  # of a peak that are taken away by the limiter
_WINDOW_SECONDS = 0.06
_BLOCK_FRAMES = 1 << 20
_MARGIN = 0.97  # of the ceiling, for what lies between the samples


def loudness_of(samples: np.ndarray, rate: int) -> float:
    """Integrated loudness by ITU-R BS.1770: [N, C] -> LUFS; -inf for silence or less than 0.4 s."""
    return _measured(samples, rate)[0]


def blocks_of(samples: np.ndarray, rate: int) -> np.ndarray:
    """Loudness of blocks of 0.4 s that begin every 0.1 s: [N, C] -> LUFS [B]."""
    return _measured(samples, rate)[1]


def counted(blocks: np.ndarray) -> np.ndarray:
    """Which blocks count for the loudness of all, by ITU-R BS.1770; the others are pauses: LUFS [B] -> bool [B]."""
    audible = blocks[blocks >= _FAINTEST_LUFS]
    if not len(audible):
        return np.zeros(len(blocks), bool)
    pause = 10 * np.log10((10 ** (audible / 10)).mean()) - _PAUSE_LU
    return blocks > max(pause, _FAINTEST_LUFS)


def _measured(samples: np.ndarray, rate: int) -> tuple[float, np.ndarray]:
    import pyloudnorm

    if len(samples) < BLOCK_SECONDS * rate + 1 or not samples.any():
        return -np.inf, np.zeros(0)
    meter = pyloudnorm.Meter(rate)
    with np.errstate(divide="ignore"):
        loudness = float(meter.integrated_loudness(samples.astype(np.float64)))
    return loudness, np.array(meter.blockwise_loudness)


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
    size = 2 * round(_WINDOW_SECONDS * rate / 2) + 1
    for first in range(0, len(samples), _BLOCK_FRAMES):  # in blocks, to spare memory; each sees its neighbours
        begin = max(0, first - 2 * size)
        needed = _MARGIN * ceiling / level[begin : first + _BLOCK_FRAMES + 2 * size]
        if needed.min() < 1.0:
            dip = np.minimum(_smooth(scipy.ndimage.minimum_filter1d(needed, size), size), needed)
            block = samples[first : first + _BLOCK_FRAMES]
            block *= dip[first - begin :][: len(block), None]
    turn_down(samples, ceiling, rate)


def turn_down(samples: np.ndarray, ceiling: float, rate: int) -> None:
    """Make all of the samples [N, C] as much quieter as their true peak lies above a ceiling, in place."""
    samples *= np.float32(min(1.0, ceiling / max(true_peak(samples, rate), 1e-9)))


def _smooth(gains: np.ndarray, size: int) -> np.ndarray:
    """Two running means, which make corners round; together as wide as the minimum was taken over: [N] -> [N]."""
    for width in (size // 2 + 1, size - size // 2):
        gains = scipy.ndimage.uniform_filter1d(gains, width)
    return gains
