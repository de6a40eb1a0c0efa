"""The order in which songs or clips follow each other best: `djnet order a.mp3 b.mp3 ...`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from djnet import audio
from djnet.cli import job
from djnet.cli.medley import load_network
from djnet.cli.text import table
from djnet.constants import WINDOW_SAMPLES
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.ordering import EXACT_LIMIT, best_order, top_orders


def parser() -> argparse.ArgumentParser:
    """The command line."""
    words = job.Parser(
        prog="djnet order",
        description="Says in which order music files follow each other best, end to beginning, as they are. "
        "(`djnet medley` looks for the best parts of songs and joins them.)",
    )
    words.add_argument("files", nargs="+", help="two or more music files: clips, or whole songs")
    words.add_argument("--network", default="sen-downbeat", help="shipped weights by name, or the folder of a run")
    words.add_argument("--first", metavar="FILE", help="begins")
    words.add_argument("--last", metavar="FILE", help="ends")
    return words


def main(arguments: Sequence[str]) -> int:
    """Score all pairs, print the best order and the matrix."""
    given = parser().parse_args(arguments)
    files = list(dict.fromkeys(given.files))
    if len(files) < 2:
        raise UserError("An order needs two different files at least.")
    first, last = (_place(file, files) for file in (given.first, given.last))
    scores = load_network(given.network)([_mel(file) for file in tqdm(files, desc="read", unit="file")])
    try:
        best = best_order(scores, first, last)
    except ValueError as error:
        raise UserError(f"--first and --last: {error}") from error
    print("\n".join(_lines(best.order, scores, files)))
    proof = "proven" if best.bound <= best.value else f"no order exceeds {best.bound:.3f}"
    print(f"Sum of scores {best.value:.3f} ({proof}).")
    if len(files) <= EXACT_LIMIT and len(others := top_orders(scores, 2, first, last)) > 1:
        print(f"The second-best order loses {best.value - others[1].value:.3f}: {_named(others[1].order)}.")
    return 0


def _mel(file: str) -> np.ndarray:
    samples = audio.load(file)
    if len(samples) < WINDOW_SAMPLES:
        raise audio.AudioError(file, "is shorter than a tenth of a second.")
    return log_mel(samples)


def _place(file: str | None, files: Sequence[str]) -> int | None:
    if file is None:
        return None
    near = [i for i, other in enumerate(files) if file in (other, Path(other).name, Path(other).stem)]
    if len(near) != 1:
        raise UserError(f"{file}: is not one of the files.")
    return near[0]


def _lines(order: Sequence[int], scores: np.ndarray, files: Sequence[str]) -> list[str]:
    """The order with the score of each join, then how well each file (row) is followed by each (column)."""
    rows = [("", "file", "follows with")]
    for place, i in enumerate(order):
        rows.append((str(i + 1), files[i], f"{scores[order[place - 1], i]:.3f}" if place else ""))
    grid = [("", *(str(i + 1) for i in range(len(files))))]
    for i, row in enumerate(scores):
        grid.append((str(i + 1), *("-" if i == j else f"{value:.2f}" for j, value in enumerate(row))))
    return [table(rows), "", "Scores: the file of the row, then the file of the column.", table(grid), ""]


def _named(order: Sequence[int]) -> str:
    return " ".join(str(i + 1) for i in order)
