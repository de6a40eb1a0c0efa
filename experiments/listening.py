"""What listeners preferred: python -m experiments.listening answers*.csv

Reads the answers that people downloaded from the report's listening test, prints for each two orders how many preferred
the first, with a 95% interval, then how often each order would be preferred to another one (Bradley-Terry), and writes
results/listening.csv, which the report shows.
"""

import csv
import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from absl import flags

from djnet.cli import job
from djnet.errors import UserError
from djnet.rng import rng_for
from experiments import significance, tables

COLUMNS = ["test", "listener", "trial", "a", "b", "choice", "time"]
PREFERENCES = ["first", "second", "share", "low", "high", "answers", "ties", "listeners"]
OTHERS = "another one"  # in place of the second order: any of the others, by Bradley-Terry
_ORDERS = ("mix", "sen", "tempo and key", "random")
_Z = 1.96
_DRAWS = 2_000


def read(path: Path) -> pd.DataFrame:
    """The answers in a file, a row each: test, listener, trial, first, second, share.

    `first` and `second` are the names of the two orders, whichever side they were on; `share` is 1 if the first was
    preferred, 0 for the second and 0.5 for no difference. A UserError names the line that cannot be used.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if rows.fieldnames != COLUMNS:
                raise UserError(f"{path} is not a file of answers: its header must be {','.join(COLUMNS)}.")
            return pd.DataFrame([_answer(path, rows.line_num, row) for row in rows])
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is not a CSV file of answers ({error}).") from error


def _answer(path: Path, line: int, row: dict[str, str]) -> dict[str, Any]:
    if None in row or None in row.values():
        raise UserError(f"{path}, line {line}: {len(COLUMNS)} cells are needed.")
    if row["choice"] not in ("a", "b", "none"):
        raise UserError(f"{path}, line {line}: the choice is {row['choice']!r}, not a, b or none.")
    if row["a"] == row["b"] or not row["a"] or not row["b"]:
        raise UserError(f"{path}, line {line}: two different orders are needed, not {row['a']!r} and {row['b']!r}.")
    first, second = sorted((row["a"], row["b"]), key=_rank)
    share = 0.5 if row["choice"] == "none" else float(row[row["choice"]] == first)
    return {name: row[name] for name in COLUMNS[:3]} | {"first": first, "second": second, "share": share}


def _rank(order: str) -> tuple[int, str]:
    """What djnet does comes first, so that its preference is what is printed."""
    return _ORDERS.index(order) if order in _ORDERS else len(_ORDERS), order


def preferences(answers: pd.DataFrame) -> pd.DataFrame:
    """How many prefer the first of each two orders: first, second, share, low, high, answers, ties, listeners.

    Of several answers of a listener to one trial the last counts; answers without a difference count half.
    """
    last = _last(answers)
    rows = []
    for (first, second), group in last.groupby(["first", "second"]):
        shares, listeners = group["share"].to_numpy(), group["listener"]
        counts = len(shares), int((shares == 0.5).sum()), listeners.nunique()
        rows.append((first, second, float(shares.mean()), *interval(shares, listeners), *counts))
    rows.sort(key=lambda row: (_rank(row[0]), _rank(row[1])))
    return pd.DataFrame(rows, columns=PREFERENCES).round(3)


def _last(answers: pd.DataFrame) -> pd.DataFrame:
    return answers.drop_duplicates(["test", "listener", "trial"], keep="last")


def strengths(answers: pd.DataFrame) -> pd.DataFrame:
    """How often each order would be preferred to another one, by the model of Bradley and Terry: as `preferences`.

    The model gives each order one strength, so that all comparisons speak about all orders. Intervals as there.
    """
    last = _last(answers)
    names = sorted({*last["first"], *last["second"]}, key=_rank)
    people, numbers = np.unique(last["listener"].to_numpy(str), return_inverse=True)
    first, second = (last[side].map(names.index).to_numpy() for side in ("first", "second"))
    wins = np.zeros((len(people), len(names), len(names)))  # of the order in the row, by listener
    np.add.at(wins, (numbers, first, second), last["share"])
    np.add.at(wins, (numbers, second, first), 1 - last["share"])
    draws = rng_for(0, "listeners", len(people)).integers(0, len(people), (_DRAWS, len(people)))
    counts = np.stack([np.bincount(draw, minlength=len(people)) for draw in draws]).astype(float)
    low, high = np.quantile(bradley_terry(np.tensordot(counts, wins, 1)), [0.025, 0.975], axis=0)
    rows = []
    for i, (name, share) in enumerate(zip(names, bradley_terry(wins.sum(axis=0)), strict=True)):
        own = last[(first == i) | (second == i)]
        widest = wilson(float(share), len(own))
        edges = min(widest[0], float(low[i])), max(widest[1], float(high[i]))
        ties = int((own["share"] == 0.5).sum())
        rows.append((name, OTHERS, float(share), *edges, len(own), ties, own["listener"].nunique()))
    return pd.DataFrame(rows, columns=PREFERENCES).round(3)


def bradley_terry(wins: np.ndarray) -> np.ndarray:
    """The chance of each of k orders to be preferred to another, from how often one won: [..., k, k] -> [..., k].

    Half a win is added both ways between every two, without which an order that never lost would have no strength.
    """
    k = wins.shape[-1]
    apart = 1.0 - np.eye(k)
    wins = (wins + 0.5) * apart
    played = wins + wins.swapaxes(-1, -2)
    strength = np.ones(wins.shape[:-1])
    for _ in range(200):  # Zermelo's iteration
        strength = wins.sum(axis=-1) / (played / (strength[..., :, None] + strength[..., None, :])).sum(axis=-1)
        strength /= strength.mean(axis=-1, keepdims=True)
    chances = strength[..., :, None] / (strength[..., :, None] + strength[..., None, :])
    return (chances * apart).sum(axis=-1) / (k - 1)


def interval(shares: np.ndarray, listeners: Sequence[str] | pd.Series) -> tuple[float, float]:
    """A 95% interval of a mean of answers: [N] in [0, 1], and who gave each.

    The wider of two: Wilson's, which is honest when few answers all agree, and a bootstrap over listeners, which is
    honest when the answers of one person are alike.
    """
    widest = wilson(float(shares.mean()), len(shares))
    low, high = significance.interval(shares, list(listeners))
    return min(widest[0], low), max(widest[1], high)


def wilson(mean: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of so many answers, within [0, 1]."""
    centre = (mean + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    half = _Z * np.sqrt(mean * (1 - mean) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("output", "results/listening.csv", "Where to write the preferences; the report shows them.")


def main(given: Any, *files: str) -> None:
    """Read, count, print, write."""
    paths = [Path(name) for pattern in files for name in sorted(glob.glob(pattern)) or [pattern]]
    if not paths:
        print("No listeners have been asked yet. With answers: python -m experiments.listening answers*.csv")
        return
    answers = pd.concat(map(read, paths))
    if answers.empty:
        raise UserError(f"No answers in {', '.join(map(str, paths))}.")
    output = Path(given.output)
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}.")
    table = pd.concat([preferences(answers), strengths(answers)])
    tables.save(output, table)
    for row in table.itertuples():
        print(
            f"{row.first} rather than {row.second}: {row.share:.3f} [{row.low:.3f}, {row.high:.3f}], "
            f"{row.answers} answers ({row.ties} without a difference) of {row.listeners} listeners"
        )
    print(f"-> {output}")


if __name__ == "__main__":
    job.run(main, define_flags, "ANSWERS.csv...")
