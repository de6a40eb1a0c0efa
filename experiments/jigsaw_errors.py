"""What wrong answers to jigsaws look like: `jigsaw_errors.csv`, a row for each row of table 3 that was played.

An answer is solved, or rotated (the end of the music put before its beginning), or has two neighbours in exchanged
places, or one piece in a wrong place, or is wrong in some other way. A wrong join leads one step back (the paper's
R2R1), skips a piece (R1R3), or leads elsewhere.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from experiments.evaluation import Arena
from experiments.predictions import Answer
from experiments.tables import CELLS, KEY

ANSWERS = ("solved", "rotated", "neighbours_exchanged", "one_piece_misplaced", "otherwise_wrong")
JOINS = ("joins_back", "joins_skip", "joins_elsewhere")


def kind_of(places: Sequence[int]) -> str:
    """What an answer looks like: the true places of its pieces, in the order of the answer."""
    n, places = len(places), list(places)
    right = list(range(n))
    if places == right:
        return "solved"
    if all((b - a) % n == 1 for a, b in pairwise(places)):
        return "rotated"
    wrong = [i for i in right if places[i] != i]
    if len(wrong) == 2 and wrong[1] - wrong[0] == 1:
        return "neighbours_exchanged"
    if any([p for p in places if p != piece] == [p for p in right if p != piece] for piece in right):
        return "one_piece_misplaced"
    return "otherwise_wrong"


def count(answers: Sequence[Answer]) -> dict[str, float]:
    """Shares of all answers by what they look like, and of all wrong joins by where they lead."""
    looks, joins = Counter[str](), Counter[str]()
    for answer in answers:
        where = {piece: i for i, piece in enumerate(answer.truth)}
        places = [where[piece] for piece in answer.order]
        looks[kind_of(places)] += 1
        steps = [b - a for a, b in pairwise(places) if b - a != 1]
        joins.update({-1: "joins_back", 2: "joins_skip"}.get(step, "joins_elsewhere") for step in steps)
    shares = {name: looks[name] / len(answers) for name in ANSWERS}
    shares |= {name: joins[name] / max(joins.total(), 1) for name in JOINS}
    return {name: round(share, 4) for name, share in shares.items()}


def summary(arena: Arena, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for every row of table 3 that was played."""
    made_with = (*KEY, "puzzles", "commit", "trained_commit")
    return [
        {name: row[name] for name in made_with} | count(answers)
        for cell, row in zip(CELLS["3"], rows, strict=True)
        if (answers := arena.answers(cell)) is not None
    ]
