"""SEN and its five baselines, as Keras functional models built from a shared tower.

Every network has two parts. The *embedding* looks at one fragment (or at its window at the join), the *comparison* at
the embeddings of the fragments of one question: "does b follow a?" for a pair, "are these three in order?" for TSN,
"in which order are these three?" for OPN. A fragment is embedded once however many questions it is part of:
`model.get_layer("embedding")` and `model.get_layer("comparison")` are the layers that the plain model runs through.

Where the paper is silent or differs from its authors' release (see `networks/config.py`), the presets take the
paper's value, but for BatchNorm and dropout, which only the release describes.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import keras
import tensorflow as tf

from djnet import constants
from djnet.networks import inference
from djnet.networks.config import NetworkConfig, config_for
from djnet.networks.layers import Classifier, ConvBlock, CosineSimilarity, JoinWindow, StatisticsPooling, nearness
from djnet.pairs import ORDERS

# Where a piece of a question lies: which side of which fragment is looked at.
Piece = tuple[str, int]
PAIR: tuple[Piece, ...] = (("end", 0), ("beginning", 1))
TRIPLET: tuple[Piece, ...] = (("end", 0), ("beginning", 1), ("end", 1), ("beginning", 2))


class _ConfiguredLayer(keras.layers.Layer):
    """A layer that is described by a network's configuration (`design` in saved files)."""

    def __init__(self, design: NetworkConfig | dict[str, Any], **options: Any):
        super().__init__(**options)
        self.config = NetworkConfig.from_json(design) if isinstance(design, dict) else design

    def get_config(self) -> dict[str, Any]:
        """Every argument."""
        return super().get_config() | {"design": asdict(self.config)}


@keras.saving.register_keras_serializable("djnet")
class FrameEmbedding(_ConfiguredLayer):
    """The Siamese tower: 1D convolutions over time without pooling, [B, T, 128] -> [B, T, C] (SEN and CCSN)."""

    @property
    def edges(self) -> str:
        """What is seen beyond the fragment."""
        return self.config.edges

    def build(self, shape: tuple[int | None, ...], *_: Any) -> None:
        """One block a convolution."""
        c = self.config
        self.blocks = [
            ConvBlock(
                1, filters, c.tower_size, stride=c.stride, batch_norm=c.batch_norm, edges=self.edges, name=f"conv{i}"
            )
            for i, filters in enumerate(c.tower, 1)
        ]
        for block in self.blocks:
            block.build(shape)
            shape = (*shape[:-1], block.filters)

    def call(self, x: tf.Tensor, valid: tf.Tensor | None = None, training: bool = False) -> tuple[tf.Tensor, Any]:
        """-> frames, mask."""
        frames = x
        for block in self.blocks:
            x, valid = block(x, valid, training=training)
        return tf.concat([x, frames], axis=-1) if self.config.two_matrices else x, valid


@keras.saving.register_keras_serializable("djnet")
class VectorEmbedding(FrameEmbedding):
    """The tower and global pooling: [B, T, 128] -> [B, 3 C] (SN, TSN, OPN).

    The paper has no global pooling in TSN and OPN; flattened frames of 8 s would need 180 million weights a fragment.
    Beyond the ends always come zeros: once all frames are pooled, nothing else tells which of them was at the join.
    """

    edges = "zeros"

    def build(self, shape: tuple[int | None, ...], *_: Any) -> None:
        """The tower and the pooling."""
        super().build(shape)
        self.pooling = StatisticsPooling(self.config.pooling, self.config.variance, name="pooling")

    def call(self, x: tf.Tensor, valid: tf.Tensor | None = None, training: bool = False) -> tuple[tf.Tensor, Any]:
        """-> vector, mask of the frames it stands for."""
        return self.pooling(*super().call(x, valid, training)), valid


@keras.saving.register_keras_serializable("djnet")
class NoEmbedding(_ConfiguredLayer):
    """Fragments as they are, for CIN."""

    def call(self, x: tf.Tensor, valid: tf.Tensor | None = None, training: bool = False) -> tuple[tf.Tensor, Any]:
        """-> frames, mask."""
        return x, valid


