import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet import constants
from djnet.cuts import (
    cut_fragments,
    downbeat_cuts,
    downbeat_hops,
    equal_cuts,
    fragment_mel,
    frame_range,
    join_windows,
    spans_between,
    without_last_bars,
)
from djnet.features import log_mel


@given(n=st.integers(1, 40), hops=st.integers(200, 3_000))
def test_equal_cuts_are_equal_to_a_hop(n, hops):
    cuts = equal_cuts(hops, n)
    assert cuts[0] == 0 and cuts[-1] == hops and len(cuts) == n + 1
    assert np.ptp(np.diff(cuts)) <= 1


def test_the_papers_lengths():
    for n, seconds in ((3, 8), (4, 6), (6, 4), (8, 3)):
        lengths = np.diff(equal_cuts(constants.CLIP_HOPS, n)) * constants.hops_to_seconds(1)
        assert np.abs(lengths - seconds).max() < 0.03


def test_too_short_to_cut():
    with pytest.raises(ValueError, match="Cannot cut 11 hops into 3 fragments"):
        equal_cuts(11, 3)
    with pytest.raises(ValueError, match="at least 4 hops"):
        cut_fragments(np.zeros(40 * 512, np.float32), spans_between(np.array([0, 20, 40]), gap=9))


def test_a_fragment_without_its_last_bar_ends_a_downbeat_earlier():
    downbeats = np.array([10, 20, 30, 40, 50, 60])
    assert without_last_bars(spans_between(np.array([10, 30, 60])), downbeats).tolist() == [[10, 20], [30, 50]]
    assert without_last_bars(np.array([[0, 10]]), downbeats).tolist() == [[0, 0]]  # no downbeat before its end


def test_the_shortest_that_can_be_cut():
    assert equal_cuts(12, 3).tolist() == [0, 4, 8, 12]


def test_downbeats_of_a_span_include_both_ends():
    beats = np.array([[0.0, 1], [0.5, 2], [1.0, 1], [1.5, 2], [2.0, 1]])
    second = round(constants.HOPS_PER_SECOND)
    assert downbeat_hops(beats, second, 2 * second).tolist() == [second, round(2 * constants.HOPS_PER_SECOND)]


def test_fragments_between_downbeats_are_half_to_twice_as_long_as_wanted_and_mostly_near_it(rng):
    bars = np.cumsum(rng.uniform(1.0, 3.0, 30)) * constants.HOPS_PER_SECOND
    lengths = []
    for _ in range(300):
        cuts = downbeat_cuts(bars.astype(int), 4, rng)
        assert cuts is not None and np.isin(cuts, bars.astype(int)).all() and len(cuts) == 5
        lengths += np.diff(cuts).tolist()
    wanted = 6 * constants.HOPS_PER_SECOND
    assert min(lengths) >= wanted / 2 and max(lengths) <= 2 * wanted
    assert np.std(lengths) < 0.25 * wanted


@pytest.mark.parametrize(("gap", "possible"), [(2.4, False), (3.1, True), (11.9, True), (12.2, False)])
def test_downbeats_too_near_or_too_far_apart_cannot_be_cut_at(rng, gap, possible):
    """Four fragments of about six seconds, where each must be one bar, or one bar is too long."""
    downbeats = np.round(np.arange(5) * gap * constants.HOPS_PER_SECOND).astype(int)
    assert (downbeat_cuts(downbeats, 4, rng) is not None) == possible


def _pieces(samples: np.ndarray, cuts: np.ndarray) -> list[np.ndarray]:
    return [samples[a * constants.HOP_SAMPLES : b * constants.HOP_SAMPLES] for a, b in itertools.pairwise(cuts)]


@pytest.mark.parametrize("n", constants.JIGSAW_SIZES)
def test_a_fragment_has_the_features_of_its_own_samples(rng, n):
    samples = rng.standard_normal(constants.CLIP_HOPS * constants.HOP_SAMPLES).astype(np.float32)
    cuts = equal_cuts(constants.CLIP_HOPS, n)
    for fragment, piece in zip(cut_fragments(samples, spans_between(cuts)), _pieces(samples, cuts), strict=True):
        assert np.array_equal(fragment, log_mel(piece))
    for fragment, piece in zip(
        cut_fragments(samples, spans_between(cuts), "trimmed"), _pieces(samples, cuts), strict=True
    ):
        assert np.array_equal(fragment, log_mel(piece)[2:-2])


@given(
    protocol=st.sampled_from(["centred", "trimmed"]),
    n=st.sampled_from(constants.JIGSAW_SIZES),
    which=st.integers(0, 7),
    where=st.floats(0, 1, exclude_max=True),
)
@settings(max_examples=40, deadline=None)
def test_no_sample_outside_a_fragment_leaves_a_trace_in_it(protocol, n, which, where):
    rng = np.random.default_rng(0)
    samples = rng.standard_normal(constants.CLIP_HOPS * constants.HOP_SAMPLES).astype(np.float32)
    cuts = equal_cuts(constants.CLIP_HOPS, n)
    which %= n
    first, last = cuts[which] * constants.HOP_SAMPLES, cuts[which + 1] * constants.HOP_SAMPLES
    outside = np.concatenate([np.arange(first), np.arange(last, len(samples))])
    changed = samples.copy()
    changed[outside[int(where * len(outside))]] += 100.0
    changed[[place for place in (first - 1, last) if 0 <= place < len(samples)]] -= 100.0
    before, after = (cut_fragments(x, spans_between(cuts), protocol)[which] for x in (samples, changed))
    assert np.array_equal(before, after)


def test_overlapping_fragments_see_their_neighbours_and_all_frames_once(rng):
    cuts = equal_cuts(constants.CLIP_HOPS, 3)
    first, last = frame_range(cuts[:-1], cuts[1:], "overlapping")
    assert first[0] == 0 and last[-1] == constants.CLIP_HOPS and np.array_equal(first[1:], last[:-1])
    samples = rng.standard_normal(constants.CLIP_HOPS * constants.HOP_SAMPLES).astype(np.float32)
    changed = samples.copy()
    changed[cuts[1] * constants.HOP_SAMPLES] += 1.0
    before, after = (cut_fragments(x, spans_between(cuts), "overlapping")[0] for x in (samples, changed))
    assert np.array_equal(before[:-1], after[:-1]) and not np.array_equal(before[-1:], after[-1:])


def test_frames_on_both_sides_of_a_cut():
    """Centres of the nearest frames: 0 hops apart (centred), 4 (trimmed), 1 (overlapping)."""
    for protocol, apart in (("centred", 0), ("trimmed", 4), ("overlapping", 1)):
        first, last = frame_range(np.array([0, 100]), np.array([100, 200]), protocol)
        assert first[1] - (last[0] - 1) == apart


@given(first=st.integers(0, 50), length=st.integers(1, 100), frames=st.integers(1, 100))
def test_windows_lie_inside_their_fragment(first, length, frames):
    end, beginning = join_windows(first, first + length, frames)
    assert beginning == first and end >= first
    assert end + frames == first + length if length >= frames else end == first


def test_what_a_fragment_alone_cannot_be():
    with pytest.raises(ValueError, match="Unknown protocol 'leaky'"):
        frame_range(0, 10, "leaky")
    with pytest.raises(ValueError, match="alone does not overlap"):
        fragment_mel(np.zeros(4096, np.float32), "overlapping")
