"""Files that are whole or absent: a killed job leaves no half file under a final name."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A hidden path to write to; it gets its final name only when the block ends without an error."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def remove_partial(folder: Path) -> None:
    """Remove what killed runs left in a folder that no other run is writing to."""
    for path in folder.glob(".*.partial*"):
        path.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(json.dumps(value, indent=1, ensure_ascii=True) + "\n", encoding="ascii")


def digest_json(value: Any) -> str:
    """A hash of a JSON value that does not depend on the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
