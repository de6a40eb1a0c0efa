"""The best order of songs and the best part of each together: a generalised travelling salesman problem.

Up to 15 songs by dynamic programming over subsets, which proves the solution. With more songs, a plain travelling
salesman problem, where two songs score what their best parts would, gives an upper bound and a start; from there the
best parts for the order and the best order for the parts in turn, until neither helps.

Besides joins, what a part scores at its place counts: for an arc of energy, or for an opening, which can only be first.
"""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize

from djnet.ordering import EXACT_LIMIT, TOLERANCE, Order, Rules, best_order, value_of

_MOVES_SECONDS = 5.0
_IMPOSSIBLE = -1e3  # in place of -inf, which some solvers refuse

# How many songs play -> score of a song's part at each place: [count, n, c]; -inf where it cannot stand.
Places = Callable[[int], np.ndarray]


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


def solve(scores: np.ndarray, constraints: Constraints, places: Places | None = None) -> Solution:
    """The best order and parts by scores [n, c, n, c]: of a song's part, followed by another song's part.

    A part that a song does not have scores -inf everywhere. `places` adds what parts score at their places; without,
    all places are alike. A ValueError names a constraint that cannot be kept.
    """
    n = len(scores)
    constraints.validate(n)
    if constraints.drop > n - 2:
        raise ValueError(f"Cannot leave out {constraints.drop} of {n} songs: two must be left.")
    places = places or _alike(scores)
    if constraints.together:
        return _neighbours(scores, constraints, places)
    if n <= EXACT_LIMIT:
        return _exact(scores, constraints, places(n - constraints.drop))
    solution = _alternating(scores, constraints, range(n), places(n))
    for left in range(n - 1, n - constraints.drop - 1, -1):  # one by one: that without which the others join best
        shorter = [
            _best_parts(scores, [song for song in solution.order if song != dropped], places(left))
            for dropped in solution.order
            if dropped not in (constraints.first, constraints.last)
        ]
        songs = sorted(max(shorter, key=lambda one: one.value).order)
        solution = replace(_alternating(scores, constraints, songs, places(left)), bound=np.inf)
    return solution


def _alike(scores: np.ndarray) -> Places:
    """All places alike: 0 for every part that can follow or be followed, -inf for parts that there are not."""
    there = np.isfinite(scores).any(axis=(2, 3)) | np.isfinite(scores).any(axis=(0, 1))
    return lambda count: np.tile(np.where(there, 0.0, -np.inf), (count, 1, 1))


def value_at(scores: np.ndarray, places: np.ndarray, solution: Solution) -> float:
    """The sum of scores of a solution, at its joins and at its places."""
    steps = list(zip(solution.order, solution.parts, strict=True))
    joins = sum(scores[(*a, *b)] for a, b in itertools.pairwise(steps))
    return float(joins + sum(places[(i, *step)] for i, step in enumerate(steps)))


def _neighbours(scores: np.ndarray, constraints: Constraints, places: Places) -> Solution:
    """Solve with pairs kept together: they score so much more that nothing else can outweigh them."""
    bonus = 2.0 * len(scores)
    raised = scores.copy()
    for a, b in constraints.together:
        raised[a, :, b, :] += bonus
    solution = solve(raised, replace(constraints, together=()), places)
    if not constraints.kept_by(solution.order):
        raise ValueError("No order keeps to all of these rules.")
    paid = bonus * len(constraints.together)
    return replace(solution, value=solution.value - paid, bound=solution.bound - paid)


def _exact(scores: np.ndarray, constraints: Constraints, places: np.ndarray) -> Solution:
    """Dynamic programming: best[songs, first, part] is the highest sum of an order of these songs (a bit for each).

    They are the last to play, so their number says at which place the first of them stands.
    """
    n, c = scores.shape[:2]
    best = np.full((1 << n, n, c), -np.inf)
    for song in range(n) if constraints.last is None else [constraints.last]:
        best[1 << song, song] = places[-1, song]
    sets = np.arange(1 << n)
    sizes = sum(sets >> bit & 1 for bit in range(n))
    before = set(itertools.combinations(range(n), 2) if constraints.keep_order else constraints.before)
    earlier = [sum(1 << a for a, b in before if b == song) for song in range(n)]
    possible = [np.flatnonzero(np.isfinite(place).any(axis=0)) for place in places]  # parts, at every place
    for size in range(2, n - constraints.drop + 1):
        group, place = sets[sizes == size], len(places) - size
        following = possible[place + 1]
        for first in range(n):
            own = group[(group >> first & 1 == 1) & (group & earlier[first] == 0)]
            rest = best[own ^ (1 << first)][:, :, following].reshape(len(own), n * len(following))
            for part in possible[place]:
                onward = scores[first, part][:, following].reshape(-1)
                best[own, first, part] = (rest + onward).max(axis=1, initial=-np.inf) + places[place, first, part]
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


