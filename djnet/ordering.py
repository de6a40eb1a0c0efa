"""Score matrix -> the order with the highest sum of consecutive scores, with a proof or a bound."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

EXACT_LIMIT = 15  # pieces up to which all subsets are gone through


class Order(NamedTuple):
    """An order of the pieces, the sum of its consecutive scores, and what no order can exceed."""

    order: tuple[int, ...]
    value: float
    bound: float


def validate(scores: np.ndarray) -> np.ndarray:
    """A score matrix as float64 [n, n]; a ValueError says what is wrong with it. The diagonal does not count."""
    scores = np.array(scores, np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        raise ValueError(f"Scores are a square matrix, got shape {scores.shape}.")
    if len(scores) < 2:
        raise ValueError(f"An order needs at least 2 pieces, got {len(scores)}.")
    np.fill_diagonal(scores, 0.0)
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(f"The score of {row} before {column} is {scores[row, column]}.")
    return scores


def best_order(scores: np.ndarray) -> Order:
    """The best order, by dynamic programming over subsets; of equally good ones the first in the alphabet.

    best[set, first] is the highest sum over the set's orders that begin with `first`. Sets are gone through by size,
    all of one size at once. Going backwards from the end, the choice of the smallest first piece breaks ties.
    """
    scores = validate(scores)
    n = len(scores)
    if n > EXACT_LIMIT:
        raise ValueError(f"Too many pieces: {n}, at most {EXACT_LIMIT}.")
    best = np.full((1 << n, n), -np.inf)
    best[1 << np.arange(n), np.arange(n)] = 0.0
    sets = np.arange(1 << n)
    sizes = np.array([int(s).bit_count() for s in sets]) if n < 12 else _bit_counts(sets)
    for size in range(2, n + 1):
        group = sets[sizes == size]
        for first in range(n):
            own = group[(group >> first) & 1 == 1]
            rest = best[own ^ (1 << first)]  # [sets, next piece], -inf where the piece is not in the set
            best[own, first] = (rest + scores[first]).max(axis=1)
    return _read_off(scores, best)


def _read_off(scores: np.ndarray, best: np.ndarray) -> Order:
    n = len(scores)
    left = (1 << n) - 1
    order = [int(np.argmax(best[left]))]
    value = float(best[left, order[0]])
    while len(order) < n:
        left ^= 1 << order[-1]
        order.append(int(np.argmax(best[left] + scores[order[-1]])))
    return Order(tuple(order), value, value)


def _bit_counts(numbers: np.ndarray) -> np.ndarray:
    counts = np.zeros(len(numbers), np.int64)
    for bit in range(int(numbers[-1]).bit_length()):
        counts += (numbers >> bit) & 1
    return counts


def value_of(scores: np.ndarray, order: Sequence[int]) -> float:
    """The sum of consecutive scores of an order."""
    return float(sum(scores[a, b] for a, b in itertools.pairwise(order)))


def greedy(scores: np.ndarray) -> Order:
    """Join the two ends with the highest score that is left, again and again: what most tools do, for comparison."""
    scores = validate(scores)
    n = len(scores)
    chains = {i: [i] for i in range(n)}  # by first piece
    for flat in np.argsort(-scores, axis=None, kind="stable"):
        before, after = divmod(int(flat), n)
        head = next((first for first, chain in chains.items() if chain[-1] == before), None)
        if head is not None and after in chains and head != after:
            chains[head] += chains.pop(after)
    (order,) = chains.values()
    return Order(tuple(order), value_of(scores, order), np.inf)
