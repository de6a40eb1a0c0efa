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
from experiments.report.recordings import Tracks
from experiments.report.results import read_csv

FOLDER = "medleys"
_PLAYABLE = (".mp3", ".ogg")
_OTHERS = (".flac", ".wav")
_COLUMNS = {"start", "end", "label", "score"}
_LEAD_SECONDS = 4.0  # a join is heard from a little before


def read(folder: Path, report: Path, tracks: Tracks) -> list[dict[str, Any]]:
    """The medleys of a folder, with their sounds put beside the page."""
    if folder.resolve() == (report / FOLDER).resolve():
        raise UserError(f"{folder} is where the report keeps its copies: put medleys into another folder.")
    shutil.rmtree(report / FOLDER, ignore_errors=True)
    found = []
    for table in sorted(folder.glob("*.csv")):
        rows = read_csv(table)
        if len(rows) > 1 and set(rows[0]) >= _COLUMNS:
            found.append(_medley(table, rows, report / FOLDER, tracks))
    return found


def _medley(table: Path, rows: list[dict[str, str]], target: Path, tracks: Tracks) -> dict[str, Any]:
    try:
        songs = [_song(row) for row in rows]
        joins = [_join(before, row) for before, row in itertools.pairwise(rows)]
    except ValueError as error:
        raise UserError(f"{table} is not the table of a medley ({error}). Make it again with: djnet medley") from error
    receipt = _receipt(table.with_suffix(".json"))
    paths = [clip["song"] for clip in receipt.get("clips", [])]
    licences = [tracks.licence_at(path) for path in paths]
    free = len(paths) == len(songs) and all(map(may_be_published, licences))
    medley: dict[str, Any] = {"title": table.stem, "songs": songs, "joins": joins, "second": _second(receipt)}
    medley["credit"] = "Songs: " + "; ".join(
        f"{song['title']}{f' ({licence})' if licence else ''}"
        for song, licence in zip(songs, licences or [""] * len(songs), strict=False)
    )
    sound = next((path for suffix in (*_PLAYABLE, *_OTHERS) if (path := table.with_suffix(suffix)).is_file()), None)
    if not free and not tracks.own:
        reason = "Not heard here: not every song is known to be free. For yourself: make report FLAGS=--own"
        return medley | {"address": "", "reason": reason}
    if sound is None:
        return medley | {"address": "", "reason": f"The sound of {table.stem} is missing: make it again, djnet medley."}
    return medley | {"address": f"{FOLDER}/{_place(sound, target)}"}


def _song(row: dict[str, str]) -> dict[str, Any]:
    start, end = float(row["start"]), float(row["end"])
    return {"title": row["label"], "start": start, "end": end, "seconds": end - start, "clock": clock(start)}


def _join(before: dict[str, str], row: dict[str, str]) -> dict[str, Any]:
    start = float(row["start"])
    score = f", score {float(row['score']):.2f}" if row["score"] else ""
    text = f"{before['label']} → {row['label']}{score}"
    return {"jump": max(0.0, start - _LEAD_SECONDS), "clock": clock(start), "text": text}


def clock(seconds: float) -> str:
    """Minutes and seconds: 83.4 -> "1:23"."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _receipt(path: Path) -> dict[str, Any]:
    """What is kept beside a medley; nothing if it is not there."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}). Make the medley again with: djnet medley") from error


def _second(receipt: dict[str, Any]) -> str:
    """The second-best order in words."""
    second = receipt.get("second")
    if not second:
        return ""
    loss = receipt["value"] - second["value"]
    return f"{' → '.join(second['songs'])} (the sum of scores is {loss:.3f} lower)"


def _place(sound: Path, target: Path) -> str:
    """Put a sound beside the page, in a format that browsers play: -> its name."""
    target.mkdir(parents=True, exist_ok=True)
    if sound.suffix in _PLAYABLE:
        shutil.copyfile(sound, target / sound.name)
        return sound.name
    name = f"{sound.stem}.mp3"
    samples, rate = soundfile.read(sound, dtype="float32")
    with whole_file(target / name) as partial:
        partial.write_bytes(mp3(samples, rate))
    return name
