"""A song as a puzzle to play: djnet puzzle song.mp3 -n 6

Writes one page that holds everything and opens from disk. Of a long song the liveliest 24 seconds are taken, or those
that --start names. The page has up to three levels: equal pieces, pieces cut at downbeats, and the same with a bar left
out between them.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import djnet
from djnet import audio, constants
from djnet.cli import options
from djnet.downbeats.madmom import MadmomMissingError
from djnet.downbeats.tracker import ANALYSIS_RATE_HZ, track
from djnet.errors import UserError, shown
from djnet.features import log_mel
from djnet.pages import page, puzzles, sound
from djnet.records import Clip, quantised


def main(argv: Sequence[str]) -> None:
    """Write the page and say where it is."""
    given = options.puzzle().parse_args(argv)
    song, path = given.song, given.output or Path(f"{given.song.stem}-puzzle.html")
    if path.exists() and not given.force:
        raise UserError(f"{path} is there already: choose another name with -o, or add --force.")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}.")
    seconds = audio.probe(song).seconds
    if seconds < constants.CLIP_SECONDS:
        raise UserError(f"{song} has {seconds:.1f} s, and a puzzle needs {constants.CLIP_SECONDS:g} s of music.")
    start = liveliest(song) if given.start is None else given.start
    latest = seconds - constants.CLIP_SECONDS
    if not 0 <= start <= latest:
        raise UserError(f"--start={start:g}: {song} has 24 s from 0 up to {latest:.1f} s, not from there.")
    command = ["djnet", "puzzle", song.name, "-n", str(given.n), "--start", f"{start:.2f}", "--cut", given.cut]
    write_puzzle(path, song, read_clip(song, start), given.cut, given.n, shlex.join(command))
    print(shown(f"{song}, from {start:.1f} s, in {given.n} pieces -> {path}"))


def liveliest(song: Path) -> float:
    """The second at which those 24 s of a song begin that change most from frame to frame."""
    change = np.abs(np.diff(log_mel(audio.load(song)), axis=0)).mean(axis=1)
    totals = np.convolve(change, np.ones(min(constants.CLIP_HOPS, len(change))), mode="valid")
    return constants.hops_to_seconds(int(np.argmax(totals)))


def read_clip(song: Path, start: float) -> Clip:
    """The 24 s of a song from `start` on as a record, with beats where madmom is installed."""
    samples, fine = audio.load_at(song, start, constants.CLIP_SECONDS, (constants.SAMPLE_RATE_HZ, ANALYSIS_RATE_HZ))
    if samples.std() < constants.SILENCE:
        raise UserError(f"{song} is silent from {start:.1f} s on: choose another part with --start.")
    try:
        beats = track(fine, ANALYSIS_RATE_HZ)
    except MadmomMissingError:
        beats = np.zeros((0, 2))
    stored, scale = quantised(samples[: constants.CLIP_HOPS * constants.HOP_SAMPLES])
    return Clip(str(song), str(song), "", "test", start, 0, stored, scale, log_mel(samples), beats)


def write_puzzle(path: Path, song: Path, clip: Clip, level: str, n: int, command: str) -> None:
    """Write the page of a clip in n pieces.

    path, song, clip: the page, the file, and the part of it that is played.
    level, n: what the page begins with, if the clip has downbeats enough; and how many pieces.
    command: the command line that makes the page again.
    """
    title, artist = audio.title_of(song)
    labels = {"title": title, "credit": artist, "licence": "your own copy", "sound": "song"}
    plays = {}
    for name, network in puzzles.LEVELS.items():
        if (spans := puzzles.choose_spans(clip, name, n)) is not None:
            plays[name] = puzzles.to_play(clip, name, spans, djnet.load(f"sen-{network}").scores) | labels
    if level not in plays:
        print(f"There are too few clear downbeats for {n} pieces: cut into equal pieces instead.")
        level = "fixed"
    page.write_page(
        path,
        "puzzle.html.jinja",
        title=title,
        description=f"A music puzzle: put {n} shuffled pieces of {title} back in order.",
        command=command,
        data={"play": list(plays.values()), "level": level},
        sound=sound.mp3_text(song, *puzzles.sound_span(clip)),
    )
