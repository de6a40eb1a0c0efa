"""Run benchmarks, print one table and keep it as speed.csv in --output: `python -m benchmarks [name ...]`."""

import importlib
from pathlib import Path
from typing import Any

import pandas as pd
from absl import flags

from benchmarks.measure import Line
from djnet.cli import job
from djnet.errors import UserError

BENCHMARKS = ("preprocessing", "downbeats", "training", "ordering", "medley", "memory")


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("output", "results/local", "Folder for speed.csv.")


def main(given: Any, *names: str) -> None:
    """Run the benchmarks with these names, or all."""
    table = Path(given.output).expanduser() / "speed.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    if unknown := set(names) - set(BENCHMARKS):
        raise UserError(f"Unknown benchmark {min(unknown)!r}; there are {', '.join(BENCHMARKS)}.")
    job.import_quietly("tensorflow")
    print("| what | measured | goal | in this run |\n|---|---|---|---|")
    for name in names or BENCHMARKS:
        lines = []
        for line in importlib.import_module(f"benchmarks.{name}").lines():
            print(line, flush=True)
            lines.append(line)
        keep(table, name, lines)


def keep(table: Path, name: str, lines: list[Line]) -> None:
    """Put the lines of a benchmark into the table, in place of its older ones."""
    from experiments import tables
    from experiments.checkpoints import commit

    rows = pd.DataFrame(lines).assign(measured=[f"{line.measured:.3g}" for line in lines], commit=commit())
    rows.insert(0, "benchmark", name)
    if table.exists():
        old = pd.read_csv(table, dtype=str, keep_default_na=False)
        rows = pd.concat([old[old.benchmark != name], rows])
    rows = rows.sort_values("benchmark", key=lambda column: column.map(BENCHMARKS.index), kind="stable")
    tables.save(table, rows)


if __name__ == "__main__":
    job.run(main, define_flags, "NAME...")
