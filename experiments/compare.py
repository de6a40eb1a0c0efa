"""What changed between two result tables: before and after a change of the code, or two runs.

    python -m experiments.compare old/table2.csv new/table2.csv

Rows are matched by game, method, corpus and so on. Where both tables have their predictions beside them, the same
puzzles are compared (McNemar's test); else the intervals decide. Exit code 1 if a row got significantly worse.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from absl import flags

from djnet import metrics
from djnet.cli import job
from djnet.errors import UserError
from experiments import predictions
from experiments.significance import mcnemar
from experiments.tables import KEY, read

_WIDTH = 2 * 1.959964  # of a 95% interval, in standard errors


def compare(old: Path, new: Path, level: float) -> tuple[pd.DataFrame, int]:
    """A row for every row of both tables, and how many rows stand in one of them only."""
    before, after = (_read(path).set_index(KEY) for path in (old, new))
    both = [key for key in after.index if key in before.index]
    rows = []
    for key in both:
        a, b = before.loc[key], after.loc[key]
        row = dict(zip(KEY, key, strict=True)) | {"old": a["global"], "new": b["global"]}
        if a["global"] == "" or b["global"] == "":
            rows.append(row | {"verdict": "not played" if a["global"] == "" else "LOST"})
            continue
        difference = float(b["global"]) - float(a["global"])
        p_value = _paired(old, new, row) if difference else 1.0
        if p_value is None:
            p_value = _unpaired(a, b, difference)
        verdict = "not sure" if difference else "same"
        if p_value < level:
            verdict = "WORSE" if difference < 0 else "better"
        rows.append(row | {"difference": f"{difference:+.4f}", "p_value": f"{p_value:.4f}", "verdict": verdict})
    alone = len(before) + len(after) - 2 * len(both)
    table = pd.DataFrame(rows, columns=[*KEY, "old", "new", "difference", "p_value", "verdict"])
    return table.fillna(""), alone


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise UserError(f"{path}: there is no such file.")
    table = read(path)
    for name in (*KEY, "global", "global_low", "global_high"):
        if name not in table.columns:
            raise UserError(f"{path}, line 1: is no table of results, it has no column {name!r}.")
    if (repeated := table.duplicated(KEY)).any():
        raise UserError(f"{path}, line {int(np.argmax(repeated)) + 2}: stands there twice.")
    return table


def _paired(old: Path, new: Path, row: dict[str, str]) -> float | None:
    """McNemar's p-value, if both tables have their predictions and those are of the same puzzles."""
    name = predictions.file_name({column: row[column] for column in KEY})
    paths = [path.parent / "predictions" / name for path in (old, new)]
    if old.parent.resolve() == new.parent.resolve() or not all(path.is_file() for path in paths):
        return None
    (about_old, answers_old), (about_new, answers_new) = (predictions.read(path) for path in paths)
    if about_old["puzzles"] != about_new["puzzles"]:
        return None
    solved_old, solved_new = (
        np.array([metrics.global_accuracy(answer.order, answer.truth) for answer in answers])
        for answers in (answers_old, answers_new)
    )
    return mcnemar(solved_new, solved_old)


def _unpaired(a: pd.Series, b: pd.Series, difference: float) -> float:
    """The p-value of a difference (z-test), from the widths of the two confidence intervals."""
    first, second = ((float(row["global_high"]) - float(row["global_low"])) / _WIDTH for row in (a, b))
    spread = float(np.hypot(first, second))
    return float(2 * scipy.stats.norm.sf(abs(difference) / spread)) if spread else 0.0


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_float("level", 0.01, "A difference less probable than this by chance counts.", 0.0, 1.0)


def main(given: Any, old: str, new: str) -> int:
    """Compare, print, and say by the exit code whether something got worse."""
    try:
        table, alone = compare(Path(old), Path(new), given.level)
    except ValueError as error:
        raise UserError(str(error)) from error
    if table.empty:
        raise UserError(f"{old} and {new} have no row in common.")
    shown = table.drop(columns=[name for name in KEY if table[name].nunique() == 1])
    print(shown.to_string(index=False))
    worse = int(table.verdict.isin(("WORSE", "LOST")).sum())
    print(f"{len(table)} rows compared, {worse} worse, {alone} in one table only.")
    return int(worse > 0)


if __name__ == "__main__":
    job.run(main, define_flags, "OLD.csv NEW.csv")
