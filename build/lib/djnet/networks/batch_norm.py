"""Batch normalisation that sees no padding and, on several devices, the whole batch.

A batch that is shared by several devices must be normalised by the statistics of the whole, or training would depend
on how many devices there are. So sums and counts are added up over the devices, in both directions of a step.
"""

from typing import Any

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("djnet")
class MaskedBatchNorm(keras.layers.Layer):
    """Batch normalisation whose statistics see no padding: [..., C] -> [..., C]."""

    def __init__(self, momentum: float = 0.99, epsilon: float = 1e-3, **options: Any):
        super().__init__(**options)
        self.momentum, self.epsilon = momentum, epsilon

    def build(self, shape: tuple[int | None, ...]) -> None:
        """A scale, a shift, and the running statistics to use outside training."""
        fixed: dict[str, Any] = {"shape": (shape[-1],), "autocast": False}  # full precision under any policy
        kept: dict[str, Any] = fixed | {"trainable": False, "aggregation": "mean"}
        self.gamma = self.add_weight(initializer="ones", name="gamma", **fixed)
        self.beta = self.add_weight(initializer="zeros", name="beta", **fixed)
        self.mean = self.add_weight(initializer="zeros", name="mean", **kept)
        self.variance = self.add_weight(initializer="ones", name="variance", **kept)

    def call(self, x: tf.Tensor, valid: tf.Tensor | None = None, training: bool = False) -> tf.Tensor:
        """Normalise; in training by the batch statistics, which update the running ones."""
        if not training:
            return self.shift_and_scale(x, self.mean, self.variance)
        if valid is None and _devices() == 1 and x.dtype != tf.float64:
            # The fused kernel wants four dimensions and no double precision; it also has the fastest gradient.
            flat = tf.reshape(x, [-1, 1, 1, x.shape[-1]]) if x.shape.rank != 4 else x
            y, mean, variance = tf.compat.v1.nn.fused_batch_norm(
                flat, tf.convert_to_tensor(self.gamma), tf.convert_to_tensor(self.beta), epsilon=self.epsilon
            )
            # It answers with the unbiased variance.
            count = tf.cast(tf.size(x) // x.shape[-1], variance.dtype)
            self.remember(mean, variance * (count - 1.0) / count)
            return tf.reshape(y, tf.shape(x)) if x.shape.rank != 4 else y
        axes = list(range(x.shape.rank - 1))
        values = precise(x)
        weights = tf.ones_like(values[..., :1]) if valid is None else precise(valid)[..., None]
        count, total = add_devices(tf.reduce_sum(weights), tf.reduce_sum(values * weights, axes))
        count = tf.maximum(count, 1.0)
        mean = total / count
        (squares,) = add_devices(tf.reduce_sum(tf.square(values - mean) * weights, axes))
        variance = squares / count
        self.remember(mean, variance)
        return self.shift_and_scale(x, mean, variance)

    def shift_and_scale(self, x: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
        """Normalise by given statistics."""
        scale, shift = self.affine(mean, variance)
        return x * tf.cast(scale, x.dtype) + tf.cast(shift, x.dtype)

    def affine(self, mean: tf.Tensor, variance: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """What normalising by given statistics multiplies with, and what it adds."""
        scale = self.gamma * tf.math.rsqrt(variance + self.epsilon)
        return scale, self.beta - mean * scale

    def remember(self, mean: tf.Tensor, variance: tf.Tensor) -> None:
        """Update the running statistics with those of a batch."""
        for kept, new in ((self.mean, mean), (self.variance, variance)):
            kept.assign(kept * self.momentum + tf.stop_gradient(new) * (1.0 - self.momentum))

    def get_config(self) -> dict[str, Any]:
        """Every argument."""
        return super().get_config() | {"momentum": self.momentum, "epsilon": self.epsilon}


def precise(x: tf.Tensor) -> tf.Tensor:
    """Values as they are summed up: at least in single precision, whatever the policy."""
    return tf.cast(x, tf.float32) if x.dtype.size < 4 else x


def add_devices(*sums: tf.Tensor) -> list[tf.Tensor]:
    """Sums over a device's part of a batch -> sums over the whole batch, the same on every device."""
    if _devices() == 1:
        return list(sums)
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, list(sums))


def _devices() -> int:
    """How many devices share a batch."""
    return tf.distribute.get_strategy().num_replicas_in_sync
