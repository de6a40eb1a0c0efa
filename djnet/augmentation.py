"""Other recordings of the same music: changes of level, colour, noise and pitch that the answer must not hang on.

All of a clip changes alike, as if another hand had recorded, mastered or transposed it. Gain and colour are exact:
a log-mel is log(1 + c power), so power is known and can be multiplied.
"""

import tensorflow as tf

from djnet.constants import MEL_BINS

GAIN_DECIBELS = 12.0  # at most up or down
TILT_DECIBELS = 12.0  # from the lowest to the highest bin, at most up or down
NOISE_DECIBELS = (-80.0, -30.0)  # below the loudest bin of the clip
PITCH_BINS = 2.0  # at most up or down: about a semitone


def recolour(mel: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
    """Log-mel float32 [..., 128] of a clip -> the same with another level, colour, noise and pitch, by a key [2]."""
    gain, tilt, noise, pitch = tf.unstack(tf.random.stateless_uniform([4], key, -1.0, 1.0))
    power = _transposed(tf.math.expm1(mel), PITCH_BINS * pitch)
    decibels = GAIN_DECIBELS * gain + TILT_DECIBELS * tilt * tf.linspace(-0.5, 0.5, MEL_BINS)
    power *= _ratio(decibels)
    low, high = NOISE_DECIBELS
    floor = tf.reduce_max(power) * _ratio(low + (high - low) * (noise + 1) / 2)
    # The power of noise in a bin is the mean of a few exponential ones: never constant, never far from its mean.
    grain = 0.5 - 0.5 * tf.math.log(tf.random.stateless_uniform(tf.shape(mel), key + 1, 1e-6, 1.0))
    return tf.math.log1p(power + floor * grain)


def _ratio(decibels: tf.Tensor) -> tf.Tensor:
    return tf.pow(10.0, decibels / 10.0)


def _transposed(power: tf.Tensor, bins: tf.Tensor) -> tf.Tensor:
    """Power of the bins so far above or below, between bins by interpolation."""
    places = tf.clip_by_value(tf.range(MEL_BINS, dtype=tf.float32) + bins, 0.0, MEL_BINS - 1.0)
    below = tf.cast(places, tf.int32)
    above = tf.minimum(below + 1, MEL_BINS - 1)
    share = places - tf.cast(below, tf.float32)
    return (1 - share) * tf.gather(power, below, axis=-1) + share * tf.gather(power, above, axis=-1)
