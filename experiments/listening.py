"""What listeners preferred: python -m experiments.listening answers*.csv

Reads the answers that people downloaded from the report's listening test, prints for each two orders how many preferred
the first, with a 95% interval, and writes results/listening.csv, which the report shows.
"""

import csv
import glob
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from djnet.cli import job
from djnet.errors import UserError
from djnet.files import whole_file
from djnet.rng import rng_for

COLUMNS = ["test", "listener", "trial", "a", "b", "choice", "time"]
CHOICES = ("a", "b", "none")
_Z = 1.96
_DRAWS = 2_000


@dataclass(frozen=True)
class Answer:
    """One answer of one listener; `first` and `second` are orders in alphabetical order, `share` 1 for the first."""

    test: str
    listener: str
    trial: str
    first: str
    second: str
    share: float  # 1: the first is better, 0: the second, 0.5: no difference


@dataclass(frozen=True)
class Preference:
    """How many prefer the first of two orders; answers without a difference count half."""

    first: str
    second: str
    share: float
    low: float
    high: float
    answers: int
    ties: int
    listeners: int


def read(path: Path) -> list[Answer]:
    """The answers in a file; a UserError names the line that cannot be used."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if rows.fieldnames != COLUMNS:
                raise UserError(f"{path} is not a file of answers: its header must be {','.join(COLUMNS)}.")
            return [_answer(path, rows.line_num, row) for row in rows]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is not a CSV file of answers ({error}).") from error


def _answer(path: Path, line: int, row: dict[str, str]) -> Answer:
    if None in row or None in row.values():
        raise UserError(f"{path}, line {line}: {len(COLUMNS)} cells are needed.")
    if row["choice"] not in CHOICES:
        raise UserError(f"{path}, line {line}: the choice is {row['choice']!r}, not a, b or none.")
    if row["a"] == row["b"] or not row["a"] or not row["b"]:
        raise UserError(f"{path}, line {line}: two different orders are needed, not {row['a']!r} and {row['b']!r}.")
    first, second = sorted((row["a"], row["b"]), key=_rank)
    share = 0.5 if row["choice"] == "none" else float(row[row["choice"]] == first)
    return Answer(row["test"], row["listener"], row["trial"], first, second, share)


def _rank(order: str) -> tuple[bool, str]:
    """SEN comes first, so that its preference is what is printed."""
    return order != "sen", order


def preferences(answers: Iterable[Answer]) -> list[Preference]:
    """A preference for every two orders; of several answers of a listener to one trial the last counts."""
    last = {(answer.test, answer.listener, answer.trial): answer for answer in answers}
    duels: dict[tuple[str, str], list[Answer]] = {}
    for answer in last.values():
        duels.setdefault((answer.first, answer.second), []).append(answer)
    return [_preference(duels[duel]) for duel in sorted(duels, key=lambda duel: tuple(map(_rank, duel)))]


def _preference(answers: list[Answer]) -> Preference:
    shares = np.array([answer.share for answer in answers])
    names = [answer.listener for answer in answers]
    low, high = interval(shares, names)
    return Preference(
        first=answers[0].first,
        second=answers[0].second,
        share=round(float(shares.mean()), 3),
        low=round(low, 3),
        high=round(high, 3),
        answers=len(answers),
        ties=int((shares == 0.5).sum()),
        listeners=len(set(names)),
    )


def interval(shares: np.ndarray, listeners: Sequence[str]) -> tuple[float, float]:
    """A 95% interval of a mean of answers: [N] in [0, 1], and who gave each.

    The wider of two: Wilson's, which is honest when few answers all agree, and a bootstrap over listeners, which is
    honest when the answers of one person are alike.
    """
    count, mean = len(shares), float(shares.mean())
    centre = (mean + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    half = _Z * np.sqrt(mean * (1 - mean) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
    low, high = centre - half, centre + half
    names, own = np.unique(np.asarray(listeners), return_inverse=True)
    sums, counts = np.bincount(own, weights=shares), np.bincount(own)
    draws = rng_for(0, "listeners", len(names)).integers(0, len(names), (_DRAWS, len(names)))
    means = sums[draws].sum(axis=1) / counts[draws].sum(axis=1)
    drawn_low, drawn_high = np.quantile(means, [0.025, 0.975])
    return max(0.0, min(low, float(drawn_low))), min(1.0, max(high, float(drawn_high)))


def write(path: Path, found: Sequence[Preference]) -> None:
    """Write preferences as CSV."""
    with whole_file(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Preference)])
        writer.writeheader()
        writer.writerows(asdict(preference) for preference in found)


def shown(found: Sequence[Preference]) -> str:
    """Preferences for people."""
    return "\n".join(
        f"{one.first} rather than {one.second}: {one.share:.3f} [{one.low:.3f}, {one.high:.3f}], "
        f"{one.answers} answers ({one.ties} without a difference) of {one.listeners} listeners"
        for one in found
    )


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("output", "results/listening.csv", "Where to write the preferences; the report shows them.")


def main(given: Any, *files: str) -> None:
    """Read, count, print, write."""
    paths = [Path(name) for pattern in files for name in sorted(glob.glob(pattern)) or [pattern]]
    if not paths:
        print("No listeners have been asked yet. With answers: python -m experiments.listening answers*.csv")
        return
    found = preferences(answer for path in paths for answer in read(path))
    if not found:
        raise UserError(f"No answers in {', '.join(map(str, paths))}.")
    output = Path(given.output)
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}.")
    write(output, found)
    print(shown(found))
    print(f"-> {output}")


if __name__ == "__main__":
    job.run(main, define_flags, "ANSWERS.csv...")
