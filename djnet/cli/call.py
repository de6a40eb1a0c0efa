"""The commands as functions, for programs: the same options, values instead of printed text."""

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from djnet.cli import medley as command
from djnet.cli import options
from djnet.errors import UserError
from djnet.medley import receipt

_NOT_HERE = {"help", "songs", "output", "dry_run", "explain", "preview", "again"}


@dataclass(frozen=True)
class Medley:
    """A medley that was made."""

    paths: list[Path]  # the music; receipt, cue sheet, table, picture and page
    plan: list[dict[str, Any]]  # for every part in its order: song, start and end in seconds, bars, key, bpm ...
    joins: list[dict[str, Any]]  # between them: kind, start and end in the medley, bars, stretch, reason
    scores: list[float]  # the network's, of every join
    text: str  # what the command prints


def medley(songs: str | Path | Sequence[str | Path], output: str | Path, **chosen: Any) -> Medley:
    """Make one piece of music out of songs: `djnet.medley(["a.mp3", "b.mp3"], "medley.mp3", total=120, force=True)`.

    Songs are files or folders. Options are those of `djnet medley --help`, with _ for -: `first="Opening"`,
    `before=[("a", "b")]`, `keep_order=True`. A UserError says what is wrong.
    """
    songs = [songs] if isinstance(songs, (str, Path)) else list(songs)
    if not songs or not all(isinstance(song, (str, Path)) for song in songs):
        raise UserError("A medley needs songs: give paths of music files or folders.")
    known = sorted({action.dest for action in options.medley()._actions} - _NOT_HERE)
    if unknown := set(chosen) - set(known):
        raise UserError(f"A medley has no option {min(unknown)!r}; it has {', '.join(known)}.")
    path = Path(output).expanduser()
    said, complaint = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaint):
        try:
            command.main([*_words(chosen), f"--output={path}", "--", *map(str, songs)])
        except SystemExit as error:  # of the parser, for a value that it does not take
            raise UserError(complaint.getvalue().strip()) from error
    beside = receipt.files_beside(path)
    facts = receipt.read_receipt(beside[0])
    page = [] if chosen.get("no_page") else [path.with_suffix(".html")]
    return Medley([path, *beside, *page], facts["clips"], facts["joins"], facts["scores"], said.getvalue())


def _words(options: dict[str, Any]) -> list[str]:
    """Options as words of a command line."""
    words = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if name == "before":
            words += [word for pair in value for word in (flag, *map(str, pair))]
        elif value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words.append(f"{flag}={value}")
    return words
