"""The files beside the page: sounds, each a script, and pictures of similarity matrices; and whom to credit."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from djnet.files import digest_json, whole_file
from djnet.pages.sound import mp3_text
from experiments.report.recordings import Recording

SOUNDS, PICTURES = "sounds", "similarity"
_FORMAT = 3  # of the sounds, so that older ones are not taken for new ones
_CELL_PIXELS = 48


class Assets:
    """The files of a report; a sound that an earlier run has written is not encoded again."""

    def __init__(self, report: Path):
        self._report = report
        self._used: set[Path] = set()
        self.credits: set[str] = set()
        for folder in (SOUNDS, PICTURES):
            (report / folder).mkdir(parents=True, exist_ok=True)

    def add_sound(self, recording: Recording, start: float, seconds: float) -> str:
        """Write a part of a recording as a script, and credit it: -> its key."""
        facts = [str(recording.path), recording.path.stat().st_size, round(start, 4), round(seconds, 4)]
        return self.add_music(facts, recording.parts or (recording,), lambda: mp3_text(recording.path, start, seconds))

    def add_music(self, facts: Any, recordings: Iterable[Recording], encode: Callable[[], str]) -> str:
        """Write music as a script, unless it is there from these facts already, and credit it: -> its key."""
        key = digest_json([_FORMAT, facts])[:16]
        path = self._report / SOUNDS / f"{key}.js"
        if not path.exists():
            text = encode()
            with whole_file(path) as partial:
                partial.write_text(f'djnet.addSound("{key}", "{text}");\n', encoding="ascii")
        self._used.add(path)
        self.credits |= {f"{one.title}: {one.credit} ({one.licence})" for one in recordings}
        return key

    def add_picture(self, matrices: Sequence[Sequence[np.ndarray]], *names: str) -> str:
        """Draw the similarity matrices of all joins of a puzzle, n x n of [T_a, T_b]: -> the picture's address.

        A row for the piece before and a column for the one after; the diagonal is left black.
        """
        from matplotlib import colormaps
        from PIL import Image

        pairs = list(itertools.permutations(range(len(matrices)), 2))
        low, high = np.percentile(np.concatenate([matrices[a][b].ravel() for a, b in pairs]), [1, 99.5])
        sheet = Image.new("RGB", (len(matrices) * _CELL_PIXELS,) * 2)
        for before, after in pairs:
            scaled = np.clip((matrices[before][after] - low) / max(high - low, 1e-6), 0, 1)
            cell = Image.fromarray(colormaps["magma"](scaled, bytes=True)[..., :3])
            cell = cell.resize((_CELL_PIXELS, _CELL_PIXELS), Image.Resampling.BOX)
            sheet.paste(cell, (after * _CELL_PIXELS, before * _CELL_PIXELS))
        path = self._report / PICTURES / f"{digest_json(names)[:16]}.webp"
        with whole_file(path) as partial:
            sheet.save(partial, format="WEBP", quality=70)
        self._used.add(path)
        return f"{PICTURES}/{path.name}"

    def remove_unused(self) -> None:
        """Remove what an older report has left behind."""
        files = {path for folder in (SOUNDS, PICTURES) for path in (self._report / folder).iterdir()}
        for path in files - self._used:
            path.unlink()
