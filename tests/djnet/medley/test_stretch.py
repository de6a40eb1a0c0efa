import numpy as np
import pytest

from djnet.medley.stretch import stretched

RATE = 44_100


def clicks(times, seconds: float) -> np.ndarray:
    samples = np.zeros((round(seconds * RATE), 2), np.float32)
    for time in times:
        samples[round(time * RATE) :][:100] += (np.hanning(100) * np.sin(np.arange(100)))[:, None]
    return samples


def test_moments_are_heard_where_they_are_asked_for():
    source = np.array([1.0, 3.0, 5.0, 7.0])
    target = np.array([0.0, 2.1, 4.1, 6.0])
    out = stretched(clicks([2.0, 4.0, 6.0], 8.0), source, np.round(target * RATE).astype(int), RATE)
    assert out.shape == (6 * RATE, 2)
    heard = [
        (np.abs(out[round((t - 0.05) * RATE) :][: RATE // 10, 0]).argmax() + 50) / RATE - 0.05
        for t in (1.05, 3.1, 5.05)
    ]
    assert np.abs(heard).max() < 0.003


def test_what_is_not_stretched_is_the_same_to_the_bit(rng):
    samples = rng.standard_normal((3 * RATE, 2)).astype(np.float32)
    out = stretched(samples, np.array([0.5, 2.5]), np.array([0, 2 * RATE]), RATE)
    np.testing.assert_array_equal(out, samples[RATE // 2 : 5 * RATE // 2])


@pytest.mark.parametrize("speed", [0.93, 1.0, 1.08])
def test_seams_keep_the_level_and_the_pitch(speed):
    t = np.arange(6 * RATE) / RATE
    tone = np.repeat(np.sin(2 * np.pi * 441 * t)[:, None], 2, axis=1).astype(np.float32)
    middle = round(2 * RATE / speed)
    out = stretched(tone, np.array([1.0, 3.0, 5.0]), np.array([0, middle, middle + 2 * RATE]), RATE)
    level = np.sqrt(
        (out[RATE // 10 : len(out) // 441 * 441 - RATE // 10, 0] ** 2)[: 3 * RATE].reshape(-1, 441).mean(axis=1)
    )
    assert level.min() > 0.6 and level.max() < 0.8
