"""Convolution and maximum pooling before normalisation and ReLU, which then have a ninth of the values to work on.

Batch normalisation needs the moments of all values, but can itself wait until after the pooling: it only shifts and
scales, and for a channel whose scale is negative the kernel's sign is turned around first (by `layers.ConvBlock`).
The gradient is written out: TensorFlow's own of the pooling takes several times as long on a CPU.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from djnet.networks.batch_norm import precise

_FEW_CHANNELS = 2
_AROUND = [[0, 0], [1, 1], [1, 1], [0, 0]]  # what "same" adds around a matrix


def can_fuse(shape: tf.TensorShape, size: int, pool: int) -> bool:
    """Whether a [B, H, W, C] tensor of that shape can be treated: pooling must come out even, nothing may be padded."""
    return (
        shape.rank == 4
        and pool > 1
        and size == 3
        and all(length is not None and length % pool == 0 for length in shape[1:3])
    )


def convolve_then_pool(x: tf.Tensor, kernel: tf.Tensor, pool: int = 3) -> tf.Tensor:
    """Max pooling of a "same" convolution where no gradient is needed: -> [B, H / pool, W / pool, F]."""
    if kernel.shape[2] > _FEW_CHANNELS:
        return tf.nn.max_pool(tf.nn.conv2d(x, kernel, 1, "SAME"), pool, pool, "VALID")
    large = _large_kernel(kernel, pool)
    values = tf.nn.conv2d(tf.pad(x, _AROUND), large, pool, "VALID")
    height, width = int(x.shape[1]) // pool, int(x.shape[2]) // pool
    return tf.reduce_max(tf.reshape(values, [-1, height, width, pool * pool, int(kernel.shape[3])]), axis=3)


def convolve_and_pool(x: tf.Tensor, kernel: tf.Tensor, pool: int = 3) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Max pooling of a "same" convolution, and the sums of all its values and of their squares.

    [B, H, W, C], [3, 3, C, F] -> [B, H / pool, W / pool, F], [F], [F].
    """
    return (_on_few_channels if kernel.shape[2] <= _FEW_CHANNELS else _on_channels)(x, kernel, pool)


def _on_channels(x: tf.Tensor, kernel: tf.Tensor, pool: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    height, width = x.shape[1:3]
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
            d_x = tf.compat.v1.nn.conv2d_backprop_input(tf.shape(x), kernel, d_values, [1, 1, 1, 1], "SAME")
            d_kernel = tf.compat.v1.nn.conv2d_backprop_filter(x, tf.shape(kernel), d_values, [1, 1, 1, 1], "SAME")
            return d_x, d_kernel

        return (highest, *sums), gradient

    return run(x, kernel)


def _on_few_channels(x: tf.Tensor, kernel: tf.Tensor, pool: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The same where the input is far smaller than the output: what can be said of the input is said of it.

    A tile is all that a pooled value depends on, so the values to choose from are one product of tiles and a large
    kernel; their moments follow from those of the tiles, which are a tenth of the numbers.
    """
    height, width, channels = x.shape[1:]
    filters, size = int(kernel.shape[3]), pool + 2
    one_each = tf.reshape(tf.eye(size * size * channels, dtype=x.dtype), [size, size, channels, -1])
    tiles = tf.reshape(tf.nn.conv2d(tf.pad(x, _AROUND), one_each, pool, "VALID"), [-1, size * size * channels])
    large = tf.reshape(_large_kernel(kernel, pool), [size * size * channels, -1])
    highest = tf.reshape(_highest(tiles, large, filters), [-1, height // pool, width // pool, filters])

    tiles, large = precise(tiles), precise(large)
    count = tf.cast(tf.shape(tiles)[0], tiles.dtype)
    centre = tf.reduce_mean(tiles, 0, keepdims=True)
    apart = tiles - centre
    means = tf.matmul(centre, large)
    spread = tf.reduce_sum(large * tf.matmul(tf.matmul(apart, apart, transpose_a=True), large), 0)
    total, squares = count * means, spread + count * tf.square(means)
    return highest, *(tf.reduce_sum(tf.reshape(sums, [-1, filters]), 0) for sums in (total, squares))


def _large_kernel(kernel: tf.Tensor, pool: int) -> tf.Tensor:
    """A kernel that answers with all values of a pool: [3, 3, C, F] -> [pool + 2, pool + 2, C, pool * pool * F]."""
    shifted = [
        tf.pad(kernel, [[i, pool - 1 - i], [j, pool - 1 - j], [0, 0], [0, 0]]) for i in range(pool) for j in range(pool)
    ]
    return tf.reshape(tf.stack(shifted, axis=3), [pool + 2, pool + 2, kernel.shape[2], -1])


def _highest(tiles: tf.Tensor, large: tf.Tensor, filters: int) -> tf.Tensor:
    """The highest value of every tile: [M, S], [S, P * F] -> [M, F]."""

    @tf.custom_gradient
    def run(tiles: tf.Tensor, large: tf.Tensor) -> tuple[tf.Tensor, Callable[..., Any]]:
        values = tf.matmul(tiles, large)
        blocks = tf.reshape(values, [-1, large.shape[1] // filters, filters])
        highest = tf.reduce_max(blocks, 1)

        def gradient(d_highest: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_blocks = tf.where(tf.equal(blocks, highest[:, None]), d_highest[:, None], 0.0)
            d_values = tf.reshape(d_blocks, tf.shape(values))
            return tf.matmul(d_values, large, transpose_b=True), tf.matmul(tiles, d_values, transpose_a=True)

        return highest, gradient

    return run(tiles, large)
