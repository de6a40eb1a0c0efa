"""The layers of the networks. Fragments have any length, batches are padded, and padding never changes a result.

A sequence travels with its mask `valid`, float [B, T], 1 for a frame and 0 for padding, or None where nothing is padded
(which is faster). Every layer leaves zeros in padded places, which is what a convolution sees beyond the end, unless it
is told to see the first and the last frame again and again (`edges`).
"""

from typing import Any

import keras
import tensorflow as tf

from djnet.cuts import join_windows
from djnet.networks.batch_norm import MaskedBatchNorm
from djnet.networks.config import EDGES, POOL_EDGES, POOLINGS

EPSILON = 1e-6


@keras.saving.register_keras_serializable("djnet")
class JoinWindow(keras.layers.Layer):
    """The end or the beginning of fragments, where they would be joined: [B, T, M] -> [B, W, M], [B, W].

    A frame of zeros is padding: normalised music never has a frame that is zero in every bin. With `frames` 0 the whole
    fragment is kept. A fragment shorter than the window is kept whole and padded.
    """

    def __init__(self, side: str, frames: int = 0, **options: Any):
        if side not in ("end", "beginning"):
            raise ValueError(f"A window lies at the end or the beginning of a fragment, not at {side!r}.")
        super().__init__(**options)
        self.side, self.frames = side, frames

    def call(self, fragments: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Cut the window out."""
        valid = tf.cast(tf.reduce_any(tf.not_equal(fragments, 0), axis=-1), fragments.dtype)
        if not self.frames:
            return fragments, valid
        lengths = tf.cast(tf.reduce_sum(valid, axis=1), tf.int32)
        end, beginning = join_windows(tf.zeros_like(lengths), lengths, self.frames, tf.maximum)
        first = end if self.side == "end" else beginning
        places = first[:, None] + tf.range(self.frames)
        valid = tf.cast(places < lengths[:, None], fragments.dtype)
        window = tf.gather(fragments, tf.minimum(places, tf.shape(fragments)[1] - 1), batch_dims=1)
        return window * valid[..., None], valid

    def get_config(self) -> dict[str, Any]:
        """Every argument."""
        return super().get_config() | {"side": self.side, "frames": self.frames}


@keras.saving.register_keras_serializable("djnet")
class ConvBlock(keras.layers.Layer):
    """Convolution, batch normalisation, ReLU and, if asked for, maximum pooling, over time or over a matrix.

    `rank` 1: [B, T, C] -> [B, T', F]; `rank` 2: [B, T, U, C] -> [B, T', U', F], with `filters` of a `size` along each
    axis. Convolutions keep the size ("same"), `stride` and `pool` divide it, rounded up; both count from the first
    frame, so that padding does not move them. Without `batch_norm` there is a bias.
    `edges` says what a convolution over time sees beyond a sequence: zeros, or its first and last frame repeated. With
    `pool_edges` "both", blocks that are pooled reach beyond both ends, as far as those of TensorFlow's "SAME" do.
    """

    def __init__(
        self,
        rank: int,
        filters: int,
        size: int,
        stride: int = 1,
        pool: int = 1,
        batch_norm: bool = True,
        edges: str = "zeros",
        pool_edges: str = "end",
        **options: Any,
    ):
        if pool_edges not in POOL_EDGES:
            raise ValueError(f"Blocks that are pooled reach beyond the {' or '.join(POOL_EDGES)}, not {pool_edges!r}.")
        if edges not in EDGES or (edges == "repeated" and rank > 1):
            raise ValueError(f"Edges are {' or '.join(EDGES)}, the latter over time only; got {edges!r}, rank {rank}.")
        super().__init__(**options)
        self.rank, self.filters, self.size, self.stride = rank, filters, size, stride
        self.pool, self.batch_norm, self.edges, self.pool_edges = pool, batch_norm, edges, pool_edges

    def build(self, shape: tuple[int | None, ...]) -> None:
        """The kernel; a bias only where no normalisation follows."""
        kernel = (*(self.size,) * self.rank, shape[-1], self.filters)
        self.kernel = self.add_weight(shape=kernel, initializer="he_uniform", name="kernel")
        if self.batch_norm:
            self.normalise = MaskedBatchNorm(name="norm")
            self.normalise.build((*shape[:-1], self.filters))
        else:
            self.bias = self.add_weight(shape=(self.filters,), initializer="zeros", name="bias")

    def call(self, x: tf.Tensor, valid: tf.Tensor | None = None, training: bool = False) -> tuple[tf.Tensor, Any]:
        """One block: -> values, mask."""
        kernel, bias = tf.convert_to_tensor(self.kernel), None
        if not self.batch_norm:
            bias = tf.convert_to_tensor(self.bias)
        elif not training:  # fixed statistics: the normalisation becomes part of the convolution
            scale, bias = self.normalise.affine(self.normalise.mean, self.normalise.variance)
            kernel *= tf.cast(scale, kernel.dtype)
        x, valid = self._convolve(x, tf.cast(kernel, x.dtype), valid)
        normal = self.normalise(x, valid=valid, training=True) if bias is None else x + tf.cast(bias, x.dtype)
        x = tf.nn.relu(normal)
        if valid is not None:
            x *= valid[..., None]
        if self.pool > 1:
            if self.pool_edges == "both":
                x, valid = pad_blocks(x, valid, self.pool, self.rank)
            x = pool_max(x, self.pool, self.rank)
            valid = None if valid is None else pool_max(valid[..., None], self.pool, self.rank)[..., 0]
        return x, valid

    def _convolve(self, x: tf.Tensor, kernel: tf.Tensor, valid: tf.Tensor | None) -> tuple[tf.Tensor, Any]:
        if self.stride == 1 and self.edges == "zeros":
            return tf.nn.convolution(x, kernel, padding="SAME"), valid
        # Explicit padding: "same" with a stride would put the windows where the padded length wants them.
        before = (self.size - 1) // 2
        after = self.size - 1 - before
        if self.edges == "repeated":
            x = repeat_edges(x, valid, before, after)
        else:
            x = tf.pad(x, [[0, 0], *[[before, after]] * self.rank, [0, 0]])
        x = tf.nn.convolution(x, kernel, strides=self.stride, padding="VALID")
        return x, None if valid is None else valid[:, :: self.stride]

    def get_config(self) -> dict[str, Any]:
        """Every argument."""
        names = ("rank", "filters", "size", "stride", "pool", "batch_norm", "edges", "pool_edges")
        return super().get_config() | {name: getattr(self, name) for name in names}


def repeat_edges(x: tf.Tensor, valid: tf.Tensor | None, before: int, after: int) -> tf.Tensor:
    """Sequences that go on with their first and last frame: [B, T, C] -> [B, before + T + after, C]."""
    if valid is None:
        return tf.concat([*[x[:, :1]] * before, x, *[x[:, -1:]] * after], axis=1)
    last = tf.maximum(tf.cast(tf.reduce_sum(valid, axis=1), tf.int32) - 1, 0)[:, None]
    places = tf.maximum(tf.range(-before, tf.shape(x)[1] + after), 0)[None]
    return tf.gather(x, tf.minimum(places, last), batch_dims=1)


def pad_blocks(x: tf.Tensor, valid: tf.Tensor | None, size: int, rank: int) -> tuple[tf.Tensor, Any]:
    """Values and mask with zeros before them: half of the places, rounded down, that their last block lacks."""
    values, mask = x, None if valid is None else valid[..., None]
    for axis in range(1, 1 + rank):
        length = tf.shape(x)[axis]
        if valid is None:
            values = tf.pad(values, [[(-length % size) // 2 if i == axis else 0, 0] for i in range(rank + 2)])
            continue
        lengths = tf.reduce_max(tf.cast(tf.reduce_sum(valid, axis), tf.int32), axis=list(range(1, rank)))
        # Sequences of one batch have different lengths, so they move by different numbers of places.
        most = (size - 1) // 2
        places = most + tf.range(-(-length // size) * size)[None] - ((-lengths % size) // 2)[:, None]
        room = [[most, size] if i == axis else [0, 0] for i in range(rank + 2)]
        values, mask = (tf.gather(tf.pad(y, room), places, axis=axis, batch_dims=1) for y in (values, mask))
    return values, None if mask is None else mask[..., 0]


def pool_max(x: tf.Tensor, size: int, rank: int) -> tf.Tensor:
    """Maximum of blocks that begin at the first frame, for values of 0 or more: sizes divided, rounded up."""
    missing = [(-tf.shape(x)[axis]) % size for axis in range(1, 1 + rank)]
    static = [x.shape[axis] for axis in range(1, 1 + rank)]
    if any(length is None or length % size for length in static):
        x = tf.pad(x, [[0, 0], *[[0, more] for more in missing], [0, 0]])
    return tf.nn.max_pool(x, size, size, "VALID")


@keras.saving.register_keras_serializable("djnet")
class CosineSimilarity(keras.layers.Layer):
    """Similarity of every frame of one sequence with every frame of another: [B, N, C], [B, M, C] -> [B, N, M].

    The paper's equation 2 with plain norms, as its text says: values lie in [-1, 1], and in [0, 1] for features that
    went through a ReLU. An epsilon keeps frames of zeros from becoming NaN. `inner_product` leaves the norms out.
    """

    def __init__(self, inner_product: bool = False, **options: Any):
        super().__init__(**options)
        self.inner_product = inner_product

    def call(self, pair: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """The similarity matrix."""
        first, second = pair if self.inner_product else map(unit_length, pair)
        return tf.matmul(first, second, transpose_b=True)

    def get_config(self) -> dict[str, Any]:
        """Every argument."""
        return super().get_config() | {"inner_product": self.inner_product}


def unit_length(frames: tf.Tensor) -> tf.Tensor:
    """Frames divided by their norms: [..., C] -> [..., C]."""
    return frames * tf.math.rsqrt(tf.reduce_sum(tf.square(frames), axis=-1, keepdims=True) + EPSILON)


def nearness(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """1 for frames that are the same, toward 0 the farther they are: [B, N, C], [B, M, C] -> [B, N, M].

    In units of the mean distance of a normalised bin, so that it is about 0.4 for frames of unrelated music.
    """
    squares = [tf.reduce_mean(tf.square(x), axis=-1) for x in (first, second)]
    product = tf.matmul(first, second, transpose_b=True) / tf.cast(tf.shape(first)[-1], first.dtype)
    return tf.exp(-0.5 * tf.maximum(squares[0][:, :, None] + squares[1][:, None, :] - 2.0 * product, 0.0))


@keras.saving.register_keras_serializable("djnet")
class StatisticsPooling(keras.layers.Layer):
    """Mean, maximum and standard deviation of every channel over all places but padding: [B, ..., C] -> [B, 3 C].

    For values of 0 or more. The root has an epsilon inside: its slope is infinite where a channel is constant.
    """

    def __init__(self, kinds: tuple[str, ...] = POOLINGS, variance: bool = False, **options: Any):
        if not kinds or set(kinds) - set(POOLINGS):
            raise ValueError(f"Pooling knows {', '.join(POOLINGS)}, not {kinds!r}.")
        super().__init__(**options)
        self.kinds, self.variance = tuple(kinds), variance

    def call(self, x: tf.Tensor, valid: tf.Tensor | None = None) -> tf.Tensor:
        """Pool everything but the batch and the channels; masked places must hold zeros."""
        axes = list(range(1, x.shape.rank - 1))
        if valid is None:
            count = tf.cast(tf.reduce_prod(tf.shape(x)[1:-1]), x.dtype)
            weights = tf.ones([], x.dtype)
        else:
            count = tf.maximum(tf.reduce_sum(valid, axis=axes), 1.0)[:, None]
            weights = valid[..., None]
        mean = tf.reduce_sum(x, axes) / count
        found = []
        for kind in self.kinds:
            if kind == "mean":
                found.append(mean)
            elif kind == "max":
                found.append(tf.reduce_max(x, axes))
            else:
                centre = tf.reshape(mean, [-1, *[1] * len(axes), x.shape[-1]])
                variance = tf.reduce_sum(tf.square(x - centre) * weights, axes) / count
                found.append(variance if self.variance else tf.sqrt(variance + EPSILON))
        return tf.concat(found, axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Every argument."""
        return super().get_config() | {"kinds": list(self.kinds), "variance": self.variance}


@keras.saving.register_keras_serializable("djnet")
class Classifier(keras.layers.Layer):
    """Dense layers with ReLU, and logits: [B, C] -> [B, classes].

    Dropout stands before every dense layer and batch normalisation after each, also after the logits, as in the
    authors' release.
    """

    def __init__(
        self,
        classes: int,
        widths: tuple[int, ...] = (1024, 1024),
        dropout: float = 0.5,
        batch_norm: bool = True,
        **options: Any,
    ):
        super().__init__(**options)
        self.classes, self.widths, self.dropout, self.batch_norm = classes, tuple(widths), dropout, batch_norm

    def build(self, shape: tuple[int | None, ...]) -> None:
        """One dense layer a width, and the logits."""
        self.steps = []
        for i, width in enumerate((*self.widths, self.classes)):
            drop = keras.layers.Dropout(self.dropout, seed=i, name=f"drop{i}")
            dense = keras.layers.Dense(
                width, use_bias=not self.batch_norm, kernel_initializer="he_uniform", name=f"dense{i}"
            )
            dense.build(shape)
            norm = MaskedBatchNorm(name=f"norm{i}") if self.batch_norm else None
            shape = (shape[0], width)
            if norm is not None:
                norm.build(shape)
            self.steps.append((drop, dense, norm))
        # Keras follows attributes that are lists of layers.
        self.layers = [layer for step in self.steps for layer in step if layer is not None]

    def embed(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        """The last hidden layer: [B, C] -> [B, width], the paper's embedding of a pair."""
        for step in self.steps[:-1]:
            x = tf.nn.relu(self._step(step, x, training))
        return x

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Logits."""
        return self._step(self.steps[-1], self.embed(x, training), training)

    def _step(self, step: tuple, x: tf.Tensor, training: bool) -> tf.Tensor:
        drop, dense, norm = step
        x = dense(drop(x, training=training))
        return x if norm is None else norm(x, training=training)

    def get_config(self) -> dict[str, Any]:
        """Every argument."""
        own = {"widths": list(self.widths), "dropout": self.dropout, "batch_norm": self.batch_norm}
        return super().get_config() | {"classes": self.classes} | own
