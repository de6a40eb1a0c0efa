"""What every benchmark shares: a stopwatch, a line of the table, and music to work on."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from djnet.corpora import Corpus, free, synthetic
from djnet.errors import UserError

CACHE = Path("~/.cache/djnet").expanduser()


class Line(NamedTuple):
    """One line of the table: what was measured, and the value it should reach."""

    what: str
    measured: float
    unit: str = ""
    goal: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"| {self.what} | {self.measured:.3g} {self.unit} | {self.goal} | {self.detail} |"


def seconds(work: Callable[..., object], *arguments: Any, repeats: int = 3) -> float:
    """The shortest of a few times that some work took: the one least disturbed by everything else on the machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def music() -> Corpus:
    """Real recordings where they can be had, generated songs elsewhere; every third, a few minutes in all."""
    try:
        whole = free.corpus("small", CACHE)
    except UserError:
        whole = synthetic.corpus(30, 0, CACHE)
    return Corpus(whole.name, whole.tracks[::3], [])
