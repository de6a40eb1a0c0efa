"""Medleys made by `djnet medley`, as the page plays them."""

from pathlib import Path
from typing import Any


def read(folder: Path, report: Path) -> list[dict[str, Any]]:
    """The medleys of a folder."""
    return []
