"""A function of samples, computed piece by piece while they are decoded: a long song takes little more memory."""

from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]


class Piecewise:
    """Rows that a function makes of samples, one or so for every hop: blocks [n, ...] -> [rows, ...].

    The rows of a piece are those of the whole if the function looks no further than the context around a hop.
    """

    def __init__(self, function: Function, hop: int, piece: int, context: int):
        """function: samples from a hop on -> their rows

        hop: samples from one row to the next
        piece: hops that are computed at once
        context: hops on each side that are computed with them, and left out
        """
        self._function, self._hop, self._piece, self._context = function, hop, piece, context
        self._lead = 0  # hops of context in front of the next piece: none at the beginning
        self._blocks: list[np.ndarray] = []
        self._rows: np.ndarray | None = None

    def add(self, block: np.ndarray) -> None:
        """The samples that come next."""
        self._blocks.append(block)
        while sum(map(len, self._blocks)) > (self._lead + self._piece + self._context) * self._hop:
            samples, last = np.concatenate(self._blocks), self._lead + self._piece
            self._append(self._function(samples[: (last + self._context) * self._hop])[self._lead : last])
            first = max(0, last - self._context)  # of what the next piece needs
            self._blocks = [samples[first * self._hop :].copy()]
            self._lead = last - first

    def end(self) -> np.ndarray:
        """All rows, after the last samples."""
        rows = self._append(self._function(np.concatenate(self._blocks))[self._lead :])
        self._blocks, self._rows = [], None
        return rows

    def _append(self, rows: np.ndarray) -> np.ndarray:
        """Put rows behind those that there are; the array grows where it lies, so that there are never two of it."""
        if self._rows is None:
            self._rows = rows.copy()
        else:
            count = len(self._rows)
            self._rows.resize((count + len(rows), *rows.shape[1:]), refcheck=False)
            self._rows[count:] = rows
        return self._rows
