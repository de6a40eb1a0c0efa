"""Puzzles as the page's scripts take them: where the sound is cut, how pieces are shuffled, answers and scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from djnet import constants
from djnet.cuts import downbeat_cuts, downbeat_hops, equal_cuts
from djnet.ordering import best_order
from djnet.puzzles import Puzzle
from djnet.records import Clip
from djnet.rng import rng_for

Score = Callable[[Sequence[np.ndarray]], np.ndarray]  # how well pieces follow: list of [t_i, 128] -> [n, n]
SIZES = (3, 4, 5, 6, 7, 8)


def choose_cuts(clip: Clip, cut: str, n: int) -> np.ndarray | None:
    """Where to cut a clip, in hops: -> int [n + 1], or nothing if it has too few downbeats.

    As its record says, or, for numbers of pieces that are not in it, by the same rules.
    """
    if recorded := clip.segmentations.get(f"{cut}/{n}"):
        return recorded.cuts
    if cut == "fixed":
        return clip.offset + equal_cuts(constants.CLIP_HOPS, n)
    downbeats = downbeat_hops(clip.beats, clip.offset, clip.offset + constants.CLIP_HOPS)
    return downbeat_cuts(downbeats, n, rng_for(0, "play", clip.id, n))


def puzzle_of(clip: Clip, cuts: np.ndarray) -> Puzzle:
    """A clip cut at some hops, [n + 1], into shuffled pieces."""
    return Puzzle.shuffled(clip.id, clip.fragments(cuts))


def to_play(clip: Clip, cut: str, cuts: np.ndarray, score: Score) -> dict[str, Any]:
    """A clip cut at some hops, [n + 1], as a puzzle for people, with SEN's answer; `cut` says how it was cut."""
    puzzle, n = puzzle_of(clip, cuts), len(cuts) - 1
    scores = score(puzzle.fragments)
    answered = page_data(puzzle, to_seconds(cuts), {"SEN": best_order(scores).order}, scores)
    return answered | {"id": f"{cut}/{n}/{clip.id}", "cut": cut, "n": n}


def page_data(
    puzzle: Puzzle, cuts: Sequence[float], orders: Mapping[str, Sequence[int]], scores: np.ndarray | None
) -> dict[str, Any]:
    """A puzzle cut at some seconds of its sound, [n + 1], the orders given by name, and SEN's scores, [n, n]."""
    return {
        "id": puzzle.id,
        "cuts": list(cuts),
        "truth": list(puzzle.truth),
        "answers": [{"name": name, "order": [int(piece) for piece in order]} for name, order in orders.items()],
        "scores": None if scores is None else np.round(scores.astype(float), 3).tolist(),
    }


def to_seconds(hops: np.ndarray) -> list[float]:
    """Cuts in hops of a record -> seconds of its sound."""
    return [round(constants.hops_to_seconds(int(hop)), 5) for hop in hops]


def sound_span(clip: Clip) -> tuple[float, float]:
    """The part of the track that a record covers: start and length in seconds."""
    return clip.start, constants.hops_to_seconds(clip.hops)
