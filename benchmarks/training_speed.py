"""Training and scoring against the plain way: stock Keras layers, pair by pair."""

import tempfile
from collections.abc import Iterator
from itertools import pairwise, permutations
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from benchmarks.measure import Line, seconds
from benchmarks.preprocessing_speed import CACHE
from djnet import constants, scoring
from djnet.corpora import synthetic
from djnet.dataset import Fragments
from djnet.networks.config import NetworkConfig
from djnet.networks.models import build
from djnet.ordering import best_order
from djnet.pairs import questions_for
from djnet.records import Manifest
from experiments.configs import Run
from experiments.trainer import Trainer, training_batches
from preprocessing.build import build as build_records
from preprocessing.clips import Settings

RUN = Run()
CLIPS = RUN.batch_clips
QUESTIONS = questions_for("sen")
PAIRS = CLIPS * len(QUESTIONS.answers)


def lines() -> Iterator[Line]:
    """Every measurement of training and scoring."""
    frames = np.random.default_rng(0).standard_normal((CLIPS, 3, 2, RUN.network.window_frames, constants.MEL_BINS))
    batch = Fragments(tf.constant(frames, tf.float32), tf.constant(np.full((CLIPS, 3), 341)))
    trainer = Trainer(RUN)
    ours = _seconds_a_step(trainer, batch)
    theirs = _plain_seconds_a_step(batch)
    rates = f"{PAIRS / ours:.0f} against {PAIRS / theirs:.0f} pairs a second"
    yield Line("SEN training: times a plain Keras fit, pair by pair", theirs / ours, "x", "1.5 or more", rates)
    peak = _peak_flops()
    yield Line(
        "the same: share of the machine's matrix-product peak",
        100 * _step_flops() / ours / peak,
        "%",
        "",
        f"{peak / 1e9:.0f} GFLOP/s",
    )
    yield _pipeline(ours)
    yield from _scoring()
    yield _scoring_many()


def _seconds_a_step(trainer: Trainer, batch: Fragments, steps: int = 8) -> float:
    for step in range(3):
        trainer.step(batch, step, 0.01)
    return seconds(lambda: [trainer.step(batch, step, 0.01) for step in range(steps)], repeats=2) / steps


def plain_sen(design: NetworkConfig) -> keras.Model:
    """SEN as one would write it down first."""
    layers = keras.layers

    def block(x, conv, pool=None):
        x = layers.ReLU()(layers.BatchNormalization()(conv(x)))
        return pool(x) if pool else x

    shape = (design.window_frames, constants.MEL_BINS)
    tower_in = x = keras.Input(shape)
    for filters in design.tower:
        x = block(x, layers.Conv1D(filters, design.tower_size, padding="same", use_bias=False))
    tower = keras.Model(tower_in, x)
    a, b = keras.Input(shape), keras.Input(shape)
    x = layers.Dot(axes=2, normalize=True)([tower(a), tower(b)])
    x = layers.Reshape((*x.shape[1:], 1))(x)
    for filters in design.convnet:
        conv = layers.Conv2D(filters, design.convnet_size, padding="same", use_bias=False)
        x = block(x, conv, layers.MaxPooling2D(design.pool, padding="same"))
    mean, high = layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x)
    spread = keras.ops.sqrt(keras.ops.var(x, axis=(1, 2)) + 1e-6)
    x = layers.Concatenate()([mean, high, spread])
    for width in design.dense:
        dense = layers.Dense(width, use_bias=False)(layers.Dropout(design.dropout)(x))
        x = layers.ReLU()(layers.BatchNormalization()(dense))
    logits = layers.BatchNormalization()(layers.Dense(2, use_bias=False)(layers.Dropout(design.dropout)(x)))
    return keras.Model([a, b], logits)


def _plain_seconds_a_step(batch: Fragments, steps: int = 6) -> float:
    model = plain_sen(RUN.network)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), loss, metrics=["accuracy"])
    frames = batch.frames.numpy()
    first, second = QUESTIONS.fragments.T
    a, b = frames[:, first, 0].reshape(PAIRS, *frames.shape[3:]), frames[:, second, 1].reshape(PAIRS, *frames.shape[3:])
    answers = np.tile(QUESTIONS.answers, CLIPS)
    pairs = tf.data.Dataset.from_tensors(((a, b), answers)).repeat()
    model.fit(pairs, steps_per_epoch=2, verbose=0)
    return seconds(lambda: model.fit(pairs, steps_per_epoch=steps, verbose=0), repeats=2) / steps


