"""Fragments -> answers of a network: score matrices and orders, with each fragment embedded once."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, permutations
from typing import Any, NamedTuple

import keras
import numpy as np
import scipy.special
import tensorflow as tf

from djnet.cuts import join_windows
from djnet.dataset import Fragments, valid_frames
from djnet.ordering import best_order
from djnet.pairs import LISTWISE, ORDERS
from djnet.puzzles import Puzzle

# Work is done in groups: so many fragments, and so many questions, of the usual length; fewer of longer ones.
_FRAGMENTS_AT_ONCE = 128
_QUESTIONS_AT_ONCE = 64  # more would not fit into a processor's cache
_USUAL_FRAMES = 63
_PUZZLES_AT_ONCE = 32


class Embedded(NamedTuple):
    """Embeddings of a batch of puzzles of n fragments: a tensor for the end and one for the beginning of each."""

    ends: list[tf.Tensor]  # n tensors [B, ...]
    beginnings: list[tf.Tensor]
    valid_ends: list[Any]  # n masks [B, T], or None where nothing is padded
    valid_beginnings: list[Any]


def window_of(model: keras.Model) -> int:
    """Frames at the join that a model looks at; 0 for whole fragments."""
    return model.get_layer("end").frames


def embed(model: keras.Model, fragments: Fragments, padded: bool = True, training: bool = False) -> Embedded:
    """Embed every fragment of a batch once; `padded` says whether any is shorter than the batch's frames."""
    frames = fragments.frames
    batch, n, sides = tf.shape(frames)[0], frames.shape[1], frames.shape[2]
    # Fragment by fragment, so that taking one apart again is a plain slice.
    flat = tf.reshape(tf.transpose(frames, [1, 2, 0, 3, 4]), [-1, tf.shape(frames)[3], frames.shape[4]])
    flat = tf.ensure_shape(flat, [None, frames.shape[3], frames.shape[4]])
    mask = None
    if padded:
        lengths = tf.repeat(tf.transpose(fragments.lengths), sides, axis=0)
        mask = valid_frames(tf.reshape(lengths, [-1]), tf.shape(frames)[3])
    x, valid = model.get_layer("embedding")(flat, mask, training=training)

    def apart(values: Any) -> list[Any]:
        if values is None:
            return [None] * (n * sides)
        return tf.unstack(tf.reshape(values, [n * sides, batch, *_sizes(values)]), num=n * sides)

    pieces, masks = apart(x), apart(valid)
    last = sides - 1
    return Embedded(pieces[::sides], pieces[last::sides], masks[::sides], masks[last::sides])


def answer(model: keras.Model, embedded: Embedded, questions: np.ndarray, training: bool = False) -> tf.Tensor:
    """Logits of many questions about every puzzle: int [Q, 2 or 3] -> [Q, B, classes]."""
    comparison = model.get_layer("comparison")
    xs, masks = [], []
    for side, position in comparison.pieces:
        pieces, valid = (
            (embedded.ends, embedded.valid_ends) if side == "end" else (embedded.beginnings, embedded.valid_beginnings)
        )
        xs.append(tf.concat([pieces[question[position]] for question in questions], axis=0))
        masks.append(
            None if valid[0] is None else tf.concat([valid[question[position]] for question in questions], axis=0)
        )
    logits = comparison(xs, None if masks[0] is None else masks, training=training)
    return tf.reshape(logits, [len(questions), -1, comparison.classes])


