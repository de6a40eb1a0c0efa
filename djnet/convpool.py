"""Convolution and maximum pooling before normalisation and ReLU, which then have a ninth of the values to work on.

Batch normalisation needs the moments of all values, but can itself wait until after the pooling: it only shifts and
scales, and for a channel whose scale is negative the kernel's sign is turned around first (by `layers.ConvBlock`).
"""

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
    values = tf.nn.conv2d(x, kernel, 1, "SAME")
    exact = precise(values)
    sums = tf.reduce_sum(exact, [0, 1, 2]), tf.reduce_sum(tf.square(exact), [0, 1, 2])
    return tf.nn.max_pool(values, pool, pool, "VALID"), *sums
