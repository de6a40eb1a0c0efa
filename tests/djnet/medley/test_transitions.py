import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djnet.medley.transitions import LARGEST_STRETCH, Segment, lay_out, plan


def segment(bpm: float, bars: int = 6, meter: int = 4) -> Segment:
    """Beats without samples: a plan needs no more."""
    times = 0.1 + np.arange(bars * meter + 1) * 60.0 / bpm
    beats = np.stack([times, np.arange(len(times)) % meter + 1], axis=1)
    return Segment(np.zeros((0, 2)), times[0], times[-1], beats)


def test_downbeats_lie_at_both_ends_or_are_not_used():
    one = segment(120, bars=3)
    np.testing.assert_allclose(one.downbeats, 0.1 + 2.0 * np.arange(4))
    assert one.meter == 4
    late = Segment(one.samples, one.start + 0.2, one.end, one.beats)
    assert len(late.downbeats) == 0 and plan(late, one, 2).kind == "overlay"
    assert Segment(one.samples, 0.0, 1.0).meter == 0


def test_a_blend_takes_a_third_of_a_segment_at_most():
    for bars, wanted in ((2, 1), (5, 1), (6, 2), (9, 3), (30, 4)):
        assert len(plan(segment(120, bars), segment(120, 30), 4).seconds) == wanted
    assert plan(segment(120, 1), segment(120, 8), 4).reason == "a clip is too short"
    assert plan(segment(120, 8), segment(120, 8), 0).reason == "asked for"


@pytest.mark.parametrize(("bpm", "kind"), [(125.9, "blend"), (114.4, "blend"), (129.5, "ramp"), (156.0, "echo")])
def test_near_tempos_are_blended_and_farther_ones_ramped(bpm, kind):
    assert plan(segment(120), segment(bpm), 2).kind == kind


def test_two_bars_play_against_one_at_double_tempo():
    transition = plan(segment(160, 12), segment(80, 12), 2)
    assert transition.kind == "blend" and transition.stretch == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(np.diff(transition.before), np.diff(transition.after))
    assert len(transition.seconds) == 2


def test_three_bars_play_against_two():
    transition = plan(segment(150, 12), segment(98, 12), 2)
    assert transition.kind == "blend" and transition.against == (3, 2) and transition.reason == "3 bars against 2"
    assert transition.stretch < 0.03
    assert plan(segment(150, 12), segment(112, 12), 2).kind == "echo"


@pytest.mark.parametrize("bpm", [107, 112, 119, 215])
def test_tempos_up_to_a_fifth_apart_meet_on_a_ramp(bpm):
    a, b = segment(100, 16), segment(bpm, 16)
    transition = plan(a, b, 2)
    assert transition.kind == "ramp" and transition.together == 2
    lengths = transition.seconds  # from a bar of the first song to one of the second, always in the same direction
    assert len(lengths) > 6 and np.all(np.diff(lengths) < 0)
    whole = np.log([2.4, 2.4 * 100 / bpm * (2 if bpm > 200 else 1)])
    assert np.abs(np.diff(np.log(lengths))).max() < 1.01 * np.ptp(whole) / len(lengths)  # in equal steps
    maps, (join,) = lay_out([a, b], 2)
    assert join.stretch == pytest.approx(transition.stretch) and join.stretch < 0.7 * np.expm1(np.ptp(whole))
    for (source, target), one in zip(maps, (a, b), strict=True):
        assert (source[0], source[-1]) == (one.start, one.end) and np.all(np.diff(target) > 0)


def test_without_downbeats_there_is_a_long_overlay():
    for seconds, wanted in ((30.0, 10.0), (60.0, 16.0), (20.0, 8.0), (10.0, 4.5)):
        one = Segment(np.zeros((0, 2)), 0.0, seconds)
        (first, second), (join,) = lay_out([one, Segment(np.zeros((0, 2)), 0.0, 90.0)], 2)
        assert join.kind == "overlay" and join.end - join.start == pytest.approx(wanted)
        assert first[1][-1] == pytest.approx(join.end) and second[1][0] == pytest.approx(join.start)


def test_echoes_last_four_beats_or_as_long_as_there_is_room():
    (_, (join,)) = lay_out([segment(120, 6), segment(90, 6)], 2)
    assert join.kind == "echo" and join.middle == pytest.approx(12.0) and join.end == pytest.approx(14.0)
    (_, (join,)) = lay_out([segment(120, 6), segment(90, 2)], 2)
    assert join.end - join.middle == pytest.approx(1.0)


def test_a_tempo_that_is_not_steady_is_not_stretched():
    one = segment(120, 6)
    beats = one.beats.copy()
    beats[20, 0] += 0.3  # the last bar but one is longer, the last one shorter
    assert plan(Segment(one.samples, one.start, one.end, beats), one, 2).reason == "tempo not steady"


@given(
    st.lists(st.tuples(st.floats(60, 180), st.sampled_from([3, 4]), st.integers(1, 5)), min_size=1, max_size=4),
    st.integers(0, 4),
)
def test_segments_overlap_at_their_joins_and_nowhere_else(kinds, bars):
    segments = [segment(bpm, count, meter) for bpm, meter, count in kinds]
    maps, joins = lay_out(segments, bars)
    assert len(maps) == len(segments) and len(joins) == len(segments) - 1
    assert all(join.stretch <= max(LARGEST_STRETCH.values()) + 1e-9 and join.start < join.end for join in joins)
    for join, ((_, one), (_, two)) in zip(joins, itertools.pairwise(maps), strict=True):
        end = join.middle if join.kind == "echo" else join.end
        assert two[0] == pytest.approx(join.start) and one[-1] == pytest.approx(end)
        assert join.start <= join.middle <= join.end
    for source, target in maps:
        assert np.diff(source).min() > -1e-9 and np.diff(target).min() > -1e-9
