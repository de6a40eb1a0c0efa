"""The best order of songs and the best part of each together: a generalised travelling salesman problem.

Up to 15 songs by dynamic programming over subsets, which proves the solution. With more songs, a plain travelling
salesman problem, where two songs score what their best parts would, gives an upper bound and a start; from there the
best parts for the order and the best order for the parts in turn, until neither helps.
"""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from djnet.ordering import EXACT_LIMIT, TOLERANCE, Order, Rules, best_order, value_of


@dataclass(frozen=True)
class Constraints(Rules):
    """Rules for an order of songs; `drop` songs are left out, never the first or the last of the rules.

    With `keep_order` songs stay in the order of their numbers. Of the pairs `together`, the second song follows right
    after the first.
    """

    drop: int = 0
    keep_order: bool = False
    together: tuple[tuple[int, int], ...] = ()

    def validate(self, n: int) -> None:
        """A ValueError names the rule that no order of n songs can keep."""
        chain = itertools.pairwise(range(n)) if self.keep_order else ()
        Rules(self.first, self.last, (*self.before, *self.together, *chain)).validate(n)

    def kept_by(self, order: Sequence[int]) -> bool:
        """Whether an order keeps to all rules."""
        return super().kept_by(order) and set(self.together) <= set(itertools.pairwise(order))

    def relaxed(self) -> Iterator[tuple[str, "Constraints"]]:
        """Each constraint on the order that is set, by name, with all constraints but that one."""
        unset: dict[str, Any] = {"first": None, "last": None, "before": (), "keep_order": False, "together": ()}
        for name, value in unset.items():
            if getattr(self, name) != value:
                yield name, replace(self, **{name: value})


@dataclass(frozen=True)
class Solution:
    """Songs in their order, which part of each plays, the sum of scores, and what no solution can exceed."""

    order: tuple[int, ...]
    parts: tuple[int, ...]
    value: float
    bound: float

    @property
    def proven(self) -> bool:
        """Whether no other solution is better."""
        return self.bound - self.value <= TOLERANCE * max(1.0, abs(self.value))


def solve(scores: np.ndarray, constraints: Constraints) -> Solution:
    """The best order and parts by scores [n, c, n, c]: of a song's part, followed by another song's part.

    A part that a song does not have scores -inf everywhere. A ValueError names a constraint that cannot be kept.
    """
    n = len(scores)
    constraints.validate(n)
    if constraints.drop > n - 2:
        raise ValueError(f"Cannot leave out {constraints.drop} of {n} songs: two must be left.")
    if constraints.together:
        return _neighbours(scores, constraints)
    if n <= EXACT_LIMIT:
        return _exact(scores, constraints)
    solution = _alternating(scores, constraints, range(n))
    for _ in range(constraints.drop):  # one after the other: the one without which the others join best
        shorter = [
            _best_parts(scores, [song for song in solution.order if song != dropped])
            for dropped in solution.order
            if dropped not in (constraints.first, constraints.last)
        ]
        songs = sorted(max(shorter, key=lambda one: one.value).order)
        solution = replace(_alternating(scores, constraints, songs), bound=np.inf)
    return solution


def _neighbours(scores: np.ndarray, constraints: Constraints) -> Solution:
    """Solve with pairs kept together: they score so much more that nothing else can outweigh them."""
    bonus = 2.0 * len(scores)
    raised = scores.copy()
    for a, b in constraints.together:
        raised[a, :, b, :] += bonus
    solution = solve(raised, replace(constraints, together=()))
    if not constraints.kept_by(solution.order):
        raise ValueError("No order keeps to all of these rules.")
    paid = bonus * len(constraints.together)
    return replace(solution, value=solution.value - paid, bound=solution.bound - paid)


