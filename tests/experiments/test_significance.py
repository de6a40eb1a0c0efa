import numpy as np
import pytest

from experiments.significance import interval, mcnemar, mean_by_group, permutation_test


def test_the_interval_of_independent_puzzles_is_the_normal_one(rng):
    for count in (400, 5_000):
        values = (rng.random(count) < 0.7).astype(float)
        low, high = interval(values, [str(i) for i in range(count)])
        assert low <= values.mean() <= high
        assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.21 / count), rel=0.08)
        low, high = interval(values, [str(i) for i in range(count)], level=0.9)
        assert high - low == pytest.approx(2 * 1.645 * np.sqrt(0.21 / count), rel=0.08)


def test_puzzles_of_one_track_count_as_one_where_they_are_all_alike(rng):
    """Ten equal answers a track tell no more than one: the interval is that of the tracks."""
    tracks = (rng.random(300) < 0.6).astype(float)
    names = [str(i) for i in range(300)]
    one = interval(tracks, names)
    ten = interval(np.repeat(tracks, 10), [name for name in names for _ in range(10)])
    assert ten == pytest.approx(one, abs=1e-9)
    as_if_independent = interval(np.repeat(tracks, 10), [str(i) for i in range(3000)])
    assert (ten[1] - ten[0]) / (as_if_independent[1] - as_if_independent[0]) == pytest.approx(np.sqrt(10), rel=0.1)


def test_a_track_with_many_puzzles_weighs_more(rng):
    """The mean is over puzzles, so a track of ninety counts more in every draw than one of ten."""
    values, tracks = np.array([1.0] * 90 + [0.0] * 10), ["a"] * 90 + ["b"] * 10
    low, high = interval(values, tracks, level=0.2)
    assert low == high == 0.9


def test_a_probability_is_never_zero():
    names = [str(i) for i in range(60)]
    assert permutation_test(np.ones(60), np.zeros(60), names) == 1 / 2001


def test_a_difference_counts_only_if_it_is_large_enough():
    ones, zeros = np.ones(20), np.zeros(20)
    names = [str(i) for i in range(20)]
    assert mcnemar(ones, zeros) == pytest.approx(2 * 0.5**20)
    assert permutation_test(ones, zeros, names) < 0.001
    assert mcnemar(ones, ones) == permutation_test(ones, ones, names) == 1.0
    half = np.arange(20) % 2
    assert mcnemar(half.astype(float), 1.0 - half) == 1.0
    assert permutation_test(half.astype(float), 1.0 - half, names) > 0.9
    for test in (mcnemar, lambda a, b: permutation_test(a, b, names)):
        with pytest.raises(ValueError, match="the same puzzles, got 20 and 3"):
            test(ones, np.ones(3))


def test_a_difference_on_one_track_is_no_difference_between_methods():
    """A hundred puzzles of one track are one observation, whatever McNemar's test makes of them."""
    ours, theirs = np.ones(100), np.zeros(100)
    assert mcnemar(ours, theirs) < 1e-6
    assert permutation_test(ours, theirs, ["a"] * 100) == 1.0


def test_every_package_counts_the_same():
    assert mean_by_group(np.array([1.0, 1.0, 1.0, 0.0]), ["a", "a", "a", "b"]) == 0.5
