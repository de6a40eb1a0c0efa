"""A song as a puzzle to play: djnet puzzle song.mp3 -n 6

Writes one page that holds everything and opens from disk. Of a long song the liveliest 24 seconds are taken, or those
that --start names.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import djnet
from djnet import audio, constants
from djnet.cli import options
from djnet.cuts import equal_cuts
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
    write_puzzle(path, song, read_clip(song, start), given.cut, given.n)
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


def write_puzzle(path: Path, song: Path, clip: Clip, cut: str, n: int) -> None:
    """Write the page of a clip in n pieces."""
    cuts = puzzles.choose_cuts(clip, cut, n)
    if cuts is None:
        print(f"There are too few clear downbeats for {n} pieces: cut into equal pieces instead.")
        cut, cuts = "fixed", equal_cuts(constants.CLIP_HOPS, n)
    title, artist = audio.title_of(song)
    labels = {"title": title, "credit": artist or song.name, "licence": "your own copy", "sound": "song"}
    puzzle = puzzles.to_play(clip, cut, cuts, djnet.load(f"sen-{cut}").scores)
    page.write_page(
        path,
        "puzzle.html.jinja",
        title=title,
        command=f"djnet puzzle {song.name} -n {n}",
        data={"play": [puzzle | labels]},
        sound=sound.mp3_text(song, *puzzles.sound_span(clip)),
    )
