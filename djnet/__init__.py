"""djnet: puts pieces of music in order.

The library takes arguments and returns values; jobs with flags live in `preprocessing` and `experiments`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from djnet.pretrained import Scorer

__version__ = "0.1.0"


def load(name: "str | Path") -> "Scorer":
    """A trained network: `djnet.load("sen-downbeat").scores(list_of_mels)`, or a run folder's path."""
    from djnet import pretrained  # here, so that `import djnet` stays light

    return pretrained.load(name)
