"""Where music comes from. A corpus is a list of tracks; each module makes corpora of one kind."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from djnet.errors import UserError, shown
from djnet.files import read_csv, whole_file

TRACK_LIST = "tracks.csv"  # beside the records: each track with its file on this machine, its split and licence


@dataclass(frozen=True)
class Track:
    """One piece of music: `group` is what it was published with (a soundtrack, an album folder)."""

    id: str
    path: str
    group: str
    licence: str


@dataclass(frozen=True)
class Skipped:
    """A file that is not used, and why, in words for a person."""

    path: str
    reason: str


@dataclass(frozen=True)
class Corpus:
    """A name, the tracks, and the files that were left out."""

    name: str
    tracks: list[Track]
    skipped: list[Skipped] = field(default_factory=list)


def read_tracks(data: Path) -> dict[str, dict[str, str]]:
    """The list of tracks beside records, by track: path, group and licence; a UserError if there is none."""
    path = data / TRACK_LIST
    try:
        rows = read_csv(path, ("track", "path", "group", "licence"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing: run make preprocess again, it only writes the list.") from None
    return {row["track"]: row for row in rows}


def write_skipped(path: Path, skipped: list[Skipped]) -> None:
    """List what was left out, and why."""
    write_csv(path, ("path", "reason"), [(shown(item.path), item.reason) for item in skipped])


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A list of files, whole or absent; names that are not text are written as escapes."""
    with (
        whole_file(path) as partial,
        open(partial, "w", newline="", encoding="utf-8", errors="backslashreplace") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
