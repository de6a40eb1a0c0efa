"""Training and scoring against the plain way: stock Keras layers, pair by pair."""

import tempfile
from collections import deque
from collections.abc import Iterator
from itertools import pairwise, permutations
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from benchmarks.measure import CACHE, Line, seconds
from djnet import constants, scoring
from djnet.corpora import synthetic
from djnet.dataset import Fragments
from djnet.networks.config import NetworkConfig
from djnet.networks.models import build
from djnet.ordering import best_order
from djnet.pairs import pairs_of, questions_for
from djnet.records import Clip, Manifest
from experiments.configs import Run
from experiments.trainer import Trainer, training_batches
from preprocessing.build import build as build_records
from preprocessing.clips import Settings

RUN = Run()
CLIPS = RUN.batch_clips
QUESTIONS = questions_for("sen", pairs_of(3))
PAIRS = CLIPS * len(QUESTIONS.answers)


def lines() -> Iterator[Line]:
    """Every measurement of training and scoring."""
    frames = _random_frames(CLIPS, 3)
    ours, theirs = _seconds_a_step(frames), _plain_seconds_a_step(frames)
    rates = f"{PAIRS / ours:.0f} against {PAIRS / theirs:.0f} pairs a second"
    yield Line("SEN training: times a plain Keras fit, pair by pair", theirs / ours, "x", "1.5 or more", rates)
    peak = _peak_flops()
    share = 100 * _step_flops() / ours / peak
    yield Line("the same: share of the machine's matrix-product peak", share, "%", "", f"{peak / 1e9:.0f} GFLOP/s")
    reading = _seconds_of_reading_a_step()
    times = f"{1e3 * reading:.1f} of {1e3 * ours:.0f} ms"
    yield Line("reading records: share of a training step", 100 * reading / ours, "%", "below 5", times)
    yield from _scoring(build("sen", "compact"))


def _random_frames(clips: int, n: int) -> np.ndarray:
    """Normalised frames at both ends of n fragments: float32 [clips, n, 2, window, 128]."""
    shape = clips, n, 2, RUN.network.window_frames, constants.MEL_BINS
    return np.random.default_rng(n).standard_normal(shape, np.float32)


def _batch(frames: np.ndarray) -> Fragments:
    return Fragments(tf.constant(frames), tf.fill(frames.shape[:2], 341))


def _seconds_a_step(frames: np.ndarray, steps: int = 8) -> float:
    trainer, batch = Trainer(RUN, pairs_of(3), 100), _batch(frames)

    def train(count: int) -> None:
        for step in range(count):
            trainer.step(batch, step)

    train(3)
    return seconds(train, steps, repeats=2) / steps


def plain_sen(network: NetworkConfig) -> keras.Model:
    """SEN as one would write it down first."""
    layers = keras.layers

    def activated(x):
        return layers.ReLU()(layers.BatchNormalization()(x))

    shape = (network.window_frames, constants.MEL_BINS)
    tower_in = x = keras.Input(shape)
    for filters in network.tower:
        x = activated(layers.Conv1D(filters, network.tower_size, padding="same", use_bias=False)(x))
    tower = keras.Model(tower_in, x)
    a, b = keras.Input(shape), keras.Input(shape)
    x = layers.Dot(axes=2, normalize=True)([tower(a), tower(b)])
    x = layers.Reshape((*x.shape[1:], 1))(x)
    for filters in network.convnet:
        x = activated(layers.Conv2D(filters, network.convnet_size, padding="same", use_bias=False)(x))
        x = layers.MaxPooling2D(network.pool, padding="same")(x)
    mean, high = layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x)
    spread = keras.ops.sqrt(keras.ops.var(x, axis=(1, 2)) + 1e-6)
    x = layers.Concatenate()([mean, high, spread])
    for width in network.dense:
        x = activated(layers.Dense(width, use_bias=False)(layers.Dropout(network.dropout)(x)))
    logits = layers.BatchNormalization()(layers.Dense(2, use_bias=False)(layers.Dropout(network.dropout)(x)))
    return keras.Model([a, b], logits)


