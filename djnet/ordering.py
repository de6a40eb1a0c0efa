"""Score matrix -> the order with the highest sum of consecutive scores, with a proof or a bound.

Up to 15 pieces by dynamic programming over subsets (Held and Karp), more as a travelling salesman problem. Never a
silent guess: no order exceeds `Order.bound`, which equals `value` where the order is proven to be the best.
"""

import graphlib
import heapq
import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

EXACT_LIMIT = 15  # pieces up to which dynamic programming is used
TOLERANCE = 1e-9
CERTAIN = 1e-7  # probabilities are clipped to [CERTAIN, 1 - CERTAIN], the resolution of float32


class Order(NamedTuple):
    """An order of the pieces, the sum of its consecutive scores, and what no order can exceed."""

    order: tuple[int, ...]
    value: float
    bound: float


@dataclass(frozen=True)
class Rules:
    """Constraints on an order: first and last piece, pairs (a, b) with a before b, pieces that may be left out."""

    first: int | None = None
    last: int | None = None
    before: tuple[tuple[int, int], ...] = ()
    optional: frozenset[int] = frozenset()

    def validate(self, n: int) -> None:
        """A ValueError names the rule that no order of n pieces can keep."""
        for piece in (self.first, self.last, *self.optional, *itertools.chain(*self.before)):
            if piece is not None and not 0 <= piece < n:
                raise ValueError(f"There is no piece {piece}; pieces are 0 to {n - 1}.")
        if self.first is not None and self.first == self.last and n - len(self.optional) > 1:
            raise ValueError(f"Piece {self.first} cannot be both the first and the last.")
        for a, b in self.before:
            if a == b or b == self.first or a == self.last:
                raise ValueError(f"Piece {a} cannot come before {b}: the other rules forbid it.")
        try:
            graphlib.TopologicalSorter({b: [a for a, c in self.before if c == b] for _, b in self.before}).prepare()
        except graphlib.CycleError as error:
            cycle = " before ".join(map(str, error.args[1]))
            raise ValueError(f"The pieces {cycle} go round in a circle.") from None
        for end, piece in (("first", self.first), ("last", self.last)):
            if piece in self.optional:
                raise ValueError(f"Piece {piece} cannot be optional and the {end}.")

    def kept_by(self, order: Sequence[int]) -> bool:
        """Whether an order keeps to all rules."""
        places = {piece: place for place, piece in enumerate(order)}
        return (
            (self.first is None or order[0] == self.first)
            and (self.last is None or order[-1] == self.last)
            and all(places[a] < places[b] for a, b in self.before if a in places and b in places)
        )


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


def best_order(
    scores: np.ndarray,
    first: int | None = None,
    last: int | None = None,
    before: Collection[tuple[int, int]] = (),
    optional: Collection[int] = (),
    seconds: float = 60.0,
) -> Order:
    """The order of n pieces with the highest sum of consecutive scores, [n, n].

    Of equally good orders the lexicographically first, up to 15 pieces; of more, the best that was found in time.

    Args:
        scores: how well piece b (column) follows piece a (row).
        first: the piece that every order begins with.
        last: the piece that every order ends with.
        before: pairs (a, b) where a comes anywhere before b.
        optional: pieces that may be left out.
        seconds: time limit for more than 15 pieces; when it is over, the bound may be above the value.
    """
    scores = validate(scores)
    rules = Rules(first, last, tuple(before), frozenset(optional))
    rules.validate(len(scores))
    if len(scores) <= EXACT_LIMIT:
        return next(_orders_by_value(scores, rules))
    from djnet.travelling_salesman import solve

    order, bound = solve(scores, rules, seconds)
    value = value_of(scores, order)
    return Order(order, value, value if bound - value < TOLERANCE * max(1.0, abs(value)) else bound)


