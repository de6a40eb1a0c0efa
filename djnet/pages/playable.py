"""Puzzles as the page plays them: where to cut a sound, how its pieces are shuffled, who answers what."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from djnet import constants
from djnet.cuts import cut_frames, downbeat_cuts, downbeat_hops, equal_cuts
from djnet.ordering import best_order
from djnet.puzzles import Puzzle
from djnet.records import Clip
from djnet.rng import rng_for

Scores = Callable[[Sequence[np.ndarray]], np.ndarray]  # how well pieces follow: list of [t_i, 128] -> [n, n]
SIZES = (3, 4, 5, 6, 7, 8)


def cuts_of(clip: Clip, cut: str, n: int) -> np.ndarray | None:
    """Where to cut a clip: as its record says, or, for numbers of pieces that are not in it, by the same rules."""
    if recorded := clip.segmentations.get(f"{cut}/{n}"):
        return recorded.cuts
    if cut == "fixed":
        return clip.offset + equal_cuts(constants.CLIP_HOPS, n)
    downbeats = downbeat_hops(clip.beats, hops_of(clip))
    return downbeat_cuts(downbeats, n, rng_for(0, "play", clip.id, n))


def puzzle_of(clip: Clip, cuts: np.ndarray) -> Puzzle:
    """A clip cut into shuffled pieces."""
    return Puzzle.shuffled(clip.id, [piece.astype(np.float32) for piece in cut_frames(clip.mel, cuts)])


def play_with(clip: Clip, sound: str, cut: str, n: int, score: Scores) -> dict[str, Any] | None:
    """A clip as a game for people and SEN, or nothing if it cannot be cut this way."""
    cuts = cuts_of(clip, cut, n)
    if cuts is None:
        return None
    puzzle = puzzle_of(clip, cuts)
    scores = score(puzzle.fragments)
    return {
        "id": f"{cut}/{n}/{clip.id}",
        "cut": cut,
        "n": n,
        "sound": sound,
        "cuts": seconds_of(cuts),
        "truth": list(puzzle.truth),
        "scores": rounded(scores),
        "answers": [answer("SEN", best_order(scores).order)],
    }


def answer(name: str, order: Sequence[int]) -> dict[str, Any]:
    """Somebody's order."""
    return {"name": name, "order": [int(piece) for piece in order]}


def seconds_of(hops: np.ndarray) -> list[float]:
    """Cuts in hops of a record -> seconds of its sound."""
    return [round(constants.hops_to_seconds(int(hop)), 5) for hop in hops]


def rounded(scores: np.ndarray) -> list[list[float]]:
    """A score matrix as short numbers."""
    return [[round(float(score), 3) for score in row] for row in scores]


def hops_of(clip: Clip) -> int:
    """How long the music of a record is; its last frames are windows of several hops."""
    return len(clip.mel) + constants.WINDOW_HOPS - 1


def sound_span(clip: Clip) -> tuple[float, float]:
    """The part of the track that a record covers: start and length in seconds."""
    return clip.start, constants.hops_to_seconds(hops_of(clip))
