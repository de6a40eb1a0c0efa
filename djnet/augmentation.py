"""Augmentation: changes of a clip that the answer must not depend on."""

import numpy as np

from djnet.constants import MEL_BINS

GAIN_DECIBELS = 12.0  # at most up or down
TILT_DECIBELS = 12.0  # from the lowest to the highest bin, at most up or down
NOISE_DECIBELS = (-80.0, -30.0)  # below the loudest bin of the clip
PITCH_BINS = 2.0  # at most up or down: about a semitone
MASKED_BINS, MASKED_FRAMES = 12, 10  # at most, by SpecAugment


def change_timbre(mel: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The log-mel of a clip with another level, tilt, noise and pitch: float32 [..., 128] -> float32 [..., 128].

    All of a clip changes alike, as if somebody else had recorded, mastered or transposed it. Gain and tilt are exact:
    a log-mel is log(1 + c power), so the power is known and can be multiplied.
    """
    gain, tilt, pitch = rng.uniform(-1.0, 1.0, 3)
    decibels = GAIN_DECIBELS * gain + TILT_DECIBELS * tilt * np.linspace(-0.5, 0.5, MEL_BINS)
    power = _transposed(np.expm1(mel), PITCH_BINS * pitch) * 10 ** (decibels / 10)
    floor = power.max() * 10 ** (rng.uniform(*NOISE_DECIBELS) / 10)
    # The power of noise in a bin is the mean of a few exponential ones: never constant, never far from its mean.
    grain = 0.5 + 0.5 * rng.standard_exponential(mel.shape)
    return np.log1p(power + floor * grain).astype(np.float32)


def mask_spectrogram(frames: np.ndarray, rng: np.random.Generator) -> None:
    """SpecAugment: a band of frequencies and a run of frames become zero, the mean, in place: [..., T, 128]."""
    for axis, most in ((-2, MASKED_FRAMES), (-1, MASKED_BINS)):
        width = min(rng.integers(most + 1), frames.shape[axis])
        start = rng.integers(frames.shape[axis] - width + 1)
        np.moveaxis(frames, axis, 0)[start : start + width] = 0.0


def _transposed(power: np.ndarray, bins: float) -> np.ndarray:
    """Power of the bins so far above or below, between bins by interpolation."""
    places = np.clip(np.arange(MEL_BINS) + bins, 0, MEL_BINS - 1)
    below = places.astype(int)
    share = places - below
    return (1 - share) * power[..., below] + share * power[..., np.minimum(below + 1, MEL_BINS - 1)]
