import dataclasses
import itertools

import numpy as np
import pytest

from djnet.pages import puzzles
from djnet.records import Clip

BEATS = np.stack([np.arange(0, 30, 0.5), np.tile([1, 2, 3, 4], 15)], axis=1).astype(np.float32)


@pytest.fixture
def clip() -> Clip:
    """Silence with a downbeat every two seconds."""
    samples, mel = np.zeros(1291 * 512, np.int16), np.zeros((1292, 128), np.float16)
    return Clip("x", "t", "g", "test", 0.0, 129, samples, 1.0, mel, BEATS)


def test_cuts_of_sizes_that_are_not_recorded_follow_the_same_rules(clip):
    equal = puzzles.choose_spans(clip, "fixed", 5)
    assert equal is not None and equal[0, 0] == 129 and np.ptp(np.diff(equal)) <= 1
    spans = puzzles.choose_spans(clip, "downbeat", 7)
    assert spans is not None and len(spans) == 7
    bars = puzzles.to_seconds(spans) / 2.0
    assert np.allclose(bars, np.round(bars), atol=0.02)
    assert puzzles.choose_spans(dataclasses.replace(clip, beats=BEATS[:0]), "downbeat", 5) is None


@pytest.mark.parametrize("n", [3, 4])
def test_at_the_hardest_level_a_bar_is_left_out_after_every_piece(clip, n):
    spans = puzzles.choose_spans(clip, "bar", n)
    assert spans is not None
    times = puzzles.to_seconds(spans)
    assert np.allclose(times[1:, 0] - times[:-1, 1], 2.0, atol=0.05)
    assert (times[:, 1] - times[:, 0]).min() > 1.9  # a bar or more is left of each


def test_bars_are_left_out_only_where_something_is_left(clip):
    assert puzzles.choose_spans(clip, "bar", 8) is None  # twelve bars: some of the pieces would be empty
    assert puzzles.choose_spans(dataclasses.replace(clip, beats=BEATS[:0]), "bar", 3) is None


def _nearest(mels):
    levels = np.array([mel.mean() for mel in mels])
    return 1.0 / (1.0 + np.abs(levels[:, None] - levels[None]))


def test_games_of_all_sizes_are_cut_and_answered(records):
    clip = next(clip for clip in records.read_clips("test") if "downbeat/8" in clip.segmentations)
    for level, n in itertools.product(("fixed", "downbeat"), puzzles.SIZES):
        spans = puzzles.choose_spans(clip, level, n)
        assert spans is not None
        found = puzzles.to_play(clip, level, spans, _nearest)
        assert (found["cut"], found["n"]) == (level, n)
        times = np.array(found["spans"])
        assert times.shape == (n, 2) and np.array_equal(times[1:, 0], times[:-1, 1])
        assert sorted(found["truth"]) == sorted(found["answers"][0]["order"]) == list(range(n))
        assert np.array(found["scores"]).shape == (n, n)
    assert puzzles.SIZES == (3, 4, 5, 6, 7, 8)