def _plain_seconds_a_step(frames: np.ndarray, steps: int = 6) -> float:
    model = plain_sen(RUN.network)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), loss, metrics=["accuracy"])
    sides = [frames[:, of, i].reshape(PAIRS, *frames.shape[3:]) for i, of in enumerate(QUESTIONS.fragments.T)]
    pairs = tf.data.Dataset.from_tensors((tuple(sides), np.tile(QUESTIONS.answers, CLIPS))).repeat()
    model.fit(pairs, steps_per_epoch=2, verbose=0)
    return seconds(lambda: model.fit(pairs, steps_per_epoch=steps, verbose=0), repeats=2) / steps


def _step_flops() -> float:
    """Multiplications and additions of one step, forward and (twice as many) backward."""
    network, frames = RUN.network, RUN.network.window_frames
    channels = [constants.MEL_BINS, *network.tower]
    tower = sum(frames * network.tower_size * a * b for a, b in pairwise(channels))
    pair, size = frames**2 * channels[-1], frames
    for a, b in pairwise([1, *network.convnet]):
        pair += size**2 * network.convnet_size**2 * a * b
        size = -(-size // network.pool)
    pair += sum(a * b for a, b in pairwise([3 * network.convnet[-1], *network.dense, 2]))
    return 2 * 3 * (CLIPS * 6 * tower + PAIRS * pair)


def _peak_flops(size: int = 2048) -> float:
    a = tf.random.normal([size, size])
    tf.matmul(a, a)
    return 2 * size**3 / seconds(lambda: tf.matmul(a, a).numpy(), repeats=5)


class _Longer(Manifest):
    """Records that an epoch reads several times, as if there were as many as a real corpus has."""

    def read_clips(self, split: str) -> Iterator[Clip]:
        """The clips of a split, again and again."""
        return iter(4 * list(super().read_clips(split)))


def _seconds_of_reading_a_step() -> float:
    """The time of reading alone: what it adds to a step where the two do not overlap.

    Epochs with and without reading differ by less than two epochs of the same kind do, so they are not compared.
    """
    with tempfile.TemporaryDirectory() as folder:
        songs = synthetic.corpus(60, 0, CACHE)
        build_records(songs, Path(folder), Settings(downbeats=False), Path(folder))
        batches = training_batches(RUN, _Longer.read(folder), 0, full_batches=True)
        return seconds(deque, batches, 0, repeats=5) / sum(1 for _ in batches)


def _scoring(model: keras.Model) -> Iterator[Line]:
    """A puzzle against its pairs in one batch (Keras' predict, the network alone), a large one against pair by pair."""
    compiled = tf.function(model)
    (puzzle,) = frames = _random_frames(1, 8)
    first, second = np.array(list(permutations(range(8), 2))).T
    inputs = [puzzle[first, 0], puzzle[second, 1]]
    order = best_order(scoring.score_batch(model, _batch(frames))[0]).order
    fast = seconds(lambda: scoring.score_batch(model, _batch(frames)), repeats=30)
    for name, work, goal in (
        ("Keras' predict of 56 pairs in one batch", lambda: model.predict(inputs, 56, verbose=0), "3 or more"),
        ("the compiled network on 56 pairs", lambda: compiled(inputs).numpy(), ""),
    ):
        scores = np.zeros((8, 8), np.float32)
        scores[first, second] = work()
        same = "the same order" if best_order(scores).order == order else "ANOTHER ORDER"
        slow = seconds(work, repeats=30)
        times = f"{1e3 * fast:.0f} against {1e3 * slow:.0f} ms; {same}"
        yield Line(f"scoring a puzzle of 8: times {name}", slow / fast, "x", goal, times)

    (pool,) = frames = _random_frames(1, 50)
    pairs, asked = 50 * 49, 60

    def pair_by_pair() -> None:
        for i in range(asked):
            compiled([pool[i % 50, :1], pool[(i + 1) % 50, 1:]]).numpy()

    scoring.score_batch(model, _batch(frames))
    fast = seconds(lambda: scoring.score_batch(model, _batch(frames)), repeats=2)
    slow = seconds(pair_by_pair, repeats=2) * pairs / asked
    times = f"{pairs} pairs, {fast:.1f} against {slow:.1f} s"
    yield Line("scoring 50 fragments: times pair by pair", slow / fast, "x", "5 or more", times)
