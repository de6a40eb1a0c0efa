"""What every benchmark shares: a stopwatch and a line of the table."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line of the table: what was measured, and the ratio it should reach."""

    name: str
    value: float
    unit: str
    goal: str
    detail: str = ""

    def __str__(self) -> str:
        return f"| {self.name} | {self.value:.3g} {self.unit} | {self.goal} | {self.detail} |"


HEADER = "| what | measured | goal | in this run |\n|---|---|---|---|"


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of a few times: the one least disturbed by everything else on the machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
