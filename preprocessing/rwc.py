"""RWC Popular Music as a game of sequencing: `make rwc RWC=folder`.

The folder has `sections/` (AIST's annotation, a file a song) and either `audio/` (the recordings) or `midi/` (the
aligned notes, which are then rendered with FluidSynth). sequencing/ below --data gets a link to each song and to
its annotation.
"""

import re
from pathlib import Path
from typing import Any

import joblib
from absl import flags
from tqdm import tqdm

from djnet.annotations import join_short, read_sections
from djnet.audio import READABLE
from djnet.cli import job
from djnet.errors import UserError
from djnet.files import write_json
from djnet.puzzles import ABOUT
from preprocessing import render_midi
from preprocessing.cluster import engine_for

_LICENCE_TITLE = "Attribution-NonCommercial 4.0 International"


def song_name(path: Path) -> str:
    """The name that all files of a song share: RM-P001.CHORUS.TXT belongs to RWC_P001."""
    number = re.search(r"P\d{3}", path.name)
    return f"RWC_{number[0]}" if number else path.stem


def find_song(rwc: Path, name: str) -> Path:
    """The recording of a song, or else its notes."""
    recordings = [path for path in (rwc / "audio").glob(f"{name}.*") if path.suffix.lower() in READABLE]
    song = min(recordings, default=rwc / "midi" / f"{name}.mid")
    if not song.is_file():
        raise UserError(f"{rwc}: the song {name} has sections, but no file in audio/ and none in midi/.")
    return song


def build(rwc: Path, folder: Path, cache: Path, soundfont: str | None = None, workers: int = 1) -> tuple[int, int, int]:
    """Fill a folder: -> how many songs, how many of them rendered, how many short sections will be joined."""
    annotations = {song_name(path): path for path in sorted((rwc / "sections").glob("*")) if path.is_file()}
    if not annotations:
        raise UserError(f"{rwc / 'sections'}: no annotations there.")
    songs = {name: find_song(rwc, name) for name in annotations}
    rendered = [name for name, path in songs.items() if path.suffix == ".mid"]
    if rendered:
        font = render_midi.find_soundfont(soundfont)
        waves = {name: cache / "rwc-p" / f"{name}.wav" for name in rendered}
        todo = [(songs[name], wave, font) for name, wave in waves.items() if not wave.is_file()]
        done = engine_for("local", workers)(render_midi.render, todo)
        list(tqdm(done, desc="render", total=len(todo), unit="song", disable=not todo))
        songs |= waves
    folder.mkdir(parents=True, exist_ok=True)
    joined = 0
    for name, path in annotations.items():
        joined += join_short(read_sections(path))[1]
        _link(folder / f"{name}.txt", path)
        _link(folder / f"{name}{songs[name].suffix}", songs[name])
    write_json(folder / ABOUT, _about(rwc, len(rendered), len(songs)))
    return len(songs), len(rendered), joined


def _about(rwc: Path, rendered: int, songs: int) -> dict[str, str]:
    """Name, licence and credit of the songs. The licence in the folder covers what is rendered from its notes only."""
    about = {"name": "rwc-p (rendered)" if rendered else "rwc-p"}
    text = rwc / "LICENSE"
    if rendered == songs and text.is_file() and _LICENCE_TITLE in text.read_text(encoding="utf-8", errors="replace"):
        about |= {"licence": "CC-BY-NC-4.0", "credit": "RWC Music Database (Popular Music), rendered from its notes"}
    return about


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target.resolve())


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("rwc", None, "Folder of RWC-P with sections/, and audio/ or midi/.", required=True)
    flags.DEFINE_string("data", "data", "The songs go to sequencing/ in it.")
    flags.DEFINE_string("cache", "~/.cache/djnet", "Folder for the rendered songs.")
    flags.DEFINE_string("soundfont", None, "A General MIDI soundfont; without, one of the system's.")
    flags.DEFINE_integer("workers", joblib.cpu_count(), "Processes.", lower_bound=1)


def main(given: Any) -> None:
    """Collect the songs."""
    rwc, folder = Path(given.rwc).expanduser(), Path(given.data).expanduser() / "sequencing"
    songs, rendered, joined = build(rwc, folder, Path(given.cache).expanduser(), given.soundfont, given.workers)
    print(f"{folder}: {songs} songs, {rendered} of them rendered; {joined} sections under 1 s count with a neighbour.")


if __name__ == "__main__":
    job.run(main, define_flags)
