"""One piece of music out of a folder of songs: `djnet medley songs/ -o medley.wav`, or `make medley SONGS=songs/`."""

import argparse
import hashlib
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from tqdm import tqdm

import djnet
from djnet import audio
from djnet.cli import job, text
from djnet.corpora import folder, free
from djnet.errors import UserError
from djnet.medley import analysis, arrange, check, mix, receipt
from djnet.medley.analysis import Song
from djnet.medley.arrange import Override, Plan, Scores, Wishes
from djnet.medley.mix import RATE_HZ, Mix
from djnet.ordering import Rules
from djnet.rng import rng_for

CACHE = Path("~/.cache/djnet")
MOST_SONGS = 100
_FREE_SONGS = 10
_TOTAL_TRIES = 4
_LOSSY_PEAK_DB = -2.5  # encoders that leave something out overshoot
_PREVIEW_SECONDS = 4.0  # on each side of a join
_PAUSE_SECONDS = 0.6

EPILOG = """\
examples:
  djnet medley songs/ -o medley.wav
  djnet medley songs/ -o party.mp3 --total 300 --first "Opening" --last "Good Night"
  djnet medley songs/ -o medley.wav --dry-run      what would play, without making it
  djnet medley songs/ -o joins.wav --preview       only the moments where songs meet
  djnet medley --again medley.json -o copy.wav     the same medley once more

settings for single songs (a file in TOML, given with --settings):
  ["Opening.mp3"]
  start = 62.5    # seconds into the song; moved to the nearest downbeat
  length = 20     # seconds, in whole bars

beside medley.wav: medley.json (all that is needed to make it again), medley.cue (where each song begins),
medley.csv (the same as a table) and medley.png (a picture)."""


@dataclass(frozen=True)
class Options:
    """How long and how joined."""

    length: float = 16.0
    total: float | None = None
    bars: int = 2
    candidates: int = 3


def parser() -> argparse.ArgumentParser:
    """The command line."""
    words = job.Parser(
        prog="djnet medley",
        description="Makes one piece of music out of many songs: finds the part of each that stands for it, the order "
        "in which the parts follow each other best, and joins them on the beat.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = words.add_argument
    add("songs", nargs="*", help="folders or music files (wav, flac, ogg, opus, mp3, aiff); none: free recordings")
    add("-o", "--output", default="medley.wav", help="file to write: wav, flac, ogg or mp3 (default: medley.wav)")
    add("--force", action="store_true", help="write over files that are there")
    add("--dry-run", action="store_true", help="print what would play, and stop")
    add("--preview", action="store_true", help="write only the joins, one after the other")
    add("--again", metavar="JSON", help="make the medley of this receipt once more, byte for byte")
    size = words.add_argument_group("how long")
    size.add_argument("--length", type=_positive, default=16.0, metavar="SECONDS",
                      help="of each song, about: whole phrases of 4, 8 or 16 bars (default: 16)")  # fmt: skip
    size.add_argument("--total", type=_positive, metavar="SECONDS", help="of the whole medley, about")
    size.add_argument(
        "--bars", type=int, choices=range(5), default=2, help="a join lasts at most so many bars; 0: cuts"
    )
    size.add_argument("--settings", metavar="TOML", help="start and length of single songs, see below")
    order = words.add_argument_group("which order", "a song is named by its file name or a part of it")
    order.add_argument("--first", metavar="SONG", help="begins")
    order.add_argument("--last", metavar="SONG", help="ends")
    order.add_argument("--before", nargs=2, action="append", default=[], metavar=("A", "B"), help="A plays before B")
    order.add_argument("--keep-order", action="store_true", help="as given, files of a folder by name")
    order.add_argument("--drop-worst", type=int, default=0, metavar="K", help="leave out the K songs that fit worst")
    deep = words.add_argument_group("inside")
    deep.add_argument(
        "--network", default="sen-downbeat", help="shipped weights by name, or the folder of a run of yours"
    )
    deep.add_argument("--candidates", type=int, choices=range(1, 6), default=3, help="parts of a song to choose from")
    deep.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="songs listened to at once")
    deep.add_argument("--cache", default=str(CACHE), help=f"what is known of songs is kept here (default: {CACHE})")
    return words


