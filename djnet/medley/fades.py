"""How a segment comes in and goes out at a join: fades, filters, and what is heard of it again after its end.

In a blend the highs cross-fade with equal power, and the lows change places in the middle within a beat. Echoes and
loops have no lows, which the next segment brings. A sweep closes a low-pass filter.
"""

import itertools

import numpy as np
import scipy.signal

from djnet.medley.stretch import stretched
from djnet.medley.transitions import BLENDS, ECHOES, RATE_HZ, Join

SWEEP_HZ = (16_000.0, 160.0)  # from where to where a low-pass filter closes

_CROSSOVER_HZ = 180.0
_FILTER_SECONDS = 0.2  # in which a filter settles
_MARGIN_SECONDS = 0.1
_EDGE_SECONDS = 0.005  # of what is repeated
_SWEEP_FILTERS = 24  # low-pass filters, from one to the next of which a sweep goes
_SWEEP_END = 0.5  # what a sweep leaves of the level


def fade(stem: np.ndarray, join: Join, places: np.ndarray, rising: bool) -> None:
    """Fade a segment [N, 2] in or out over a join, in place.

    The first or last of `places` (samples) are the edges of the join's bars.
    """
    steps = join.bars if join.kind in BLENDS else 1
    places = places[: steps + 1] if rising else places[-steps - 1 :]
    if join.kind == "sweep" and not rising:
        length = min(len(stem), round((join.end - join.start) * RATE_HZ))
        sweep(stem[len(stem) - length :])
    part = stem[places[0] : places[-1]]
    progress = np.interp(np.arange(places[0], places[-1]), places, np.linspace(0, 1, len(places)))
    highs = equal_power(progress, rising)
    if join.kind in BLENDS:
        beats = 4 * steps  # of which the lows take one to change places
        low_gain = equal_power(np.clip((progress - 0.5) * beats + 0.5, 0, 1), rising)
        margin = round(_MARGIN_SECONDS * RATE_HZ)
        begin = max(0, places[0] - margin)
        low = lows(stem[begin : places[-1] + margin], _CROSSOVER_HZ)[places[0] - begin :][: len(part)]
        part[:] = (part - low) * highs + low * low_gain
    else:
        part *= highs


def sweep(samples: np.ndarray) -> None:
    """Close a low-pass filter over samples [N, 2], in place: each of a row of filters fades into the next.

    The filters do not move the phase, so that two of them can sound together.
    """
    hertz = np.geomspace(*SWEEP_HZ, _SWEEP_FILTERS)
    dry = samples.copy()
    for number, (begin, end) in enumerate(itertools.pairwise(np.linspace(0, len(dry), _SWEEP_FILTERS + 1).astype(int))):
        old = _low_passed(dry, hertz[number - 1], begin, end) if number else dry[begin:end]
        new = _low_passed(dry, hertz[number], begin, end)
        samples[begin:end] = old + np.linspace(0, 1, end - begin, dtype=np.float32)[:, None] * (new - old)
    samples *= np.linspace(1.0, _SWEEP_END, len(samples), dtype=np.float32)[:, None]


def _low_passed(samples: np.ndarray, hertz: float, begin: int, end: int) -> np.ndarray:
    """What lies below a frequency between two places of samples [N, 2]."""
    first = max(0, begin - round(_FILTER_SECONDS * RATE_HZ))
    return lows(samples[first : end + round(_FILTER_SECONDS * RATE_HZ)], hertz)[begin - first :][: end - begin]


def repeated(stem: np.ndarray, join: Join) -> np.ndarray:
    """What is heard of a segment [N, 2] after its end: echoes at half the level each, or a loop: -> [M, 2]."""
    out = np.zeros((round((join.end - join.middle) * RATE_HZ), 2), np.float32)
    if not join.repeats:
        return out
    last = stem[len(stem) - round(join.looped * RATE_HZ) :]
    last = last - lows(last, _CROSSOVER_HZ)
    edge = min(round(_EDGE_SECONDS * RATE_HZ), len(last) // 2)
    last[:edge] *= equal_power(np.linspace(0, 1, edge), rising=True)
    last[len(last) - edge :] *= equal_power(np.linspace(0, 1, edge), rising=False)
    places = np.round((np.array(join.repeats) - join.middle) * RATE_HZ).astype(int)
    for begin, end in itertools.pairwise(places):
        piece = stretched(last, np.array([0.0, len(last) / RATE_HZ]), np.array([0, end - begin]), RATE_HZ)
        out[begin:end] += piece[: len(out) - begin]
    if join.kind == "loop":
        return out * equal_power(np.linspace(0, 1, len(out)), rising=False)
    decay = ECHOES / max(ECHOES, len(places) - 1)  # many echoes die away more slowly
    number = np.searchsorted(places, np.arange(len(out)), side="right")
    return out * (0.5 ** (decay * number)).astype(np.float32)[:, None]


def equal_power(progress: np.ndarray, rising: bool) -> np.ndarray:
    """Gain of an equal-power fade: [n] -> float32 [n, 1]."""
    angle = np.pi / 2 * progress
    return (np.sin(angle) if rising else np.cos(angle)).astype(np.float32)[:, None]


def lows(samples: np.ndarray, hertz: float) -> np.ndarray:
    """What lies below a frequency, in phase, so that the rest is a plain difference: [N, 2] -> [N, 2]."""
    filters = scipy.signal.butter(2, hertz, fs=RATE_HZ, output="sos")
    padding = min(round(_FILTER_SECONDS * RATE_HZ), len(samples) - 1)
    return scipy.signal.sosfiltfilt(filters, samples, axis=0, padlen=padding).astype(np.float32)
