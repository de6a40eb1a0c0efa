"""A song as a puzzle to play: djnet puzzle song.mp3 -n 6

Writes one page that holds everything and opens from disk. Of a long song the liveliest 24 seconds are taken, or those
that --start names.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from djnet import audio, constants
from djnet.cli import job
from djnet.downbeats.madmom import MadmomMissingError
from djnet.downbeats.tracker import ANALYSIS_RATE_HZ, track
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.pages import playable
from djnet.records import Clip


def main(argv: Sequence[str]) -> None:
    """Write the page and say where it is."""
    given = _parse(argv)
    song, page = given.song, given.output or Path(f"{given.song.stem}-puzzle.html")
    if page.exists() and not given.force:
        raise UserError(f"{page} is there already: choose another name with -o, or add --force.")
    if not page.parent.is_dir():
        raise UserError(f"{page}: there is no folder {page.parent}.")
    probe = audio.probe(song)
    if probe.seconds < constants.CLIP_SECONDS:
        raise UserError(f"{song} has {probe.seconds:.1f} s, and a puzzle needs {constants.CLIP_SECONDS:g} s of music.")
    start = liveliest(song) if given.start is None else given.start
    latest = probe.seconds - constants.CLIP_SECONDS
    if not 0 <= start <= latest:
        raise UserError(f"--start={start:g}: {song} has 24 s from 0 up to {latest:.1f} s, not from there.")
    clip = clip_of(song, start)
    write(clip, song, given.n, given.cut, page)
    print(f"{song}, from {start:.1f} s, in {given.n} pieces -> {page}")


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = job.Parser(prog="djnet puzzle", description="Turns a song into a puzzle to play in a browser.")
    parser.add_argument("song", type=Path, help="a music file: wav, flac, ogg, opus, mp3 or aiff")
    parser.add_argument("-n", type=int, default=6, choices=playable.SIZES, help="how many pieces (6)")
    parser.add_argument("-o", "--output", type=Path, help="the page to write (SONG-puzzle.html)")
    parser.add_argument("--start", type=float, help="second of the song to begin at (the liveliest 24 s)")
    parser.add_argument("--cut", choices=("downbeat", "fixed"), default="downbeat", help="where (at downbeats)")
    parser.add_argument("--force", action="store_true", help="write over a page that is there already")
    return parser.parse_args(argv)


def liveliest(song: Path) -> float:
    """Where the 24 seconds begin in which most happens: the greatest change from frame to frame, in seconds."""
    mel = log_mel(audio.load(song))
    change = np.abs(np.diff(mel, axis=0)).mean(axis=1)
    sums = np.concatenate([[0.0], np.cumsum(change)])
    latest = len(mel) + constants.WINDOW_HOPS - 1 - constants.CLIP_HOPS - 1  # a hop less: decoding rounds
    if latest < 1:
        return 0.0
    width = min(constants.CLIP_HOPS, len(change))
    totals = sums[width:][: latest + 1] - sums[:-width][: latest + 1]
    return constants.hops_to_seconds(int(np.argmax(totals)))


def clip_of(song: Path, start: float) -> Clip:
    """The 24 s from `start` as a record, with beats where they can be found."""
    samples, fine = audio.load_at(song, start, constants.CLIP_SECONDS, (constants.SAMPLE_RATE_HZ, ANALYSIS_RATE_HZ))
    if samples.std() < constants.SILENCE:
        raise UserError(f"{song} is silent from {start:.1f} s on: choose another part with --start.")
    try:
        beats = track(fine, ANALYSIS_RATE_HZ)
    except MadmomMissingError:
        beats = np.zeros((0, 2))
    return Clip(str(song), str(song), "", "test", start, 0, log_mel(samples), beats)


def write(clip: Clip, song: Path, n: int, cut: str, path: Path) -> None:
    """Write the page of a clip."""
    job.import_quietly("tensorflow")
    import djnet
    from djnet.pages import page, sound

    if playable.cuts_of(clip, cut, n) is None:
        print(f"There are too few clear downbeats for {n} pieces: cut into equal pieces instead.")
        cut = "fixed"
    puzzle = playable.play_with(clip, "song", cut, n, djnet.load(f"sen-{cut}").scores)
    title, artist = audio.title_of(song)
    labels = {"title": title, "credit": artist or song.name, "licence": "your own copy"}
    text = page.render(
        "puzzle.html.jinja",
        title=title,
        pieces=n,
        command=f"djnet puzzle {song.name} -n {n}",
        scripts=page.GAME_SCRIPTS,
        data={"play": [(puzzle or {}) | labels]},
        sound=sound.as_text(sound.encode(song, *playable.sound_span(clip))),
    )
    page.write(path, text)
