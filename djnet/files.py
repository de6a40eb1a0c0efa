"""Files that are whole or absent: a killed job leaves no half file under a final name."""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from djnet.errors import UserError

_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
_PARTIAL = re.compile(rf"\..+\.{_MACHINE}-(\d+)\.partial(\.\w+)?")  # of a process of this machine


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A hidden path to write to; it gets its final name only when the block ends without an error."""
    partial = path.with_name(f".{path.name}.{_MACHINE}-{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def remove_partial(folder: Path) -> None:
    """Remove what killed processes of this machine left in a folder; files that are being written stay."""
    for path in folder.glob(".*.partial*"):
        if (left := _PARTIAL.fullmatch(path.name)) and not _is_running(int(left[1])):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file or a folder: a second job is refused; the system lets go of it if this one is killed.

    What killed jobs left half written in a locked folder, on whatever machine, is removed.
    """
    lock = path / ".lock" if path.is_dir() else path.with_name(f".{path.name}.lock")
    with _taken(lock, path) as file:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}")
        file.flush()
        try:
            for left in path.glob(".*.partial*") if path.is_dir() else ():
                left.unlink(missing_ok=True)
            yield
        finally:
            lock.unlink(missing_ok=True)


def _taken(lock: Path, path: Path) -> Any:
    """The lock's file, open and locked."""
    while True:
        file = open(lock, "a+", encoding="utf-8")  # noqa: SIM115 (the caller closes it)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.exists() and os.path.samestat(os.fstat(file.fileno()), lock.stat()):  # else: removed just now
                return file
        except BlockingIOError:
            file.seek(0)
            holder = file.read(200) or "of an unknown process"
            raise UserError(
                f"Another run is writing to {path} ({holder}): wait for it, or choose another output."
            ) from None
        file.close()


def _is_running(process: int) -> bool:
    """Whether a process is there; its own number is that of an earlier one, as after a container's restart."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process != os.getpid()


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(json.dumps(value, indent=1, ensure_ascii=True) + "\n", encoding="ascii")


def digest_json(value: Any) -> str:
    """A hash of a JSON value that does not depend on the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
