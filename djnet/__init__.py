"""djnet: puts pieces of music in order.

    djnet.order(["a.mp3", "b.mp3", "c.mp3"])         the files in the order in which they follow each other best
    djnet.medley(["a.mp3", "b.mp3"], "medley.mp3")   one piece of music out of many songs, see djnet.medley.make
    djnet.load("sen-two-matrices").scores(files)         how well each follows each other one

The library takes arguments and returns values; jobs with flags live in `preprocessing` and `experiments`.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from djnet.pretrained import Scorer

__version__ = "0.2.0"


def load(name: "str | Path") -> "Scorer":
    """A trained network: `djnet.load("sen-two-matrices").scores(files)`, or a run folder's path."""
    from djnet import pretrained  # here, so that `import djnet` stays light

    return pretrained.load(name)


def order(files: "Sequence[str | Path]", network: "str | Path" = "sen-two-matrices") -> "list[str | Path]":
    """Music files in the order in which they follow each other best, each played whole."""
    return [files[i] for i in load(network).order(files).order]


def __getattr__(name: str) -> Any:
    """`djnet.medley` is a package that can be called, imported when it is used."""
    if name == "medley":
        return importlib.import_module("djnet.medley")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
