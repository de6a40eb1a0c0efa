"""Pictures of what SEN compares: the similarity of the frames on both sides of every possible join."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from djnet.files import digest_json, whole_file

FOLDER = "maps"
_CELL_PIXELS = 48


def draw(matrices: Sequence[Sequence[np.ndarray]], path: Path) -> None:
    """All joins of a puzzle in one picture, a row for the piece before and a column for the one after.

    `matrices[a][b]` is [T_a, T_b]; the diagonal is left black.
    """
    from matplotlib import colormaps
    from PIL import Image

    n = len(matrices)
    pairs = list(itertools.permutations(range(n), 2))
    low, high = np.percentile(np.concatenate([matrices[a][b].ravel() for a, b in pairs]), [1, 99.5])
    sheet = Image.new("RGB", (n * _CELL_PIXELS, n * _CELL_PIXELS))
    for before, after in pairs:
        scaled = np.clip((matrices[before][after] - low) / max(high - low, 1e-6), 0, 1)
        cell = Image.fromarray((colormaps["magma"](scaled)[..., :3] * 255).astype(np.uint8))
        cell = cell.resize((_CELL_PIXELS, _CELL_PIXELS), Image.Resampling.BOX)
        sheet.paste(cell, (after * _CELL_PIXELS, before * _CELL_PIXELS))
    with whole_file(path) as partial:
        sheet.save(partial, format="WEBP", quality=70)


class Maps:
    """The pictures of a report."""

    def __init__(self, report: Path):
        self._folder = report / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._kept: set[str] = set()

    def add(self, matrices: Sequence[Sequence[np.ndarray]], *purpose: object) -> str:
        """Draw a puzzle's joins: -> the picture's address."""
        name = f"{digest_json([str(part) for part in purpose])[:16]}.webp"
        draw(matrices, self._folder / name)
        self._kept.add(name)
        return f"{FOLDER}/{name}"

    def remove_others(self) -> None:
        """Remove what an older report has left behind."""
        for path in self._folder.iterdir():
            if path.name not in self._kept:
                path.unlink()
