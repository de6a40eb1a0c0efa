"""The order in which songs or clips follow each other best: `djnet order a.mp3 b.mp3 ...`."""

from collections.abc import Sequence

import numpy as np
from tqdm import tqdm

from djnet import audio
from djnet.cli import job
from djnet.cli.medley import load_network, number_of
from djnet.cli.text import table
from djnet.constants import WINDOW_SAMPLES
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.ordering import EXACT_LIMIT, best_order, top_orders


def main(arguments: Sequence[str]) -> int:
    """Score all pairs, print the best order and the matrix."""
    parser = job.Parser(
        prog="djnet order",
        description="Says in which order music files follow each other best when each is played whole. "
        "(`djnet medley` chooses the best parts of songs and joins them.)",
    )
    parser.add_argument("files", nargs="+", help="two or more music files: clips or whole songs")
    parser.add_argument("--network", default="sen-downbeat", help="name of shipped weights, or folder of a trained run")
    parser.add_argument("--first", metavar="FILE", help="file that must come first")
    parser.add_argument("--last", metavar="FILE", help="file that must come last")
    given = parser.parse_args(arguments)
    files = list(dict.fromkeys(given.files))
    if len(files) < 2:
        raise UserError("An order needs two different files at least.")
    first = None if given.first is None else number_of(given.first, files, "--first")
    last = None if given.last is None else number_of(given.last, files, "--last")
    scores = load_network(given.network)([_mel(file) for file in tqdm(files, desc="read", unit="file")])
    try:
        best = best_order(scores, first, last)
    except ValueError as error:
        raise UserError(f"--first and --last: {error}") from error
    follows = ["", *(f"{scores[a, b]:.3f}" for a, b in zip(best.order, best.order[1:], strict=False))]
    rows = [(str(i + 1), files[i], score) for i, score in zip(best.order, follows, strict=True)]
    print(table([("", "file", "follows with"), *rows]))
    print("\nScores: the file of the row, then the file of the column.")
    cells = np.char.mod("%.2f", scores)
    np.fill_diagonal(cells, "-")
    numbers = [str(i + 1) for i in range(len(files))]
    print(table([("", *numbers), *([number, *row] for number, row in zip(numbers, cells.tolist(), strict=True))]))
    proof = "proven" if best.bound <= best.value else f"no order exceeds {best.bound:.3f}"
    print(f"\nSum of scores {best.value:.3f} ({proof}).")
    if len(files) <= EXACT_LIMIT and len(others := top_orders(scores, 2, first, last)) > 1:
        second = " ".join(numbers[i] for i in others[1].order)
        print(f"The second-best order loses {best.value - others[1].value:.3f}: {second}.")
    return 0


def _mel(file: str) -> np.ndarray:
    samples = audio.load(file)
    if len(samples) < WINDOW_SAMPLES:
        raise audio.AudioError(file, "is shorter than a tenth of a second.")
    return log_mel(samples)
