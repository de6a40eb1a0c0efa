"""The tables and figures of a results folder, as the page shows them."""

import csv
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from djnet.errors import UserError

TITLES = {
    "table2": "Table 2: models, three equal pieces",
    "table3": "Table 3: number of pieces, equal cuts and downbeats",
    "table4": "Table 4: other games",
    "table5": "Table 5: what each part of SEN is worth",
    "boundary": "Boundary: music taken away at the cuts",
    "transfer": "Transfer: music of another kind",
    "speed": "Speed",
}
CAPTIONS = {
    "puzzle": "A puzzle: four pieces of a clip, shuffled and in order",
    "accuracy": "Global accuracy by number of pieces",
    "boundary": "What is left when music is taken away at the cuts",
    "similarity": "Similarity of a fragment with itself, with one that repeats it, and with another song",
    "embeddings": "Pairs as the networks see them, a point a pair (t-SNE)",
    "feature_maps": "What SEN's filters see in a pair that follows and in one that does not",
    "learning": "Validation accuracy by epoch",
    "downbeats": "What the downbeat network hears, and the beats that were chosen",
}
_LISTENING = "listening"  # a table with a section of its own
_ACCURACIES = {f"{name}{edge}" for name in ("global", "pairwise") for edge in ("", "_low", "_high")}
_GAME_COLUMNS = {"game", "n", "method", "protocol", "puzzles", "reason", "paper_global", "paper_pairwise", *_ACCURACIES}


@dataclass(frozen=True)
class Table:
    """A CSV file; accuracies are shown with their intervals, other columns as they are."""

    name: str
    title: str
    rows: list[dict[str, str]]
    has_accuracies: bool


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header; a UserError if it is not one."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is not a CSV table ({error}). Remove it and make it again.") from error
    if any(None in row or None in row.values() for row in rows):
        raise UserError(f"{path} has lines with more or fewer cells than its header. Remove it and make it again.")
    return rows


def read_tables(folder: Path) -> list[Table]:
    """Every table of a results folder that has rows, the paper's first."""
    paths = (path for path in sorted(folder.glob("*.csv")) if path.stem != _LISTENING)
    return [_table(path.stem, title, rows) for path, title in _titled(paths, TITLES) if (rows := read_csv(path))]


def _table(name: str, title: str, rows: list[dict[str, str]]) -> Table:
    has_accuracies = rows[0].keys() >= _GAME_COLUMNS
    if has_accuracies:
        other = dict.fromkeys(("segmentation", "gap", "corpus"), "")
        rows = [other | row | {"made": _made(row, name.removeprefix("table"))} for row in rows]
    return Table(name, title, rows, has_accuracies)


def _made(row: dict[str, str], table: str) -> str:
    """What a number was made with, in one line."""
    facts = [f"music {row['corpus_hash']}" if row.get("corpus_hash") else ""]
    if row.get("trained_on"):
        facts.append(f"trained on {row['trained_on']} at commit {row.get('trained_commit', '')[:12]}")
    if row.get("commit"):
        facts.append(f"evaluated at commit {row['commit'][:12]}")
    flags = {"table": table} | {name: row.get(name) for name in ("protocol", "preset", "seed")}
    given = " ".join(f"--{name}={value}" for name, value in flags.items() if value)
    return ", ".join(filter(None, [*facts, f"python -m experiments.evaluate {given}"]))


def read_preferences(folder: Path) -> list[dict[str, str]]:
    """What `python -m experiments.listening` wrote; nothing if no listeners were asked yet."""
    path = folder / f"{_LISTENING}.csv"
    return read_csv(path) if path.is_file() else []


def copy_figures(folder: Path, report: Path) -> list[dict[str, str]]:
    """Copy the pictures of a results folder beside the page: -> address and caption of each.

    Of two formats the PNG is taken, which never is very large.
    """
    target = report / "figures"
    shutil.rmtree(target, ignore_errors=True)
    figures = []
    paths = (path for suffix in ("svg", "png") for path in sorted((folder / "figures").glob(f"*.{suffix}")))
    for path, caption in _titled(paths, CAPTIONS):
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / path.name)
        figures.append({"address": f"figures/{path.name}", "caption": caption})
    return figures


def _titled(paths: Iterable[Path], titles: Mapping[str, str]) -> list[tuple[Path, str]]:
    """Files with their titles, those that have one first; of two files of the same name the last."""
    by_name = {path.stem: path for path in paths}
    names = [name for name in titles if name in by_name] + sorted(by_name.keys() - titles.keys())
    return [(by_name[name], titles.get(name, name.replace("_", " "))) for name in names]
