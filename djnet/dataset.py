"""Records -> batches of fragments, ready for a network."""

import os
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from djnet import constants
from djnet.augmentation import change_timbre, mask_spectrogram
from djnet.constants import HOP_SAMPLES, MEL_BINS
from djnet.cuts import downbeat_cuts, downbeat_hops, frame_range, join_windows, require_protocol
from djnet.features import HALF_WINDOW, analysis_window, mel_filters
from djnet.records import FULL_SCALE, Manifest
from djnet.rng import rng_for

BATCHES_AHEAD = 4  # are cut while a network is busy
SHUFFLED_CLIPS = 1024  # in memory, 1.7 MB each

# Samples that the two mirrored frames at an end of a fragment see, and where in them each frame's window looks: counted
# from the first sample for the frames 0 and 1, from the last one backwards for the last two.
_EDGE_SAMPLES = HALF_WINDOW + HOP_SAMPLES
_AROUND = np.arange(-HALF_WINDOW, HALF_WINDOW)
_BEGINNING = np.abs(np.stack([_AROUND, _AROUND + HOP_SAMPLES]))
_END = np.stack([_AROUND - HOP_SAMPLES, _AROUND])
_END = np.where(_END < 0, -1 - _END, _END + 1)


class Fragments(NamedTuple):
    """A batch of puzzles in their true order; frames past a fragment's length are padding (zeros).

    With a window, `frames` holds two sides of every fragment, its end and its beginning (S = 2, L = the window's
    length); without, the whole fragment (S = 1, L = the longest).
    """

    frames: tf.Tensor  # float32 [B, n, S, L, 128], normalised
    lengths: tf.Tensor  # int32 [B, n]: of the whole fragments


class Epoch(NamedTuple):
    """An epoch that can be repeated exactly: its order, and every random draw in it, depend on these two numbers."""

    seed: int
    number: int


class _Cut(NamedTuple):
    """A clip after its cuts are known."""

    key: tf.Tensor  # int64 [2], of the random draws of this clip
    frames: tf.Tensor  # float16 [n, S, L, 128]; frames that are mirrored are still to be computed
    mirrored: tf.Tensor  # int32 [n, S, L]: which of the fragment's four mirrored frames stands here, or -1
    edges: tf.Tensor  # int16 [n, 2, 1536]: samples from the beginning on, and from the end backwards
    scale: tf.Tensor  # float32 []
    lengths: tf.Tensor  # int32 [n]


