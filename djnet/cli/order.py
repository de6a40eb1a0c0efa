"""The order in which songs or clips follow each other best: `djnet order a.mp3 b.mp3 ...`."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from tqdm import tqdm

from djnet import audio
from djnet.cli import options, text
from djnet.cli.medley import load_network
from djnet.cli.settings import number_of
from djnet.constants import WINDOW_SAMPLES
from djnet.corpora import playlists
from djnet.errors import UserError, shown
from djnet.features import log_mel
from djnet.ordering import EXACT_LIMIT, best_order, top_orders


def main(arguments: Sequence[str]) -> int:
    """Score all pairs, print the best order and the matrix."""
    given = options.order().parse_args(arguments)
    mels = _mels(given.files)
    files = list(mels)
    if len(files) < 2:
        raise UserError("An order needs two different files at least.")
    first = None if given.first is None else number_of(given.first, files, "--first")
    last = None if given.last is None else number_of(given.last, files, "--last")
    scores = load_network(given.network)(list(mels.values()))
    try:
        best = best_order(scores, first, last)
    except ValueError as error:
        raise UserError(f"--first and --last: {error}") from error
    follows = ["", *(f"{scores[a, b]:.3f}" for a, b in zip(best.order, best.order[1:], strict=False))]
    rows = [(str(i + 1), files[i], score) for i, score in zip(best.order, follows, strict=True)]
    print(text.table([("", "file", "follows with"), *rows]))
    print("\nScores: the file of the row, then the file of the column.")
    cells = np.char.mod("%.2f", scores)
    np.fill_diagonal(cells, "-")
    numbers = [str(i + 1) for i in range(len(files))]
    print(text.table([("", *numbers), *([number, *row] for number, row in zip(numbers, cells.tolist(), strict=True))]))
    proof = "proven" if best.bound <= best.value else f"no order exceeds {best.bound:.3f}"
    print(f"\nSum of scores {best.value:.3f} ({proof}).")
    if len(files) <= EXACT_LIMIT and len(others := top_orders(scores, 2, first, last)) > 1:
        second = " ".join(numbers[i] for i in others[1].order)
        print(f"The second-best order loses {best.value - others[1].value:.3f}: {second}.")
    return 0


def _mels(words: Sequence[str]) -> dict[str, np.ndarray]:
    """Log-mels [T, 128] of files and of the files in playlists; those of a playlist that cannot be read are named."""
    listed = {word: playlists.read(word) if playlists.is_playlist(word) else [word] for word in words}
    mels, skipped = {}, []
    for file in tqdm(dict.fromkeys(chain(*listed.values())), desc="read", unit="file"):
        try:
            mels[file] = _mel(file)
        except audio.AudioError as error:
            if file in listed:
                raise
            skipped.append(error)
    for item in skipped:
        print(shown(f"Left out: {item.path} {item.reason}"))
    if skipped:
        print(f"{len(skipped)} of {text.count(len(mels) + len(skipped), 'file')} left out.")
    return mels


def _mel(file: str) -> np.ndarray:
    samples = audio.load(file)
    if len(samples) < WINDOW_SAMPLES:
        raise audio.AudioError(file, "is shorter than a tenth of a second.")
    return log_mel(samples)
