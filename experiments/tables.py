"""The cells of the paper's tables, how each is played, and how a table is written and shown."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
from tqdm import tqdm

from djnet import baselines, metrics, scoring
from djnet.files import whole_file
from djnet.games import Puzzle, jigsaws
from djnet.ordering import best_order, greedy
from djnet.records import Manifest
from djnet.rng import rng_for
from djnet.spec import JIGSAW_SIZES
from experiments import paper
from experiments.checkpoints import commit
from experiments.configs import ABLATIONS, Run, experiment

# What makes a row the same row: a rerun replaces it, anything else stays.
KEY = ["game", "segmentation", "n", "method", "protocol", "preset", "corpus", "corpus_hash", "seed"]
REFERENCES = ("random", "continuity")
DRAWS = 2_000


@dataclass(frozen=True)
class Cell:
    """One cell of a table: a game, who plays it, and the paper's result."""

    segmentation: str
    n: int
    method: str  # a model, an ablation, "sen (greedy)", or one of REFERENCES
    experiment: str = ""
    paper: tuple[float, float] | None = None


def _references(segmentation: str, n: int) -> list[Cell]:
    return [Cell(segmentation, n, method) for method in REFERENCES]


CELLS: dict[str, list[Cell]] = {
    "2": [
        *_references("fixed", 3),
        *[Cell("fixed", 3, model, f"table2/{model}", values) for model, values in paper.TABLE2.items()],
        Cell("fixed", 3, "sen (greedy)", "table2/sen"),
    ],
    "3": [
        cell
        for segmentation in ("fixed", "downbeat")
        for n in JIGSAW_SIZES
        for cell in (
            *_references(segmentation, n),
            *[
                Cell(segmentation, n, model, f"table3/{segmentation}/{model}", paper.TABLE3[segmentation, n, model])
                for model in ("sn", "cin", "sen")
            ],
            Cell(segmentation, n, "sen (greedy)", f"table3/{segmentation}/sen"),
        )
    ],
    "5": [
        *_references("downbeat", 8),
        *[Cell("downbeat", 8, name, f"table5/{name}", paper.TABLE5_PUZZLE[name]) for name in ABLATIONS],
    ],
}


