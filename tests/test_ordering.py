from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from djnet.ordering import best_order, greedy, value_of

VALUES = st.sampled_from([0.0, 1.0, -1.0, 0.5]) | st.floats(-2, 2, width=32)
MATRICES = st.integers(2, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=VALUES))


def _brute_force(scores: np.ndarray) -> tuple[int, ...]:
    return max(permutations(range(len(scores))), key=lambda order: value_of(scores, order))


@given(MATRICES)
@settings(max_examples=400, deadline=None)
def test_it_is_the_best_of_all_orders(scores):
    found = best_order(scores)
    assert sorted(found.order) == list(range(len(scores)))
    assert found.value == pytest.approx(value_of(scores, found.order), abs=1e-9)
    assert found.value == pytest.approx(value_of(scores, _brute_force(scores)), abs=1e-9)
    assert found.bound == found.value


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
    found = greedy(scores)
    assert sorted(found.order) == list(range(len(scores)))
    assert found.value <= best_order(scores).value + 1e-9


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((1, 1)), "at least 2 pieces, got 1"),
        (np.zeros((2, 3)), r"square matrix, got shape \(2, 3\)"),
        (np.array([[0, np.nan], [1, 0]]), "score of 0 before 1 is nan"),
        (np.zeros((16, 16)), "Too many pieces: 16"),
    ],
)
def test_wrong_scores(scores, message):
    with pytest.raises(ValueError, match=message):
        best_order(scores)
