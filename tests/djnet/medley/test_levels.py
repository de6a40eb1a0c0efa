import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.medley import levels
from djnet.medley.levels import Gain, Heard


def clips_of(courses: list[np.ndarray]) -> list[Heard]:
    """Clips of this loudness in tenths of a second, joined by fades of one second."""
    found, begin = [], 0.0
    for course in courses:
        end = begin + len(course) / 10 - 1.0
        found.append(Heard(begin - 0.3 + np.arange(len(course)) / 10, course, (begin, end), (begin + 0.5, end - 0.5)))
        begin = end
    return found


def loudness(clip: Heard, gain: Gain, span: tuple[float, float]) -> float:
    return clip.measure(span, np.array([gain.whole, gain.lead, gain.tail]), gain.shape(clip.times))[0]


def steps(clips: list[Heard], gains: list[Gain]) -> list[float]:
    sides = [[loudness(clip, gain, edge) for edge in clip.edges] for clip, gain in zip(clips, gains, strict=True)]
    return [after[0] - before[1] for before, after in itertools.pairwise(sides)]


def course(*values: float, seconds: float = 16.0) -> np.ndarray:
    """Loudness in LUFS that goes through these values."""
    return np.interp(np.linspace(0, 1, round(10 * seconds)), np.linspace(0, 1, len(values)), values)


@pytest.mark.parametrize(
    "values",
    [(-24, -18, -24), (-14, -20, -14), (-20, -14), (-12, -20, -23), (-20, -20)],
    ids=["loud in the middle", "quiet in the middle", "grows", "fades", "even"],
)
def test_whatever_a_clip_does_it_is_as_loud_as_its_neighbours_where_they_meet(values):
    clips = clips_of([course(-14, -14), course(*values), course(-14, -14)])
    gains = levels.even(clips, -14.0)
    assert np.abs(steps(clips, gains)).max() < 0.5
    assert [loudness(c, g, c.own) for c, g in zip(clips, gains, strict=True)] == pytest.approx([-14] * 3, abs=0.3)


def test_edges_that_meet_anyway_are_left_alone():
    clips = clips_of([course(-14, -14, -22), course(-52, -44, -44)])
    for gain in levels.even(clips, -14.0):
        assert max(abs(gain.lead), abs(gain.tail)) < 0.1


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.lists(st.floats(-60, 0), min_size=1, max_size=6), st.floats(1.2, 30)), min_size=1, max_size=5)
)
def test_gains_change_slowly_and_within_limits(kinds):
    clips = clips_of([course(*values, seconds=seconds) for values, seconds in kinds])
    for clip, gain in zip(clips, levels.even(clips, -14.0), strict=True):
        assert np.isfinite(gain.whole) and max(abs(gain.lead), abs(gain.tail)) <= 6.01
        times = np.arange(*clip.own, 0.05)
        assert np.abs(np.diff(gain.at(times))).max(initial=0.0) <= 0.05 * 2.0 + 0.01


def test_silence_is_no_measure():
    silent = np.full(160, -np.inf)
    clips = clips_of([course(-20, -20), silent, np.zeros(0), course(-30, -30)])
    gains = levels.even(clips, -14.0)
    assert [gain.whole for gain in gains] == pytest.approx([6.0, 0.0, 0.0, 16.0], abs=0.01)
    assert [gain.lead for gain in gains] == [gain.tail for gain in gains] == [0.0] * 4
