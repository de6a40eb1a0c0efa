"""What SEN compares: how similar the frames on both sides of a join are."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from djnet.scoring import embed, window_of


def similarity_matrices(model: keras.Model, fragments: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Similarity of every frame at the end of a with every frame at the beginning of b: n x n of float [T_a, T_b].

    Fragments are normalised, [t_i, 128]. `found[a][b]` is the matrix that SEN's ConvNet sees for the pair (a, b).
    """
    comparison = model.get_layer("comparison")
    if not hasattr(comparison, "similarity"):
        raise ValueError(f"Only SEN has a similarity matrix, {model.name} has none.")
    window = window_of(model)
    embedded = [_embed(model, fragment, window) for fragment in fragments]
    return [[comparison.similarity((end, beginning))[0].numpy() for _, beginning in embedded] for end, _ in embedded]


def _embed(model: keras.Model, fragment: np.ndarray, window: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The embeddings of a fragment's end and beginning: [1, T, C] each."""
    sides = [fragment[-window:], fragment[:window]] if window else [fragment]
    found = embed(model, tf.constant(np.stack(sides)[None, None], tf.float32), padded=False)
    return found.ends[0], found.beginnings[0]
