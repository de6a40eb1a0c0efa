"""The best order of many pieces as an asymmetric travelling salesman problem, solved by integer programming.

One extra node stands before the first and after the last piece, so an order is a tour: an assignment of a successor to
every node with a single cycle. The best assignment is an upper bound (the assignment bound); its subtours are patched
into a first tour, which a local search improves. SciPy's HiGHS closes the gap between the two: it gets only the arcs
that a better tour could use, and a subtour elimination constraint for every subtour that it returns.
"""

import itertools
import time

import numpy as np
import scipy.optimize
import scipy.sparse

from djnet.ordering import Rules, value_of

_MAX_ARCS = 60_000  # more are too many for the integer program
_FORBIDDEN = -1e6


def solve(scores: np.ndarray, rules: Rules, seconds: float) -> tuple[tuple[int, ...], float]:
    """The best order for scores [n, n] that was found in time, and an upper bound on the value of all orders."""
    deadline = time.monotonic() + seconds
    arcs = _arc_values(scores, rules)
    successors = scipy.optimize.linear_sum_assignment(arcs, maximize=True)[1]
    bound = float(arcs[np.arange(len(arcs)), successors].sum())
    reduced = _reduced_costs(arcs, successors)
    order = _patched(arcs, successors, rules)
    order = _improved(scores, rules, order, min(deadline, time.monotonic() + seconds / 6))
    gap = bound - value_of(scores, order)
    # A tour with an arc whose reduced cost exceeds the gap is worse than the tour we have.
    useful = (reduced <= gap + 1e-9) & (arcs > _FORBIDDEN / 2)
    if gap <= 1e-9 or useful.sum() > _MAX_ARCS:
        return order, bound
    return _branch_and_cut(arcs, useful, rules, order, bound, deadline)


def _arc_values(scores: np.ndarray, rules: Rules) -> np.ndarray:
    """Value of every arc between n pieces and the extra node n: [n, n] -> [n + 1, n + 1].

    A piece that may be left out can follow itself.
    """
    n = len(scores)
    arcs = np.full((n + 1, n + 1), _FORBIDDEN)
    arcs[:n, :n] = scores
    arcs[n, slice(n) if rules.first is None else rules.first] = 0.0
    arcs[slice(n) if rules.last is None else rules.last, n] = 0.0
    for a, b in rules.before:
        arcs[b, a] = _FORBIDDEN
    for piece in range(n):
        arcs[piece, piece] = 0.0 if piece in rules.optional else _FORBIDDEN
    return arcs


def _reduced_costs(arcs: np.ndarray, successors: np.ndarray) -> np.ndarray:
    """How much value an assignment loses at least by using an arc, from the dual prices of the best one: [m, m]."""
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
    """The cycles of an assignment: the tour from the extra node on, then the subtours; no pieces that are left out."""
    left = set(range(len(successors)))
    cycles: list[list[int]] = []
    while left:
        cycle = [min(left) if cycles else len(successors) - 1]
        while int(successors[cycle[-1]]) != cycle[0]:
            cycle.append(int(successors[cycle[-1]]))
        left -= set(cycle)
        cycles.append(cycle)
    return [cycles[0], *(cycle for cycle in cycles[1:] if len(cycle) > 1)]


def _patched(arcs: np.ndarray, successors: np.ndarray, rules: Rules) -> tuple[int, ...]:
    """Patch the subtours of an assignment into one tour, each time where the least is lost."""
    successors = successors.copy()
    while len(cycles := _cycles(successors)) > 1:
        number = np.full(len(arcs), -1)
        for i, cycle in enumerate(cycles):
            number[cycle] = i
        now = arcs[np.arange(len(arcs)), successors]
        crossed = arcs[:, successors]  # value of a -> successor of b
        change = crossed + crossed.T - now[:, None] - now[None, :]
        change[(number[:, None] == number[None, :]) | (number[:, None] < 0) | (number[None, :] < 0)] = -np.inf
        a, b = np.unravel_index(int(np.argmax(change)), change.shape)
        successors[a], successors[b] = successors[b], successors[a]
    order = tuple(cycles[0][1:])
    return order if rules.kept_by(order) else _nearest_neighbour(arcs, rules)


