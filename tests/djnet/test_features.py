import librosa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet import constants
from djnet.errors import UserError
from djnet.features import log_mel, mel_filters


def _noise(samples: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(samples) * np.linspace(0.001, 0.5, samples)).astype(np.float32)


def test_mel_filters_are_librosas_to_the_bit():
    expected = librosa.filters.mel(sr=constants.SAMPLE_RATE_HZ, n_fft=constants.WINDOW_SAMPLES, n_mels=128)
    assert np.array_equal(mel_filters(), expected)


def test_it_is_librosas_log_mel():
    samples = _noise(10 * constants.SAMPLE_RATE_HZ)
    power = librosa.feature.melspectrogram(
        y=samples,
        sr=constants.SAMPLE_RATE_HZ,
        n_fft=constants.WINDOW_SAMPLES,
        hop_length=constants.HOP_SAMPLES,
        n_mels=constants.MEL_BINS,
        window="hamming",
        center=True,
        pad_mode="reflect",
    )
    expected = np.log(1 + constants.LOG_GAIN * power).T
    mel = log_mel(samples)
    assert mel.shape == expected.shape and mel.dtype == np.float32
    assert np.abs(mel - expected).max() < 1e-3


@given(samples=st.integers(1025, 120_000))
@settings(max_examples=20, deadline=None)
def test_a_frame_is_centred_on_every_hop(samples):
    assert len(log_mel(_noise(samples))) == 1 + samples // 512


@given(first=st.integers(0, 400), hops=st.integers(4, 500))
@settings(max_examples=40, deadline=None)
def test_only_two_frames_at_each_end_of_a_part_differ_from_those_of_the_whole(first, hops):
    samples = _noise(1_000 * constants.HOP_SAMPLES, seed=1)
    part = log_mel(samples[first * constants.HOP_SAMPLES : (first + hops) * constants.HOP_SAMPLES])
    assert np.array_equal(part[2:-2], log_mel(samples)[first : first + hops + 1][2:-2])


def test_too_few_samples():
    assert len(log_mel(np.zeros(1025, np.float32))) == 3
    with pytest.raises(ValueError, match="at least 1025, and got shape"):
        log_mel(np.zeros(1024, np.float32))
    with pytest.raises(ValueError, match="mono"):
        log_mel(np.zeros((2, 4096), np.float32))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_samples_whose_squares_overflow_are_refused():
    with pytest.raises(UserError, match=r"Samples as large as 1e\+25 have no log-mel"):
        log_mel(np.full(4096, 1e25, np.float32))
