"""How good an order is: the paper's two accuracies and three more."""

from collections.abc import Sequence

import numpy as np


def validate(order: Sequence[int], truth: Sequence[int]) -> np.ndarray:
    """Check two orders of the same n pieces: -> int [n], the place in the truth of each piece of the order."""
    if np.ndim(order) != 1 or np.shape(order) != np.shape(truth) or len(order) < 2:
        raise ValueError(f"Two orders of the same two or more pieces are needed, got {order} and {truth}.")
    places = {piece: place for place, piece in enumerate(truth)}
    if len(set(order)) < len(order) or set(order) != set(places):
        raise ValueError(f"An order names every piece once, got {order} for {truth}.")
    return np.array([places[piece] for piece in order])


def pairwise_accuracy(order: Sequence[int], truth: Sequence[int]) -> float:
    """Share of the n - 1 joins of an order that are right."""
    return float(np.mean(np.diff(validate(order, truth)) == 1))


def global_accuracy(order: Sequence[int], truth: Sequence[int]) -> float:
    """1 if the whole order is right, else 0."""
    return float(np.all(np.diff(validate(order, truth)) == 1))


def kendall_tau(order: Sequence[int], truth: Sequence[int]) -> float:
    """Kendall's rank correlation: 1 for the same order, -1 for the reverse."""
    places = validate(order, truth)
    return float(np.sign(places[None, :] - places[:, None])[np.triu_indices(len(places), 1)].mean())


def longest_run(order: Sequence[int], truth: Sequence[int]) -> float:
    """The longest run of pieces that follow each other as in the truth, as a share of all pieces."""
    wrong_joins = np.flatnonzero(np.diff(validate(order, truth)) != 1)
    return float(np.diff([-1, *wrong_joins, len(order) - 1]).max()) / len(order)


def position_error(order: Sequence[int], truth: Sequence[int]) -> float:
    """Mean distance of a piece from its place, as a share of the greatest distance, n - 1."""
    places = validate(order, truth)
    return float(np.mean(np.abs(places - np.arange(len(places))))) / (len(places) - 1)


def evaluate(order: Sequence[int], truth: Sequence[int]) -> dict[str, float]:
    """All of the above by name."""
    metrics = (pairwise_accuracy, global_accuracy, kendall_tau, longest_run, position_error)
    return {metric.__name__: metric(order, truth) for metric in metrics}