def main(arguments: Sequence[str]) -> int:
    """Plan, render, check, and write everything."""
    given = parser().parse_args(arguments)
    output = Path(given.output).expanduser()
    _check_output(output, given.force or given.dry_run)
    if given.again:
        return _write(output, receipt.read_receipt(Path(given.again).expanduser()), given.preview)
    cache = Path(given.cache).expanduser()
    paths = find(given.songs, cache, output)
    found, skipped = analysis.analyse(paths, cache, max(1, given.workers))
    for item in skipped:
        print(f"Left out: {item.path} {item.reason}")
    if not found:
        raise UserError("No song is left to make a medley of.")
    if not analysis.has_tracker():
        print("Beats cannot be found without madmom (make madmom): songs are joined by short fades.")
    options = Options(given.length, given.total, given.bars, given.candidates)
    wishes = _wishes(given, found)
    overrides = read_settings(Path(given.settings).expanduser(), found) if given.settings else {}
    plan = make_plan(found, options, wishes, overrides, load_network(given.network))
    print(text.plan_table(plan, found, plan.joins(options.bars)))
    if given.dry_run:
        return 0
    peak_db = _LOSSY_PEAK_DB if output.suffix.lower() in audio.LOSSY else mix.PEAK_DB
    return _write(output, receipt.receipt(plan, output.stem, options.bars, peak_db, given.network), given.preview)


def make_plan(
    found: Sequence[Song], options: Options, wishes: Wishes, overrides: dict[int, Override], scorer: Scores
) -> Plan:
    """Candidates of every song, then the best choice and order; for a total, again with lengths that come nearer."""

    def planned(lengths: Sequence[float]) -> Plan:
        return arrange.plan(
            [
                arrange.candidates(song, seconds, options.candidates, overrides.get(i))
                for i, (song, seconds) in enumerate(zip(found, lengths, strict=True))
            ],
            scorer,
            wishes,
        )

    total = options.total
    if total is None:
        return planned([options.length] * len(found))
    shortest, longest = arrange.total_range(found)
    if not shortest <= total <= longest:
        raise UserError(
            f"--total={total:g}: {len(found)} songs give a medley of {shortest:.0f} to {longest:.0f} s; "
            "ask for a total between, or take other songs."
        )
    plans, wanted = [], total
    for _ in range(_TOTAL_TRIES):
        plans.append(planned(arrange.lengths_for_total(found, wanted)))
        wanted += total - plans[-1].seconds(options.bars)
    return min(plans, key=lambda plan: abs(plan.seconds(options.bars) - total))


def find(words: Sequence[str], cache: Path, output: Path) -> list[str]:
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
        paths += [track.path for track in folder.corpus(path).tracks] if path.is_dir() else [str(path)]
    paths = [path for path in dict.fromkeys(paths) if Path(path).resolve() != output.resolve()]
    if not paths:
        raise UserError(f"{' '.join(words)}: no music files there (wav, flac, ogg, opus, mp3, aiff).")
    if len(paths) > MOST_SONGS:
        raise UserError(f"{len(paths)} songs are too many for one medley, {MOST_SONGS} is the most: name fewer.")
    return paths