def _alternating(scores: np.ndarray, constraints: Constraints, songs: Sequence[int], places: np.ndarray) -> Solution:
    """The best parts for an order and the best order for these parts in turn, for some of the songs."""
    if constraints.keep_order:
        solution = _best_parts(scores, songs, places)
        return replace(solution, bound=solution.value)
    start = _best_order(scores.max(axis=(1, 3)), constraints, songs)
    at_best = np.maximum(places[:, songs].max(axis=2), _IMPOSSIBLE)  # [count, songs]
    rows, columns = scipy.optimize.linear_sum_assignment(at_best, maximize=True)
    bound = start.bound + float(at_best[rows, columns].sum())
    solution = _best_parts(scores, start.order, places)
    by_place = tuple(songs[i] for i in columns)
    if constraints.kept_by(by_place):
        solution = max(solution, _best_parts(scores, by_place, places), key=lambda one: one.value)
    deadline = time.monotonic() + _MOVES_SECONDS
    while True:
        fixed = _between_parts(scores, solution)
        orders = [_best_order(fixed, constraints, songs).order]
        if (places[1:-1] != places[1]).any():  # else only what joins score depends on the order
            orders.append(_moved(fixed, places.max(axis=2), solution.order, constraints, deadline))
        better = max((_best_parts(scores, order, places) for order in orders), key=lambda one: one.value)
        if better.value <= solution.value + TOLERANCE:
            return replace(solution, bound=max(solution.value, bound))
        solution = better


def _moved(
    scores: np.ndarray, places: np.ndarray, order: tuple[int, ...], constraints: Constraints, deadline: float
) -> tuple[int, ...]:
    """Local search: single songs are moved to better places, by scores [n, n] and [count, n] at places."""
    count = np.arange(len(order))

    def value(one: tuple[int, ...]) -> float:
        return value_of(scores, one) + float(places[count, one].sum())

    highest, improved = value(order), True
    while improved and time.monotonic() < deadline:
        improved = False
        for song, place in itertools.product(order, range(len(order))):
            rest = tuple(other for other in order if other != song)
            changed = (*rest[:place], song, *rest[place:])
            if value(changed) > highest + TOLERANCE and constraints.kept_by(changed):
                order, highest, improved = changed, value(changed), True
            if time.monotonic() > deadline:
                break
    return order


def _best_order(scores: np.ndarray, rules: Rules, songs: Sequence[int]) -> Order:
    """The best order of some of the songs by scores [n, n]."""
    number = {song: i for i, song in enumerate(songs)}
    own = np.where(np.eye(len(songs), dtype=bool), 0.0, scores[np.ix_(songs, songs)])
    before = [(number[a], number[b]) for a, b in rules.before if a in number and b in number]
    first, last = (None if song is None else number[song] for song in (rules.first, rules.last))
    solution = best_order(own, first, last, before, seconds=10.0)
    return solution._replace(order=tuple(songs[i] for i in solution.order))


def _best_parts(scores: np.ndarray, order: Sequence[int], places: np.ndarray) -> Solution:
    """The best parts for an order, by dynamic programming."""
    values = places[0, order[0]]
    origins = []
    for place, (a, b) in enumerate(itertools.pairwise(order), 1):
        sums = values[:, None] + scores[a, :, b, :]
        origins.append(sums.argmax(axis=0))
        values = sums.max(axis=0) + places[place, b]
    parts = [int(values.argmax())]
    for origin in reversed(origins):
        parts.append(int(origin[parts[-1]]))
    return Solution(tuple(order), tuple(reversed(parts)), float(values.max()), np.inf)


def second_best(
    scores: np.ndarray, best: Solution, constraints: Constraints, places: Places | None = None
) -> Solution | None:
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
                others.append(solve(without, constraints, places))
    elif not constraints.keep_order:
        at_places = (places or _alike(scores))(len(best.order))
        part = dict(zip(best.order, best.parts, strict=True))
        for song, place in itertools.product(best.order, range(len(best.order))):
            rest = [other for other in best.order if other != song]
            order = (*rest[:place], song, *rest[place:])
            if order != best.order and constraints.kept_by(order):
                other = Solution(order, tuple(part[i] for i in order), -np.inf, np.inf)
                others.append(replace(other, value=value_at(scores, at_places, other)))
    return max(others, key=lambda solution: solution.value, default=None)


def _between_parts(scores: np.ndarray, chosen: Solution) -> np.ndarray:
    """Scores between the chosen parts: [n, c, n, c] -> [n, n]; the first part of songs that do not play."""
    songs, parts = np.arange(len(scores)), np.zeros(len(scores), int)
    parts[list(chosen.order)] = chosen.parts
    return scores[songs[:, None], parts[:, None], songs, parts]
