"""The options of every command, in a module that is imported in no time: `--help` and mistakes need nothing else."""

import argparse
import os
import re
from pathlib import Path

from djnet.cli import job

CACHE = "~/.cache/djnet"
# Seconds of each song (None: all of it), and bars of a blend.
STYLES: dict[str, tuple[float | None, int]] = {"medley": (16.0, 2), "party": (75.0, 4), "full": (None, 8)}
ORDERS = ("mix", "tempo", "sen")  # as in medley/join_score.py
ARCS = ("rise", "fall", "wave", "flat")  # as in medley/energy.py
PIECES, LEVELS = (3, 4, 5, 6, 7, 8), ("fixed", "downbeat", "bar")  # as in pages/puzzles.py

_MEDLEY_EPILOG = """\
examples:
  djnet medley songs/ -o medley.wav
  djnet medley songs/ -o party.mp3 --total 5:00 --first "Opening" --last "Good Night"
  djnet medley songs/ -o medley.wav --dry-run      print what would play, without making it
  djnet medley songs/ -o joins.wav --preview       hear only the joins
  djnet medley --again medley.json -o copy.wav     make the same medley once more

settings for single songs and joins, in a TOML file given with --settings:
  ["Opening.mp3"]
  start = 62.5    # seconds into the song; moved to the nearest downbeat
  length = 20     # seconds; rounded to whole bars
  never = [[0, 12], [180, 200]]    # seconds that must not play
  bpm = 120       # where the tempo or the metre was not recognised
  meter = 4       # beats in a bar
  gain = -3       # dB, against the other songs
  transpose = 1   # semitones up; -1 is one down

  [[join]]        # counts where these two songs follow each other
  from = "Opening"
  to = "Good Night"
  transition = "echo"    # blend, ramp, loop, overlay, sweep, echo or cut
  bars = 4

beside medley.wav: medley.json (a receipt, to make the same medley again), medley.cue (where each song begins),
medley.m3u8 (a playlist of the whole songs), medley.csv (a table of songs and joins), medley.png (a picture) and
medley.html (a player with the time line)."""


