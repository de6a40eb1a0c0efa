"""Finding the best order: against brute force, and how far it goes."""

import time
from collections.abc import Iterator
from itertools import permutations

import numpy as np

from benchmarks.measure import Line, seconds
from djnet.ordering import best_order


def _random(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, n))


def _like_sen(n: int) -> np.ndarray:
    """Most near 0, some near 1."""
    return 1 / (1 + np.exp(-np.random.default_rng(n).normal(-3, 4, (n, n))))


def lines() -> Iterator[Line]:
    """Small puzzles by their time, large ones also by what is proven."""
    scores = _random(9)
    orders = np.array(list(permutations(range(9))))
    plain = seconds(lambda: orders[np.argmax(scores[orders[:, :-1], orders[:, 1:]].sum(axis=1))])
    listed = seconds(lambda: np.array(list(permutations(range(9)))), repeats=1)
    ours = seconds(lambda: best_order(scores), repeats=10)
    yield Line(
        "best order of 9: times brute force in NumPy",
        (plain + listed) / ours,
        "x",
        "50 or more",
        f"{1e3 * ours:.1f} ms",
    )
    for n, goal in ((11, "below 30"), (15, "below 500")):
        matrix = _random(n)
        taken = 1e3 * seconds(lambda matrix=matrix: best_order(matrix))  # type: ignore[misc]
        yield Line(f"best order of {n}", taken, "ms", goal)
    for n, kind, matrix in (
        (100, "random", _random(100)),
        (100, "like SEN's", _like_sen(100)),
        (500, "random", _random(500)),
    ):
        start = time.perf_counter()
        found = best_order(matrix)
        taken = time.perf_counter() - start
        proof = "proven" if found.bound == found.value else f"gap {100 * (found.bound / found.value - 1):.3f}%"
        yield Line(f"best order of {n}, scores {kind}", taken, "s", "proven or gap below 1% in 60", proof)
