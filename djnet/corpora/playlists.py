"""Playlists as players write them: m3u, m3u8 and pls."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

ENDINGS = frozenset({".m3u", ".m3u8", ".pls"})


def is_playlist(path: str | Path) -> bool:
    """Whether a file is a playlist, by its ending."""
    return Path(path).suffix.lower() in ENDINGS


def read(path: str | Path) -> list[str]:
    """The files of a playlist in its order, whether they are there or not; relative ones begin at its folder."""
    data = Path(path).read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")  # what Windows players write
    lines = [line.strip() for line in text.replace("\0", "").splitlines()]
    if Path(path).suffix.lower() == ".pls":
        numbered = [match for line in lines if (match := re.fullmatch(r"file(\d+)\s*=\s*(.+)", line, re.IGNORECASE))]
        entries = [match[2] for match in sorted(numbered, key=lambda match: int(match[1]))]
    else:
        entries = [line for line in lines if line and not line.startswith("#")]
    return [_resolved(entry, Path(path).parent) for entry in entries]


def _resolved(entry: str, folder: Path) -> str:
    """The path of an entry, which may be a file address or have the separators of Windows; addresses stay."""
    if entry.lower().startswith("file:"):
        entry = unquote(urlsplit(entry).path)
    elif "://" in entry:
        return entry
    if "\\" in entry and not os.path.exists(folder / entry):
        entry = entry.replace("\\", "/")
    return str(folder / entry)
