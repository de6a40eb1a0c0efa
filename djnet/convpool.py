"""Convolution and maximum pooling in one, without the large tensor in between.

A pooled value is the maximum of nine values of the convolution. Each of the nine is a convolution of its own, with the
pooling's step as its stride, so the maximum can be taken over nine small tensors: on a CPU that is several times as
fast as a full-sized convolution, normalisation, ReLU and pooling. Batch normalisation needs the moments of all values,
which are added up on the way, and can itself wait until after the pooling: it only shifts and scales, and for a channel
whose scale is negative the kernel's sign is turned around first (`layers.ConvBlock` does that).
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from djnet.normalisation import precise


def can_fuse(shape: tf.TensorShape, size: int, pool: int) -> bool:
    """Whether a [B, H, W, C] tensor of that shape can be treated: pooling must come out even, nothing may be padded."""
    return (
        shape.rank == 4
        and pool > 1
        and size == 3
        and all(length is not None and length % pool == 0 for length in shape[1:3])
    )


def convolve_then_pool(x: tf.Tensor, kernel: tf.Tensor, pool: int = 3) -> tf.Tensor:
    """Max pooling of a "same" convolution where no gradient is needed: -> [B, H / pool, W / pool, F].

    On one channel the convolution itself is small work that is badly spread: here one larger kernel, which sees all
    that a pooled value depends on, answers with the nine values to choose from.
    """
    if kernel.shape[2] > 1:
        return tf.nn.max_pool(tf.nn.conv2d(x, kernel, 1, "SAME"), pool, pool, "VALID")
    size = pool + 2
    shifted = [
        tf.pad(kernel, [[i, pool - 1 - i], [j, pool - 1 - j], [0, 0], [0, 0]]) for i in range(pool) for j in range(pool)
    ]
    large = tf.reshape(tf.stack(shifted, axis=3), [size, size, 1, -1])
    values = tf.nn.conv2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), large, pool, "VALID")
    height, width = int(x.shape[1]) // pool, int(x.shape[2]) // pool
    return tf.reduce_max(tf.reshape(values, [-1, height, width, pool * pool, int(kernel.shape[3])]), axis=3)


def convolve_and_pool(x: tf.Tensor, kernel: tf.Tensor, pool: int = 3) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Max pooling of a "same" convolution, and the sums of all its values and of their squares.

    [B, H, W, C], [3, 3, C, F] -> [B, H / pool, W / pool, F], [F], [F].
    """
    height, width = int(x.shape[1]), int(x.shape[2])
    phases = [(i, j) for i in range(pool) for j in range(pool)]
    strides = [1, pool, pool, 1]

    def seen(padded: tf.Tensor, i: int, j: int) -> tf.Tensor:
        """What the convolution of a phase sees: from its first place to the end of its last."""
        return padded[:, i : i + height - pool + 3, j : j + width - pool + 3]

    @tf.custom_gradient
    def run(x: tf.Tensor, kernel: tf.Tensor) -> tuple[Any, Callable[..., Any]]:
        padded = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
        values = [tf.nn.conv2d(seen(padded, i, j), kernel, strides, "VALID") for i, j in phases]
        highest = values[0]
        for value in values[1:]:
            highest = tf.maximum(highest, value)
        exact = [precise(value) for value in values]
        total = tf.add_n([tf.reduce_sum(value, [0, 1, 2]) for value in exact])
        squares = tf.add_n([tf.reduce_sum(tf.square(value), [0, 1, 2]) for value in exact])

        def gradient(d_highest: tf.Tensor, d_total: tf.Tensor, d_squares: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_kernels, d_padded = [], []
            for (i, j), value in zip(phases, values, strict=True):
                d_sums = d_total + (2.0 * d_squares) * precise(value)
                d_value = tf.where(tf.equal(value, highest), d_highest, 0.0) + tf.cast(d_sums, value.dtype)
                own = seen(padded, i, j)
                d_kernels.append(
                    tf.compat.v1.nn.conv2d_backprop_filter(own, tf.shape(kernel), d_value, strides, "VALID")
                )
                d_own = tf.compat.v1.nn.conv2d_backprop_input(tf.shape(own), kernel, d_value, strides, "VALID")
                d_padded.append(tf.pad(d_own, [[0, 0], [i, pool - 1 - i], [j, pool - 1 - j], [0, 0]]))
            return tf.add_n(d_padded)[:, 1 : 1 + height, 1 : 1 + width], tf.add_n(d_kernels)

        return (highest, total, squares), gradient

    return run(x, kernel)
