from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from djnet import travelling_salesman
from djnet.ordering import Rules, best_order, greedy, likeliest, top_orders, value_of

VALUES = st.sampled_from([0.0, 1.0, -1.0, 0.5]) | st.floats(-2, 2, width=32)
MATRICES = st.integers(2, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=VALUES))


def _brute_force(scores: np.ndarray) -> tuple[int, ...]:
    return max(permutations(range(len(scores))), key=lambda order: value_of(scores, order))


@given(MATRICES)
@settings(max_examples=400, deadline=None)
def test_it_is_the_best_of_all_orders(scores):
    answer = best_order(scores)
    assert sorted(answer.order) == list(range(len(scores)))
    assert answer.value == pytest.approx(value_of(scores, answer.order), abs=1e-9)
    assert answer.value == pytest.approx(value_of(scores, _brute_force(scores)), abs=1e-9)
    assert answer.bound == answer.value


@pytest.mark.parametrize("n", [7, 8, 9])
def test_it_is_the_best_of_all_orders_of_many_pieces(n, rng):
    scores = rng.uniform(-1, 1, (n, n))
    assert best_order(scores).order == _brute_force(scores)


@given(st.integers(2, 12), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_it_undoes_any_shuffle(n, seed):
    order = np.random.default_rng(seed).permutation(n)
    scores = np.zeros((n, n))
    scores[order[:-1], order[1:]] = 1.0
    assert best_order(scores).order == tuple(order)


def test_ties_go_to_the_first_order_in_the_alphabet():
    assert best_order(np.zeros((5, 5))).order == (0, 1, 2, 3, 4)
    assert best_order(np.eye(4)).order == (0, 1, 2, 3)


@given(MATRICES)
@settings(max_examples=100, deadline=None)
def test_greedy_gives_an_order_that_is_never_better(scores):
    answer = greedy(scores)
    assert sorted(answer.order) == list(range(len(scores)))
    assert answer.value <= best_order(scores).value + 1e-9


def test_greedy_takes_the_highest_score_first_even_if_a_better_order_is_lost():
    scores = np.array([[0.0, 9.0, 8.0], [8.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    assert greedy(scores).order == (2, 0, 1), "0 before 1 is the highest, and of the rest 2 before 0"
    assert best_order(scores).order == (1, 0, 2)


@given(arrays(np.float64, st.integers(2, 5).map(lambda n: (n, n)), elements=st.floats(0.01, 0.99)))
@settings(max_examples=100, deadline=None)
def test_the_likeliest_order_makes_all_answers_most_probable(probabilities):
    def likelihood(order):
        follows = np.zeros(probabilities.shape, bool)
        follows[list(order[:-1]), list(order[1:])] = True
        other = ~np.eye(len(order), dtype=bool)
        return np.prod(np.where(follows, probabilities, 1 - probabilities)[other])

    best = max(likelihood(order) for order in permutations(range(len(probabilities))))
    assert likelihood(likeliest(probabilities).order) == pytest.approx(best)


def test_the_likeliest_order_tells_sure_answers_from_surer_ones():
    surer = np.array([[0.0, 0.9999], [0.999, 0.0]])
    assert (likeliest(surer).order, likeliest(surer.T).order) == ((0, 1), (1, 0))


def test_the_likeliest_order_of_certain_answers():
    assert likeliest(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.0]])).order == (1, 0, 2)


def _allowed(n: int, rules: Rules) -> list[tuple[int, ...]]:
    """Every order that keeps to the rules, with and without the optional pieces."""
    orders = [order for size in range(1, n + 1) for order in permutations(range(n), size)]
    required = set(range(n)) - rules.optional
    return [order for order in orders if required <= set(order) and rules.kept_by(order)]


RULES = st.builds(
    Rules,
    first=st.none() | st.integers(0, 4),
    last=st.none() | st.integers(0, 4),
    before=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=3).map(tuple),
    optional=st.frozensets(st.integers(0, 4), max_size=2),
)


