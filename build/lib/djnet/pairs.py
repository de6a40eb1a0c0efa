"""Labelled pairs of fragments, as the paper defines them (section "Problem Formulation"), triplets and orders."""

from collections.abc import Collection, Sequence
from enum import IntEnum
from itertools import permutations
from typing import NamedTuple

import numpy as np

# All orders of three fragments. OPN's class k means that the fragments were given in the order ORDERS[k].
ORDERS = tuple(permutations(range(3)))
LISTWISE = ("tsn", "opn")  # models that look at three fragments at once


class Kind(IntEnum):
    """The paper's names for its four kinds of pairs; only R1R2 is positive."""

    R1R2 = 0
    R2R1 = 1
    R1R3 = 2
    R3R1 = 3


class Pair(NamedTuple):
    """Does fragment `second` follow fragment `first`? The answer is `label`."""

    first: int
    second: int
    label: int
    kind: Kind


def pairs_of(n: int) -> list[Pair]:
    """All labelled pairs of n fragments in their true order: n - 1 positive and 3 n - 5 negative ones."""
    if n < 3:
        raise ValueError(f"Pairs of all four kinds need at least 3 fragments, got {n}.")
    steps = {Kind.R1R2: (0, 1), Kind.R2R1: (1, 0), Kind.R1R3: (0, 2), Kind.R3R1: (2, 0)}
    return [
        Pair(i + first, i + second, int(kind is Kind.R1R2), kind)
        for kind, (first, second) in steps.items()
        for i in range(n - max(first, second))
    ]


class Questions(NamedTuple):
    """What a network is asked about the fragments of a clip: `fragments` [Q, 2 or 3], and the right `answers` [Q]."""

    fragments: np.ndarray
    answers: np.ndarray


def questions_for(model: str, pairs: Sequence[Pair], kinds: Collection[Kind] = tuple(Kind)) -> Questions:
    """The training questions of a model, from the labelled pairs of its clips.

    Pairs of the given kinds; for TSN all orders of three fragments, of which one is right; for OPN all orders, each
    with its own answer.
    """
    if model in LISTWISE:
        if (n := 1 + max(pair.first for pair in pairs)) != 3:
            raise ValueError(f"{model} compares three fragments, not {n}.")
        answers = range(len(ORDERS)) if model == "opn" else [int(order == ORDERS[0]) for order in ORDERS]
        return Questions(np.array(ORDERS), np.array(answers))
    if Kind.R1R2 not in kinds or len(kinds) < 2:
        raise ValueError(f"Training needs R1R2 and a kind of negative pairs, got {[kind.name for kind in kinds]}.")
    chosen = [pair for pair in pairs if pair.kind in kinds]
    return Questions(np.array([pair[:2] for pair in chosen]), np.array([pair.label for pair in chosen]))
