import itertools

import numpy as np
import pytest

from djnet.medley.search import Constraints, second_best, solve, value_at
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


@pytest.mark.parametrize("rules", [Constraints(), Constraints(last=2, drop=1), Constraints(keep_order=True)])
def test_scores_at_places_are_solved_together_with_the_joins(rng, rules):
    scores, at = rng.random((4, 2, 4, 2)), rng.random((4, 4, 2))
    at[1:, 0, 1] = -np.inf  # an opening
    at[:-1, 1, 1] = -np.inf
    count = 4 - rules.drop
    places = {4: at, 3: at[[0, 1, 3]]}
    chosen = solve(scores, rules, places.__getitem__)
    every = [
        sum(scores[a, i, b, j] for (a, i), (b, j) in itertools.pairwise(zip(order, parts, strict=True)))
        + sum(places[count][k, song, part] for k, (song, part) in enumerate(zip(order, parts, strict=True)))
        for order in itertools.permutations(range(4), count)
        if rules.kept_by(order) and (not rules.keep_order or list(order) == sorted(order))
        for parts in itertools.product(range(2), repeat=count)
    ]
    assert chosen.value == pytest.approx(max(every)) == pytest.approx(value_at(scores, places[count], chosen))


def test_the_last_part_needs_nothing_to_follow_it(rng):
    """An ending has no joins to other songs; it was taken for a part that there is not."""
    scores = 0.1 * rng.random((3, 2, 3, 2))
    scores[2, 1] = -np.inf
    scores[:, :, 2, 1] = 1.0
    chosen = solve(scores, Constraints())
    assert chosen.order[-1] == 2 and chosen.parts[-1] == 1


def test_many_songs_follow_an_arc_within_their_bound(rng):
    n = EXACT_LIMIT + 5
    scores = 0.01 * rng.random((n, 1, n, 1))
    energy = rng.permutation(n) / (n - 1)
    at = -np.abs(energy[None, :, None] - np.linspace(0, 1, n)[:, None, None])
    chosen = solve(scores, Constraints(), lambda count: at[:count])
    assert np.corrcoef(energy[list(chosen.order)], np.arange(n))[0, 1] > 0.99
    assert value_at(scores, at, chosen) == pytest.approx(chosen.value) and chosen.value <= chosen.bound < 0.25
