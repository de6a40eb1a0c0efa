"""Records -> batches of fragments, ready for a network."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from djnet.augmentation import change_timbre, mask_spectrogram
from djnet.constants import HOP_SAMPLES, MEL_BINS, WINDOW_SAMPLES
from djnet.cuts import (
    downbeat_cuts,
    downbeat_hops,
    frame_range,
    join_windows,
    require_protocol,
    spans_between,
)
from djnet.features import HALF_WINDOW, mel_of_windows
from djnet.records import FULL_SCALE, Clip, Manifest
from djnet.rng import key_fraction, rng_for

BATCHES_AHEAD = 4  # are cut while a network is busy
_CUT_AT_ONCE = 2

_EDGE_SAMPLES = HALF_WINDOW + HOP_SAMPLES  # that the two mirrored frames at an end of a fragment see


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
    name = f"{segmentation}/{n}"
    clips = [clip for records in (manifest, *also) for clip in records.read_clips(split) if name in clip.segmentations][
        : None if first < 0 else first
    ]
    order = (
        np.arange(len(clips)) if epoch is None else rng_for(epoch.seed, "shuffle", epoch.number).permutation(len(clips))
    )
    mean, std = manifest.mean, manifest.std

    def spans_of(clip: Clip, key: tuple[object, ...]) -> np.ndarray:
        cuts = clip.segmentations[name].cuts
        if redraw and segmentation == "downbeat":
            cuts = _other_downbeats(clip, cuts, key)
        if redraw and (segmentation == "fixed" or key_fraction("off beat", *key) < off_beat):
            cuts = _shifted(clip, cuts, key)
        return spans_between(cuts, _draw(gap + 1, "gap", *key) if random_gap else gap)

    def cut(number: int) -> tuple[np.ndarray, np.ndarray]:
        places = order[number * batch_size : (number + 1) * batch_size]
        keys = [(*(epoch or ()), place) for place in places.tolist()]
        chosen = [clips[place] for place in places]
        spans = np.stack([spans_of(clip, key) for clip, key in zip(chosen, keys, strict=True)])
        frames, lengths = _cut(chosen, spans, protocol, window)
        for clip_frames, key in zip(frames, keys, strict=True):
            if timbre:
                clip_frames[:] = change_timbre(clip_frames, rng_for(0, "timbre", *key))
            clip_frames -= mean
            clip_frames /= std
            if spec_augment:
                mask_spectrogram(clip_frames, rng_for(0, "mask", *key))
        _clear_padding(frames, lengths)
        return frames, lengths

    def batch(number: tf.Tensor) -> Fragments:
        frames, lengths = tf.numpy_function(cut, [number], (tf.float32, tf.int32), stateful=False)
        size = [None, n, 2 if window else 1, window or None, MEL_BINS]
        return Fragments(tf.ensure_shape(frames, size), tf.ensure_shape(lengths, size[:2]))

    batches = len(order) // batch_size if drop_remainder else math.ceil(len(order) / batch_size)
    dataset = tf.data.Dataset.range(batches).map(batch, num_parallel_calls=_CUT_AT_ONCE, deterministic=True)
    return dataset.prefetch(BATCHES_AHEAD)


def valid_frames(lengths: tf.Tensor, frames: tf.Tensor | int) -> tf.Tensor:
    """The padding mask of fragments of so many frames: int [...] -> float32 [..., T], 1 for a frame, 0 for padding."""
    return tf.sequence_mask(lengths, frames, tf.float32)


def _cut(clips: Sequence[Clip], spans: np.ndarray, protocol: str, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Fragments of clips from hop to hop, int [B, n, 2]: -> float32 [B, n, S, L, 128] and their lengths int32 [B, n].

    Frames come from the clip's log-mel, but those that are mirrored at a fragment's ends from its samples.
    """
    begins, stops = frame_range(spans[..., 0], spans[..., 1], protocol)
    lengths = stops - begins
    firsts = np.stack(join_windows(begins, stops, window), axis=-1) if window else begins[..., None]
    frames = np.zeros((*firsts.shape, window or lengths.max(), MEL_BINS), np.float32)
    mirrored = _mirrored_frames(clips, spans) if protocol == "centred" else None
    for (clip, fragment, side), first in np.ndenumerate(firsts):
        begin, stop, target = begins[clip, fragment], stops[clip, fragment], frames[clip, fragment, side]
        count = min(len(target), stop - first)
        target[:count] = clips[clip].mel[first : first + count]
        if mirrored is not None:
            for frame, mel in zip((begin, begin + 1, stop - 2, stop - 1), mirrored[clip, fragment], strict=True):
                if first <= frame < first + count:
                    target[frame - first] = mel
    return frames, lengths.astype(np.int32)


def _mirrored_frames(clips: Sequence[Clip], spans: np.ndarray) -> np.ndarray:
    """The first two and the last two frames of fragments, whose windows reach beyond them: -> [B, n, 4, 128]."""
    windows = np.empty((*spans.shape[:2], 4, WINDOW_SAMPLES), np.float32)
    for clip, clip_spans, clip_windows in zip(clips, (spans * HOP_SAMPLES).tolist(), windows, strict=True):
        for (start, end), target in zip(clip_spans, clip_windows, strict=True):
            _mirror(clip.samples[start : start + _EDGE_SAMPLES], clip.samples[end - _EDGE_SAMPLES : end], target)
        clip_windows *= np.float32(clip.scale / FULL_SCALE)
    return mel_of_windows(windows.reshape(-1, WINDOW_SAMPLES)).reshape(*windows.shape[:3], MEL_BINS)


def _mirror(beginning: np.ndarray, end: np.ndarray, windows: np.ndarray) -> None:
    """Fill the windows [4, 2048] of the frames at a fragment's ends from its first and its last samples, both [1536].

    The first sample and the last are where the fragment is mirrored, as in `log_mel`.
    """
    for i, inside in enumerate((0, HOP_SAMPLES)):  # how far from the fragment's end a window is centred
        own, outside = HALF_WINDOW + inside, HALF_WINDOW - inside
        windows[i, :outside], windows[i, outside:] = beginning[outside:0:-1], beginning[:own]
        windows[3 - i, :own], windows[3 - i, own:] = end[-own:], end[-2 : -2 - outside : -1]


def _clear_padding(frames: np.ndarray, lengths: np.ndarray) -> None:
    """Zeros behind every fragment that is shorter than the batch's frames."""
    for place in np.argwhere(lengths < frames.shape[3]):
        frames[tuple(place)][:, lengths[tuple(place)] :] = 0.0


def _other_downbeats(clip: Clip, cuts: np.ndarray, key: tuple[object, ...]) -> np.ndarray:
    """Cuts at other downbeats of a clip's record: int [n + 1] -> int [n + 1]."""
    drawn = downbeat_cuts(downbeat_hops(clip.beats, 0, clip.hops), len(cuts) - 1, rng_for(0, "cuts", *key))
    return cuts if drawn is None else drawn


def _shifted(clip: Clip, cuts: np.ndarray, key: tuple[object, ...]) -> np.ndarray:
    """Cuts as far apart somewhere else in a clip's record: int [n + 1] -> int [n + 1]."""
    return cuts - cuts[0] + _draw(clip.hops - cuts[-1] + cuts[0] + 1, "shift", *key)


def _draw(count: int, *purpose: object) -> int:
    """One of the numbers 0 to count - 1, which the purpose alone decides."""
    return math.floor(key_fraction(*purpose) * count)
