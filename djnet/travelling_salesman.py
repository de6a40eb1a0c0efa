"""The best order of many pieces: a longest path through all of them, by integer programming.

With one more node that stands before the first and after the last piece, an order is a tour, and a tour is an
assignment of a successor to every node that has only one cycle. The best assignment is found at once and is a bound;
its cycles are joined to a first tour; whatever is left between the two is closed by SciPy's HiGHS, which gets only the
arcs that a better tour could use, and a new constraint for every cycle it tries.
"""

import itertools
import time
from typing import TYPE_CHECKING

import numpy as np
import scipy.optimize
import scipy.sparse

if TYPE_CHECKING:
    from djnet.ordering import Rules

_ARCS = 60_000  # more arcs than that are too many for the integer program
_FORBIDDEN = -1e6


def solve(scores: np.ndarray, rules: "Rules", seconds: float) -> tuple[tuple[int, ...], float]:
    """The best order that was found in time, and a bound on all orders."""
    deadline = time.monotonic() + seconds
    arcs = _arc_values(scores, rules)
    successors = _best_assignment(arcs)
    bound = float(arcs[np.arange(len(arcs)), successors].sum())
    reduced = _reduced_values(arcs, successors)
    order = _improve(
        scores, rules, _first_order(arcs, successors, rules), min(deadline, time.monotonic() + seconds / 6)
    )
    value = _value(scores, order)
    # A tour with an arc whose reduced value exceeds the gap is worse than the tour we have.
    useful = (reduced <= bound - value + 1e-9) & (arcs > _FORBIDDEN / 2)
    if bound - value <= 1e-9 or useful.sum() > _ARCS:
        return order, bound
    return _close_gap(scores, arcs, useful, rules, order, bound, deadline)


def _arc_values(scores: np.ndarray, rules: "Rules") -> np.ndarray:
    """Value of every arc between n pieces and the extra node n; a piece that may be left out can follow itself."""
    n = len(scores)
    arcs = np.full((n + 1, n + 1), _FORBIDDEN)
    arcs[:n, :n] = scores
    arcs[n, :n] = 0.0 if rules.first is None else _FORBIDDEN
    arcs[:n, n] = 0.0 if rules.last is None else _FORBIDDEN
    if rules.first is not None:
        arcs[n, rules.first] = 0.0
    if rules.last is not None:
        arcs[rules.last, n] = 0.0
    for a, b in rules.before:
        arcs[b, a] = _FORBIDDEN
    for piece in range(n):
        arcs[piece, piece] = 0.0 if piece in rules.optional else _FORBIDDEN
    return arcs


def _best_assignment(arcs: np.ndarray) -> np.ndarray:
    return scipy.optimize.linear_sum_assignment(arcs, maximize=True)[1]


def _reduced_values(arcs: np.ndarray, successors: np.ndarray) -> np.ndarray:
    """How much an assignment loses at least by using an arc, by the dual prices of the best one: [n + 1, n + 1]."""
    costs = -arcs
    own = costs[np.arange(len(arcs)), successors]
    prices = np.zeros(len(arcs))
    for _ in range(len(arcs)):
        cheaper = np.minimum(prices, (prices[successors][:, None] + costs - own[:, None]).min(axis=0))
        if np.allclose(cheaper, prices, rtol=0, atol=1e-12):
            break
        prices = cheaper
    return costs - (own - prices[successors])[:, None] - prices[None, :]


def _cycles(successors: np.ndarray) -> list[list[int]]:
    left, found = set(range(len(successors))), []
    while left:
        cycle = [min(left)]
        while int(successors[cycle[-1]]) != cycle[0]:
            cycle.append(int(successors[cycle[-1]]))
        left -= set(cycle)
        found.append(cycle)
    return found


def _first_order(arcs: np.ndarray, successors: np.ndarray, rules: "Rules") -> tuple[int, ...]:
    """Join the cycles of an assignment, each time where the least is lost; a piece that follows itself is left out."""
    successors = successors.copy()
    extra = len(arcs) - 1
    while len(cycles := [c for c in _cycles(successors) if len(c) > 1 or c[0] == extra]) > 1:
        number = np.full(len(arcs), -1)
        for i, cycle in enumerate(cycles):
            number[cycle] = i
        now = arcs[np.arange(len(arcs)), successors]
        crossed = arcs[:, successors]  # value of a -> successor of b
        change = crossed + crossed.T - now[:, None] - now[None, :]
        change[(number[:, None] == number[None, :]) | (number[:, None] < 0) | (number[None, :] < 0)] = -np.inf
        a, b = np.unravel_index(int(np.argmax(change)), change.shape)
        successors[a], successors[b] = successors[b], successors[a]
    order = [int(successors[extra])]
    while int(successors[order[-1]]) != extra:
        order.append(int(successors[order[-1]]))
    found = tuple(order)
    return found if rules.kept_by(found) else _nearest_first(arcs, rules)


