import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from djnet.medley.transitions import KINDS, LARGEST_STRETCH, Asked, Segment, lay_out, plan


def segment(bpm: float, bars: int = 6, meter: int = 4) -> Segment:
    """Beats without samples: a plan needs no more."""
    times = 0.1 + np.arange(bars * meter + 1) * 60.0 / bpm
    beats = np.stack([times, np.arange(len(times)) % meter + 1], axis=1)
    return Segment(np.zeros((0, 2)), times[0], times[-1], beats)


def test_downbeats_lie_at_the_edge_that_is_joined_or_are_not_used():
    one = segment(120, bars=3)
    np.testing.assert_allclose(one.ending, 0.1 + 2.0 * np.arange(4))
    assert one.meter == 4
    late = Segment(one.samples, one.start + 0.2, one.end, one.beats)
    assert len(late.opening) == 0 and plan(one, late, 2).kind == "overlay"
    assert plan(late, one, 2).kind == "blend"  # how it begins does not matter where it ends
    assert Segment(one.samples, 0.0, 1.0).meter == 0


def test_a_blend_takes_a_third_of_a_segment_at_most():
    for bars, wanted in ((2, 1), (5, 1), (6, 2), (9, 2), (30, 4)):  # else 1, 2 or 4 bars, as phrases have them
        assert len(plan(segment(120, bars), segment(120, 30), 4).seconds) == wanted
    assert len(plan(segment(120, 30), segment(120, 30), 8).seconds) == 8
    assert plan(segment(120, 8), segment(120, 8), 0).reason == "asked for"


@pytest.mark.parametrize(
    ("bpm", "kind"), [(125.9, "blend"), (114.4, "blend"), (126.5, "ramp"), (143.0, "ramp"), (145.0, "echo")]
)
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


@pytest.mark.parametrize(("late", "reason"), [(0.18, ""), (0.2, "tempo not steady"), (0.3, "tempo not steady")])
def test_a_tempo_that_is_not_steady_is_stretched_by_8_percent_at_most(late, reason):
    one = segment(120, 6)
    beats = one.beats.copy()
    beats[20, 0] += late  # the last bar but one is longer, the last one shorter
    assert plan(Segment(one.samples, one.start, one.end, beats), one, 2).reason == reason


def test_the_last_bar_of_a_clip_that_is_too_short_to_blend_is_looped_in_the_tempo_of_the_next():
    (_, (join,)) = lay_out([segment(120, 1), segment(123, 12)], 2)
    assert (join.kind, join.reason, join.bars) == ("loop", "a clip is too short", 2)
    assert join.looped == pytest.approx(2.0) and join.stretch == pytest.approx(0.025, abs=1e-3)
    np.testing.assert_allclose(np.diff(join.repeats), 240 / 123)
    assert join.repeats[0] == join.middle and join.repeats[-1] == join.end
    assert plan(segment(120, 1), segment(140, 12), 2).kind == "echo"  # stretched too far


def test_stretching_that_is_heard_counts_against_a_transition():
    qualities = [plan(segment(120, 24), segment(bpm, 24), 2).quality for bpm in (120, 124, 128, 134, 142)]
    assert qualities[0] == pytest.approx(1.0) and np.all(np.diff(qualities) < 0)
    assert qualities[1] > 0.9 and qualities[-1] < 0.6 * qualities[0]  # 1.6% and 9% of stretch


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_asked_for(kind):
    transition = plan(segment(120, 12), segment(122, 12), 2, Asked(kind, 4))
    assert transition.kind == kind
    (_, (join,)) = lay_out([segment(120, 12), segment(122, 12)], 2, [Asked(kind, 4)])
    assert join.bars == {"cut": 0, "echo": 0, "overlay": 0}.get(kind, 4)
    if kind == "echo":
        assert len(join.repeats) == 12  # as many beats as fit into a quarter of the next song


def test_what_cannot_be_done_is_not_done_and_says_so():
    transition = plan(segment(120, 12), segment(160, 12), 2, Asked("blend"))
    assert (transition.kind, transition.reason) == ("echo", "tempos differ by 33%, so no blend")
    transition = plan(segment(120, 12), segment(130, 12), 2, Asked("blend"))
    assert (transition.kind, transition.reason) == ("ramp", "no blend")
    silent = Segment(np.zeros((0, 2)), 0.0, 30.0)
    assert plan(silent, silent, 2, Asked("ramp")).kind == "overlay"
    assert plan(silent, silent, 2, Asked("sweep")).kind == "sweep"
    assert plan(silent, silent, 2, Asked("echo")).looped == 0.5
    assert plan(segment(120), segment(120), 2, Asked(bars=0)).kind == "cut"


def test_bars_of_three_and_four_beats_are_never_beaten_together():
    join = plan(segment(120), segment(120, meter=3), 2)
    assert join.kind == "sweep" and "4 against 3 beats" in join.reason


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
        after_the_end = join.kind in ("echo", "sweep", "loop")  # the next begins where this one ends, but for a fade
        assert one[-1] == pytest.approx(join.middle if after_the_end else join.end)
        assert two[0] == pytest.approx(join.middle if after_the_end else join.start, abs=0.021)
        assert join.start <= join.middle <= join.end
    for source, target in maps:
        assert np.diff(source).min() > -1e-9 and np.diff(target).min() > -1e-9
