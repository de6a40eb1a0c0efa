"""Augmentation: changes of a clip that the answer must not depend on. Every change is a function of a random key."""

import tensorflow as tf

from djnet.constants import MEL_BINS

GAIN_DECIBELS = 12.0  # at most up or down
TILT_DECIBELS = 12.0  # from the lowest to the highest bin, at most up or down
NOISE_DECIBELS = (-80.0, -30.0)  # below the loudest bin of the clip
PITCH_BINS = 2.0  # at most up or down: about a semitone
MASKED_BINS, MASKED_FRAMES = 12, 10  # at most, by SpecAugment


def change_timbre(mel: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """Log-mel float32 [..., 128] of a clip and a key [2] -> the same with another level, tilt, noise and pitch.

    All of a clip changes alike, as if somebody else had recorded, mastered or transposed it. Gain and tilt are exact:
    a log-mel is log(1 + c power), so the power is known and can be multiplied.
    """
    gain, tilt, noise, pitch = tf.unstack(tf.random.stateless_uniform([4], key, -1.0, 1.0))
    power = _transposed(tf.math.expm1(mel), PITCH_BINS * pitch)
    decibels = GAIN_DECIBELS * gain + TILT_DECIBELS * tilt * tf.linspace(-0.5, 0.5, MEL_BINS)
    power *= _ratio(decibels)
    low, high = NOISE_DECIBELS
    floor = tf.reduce_max(power) * _ratio(low + (high - low) * (noise + 1) / 2)
    # The power of noise in a bin is the mean of a few exponential ones: never constant, never far from its mean.
    grain = 0.5 - 0.5 * tf.math.log(tf.random.stateless_uniform(tf.shape(mel), key + 1, 1e-6, 1.0))
    return tf.math.log1p(power + floor * grain)


def mask_spectrogram(frames: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """SpecAugment: a band of frequencies and a run of frames become zero, the mean: [..., T, 128], key [2]."""
    places = tf.cast(tf.shape(frames)[-2:], tf.float32)
    draws = tf.random.stateless_uniform([2, 2], key)
    widths = draws[0] * [MASKED_FRAMES + 1.0, MASKED_BINS + 1.0]
    starts = draws[1] * tf.maximum(places - widths, 0.0)
    masks = []
    for axis in range(2):
        place = tf.range(places[axis])
        masks.append((place >= tf.floor(starts[axis])) & (place < tf.floor(starts[axis]) + tf.floor(widths[axis])))
    return tf.where(masks[0][:, None] | masks[1][None, :], 0.0, frames)


def _ratio(decibels: tf.Tensor) -> tf.Tensor:
    return tf.pow(10.0, decibels / 10.0)


def _transposed(power: tf.Tensor, bins: tf.Tensor) -> tf.Tensor:
    """Power of the bins so far above or below, between bins by interpolation."""
    places = tf.clip_by_value(tf.range(MEL_BINS, dtype=tf.float32) + bins, 0.0, MEL_BINS - 1.0)
    below = tf.cast(places, tf.int32)
    above = tf.minimum(below + 1, MEL_BINS - 1)
    share = places - tf.cast(below, tf.float32)
    return (1 - share) * tf.gather(power, below, axis=-1) + share * tf.gather(power, above, axis=-1)
