import librosa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet import constants
from djnet.features import count_frames, log_mel


def _noise(samples: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(samples) * np.linspace(0.001, 0.5, samples)).astype(np.float32)


def test_it_is_librosas_log_mel():
    samples = _noise(10 * constants.SAMPLE_RATE_HZ)
    power = librosa.feature.melspectrogram(
        y=samples,
        sr=constants.SAMPLE_RATE_HZ,
        n_fft=constants.WINDOW_SAMPLES,
        hop_length=constants.HOP_SAMPLES,
        n_mels=constants.MEL_BINS,
        window="hamming",
        center=False,
    )
    expected = np.log(1 + constants.LOG_GAIN * power).T
    found = log_mel(samples)
    assert found.shape == expected.shape and found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-3


@given(samples=st.integers(constants.WINDOW_SAMPLES, 120_000))
@settings(max_examples=20, deadline=None)
def test_frames_are_the_windows_that_fit(samples):
    assert len(log_mel(_noise(samples))) == count_frames(samples) == 1 + (samples - 2048) // 512


@given(first=st.integers(0, 400), hops=st.integers(4, 500))
@settings(max_examples=40, deadline=None)
def test_a_part_has_the_features_of_its_own_samples_to_the_bit(first, hops):
    samples = _noise(1_000 * constants.HOP_SAMPLES, seed=1)
    part = log_mel(samples[first * constants.HOP_SAMPLES : (first + hops) * constants.HOP_SAMPLES])
    assert np.array_equal(part, log_mel(samples)[first : first + hops - 3])


def test_too_few_samples():
    with pytest.raises(ValueError, match="at least 2048, and got shape"):
        log_mel(np.zeros(2047, np.float32))
    with pytest.raises(ValueError, match="mono"):
        log_mel(np.zeros((2, 4096), np.float32))
