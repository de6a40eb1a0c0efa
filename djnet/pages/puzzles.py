"""Puzzles as the page's scripts take them: where pieces lie in the sound, how they are shuffled, answers and scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from djnet import constants
from djnet.cuts import (
    SHORTEST_HOPS,
    cut_fragments,
    downbeat_cuts,
    downbeat_hops,
    equal_cuts,
    spans_between,
    without_last_bars,
)
from djnet.ordering import best_order
from djnet.puzzles import Puzzle
from djnet.records import Clip
from djnet.rng import rng_for

Score = Callable[[Sequence[np.ndarray]], np.ndarray]  # how well pieces follow: list of [t_i, 128] -> [n, n]
SIZES = (3, 4, 5, 6, 7, 8)
# How a clip is cut, the easiest first, and which network plays: equal pieces, from downbeat to downbeat, and the same
# with the last bar of every piece left out.
LEVELS = {"fixed": "fixed", "downbeat": "downbeat", "bar": "medley"}
_TRIES = 20


def choose_spans(clip: Clip, level: str, n: int) -> np.ndarray | None:
    """Where n pieces of a clip begin and end, in hops: -> int [n, 2], or nothing if it has too few downbeats.

    As its record says, or, for numbers of pieces that are not in it, by the same rules.
    """
    if level == "bar":
        return _without_bars(clip, n)
    if recorded := clip.segmentations.get(f"{level}/{n}"):
        return spans_between(recorded.cuts)
    if level == "fixed":
        return spans_between(clip.offset + equal_cuts(constants.CLIP_HOPS, n))
    cuts = downbeat_cuts(_downbeats(clip), n, rng_for(0, "play", clip.id, n))
    return None if cuts is None else spans_between(cuts)


def _without_bars(clip: Clip, n: int) -> np.ndarray | None:
    """Pieces from downbeat to downbeat whose last bar is left out, each at least a bar long: -> int [n, 2]."""
    downbeats = _downbeats(clip)
    for attempt in range(_TRIES):
        cuts = downbeat_cuts(downbeats, n, rng_for(0, "play without bars", clip.id, n, attempt))
        if cuts is None:
            return None
        spans = without_last_bars(spans_between(cuts), downbeats)
        if np.diff(spans).min() >= SHORTEST_HOPS:
            return spans
    return None


def _downbeats(clip: Clip) -> np.ndarray:
    return np.unique(downbeat_hops(clip.beats, clip.offset, clip.offset + constants.CLIP_HOPS))


def puzzle_of(clip: Clip, spans: np.ndarray) -> Puzzle:
    """Pieces of a clip, int [n, 2] in hops, shuffled."""
    return Puzzle.shuffled(clip.id, cut_fragments(clip.waveform, spans))


def to_play(clip: Clip, level: str, spans: np.ndarray, score: Score) -> dict[str, Any]:
    """Pieces of a clip, int [n, 2] in hops, as a puzzle for people, with SEN's answer; `level` says how it was cut."""
    puzzle, n = puzzle_of(clip, spans), len(spans)
    scores = score(puzzle.fragments)
    answered = page_data(puzzle, to_seconds(spans), {"SEN": best_order(scores).order}, scores)
    return answered | {"id": f"{level}/{n}/{clip.id}", "cut": level, "n": n}


def page_data(
    puzzle: Puzzle, spans: np.ndarray, orders: Mapping[str, Sequence[int]], scores: np.ndarray | None
) -> dict[str, Any]:
    """A puzzle whose pieces lie at some seconds of its sound, [n, 2], the orders given by name, and SEN's scores."""
    return {
        "id": puzzle.id,
        "spans": np.round(spans.astype(float), 5).tolist(),
        "truth": list(puzzle.truth),
        "answers": [{"name": name, "order": [int(piece) for piece in order]} for name, order in orders.items()],
        "scores": None if scores is None else np.round(scores.astype(float), 3).tolist(),
    }


def to_seconds(hops: np.ndarray) -> np.ndarray:
    """Hops of a record -> seconds of its sound."""
    return hops * (constants.HOP_SAMPLES / constants.SAMPLE_RATE_HZ)


def sound_span(clip: Clip) -> tuple[float, float]:
    """The part of the track that a record covers: start and length in seconds."""
    return clip.start, constants.hops_to_seconds(clip.hops)