def top_orders(
    scores: np.ndarray,
    k: int,
    first: int | None = None,
    last: int | None = None,
    before: Collection[tuple[int, int]] = (),
    optional: Collection[int] = (),
) -> list[Order]:
    """The k best orders, best first, of up to 15 pieces; `first`, `last`, `before`, `optional` as in best_order."""
    scores = validate(scores)
    if len(scores) > EXACT_LIMIT:
        raise ValueError(f"The k best orders are computed for up to {EXACT_LIMIT} pieces, got {len(scores)}.")
    rules = Rules(first, last, tuple(before), frozenset(optional))
    rules.validate(len(scores))
    return list(itertools.islice(_orders_by_value(scores, rules), k))


def _orders_by_value(scores: np.ndarray, rules: Rules) -> Iterator[Order]:
    """All orders that keep to the rules, the best first; among equals, the lexicographically first.

    The table of best completions gives the value of the best order with a given prefix: a best-first search over
    prefixes, as A* with an exact heuristic.
    """
    best = _best_completions(scores, rules)
    n = len(scores)
    queue: list[tuple[float, tuple[int, ...], float, int]] = []

    def push(prefix: tuple[int, ...], value: float, pieces: int) -> None:
        total = value + best[pieces, prefix[-1]]
        if np.isfinite(total):  # rounded, so that sums that differ only by the order of adding are equal
            heapq.heappush(queue, (round(-total, 10), prefix, value, pieces))

    required = sum(1 << piece for piece in range(n) if piece not in rules.optional)
    for pieces in range(1, 1 << n):
        if pieces & required == required:
            for piece in range(n) if rules.first is None else [rules.first]:
                push((piece,), 0.0, pieces)
    while queue:
        _, order, value, pieces = heapq.heappop(queue)
        rest = pieces ^ (1 << order[-1])
        if not rest:
            yield Order(order, value, value)
            continue
        for piece in range(n):
            if rest >> piece & 1:
                push((*order, piece), value + scores[order[-1], piece], rest)


def _best_completions(scores: np.ndarray, rules: Rules) -> np.ndarray:
    """best[pieces, first]: the highest sum of an order of these pieces that begins with `first`; -inf if there is none.

    Sets of pieces are bit masks; all sets of one size are computed at once.
    """
    n = len(scores)
    best = np.full((1 << n, n), -np.inf)
    for piece in range(n) if rules.last is None else [rules.last]:
        best[1 << piece, piece] = 0.0
    sets = np.arange(1 << n)
    sizes = sum(sets >> bit & 1 for bit in range(n))
    earlier = [sum(1 << a for a, b in set(rules.before) if b == piece) for piece in range(n)]  # must precede it
    for size in range(2, n + 1):
        group = sets[sizes == size]
        for first in range(n):
            own = group[(group >> first & 1 == 1) & (group & earlier[first] == 0)]
            best[own, first] = (best[own ^ (1 << first)] + scores[first]).max(axis=1)
    return best


def value_of(scores: np.ndarray, order: Sequence[int]) -> float:
    """The sum of consecutive scores of an order."""
    pieces = np.array(order, int)
    return float(scores[pieces[:-1], pieces[1:]].sum())


def greedy(scores: np.ndarray) -> Order:
    """Join the two ends with the highest score that is left, again and again: a greedy order, for comparison."""
    scores = validate(scores)
    n = len(scores)
    head = list(range(n))  # of the chain that ends with a piece
    tail = list(range(n))  # of the chain that begins with a piece
    follows: dict[int, int] = {}
    preceded: set[int] = set()
    for flat in np.argsort(-scores, axis=None, kind="stable"):
        before, after = divmod(int(flat), n)
        if before == after or before in follows or after in preceded or head[before] == after:
            continue
        follows[before] = after
        preceded.add(after)
        begin, end = head[before], tail[after]
        tail[begin], head[end] = end, begin
    order = [next(piece for piece in range(n) if piece not in preceded)]
    while order[-1] in follows:
        order.append(follows[order[-1]])
    return Order(tuple(order), value_of(scores, order), np.inf)


def likeliest(probabilities: np.ndarray) -> Order:
    """The order of maximum likelihood: consecutive pairs are positive, all other pairs negative.

    It is the order with the highest sum of consecutive log odds.
    """
    sure = np.clip(validate(probabilities), CERTAIN, 1 - CERTAIN)
    return best_order(np.log(sure) - np.log1p(-sure))
