"""Computing the best order: against brute force, and how far it goes."""

import time
from collections.abc import Iterator
from itertools import permutations

import numpy as np

from benchmarks.measure import Line, seconds
from djnet.ordering import best_order


def lines() -> Iterator[Line]:
    """Small puzzles by their time, large ones also by what is proven."""
    scores = _random(9)

    def brute_force() -> np.ndarray:
        orders = np.array(list(permutations(range(9))))
        return orders[np.argmax(scores[orders[:, :-1], orders[:, 1:]].sum(axis=1))]

    theirs, ours = seconds(brute_force), seconds(best_order, scores, repeats=10)
    times = f"{1e3 * ours:.1f} ms"
    yield Line("best order of 9: times brute force in NumPy", theirs / ours, "x", "50 or more", times)
    for n, goal in ((11, "below 30"), (15, "below 500")):
        yield Line(f"best order of {n}", 1e3 * seconds(best_order, _random(n)), "ms", goal)
    for name, matrix in (
        ("100, scores random", _random(100)),
        ("100, scores like SEN's", 1 / (1 + np.exp(-np.random.default_rng(100).normal(-3, 4, (100, 100))))),
        ("500, scores random", _random(500)),
    ):
        start = time.perf_counter()
        answer = best_order(matrix)
        taken = time.perf_counter() - start
        proof = "proven" if answer.bound == answer.value else f"gap {100 * (answer.bound / answer.value - 1):.3f}%"
        yield Line(f"best order of {name}", taken, "s", "proven or gap below 1% in 60", proof)


def _random(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, n))
