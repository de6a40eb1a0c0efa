import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.networks.layers import (
    Classifier,
    ConvBlock,
    CosineSimilarity,
    JoinWindow,
    MaskedBatchNorm,
    StatisticsPooling,
)


def _random(*shape: int, seed: int = 0) -> tf.Tensor:
    return tf.constant(np.random.default_rng(seed).standard_normal(shape), tf.float32)


def _mask(lengths: list[int], size: int) -> tf.Tensor:
    return tf.cast(tf.range(size) < tf.constant(lengths)[:, None], tf.float32)


def test_cosine_similarity_is_in_range_and_survives_zeros():
    a, b = _random(2, 5, 7), _random(2, 4, 7, seed=1)
    a = tf.concat([a, tf.zeros([2, 1, 7])], axis=1)
    found = CosineSimilarity()((a, b)).numpy()
    assert found.shape == (2, 6, 4) and np.isfinite(found).all()
    assert found.min() >= -1 and found.max() <= 1
    expected = np.einsum("bnc,bmc->bnm", a, b)[:, :5]
    expected /= np.linalg.norm(a, axis=-1)[:, :5, None] * np.linalg.norm(b, axis=-1)[:, None]
    assert np.abs(found[:, :5] - expected).max() < 1e-5
    after_relu = CosineSimilarity()((tf.nn.relu(a), tf.nn.relu(b))).numpy()
    assert after_relu.min() >= 0 and after_relu.max() <= 1 + 1e-6
    with tf.GradientTape() as tape:
        tape.watch(a)
        loss = tf.reduce_sum(CosineSimilarity()((a, b)))
    assert np.isfinite(tape.gradient(loss, a)).all()


def test_the_inner_product_leaves_the_norms_out():
    a, b = _random(1, 3, 4), _random(1, 2, 4, seed=1)
    assert np.allclose(CosineSimilarity(inner_product=True)((a, b)), np.einsum("bnc,bmc->bnm", a, b), atol=1e-5)


def test_batch_norm_is_keras_own_where_nothing_is_padded():
    x = 3 * _random(6, 5, 4) + 1
    ours, theirs = MaskedBatchNorm(), keras.layers.BatchNormalization()
    assert np.abs(ours(x, training=True) - theirs(x, training=True)).max() < 1e-5
    assert np.abs(ours.mean - theirs.moving_mean).max() < 1e-6
    assert np.abs(ours.variance - theirs.moving_variance).max() < 1e-6
    assert np.abs(ours(x) - theirs(x)).max() < 1e-5


def test_batch_norm_sees_no_padding():
    x, mask = _random(3, 8, 4), _mask([8, 3, 5], 8)
    masked, plain = MaskedBatchNorm(), MaskedBatchNorm()
    found = masked(x, valid=mask, training=True)
    rows = tf.boolean_mask(x, mask > 0)
    assert np.abs(tf.boolean_mask(found, mask > 0) - plain(rows, training=True)).max() < 1e-5
    assert np.allclose(masked.mean, plain.mean, atol=1e-6) and np.allclose(masked.variance, plain.variance, atol=1e-6)


@given(
    length=st.integers(1, 40),
    extra=st.integers(1, 20),
    stride=st.sampled_from([1, 2]),
    pool=st.sampled_from([1, 3]),
    edges=st.sampled_from(["zeros", "repeated"]),
)
@settings(max_examples=25, deadline=None)
def test_a_block_gives_the_same_alone_and_in_a_padded_batch(length, extra, stride, pool, edges):
    block = ConvBlock(1, 5, 4, stride=stride, pool=pool, edges=edges)
    x = _random(1, length, 3)
    alone, _ = block(x)
    masked, _ = block(x, tf.ones([1, length]))
    assert np.abs(masked - alone).max() < 1e-5
    padded, valid = block(tf.pad(x, [[0, 0], [0, extra], [0, 0]]), _mask([length], length + extra))
    size = alone.shape[1]
    assert size == math.ceil(math.ceil(length / stride) / pool)
    assert np.array_equal(valid[0].numpy(), np.arange(valid.shape[1]) < size)
    assert np.abs(padded[:, :size] - alone).max() < 1e-5
    assert not np.any(padded[:, size:])


