import itertools

import numpy as np
import pytest

from djnet.medley.search import Constraints, second_best, solve
from djnet.ordering import EXACT_LIMIT, best_order


def every_choice(scores: np.ndarray, drop: int = 0):
    """All orders and parts with their values."""
    n, c = scores.shape[:2]
    for order in itertools.permutations(range(n), n - drop):
        for picks in itertools.product(range(c), repeat=n - drop):
            pairs = itertools.pairwise(zip(order, picks, strict=True))
            yield sum(scores[a, i, b, j] for (a, i), (b, j) in pairs), order


@pytest.mark.parametrize(
    "rules",
    [
        Constraints(),
        Constraints(first=2),
        Constraints(first=1, last=0, before=((3, 2),)),
        Constraints(last=3, drop=1),
        Constraints(last=1, together=((0, 2),)),
        Constraints(together=((3, 1), (1, 0))),
    ],
)
def test_order_and_parts_are_the_best_of_all(rng, rules):
    scores = rng.random((4, 3, 4, 3))
    scores[1, 2], scores[:, :, 1, 2] = -np.inf, -np.inf  # song 1 has two parts
    chosen = solve(scores, rules)
    allowed = [(value, order) for value, order in every_choice(scores, rules.drop) if rules.kept_by(order)]
    assert chosen.value == pytest.approx(max(allowed)[0]) and chosen.proven
    assert chosen.order == max(allowed)[1]
    second = second_best(scores, chosen, rules)
    others = [value for value, order in allowed if order != chosen.order]
    assert (second.value if second else -np.inf) == pytest.approx(max(others, default=-np.inf))


@pytest.mark.parametrize("rules", [Constraints(first=2, together=((0, 2),)), Constraints(together=((0, 1), (1, 0)))])
def test_neighbours_that_no_order_allows_are_an_error(rng, rules):
    with pytest.raises(ValueError, match=r"forbid it|circle|No order"):
        solve(rng.random((4, 1, 4, 1)), rules)


def test_choosing_parts_never_loses_against_one_part(rng):
    scores = rng.random((9, 2, 9, 2))
    alone = best_order(scores[:, 0, :, 0])
    assert solve(scores, Constraints()).value >= alone.value
    single = solve(scores[:, :1, :, :1], Constraints())
    assert single.order == alone.order and single.value == pytest.approx(alone.value)


def test_the_order_can_be_kept(rng):
    scores = rng.random((5, 2, 5, 2))
    kept = solve(scores, Constraints(keep_order=True))
    assert kept.order == (0, 1, 2, 3, 4)
    assert kept.value == pytest.approx(max(value for value, order in every_choice(scores) if order == kept.order))
    assert second_best(scores, kept, Constraints(keep_order=True)) is None
    assert list(solve(scores, Constraints(drop=2, keep_order=True)).order) == sorted(
        solve(scores, Constraints(drop=2, keep_order=True)).order
    )


def test_many_songs_come_with_a_bound(rng):
    n = EXACT_LIMIT + 4
    scores = rng.random((n, 2, n, 2))
    chosen = solve(scores, Constraints(first=3, last=5))
    assert sorted(chosen.order) == list(range(n)) and chosen.order[0] == 3 and chosen.order[-1] == 5
    pairs = itertools.pairwise(zip(chosen.order, chosen.parts, strict=True))
    assert chosen.value == pytest.approx(sum(scores[a, i, b, j] for (a, i), (b, j) in pairs))
    assert chosen.value > best_order(scores[:, 0, :, 0], first=3, last=5).value
    assert chosen.value <= chosen.bound <= n - 1
    other = second_best(scores, chosen, Constraints(first=3, last=5))
    assert other is not None and other.value <= chosen.value and other.order != chosen.order
    fewer = solve(scores, Constraints(first=3, drop=2))
    assert len(set(fewer.order)) == n - 2 and fewer.order[0] == 3 and not fewer.proven
    assert solve(scores, Constraints(keep_order=True)).order == tuple(range(n))


def test_rules_that_cannot_be_kept(rng):
    scores = rng.random((4, 1, 4, 1))
    with pytest.raises(ValueError, match="circle"):
        solve(scores, Constraints(before=((0, 1), (1, 0))))
    with pytest.raises(ValueError, match="Cannot leave out 3 of 4"):
        solve(scores, Constraints(drop=3))
    with pytest.raises(ValueError, match="cannot come before"):
        solve(scores, Constraints(first=2, keep_order=True))