def medley() -> job.Parser:
    """djnet medley."""
    words = job.Parser(
        prog="djnet medley",
        description="Makes one piece of music out of many songs: chooses a typical part of each song, puts the parts\n"
        "in the order in which they follow each other best, and joins them on the beat.",
        epilog=_MEDLEY_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = words.add_argument
    add(
        "songs",
        nargs="*",
        help="folders, files (wav, flac, mp3, m4a ...) or playlists (m3u, pls); if none, free recordings are used",
    )
    add("-o", "--output", default="medley.wav", help="file to write: wav, flac, ogg, mp3 or m4a (default: medley.wav)")
    add("--quality", type=int, choices=range(1, 11), default=9, metavar="1-10",
        help="of an mp3, ogg or m4a file, 10 is the best and largest (default: 9)")  # fmt: skip
    add("--force", action="store_true", help="overwrite existing files")
    add("--dry-run", action="store_true", help="print what would play, and stop")
    add(
        "--explain",
        metavar="SONG",
        help="print tempo, metre and key of a song, and why which part of it would play, and stop",
    )
    add("--preview", action="store_true", help="write only the joins, one after the other")
    add("--again", metavar="JSON", help="make the medley of this receipt again, byte for byte")
    add("--no-page", action="store_true", help="leave out the page with the player")
    add("--embed", action="store_true", help="put the music into the page too, to pass on one file")
    add = words.add_argument_group("length").add_argument
    add("--style", choices=STYLES, default="medley",
        help="medley: 16 s of each song; party: 75 s; full: whole songs (default: medley)")  # fmt: skip
    add("--length", type=duration, metavar="TIME", help="how much of each song plays, about: 20, 0:45, 2m")
    add("--total", type=duration, metavar="TIME", help="how long it all is, about: 300, 5:00, 20m; replaces --length")
    add("--bars", type=int, choices=range(9),
        help="bars that two songs share, at most (default: medley 2, party 4, full 8); 0: hard cuts")  # fmt: skip
    add("--settings", metavar="TOML", help="settings for single songs and joins, see below")
    add = words.add_argument_group("order", "SONG, A and B are file names or titles, or parts of them").add_argument
    add("--first", metavar="SONG", help="song to begin with")
    add("--last", metavar="SONG", help="song to end with")
    add("--before", nargs=2, action="append", default=[], metavar=("A", "B"), help="A plays before B; may be repeated")
    add("--order", choices=ORDERS, default="mix",
        help="what makes a good join: tempo, keys, energy, voices and the network SEN together (mix, the default), "
        "tempo alone, or SEN alone")  # fmt: skip
    add(
        "--arc",
        choices=ARCS,
        help="how energy goes, as far as joins allow: up, down, up and down and up again, or evenly",
    )
    add("--repitch", action="store_true",
        help="transpose songs by a semitone up or down where keys then fit clearly better")  # fmt: skip
    add("--keep-order", action="store_true", help="keep songs in the order given, and files of a folder sorted by name")
    add("--drop-worst", type=int, default=0, metavar="K", help="leave out the K songs that fit worst")
    add = words.add_argument_group("advanced").add_argument
    add("--network", default="sen-medley", help="name of shipped weights, or folder of a trained run")
    add("--candidates", type=int, choices=range(1, 6), default=3, help="parts of each song to choose from (default: 3)")
    add("--workers", type=int, default=os.cpu_count() or 1, help="songs analysed at once (default: one a CPU)")
    add("--cache", default=CACHE, help=f"folder where analysed songs are kept (default: {CACHE})")
    return words


def order() -> job.Parser:
    """djnet order."""
    words = job.Parser(
        prog="djnet order",
        description="Says in which order music files follow each other best when each is played whole. "
        "(`djnet medley` chooses the best parts of songs and joins them.)",
    )
    add = words.add_argument
    add("files", nargs="+", help="two or more music files, clips or whole songs; or playlists of them")
    add("--network", default="sen-two-matrices", help="name of shipped weights, or folder of a trained run")
    add("--first", metavar="FILE", help="file that must come first")
    add("--last", metavar="FILE", help="file that must come last")
    return words


def puzzle() -> job.Parser:
    """djnet puzzle."""
    words = job.Parser(prog="djnet puzzle", description="Turns a song into a puzzle to play in a browser.")
    add = words.add_argument
    add("song", type=Path, help="a music file: wav, flac, mp3, m4a ...")
    add("-n", type=int, default=6, choices=PIECES, help="how many pieces (default: 6)")
    add("-o", "--output", type=Path, help="the page to write (default: SONG-puzzle.html)")
    add("--start", type=float, metavar="SECONDS", help="where in the song to begin (default: its liveliest 24 s)")
    levels = "equal pieces, cut at downbeats (the default), or a bar left out between pieces"
    add("--cut", choices=LEVELS, default="downbeat", help=f"the level to begin with: {levels}")
    add("--force", action="store_true", help="write over a page that is there already")
    return words


def studio() -> job.Parser:
    """djnet studio."""
    words = job.Parser(
        prog="djnet studio",
        description="Opens a page in the browser to make a medley by hand and ear. Everything stays on this machine.",
    )
    add = words.add_argument
    add("songs", nargs="?", help="folder of songs, which are only read; more can be added on the page")
    add("--project", metavar="FOLDER", help="where project, added songs and medleys are kept (SONGS/djnet-studio)")
    add("--port", type=int, default=0, help="port of this machine (default: any that is free)")
    add("--no-browser", action="store_true", help="only print the address")
    add("--network", default="sen-downbeat", help="name of shipped weights, or folder of a trained run")
    add("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="songs analysed at once")
    add("--cache", default=CACHE, help=f"folder where analysed songs are kept (default: {CACHE})")
    return words


def cache() -> job.Parser:
    """djnet cache."""
    words = job.Parser(
        prog="djnet cache",
        description="Shows what djnet keeps on disk, and removes it. All of it is made or fetched again when needed.",
    )
    add = words.add_argument
    add("action", nargs="?", choices=("show", "clear"), default="show", help="default: show")
    add("--older-than", type=days, default=0.0, metavar="DAYS", help="clear only what was not used for so long: 90d")
    add("--cache", type=Path, default=Path(CACHE), help=f"folder of the cache (default: {CACHE})")
    return words


def completion() -> job.Parser:
    """djnet completion."""
    return job.Parser(
        prog="djnet completion",
        description="Prints a script that completes commands and options in bash and zsh. "
        'Put this line into ~/.bashrc or ~/.zshrc: eval "$(djnet completion)"',
    )


def duration(word: str) -> float:
    """Seconds from 300, 5:00, 1:05:00, 5m, 1h20m or 90s."""
    numbers = re.fullmatch(r"(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", word) or re.fullmatch(
        r"(?:(\d+)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?", word.strip().lower()
    )
    hours, minutes, seconds = (float(number or 0) for number in numbers.groups()) if numbers else (0.0, 0.0, 0.0)
    value = 3600 * hours + 60 * minutes + seconds
    if not 0 < value < 1e6:
        said = f"write seconds, minutes or both, such as 300, 5:00 or 20m, not {word[:20]!r}"
        raise argparse.ArgumentTypeError(said)
    return value


def days(word: str) -> float:
    """Days from 90 or 90d."""
    number = re.fullmatch(r"(\d+(?:\.\d+)?)d?", word)
    if number is None:
        raise argparse.ArgumentTypeError(f"{word!r} is no number of days, such as 90d")
    return float(number[1])


PARSERS = {parser.__name__: parser for parser in (medley, order, puzzle, studio, cache, completion)}
