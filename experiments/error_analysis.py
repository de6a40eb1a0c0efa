"""What goes wrong: the order of sections in sequencing, the shape of wrong answers to jigsaws, and which music is hard.

`sequencing_errors.csv` has a row a song, `sequencing_confusions.csv` counts which section was put where which other one
belongs, and `sequencing_errors.txt` is for reading. `jigsaw_errors.csv` has a row for each row of table 3,
`packages.csv` one for each package (or folder) of tracks and each size of puzzle.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from djnet import metrics
from djnet.files import whole_file
from experiments.evaluation import Evaluation, Played
from experiments.predictions import Answer
from experiments.tables import CELLS, KEY, SETTING, VARIANT, Cell, save

_SHOWN = 12
ANSWERS = ("solved", "rotated", "neighbours_exchanged", "one_piece_misplaced", "otherwise_wrong")
JOINS = ("joins_back", "joins_skip", "joins_elsewhere")
PACKAGE_METHODS = ("continuity", "click", "cin", "sen", VARIANT)
PACKAGE_SIZES = (3, 8)
Rows = Sequence[dict[str, Any]]


def write_sequencing(folder: Path, evaluation: Evaluation, cells: Sequence[Cell], rows: Rows) -> Path | None:
    """Write the errors of the last SEN that plays sequencing: -> the file to read; None if none could play."""
    for cell, row in reversed(list(zip(cells, rows, strict=True))):
        if (cell.game, cell.method) == ("sequencing", "sen") and cell in evaluation.played:
            played, setting = evaluation.played[cell], {name: row[name] for name in SETTING}
            songs, confusions = sequencing_errors(played)
            counts = pd.DataFrame(
                [(*pair, count) for pair, count in confusions.most_common()], columns=["right", "predicted", "count"]
            )
            save(folder / "sequencing_errors.csv", songs.assign(**setting))
            save(folder / "sequencing_confusions.csv", counts.assign(**setting))
            path = folder / "sequencing_errors.txt"
            title = f"Sequencing by {cell.method}, trained on {cell.segmentation} cuts"
            with whole_file(path) as partial:
                partial.write_text(in_words(title, songs, confusions, setting), encoding="utf-8")
            return path
    return None


def sequencing_errors(played: Played) -> tuple[pd.DataFrame, Counter[tuple[str, str]]]:
    """A row a song, and how often a section (right, predicted) was put in the place of another."""
    rows, confusions = [], Counter[tuple[str, str]]()
    for answer in played.answers:
        names = [short_label(label) for label in played.labels[answer.puzzle]]
        places = {piece: i + 1 for i, piece in enumerate(answer.truth)}
        runs = correct_runs(answer.order, answer.truth)
        right, predicted = ([names[piece] for piece in order] for order in (answer.truth, answer.order))
        rows.append(
            {
                "song": answer.puzzle,
                "sections": len(answer.truth),
                "right": "-".join(right),
                "predicted": "-".join(predicted),
                "predicted_places": "-".join(str(places[piece]) for piece in answer.order),
                "solved": int(answer.order == answer.truth),
                "in_labels": int(right == predicted),
                "pairwise": round(metrics.pairwise_accuracy(answer.order, answer.truth), 4),
                "runs": len(runs),
                "in_runs": round(sum(length for length in runs if length > 1) / len(answer.truth), 4),
                "longest_run": round(metrics.longest_run(answer.order, answer.truth), 4),
            }
        )
        follows = dict(pairwise(answer.truth))
        for before, after in pairwise(answer.order):
            if before in follows and follows[before] != after:
                confusions[names[follows[before]][0], names[after][0]] += 1  # without the variant: Va and Vb are V
    return pd.DataFrame(rows), confusions


def short_label(label: str) -> str:
    """A section's name as the paper writes it: "verse A" -> "Va", "intro" -> "I", "pre-chorus" -> "Cpre"."""
    words = label.replace('"', "").split()
    if not words:
        return "?"
    prefix, _, name = words[0].lower().rpartition("-")
    variant = "".join(word.lower() for word in words[1:] if re.fullmatch(r"\w{1,2}", word))
    return (name or "?")[0].upper() + prefix + variant


