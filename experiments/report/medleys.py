"""Medleys made by `djnet medley`, as the page plays them: sound, time line, joins, and the second-best order."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import soundfile

from djnet.corpora.licences import may_be_published
from djnet.errors import UserError
from djnet.files import whole_file
from djnet.pages.sound import mp3
from experiments.report.recordings import TrackList
from experiments.report.results import read_csv

FOLDER = "medleys"
_PLAYABLE = (".mp3", ".ogg")  # by browsers; others are converted
_SUFFIXES = (*_PLAYABLE, ".flac", ".wav")
_COLUMNS = {"start", "end", "label", "score"}


def read_medleys(folder: Path, report: Path, tracks: TrackList) -> list[dict[str, Any]]:
    """The medleys of a folder, with their sounds put beside the page."""
    target = report / FOLDER
    if folder.resolve() == target.resolve():
        raise UserError(f"{folder} is where the report keeps its copies: put medleys into another folder.")
    shutil.rmtree(target, ignore_errors=True)
    tables = [(path, read_csv(path)) for path in sorted(folder.glob("*.csv"))]
    return [
        _medley(path, rows, target, tracks) for path, rows in tables if len(rows) > 1 and rows[0].keys() >= _COLUMNS
    ]


def _medley(table: Path, rows: list[dict[str, str]], target: Path, tracks: TrackList) -> dict[str, Any]:
    """A medley by its table and what else lies beside it; `reason` says why it cannot be played."""
    receipt_path = table.with_suffix(".json")
    try:
        songs = [
            {
                "label": row["label"],
                "start": float(row["start"]),
                "end": float(row["end"]),
                "score": float(row["score"]) if row["score"] else None,
            }
            for row in rows
        ]
    except ValueError as error:
        raise UserError(f"{table} is not the table of a medley ({error}). Make it again with: djnet medley") from error
    try:
        receipt = json.loads(receipt_path.read_text(encoding="utf-8")) if receipt_path.is_file() else {}
    except ValueError as error:
        raise UserError(f"{receipt_path} is damaged ({error}). Make the medley again with: djnet medley") from error
    licences = [tracks.licence_of_file(clip["song"]) for clip in receipt.get("clips", [])]
    labels = itertools.zip_longest((row["label"] for row in rows), licences[: len(rows)])
    medley = {
        "title": table.stem,
        "songs": songs,
        "credit": "Songs: " + "; ".join(f"{song} ({licence})" if licence else song for song, licence in labels),
        "value": receipt.get("value"),
        "second": receipt.get("second"),
    }
    sound = next((path for suffix in _SUFFIXES if (path := table.with_suffix(suffix)).is_file()), None)
    if not tracks.private and not (len(licences) == len(rows) and all(map(may_be_published, licences))):
        reason = "Not played here: not every song is known to be free. For yourself: make report FLAGS=--own"
    elif sound is None:
        reason = f"The sound of {table.stem} is missing: make it again, djnet medley."
    else:
        return medley | {"address": f"{FOLDER}/{_copy_sound(sound, target)}"}
    return medley | {"address": "", "reason": reason}


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
