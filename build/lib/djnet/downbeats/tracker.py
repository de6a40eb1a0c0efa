"""Samples -> beats and downbeats."""

import numpy as np
import soxr

from djnet.downbeats import decoder, network

ANALYSIS_RATE_HZ = network.SAMPLE_RATE_HZ
VERSION = 1  # of the beats that are kept in a cache


def track(samples: np.ndarray, sample_rate: int) -> np.ndarray:
    """Beats of a track or a clip: float32 [N], mono -> float [K, 2] (seconds, position in the bar; 1 is a downbeat).

    Empty where the network finds no beat: silence, noise, less than a beat of music.
    """
    return decoder.decode(activations(samples, sample_rate), network.FRAMES_PER_SECOND)


def activations(samples: np.ndarray, sample_rate: int) -> np.ndarray:
    """How probable a beat and a downbeat are, a hundred times a second: float32 [N], mono -> float32 [T, 2]."""
    if samples.ndim != 1:
        raise ValueError(f"Beats are tracked in mono samples, got shape {samples.shape}.")
    if sample_rate != ANALYSIS_RATE_HZ:
        samples = soxr.resample(samples.astype(np.float32), sample_rate, ANALYSIS_RATE_HZ)
    return network.activations(samples)
