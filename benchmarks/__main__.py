"""Run benchmarks, print one table and keep it in results/speed.csv: `python -m benchmarks [name ...]`."""

import importlib
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.measure import Line
from djnet.cli import job
from djnet.errors import UserError
from djnet.files import whole_file

TABLE = Path(__file__).parents[1] / "results" / "speed.csv"
BENCHMARKS = ("preprocessing", "downbeats", "training", "ordering", "medley")


def main(given: Any, *names: str) -> None:
    """Run the benchmarks with these names, or all."""
    del given
    if unknown := set(names) - set(BENCHMARKS):
        raise UserError(f"Unknown benchmark {min(unknown)!r}; there are {', '.join(BENCHMARKS)}.")
    job.import_quietly("tensorflow")
    print("| what | measured | goal | in this run |\n|---|---|---|---|")
    for name in names or BENCHMARKS:
        lines = []
        for line in importlib.import_module(f"benchmarks.{name}").lines():
            print(line, flush=True)
            lines.append(line)
        keep(name, lines)


def keep(name: str, lines: list[Line]) -> None:
    """Put the lines of a benchmark into the table, in place of its older ones."""
    from experiments.checkpoints import commit

    rows = pd.DataFrame(lines).assign(measured=[f"{line.measured:.3g}" for line in lines], commit=commit())
    rows.insert(0, "benchmark", name)
    if TABLE.exists():
        old = pd.read_csv(TABLE, dtype=str, keep_default_na=False)
        rows = pd.concat([old[old.benchmark != name], rows])
    rows = rows.sort_values("benchmark", key=lambda column: column.map(BENCHMARKS.index), kind="stable")
    with whole_file(TABLE) as partial:
        rows.to_csv(partial, index=False)


if __name__ == "__main__":
    job.run(main, lambda: None, "NAME...")
