"""The orders that `make evaluate` kept, puzzle by puzzle."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.report.results import read_csv
from preprocessing.job import JobError

FOLDER = "predictions"


class Game(NamedTuple):
    """What one puzzle is compared within."""

    game: str
    segmentation: str
    n: int
    protocol: str

    @property
    def name(self) -> str:
        """For people."""
        cut = {"fixed": "equal pieces", "downbeat": "cut at downbeats"}.get(self.segmentation, self.segmentation)
        return ", ".join(filter(None, [self.game.capitalize(), f"{self.n} pieces" if self.n else "", cut]))


@dataclass(frozen=True)
class Prediction:
    """One method's order of one puzzle, and its score matrix if it has one."""

    method: str
    puzzle: str
    truth: tuple[int, ...]
    order: tuple[int, ...]
    scores: np.ndarray | None


def read(results: Path, corpus_hash: str, seed: int) -> dict[Game, list[Prediction]]:
    """The predictions for one corpus, by game, in the order of the files' names."""
    found: dict[Game, list[Prediction]] = {}
    for path in sorted((results / FOLDER).glob("*.csv")):
        for number, row in enumerate(read_csv(path), 2):
            try:
                if row["corpus_hash"] != corpus_hash or row["seed"] not in ("", str(seed)):
                    continue
                game = Game(row["game"], row["segmentation"], int(row["n"]), row["protocol"])
                found.setdefault(game, []).append(_prediction(row))
            except (KeyError, ValueError) as error:
                raise JobError(f"{path}, line {number}: {error}. Remove the file and run: make evaluate") from error
    return found


def _prediction(row: dict[str, str]) -> Prediction:
    truth, order = (tuple(map(int, row[name].split())) for name in ("truth", "order"))
    if sorted(truth) != list(range(len(truth))) or sorted(order) != sorted(truth):
        raise ValueError(f"{row['order']!r} is not an order of {row['truth']!r}")
    scores = np.array(row["scores"].split(), np.float64)
    if len(scores) not in (0, len(truth) ** 2):
        raise ValueError(f"{len(scores)} scores for {len(truth)} pieces")
    return Prediction(
        row["method"], row["puzzle"], truth, order, scores.reshape(len(truth), -1) if len(scores) else None
    )


def by_puzzle(predictions: Iterable[Prediction]) -> dict[str, dict[str, Prediction]]:
    """Predictions by puzzle and method."""
    found: dict[str, dict[str, Prediction]] = {}
    for prediction in predictions:
        found.setdefault(prediction.puzzle, {})[prediction.method] = prediction
    return found


def best_baseline(predictions: Iterable[Prediction]) -> str | None:
    """The trained network, other than SEN, with the most whole orders right."""
    right: dict[str, int] = {}
    for prediction in predictions:
        if not prediction.method.startswith("sen") and prediction.method not in ("random", "continuity"):
            right[prediction.method] = right.get(prediction.method, 0) + (prediction.order == prediction.truth)
    return max(right, key=lambda method: right[method], default=None)
