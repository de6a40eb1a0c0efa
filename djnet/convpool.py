"""Convolution and maximum pooling before normalisation and ReLU, which then have a ninth of the values to work on.

Batch normalisation needs the moments of all values, but can itself wait until after the pooling: it only shifts and
scales, and for a channel whose scale is negative the kernel's sign is turned around first (by `layers.ConvBlock`).
The gradient is written out: TensorFlow's own of the pooling, and of a convolution's input on few channels, take several
times as long on a CPU.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from djnet.normalisation import precise

_FEW_CHANNELS = 2


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
    height, width, channels = x.shape[1:]
    filters = int(kernel.shape[3])

    @tf.custom_gradient
    def run(x: tf.Tensor, kernel: tf.Tensor) -> tuple[Any, Callable[..., Any]]:
        values = tf.nn.conv2d(x, kernel, 1, "SAME")
        highest = tf.nn.max_pool(values, pool, pool, "VALID")
        exact = precise(values)
        sums = tf.reduce_sum(exact, [0, 1, 2]), tf.reduce_sum(tf.square(exact), [0, 1, 2])

        def gradient(d_highest: tf.Tensor, d_total: tf.Tensor, d_squares: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            blocks = tf.reshape(values, [-1, height // pool, pool, width // pool, pool, filters])
            is_highest = tf.equal(blocks, highest[:, :, None, :, None])
            d_values = tf.reshape(tf.where(is_highest, d_highest[:, :, None, :, None], 0.0), tf.shape(values))
            d_values += tf.cast(d_total + (2.0 * d_squares) * exact, values.dtype)
            d_kernel = tf.compat.v1.nn.conv2d_backprop_filter(x, tf.shape(kernel), d_values, [1, 1, 1, 1], "SAME")
            if channels <= _FEW_CHANNELS:
                return _back(d_values, kernel), d_kernel
            d_x = tf.compat.v1.nn.conv2d_backprop_input(tf.shape(x), kernel, d_values, [1, 1, 1, 1], "SAME")
            return d_x, d_kernel

        return (highest, *sums), gradient

    return run(x, kernel)


def _back(d_values: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """The gradient of what a "same" convolution on few channels sees: [B, H, W, F], [3, 3, C, F] -> [B, H, W, C]."""
    height, width, filters = d_values.shape[1:]
    flat = tf.reshape(d_values, [-1, filters])
    sent = tf.matmul(tf.reshape(kernel, [-1, filters]), flat, transpose_b=True)
    sent = tf.reshape(sent, [3, 3, kernel.shape[2], -1, height, width])
    moved = [
        tf.pad(sent[i, j], [[0, 0], [0, 0], [i, 2 - i], [j, 2 - j]])  # to the place that this weight has seen
        for i in range(3)
        for j in range(3)
    ]
    return tf.transpose(tf.add_n(moved)[:, :, 1 : 1 + height, 1 : 1 + width], [1, 2, 3, 0])