def fragment_batches(
    manifest: Manifest,
    split: str,
    n: int,
    *,
    segmentation: str = "fixed",
    protocol: str = "centred",
    window: int = 0,
    gap: int = 0,
    random_gap: bool = False,
    batch_size: int = 16,
    epoch: Epoch | None = None,
    redraw: bool = False,
    off_beat: float = 0.0,
    timbre: bool = False,
    spec_augment: bool = False,
    first: int = -1,
    also: Sequence[Manifest] = (),
    drop_remainder: bool = False,
) -> tf.data.Dataset:
    """Batches of `Fragments`: a split's clips, each cut into n fragments.

    Without `epoch`, clips come as they are on disk and are cut as their records say.

    segmentation: "fixed" or "downbeat", where clips are cut.
    protocol: what the frames next to a cut see, one of `cuts.PROTOCOLS`.
    window: frames at the end and at the beginning of every fragment that are looked at; 0 for whole fragments.
    gap: hops that are removed on each side of every cut; with `random_gap` a number from 0 to it, drawn for each clip.
    epoch: shuffles the clips and is the key of every random draw.
    redraw: draw the cuts anew within the record: the start of equal ones, or which downbeats are taken.
    off_beat: share of the clips whose redrawn downbeat cuts are all shifted off the beat by the same random amount.
    timbre, spec_augment: augmentation, see `augmentation`.
    first: take only so many clips, as they are on disk (track after track, in no order); -1 takes all.
    also: further records whose clips of the same split are added, normalised like the others.
    """
    require_protocol(protocol)
    if (redraw or random_gap or timbre or spec_augment) and epoch is None:
        raise ValueError("Random cuts, gaps and augmentation need an `epoch`, which is their key.")
    name = f"{segmentation}/{n}/cuts"
    dataset = manifest.dataset(split)
    for other in also:
        dataset = dataset.concatenate(other.dataset(split))
    if segmentation != "fixed":
        dataset = dataset.filter(lambda data: tf.size(_parse(data, name)[name]) > 0)
    dataset = dataset.take(first)
    if epoch is not None:
        order = rng_for(epoch.seed, "shuffle", epoch.number).integers(2**31)
        dataset = dataset.shuffle(SHUFFLED_CLIPS, seed=int(order), reshuffle_each_iteration=False)
    seed, number = epoch or (0, 0)
    sides = 2 if window else 1

    def cut(index: tf.Tensor, data: tf.Tensor) -> _Cut:
        record = _parse(data, name)
        mel = tf.reshape(tf.io.decode_raw(record["mel"], tf.float16), [-1, MEL_BINS])
        key = tf.stack([tf.constant(seed, tf.int64), number * 2**32 + index])
        cuts = tf.cast(record[name], tf.int32)
        if redraw:
            cuts = _redrawn(cuts, record, tf.shape(mel)[0] - 1, key, segmentation, off_beat)
        removed = tf.constant(gap)
        if random_gap:
            removed = tf.random.stateless_uniform([], _fold(key, "gap"), 0, gap + 1, tf.int32)
        starts, ends = tf.ensure_shape(cuts[:-1] + removed, [n]), tf.ensure_shape(cuts[1:] - removed, [n])
        begins, stops = frame_range(starts, ends, protocol)
        lengths = stops - begins
        if window:
            places = tf.stack(join_windows(begins, stops, window, tf.maximum), axis=1)[..., None] + tf.range(window)
        else:
            places = (begins[:, None] + tf.range(tf.reduce_max(lengths)))[:, None]
        inside = places < stops[:, None, None]
        frames = tf.gather(mel, tf.where(inside, places, 0))
        edges, mirrored = tf.zeros([n, 2, 0], tf.int16), -tf.ones_like(places)
        if protocol == "centred":
            samples, reach = tf.io.decode_raw(record["samples"], tf.int16), tf.range(_EDGE_SAMPLES)
            beginning, end = starts[:, None] * HOP_SAMPLES + reach, ends[:, None] * HOP_SAMPLES - 1 - reach
            edges = tf.gather(samples, tf.stack([beginning, end], axis=1))
            from_begin, from_stop = places - begins[:, None, None], places - stops[:, None, None]
            mirrored = tf.where(from_begin < 2, from_begin, tf.where(from_stop >= -2, from_stop + 4, mirrored))
        return _Cut(key, frames, tf.where(inside, mirrored, -1), edges, record["scale"], lengths)

    def finish(batch: _Cut) -> Fragments:
        frames = tf.cast(batch.frames, tf.float32)
        if protocol == "centred":
            computed = tf.gather(_edge_frames(batch.edges, batch.scale), tf.maximum(batch.mirrored, 0), batch_dims=2)
            frames = tf.where(batch.mirrored[..., None] >= 0, computed, frames)
        if timbre:
            frames = tf.map_fn(lambda x: change_timbre(x[0], _fold(x[1], "timbre")), (frames, batch.key), tf.float32)
        frames = (frames - manifest.mean) / manifest.std
        if spec_augment:
            frames = tf.map_fn(lambda x: mask_spectrogram(x[0], _fold(x[1], "mask")), (frames, batch.key), tf.float32)
        frames *= valid_frames(batch.lengths, tf.shape(frames)[3])[:, :, None, :, None]
        return Fragments(tf.ensure_shape(frames, [None, n, sides, window or None, MEL_BINS]), batch.lengths)

    size, edge_samples = (n, sides, window or None), _EDGE_SAMPLES if protocol == "centred" else 0
    shapes: Any = _Cut((2,), (*size, MEL_BINS), size, (n, 2, edge_samples), (), (n,))  # type: ignore[arg-type]
    dataset = dataset.enumerate().map(cut, num_parallel_calls=os.cpu_count(), deterministic=True)
    dataset = dataset.padded_batch(batch_size, padded_shapes=shapes, drop_remainder=drop_remainder)
    return dataset.map(finish, num_parallel_calls=1, deterministic=True).prefetch(BATCHES_AHEAD)