@given(arrays(np.float64, (5, 5), elements=VALUES), RULES)
@settings(max_examples=400, deadline=None)
def test_with_rules_it_is_the_best_of_all_orders_that_keep_to_them(scores, rules):
    np.fill_diagonal(scores, 0.0)
    try:
        rules.validate(5)
    except ValueError:
        return
    allowed = _allowed(5, rules)
    best = max(value_of(scores, order) for order in allowed)
    answer = best_order(scores, rules.first, rules.last, rules.before, rules.optional)
    assert answer.order in allowed
    assert answer.value == pytest.approx(best, abs=1e-9)
    order, bound = travelling_salesman.solve(scores, rules, 20.0)
    assert order in allowed
    assert value_of(scores, order) == pytest.approx(best, abs=1e-6) and bound >= best - 1e-6


@given(st.integers(6, 9), st.integers(0, 10_000), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_integer_program_finds_what_the_subsets_find(n, seed, like_sen):
    rng = np.random.default_rng(seed)
    scores = 1 / (1 + np.exp(-rng.normal(-3, 4, (n, n)))) if like_sen else rng.random((n, n))
    np.fill_diagonal(scores, 0.0)
    order, bound = travelling_salesman.solve(scores, Rules(), 20.0)
    assert value_of(scores, order) == pytest.approx(best_order(scores).value, abs=1e-9)
    assert bound == pytest.approx(value_of(scores, order), abs=1e-6)


def test_many_pieces_are_proven_and_rules_are_kept(rng):
    n = 40
    scores = rng.random((n, n))
    free = best_order(scores)
    assert sorted(free.order) == list(range(n)) and free.bound == free.value
    bound = best_order(scores, first=3, last=7, before=[(10, 11), (30, 2)], optional=[5])
    places = {piece: place for place, piece in enumerate(bound.order)}
    assert bound.order[0] == 3 and bound.order[-1] == 7
    assert places[10] < places[11] and places[30] < places[2]
    assert bound.value <= free.value + 1e-9 and bound.bound >= bound.value


def test_a_long_shuffle_is_undone(rng):
    order = rng.permutation(60)
    scores = rng.random((60, 60)) * 0.1
    scores[order[:-1], order[1:]] = 1.0
    assert best_order(scores).order == tuple(order)


def test_without_time_there_is_still_an_order_and_a_bound(rng):
    scores = rng.random((30, 30))
    answer = best_order(scores, seconds=0.0)
    assert sorted(answer.order) == list(range(30)) and answer.bound >= best_order(scores).value - 1e-9


@given(arrays(np.float64, (4, 4), elements=st.floats(0, 1, width=16)), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_the_k_best_orders(scores, k):
    np.fill_diagonal(scores, 0.0)
    every = sorted((value_of(scores, order) for order in permutations(range(4))), reverse=True)
    best = top_orders(scores, k)
    assert [order.value for order in best] == pytest.approx(every[:k], abs=1e-9)
    assert len({order.order for order in best}) == len(best)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"first": 9}, "There is no piece 9; pieces are 0 to 3"),
        ({"first": 1, "last": 1}, "cannot be both the first and the last"),
        ({"first": 1, "before": [(0, 1)]}, "Piece 0 cannot come before 1"),
        ({"before": [(0, 1), (1, 2), (2, 0)]}, "1 before 2 before 0 before 1 go round in a circle"),
        ({"last": 2, "optional": [2]}, "cannot be optional and the last"),
    ],
)
def test_rules_that_contradict_each_other(rules, message):
    with pytest.raises(ValueError, match=message):
        best_order(np.zeros((4, 4)), **rules)


def test_of_two_pieces_one_cannot_be_both_the_first_and_the_last():
    with pytest.raises(ValueError, match="cannot be both the first and the last"):
        best_order(np.zeros((2, 2)), first=0, last=0)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((1, 1)), "at least 2 pieces, got 1"),
        (np.zeros((2, 3)), r"square matrix, got shape \(2, 3\)"),
        (np.array([[0, np.nan], [1, 0]]), "score of 0 before 1 is nan"),
    ],
)
def test_wrong_scores(scores, message):
    with pytest.raises(ValueError, match=message):
        best_order(scores)
