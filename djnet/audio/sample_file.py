"""Samples on disk that are used like an array, so that a mix takes no more memory the longer it is."""

import tempfile
from pathlib import Path

import numpy as np

_BLOCK_FRAMES = 1 << 20
_FRAME_BYTES = 8


class SampleFile:
    """Samples float32 [frames, 2], zeros at first, in a file without a name in a folder, which ends with the object.

    A slice of it is an array of its own, read from the file; `samples[a:b] += x` and `samples[a:b] = x` write to it.
    """

    def __init__(self, frames: int, folder: Path):
        self.shape = (frames, 2)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (open for as long as the object lives)
        for first in range(0, frames, _BLOCK_FRAMES):  # a disk that is too full says so here
            self._file.write(bytes(_FRAME_BYTES * min(_BLOCK_FRAMES, frames - first)))
        self._file.flush()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, span: slice) -> np.ndarray:
        first, last, _ = span.indices(len(self))
        samples = np.empty((max(0, last - first), 2), np.float32)
        self._file.seek(_FRAME_BYTES * first)
        self._file.readinto(samples.data)  # type: ignore[attr-defined]
        return samples

    def __setitem__(self, span: slice, samples: np.ndarray | float) -> None:
        first, last, _ = span.indices(len(self))
        self._file.seek(_FRAME_BYTES * first)
        self._file.write(np.broadcast_to(samples, (max(0, last - first), 2)).astype(np.float32, order="C").data)


Samples = np.ndarray | SampleFile