def _nearest_neighbour(arcs: np.ndarray, rules: Rules) -> tuple[int, ...]:
    """Always the best next piece that the rules allow: a tour that keeps to all of them."""
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


def _improved(scores: np.ndarray, rules: Rules, order: tuple[int, ...], deadline: float) -> tuple[int, ...]:
    """Local search (Or-opt): move runs of up to three pieces to a better place, as long as that helps."""
    value, improved = value_of(scores, order), True
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
                if (better := value_of(scores, moved)) > value + 1e-9 and rules.kept_by(moved):
                    order, value, improved = moved, better, True
    return order


def _branch_and_cut(
    arcs: np.ndarray, useful: np.ndarray, rules: Rules, order: tuple[int, ...], bound: float, deadline: float
) -> tuple[tuple[int, ...], float]:
    """Integer programs with more and more constraints until one returns a single tour that keeps to the rules.

    Args:
        arcs: value of every arc, [n + 1, n + 1].
        useful: whether a better tour could use the arc, bool [n + 1, n + 1].
        rules: what the order must keep to.
        order: the best order so far.
        bound: the upper bound so far.
        deadline: when to stop, on the clock of `time.monotonic`.
    """
    tails, heads = np.nonzero(useful)
    size, count = len(arcs), len(tails)
    columns, ones = np.arange(count), np.ones(count)
    degrees = [scipy.sparse.csr_matrix((ones, (nodes, columns)), (size, count)) for nodes in (tails, heads)]
    constraints = [scipy.optimize.LinearConstraint(scipy.sparse.vstack(degrees), 1, 1)]
    cuts: list[tuple[np.ndarray, float]] = []
    value = value_of(arcs, order)
    while (left := deadline - time.monotonic()) > 0.05:
        if cuts:
            rows = scipy.sparse.csr_matrix(np.array([row for row, _ in cuts], np.float64))
            constraints[1:] = [scipy.optimize.LinearConstraint(rows, -np.inf, np.array([most for _, most in cuts]))]
        answer = scipy.optimize.milp(
            -arcs[tails, heads], integrality=ones, bounds=(0, 1), constraints=constraints,
            options={"time_limit": left, "mip_rel_gap": 1e-10},
        )  # fmt: skip
        if answer.mip_dual_bound is not None and np.isfinite(answer.mip_dual_bound):
            bound = max(value, min(bound, -answer.mip_dual_bound))
        if answer.status == 2:  # infeasible: no tour uses only these arcs, so none is better than ours
            return order, value
        if answer.x is None or answer.status != 0:
            break
        chosen = answer.x > 0.5
        successors = np.empty(size, np.int64)
        successors[tails[chosen]] = heads[chosen]
        if violated := _violated(successors, tails, heads, rules):
            cuts += violated
            continue
        tour = _patched(arcs, successors, rules)
        better = value_of(arcs, tour)
        return (tour, better) if better > value else (order, value)
    return order, bound


def _violated(
    successors: np.ndarray, tails: np.ndarray, heads: np.ndarray, rules: Rules
) -> list[tuple[np.ndarray, float]]:
    """Constraints that an assignment violates, each as a row over the arcs and an upper limit.

    One eliminates each subtour; where there is none, one forbids each path from b to a for a rule "a before b".
    """
    tour, *subtours = _cycles(successors)
    if subtours:
        inside = [np.isin(tails, cycle) & np.isin(heads, cycle) & (tails != heads) for cycle in subtours]
        return [(row, len(cycle) - 1.0) for row, cycle in zip(inside, subtours, strict=True)]
    cuts = []
    places = {piece: place for place, piece in enumerate(tour)}
    for a, b in rules.before:
        if a in places and b in places and places[a] > places[b]:
            path = tour[places[b] : places[a] + 1]
            steps = set(itertools.pairwise(path))
            row = np.array([arc in steps for arc in zip(tails.tolist(), heads.tolist(), strict=True)])
            cuts.append((row, len(path) - 2.0))
    return cuts
