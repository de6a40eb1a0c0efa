import numpy as np
import pytest

from experiments.significance import interval, mcnemar


def test_the_interval_holds_the_mean_and_shrinks(rng):
    for count in (50, 5_000):
        values = (rng.random(count) < 0.7).astype(float)
        low, high = interval(values)
        assert low <= values.mean() <= high
        assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.21 / count), rel=0.25)


def test_a_difference_counts_only_if_it_is_large_enough():
    ones, zeros = np.ones(20), np.zeros(20)
    assert mcnemar(ones, zeros) == pytest.approx(2 * 0.5**20)
    assert mcnemar(ones, ones) == 1.0
    half = np.arange(20) % 2
    assert mcnemar(half.astype(float), 1.0 - half) == 1.0
    with pytest.raises(ValueError, match="the same puzzles, got 20 and 3"):
        mcnemar(ones, np.ones(3))