def _exact(scores: np.ndarray, constraints: Constraints) -> Solution:
    """Dynamic programming: best[songs, first, part] is the highest sum of an order of these songs (a bit for each)."""
    n, c = scores.shape[:2]
    best = np.full((1 << n, n, c), -np.inf)
    for song in range(n) if constraints.last is None else [constraints.last]:
        best[1 << song, song] = np.where(np.isfinite(scores[song]).any(axis=(1, 2)), 0.0, -np.inf)
    sets = np.arange(1 << n)
    sizes = sum(sets >> bit & 1 for bit in range(n))
    before = set(itertools.combinations(range(n), 2) if constraints.keep_order else constraints.before)
    earlier = [sum(1 << a for a, b in before if b == song) for song in range(n)]
    for size in range(2, n - constraints.drop + 1):
        group = sets[sizes == size]
        for first in range(n):
            own = group[(group >> first & 1 == 1) & (group & earlier[first] == 0)]
            rest = best[own ^ (1 << first)].reshape(len(own), n * c)
            for part in range(c):
                best[own, first, part] = (rest + scores[first, part].reshape(-1)).max(axis=1, initial=-np.inf)
    complete = sets[sizes == n - constraints.drop]
    values = best[complete]
    if constraints.first is not None:
        values[:, np.arange(n) != constraints.first] = -np.inf
    if not np.isfinite(values.max()):
        raise ValueError("No order keeps to all of these rules.")
    at, *step = map(int, np.unravel_index(np.argmax(values), values.shape))
    songs, steps = int(complete[at]), [tuple(step)]
    while songs := songs ^ (1 << steps[-1][0]):
        onward = scores[steps[-1]] + best[songs]
        steps.append(tuple(map(int, np.unravel_index(np.argmax(onward), onward.shape))))
    order, parts = zip(*steps, strict=True)
    return Solution(order, parts, float(values.max()), float(values.max()))


def _alternating(scores: np.ndarray, constraints: Constraints, songs: Sequence[int]) -> Solution:
    """The best parts for an order and the best order for these parts in turn, for some of the songs."""
    if constraints.keep_order:
        solution = _best_parts(scores, songs)
        return replace(solution, bound=solution.value)
    start = _best_order(scores.max(axis=(1, 3)), constraints, songs)
    solution = _best_parts(scores, start.order)
    while True:
        order = _best_order(_between_parts(scores, solution), constraints, songs).order
        better = _best_parts(scores, order)
        if better.value <= solution.value + TOLERANCE:
            return replace(solution, bound=max(solution.value, start.bound))
        solution = better


def _best_order(scores: np.ndarray, rules: Rules, songs: Sequence[int]) -> Order:
    """The best order of some of the songs by scores [n, n]."""
    number = {song: i for i, song in enumerate(songs)}
    own = np.where(np.eye(len(songs), dtype=bool), 0.0, scores[np.ix_(songs, songs)])
    before = [(number[a], number[b]) for a, b in rules.before if a in number and b in number]
    first, last = (None if song is None else number[song] for song in (rules.first, rules.last))
    solution = best_order(own, first, last, before, seconds=10.0)
    return solution._replace(order=tuple(songs[i] for i in solution.order))


def _best_parts(scores: np.ndarray, order: Sequence[int]) -> Solution:
    """The best parts for an order, by dynamic programming."""
    values = np.where(np.isfinite(scores[order[0]]).any(axis=(1, 2)), 0.0, -np.inf)
    origins = []
    for a, b in itertools.pairwise(order):
        sums = values[:, None] + scores[a, :, b, :]
        origins.append(sums.argmax(axis=0))
        values = sums.max(axis=0)
    parts = [int(values.argmax())]
    for origin in reversed(origins):
        parts.append(int(origin[parts[-1]]))
    return Solution(tuple(order), tuple(reversed(parts)), float(values.max()), np.inf)


def second_best(scores: np.ndarray, best: Solution, constraints: Constraints) -> Solution | None:
    """The best of the other orders; none if the constraints leave no other.

    Up to 15 songs: another order lacks at least one of the joins, so each is forbidden in turn. More: the best of those
    that move one song, with the same parts; its bound is then not known.
    """
    others = []
    if len(scores) <= EXACT_LIMIT:
        for a, b in itertools.pairwise(best.order):
            without = scores.copy()
            without[a, :, b, :] = -np.inf
            with contextlib.suppress(ValueError):
                others.append(solve(without, constraints))
    elif not constraints.keep_order:
        fixed = _between_parts(scores, best)
        part = dict(zip(best.order, best.parts, strict=True))
        for song, place in itertools.product(best.order, range(len(best.order))):
            rest = [other for other in best.order if other != song]
            order = (*rest[:place], song, *rest[place:])
            if order != best.order and constraints.kept_by(order):
                others.append(Solution(order, tuple(part[i] for i in order), value_of(fixed, order), np.inf))
    return max(others, key=lambda solution: solution.value, default=None)


def _between_parts(scores: np.ndarray, chosen: Solution) -> np.ndarray:
    """Scores between the chosen parts: [n, c, n, c] -> [n, n]; the first part of songs that do not play."""
    songs, parts = np.arange(len(scores)), np.zeros(len(scores), int)
    parts[list(chosen.order)] = chosen.parts
    return scores[songs[:, None], parts[:, None], songs, parts]
