"""Which music is hard: the jigsaws of table 3 by package (or folder) of the tracks they were cut from.

`packages.csv` has a row a package and size of puzzle: how many puzzles, how many of them have no sure answer, and the
share that each method solved.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from djnet.files import whole_file
from djnet.records import Manifest
from experiments.evaluation import Arena
from experiments.tables import CELLS, SETTING, VARIANT

METHODS = ("continuity", "cin", "sen", VARIANT)
SIZES = (3, 8)


def by_package(arena: Arena, rows: Sequence[dict[str, Any]], manifest: Manifest) -> pd.DataFrame | None:
    """What was solved of every package in the rows of table 3 with equal cuts; nothing if nothing was played."""
    packages = {clip.id: clip.group for clip in manifest.read_clips("test")}
    tables = []
    for n in SIZES:
        solved: dict[str, np.ndarray] = {}
        for cell, row in zip(CELLS["3"], rows, strict=True):
            if (cell.segmentation, cell.n) != ("fixed", n) or cell.method not in METHODS:
                continue
            if (answers := arena.answers(cell)) is not None:
                solved[cell.method] = np.array([answer.order == answer.truth for answer in answers], float)
                game, setting = arena.game(cell), {name: row[name] for name in SETTING}  # the last one's: a network's
        if solved:
            one = pd.DataFrame({"package": [packages[puzzle.id] for puzzle in game.puzzles], "n": n, "puzzles": 1})
            one = one.assign(undecidable=(~game.decidable).astype(int), **solved)
            how = {"n": "first", "puzzles": "sum", "undecidable": "sum", **dict.fromkeys(solved, "mean")}
            grouped = one.groupby("package", as_index=False).agg(how).round(4).assign(**setting)
            tables.append(grouped.sort_values(["puzzles", "package"], ascending=[False, True]))
    return pd.concat(tables, ignore_index=True) if tables else None


def write(folder: Path, table: pd.DataFrame) -> Path:
    """Write packages.csv, whole or not at all."""
    path = folder / "packages.csv"
    with whole_file(path) as partial:
        table.to_csv(partial, index=False)
    return path
