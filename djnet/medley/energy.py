"""How lively the parts of a medley are, and how their energy may rise and fall from its beginning to its end."""

from collections.abc import Callable, Sequence

import numpy as np
import scipy.stats

from djnet.constants import HOPS_PER_SECOND
from djnet.medley.parts import Part

# The energy that is wanted after a share of the songs, both from 0 to 1.
ARCS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rise": lambda share: share,
    "fall": lambda share: 1 - share,
    "wave": lambda share: (1 - np.cos(3 * np.pi * share)) / 2,  # up, down, and up again
    "flat": lambda share: np.full_like(share, 0.5),
}
WEIGHT = 0.3  # what a part loses that is as far from the arc as can be, in score


def energies(parts: Sequence[Part]) -> np.ndarray:
    """How lively each part is among all of them, from 0 to 1: [P].

    By two ranks that count the same: how loud it is as it was recorded, and how much its sound rises from frame to
    frame, which many and sharp onsets do.
    """
    if len(parts) < 2:
        return np.full(len(parts), 0.5)
    levels, rises = np.transpose([_level_and_rise(part) for part in parts])
    ranks = scipy.stats.rankdata(levels) + scipy.stats.rankdata(rises)
    return (scipy.stats.rankdata(ranks) - 1) / (len(parts) - 1)


def _level_and_rise(part: Part) -> tuple[float, float]:
    """Loudness of a part in dB, and the mean rise of its log-mel from a frame to the next."""
    mel = part.song.mel.astype(np.float32)
    own = mel[int(part.start * HOPS_PER_SECOND) : int(part.end * HOPS_PER_SECOND) + 1]
    power = [np.expm1(one).mean() + 1e-3 for one in (own, mel)]
    rise = np.maximum(np.diff(own, axis=0), 0).mean() if len(own) > 1 else 0.0
    return part.song.loudness + 10 * float(np.log10(power[0] / power[1])), float(rise)


def arc_scores(energy: np.ndarray, arc: str, count: int) -> np.ndarray:
    """What each part loses at each of `count` places by its distance from an arc: energies [...] -> [count, ...]."""
    wanted = ARCS[arc](np.linspace(0, 1, count) if count > 1 else np.full(1, 0.5))
    return -WEIGHT * np.abs(energy - wanted.reshape(-1, *[1] * energy.ndim))