def test_with_repeated_edges_a_sound_that_does_not_change_is_the_same_in_every_frame():
    steady = tf.repeat(_random(2, 1, 3), 9, axis=1)
    repeated, zeros = (ConvBlock(1, 5, 4, edges=edges)(steady)[0].numpy() for edges in ("repeated", "zeros"))
    assert np.ptp(repeated, axis=1).max() < 1e-6 < 1e-2 < np.ptp(zeros, axis=1).max()
    with pytest.raises(ValueError, match="over time only; got 'repeated', rank 2"):
        ConvBlock(2, 5, 3, edges="repeated")


@pytest.mark.parametrize("size", [3, 4])
def test_a_frame_is_computed_from_the_same_frames_with_any_stride_and_edges(size):
    """Kernels of an even size reach one frame further to the right, as TensorFlow's do."""
    x = _random(1, 12, 3)
    plain = ConvBlock(1, 5, size)
    expected = plain(x)[0].numpy()
    for options in ({"stride": 2}, {"edges": "repeated"}):
        other = ConvBlock(1, 5, size, **options)
        other.build(x.shape)
        other.set_weights(plain.get_weights())
        step = int(options.get("stride", 1))
        inside = slice(2 // step, -2 // step)
        assert np.abs(other(x)[0][:, inside] - expected[:, ::step][:, inside]).max() < 1e-5


def test_statistics_pooling():
    x, mask = tf.nn.relu(_random(2, 7, 3)), _mask([7, 4], 7)
    x *= mask[..., None]
    found = StatisticsPooling()(x, mask).numpy()
    for row, length in enumerate([7, 4]):
        own = x[row, :length].numpy()
        expected = np.concatenate([own.mean(0), own.max(0), np.sqrt(own.var(0) + 1e-6)])
        assert np.abs(found[row] - expected).max() < 1e-5
    assert np.allclose(StatisticsPooling()(x[:1]), found[:1], atol=1e-5)
    assert StatisticsPooling(("max",))(x).shape == (2, 3)
    assert np.allclose(StatisticsPooling(("std",), variance=True)(x[:1])[0], x[0].numpy().var(0), atol=1e-5)
    with pytest.raises(ValueError, match="Pooling knows mean, max, std"):
        StatisticsPooling(("median",))


def test_a_dead_channel_has_a_finite_gradient():
    x = tf.Variable(tf.zeros([2, 5, 3]))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(StatisticsPooling()(x))
    assert np.isfinite(tape.gradient(loss, x)).all()


@pytest.mark.parametrize("side", ["end", "beginning"])
def test_the_window_at_the_join(side):
    x = np.zeros((2, 6, 2), np.float32)
    x[0, :6] = np.arange(1, 13).reshape(6, 2)
    x[1, :2] = [[1, 2], [3, 4]]
    window, mask = (t.numpy() for t in JoinWindow(side, 3)(x))
    assert np.array_equal(window[0], x[0, 3:] if side == "end" else x[0, :3])
    assert np.array_equal(window[1], [[1, 2], [3, 4], [0, 0]])
    assert np.array_equal(mask, [[1, 1, 1], [1, 1, 0]])
    whole, mask = JoinWindow(side)(x)
    assert np.array_equal(whole, x) and np.array_equal(mask, [[1] * 6, [1, 1, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match="end or the beginning"):
        JoinWindow("middle")


@pytest.mark.parametrize(
    "layer",
    [
        JoinWindow("end", 9),
        MaskedBatchNorm(0.9, 1e-4),
        ConvBlock(2, 4, 3, pool=3, batch_norm=False),
        ConvBlock(1, 4, 3, edges="repeated"),
        CosineSimilarity(True),
        StatisticsPooling(("max", "std"), True),
        Classifier(3, (8,), 0.25, False),
    ],
)
def test_a_layer_survives_its_config(layer):
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
