"""Files that are whole or absent: a killed job leaves no half file under a final name."""

import contextlib
import errno
import fcntl
import hashlib
import json
import math
import os
import platform
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from djnet.errors import UserError

_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
_PARTIAL = re.compile(rf"\..+\.{_MACHINE}-(\d+)\.partial(\.\w+)?")  # of a process of this machine


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A hidden path to write to; it gets its final name when the block ends without an error and all is on the disk."""
    partial = path.with_name(f".{path.name}.{_MACHINE}-{os.getpid()}.partial")
    try:
        yield partial
        _to_disk(partial)
        os.replace(partial, path)
        _to_disk(path.parent)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(partial)):
            raise _with_room(error, path) from error
        raise


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _with_room(error: OSError, path: Path) -> OSError:
    """An error of writing under the file's final name, with the room on its disk: mostly that is what was missing."""
    reason = str(error.strerror or error).rstrip(".")
    with contextlib.suppress(OSError):
        reason += f" ({shutil.disk_usage(path.parent).free / 1e6:.1f} MB are free on its disk)"
    return OSError(error.errno or errno.EIO, reason, str(path))


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


def read_json(path: Path, shape: dict[str, Any]) -> dict[str, Any]:
    """A JSON object of a shape, as of `require_shape`; a UserError names the file and the place that is wrong."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged ({error}).") from error
    require_shape(value, shape, path)
    return value


def require_shape(value: Any, shape: Any, path: Path, place: str = "") -> None:
    """A UserError that names the first place where a JSON value of a file is of another shape.

    A shape is a type (float for any finite number), [shape of every item] or {name: shape}; more names are allowed.
    """
    kind = type(shape) if isinstance(shape, dict | list) else shape
    fits = isinstance(value, int | float) and math.isfinite(value) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        wanted = {dict: "an object", list: "a list", float: "a number", int: "a whole number"}.get(kind, kind.__name__)
        raise UserError(f"{path} is damaged ({place or 'its content'} is not {wanted}).")
    if isinstance(shape, list):
        for i, item in enumerate(value):
            require_shape(item, shape[0], path, f"{place}[{i}]")
    elif isinstance(shape, dict):
        for name, inner in shape.items():
            if name not in value:
                raise UserError(f"{path} is damaged ({place or 'its content'} has no {name!r}).")
            require_shape(value[name], inner, path, f"{place}.{name}".lstrip("."))


def digest_json(value: Any) -> str:
    """A hash of a JSON value that does not depend on the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
