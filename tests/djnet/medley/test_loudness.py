import itertools

import numpy as np
import pyloudnorm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.medley.loudness import ClipLoudness, Gain, blocks_of, equal_gains, gate, loudness_of

RATE = 44_100


def test_a_sine_of_known_loudness():
    t = np.arange(3 * RATE) / RATE
    tone = np.repeat(np.sin(2 * np.pi * 997 * t)[:, None], 2, axis=1)
    assert loudness_of(tone, RATE) == pytest.approx(0.0, abs=0.1)
    assert loudness_of(np.zeros((RATE, 2)), RATE) == loudness_of(tone[:100], RATE) == -np.inf


def test_loudness_in_pieces_is_that_of_the_reference(rng):
    music = 0.1 * rng.standard_normal((25 * RATE, 2)) * np.linspace(0.1, 1.0, 25 * RATE)[:, None]
    assert loudness_of(music, RATE) == pytest.approx(pyloudnorm.Meter(RATE).integrated_loudness(music), abs=0.01)


def test_the_blocks_that_count_give_the_loudness_of_all(rng):
    music = 0.1 * rng.standard_normal((6 * RATE, 2)) * np.repeat([1.0, 0.5, 0.01, 0.0, 1.0, 0.3], RATE)[:, None]
    times, blocks = blocks_of(music, RATE)
    counts = gate(blocks)
    assert len(times) == len(blocks) == 57 and 0 < counts.sum() < 57
    assert 10 * np.log10((10 ** (blocks[counts] / 10)).mean()) == pytest.approx(loudness_of(music, RATE), abs=1e-6)
    assert not len(blocks_of(np.zeros((RATE, 2)), RATE)[1]) and not gate(np.full(3, -np.inf)).any()


def clips_of(courses: list[np.ndarray]) -> list[ClipLoudness]:
    """Clips of this loudness in tenths of a second, joined by fades of one second."""
    clips, begin = [], 0.0
    for course in courses:
        end = begin + len(course) / 10 - 1.0
        clips.append(
            ClipLoudness(begin - 0.3 + np.arange(len(course)) / 10, course, (begin, end), (begin + 0.5, end - 0.5))
        )
        begin = end
    return clips


def loudness(clip: ClipLoudness, gain: Gain, span: tuple[float, float]) -> float:
    return clip.within(span, np.array([gain.whole, gain.lead, gain.tail]))[0]


def steps(clips: list[ClipLoudness], gains: list[Gain]) -> list[float]:
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
    gains = equal_gains(clips, -14.0)
    assert np.abs(steps(clips, gains)).max() < 0.5
    assert [loudness(c, g, c.own) for c, g in zip(clips, gains, strict=True)] == pytest.approx([-14] * 3, abs=0.3)


def test_edges_that_meet_anyway_are_left_alone():
    clips = clips_of([course(-14, -14, -22), course(-52, -44, -44)])
    for gain in equal_gains(clips, -14.0):
        assert max(abs(gain.lead), abs(gain.tail)) < 0.1


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.lists(st.floats(-60, 0), min_size=1, max_size=6), st.floats(1.2, 30)), min_size=1, max_size=5)
)
def test_gains_change_slowly_and_within_limits(kinds):
    clips = clips_of([course(*values, seconds=seconds) for values, seconds in kinds])
    for clip, gain in zip(clips, equal_gains(clips, -14.0), strict=True):
        assert np.isfinite(gain.whole) and max(abs(gain.lead), abs(gain.tail)) <= 6.01
        times = np.arange(*clip.own, 0.05)
        assert np.abs(np.diff(gain.at(times))).max(initial=0.0) <= 0.05 * 2.0 + 0.01


def test_silence_is_no_measure():
    silent = np.full(160, -np.inf)
    clips = clips_of([course(-20, -20), silent, np.zeros(0), course(-30, -30)])
    gains = equal_gains(clips, -14.0)
    assert [gain.whole for gain in gains] == pytest.approx([6.0, 0.0, 0.0, 16.0], abs=0.01)
    assert [gain.lead for gain in gains] == [gain.tail for gain in gains] == [0.0] * 4
