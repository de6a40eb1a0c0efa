import numpy as np
import pytest

from djnet.medley.loudness import blocks_of, counted, keep_below, loudness_of, true_peak

RATE = 44_100


def test_peaks_between_samples_are_found():
    t = np.arange(RATE) / RATE
    wave = np.sin(2 * np.pi * RATE / 4 * t + np.pi / 4)[:, None]  # samples at 0.707 of the wave's height
    assert np.abs(wave).max() < 0.71
    assert true_peak(wave, RATE) == pytest.approx(1.0, abs=0.05)


def test_a_sine_of_known_loudness():
    t = np.arange(3 * RATE) / RATE
    tone = np.repeat(np.sin(2 * np.pi * 997 * t)[:, None], 2, axis=1)
    assert loudness_of(tone, RATE) == pytest.approx(0.0, abs=0.1)
    assert loudness_of(np.zeros((RATE, 2)), RATE) == loudness_of(tone[:100], RATE) == -np.inf


def test_the_blocks_that_count_give_the_loudness_of_all(rng):
    music = 0.1 * rng.standard_normal((6 * RATE, 2)) * np.repeat([1.0, 0.5, 0.01, 0.0, 1.0, 0.3], RATE)[:, None]
    blocks = blocks_of(music, RATE)
    counts = counted(blocks)
    assert len(blocks) == 57 and 0 < counts.sum() < 57
    assert 10 * np.log10((10 ** (blocks[counts] / 10)).mean()) == pytest.approx(loudness_of(music, RATE), abs=1e-6)
    assert not len(blocks_of(np.zeros((RATE, 2)), RATE)) and not counted(np.full(3, -np.inf)).any()


@pytest.mark.parametrize("height", [0.5, 1.2, 8.0])
def test_peaks_are_kept_below_and_the_rest_is_left_alone(rng, height):
    music = (0.1 * rng.standard_normal((4 * RATE, 2))).clip(-0.3, 0.3).astype(np.float32)
    peaks = music.copy()
    peaks[2 * RATE : 2 * RATE + 200] = height * np.hanning(200)[:, None]
    before = loudness_of(music, RATE)
    keep_below(peaks, 0.88, RATE)
    assert true_peak(peaks, RATE) <= 0.88 + 1e-4
    lost = before - loudness_of(peaks[: RATE + RATE // 2], RATE)
    assert lost == pytest.approx(max(0.0, 20 * np.log10(height / 0.88) - 6.0), abs=0.4)


def test_silence_stays():
    for silent in (np.zeros((RATE, 2), np.float32), np.zeros((0, 2), np.float32)):
        keep_below(silent, 0.88, RATE)
        assert not silent.any()