class _Comparison(_ConfiguredLayer):
    """Embeddings of the pieces of a question -> logits; `features` is all that the kinds differ in."""

    classes = 2

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What of the fragments is looked at, in this order."""
        return PAIR

    def build(self, shapes: Any, *_: Any) -> None:
        self.build_features([tuple(shape) for shape in shapes])
        c = self.config
        self.classifier = Classifier(self.classes, c.dense, c.dropout, c.batch_norm, name="classifier")
        self.classifier.build((None, self.width))

    def build_features(self, shapes: list[tuple[int | None, ...]]) -> None:
        """Make the layers, and set `width`, the number of features."""
        self.width = sum(int(shape[-1] or 0) for shape in shapes)

    def features(self, xs: list[tf.Tensor], masks: list[Any], training: bool) -> tf.Tensor:
        """What the classifier sees: [B, width]."""
        return tf.concat(xs, axis=-1)

    def call(self, xs: list[tf.Tensor], masks: Any = None, training: bool = False) -> tf.Tensor:
        """-> logits [B, classes]."""
        return self.classifier(self.features(xs, masks or [None] * len(xs), training), training=training)

    def embed(self, xs: list[tf.Tensor], masks: Any = None) -> tf.Tensor:
        """The last hidden layer of the classifier: the paper's embedding of a question."""
        return self.classifier.embed(self.features(xs, masks or [None] * len(xs), False))

    def _convnet(self, rank: int, filters: Sequence[int], size: int, pools: Sequence[int], channels: int) -> None:
        """A stack of blocks with global pooling, on `channels` channels."""
        c = self.config
        self.blocks = [
            ConvBlock(rank, count, size, pool=pool, batch_norm=c.batch_norm, pool_edges=c.pool_edges, name=f"conv{i}")
            for i, (count, pool) in enumerate(zip(filters, pools, strict=True), 4)
        ]
        for block in self.blocks:
            block.build((None, *[None] * rank, channels))
            channels = block.filters
        self.pooling = StatisticsPooling(c.pooling, c.variance, name="pooling")
        self.width = channels * len(c.pooling)

    def _run_convnet(self, x: tf.Tensor, valid: Any, training: bool) -> tf.Tensor:
        for block in self.blocks:
            x, valid = block(x, valid, training=training)
        return self.pooling(x, valid)

    def _pools(self) -> list[int]:
        c = self.config
        return [c.pool] * (len(c.convnet) - 1) + [c.pool if c.pool_last else 1]


@keras.saving.register_keras_serializable("djnet")
class SimilarityComparison(_Comparison):
    """SEN: a 2D ConvNet on the similarity matrix of the two fragments' frames (the paper's figure 4d).

    The variant `two_matrices` also sees how near the frames of the spectrograms are, which needs no learning.
    """

    def build_features(self, shapes: list[tuple[int | None, ...]]) -> None:
        """The similarity and the ConvNet."""
        c = self.config
        self.similarity = CosineSimilarity(c.similarity == "inner_product", name="similarity")
        self._convnet(2, c.convnet, c.convnet_size, self._pools(), 2 if c.two_matrices else 1)

    def features(self, xs: list[tf.Tensor], masks: list[Any], training: bool) -> tf.Tensor:
        """Pooled features of the similarity matrix, or of both."""
        mask = None if masks[0] is None else masks[0][:, :, None] * masks[1][:, None, :]
        if not self.config.two_matrices:
            return self._run_convnet(self.similarity(tuple(xs))[..., None], mask, training)
        width = self.config.tower[-1]
        near = nearness(*(x[..., width:] for x in xs))
        both = [self.similarity(tuple(x[..., :width] for x in xs)), near if mask is None else near * mask]
        return self._run_convnet(tf.stack(both, axis=-1), mask, training)


@keras.saving.register_keras_serializable("djnet")
class VectorComparison(_Comparison):
    """SN: both fragments' pooled features side by side, dense layers on top."""


@keras.saving.register_keras_serializable("djnet")
class TripletComparison(_Comparison):
    """TSN: SN with three fragments (Misra et al. 2016); "are they in order?"."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Both joins, or the three whole fragments."""
        return TRIPLET if self.config.window_frames else (("end", 0), ("end", 1), ("end", 2))


