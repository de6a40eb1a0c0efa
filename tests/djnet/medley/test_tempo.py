import numpy as np
import pytest

from djnet.medley import tempo


def beats(times: np.ndarray, meter: int = 4) -> np.ndarray:
    return np.stack([times, np.arange(len(times)) % meter + 1], axis=1)


def test_a_steady_beat_becomes_more_exact_than_the_trackers_frames():
    true = 0.3 + np.arange(64) * 60 / 127.3
    found = tempo.smoothed(beats(np.round(true, 2)))
    assert np.abs(found[4:-4, 0] - true[4:-4]).max() < 0.003
    assert tempo.bpm(found) == pytest.approx(127.3, abs=0.5)
    assert tempo.unsteadiness(np.diff(found[:, 0])) < 0.005


def test_no_beat_comes_before_the_music():
    late = np.arange(16) * 0.5
    late[1:3] -= 0.01  # the line through the first beats begins before zero
    late[4] += 0.01
    assert np.polyfit(np.arange(5), late[:5], 1)[1] < 0
    assert tempo.smoothed(beats(late))[0, 0] == 0.0


def test_free_beats_stay_where_they_are(rng):
    free = beats(np.cumsum(rng.uniform(0.3, 0.8, 40)))
    np.testing.assert_array_equal(tempo.smoothed(free), free)
    assert tempo.unsteadiness(np.diff(free[:, 0])) > 0.1


def test_the_longest_run_of_even_bars():
    positions = [3, 4, *[1, 2, 3, 4] * 2, 1, 2, *[1, 2, 3, 4] * 5, 1, 2]
    found = tempo.whole_bars(np.stack([np.arange(len(positions)) * 0.5, positions], axis=1))
    np.testing.assert_allclose(found, 6.0 + 2.0 * np.arange(6))


def steady(lengths: list[float], meter: int = 4) -> np.ndarray:
    """Beats of these lengths, numbered through as a tracker does."""
    return beats(np.concatenate([[0.0], np.cumsum(lengths)]), meter)


def test_bars_are_followed_through_a_beat_too_many_and_through_faint_bars():
    # Two beats more in the twentieth bar, which the tracker squeezes into it; eight faint bars later on.
    tracked = steady([0.5] * 76 + [0.75] * 4 + [0.5] * 120)
    strengths = np.where(np.abs(np.arange(201) - 140) < 14, 0.02, 0.9)
    bars = tempo.bars_of(tracked, strengths)
    assert bars.lines[0] == 0 and len(bars.lines) == 51
    assert np.flatnonzero(~bars.clear).tolist() == [19]
    strengths[100:] = 0.02  # too much to be bridged
    assert tempo.bars_of(tracked, strengths).lines[-1] < 60


def test_a_passage_in_half_the_tempo_is_brought_back():
    found = tempo.undoubled(steady([0.5] * 64 + [1.0] * 16 + [0.5] * 64))
    np.testing.assert_allclose(np.diff(found[:, 0]), 0.5)
    np.testing.assert_array_equal(found[:, 1], np.arange(len(found)) % 4 + 1)
    free = steady([0.5] * 40 + [1.0] + [0.5] * 40)  # a held note, not a passage
    np.testing.assert_array_equal(tempo.undoubled(free), free)


def test_too_few_beats():
    for few in (np.zeros((0, 2)), beats(np.array([1.0]))):
        assert tempo.bpm(few) == 0
        assert len(tempo.whole_bars(few)) == len(tempo.bars_of(few, np.ones(len(few))).lines) == 0
        np.testing.assert_array_equal(tempo.undoubled(few), few)
        np.testing.assert_array_equal(tempo.smoothed(few), few)


@pytest.mark.parametrize(("strength", "jitter", "believed"), [(0.5, 0.03, True), (0.2, 0.0, True), (0.2, 0.03, False)])
def test_faint_beats_are_believed_only_if_they_are_steady(rng, strength, jitter, believed):
    found = tempo.trusted(beats(np.arange(64) * 0.5 + jitter * rng.standard_normal(64)), np.full(64, strength))
    assert (found.mean() > 0.5) == believed


def test_the_longest_run():
    assert tempo.longest_run(np.array([1, 0, 1, 1, 1, 0, 1, 1], bool)) == slice(2, 5)
    assert tempo.longest_run(np.zeros(3, bool)) == tempo.longest_run(np.zeros(0, bool)) == slice(0, 0)


def test_double_and_half_tempo_are_the_same():
    assert tempo.octaves_apart(120.0, 60.0) == tempo.octaves_apart(60.0, 240.0) == 0
    np.testing.assert_allclose(
        tempo.octaves_apart(np.array([100.0, 200.0, 190.0]), 100.0 * 2**0.1), [0.1, 0.1, 0.174], atol=1e-3
    )


@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
def test_beats_are_trusted_by_those_around_them(count, rng):
    """As plainly computed: the mean strength of 17 beats, and whether the lengths between them are all alike."""
    times = np.cumsum(np.where(np.arange(count) < count / 2, 0.5, rng.uniform(0.3, 0.8, count)))
    strengths = rng.uniform(0.1, 0.5, count)
    expected = []
    for i in range(count):
        near = slice(max(0, i - 8), i + 9)
        lengths = np.diff(times[near])
        steady = len(lengths) < 2 or np.median(np.abs(lengths / np.median(lengths) - 1)) < 0.01
        expected.append(strengths[near].mean() >= (0.15 if steady else 0.3))
    assert tempo.trusted(beats(times), strengths).tolist() == expected