def valid_frames(lengths: tf.Tensor, frames: tf.Tensor | int) -> tf.Tensor:
    """The padding mask of fragments of so many frames: int [...] -> float32 [..., T], 1 for a frame, 0 for padding."""
    return tf.sequence_mask(lengths, frames, tf.float32)


def _edge_frames(edges: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    """The mirrored frames of fragments, `features.log_mel` in TensorFlow: int16 [B, n, 2, 1536], [B] -> [B, n, 4, 128].

    The first two frames of each fragment, then its last two.
    """
    samples = tf.cast(edges, tf.float32) * (scale / FULL_SCALE)[:, None, None, None]
    windows = [tf.gather(samples[:, :, side], places, axis=2) for side, places in enumerate((_BEGINNING, _END))]
    spectrum = tf.signal.rfft(tf.concat(windows, axis=2) * analysis_window())
    power = tf.square(tf.math.real(spectrum)) + tf.square(tf.math.imag(spectrum))
    return tf.math.log1p(constants.LOG_GAIN * tf.matmul(power, mel_filters().T))


def _parse(data: tf.Tensor, cuts: str) -> dict[str, tf.Tensor]:
    schema = {
        "mel": tf.io.FixedLenFeature([], tf.string),
        "samples": tf.io.FixedLenFeature([], tf.string),
        "scale": tf.io.FixedLenFeature([], tf.float32),
        "offset": tf.io.FixedLenFeature([], tf.int64),
        "beats": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
        cuts: tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }
    return tf.io.parse_single_example(data, schema)


def _redrawn(
    cuts: tf.Tensor, record: dict[str, tf.Tensor], hops: tf.Tensor, key: tf.Tensor, segmentation: str, off_beat: float
) -> tf.Tensor:
    """Other cuts of the same record: int32 [n + 1] -> int32 [n + 1].

    cuts, record, hops: the recorded cuts, the record itself and its length.
    key, segmentation, off_beat: as in `fragment_batches`.
    """
    if segmentation == "fixed":
        start = tf.random.stateless_uniform([], _fold(key, "start"), 0, hops - constants.CLIP_HOPS + 1, tf.int32)
        return cuts + start - tf.cast(record["offset"], tf.int32)
    drawn = tf.numpy_function(_other_downbeats, [record["beats"], hops, cuts, key], tf.int32)
    shift = tf.random.stateless_uniform([], _fold(key, "shift"), -drawn[0], hops - drawn[-1] + 1, tf.int32)
    is_shifted = tf.random.stateless_uniform([], _fold(key, "off beat")) < off_beat
    return tf.where(is_shifted, drawn + shift, drawn)


def _other_downbeats(beats: np.ndarray, hops: int, cuts: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Other cuts at downbeats of a record that is known to have some: -> int32 [n + 1]."""
    downbeats = downbeat_hops(beats.reshape(-1, 2), 0, hops)
    drawn = downbeat_cuts(downbeats, len(cuts) - 1, rng_for(*key.tolist(), "cuts"))
    return cuts if drawn is None else drawn.astype(np.int32)


def _fold(key: tf.Tensor, purpose: str) -> Any:
    """A key of its own for every random draw of a clip."""
    return tf.random.experimental.stateless_fold_in(key, zlib.crc32(purpose.encode()))
