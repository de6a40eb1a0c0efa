"""TFRecord files: records of bytes, one after the other. They are mapped into memory, not read.

A record is its length in 8 bytes, a checksum of those in 4, the content, and a checksum of that in 4. Checksums are not
looked at here: the manifest holds a hash of every file.
"""

import errno
import gzip
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


def read(path: Path, is_packed: bool = False) -> Iterator[np.ndarray]:
    """The records of a file, uint8 each, which stay on the disk until they are used; `is_packed` by gzip."""
    if is_packed:
        with gzip.open(path) as packed, tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(packed, unpacked)
            data = np.memmap(unpacked, np.uint8, "r")
    else:
        data = np.memmap(path, np.uint8, "r")
    place = 0
    while place < len(data):
        length = int.from_bytes(data[place : place + _LENGTH_BYTES].tobytes(), "little")
        place += _LENGTH_BYTES + _CHECKSUM_BYTES
        yield data[place : place + length]
        place += length + _CHECKSUM_BYTES