class Arena:
    """Plays cells on the test split of some records with the runs of a folder."""

    def __init__(self, manifest: Manifest, runs: Path, preset: str, protocol: str, seed: int, limit: int):
        self._manifest, self._runs = manifest, runs
        self._preset, self._protocol, self._seed, self._limit = preset, protocol, seed, limit
        self._puzzles: dict[tuple[str, int], list[Puzzle]] = {}
        self._models: dict[Path, keras.Model] = {}

    @cached_property
    def _commit(self) -> str:
        return commit()

    def play(self, cells: list[Cell]) -> list[dict[str, Any]]:
        """A row for every cell; a cell that cannot be played is empty and says why."""
        return [self._row(cell) for cell in tqdm(cells, desc="play", unit="cell")]

    def _row(self, cell: Cell) -> dict[str, Any]:
        puzzles = self._find_puzzles(cell.segmentation, cell.n)
        corpus = self._manifest.content["corpus"]
        row: dict[str, Any] = {
            "game": "jigsaw",
            "segmentation": cell.segmentation,
            "n": cell.n,
            "method": cell.method,
            "protocol": self._protocol,
            "preset": self._preset if cell.experiment else "",
            "corpus": corpus["name"],
            "corpus_hash": corpus["hash"][:12],
            "seed": self._seed if cell.experiment else "",
            "puzzles": len(puzzles),
            "chance_global": round(1 / float(np.prod(np.arange(1, cell.n + 1))), 6),
            "paper_pairwise": cell.paper[0] if cell.paper else "",
            "paper_global": cell.paper[1] if cell.paper else "",
            "commit": self._commit,
            "reason": "",
        }
        orders = self._orders(cell, puzzles) if puzzles else f"no test clips for {cell.segmentation} cuts, n = {cell.n}"
        if isinstance(orders, str):
            return row | {"reason": orders}
        for name in ("pairwise", "global"):
            metric = getattr(metrics, f"{name}_accuracy")
            values = np.array([metric(order, puzzle.truth) for order, puzzle in zip(orders, puzzles, strict=True)])
            low, high = interval(values)
            row |= {name: round(values.mean(), 4), f"{name}_low": round(low, 4), f"{name}_high": round(high, 4)}
        return row

    def _find_puzzles(self, segmentation: str, n: int) -> list[Puzzle]:
        key = (segmentation, n)
        if key not in self._puzzles:
            found = jigsaws(self._manifest, "test", segmentation, n, self._protocol, limit=self._limit)
            self._puzzles[key] = list(found)
        return self._puzzles[key]

    def _orders(self, cell: Cell, puzzles: list[Puzzle]) -> list[tuple[int, ...]] | str:
        """An order for every puzzle, or the reason why there is none."""
        if cell.method in REFERENCES:
            score = baselines.chance if cell.method == "random" else baselines.continuity
            return [best_order(score(puzzle)).order for puzzle in puzzles]
        model = self._find_model(cell.experiment)
        if isinstance(model, str):
            return model
        moments = self._manifest.mean, self._manifest.std
        if cell.method.endswith("(greedy)"):
            return [greedy(scores).order for scores in scoring.score_puzzles(model, puzzles, *moments)]
        return list(scoring.solve_puzzles(model, puzzles, *moments))

    def _find_model(self, name: str) -> keras.Model | str:
        """The best weights of a named run, or what to do if there are none for this music."""
        run = experiment(name, preset=self._preset, protocol=self._protocol, seed=self._seed)
        found = [
            (facts["run"]["epochs"], path.parent)
            for path in sorted(self._runs.glob("*/*/run.json"))
            if (facts := json.loads(path.read_text(encoding="ascii")))["records"] == self._manifest.hash
            and facts["finished"]
            and Run.from_json(facts["run"]).row == run.row
        ]
        if not found:
            flags = f"--experiment={name} --preset={self._preset} --protocol={self._protocol} --seed={self._seed}"
            places = f"--data={self._manifest.folder} --output={self._runs}"
            return f"no finished run: python -m experiments.train {flags} {places}"
        folder = max(found)[1]  # the one that was trained longest
        if folder not in self._models:
            self._models[folder] = keras.models.load_model(folder / "best.keras")
        return self._models[folder]


def interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of a mean over puzzles."""
    draws = rng_for(0, "bootstrap", len(values)).integers(0, len(values), (DRAWS, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows, keeping those of other runs, presets or corpora that stand there already."""
    new = pd.DataFrame(rows).astype(object)
    if path.exists():
        old = pd.read_csv(path, dtype=object, keep_default_na=False)
        same = set(map(tuple, new[KEY].astype(str).to_numpy()))
        kept = [tuple(values) not in same for values in old[KEY].astype(str).to_numpy()]
        new = pd.concat([old[kept], new], ignore_index=True)
    with whole_file(path) as partial:
        new.to_csv(partial, index=False)


def shown(table: str, rows: Iterable[dict[str, Any]]) -> str:
    """A table for people: ours with its interval, the paper's beside it."""
    lines = [f"Table {table}: pairwise (global) accuracy, 95% interval of the global one, puzzles, the paper's"]
    for row in rows:
        name = f"{row['segmentation']:9s} n={row['n']}  {row['method']:14s}"
        if row["reason"]:
            lines.append(f"{name} -- {row['reason']}")
            continue
        spread = f"[{row['global_low']:.3f}, {row['global_high']:.3f}]"
        ours = f"{row['pairwise']:.3f} ({row['global']:.3f})  {spread}  {row['puzzles']:4d}"
        theirs = f"{row['paper_pairwise']:.3f} ({row['paper_global']:.3f})" if row["paper_pairwise"] else ""
        lines.append(f"{name} {ours}  {theirs}")
    return "\n".join(lines)
