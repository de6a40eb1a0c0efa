"""Files that are whole or absent: a killed job leaves no half file under a final name."""

import contextlib
import csv
import errno
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from djnet.errors import UserError

if TYPE_CHECKING:
    import numpy as np

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
def temporary_folder() -> Iterator[Path]:
    """A folder for as long as the block runs; those that killed processes of this machine left are removed."""
    for left in Path(tempfile.gettempdir()).glob(f"djnet-{_MACHINE}-*-*"):
        process = int(left.name.split("-")[2])
        if process != os.getpid() and not _is_running(process):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"djnet-{_MACHINE}-{os.getpid()}-") as name:
        yield Path(name)


@contextlib.contextmanager
def own_temporary_files() -> Iterator[None]:
    """Temporary files of this process, and of those that it starts, go into one such folder: also TensorFlow's."""
    names = ("TMPDIR", "JOBLIB_TEMP_FOLDER")
    before, folder_before = {name: os.environ.get(name) for name in names}, tempfile.tempdir
    with temporary_folder() as folder:
        os.environ |= dict.fromkeys(names, str(folder))
        tempfile.tempdir = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = folder_before
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


@contextlib.contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a file or a folder: a second job is refused; the system lets go of it if this one is killed.

    With `wait`, for what takes no time, the second waits. What killed jobs left half written in a locked folder, on
    whatever machine, is removed.
    """
    lock = path / ".lock" if path.is_dir() else path.with_name(f".{path.name}.lock")
    with _taken(lock, path, wait) as file:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}")
        file.flush()
        try:
            for left in path.glob(".*.partial*") if path.is_dir() else ():
                left.unlink(missing_ok=True)
            yield
        finally:
            lock.unlink(missing_ok=True)


def _taken(lock: Path, path: Path, wait: bool) -> Any:
    """The lock's file, open and locked."""
    while True:
        file = open(lock, "a+", encoding="utf-8")  # noqa: SIM115 (the caller closes it)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
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
    if kind is float:  # also no whole number beyond all floats
        fits = isinstance(value, int | float) and abs(value) <= sys.float_info.max
    else:
        fits = isinstance(value, kind)
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


def read_csv(path: Path, columns: Sequence[str] = (), skip: int = 0) -> list[dict[str, str]]:
    """The rows of a CSV file whose header has these columns at least, after `skip` lines of something else.

    A UserError names the file and the line that is wrong.
    """
    with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        for _ in range(skip):
            file.readline()
        reader = csv.DictReader(file)
        try:
            if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
                raise UserError(f"{path} is damaged, or another table: it has no column {missing[0]!r}.")
            rows = []
            for row in reader:
                if None in row or None in row.values():
                    raise UserError(f"{path}, line {reader.line_num + skip}: more or fewer cells than in the header.")
                rows.append(row)
        except csv.Error as error:
            raise UserError(f"{path}, line {reader.line_num + skip + 1}: cannot be read ({error}).") from error
    return rows


def write_array(path: Path, array: "np.ndarray") -> None:
    """Write an array as .npy with a checksum behind it, whole or not at all."""
    import numpy as np  # here and below: commands that only explain themselves do without

    with whole_file(path) as partial, open(partial, "wb") as file:
        np.save(file, array)
        file.write(_checksum(array))


def read_array(path: Path, mapped: bool = False) -> "np.ndarray | None":
    """An array that `write_array` wrote, or nothing if it is not there or damaged; `mapped` leaves it on the disk."""
    import numpy as np

    try:
        with open(path, "rb") as file:
            array, behind = np.load(file, allow_pickle=False), file.read()
        is_whole = behind in (b"", _checksum(array))  # files of version 0.1 have no checksum
        return (np.load(path, mmap_mode="r") if mapped else array) if is_whole else None
    except Exception:  # a damaged file can make NumPy say almost anything
        return None


def _checksum(array: "np.ndarray") -> bytes:
    import numpy as np

    kind = zlib.crc32(f"{array.dtype.str} {array.shape}".encode())
    return zlib.crc32(np.ascontiguousarray(array).data, kind).to_bytes(4, "little")


def digest_json(value: Any) -> str:
    """A hash of a JSON value that does not depend on the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
