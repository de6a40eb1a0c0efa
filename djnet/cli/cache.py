"""What djnet keeps on disk, and how to remove it: `djnet cache`, `djnet cache clear --older-than 90d`."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from djnet.cli import options
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
    given = options.cache().parse_args(arguments)
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


def _amount(sizes: Sequence[int]) -> str:
    return f"{count(len(sizes), 'file')}, {_megabytes(sum(sizes))}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
