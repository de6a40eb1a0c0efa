"""Records -> batches of fragments, ready for a network."""

from typing import NamedTuple

import tensorflow as tf

from djnet import spec
from djnet.fragments import PROTOCOLS
from djnet.records import Manifest


class Fragments(NamedTuple):
    """A batch of puzzles in their true order; frames past a fragment's length are zeros."""

    frames: tf.Tensor  # float32 [B, n, L, 128], normalised
    lengths: tf.Tensor  # int32 [B, n]


def fragment_batches(
    manifest: Manifest,
    split: str,
    n: int,
    *,
    segmentation: str = "fixed",
    protocol: str = "isolated",
    batch_size: int = 16,
    shuffle_seed: int | None = None,
    shift: bool = False,
    shuffle_clips: int = 1024,
) -> tf.data.Dataset:
    """Batches of a split's clips, each cut into n fragments.

    With a seed, clips come in a new order in every pass. With `shift`, the start of an equally cut clip is drawn
    anew within its record each time; evaluation leaves it off and sees the fixed clip.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"Unknown protocol {protocol!r}; there are {', '.join(PROTOCOLS)}.")
    if shift and segmentation != "fixed":
        raise ValueError(f"Only clips of the segmentation 'fixed' can be shifted, not {segmentation!r}.")
    dataset = manifest.dataset(split)
    if shuffle_seed is not None:
        dataset = dataset.shuffle(shuffle_clips, seed=shuffle_seed, reshuffle_each_iteration=True)
    schema = {
        "mel": tf.io.FixedLenFeature([], tf.string),
        "offset": tf.io.FixedLenFeature([], tf.int64),
        f"{segmentation}/{n}/cuts": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }
    mean, std = tf.constant(manifest.mean), tf.constant(manifest.std)

    def cut(data: tf.Tensor) -> Fragments:
        features = tf.io.parse_single_example(data, schema)
        mel = tf.reshape(tf.io.decode_raw(features["mel"], tf.float16), [-1, spec.MEL_BINS])
        cuts = tf.cast(features[f"{segmentation}/{n}/cuts"], tf.int32)
        if shift:
            latest = tf.shape(mel)[0] + spec.WINDOW_HOPS - 1 - spec.CLIP_HOPS
            cuts += tf.random.uniform([], 0, latest + 1, tf.int32) - tf.cast(features["offset"], tf.int32)
        ends = cuts[1:] - (spec.WINDOW_HOPS - 1)
        if protocol == "overlapping":
            ends = tf.minimum(cuts[1:], ends[-1])
        lengths = ends - cuts[:-1]
        places = tf.range(tf.reduce_max(lengths))
        inside = places < lengths[:, None]
        frames = tf.gather(mel, tf.where(inside, cuts[:-1, None] + places, 0))
        frames = (tf.cast(frames, tf.float32) - mean) / std
        return Fragments(tf.where(inside[..., None], frames, 0.0), lengths)

    dataset = dataset.filter(_has(f"{segmentation}/{n}/cuts")) if segmentation != "fixed" else dataset
    dataset = dataset.map(cut, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    shapes = Fragments(tf.TensorShape([n, None, spec.MEL_BINS]), tf.TensorShape([n]))
    return dataset.padded_batch(batch_size, padded_shapes=shapes).prefetch(tf.data.AUTOTUNE)


def _has(name: str):
    """Keep the clips that have a segmentation: not every clip can be cut at downbeats."""
    schema = {name: tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
    return lambda data: tf.size(tf.io.parse_single_example(data, schema)[name]) > 0
