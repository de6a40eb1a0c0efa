import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet import constants
from djnet.cuts import cut_frames, equal_cuts, frame_ranges
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


def _pieces(samples: np.ndarray, cuts: np.ndarray) -> list[np.ndarray]:
    return [samples[a * constants.HOP_SAMPLES : b * constants.HOP_SAMPLES] for a, b in itertools.pairwise(cuts)]


@pytest.mark.parametrize("n", constants.JIGSAW_SIZES)
def test_an_isolated_fragment_is_the_features_of_its_own_samples(rng, n):
    samples = rng.standard_normal(constants.CLIP_HOPS * constants.HOP_SAMPLES).astype(np.float32)
    cuts = equal_cuts(constants.CLIP_HOPS, n)
    for fragment, piece in zip(cut_frames(log_mel(samples), cuts), _pieces(samples, cuts), strict=True):
        assert np.array_equal(fragment, log_mel(piece))


@given(n=st.sampled_from(constants.JIGSAW_SIZES), which=st.integers(0, 7), where=st.floats(0, 1, exclude_max=True))
@settings(max_examples=40, deadline=None)
def test_no_sample_outside_a_fragment_leaves_a_trace_in_it(n, which, where):
    rng = np.random.default_rng(0)
    samples = rng.standard_normal(constants.CLIP_HOPS * constants.HOP_SAMPLES).astype(np.float32)
    cuts = equal_cuts(constants.CLIP_HOPS, n)
    which %= n
    first, last = cuts[which] * constants.HOP_SAMPLES, cuts[which + 1] * constants.HOP_SAMPLES
    outside = np.concatenate([np.arange(first), np.arange(last, len(samples))])
    changed = samples.copy()
    changed[outside[int(where * len(outside))]] += 100.0
    changed[[place for place in (first - 1, last) if 0 <= place < len(samples)]] -= 100.0
    before, after = (cut_frames(log_mel(x), cuts)[which] for x in (samples, changed))
    assert np.array_equal(before, after)


def test_overlapping_fragments_see_their_neighbours_and_all_frames_once(rng):
    cuts = equal_cuts(constants.CLIP_HOPS, 3)
    ranges = frame_ranges(cuts, "overlapping")
    assert ranges[0, 0] == 0 and ranges[-1, 1] == constants.CLIP_HOPS - 3
    assert np.array_equal(ranges[1:, 0], ranges[:-1, 1])
    samples = rng.standard_normal(constants.CLIP_HOPS * constants.HOP_SAMPLES).astype(np.float32)
    changed = samples.copy()
    changed[cuts[1] * constants.HOP_SAMPLES] += 1.0
    before, after = (cut_frames(log_mel(x), cuts, "overlapping")[0] for x in (samples, changed))
    assert np.array_equal(before[:-3], after[:-3]) and not np.array_equal(before[-3:], after[-3:])


def test_unknown_protocol():
    with pytest.raises(ValueError, match="Unknown protocol 'leaky'"):
        frame_ranges(np.array([0, 10]), "leaky")
