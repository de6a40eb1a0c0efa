"""Labelled pairs of fragments, as the paper defines them (section "Problem Formulation")."""

from enum import IntEnum
from typing import NamedTuple


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
