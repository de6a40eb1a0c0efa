"""A song as a puzzle to play: djnet puzzle song.mp3 -n 6

Writes one page that holds everything and opens from disk. Of a long song the liveliest 24 seconds are taken, or those
that --start names.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from djnet import audio, spec
from djnet.features import log_mel
from djnet.records import Clip
from experiments.report import puzzles
from preprocessing import job
from preprocessing.clips import Planned, Settings, prepare
from preprocessing.madmom_compat import MadmomMissingError


def main(argv: Sequence[str]) -> None:
    """Write the page and say where it is."""
    given = _parse(argv)
    song, page = given.song, given.output or Path(f"{given.song.stem}-puzzle.html")
    if page.exists() and not given.force:
        raise job.JobError(f"{page} is there already: choose another name with -o, or add --force.")
    if not page.parent.is_dir():
        raise job.JobError(f"{page}: there is no folder {page.parent}.")
    probe = audio.probe(song)
    if probe.seconds < spec.CLIP_SECONDS:
        raise job.JobError(f"{song} has {probe.seconds:.1f} s, and a puzzle needs {spec.CLIP_SECONDS:g} s of music.")
    start = liveliest(song) if given.start is None else given.start
    latest = probe.seconds - spec.CLIP_SECONDS
    if not 0 <= start <= latest:
        raise job.JobError(f"--start={start:g}: {song} has 24 s from 0 up to {latest:.1f} s, not from there.")
    clip = clip_of(song, start, probe, given.cache.expanduser())
    write(clip, song, given.n, given.cut, page)
    print(f"{song}, from {start:.1f} s, in {given.n} pieces -> {page}")


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = job.Parser(prog="djnet puzzle", description="Turns a song into a puzzle to play in a browser.")
    parser.add_argument("song", type=Path, help="a music file: wav, flac, ogg, opus, mp3 or aiff")
    parser.add_argument("-n", type=int, default=6, choices=puzzles.SIZES, help="how many pieces (6)")
    parser.add_argument("-o", "--output", type=Path, help="the page to write (SONG-puzzle.html)")
    parser.add_argument("--start", type=float, help="second of the song to begin at (the liveliest 24 s)")
    parser.add_argument("--cut", choices=("downbeat", "fixed"), default="downbeat", help="where (at downbeats)")
    parser.add_argument("--force", action="store_true", help="write over a page that is there already")
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/djnet"), help="where beats are kept")
    return parser.parse_args(argv)


def liveliest(song: Path) -> float:
    """Where the 24 seconds begin in which most happens: the greatest change from frame to frame, in seconds."""
    mel = log_mel(audio.load(song))
    change = np.abs(np.diff(mel, axis=0)).mean(axis=1)
    sums = np.concatenate([[0.0], np.cumsum(change)])
    latest = len(mel) + spec.WINDOW_HOPS - 1 - spec.CLIP_HOPS - 1  # a hop less: decoding rounds
    if latest < 1:
        return 0.0
    width = min(spec.CLIP_HOPS, len(change))
    totals = sums[width:][: latest + 1] - sums[:-width][: latest + 1]
    return spec.hops_to_seconds(int(np.argmax(totals)))


def clip_of(song: Path, start: float, probe: audio.Probe, cache: Path) -> Clip:
    """The 24 s from `start` as a record, as preprocessing makes them, with downbeats where they can be found."""
    planned = Planned(song.name, str(song), "", probe.content, "test", (spec.seconds_to_hops(start),))
    try:
        prepared = prepare(planned, probe.seconds, Settings(), cache)
    except MadmomMissingError:
        prepared = prepare(planned, probe.seconds, Settings(downbeats=False), cache)
    if not prepared.clips:
        raise job.JobError(f"{song} is silent from {start:.1f} s on: choose another part with --start.")
    return prepared.clips[0]


def write(clip: Clip, song: Path, n: int, cut: str, path: Path) -> None:
    """Write the page of a clip."""
    job.import_quietly("tensorflow")
    import djnet
    from experiments.report import page, sound, sources

    if puzzles.cuts_of(clip, cut, n) is None:
        print(f"There are too few clear downbeats for {n} pieces: cut into equal pieces instead.")
        cut = "fixed"
    puzzle = puzzles.play_with(clip, "song", cut, n, djnet.load(f"sen-{cut}").scores)
    title, artist = sources.title_of(song)
    labels = {"title": title, "credit": artist or song.name, "licence": "your own copy"}
    text = page.render(
        "puzzle.html.jinja",
        title=title,
        pieces=n,
        command=f"djnet puzzle {song.name} -n {n}",
        scripts=page.GAME_SCRIPTS,
        data={"play": [(puzzle or {}) | labels]},
        sound=sound.as_text(sound.encode(song, *puzzles.sound_span(clip))),
    )
    page.write(path, text)
