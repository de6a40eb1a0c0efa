import numpy as np
import pytest

from djnet.medley import limiter
from djnet.medley.limiter import limit, true_peak
from djnet.medley.loudness import loudness_of

RATE = 44_100


def test_peaks_between_samples_are_found():
    t = np.arange(RATE) / RATE
    wave = np.sin(2 * np.pi * RATE / 4 * t + np.pi / 4)[:, None]  # samples at 0.707 of the wave's height
    assert np.abs(wave).max() < 0.71
    assert true_peak(wave) == pytest.approx(1.0, abs=0.05)


def test_there_are_no_peaks_where_a_block_begins():
    t = np.arange(4 * RATE) / RATE
    edge = limiter._BLOCK_FRAMES / RATE
    tone = 0.5 * np.cos(2 * np.pi * 50 * (t - edge))[:, None]  # at its height where blocks are cut
    tone *= np.interp(t, [0, 0.5, 3.5, 4 - 1 / RATE], [0, 1, 1, 0])[:, None]
    assert true_peak(tone) == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize("height", [0.5, 1.2, 8.0])
def test_peaks_are_kept_below_and_the_rest_is_left_alone(rng, height):
    music = (0.1 * rng.standard_normal((4 * RATE, 2))).clip(-0.3, 0.3).astype(np.float32)
    peaks = music.copy()
    peaks[2 * RATE : 2 * RATE + 200] = height * np.hanning(200)[:, None]
    before = loudness_of(music, RATE)
    assert limit(peaks, 0.88, RATE) == pytest.approx(max(0.0, 20 * np.log10(height / 0.88)), abs=0.01)
    assert true_peak(peaks) <= 0.88 + 1e-4
    assert loudness_of(peaks[: RATE + RATE // 2], RATE) == pytest.approx(before, abs=0.4)


def test_silence_stays():
    for silent in (np.zeros((RATE, 2), np.float32), np.zeros((0, 2), np.float32)):
        limit(silent, 0.88, RATE)
        assert not silent.any()