@keras.saving.register_keras_serializable("djnet")
class OrderComparison(_Comparison):
    """OPN: features of all pairs of the three fragments, a class for each of the six orders (Lee et al. 2017).

    Six and not three: unlike a video clip, music is not the same backwards.
    """

    classes = len(ORDERS)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Both sides of the fragment in the middle."""
        return TRIPLET

    def build_features(self, shapes: list[tuple[int | None, ...]]) -> None:
        """One dense layer that all pairs share."""
        self.pair = keras.layers.Dense(
            self.config.dense[0], activation="relu", kernel_initializer="he_uniform", name="pair"
        )
        self.pair.build((None, int(shapes[0][-1] or 0) + int(shapes[1][-1] or 0)))
        self.width = 3 * self.config.dense[0]

    def features(self, xs: list[tf.Tensor], masks: list[Any], training: bool) -> tf.Tensor:
        """Features of the pairs (1, 2), (1, 3) and (2, 3)."""
        end1, beginning2, end2, beginning3 = xs
        pairs = ((end1, beginning2), (end1, beginning3), (end2, beginning3))
        return tf.concat([self.pair(tf.concat(pair, axis=-1)) for pair in pairs], axis=-1)


@keras.saving.register_keras_serializable("djnet")
class InputComparison(_Comparison):
    """CIN: the fragments' spectrograms joined in time, one ConvNet with the tower's filters on the whole."""

    def build_features(self, shapes: list[tuple[int | None, ...]]) -> None:
        """The ConvNet."""
        c = self.config
        self._convnet(1, c.tower, c.tower_size, [1] * len(c.tower), int(shapes[0][-1] or 0))

    def features(self, xs: list[tf.Tensor], masks: list[Any], training: bool) -> tf.Tensor:
        """Pooled features of the joined spectrogram."""
        joined = tf.concat(xs, axis=1)
        if masks[0] is None:
            return self._run_convnet(joined, None, training)
        # Move the padding between the two behind the second: music follows music.
        mask = tf.concat(masks, axis=1)
        places = tf.argsort(mask, axis=1, direction="DESCENDING", stable=True)
        joined, mask = (tf.gather(x, places, batch_dims=1) for x in (joined, mask))
        return self._run_convnet(joined, mask, training)


@keras.saving.register_keras_serializable("djnet")
class DepthComparison(_Comparison):
    """CCSN: the towers' outputs joined in depth, a 1D ConvNet on top (Wang et al. 2016).

    Frames are joined one to one, so fragments of unequal length are cut to the shorter one's: the end of the first and
    the beginning of the second are kept, where the two would meet.
    """

    def build_features(self, shapes: list[tuple[int | None, ...]]) -> None:
        """The ConvNet."""
        c = self.config
        channels = sum(int(shape[-1] or 0) for shape in shapes)
        self._convnet(1, c.convnet, c.convnet_size, self._pools(), channels)

    def features(self, xs: list[tf.Tensor], masks: list[Any], training: bool) -> tf.Tensor:
        """Pooled features of the two, frame by frame."""
        first, second = xs
        if masks[0] is None:
            frames = min(first.shape[1] or 0, second.shape[1] or 0)
            return self._run_convnet(tf.concat([first[:, -frames:], second[:, :frames]], axis=-1), None, training)
        lengths = [tf.cast(tf.reduce_sum(mask, axis=1), tf.int32) for mask in masks]
        common = tf.minimum(*lengths)
        places = tf.range(tf.minimum(tf.shape(first)[1], tf.shape(second)[1]))[None]
        mask = tf.cast(places < common[:, None], first.dtype)
        shifted = tf.minimum(places + (lengths[0] - common)[:, None], tf.shape(first)[1] - 1)
        both = [tf.gather(first, shifted, batch_dims=1), second[:, : tf.shape(places)[1]]]
        return self._run_convnet(tf.concat(both, axis=-1) * mask[..., None], mask, training)


# All networks: what embeds a fragment, what compares fragments.
MODELS: dict[str, tuple[type[_ConfiguredLayer], type[_Comparison]]] = {
    "sen": (FrameEmbedding, SimilarityComparison),
    "sn": (VectorEmbedding, VectorComparison),
    "cin": (NoEmbedding, InputComparison),
    "ccsn": (FrameEmbedding, DepthComparison),
    "tsn": (VectorEmbedding, TripletComparison),
    "opn": (VectorEmbedding, OrderComparison),
}


def build(name: str, preset: str = "paper", **ablation: Any) -> keras.Model:
    """A network: [a, b] (for TSN and OPN [a, b, c]), each [B, T, 128], to probabilities.

    SEN, SN, CIN and CCSN answer with the probability that b follows a, TSN that a, b, c are in order: [B]. OPN answers
    with the probability of each of ORDERS: [B, 6]. Fragments are normalised frames, padded with frames of zeros.
    """
    if name not in MODELS:
        raise ValueError(f"Unknown model {name!r}; there are {', '.join(MODELS)}.")
    config = config_for(preset, **ablation)
    if config.two_matrices and name != "sen":
        raise ValueError(f"two_matrices is a variant of sen, not of {name}.")
    embedding_type, comparison_type = MODELS[name]
    embedding = embedding_type(config, name="embedding")
    comparison = comparison_type(config, name="comparison")
    windows = {side: JoinWindow(side, config.window_frames, name=side) for side in ("end", "beginning")}
    arity = 1 + max(position for _, position in comparison.pieces)
    inputs = [keras.Input((None, constants.MEL_BINS), name="abc"[i]) for i in range(arity)]
    xs, masks = [], []
    for side, position in comparison.pieces:
        x, mask = embedding(*windows[side](inputs[position]))
        xs.append(x)
        masks.append(mask)
    logits = comparison(xs, masks)
    probabilities = keras.layers.Softmax(name="softmax")(logits)
    if comparison.classes == 2:
        probabilities = Positive(name="positive")(probabilities)
    return keras.Model(inputs, probabilities, name=name)


def from_numpy(network: inference.Sen) -> keras.Model:
    """A Keras model with the layers of a SEN in NumPy, whose kernels contain the batch normalisation."""
    model = build("sen", **asdict(network.config) | {"batch_norm": False})
    embedding, comparison = model.get_layer("embedding"), model.get_layer("comparison")
    dense = [step[1] for step in comparison.classifier.steps]
    for layer, values in zip(
        (*embedding.blocks, *comparison.blocks, *dense), (*network.tower, *network.convnet, *network.dense), strict=True
    ):
        layer.kernel.assign(values[0])
        layer.bias.assign(values[1])
    return model


@keras.saving.register_keras_serializable("djnet")
class Positive(keras.layers.Layer):
    """The probability of yes: [B, 2] -> [B]."""

    def call(self, probabilities: tf.Tensor) -> tf.Tensor:
        """Class 1."""
        return probabilities[:, 1]
