"""Any folder of music: every file that can be decoded, however deep; a track's group is its folder.

The corpus is named as the folder, unless a `game.json` in it says otherwise, as beside rendered songs.
"""

import os
from pathlib import Path, PurePath, PurePosixPath

from djnet import storage
from djnet.audio import CONVERTIBLE, READABLE
from djnet.corpora import Corpus, Skipped, Track
from djnet.puzzles import read_about


def corpus(folder: str | Path) -> Corpus:
    """The music below a folder, with files in formats that cannot be read, which are named when they are skipped."""
    folder = Path(folder).expanduser()
    tracks = []
    seen: set[tuple[int, int]] = set()
    unreadable: list[Skipped] = []

    def skip(error: OSError) -> None:
        unreadable.append(Skipped(error.filename, f"{error.strerror}."))

    for where, folders, names in os.walk(folder, followlinks=True, onerror=skip):
        status = os.stat(where)
        if (status.st_dev, status.st_ino) in seen:  # a link back to a folder above, or a second way to the same one
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders.sort()
        for name in sorted(names):
            path = Path(where, name)
            if _is_music(path):
                relative = path.relative_to(folder)
                tracks.append(Track(str(relative), str(path), str(relative.parent), "own"))
    return Corpus(read_about(folder.resolve())["name"] or "folder", tracks, unreadable)


def corpus_at(address: str) -> Corpus:
    """The music below an address; the same corpus as from a folder with the same files."""
    files = [(PurePosixPath(relative), path) for relative, path in storage.find(address)]
    tracks = [Track(str(name), path, str(name.parent), "own") for name, path in files if _is_music(name)]
    return Corpus(PurePosixPath(address.rstrip("/")).name or "folder", tracks)


def _is_music(path: PurePath) -> bool:
    return path.suffix.lower() in READABLE | CONVERTIBLE and not path.name.startswith(".")
