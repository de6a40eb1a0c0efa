import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from djnet import metrics

ORDERS = st.integers(2, 9).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n))))


def test_the_papers_example():
    assert metrics.pairwise_accuracy([1, 2, 0], [0, 1, 2]) == 0.5
    assert metrics.global_accuracy([1, 2, 0], [0, 1, 2]) == 0.0
    assert metrics.pairwise_accuracy([0, 2, 1], [0, 1, 2]) == 0.0  # forwards, but not to the next


@given(ORDERS)
def test_bounds_and_the_perfect_order(orders):
    order, truth = orders
    values = metrics.evaluate(order, truth)
    assert all(-1 <= value <= 1 for value in values.values())
    assert (values["global_accuracy"] == 1) == (values["pairwise_accuracy"] == 1) == (list(order) == list(truth))
    perfect = metrics.evaluate(truth, truth)
    assert perfect == {name: 0.0 if name == "position_error" else 1.0 for name in values}


@given(ORDERS)
def test_kendalls_tau_is_scipys(orders):
    order, truth = orders
    ranks = [truth.index(piece) for piece in order]
    assert metrics.kendall_tau(order, truth) == pytest.approx(
        scipy.stats.kendalltau(range(len(ranks)), ranks).statistic
    )


def test_runs_and_places():
    truth = list(range(10))
    papers = [0, 6, 7, 8, 9, 5, 1, 2, 3, 4]  # the paper's example of a song whose passages are right
    assert metrics.longest_run(papers, truth) == 0.4
    assert metrics.position_error(list(reversed(truth)), truth) == pytest.approx(np.mean([9, 7, 5, 3, 1]) / 9)


@pytest.mark.parametrize(
    ("order", "truth"), [([0], [0]), ([0, 1], [0, 1, 2]), ([0, 0], [0, 1]), ([0, 3], [0, 1]), ([0, 0, 1], [0, 0, 1])]
)
def test_orders_of_other_pieces(order, truth):
    with pytest.raises(ValueError, match="order"):
        metrics.pairwise_accuracy(order, truth)
