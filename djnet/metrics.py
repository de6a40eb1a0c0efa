"""How good an order is: the paper's two accuracies and three more."""

from collections.abc import Sequence

import numpy as np


def validate(order: Sequence[int], truth: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Two orders of the same pieces, as arrays; a ValueError says what is wrong with them."""
    found, expected = np.asarray(order), np.asarray(truth)
    if found.ndim != 1 or found.shape != expected.shape or len(found) < 2:
        raise ValueError(f"Two orders of the same two or more pieces are needed, got {order} and {truth}.")
    if len(set(found.tolist())) != len(found) or set(found.tolist()) != set(expected.tolist()):
        raise ValueError(f"An order names every piece once, got {order} for {truth}.")
    return found, expected


def pairwise_accuracy(order: Sequence[int], truth: Sequence[int]) -> float:
    """Share of the n - 1 joins of an order that are right."""
    found, expected = validate(order, truth)
    right = set(zip(expected[:-1].tolist(), expected[1:].tolist(), strict=True))
    return float(np.mean([pair in right for pair in zip(found[:-1].tolist(), found[1:].tolist(), strict=True)]))


def global_accuracy(order: Sequence[int], truth: Sequence[int]) -> float:
    """1 if the whole order is right, else 0."""
    found, expected = validate(order, truth)
    return float(np.array_equal(found, expected))


def kendall_tau(order: Sequence[int], truth: Sequence[int]) -> float:
    """Agreement of all pairs' directions, adjacent or not: 1 for the same order, -1 for the reverse."""
    found, expected = validate(order, truth)
    places = {piece: i for i, piece in enumerate(expected.tolist())}
    ranks = np.array([places[piece] for piece in found.tolist()])
    signs = np.sign(ranks[None, :] - ranks[:, None])[np.triu_indices(len(ranks), 1)]
    return float(signs.mean())


def longest_run(order: Sequence[int], truth: Sequence[int]) -> float:
    """The longest stretch of pieces that follow each other as in the truth, as a share of all pieces."""
    found, expected = validate(order, truth)
    follows = dict(zip(expected[:-1].tolist(), expected[1:].tolist(), strict=True))
    longest = length = 1
    for before, after in zip(found[:-1].tolist(), found[1:].tolist(), strict=True):
        length = length + 1 if follows.get(before) == after else 1
        longest = max(longest, length)
    return longest / len(found)


def position_error(order: Sequence[int], truth: Sequence[int]) -> float:
    """How far a piece is from its place on average, as a share of the greatest distance, n - 1."""
    found, expected = validate(order, truth)
    places = {piece: i for i, piece in enumerate(expected.tolist())}
    distances = [abs(i - places[piece]) for i, piece in enumerate(found.tolist())]
    return float(np.mean(distances)) / (len(found) - 1)


def evaluate(order: Sequence[int], truth: Sequence[int]) -> dict[str, float]:
    """All of the above by name."""
    metrics = (pairwise_accuracy, global_accuracy, kendall_tau, longest_run, position_error)
    return {metric.__name__: metric(order, truth) for metric in metrics}
