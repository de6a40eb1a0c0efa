"""Records -> batches of fragments, ready for a network."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from djnet import constants
from djnet.augmentation import recolour as recoloured
from djnet.cuts import PROTOCOLS, downbeat_cuts, downbeat_hops
from djnet.records import Manifest
from djnet.rng import rng_for

BATCHES_AHEAD = 4  # are cut while a network is busy


class Fragments(NamedTuple):
    """A batch of puzzles in their true order; frames past a fragment's length are zeros.

    With a window, `frames` holds two sides of every fragment, its end and its beginning (S = 2, L = the window's
    length); without, the whole fragment (S = 1, L = the longest).
    """

    frames: tf.Tensor  # float32 [B, n, S, L, 128], normalised
    lengths: tf.Tensor  # int32 [B, n]: of the whole fragments


class Keyed(NamedTuple):
    """A pass over the data that can be repeated exactly: its order, and every draw in it, hang on these two numbers."""

    seed: int
    epoch: int


def fragment_batches(
    manifest: Manifest,
    split: str,
    n: int,
    *,
    segmentation: str = "fixed",
    protocol: str = "isolated",
    window: int = 0,
    gap: int = 0,
    batch_size: int = 16,
    shuffle: Keyed | None = None,
    redraw: bool = False,
    off_beat: float = 0.0,
    recolour: bool = False,
    first: int = -1,
    also: Sequence[Manifest] = (),
    shuffle_clips: int = 4096,
    drop_remainder: bool = False,
) -> tf.data.Dataset:
    """Batches of a split's clips, each cut into n fragments.

    With `shuffle`, clips come in an order of their own in every pass; with `redraw`, the cuts are also drawn anew
    within the record: the start of equal ones, and which downbeats the others take, of which that share is moved
    `off_beat`, all cuts of a clip alike. Without, every pass is the same and sees the fixed clip. With `recolour`,
    every clip also changes its level, colour, noise and pitch. `gap` frames are taken away on each side of every cut.
    The same split of the records `also` is added, normalised as the rest. `first` clips on disk, which has track after
    track in no order, are taken and no more; -1 takes all.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"Unknown protocol {protocol!r}; there are {', '.join(PROTOCOLS)}.")
    if (redraw or recolour) and shuffle is None:
        raise ValueError("Cuts and colours are drawn anew only with `shuffle`, which says by which key.")
    name = f"{segmentation}/{n}/cuts"
    dataset = manifest.dataset(split)
    for other in also:
        dataset = dataset.concatenate(other.dataset(split))
    if segmentation != "fixed":
        dataset = dataset.filter(lambda data: tf.size(_parse(data, name)[name]) > 0)
    dataset = dataset.take(first)
    if shuffle is not None:
        order = tf.random.stateless_uniform([], [shuffle.seed, shuffle.epoch], maxval=2**31 - 1, dtype=tf.int32)
        dataset = dataset.shuffle(shuffle_clips, seed=int(order), reshuffle_each_iteration=False)
    mean, std = tf.constant(manifest.mean), tf.constant(manifest.std)

    def cut(index: tf.Tensor, data: tf.Tensor) -> Fragments:
        features = _parse(data, name)
        mel = tf.reshape(tf.io.decode_raw(features["mel"], tf.float16), [-1, constants.MEL_BINS])
        cuts = tf.cast(features[name], tf.int32)
        key: Any = None if shuffle is None else tf.stack([shuffle.seed, shuffle.epoch * 2**32 + index])
        if redraw:
            hops = tf.shape(mel)[0] + constants.WINDOW_HOPS - 1
            if segmentation == "fixed":
                start = tf.random.stateless_uniform([], key, 0, hops - constants.CLIP_HOPS + 1, tf.int32)
                cuts += start - tf.cast(features["offset"], tf.int32)
            else:
                drawn = tf.numpy_function(_redrawn, [features["beats"], hops, cuts, key], tf.int32)
                cuts = tf.ensure_shape(drawn, [n + 1])
                moved = cuts + tf.random.stateless_uniform([], key, -cuts[0], hops - cuts[-1] + 1, tf.int32)
                cuts = tf.where(tf.random.stateless_uniform([], key + 1) < off_beat, moved, cuts)
        starts, ends = cuts[:-1], cuts[1:] - (constants.WINDOW_HOPS - 1)
        if protocol == "overlapping":
            ends = tf.minimum(cuts[1:], ends[-1])
        starts, ends = starts + gap, ends - gap
        lengths = ends - starts
        if window:
            tails = tf.maximum(ends - window, starts)
            places = tf.stack([tails, starts], axis=1)[..., None] + tf.range(window)  # [n, 2, W]
        else:
            places = (starts[:, None] + tf.range(tf.reduce_max(lengths)))[:, None]  # [n, 1, L]
        inside = places < ends[:, None, None]
        frames = tf.cast(tf.gather(mel, tf.where(inside, places, 0)), tf.float32)
        if recolour:
            frames = recoloured(frames, key)
        return Fragments(tf.where(inside[..., None], (frames - mean) / std, 0.0), lengths)

    dataset = dataset.enumerate().map(cut, num_parallel_calls=os.cpu_count(), deterministic=True)
    sides, length = (2, window) if window else (1, None)
    shapes = Fragments(tf.TensorShape([n, sides, length, constants.MEL_BINS]), tf.TensorShape([n]))
    dataset = dataset.padded_batch(batch_size, padded_shapes=shapes, drop_remainder=drop_remainder)
    return dataset.prefetch(BATCHES_AHEAD)


def _parse(data: tf.Tensor, cuts: str) -> dict[str, tf.Tensor]:
    schema = {
        "mel": tf.io.FixedLenFeature([], tf.string),
        "offset": tf.io.FixedLenFeature([], tf.int64),
        "beats": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
        cuts: tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }
    return tf.io.parse_single_example(data, schema)


def _redrawn(beats: np.ndarray, hops: int, cuts: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Other cuts at downbeats of the same record, which is known to have some: -> int32 [n + 1]."""
    drawn = downbeat_cuts(downbeat_hops(beats.reshape(-1, 2), hops), len(cuts) - 1, rng_for(*key.tolist(), "cuts"))
    return cuts if drawn is None else drawn.astype(np.int32)
