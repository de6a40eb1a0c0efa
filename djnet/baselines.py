"""Orders without learning, to compare with: chance, and two kinds of continuity across a join."""

import numpy as np

from djnet.puzzles import Puzzle
from djnet.rng import rng_for

PREDICTION_ORDER = 32


def random(puzzle: Puzzle) -> np.ndarray:
    """Scores drawn at random, the same ones for the same puzzle: -> float [n, n]."""
    n = len(puzzle.fragments)
    return rng_for(0, "chance", puzzle.id, n).random((n, n))


def continuity(puzzle: Puzzle) -> np.ndarray:
    """Minus the distance from the last frame of one piece to the first frame of the next: -> float [n, n]."""
    ends = np.stack([piece[-1] for piece in puzzle.fragments]).astype(np.float64)
    beginnings = np.stack([piece[0] for piece in puzzle.fragments]).astype(np.float64)
    return -np.linalg.norm(ends[:, None] - beginnings[None], axis=-1)


def click(puzzle: Puzzle) -> np.ndarray:
    """How well the waveform of one piece predicts the first samples of the next: -> float [n, n].

    Linear prediction, fitted to the end of the first piece by least squares. A wrong join clicks: its error is large.
    Minus the log of the error, relative to the error within the first piece.
    """
    scores = np.zeros((len(puzzle.edges), len(puzzle.edges)))
    for i, first in enumerate(puzzle.edges):
        end = first.end.astype(np.float64) + 1e-6 * rng_for(0, "dither").standard_normal(len(first.end))
        past, wanted = _history(end)
        weights = np.linalg.solve(past.T @ past, past.T @ wanted)
        own = np.square(wanted - past @ weights).mean()
        for j, second in enumerate(puzzle.edges):
            past, wanted = _history(np.concatenate([end[-PREDICTION_ORDER:], second.beginning]))
            scores[i, j] = -np.log(np.square(wanted - past @ weights).mean() / own)
    return scores


def _history(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each sample is predicted from, and the sample: [N] -> [N - 32, 32], [N - 32]."""
    past = np.lib.stride_tricks.sliding_window_view(samples, PREDICTION_ORDER)[:-1]
    return past, samples[PREDICTION_ORDER:]


REFERENCES = {"random": random, "continuity": continuity, "click": click}
