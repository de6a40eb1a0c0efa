"""TFRecord files: records of bytes, one after the other. They are mapped into memory, not read.

A record is its length in 8 bytes, a checksum of those in 4, the content, and a checksum of that in 4. Checksums are not
looked at here: the manifest holds a hash of every file.
"""

import errno
import gzip
import mmap
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

_LENGTH_BYTES, _CHECKSUM_BYTES = 8, 4


def write(path: Path, records: Iterable[bytes]) -> None:
    """Write an uncompressed file; an OSError if the disk does not take it."""
    import tensorflow as tf

    try:
        with tf.io.TFRecordWriter(str(path)) as writer:
            for record in records:
                writer.write(record)
    except tf.errors.OpError as error:
        raise OSError(errno.EIO, error.message.rstrip("."), str(path)) from error


def map_file(path: Path, is_packed: bool = False) -> mmap.mmap:
    """A file as memory that stays on the disk until it is used; `is_packed` by gzip."""
    if not is_packed:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with gzip.open(path) as packed, tempfile.TemporaryFile() as unpacked:
        shutil.copyfileobj(packed, unpacked)
        return mmap.mmap(unpacked.fileno(), 0, access=mmap.ACCESS_READ)


def records_of(mapped: mmap.mmap) -> Iterator[np.ndarray]:
    """The records of a file: uint8 [N], each of another length."""
    data, place = np.frombuffer(mapped, np.uint8), 0
    while place < len(data):
        length = int.from_bytes(data[place : place + _LENGTH_BYTES].tobytes(), "little")
        place += _LENGTH_BYTES + _CHECKSUM_BYTES
        yield data[place : place + length]
        place += length + _CHECKSUM_BYTES


def release(mapped: mmap.mmap) -> None:
    """Give back the memory of what was used; it is mapped again when it is used again."""
    if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
        mapped.madvise(mmap.MADV_DONTNEED)
