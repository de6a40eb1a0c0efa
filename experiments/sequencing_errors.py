"""What goes wrong in sequencing, as the paper looks at it: the predicted order in section labels.

`sequencing_errors.csv` has a row a song, `sequencing_confusions.csv` counts which section was put where which other one
belongs, and `sequencing_errors.txt` is for reading.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from djnet import metrics
from djnet.files import whole_file
from experiments.evaluation import Arena
from experiments.predictions import Answer
from experiments.tables import SETTING, Cell

_SHOWN = 12


@dataclass(frozen=True)
class Analysis:
    """A row for every song, and how often a wrong next section is of some kind: (right, predicted) -> count."""

    method: str
    songs: pd.DataFrame
    confusions: Counter[tuple[str, str]]
    setting: dict[str, Any] = field(default_factory=dict)  # what it was made with, as in the tables


def analyse(arena: Arena, cells: Sequence[Cell], rows: Sequence[dict[str, Any]]) -> Analysis | None:
    """The errors of the last SEN of some cells, with their rows, that plays sequencing; nothing if none could."""
    for cell, row in reversed(list(zip(cells, rows, strict=True))):
        if (cell.game, cell.method) == ("sequencing", "sen") and (answers := arena.answers(cell)) is not None:
            labels = {puzzle.id: puzzle.labels for puzzle in arena.game(cell).puzzles}
            found = _analysis(f"{cell.method}, trained on {cell.segmentation} cuts", answers, labels)
            return replace(found, setting={name: row[name] for name in SETTING})
    return None


def _analysis(method: str, answers: Sequence[Answer], labels: dict[str, tuple[str, ...]]) -> Analysis:
    rows, confusions = [], Counter[tuple[str, str]]()
    for answer in answers:
        names = [short_label(label) for label in labels[answer.puzzle]]
        places = {piece: i + 1 for i, piece in enumerate(answer.truth)}
        runs = correct_runs(answer.order, answer.truth)
        rows.append(
            {
                "song": answer.puzzle,
                "sections": len(answer.truth),
                "right": "-".join(names[piece] for piece in answer.truth),
                "predicted": "-".join(names[piece] for piece in answer.order),
                "predicted_places": "-".join(str(places[piece]) for piece in answer.order),
                "solved": int(metrics.global_accuracy(answer.order, answer.truth)),
                "in_labels": int([names[p] for p in answer.order] == [names[p] for p in answer.truth]),
                "pairwise": round(metrics.pairwise_accuracy(answer.order, answer.truth), 4),
                "runs": len(runs),
                "in_runs": round(sum(length for length in runs if length > 1) / len(answer.truth), 4),
                "longest_run": round(metrics.longest_run(answer.order, answer.truth), 4),
            }
        )
        follows = dict(pairwise(answer.truth))
        for before, after in pairwise(answer.order):
            if before in follows and follows[before] != after:
                confusions[family(names[follows[before]]), family(names[after])] += 1
    return Analysis(method, pd.DataFrame(rows), confusions)


def short_label(label: str) -> str:
    """A section's name as the paper writes it: "verse A" -> "Va", "intro" -> "I", "pre-chorus" -> "Cpre"."""
    words = label.replace('"', "").split()
    if not words:
        return "?"
    prefix, _, name = words[0].lower().rpartition("-")
    variant = "".join(word.lower() for word in words[1:] if re.fullmatch(r"\w{1,2}", word))
    return (name or "?")[0].upper() + prefix + variant


def family(short: str) -> str:
    """A label without its variant: "Va" and "Vb" are both "V"."""
    return short[0]


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


def write(folder: Path, analysis: Analysis) -> Path:
    """Write the three files: -> the one to read."""
    counted = pd.DataFrame(
        [(right, found, count) for (right, found), count in analysis.confusions.most_common()],
        columns=["right", "predicted", "count"],
    )
    for name, table in (("errors", analysis.songs), ("confusions", counted)):
        with whole_file(folder / f"sequencing_{name}.csv") as partial:
            table.assign(**analysis.setting).to_csv(partial, index=False)
    path = folder / "sequencing_errors.txt"
    with whole_file(path) as partial:
        partial.write_text(text(analysis), encoding="utf-8")
    return path


def text(analysis: Analysis) -> str:
    """What is to be said about the errors, in words."""
    songs = analysis.songs
    wrong = songs[songs.solved == 0]
    same = int((wrong.in_labels == 1).sum())
    lines = [
        f"Sequencing by {analysis.method}: {len(songs)} songs, {len(songs) - len(wrong)} solved, {len(wrong)} not.",
        ", ".join(f"{name} {value}" for name, value in analysis.setting.items()),
        "",
    ]
    if len(wrong):
        lines += [
            f"Of the songs not solved, {same} have the right order of section labels with like sections exchanged;",
            f"{wrong.in_runs.mean():.0%} of their sections stand in runs of two or more that are right,",
            f"the longest such run holds {wrong.longest_run.mean():.0%} of a song.",
            "",
            "Wrong joins, by what should have come and what was put there:",
            *[
                f"  {right} -> {found}: {count}" + ("  (one for another of its kind)" if right == found else "")
                for (right, found), count in analysis.confusions.most_common(_SHOWN)
            ],
            "",
            "Songs, right above predicted, places below:",
        ]
    for row in wrong.head(_SHOWN).itertuples(index=False):
        lines += ["", f"  {row.song}", f"    {row.right}", f"    {row.predicted}", f"    {row.predicted_places}"]
    return "\n".join(lines) + "\n"