def _step_flops() -> float:
    """Multiplications and additions of one step, forward and (twice as many) backward."""
    design = RUN.network
    frames = design.window_frames
    tower, channels = 0, constants.MEL_BINS
    for filters in design.tower:
        tower += frames * design.tower_size * channels * filters
        channels = filters
    pair, size, inputs = frames**2 * channels, frames, 1
    for filters in design.convnet:
        pair += size**2 * design.convnet_size**2 * inputs * filters
        size, inputs = -(-size // design.pool), filters
    widths = [3 * inputs, *design.dense, 2]
    pair += sum(a * b for a, b in pairwise(widths))
    return 2 * 3 * (CLIPS * 6 * tower + PAIRS * pair)


def _peak_flops(size: int = 2048) -> float:
    a = tf.random.normal([size, size])
    tf.matmul(a, a)
    return 2 * size**3 / seconds(lambda: tf.matmul(a, a).numpy(), repeats=5)


class _Longer(Manifest):
    """Records that a pass reads several times, as if there were as many as a real corpus has."""

    def dataset(self, split: str) -> tf.data.Dataset:
        """The records of a split, again and again."""
        return super().dataset(split).repeat(4)


def _pipeline(step_seconds: float) -> Line:
    """The time of a pass over records alone as a share of its steps: what reading adds where nothing of it overlaps.

    Passes with and without reading differ by less than two passes of the same kind do, so they are not compared.
    """
    with tempfile.TemporaryDirectory() as folder:
        songs = synthetic.corpus(60, 0, CACHE)
        build_records(songs, Path(folder), Settings(downbeats=False), Path(folder), workers=2)
        batches = training_batches(RUN, _Longer.read(folder), 0, full_batches=True)
        steps = sum(1 for _ in batches)
        reading = seconds(lambda: [None for _ in batches], repeats=5) / steps
    detail = f"{1e3 * reading:.1f} of {1e3 * step_seconds:.0f} ms"
    return Line("reading records: share of a training step", 100 * reading / step_seconds, "%", "below 5", detail)


def _scoring() -> Iterator[Line]:
    """A puzzle against its pairs in one batch: Keras' own predict, and the compiled network with nothing around it."""
    model = build("sen", "compact")
    n, frames = 8, RUN.network.window_frames
    puzzle = np.random.default_rng(1).standard_normal((1, n, 2, frames, constants.MEL_BINS)).astype(np.float32)
    pairs = np.array(list(permutations(range(n), 2)))
    inputs = [puzzle[0, pairs[:, 0], 0], puzzle[0, pairs[:, 1], 1]]
    compiled = tf.function(model)
    ours = scoring.score_batch(model, puzzle, padded=False)[0]
    fast = seconds(lambda: scoring.score_batch(model, puzzle, padded=False), repeats=30)
    ways = {
        "Keras' predict of 56 pairs in one batch": (lambda: model.predict(inputs, len(pairs), verbose=0), "3 or more"),
        "the compiled network on 56 pairs": (lambda: compiled(inputs).numpy(), ""),
    }
    for name, (work, goal) in ways.items():
        theirs = np.zeros((n, n), np.float32)
        theirs[pairs[:, 0], pairs[:, 1]] = work()
        same = "the same order" if best_order(ours).order == best_order(theirs).order else "ANOTHER ORDER"
        slow = seconds(work, repeats=30)
        detail = f"{1e3 * fast:.0f} against {1e3 * slow:.0f} ms; {same}"
        yield Line(f"scoring a puzzle of 8: times {name}", slow / fast, "x", goal, detail)


def _scoring_many(n: int = 50, asked: int = 60) -> Line:
    """A large puzzle against asking the network about one pair after the other."""
    model = build("sen", "compact")
    pool = np.random.default_rng(2).standard_normal((1, n, 2, RUN.network.window_frames, constants.MEL_BINS))
    pool = pool.astype(np.float32)
    one_pair = tf.function(model)

    def pair_by_pair() -> None:
        for i in range(asked):
            one_pair([pool[0, i % n, :1], pool[0, (i + 1) % n, 1:]]).numpy()

    scoring.score_batch(model, pool, padded=False)
    fast = seconds(lambda: scoring.score_batch(model, pool, padded=False), repeats=2)
    slow = seconds(pair_by_pair, repeats=2) * n * (n - 1) / asked
    detail = f"{n * (n - 1)} pairs, {fast:.1f} against {slow:.1f} s"
    return Line("scoring 50 fragments: times pair by pair", slow / fast, "x", "5 or more", detail)
