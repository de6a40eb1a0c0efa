"""What djnet keeps on disk, and how to remove it: `djnet cache`, `djnet cache clear --older-than 90d`."""

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from djnet.cli import job
from djnet.cli.medley import CACHE
from djnet.cli.text import count, table

# The folders of the cache, the only ones that are ever cleared.
KINDS = {
    "songs": "songs that were analysed for medleys",
    "beats": "beats of clips",
    "fingerprints": "fingerprints that tell copies of a recording",
    "free": "free recordings, downloaded",
    "apt": "lists of packages, downloaded",
    "synthetic": "generated songs",
    "rwc-p": "rendered songs",
    "records": "records from object storage",
}
_DAY_SECONDS = 86_400


def main(arguments: Sequence[str]) -> int:
    """Show the cache, or clear it."""
    parser = job.Parser(
        prog="djnet cache",
        description="Shows what djnet keeps on disk, and removes it. All of it is made or fetched again when needed.",
    )
    parser.add_argument("action", nargs="?", choices=("show", "clear"), default="show", help="default: show")
    parser.add_argument(
        "--older-than", type=_days, default=0.0, metavar="DAYS", help="clear only what was not used for so long: 90d"
    )
    parser.add_argument("--cache", type=Path, default=Path(CACHE), help=f"folder of the cache (default: {CACHE})")
    given = parser.parse_args(arguments)
    cache = given.cache.expanduser()
    if given.action == "clear":
        print(f"Removed {_amount(clear(cache, given.older_than))} from {cache}.")
        return 0
    sizes = {kind: [path.lstat().st_size for path in _files(cache / kind)] for kind in KINDS}
    rows = [(kind, str(len(sizes[kind])), _megabytes(sum(sizes[kind])), KINDS[kind]) for kind in KINDS if sizes[kind]]
    if rows:
        print(table([("what", "files", "size", ""), *rows]))
    print(f"{cache}: {_amount([size for kind in sizes.values() for size in kind])}.")
    return 0


def clear(cache: Path, days: float = 0.0) -> list[int]:
    """Remove the files that were neither made nor read for some days: -> their sizes in bytes."""
    latest = time.time() - days * _DAY_SECONDS
    removed = []
    for kind in KINDS:
        for path in _files(cache / kind):
            status = path.lstat()
            if not days or max(status.st_mtime, status.st_atime) < latest:
                path.unlink(missing_ok=True)
                removed.append(status.st_size)
        for folder in sorted((cache / kind).rglob("*"), reverse=True):  # the inner ones first
            if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
                folder.rmdir()
    return removed


def _files(folder: Path) -> Iterator[Path]:
    yield from (path for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file())


def _days(text: str) -> float:
    number = re.fullmatch(r"(\d+(?:\.\d+)?)d?", text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days, such as 90d")
    return float(number[1])


def _amount(sizes: Sequence[int]) -> str:
    return f"{count(len(sizes), 'file')}, {_megabytes(sum(sizes))}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