def read_settings(path: Path, found: Sequence[Song]) -> dict[int, Override]:
    """What a TOML file says of single songs, by their number."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is not TOML: {error}") from error
    known = {field.name for field in fields(Override)}
    overrides = {}
    for name, values in content.items():
        number = _number_of(name, found, str(path))
        if not isinstance(values, dict) or not set(values) <= known:
            raise UserError(f'{path}: write ["{name}"], and below it start = ... or length = ..., nothing else.')
        if wrong := [key for key, value in values.items() if type(value) not in (int, float) or value < 0]:
            raise UserError(f"{path}: {wrong[0]} of {name!r} must be seconds, not {values[wrong[0]]!r}.")
        overrides[number] = Override(**values)
    return overrides


def _wishes(given: argparse.Namespace, found: Sequence[Song]) -> Wishes:
    """The wishes of the command line, with songs as numbers."""
    first = None if given.first is None else _number_of(given.first, found, "--first")
    last = None if given.last is None else _number_of(given.last, found, "--last")
    before = tuple((_number_of(a, found, "--before"), _number_of(b, found, "--before")) for a, b in given.before)
    if given.drop_worst < 0 or (given.drop_worst and given.drop_worst > len(found) - 2):
        raise UserError(f"--drop-worst={given.drop_worst}: of {len(found)} songs two must be left.")
    wishes = Wishes(Rules(first, last, before), given.drop_worst, given.keep_order)
    wishes.require_possible([song.name for song in found])
    return wishes


def _number_of(name: str, found: Sequence[Song], where: str) -> int:
    """The song of that name: the whole file name, or the only one that contains it."""
    files = [Path(song.path).name.lower() for song in found]
    wanted = Path(name).name.lower()
    exact = [i for i, file in enumerate(files) if wanted in (file, Path(file).stem)]
    near = exact or [i for i, file in enumerate(files) if wanted in file]
    if len(near) != 1:
        said = "no song has that in its name" if not near else f"that may be {files[near[0]]} or {files[near[1]]}"
        raise UserError(f"{where} {name!r}: {said}.")
    return near[0]


def load_network(name: str) -> Scores:
    """The network's scores; TensorFlow is loaded here."""
    job.import_quietly("tensorflow")
    try:
        return djnet.load(name).scores
    except (OSError, ValueError) as error:
        raise UserError(f"--network={name}: {error}") from error


def _siblings(output: Path) -> list[Path]:
    return [output.with_suffix(ending) for ending in (".json", ".cue", ".csv", ".png")]


def _check_output(output: Path, force: bool) -> None:
    """Whatever would go wrong with the output is said before any work."""
    if output.suffix.lower() not in audio.WRITABLE:
        raise UserError(f"{output}: the ending says the format; there are {', '.join(audio.WRITABLE)}.")
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}; make it first.")
    if not os.access(output.parent, os.W_OK):
        raise UserError(f"{output}: the folder {output.parent} cannot be written to.")
    for path in (output, *_siblings(output)):
        if path.exists() and not force:
            raise UserError(f"{path}: is there already; choose another -o, or --force to write over it.")


def _write(output: Path, content: dict[str, Any], preview: bool) -> int:
    """Render a receipt, listen to the result, write everything; -> exit code."""
    parts = receipt.parts_of(content)
    with tqdm(desc="render", total=len(parts), unit="song") as bar:
        made = mix.render(parts, content["bars"], peak_db=content["peak_db"], done=bar.update)
    del parts
    names = [Path(clip["song"]).stem for clip in content["clips"]]
    samples = _joins_only(made) if preview else made.samples
    audio.write(output, samples, RATE_HZ, content["title"], "Medley of " + ", ".join(names))
    if preview:
        print(f"{output}: {text.number_of(len(made.joins), 'join')}, {len(samples) / RATE_HZ:.0f} s.")
        return 0
    del samples
    made = replace(made, samples=soundfile.read(output, dtype="float32", always_2d=True)[0])
    checked = check.check(made.samples, made.joins, made.beats)
    json_path, cue_path, csv_path, picture_path = _siblings(output)
    receipt.write_json_receipt(json_path, content, made, hashlib.sha256(output.read_bytes()).hexdigest())
    receipt.write_cue(cue_path, output, made.cuts, names)
    receipt.write_csv(csv_path, made, content)
    receipt.draw(picture_path, made, names, content["scores"])
    print(text.check_table(checked, made, names))
    print(f"{output}: {text.clock(made.cuts[-1])}, {text.number_of(len(names), 'song')}.")
    return 0


def _joins_only(made: Mix) -> np.ndarray:
    """The joins with a few seconds around each and a pause between: -> [M, 2]."""
    pieces = []
    for join in made.joins:
        first, last = (max(0.0, join.start - _PREVIEW_SECONDS), join.end + _PREVIEW_SECONDS)
        pieces += [
            made.samples[round(first * RATE_HZ) : round(last * RATE_HZ)],
            np.zeros((round(_PAUSE_SECONDS * RATE_HZ), 2), np.float32),
        ]
    return np.concatenate(pieces) if pieces else made.samples


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be more than 0 seconds, got {text}")
    return value
