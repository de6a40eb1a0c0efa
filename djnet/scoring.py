"""Fragments -> answers of a network: score matrices and orders, with each fragment embedded once."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from djnet.games import Puzzle
from djnet.ordering import best_order
from djnet.pairs import ORDERS


class Embedded(NamedTuple):
    """Embeddings of a batch of puzzles of n fragments: a tensor for the end and one for the beginning of each."""

    ends: list[tf.Tensor]  # n tensors [B, ...]
    beginnings: list[tf.Tensor]
    valid_ends: list[Any]  # n masks [B, T], or None where nothing is padded
    valid_beginnings: list[Any]


def window_of(model: keras.Model) -> int:
    """Frames at the join that a model looks at; 0 for whole fragments."""
    return model.get_layer("end").frames


def embed(model: keras.Model, frames: tf.Tensor, padded: bool = True, training: bool = False) -> Embedded:
    """Embed every fragment once: float32 [B, n, S, L, 128] as `Fragments.frames`."""
    batch, n, sides = tf.shape(frames)[0], frames.shape[1], frames.shape[2]
    # Fragment by fragment, so that taking one apart again is a plain slice.
    flat = tf.reshape(tf.transpose(frames, [1, 2, 0, 3, 4]), [-1, tf.shape(frames)[3], frames.shape[4]])
    flat = tf.ensure_shape(flat, [None, frames.shape[3], frames.shape[4]])
    valid = tf.cast(tf.reduce_any(tf.not_equal(flat, 0), axis=-1), flat.dtype) if padded else None
    x, valid = model.get_layer("embedding")(flat, valid, training=training)

    def apart(values: Any, side: int) -> list[Any]:
        if values is None:
            return [None] * n
        return tf.unstack(tf.reshape(values, [n, sides, batch, *_sizes(values)])[:, side], num=n)

    return Embedded(apart(x, 0), apart(x, sides - 1), apart(valid, 0), apart(valid, sides - 1))


def answer(model: keras.Model, embedded: Embedded, fragments: np.ndarray, training: bool = False) -> tf.Tensor:
    """Logits of many questions about every puzzle: fragments int [Q, 2 or 3] -> [Q, B, classes]."""
    comparison = model.get_layer("comparison")
    xs, masks = [], []
    for side, position in comparison.pieces:
        pieces, valid = (
            (embedded.ends, embedded.valid_ends) if side == "end" else (embedded.beginnings, embedded.valid_beginnings)
        )
        xs.append(tf.concat([pieces[question[position]] for question in fragments], axis=0))
        masks.append(
            None if valid[0] is None else tf.concat([valid[question[position]] for question in fragments], axis=0)
        )
    logits = comparison(xs, None if masks[0] is None else masks, training=training)
    return tf.reshape(logits, [len(fragments), -1, comparison.classes])


def score_puzzles(
    model: keras.Model, puzzles: Sequence[Puzzle], mean: np.ndarray, std: np.ndarray, batch_size: int = 16
) -> Iterator[np.ndarray]:
    """Score matrices of many puzzles of one size, in their order: -> float32 [n, n] each."""
    for frames, padded in _batches(model, puzzles, mean, std, batch_size):
        yield from score_batch(model, frames, padded)


def solve_puzzles(
    model: keras.Model, puzzles: Sequence[Puzzle], mean: np.ndarray, std: np.ndarray, batch_size: int = 16
) -> Iterator[tuple[int, ...]]:
    """Orders of many puzzles of one size by the model's own rule."""
    for frames, padded in _batches(model, puzzles, mean, std, batch_size):
        yield from solve_batch(model, frames, padded)


def _batches(
    model: keras.Model, puzzles: Sequence[Puzzle], mean: np.ndarray, std: np.ndarray, batch_size: int
) -> Iterator[tuple[tf.Tensor, bool]]:
    window = window_of(model)
    for first in range(0, len(puzzles), batch_size):
        group = puzzles[first : first + batch_size]
        padded = not window or min(len(piece) for puzzle in group for piece in puzzle.fragments) < window
        yield tf.constant(np.stack(_sides(group, mean, std, window))), padded


def _sides(puzzles: Sequence[Puzzle], mean: np.ndarray, std: np.ndarray, window: int) -> list[np.ndarray]:
    """Normalised fragments of puzzles, as `Fragments.frames`: [n, S, L, 128] each."""
    length = window or max(len(piece) for puzzle in puzzles for piece in puzzle.fragments)
    found = []
    for puzzle in puzzles:
        frames = np.zeros((len(puzzle.fragments), 2 if window else 1, length, len(mean)), np.float32)
        for target, piece in zip(frames, puzzle.fragments, strict=True):
            normal = (piece - mean) / std
            target[0, : min(len(piece), length)] = normal[-length:]
            target[-1, : min(len(piece), length)] = normal[:length]
        found.append(frames)
    return found


def solve_batch(model: keras.Model, frames: tf.Tensor, padded: bool = True) -> list[tuple[int, ...]]:
    """Put the fragments of every puzzle of a batch in order: -> B orders, each of n fragments."""
    n = frames.shape[1]
    if model.name in ("tsn", "opn"):
        return [tuple(order) for order in _listwise(model, frames, padded)]
    return [best_order(scores).order for scores in score_batch(model, frames, padded).reshape(-1, n, n)]


def score_batch(model: keras.Model, frames: tf.Tensor, padded: bool = True) -> np.ndarray:
    """Score matrices of puzzles: [B, n, S, L, 128] -> float32 [B, n, n], f(a, b) in row a and column b."""
    n = int(frames.shape[1])
    pairs = np.array(list(permutations(range(n), 2)))
    logits = _answers(model, frames, pairs, padded)
    scores = np.zeros((logits.shape[1], n, n), np.float32)
    scores[:, pairs[:, 0], pairs[:, 1]] = tf.nn.softmax(logits)[..., 1].numpy().T
    return scores


def _listwise(model: keras.Model, frames: tf.Tensor, padded: bool) -> np.ndarray:
    """The rules of TSN (the order it believes in most) and OPN (the order it says the fragments were given in)."""
    if frames.shape[1] != 3:
        raise ValueError(f"{model.name} orders three fragments, not {frames.shape[1]}.")
    orders = np.array(ORDERS)
    if model.name == "tsn":
        return orders[np.argmax(_answers(model, frames, orders, padded)[..., 1].numpy(), axis=0)]
    given = orders[np.argmax(_answers(model, frames, orders[:1], padded)[0].numpy(), axis=-1)]
    return np.argsort(given, axis=1)  # piece i of the puzzle is number given[i] of the music


@tf.function(reduce_retracing=True)
def _answers_graph(model: keras.Model, frames: tf.Tensor, fragments: tuple, padded: bool) -> tf.Tensor:
    return answer(model, embed(model, frames, padded), np.array(fragments))


def _answers(model: keras.Model, frames: tf.Tensor, fragments: np.ndarray, padded: bool) -> tf.Tensor:
    return _answers_graph(model, tf.convert_to_tensor(frames), tuple(map(tuple, fragments.tolist())), padded)


def _sizes(values: tf.Tensor) -> Sequence[Any]:
    """Sizes behind the first, static where they are known."""
    dynamic = tf.shape(values)
    return [size if size is not None else dynamic[i] for i, size in enumerate(values.shape[1:], 1)]
