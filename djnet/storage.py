"""Music and records at an address (s3://bucket/folder, gs://, hdfs://, anything that fsspec knows) instead of a disk.

Music is copied to the machine that decodes it, one file at a time. Records are made on the local disk, where an
interrupted run can go on, and then copied to the address: shards first, the manifest last, each file in one piece. So
where there is a manifest, there are the records that it lists.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from djnet.errors import UserError
from djnet.files import locked, temporary_folder, whole_file
from djnet.records import MANIFEST, SPLITS, Manifest, RecordsError


def is_address(path: str) -> bool:
    """Whether a path is an address and not on this machine's disk."""
    return "://" in path


@contextlib.contextmanager
def local_copy(path: str) -> Iterator[str]:
    """A file on this machine's disk: the file itself, or a copy for as long as the block runs."""
    if not is_address(path):
        yield path
        return
    files, place = _open(path)
    with temporary_folder() as folder:
        copy = folder / PurePosixPath(place).name
        files.get_file(place, str(copy))
        yield str(copy)


def find(address: str) -> list[tuple[str, str]]:
    """Every file below an address: -> its path relative to that, its address; in order."""
    scheme = address.split("://")[0]
    with _reaching(address):
        files, place = _open(address)
        paths = files.find(place)
    if not paths:
        raise UserError(f"{address}: there is no such folder, or nothing in it.")
    return sorted((str(PurePosixPath(path).relative_to(place)), f"{scheme}://{path}") for path in paths)


def publish(folder: Path, address: str) -> None:
    """Copy the records of a local folder to an address, but for shards that are there already."""
    manifest = Manifest.read(folder)
    with _reaching(address):
        files, place = _open(address)
        published = _manifest_at(files, place)
        if published.get("hash") != manifest.hash:
            if published:
                files.rm_file(f"{place}/{MANIFEST}")  # from here on the old shards are replaced
            for name in _shards(manifest.content):
                files.put_file(str(folder / name), f"{place}/{name}")
        for name in ("skipped.csv", MANIFEST):
            files.put_file(str(folder / name), f"{place}/{name}")
        for name in set(_shards(published)) - set(_shards(manifest.content)):
            files.rm_file(f"{place}/{name}")


def fetch(address: str, folder: Path) -> Path:
    """Copy records from an address to a local folder, but for shards that are there already: -> the folder."""
    with _reaching(address):
        files, place = _open(address)
        if not (published := _manifest_at(files, place)):
            raise RecordsError(f"{address}/{MANIFEST} is missing: no finished records there.")
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, wait=True):
            for shard in (shard for split in SPLITS for shard in published["splits"][split]["shards"]):
                try:
                    Manifest(folder, published).check(shard)
                except RecordsError:  # not there, or another one
                    _get(files, place, folder, shard["name"])
            _get(files, place, folder, MANIFEST)
    return folder


def _get(files: Any, place: str, folder: Path, name: str) -> None:
    """Copy one file into a folder, whole or not at all."""
    if PurePosixPath(name).name != name:
        raise RecordsError(f"{place}/{MANIFEST} is damaged: {name!r} is not the name of a file beside it.")
    with whole_file(folder / name) as partial:
        files.get_file(f"{place}/{name}", str(partial))


def _manifest_at(files: Any, place: str) -> dict[str, Any]:
    files.invalidate_cache()
    try:
        return json.loads(files.cat_file(f"{place}/{MANIFEST}"))
    except (FileNotFoundError, ValueError):
        return {}


def _shards(manifest: dict[str, Any]) -> list[str]:
    return [shard["name"] for split in manifest.get("splits", {}).values() for shard in split["shards"]]


def _open(address: str) -> tuple[Any, str]:
    """The file system of an address, and the place within it."""
    try:
        import fsspec

        files, place = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UserError(f"{address}: {error}. For s3:// install djnet[s3], for others what fsspec asks for.") from error
    return files, place.rstrip("/")


@contextlib.contextmanager
def _reaching(address: str) -> Iterator[None]:
    """Turn the many errors of fsspec's libraries (no key, no bucket, no network) into one that names the address."""
    try:
        yield
    except (UserError, RecordsError):
        raise
    except Exception as error:
        raise UserError(f"{address} cannot be reached ({type(error).__name__}: {error}).") from error
