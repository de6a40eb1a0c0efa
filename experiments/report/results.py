"""The tables and figures of a results folder, as the page shows them."""

import csv
import shutil
from dataclasses import dataclass
from pathlib import Path

from djnet.errors import UserError

TABLES = {
    "table2": "Table 2: models, three equal pieces",
    "table3": "Table 3: number of pieces, equal cuts and downbeats",
    "table4": "Table 4: other games",
    "table5": "Table 5: what each part of SEN is worth",
    "boundary": "Boundary: music taken away at the cuts",
    "transfer": "Transfer: music of another kind",
    "speed": "Speed",
}
# Shown in a section of its own, or not for people.
_ELSEWHERE = {"listening"}
_ACCURACIES = ("", "_low", "_high")
_GAME_COLUMNS = {"game", "n", "method", "protocol", "puzzles", "reason", "paper_global", "paper_pairwise"} | {
    f"{name}{edge}" for name in ("global", "pairwise") for edge in _ACCURACIES
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


@dataclass(frozen=True)
class Table:
    """A CSV file; one with games has accuracies and intervals, others are shown as they are."""

    id: str
    title: str
    file: str
    command: str
    columns: list[str]
    rows: list[dict[str, str]]
    games: bool


@dataclass(frozen=True)
class Figure:
    """A picture beside the page."""

    address: str
    caption: str


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


def tables(folder: Path) -> list[Table]:
    """Every table of a results folder, the paper's first."""
    found = {path.stem: path for path in sorted(folder.glob("*.csv")) if path.stem not in _ELSEWHERE}
    names = [name for name in TABLES if name in found] + [name for name in found if name not in TABLES]
    return [table for name in names if (table := _table(found[name])).rows]


def _table(path: Path) -> Table:
    rows = read_csv(path)
    columns = list(rows[0]) if rows else []
    games = set(columns) >= _GAME_COLUMNS
    command = "make bench" if path.stem == "speed" else "make evaluate"
    if games:
        other = dict.fromkeys(("segmentation", "gap", "corpus"), "")
        rows = [other | row | {"made": _made(row, path.stem.removeprefix("table"))} for row in rows]
    return Table(
        id=f"table-{path.stem}",
        title=TABLES.get(path.stem, path.stem.replace("_", " ")),
        file=path.name,
        command=command,
        columns=columns,
        rows=rows,
        games=games,
    )


def _made(row: dict[str, str], table: str) -> str:
    """What a number was made with, in one line."""
    facts = [f"music {row['corpus_hash']}" if row.get("corpus_hash") else ""]
    if row.get("trained_on"):
        facts.append(f"trained on {row['trained_on']} at commit {row.get('trained_commit', '')[:12]}")
    if row.get("commit"):
        facts.append(f"evaluated at commit {row['commit'][:12]}")
    flags = {"table": table, "protocol": row.get("protocol"), "preset": row.get("preset"), "seed": row.get("seed")}
    given = " ".join(f"--{name}={value}" for name, value in flags.items() if value)
    facts.append(f"python -m experiments.evaluate {given}")
    return ", ".join(filter(None, facts))


def figures(folder: Path, report: Path) -> list[Figure]:
    """Copy the pictures of a results folder beside the page; of two formats the PNG, which never is very large."""
    target = report / "figures"
    shutil.rmtree(target, ignore_errors=True)
    found = {path.stem: path for kind in ("svg", "png") for path in sorted((folder / "figures").glob(f"*.{kind}"))}
    if found:
        target.mkdir(parents=True)
    for path in found.values():
        shutil.copyfile(path, target / path.name)
    names = [name for name in CAPTIONS if name in found] + [name for name in sorted(found) if name not in CAPTIONS]
    return [Figure(f"figures/{found[name].name}", CAPTIONS.get(name, name.replace("_", " "))) for name in names]


def preferences(folder: Path) -> list[dict[str, str]]:
    """What `python -m experiments.listening` found; nothing if no listeners were asked yet."""
    path = folder / "listening.csv"
    return read_csv(path) if path.is_file() else []
