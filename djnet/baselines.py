"""Orders without learning, to compare with: chance, and the continuity of the spectrum across a join."""

import numpy as np

from djnet.puzzles import Puzzle
from djnet.rng import rng_for


def continuity(puzzle: Puzzle) -> np.ndarray:
    """Minus the distance from the last frame of one piece to the first frame of the next: -> float [n, n]."""
    ends = np.stack([piece[-1] for piece in puzzle.fragments]).astype(np.float64)
    beginnings = np.stack([piece[0] for piece in puzzle.fragments]).astype(np.float64)
    return -np.linalg.norm(ends[:, None] - beginnings[None], axis=-1)


def chance(puzzle: Puzzle) -> np.ndarray:
    """Scores drawn at random, the same ones for the same puzzle: -> float [n, n]."""
    n = len(puzzle.fragments)
    return rng_for(0, "chance", puzzle.id, n).random((n, n))
