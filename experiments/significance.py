"""How sure a number is: intervals over puzzles, and whether one method is really better than another."""

import numpy as np
import scipy.stats

from djnet.rng import rng_for

DRAWS = 2_000


def interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of a mean over puzzles: [P] -> low, high."""
    draws = rng_for(0, "bootstrap", len(values)).integers(0, len(values), (DRAWS, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def mcnemar(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Probability of a difference as great as this if both methods were equally good (McNemar's exact test).

    [P], [P]: 1 where a method solved the puzzle; both played the same puzzles.
    """
    if ours.shape != theirs.shape:
        raise ValueError(f"Both methods must have played the same puzzles, got {len(ours)} and {len(theirs)}.")
    only_ours, only_theirs = int((ours > theirs).sum()), int((theirs > ours).sum())
    if only_ours + only_theirs == 0:
        return 1.0
    return float(scipy.stats.binomtest(only_ours, only_ours + only_theirs).pvalue)
