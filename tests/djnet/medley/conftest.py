import numpy as np
import pytest

from djnet import constants
from djnet.medley.analysis import Song
from djnet.medley.key import CHROMA_HOP


@pytest.fixture
def song(rng):
    """A song of noise: `song("name", bpm=120)`, with no beats for 0."""

    def make(name: str, bpm: float = 120.0, seconds: float = 64.0, key: str = "C") -> Song:
        times = np.arange(0.25, seconds - 1, 60 / bpm) if bpm else np.zeros(0)
        beats = np.stack([times, np.arange(len(times)) % 4 + 1], axis=1)
        mel = (8 * rng.random((constants.seconds_to_hops(seconds), constants.MEL_BINS))).astype(np.float16)
        samples = rng.integers(-9000, 9000, int(seconds * constants.SAMPLE_RATE_HZ)).astype(np.int16)
        chroma = rng.random((1 + len(samples) // CHROMA_HOP, 12)).astype(np.float16)
        strengths = np.full(len(times), 0.9)
        return Song(f"{name}.wav", name, name, seconds, key, -14.0, beats, strengths, mel, chroma, samples)

    return make