def _nearest_first(arcs: np.ndarray, rules: "Rules") -> tuple[int, ...]:
    """Always the best next piece that the rules allow: a start that keeps to all of them."""
    left = set(range(len(arcs) - 1)) - rules.optional
    order: list[int] = []
    while left:
        free = [p for p in left if not any(b == p and a in left for a, b in rules.before)]
        if not order and rules.first is not None:
            free = [rules.first]
        elif len(left) > 1:
            free = [piece for piece in free if piece != rules.last]
        here = order[-1] if order else len(arcs) - 1
        order.append(max(free, key=lambda piece: (arcs[here, piece], -piece)))
        left.remove(order[-1])
    return tuple(order)


def _improve(scores: np.ndarray, rules: "Rules", order: tuple[int, ...], deadline: float) -> tuple[int, ...]:
    """Move runs of up to three pieces to a better place, as long as that helps."""
    value, improved = _value(scores, order), True
    while improved and time.monotonic() < deadline:
        improved = False
        for length in (1, 2, 3):
            for start in range(len(order) - length + 1):
                run, rest = order[start : start + length], order[:start] + order[start + length :]
                if not rest or time.monotonic() > deadline:
                    break
                others = np.array(rest)
                joined = np.zeros(len(rest) + 1)
                joined[1:] += scores[others, run[0]]
                joined[:-1] += scores[run[-1], others]
                joined[1:-1] -= scores[others[:-1], others[1:]]
                place = int(np.argmax(joined))
                moved = rest[:place] + run + rest[place:]
                if (better := _value(scores, moved)) > value + 1e-9 and rules.kept_by(moved):
                    order, value, improved = moved, better, True
    return order


def _close_gap(
    scores: np.ndarray,
    arcs: np.ndarray,
    useful: np.ndarray,
    rules: "Rules",
    order: tuple[int, ...],
    bound: float,
    deadline: float,
) -> tuple[tuple[int, ...], float]:
    """Integer programs with more and more constraints until one has a single tour that keeps to the rules."""
    tails, heads = np.nonzero(useful)
    size, count = len(arcs), len(tails)
    places = np.arange(count)
    degrees = scipy.sparse.vstack([
        scipy.sparse.csr_matrix((np.ones(count), (nodes, places)), (size, count)) for nodes in (tails, heads)
    ])  # fmt: skip
    cuts: list[np.ndarray] = []
    limits: list[float] = []
    value = _value(scores, order)
    while (left := deadline - time.monotonic()) > 0.05:
        constraints = [scipy.optimize.LinearConstraint(degrees, 1, 1)]
        if cuts:
            rows = scipy.sparse.csr_matrix(np.array(cuts, np.float64))
            constraints.append(scipy.optimize.LinearConstraint(rows, -np.inf, np.array(limits)))
        answer = scipy.optimize.milp(
            -arcs[tails, heads], integrality=np.ones(count), bounds=(0, 1), constraints=constraints,
            options={"time_limit": left, "mip_rel_gap": 1e-10},
        )  # fmt: skip
        if answer.mip_dual_bound is not None and np.isfinite(answer.mip_dual_bound):
            bound = max(value, min(bound, -answer.mip_dual_bound))
        if answer.status == 2:  # no tour uses only these arcs: none is better than ours
            return order, value
        if answer.x is None or answer.status != 0:
            break
        successors = np.empty(size, np.int64)
        chosen = answer.x > 0.5
        successors[tails[chosen]] = heads[chosen]
        new = _violations(successors, tails, heads, rules)
        if not new:
            tour = _first_order(arcs, successors, rules)
            return (tour, _value(scores, tour)) if _value(scores, tour) > value else (order, value)
        for row, limit in new:
            cuts.append(row)
            limits.append(limit)
    return order, bound


def _violations(
    successors: np.ndarray, tails: np.ndarray, heads: np.ndarray, rules: "Rules"
) -> list[tuple[np.ndarray, float]]:
    """Constraints that an assignment breaks: for each cycle beside the tour, and each piece that comes too early."""
    extra = len(successors) - 1
    cycles = _cycles(successors)
    found = []
    for cycle in cycles:
        if extra not in cycle and len(cycle) > 1:
            inside = np.isin(tails, cycle) & np.isin(heads, cycle) & (tails != heads)
            found.append((inside, len(cycle) - 1.0))
    if found:
        return found
    tour = next(cycle for cycle in cycles if extra in cycle)
    start = tour.index(extra)
    order = tour[start + 1 :] + tour[:start]
    places = {piece: place for place, piece in enumerate(order)}
    for a, b in rules.before:
        if a in places and b in places and places[a] > places[b]:
            run = order[places[b] : places[a] + 1]
            steps = set(itertools.pairwise(run))
            row = np.array([(t, h) in steps for t, h in zip(tails.tolist(), heads.tolist(), strict=True)])
            found.append((row, len(run) - 2.0))
    return found


def _value(scores: np.ndarray, order: tuple[int, ...]) -> float:
    places = np.array(order)
    return float(scores[places[:-1], places[1:]].sum())
