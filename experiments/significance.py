"""How sure a number is: intervals and tests over tracks, since puzzles of one track are not independent."""

from collections.abc import Sequence

import numpy as np
import scipy.stats

from djnet.rng import rng_for

DRAWS = 2_000


def interval(values: np.ndarray, tracks: Sequence[str], level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of a mean over puzzles, drawn by track: [P], P names -> low, high."""
    sums, counts = _by_track(values, tracks)
    draws = rng_for(0, "bootstrap", len(sums)).integers(0, len(sums), (DRAWS, len(sums)))
    means = sums[draws].sum(axis=1) / counts[draws].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def permutation_test(ours: np.ndarray, theirs: np.ndarray, tracks: Sequence[str]) -> float:
    """Probability of a difference as great as this if both methods were equally good: [P], [P], P names.

    The methods' answers to all puzzles of a track are exchanged together, or not, at random.
    """
    _require_same(ours, theirs)
    differences = _by_track(ours - theirs, tracks)[0]
    signs = rng_for(0, "permutation", len(differences)).choice([-1.0, 1.0], (DRAWS, len(differences)))
    as_great = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9
    return float((1 + as_great.sum()) / (1 + DRAWS))


def mcnemar(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The same by McNemar's exact test, as if all puzzles were independent: [P], [P], 1 where a puzzle was solved."""
    _require_same(ours, theirs)
    only_ours, only_theirs = int((ours > theirs).sum()), int((theirs > ours).sum())
    if only_ours + only_theirs == 0:
        return 1.0
    return float(scipy.stats.binomtest(only_ours, only_ours + only_theirs).pvalue)


def mean_by_group(values: np.ndarray, groups: Sequence[str]) -> float:
    """Mean over groups of the mean within each, so that a large group counts as much as a small one."""
    sums, counts = _by_track(values, groups)
    return float((sums / counts).mean())


def _by_track(values: np.ndarray, tracks: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of the values of every track."""
    _, own = np.unique(np.asarray(tracks, object).astype(str), return_inverse=True)
    return np.bincount(own, weights=values), np.bincount(own)


def _require_same(ours: np.ndarray, theirs: np.ndarray) -> None:
    if ours.shape != theirs.shape:
        raise ValueError(f"Both methods must have played the same puzzles, got {len(ours)} and {len(theirs)}.")
