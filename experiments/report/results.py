"""What a results folder holds, as the pages show it: tables, figures, and the medleys made by `djnet medley`."""

import itertools
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import soundfile

from djnet.corpora.licences import may_be_published
from djnet.errors import UserError
from djnet.files import read_csv, read_json, whole_file
from djnet.pages.sound import mp3
from experiments import tables
from experiments.docs_tables import PROTOCOLS
from experiments.report.recordings import TrackList

FIGURES, MEDLEYS, TABLES = "figures", "medleys", "tables"  # folders beside the pages
_ACCURACIES = {f"{name}{edge}" for name in ("global", "pairwise") for edge in ("", "_low", "_high")}
_GAME_COLUMNS = {"game", "n", "method", "protocol", "puzzles", "reason", "paper_global", "paper_pairwise", *_ACCURACIES}
_MEDLEY_COLUMNS = {"start", "end", "label", "score"}
_PLAYABLE = (".mp3", ".ogg")  # by browsers; other formats are converted
_SUFFIXES = (*_PLAYABLE, ".flac", ".wav")

Rows = list[dict[str, str]]


def read_tables(folder: Path) -> dict[str, Rows]:
    """The tables of a results folder that have rows, by name; rows with accuracies also say how they were `made`.

    Those begin with what a reader looks for first: SEN, then what the paper has numbers of, in the first protocol.
    """
    paths = sorted(folder.glob("*.csv"))
    listed = {path.stem: rows for path in paths if (rows := tables.read(path).to_dict("records"))}
    other = dict.fromkeys(("segmentation", "gap", "corpus", "seed", "differs"), "")
    for name, rows in listed.items():
        if rows[0].keys() >= _GAME_COLUMNS:
            made = [other | row | {"made": _made(row, name.removeprefix("table"))} for row in rows]
            listed[name] = sorted(made, key=_interest)
    return listed


def _interest(row: dict[str, str]) -> tuple[bool | int, ...]:
    """Smaller for rows that a reader looks for first."""
    protocol = PROTOCOLS.index(row["protocol"]) if row["protocol"] in PROTOCOLS else len(PROTOCOLS)
    other_run = row["seed"] not in ("", "0") or bool(row["differs"])
    return not row["global"], protocol, other_run, row["method"] not in ("sen", "all"), not row["paper_global"]


def headline(tables: dict[str, Rows]) -> dict[str, dict[str, float]] | None:
    """The share of puzzles that are all in order, by method and number of equal pieces, for three sentences.

    Of SEN, of continuity on the same puzzles, and of the paper's SEN; nothing before table 3 has them for 3 and 8.
    """
    shares: dict[str, dict[str, float]] = {"sen": {}, "continuity": {}, "paper": {}}
    rows = [row for row in tables.get("table3", []) if row["segmentation"] == "fixed" and row["global"]]
    for row in rows:
        if rows[0]["protocol"] == row["protocol"] and row["method"] in shares and not row["differs"]:
            shares[row["method"]].setdefault(row["n"], 100 * float(row["global"]))
            if row["paper_global"]:
                shares["paper"].setdefault(row["n"], 100 * float(row["paper_global"]))
    return shares if all(values.keys() >= {"3", "8"} for values in shares.values()) else None


def copy_tables(folder: Path, names: Iterable[str], report: Path) -> None:
    """Copy tables beside the pages, to be downloaded."""
    shutil.rmtree(report / TABLES, ignore_errors=True)
    (report / TABLES).mkdir()
    for name in names:
        shutil.copyfile(folder / f"{name}.csv", report / TABLES / f"{name}.csv")


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


def copy_figures(folder: Path, report: Path) -> dict[str, str]:
    """Copy pictures beside the page: -> their addresses by name; of two formats the PNG, which never is very large."""
    shutil.rmtree(report / FIGURES, ignore_errors=True)
    (report / FIGURES).mkdir()
    figures = {path.stem: path for suffix in ("svg", "png") for path in sorted(folder.glob(f"*.{suffix}"))}
    for path in figures.values():
        shutil.copyfile(path, report / FIGURES / path.name)
    return {name: f"{FIGURES}/{path.name}" for name, path in figures.items()}


def read_medleys(folder: Path, report: Path, tracks: TrackList) -> list[dict[str, Any]]:
    """The medleys of a folder, with their sounds put beside the page."""
    target = report / MEDLEYS
    if folder.resolve() == target.resolve():
        raise UserError(f"{folder} is where the report keeps its copies: put medleys into another folder.")
    shutil.rmtree(target, ignore_errors=True)
    tables = ((path, read_csv(path)) for path in sorted(folder.glob("*.csv")))
    medleys = [(path, rows) for path, rows in tables if len(rows) > 1 and rows[0].keys() >= _MEDLEY_COLUMNS]
    return [_medley(path, rows, target, tracks) for path, rows in medleys]


def _medley(table: Path, rows: Rows, target: Path, tracks: TrackList) -> dict[str, Any]:
    """A medley by its table and what else lies beside it; `reason` says why it cannot be played."""
    receipt_path = table.with_suffix(".json")
    try:
        songs = [_song(row) for row in rows]
    except ValueError as error:
        raise UserError(f"{table} is not the table of a medley ({error}). Make it again with: djnet medley") from error
    try:
        receipt = read_json(receipt_path, {"clips": [{"song": str}]}) if receipt_path.is_file() else {"clips": []}
    except UserError as error:
        raise UserError(f"{error} Make the medley again with: djnet medley") from error
    licences = [tracks.licence_of_file(clip["song"]) for clip in receipt["clips"]]
    labels = itertools.zip_longest((row["label"] for row in rows), licences[: len(rows)])
    medley = {
        "title": receipt.get("title") or table.stem,
        "songs": songs,
        "credit": "Songs: " + "; ".join(f"{song} ({licence})" if licence else song for song, licence in labels),
        "receipt": receipt,
    }
    sound = next((path for suffix in _SUFFIXES if (path := table.with_suffix(suffix)).is_file()), None)
    if not tracks.private and not (len(licences) == len(rows) and all(map(may_be_published, licences))):
        reason = "Not played here: not every song is known to be free. For yourself: make report FLAGS=--own"
    elif sound is None:
        reason = f"The sound of {table.stem} is missing: make it again, djnet medley."
    else:
        return medley | {"address": f"{MEDLEYS}/{_copy_sound(sound, target)}"}
    return medley | {"address": "", "reason": reason}


def _song(row: dict[str, str]) -> dict[str, Any]:
    """A line of a medley's table as numbers; the first song has no score."""
    return row | {"start": float(row["start"]), "end": float(row["end"]), "score": row["score"] and float(row["score"])}


def _copy_sound(sound: Path, target: Path) -> str:
    """Put a sound beside the page, in a format that browsers play: -> its name."""
    target.mkdir(parents=True, exist_ok=True)
    if sound.suffix in _PLAYABLE:
        shutil.copyfile(sound, target / sound.name)
        return sound.name
    name = f"{sound.stem}.mp3"
    with whole_file(target / name) as partial:
        partial.write_bytes(mp3(*soundfile.read(sound, dtype="float32")))
    return name
