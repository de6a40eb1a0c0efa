"""Every puzzle's scores and order in a CSV file, so that metrics can be computed again without the networks.

The first line holds, behind a hash sign, what the answers were made with.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from djnet.errors import UserError
from djnet.files import read_csv, whole_file

_COLUMNS = ["puzzle", "truth", "order", "scores"]


@dataclass(frozen=True)
class Answer:
    """A method's answer to one puzzle; list-wise methods have no scores."""

    puzzle: str
    truth: tuple[int, ...]
    order: tuple[int, ...]
    scores: np.ndarray | None = None  # [n, n]


def file_name(key: dict[str, Any]) -> str:
    """A name for the answers of one cell."""
    return "-".join(re.sub(r"[^\w.+-]+", "_", str(value)) for value in key.values() if str(value)) + ".csv"


def write(path: Path, about: dict[str, Any], answers: Sequence[Answer]) -> None:
    """Write the answers of a cell, whole or not at all."""
    rows = []
    for answer in answers:
        scores = () if answer.scores is None else (f"{score:.5g}" for score in answer.scores.ravel())
        rows.append((answer.puzzle, _joined(answer.truth), _joined(answer.order), _joined(scores)))
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial, open(partial, "w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        out.write(f"# {json.dumps(about)}\n")
        pd.DataFrame(rows, columns=_COLUMNS).to_csv(out, index=False)


def read(path: Path) -> tuple[dict[str, Any], list[Answer]]:
    """What `write` wrote; a UserError names the file and the line that is wrong."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        first = file.readline()
    try:
        about = dict(json.loads(first.removeprefix("# ")))
    except (ValueError, TypeError, RecursionError):
        raise UserError(f"{path}, line 1: does not say what the predictions were made with.") from None
    answers = []
    for line, row in enumerate(read_csv(path, _COLUMNS, skip=1), 3):
        try:
            truth, order = (tuple(map(int, row[name].split())) for name in ("truth", "order"))
            scores = np.array(row["scores"].split(), float).reshape(len(truth), -1) if row["scores"] else None
        except ValueError as error:
            raise UserError(f"{path}, line {line}: {str(error)[:200]}") from None
        answers.append(Answer(row["puzzle"], truth, order, scores))
    return about, answers


def _joined(values: Iterable[Any]) -> str:
    return " ".join(map(str, values))