def answers(model: keras.Model, frames: np.ndarray, lengths: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Logits of any questions about a pool of fragments: [F, S, L, 128], [F], int [Q, 2 or 3] -> float32 [Q, classes].

    Fragments and questions are taken in groups of about the same length, so that little of the work goes into padding.
    """
    lengths = np.minimum(lengths, frames.shape[2])
    padded = bool(lengths.min() < frames.shape[2])
    groups = list(_groups(lengths, _FRAGMENTS_AT_ONCE))
    embedded = [
        _embed_graph(
            model, tf.gather(frames, group)[:, :, : lengths[group[0]]], tf.constant(lengths[group]) if padded else None
        )
        for group in groups
    ]
    x, valid = (_joined(values, np.concatenate(groups)) for values in zip(*embedded, strict=True))

    logits = np.empty((len(questions), model.get_layer("comparison").classes), np.float32)
    stride = 1 if valid is None else frames.shape[2] / valid.shape[2]
    longest = lengths[questions].max(axis=1)
    for group in _groups(longest**2 / _USUAL_FRAMES, _QUESTIONS_AT_ONCE):
        kept = math.ceil(longest[group[0]] / stride)
        logits[group] = _compare_graph(model, x, valid, tf.constant(questions[group]), tf.constant(kept))
    return logits


def _groups(lengths: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Cut indices into groups, longest first: `count` of usual length make one, fewer of a greater length."""
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        size = max(1, int(count * min(1.0, _USUAL_FRAMES / lengths[order[0]])))
        yield order[:size]
        order = order[size:]


def _joined(parts: Sequence[Any], order: np.ndarray) -> Any:
    """Tensors [F, S, T, ...] of falling lengths T as one, back in the fragments' own order."""
    if parts[0] is None:
        return None
    longest = parts[0].shape[2]
    ends = [[[0, 0], [0, 0], [0, longest - part.shape[2]], *[[0, 0]] * (part.shape.rank - 3)] for part in parts]
    return tf.gather(
        tf.concat([tf.pad(part, end) for part, end in zip(parts, ends, strict=True)], 0), np.argsort(order)
    )


@tf.function(reduce_retracing=True)
def _embed_graph(model: keras.Model, frames: tf.Tensor, lengths: Any) -> tuple[tf.Tensor, Any]:
    """Embeddings and masks: [F, S, L, 128], [F] or None where nothing is padded -> [F, S, T, C], [F, S, T]."""
    flat = tf.reshape(frames, [-1, *_sizes(frames)[1:]])
    mask = None if lengths is None else valid_frames(tf.repeat(lengths, frames.shape[1]), tf.shape(frames)[2])
    x, valid = model.get_layer("embedding")(flat, mask)
    shape = [-1, frames.shape[1]]
    return tf.reshape(x, [*shape, *_sizes(x)]), None if valid is None else tf.reshape(valid, [*shape, *_sizes(valid)])


@tf.function(reduce_retracing=True)
def _compare_graph(model: keras.Model, x: tf.Tensor, valid: Any, questions: tf.Tensor, kept: tf.Tensor) -> tf.Tensor:
    """Logits of questions about embedded fragments, of which the first `kept` frames matter: [Q, 2 or 3] -> [Q, C]."""
    comparison = model.get_layer("comparison")
    sides = x.shape[1]
    places = [
        questions[:, position] * sides + (0 if side == "end" else sides - 1) for side, position in comparison.pieces
    ]

    def taken(values: tf.Tensor, over_time: bool) -> list[tf.Tensor]:
        flat = tf.reshape(values, [-1, *_sizes(values)[1:]])
        found = [tf.gather(flat, place) for place in places]
        return [piece[:, :kept] for piece in found] if over_time else found

    if valid is None:
        return comparison(taken(x, False), None)
    return comparison(taken(x, x.shape.rank == 4), taken(valid, True))  # SN's embedding is a vector, without a time


def score_puzzles(
    model: keras.Model, puzzles: Iterable[Puzzle], mean: np.ndarray, std: np.ndarray
) -> Iterator[np.ndarray]:
    """Score matrices of many puzzles of any sizes, in their order: -> float32 [n, n] each."""
    for pool in _pools(model, puzzles, mean, std):
        yield from _score_pool(model, *pool)


def solve_puzzles(
    model: keras.Model, puzzles: Iterable[Puzzle], mean: np.ndarray, std: np.ndarray
) -> Iterator[tuple[int, ...]]:
    """Orders of many puzzles of any sizes by the model's own rule."""
    for pool in _pools(model, puzzles, mean, std):
        yield from _solve_pool(model, *pool)


def solve_batch(model: keras.Model, fragments: Fragments) -> list[tuple[int, ...]]:
    """Orders of a batch of B puzzles of n fragments."""
    return list(_solve_pool(model, *_as_pool(fragments)))


def score_batch(model: keras.Model, fragments: Fragments) -> np.ndarray:
    """Score matrices of a batch of B puzzles of n fragments: -> float32 [B, n, n], f(a, b) in row a and column b."""
    return np.stack(list(_score_pool(model, *_as_pool(fragments))))


def _as_pool(fragments: Fragments) -> tuple[tf.Tensor, np.ndarray, list[int]]:
    """The fragments of all puzzles one after the other: frames [F, S, L, 128], lengths [F], sizes of the puzzles."""
    frames = tf.convert_to_tensor(fragments.frames)
    pool = tf.reshape(frames, [-1, *frames.shape[2:]])
    return pool, np.ravel(fragments.lengths), [frames.shape[1]] * len(frames)


def _pools(
    model: keras.Model, puzzles: Iterable[Puzzle], mean: np.ndarray, std: np.ndarray
) -> Iterator[tuple[tf.Tensor, np.ndarray, list[int]]]:
    """The fragments of some puzzles at a time, normalised: as `_as_pool`."""
    window = window_of(model)
    waiting = iter(puzzles)
    while group := list(islice(waiting, _PUZZLES_AT_ONCE)):
        pieces = [piece for puzzle in group for piece in puzzle.fragments]
        lengths = np.array([len(piece) for piece in pieces])
        frames = np.zeros((len(pieces), 2 if window else 1, window or lengths.max(), len(mean)), np.float32)
        for target, piece in zip(frames, pieces, strict=True):
            for side, first in zip(target, join_windows(0, len(piece), frames.shape[2]), strict=False):
                kept = piece[first : first + frames.shape[2]]
                side[: len(kept)] = (kept - mean) / std
        yield tf.constant(frames), lengths, [len(puzzle.fragments) for puzzle in group]


def _score_pool(model: keras.Model, frames: tf.Tensor, lengths: np.ndarray, sizes: list[int]) -> Iterator[np.ndarray]:
    pairs = [np.array(list(permutations(range(n), 2))) for n in sizes]
    for n, asked, logits in zip(sizes, pairs, _ask(model, frames, lengths, sizes, pairs), strict=True):
        scores = np.zeros((n, n), np.float32)
        scores[asked[:, 0], asked[:, 1]] = scipy.special.softmax(logits, axis=1)[:, 1]
        yield scores


def _solve_pool(
    model: keras.Model, frames: tf.Tensor, lengths: np.ndarray, sizes: list[int]
) -> Iterator[tuple[int, ...]]:
    """Pairwise models: the best sum. TSN: the order it believes in most. OPN: the order it says they were given in."""
    if model.name not in LISTWISE:
        yield from (best_order(scores).order for scores in _score_pool(model, frames, lengths, sizes))
        return
    if wrong := [n for n in sizes if n != 3]:
        raise ValueError(f"{model.name} orders three fragments, not {wrong[0]}.")
    orders = np.array(ORDERS)
    asked = orders if model.name == "tsn" else orders[:1]
    for logits in _ask(model, frames, lengths, sizes, [asked] * len(sizes)):
        # Piece i of an OPN's puzzle is number given[i] of the music.
        order = orders[np.argmax(logits[:, 1])] if model.name == "tsn" else np.argsort(orders[np.argmax(logits[0])])
        yield tuple(order.tolist())


def _ask(
    model: keras.Model, frames: tf.Tensor, lengths: np.ndarray, sizes: list[int], questions: list[np.ndarray]
) -> list[np.ndarray]:
    """Each puzzle asks its own questions about its own fragments, all of them in one pool."""
    firsts = np.cumsum([0, *sizes[:-1]])
    pooled = np.concatenate([asked + first for asked, first in zip(questions, firsts, strict=True)])
    return np.split(answers(model, frames, lengths, pooled), np.cumsum([len(asked) for asked in questions])[:-1])


def similarity_matrices(model: keras.Model, fragments: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Similarity of every frame at the end of a with every frame at the beginning of b: n x n of float [T_a, T_b].

    Fragments are normalised, [t_i, 128]. Row a, column b is the matrix that SEN's ConvNet sees for the pair (a, b).
    """
    comparison, embedding = model.get_layer("comparison"), model.get_layer("embedding")
    if not hasattr(comparison, "similarity"):
        raise ValueError(f"Only SEN has a similarity matrix, {model.name} has none.")
    sides = []
    for piece in fragments:
        window = window_of(model) or len(piece)
        windows = [piece[first : first + window] for first in join_windows(0, len(piece), window)]
        sides.append([embedding(tf.constant(part[None], tf.float32), None)[0] for part in windows])
    return [[comparison.similarity((end, beginning))[0].numpy() for _, beginning in sides] for end, _ in sides]


def _sizes(values: tf.Tensor) -> Sequence[Any]:
    """Sizes behind the first, static where they are known."""
    dynamic = tf.shape(values)
    return [size if size is not None else dynamic[i] for i, size in enumerate(values.shape[1:], 1)]
