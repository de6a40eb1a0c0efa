import numpy as np
import pytest

from djnet.constants import SAMPLE_RATE_HZ
from djnet.downbeats import fallback
from djnet.features import log_mel


@pytest.mark.parametrize("bpm", [80.0, 104.0, 128.0, 171.0])
def test_beats_of_a_drum_machine(bpm, rng):
    beat = 60 / bpm
    samples = 0.002 * rng.standard_normal(30 * SAMPLE_RATE_HZ)
    times = np.arange(0.3, 29.5, beat)
    for number, time in enumerate(times):
        pitch, length = (60.0, 2000) if number % 4 == 0 else (2000.0, 600)
        at, t = round(time * SAMPLE_RATE_HZ), np.arange(length)
        samples[at : at + length] += 0.5 * np.exp(-t / 300) * np.sin(2 * np.pi * pitch * t / SAMPLE_RATE_HZ)
    beats, strengths = fallback.track(log_mel(samples.astype(np.float32)))
    nearest = np.abs(beats[:, :1] - times).min(axis=1)
    assert len(beats) == len(strengths) and abs(len(beats) - len(times)) <= 2
    assert (nearest < 0.05).mean() > 0.9 and np.median(np.diff(beats[:, 0])) == pytest.approx(beat, rel=0.03)
    downs = beats[beats[:, 1] == 1, 0]
    assert np.median(np.abs(downs[:, None] - times[::4]).min(axis=1)) < 0.05
    assert 0 < strengths.min() <= strengths.max() == 1


def test_silence_noise_and_a_second_of_music_have_no_beats(rng):
    noise = 0.1 * rng.standard_normal(20 * SAMPLE_RATE_HZ)
    for samples in (np.zeros(20 * SAMPLE_RATE_HZ), noise, noise[:SAMPLE_RATE_HZ]):
        beats, strengths = fallback.track(log_mel(samples.astype(np.float32)))
        assert beats.shape == (0, 2) and strengths.shape == (0,)


def test_a_tempo_and_a_metre_that_somebody_knows_are_kept_to(rng):
    samples = 0.002 * rng.standard_normal(30 * SAMPLE_RATE_HZ)
    for time in np.arange(0.3, 29.5, 0.3):
        samples[round(time * SAMPLE_RATE_HZ) :][:600] += 0.5 * np.exp(-np.arange(600) / 300)
    beats, _ = fallback.track(log_mel(samples.astype(np.float32)), bpm=100.0, meter=3)
    assert np.median(np.diff(beats[:, 0])) == pytest.approx(0.6, rel=0.03) and beats[:, 1].max() == 3