def correct_runs(order: Sequence[int], truth: Sequence[int]) -> list[int]:
    """Lengths of the stretches of an order that follow each other as in the truth."""
    follows = dict(pairwise(truth))
    lengths = [1]
    for before, after in pairwise(order):
        if follows.get(before) == after:
            lengths[-1] += 1
        else:
            lengths.append(1)
    return lengths


def in_words(title: str, songs: pd.DataFrame, confusions: Counter[tuple[str, str]], setting: dict[str, Any]) -> str:
    """The errors of sequencing for reading."""
    wrong = songs[songs.solved == 0]
    lines = [
        f"{title}: {len(songs)} songs, {len(songs) - len(wrong)} solved, {len(wrong)} not.",
        ", ".join(f"{name} {value}" for name, value in setting.items()),
        "",
    ]
    if len(wrong):
        lines += [
            f"Of the songs not solved, {int((wrong.in_labels == 1).sum())} have the right order of section labels with "
            "like sections exchanged;",
            f"{wrong.in_runs.mean():.0%} of their sections stand in runs of two or more that are right,",
            f"the longest such run holds {wrong.longest_run.mean():.0%} of a song.",
            "",
            "Wrong joins, by what should have come and what was put there:",
            *[
                f"  {right} -> {put}: {count}" + ("  (one for another of its kind)" if right == put else "")
                for (right, put), count in confusions.most_common(_SHOWN)
            ],
            "",
            "Songs, right above predicted, places below:",
        ]
    for row in wrong.head(_SHOWN).itertuples(index=False):
        lines += ["", f"  {row.song}", f"    {row.right}", f"    {row.predicted}", f"    {row.predicted_places}"]
    return "\n".join(lines) + "\n"


def jigsaw_errors(evaluation: Evaluation, rows: Rows) -> list[dict[str, Any]]:
    """What wrong answers look like: a row for every row of table 3 that was played.

    An answer is solved, or rotated (the end of the music put before its beginning), or has two neighbours in exchanged
    places, or one piece in a wrong place, or is wrong in some other way. A wrong join leads one step back (the paper's
    R2R1), skips a piece (R1R3), or leads elsewhere.
    """
    made_with = (*KEY, "puzzles", "commit", "trained_commit")
    return [
        {name: row[name] for name in made_with} | shares_of_errors(evaluation.played[cell].answers)
        for cell, row in zip(CELLS["3"], rows, strict=True)
        if cell in evaluation.played
    ]


def shares_of_errors(answers: Sequence[Answer]) -> dict[str, float]:
    """Shares of all answers by what they look like, and of all wrong joins by where they lead."""
    kinds, joins = Counter[str](), Counter[str]()
    for answer in answers:
        where = {piece: i for i, piece in enumerate(answer.truth)}
        places = [where[piece] for piece in answer.order]
        kinds[kind_of(places)] += 1
        steps = [b - a for a, b in pairwise(places) if b - a != 1]
        joins.update({-1: "joins_back", 2: "joins_skip"}.get(step, "joins_elsewhere") for step in steps)
    shares = {name: kinds[name] / len(answers) for name in ANSWERS}
    shares |= {name: joins[name] / max(joins.total(), 1) for name in JOINS}
    return {name: round(share, 4) for name, share in shares.items()}


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


def write_packages(folder: Path, evaluation: Evaluation, rows: Rows) -> Path | None:
    """Write which music is hard, by package, from the rows of table 3 with equal cuts; None if none was played."""
    tables = []
    for n in PACKAGE_SIZES:
        solved: dict[str, np.ndarray] = {}
        for cell, row in zip(CELLS["3"], rows, strict=True):
            is_wanted = (cell.segmentation, cell.n) == ("fixed", n) and cell.method in PACKAGE_METHODS
            if is_wanted and cell in evaluation.played:
                played, setting = evaluation.played[cell], {name: row[name] for name in SETTING}
                solved[cell.method] = played.solved
        if solved:
            table = pd.DataFrame({"package": played.groups, "n": n, "puzzles": 1}).assign(
                undecidable=(~played.decidable).astype(int), **solved
            )
            how = {"n": "first", "puzzles": "sum", "undecidable": "sum", **dict.fromkeys(solved, "mean")}
            table = table.groupby("package", as_index=False).agg(how).round(4).assign(**setting)
            tables.append(table.sort_values(["puzzles", "package"], ascending=[False, True]))
    if not tables:
        return None
    path = folder / "packages.csv"
    save(path, pd.concat(tables, ignore_index=True))
    return path
