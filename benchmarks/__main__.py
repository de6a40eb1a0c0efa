"""Run every benchmark, print one table and keep it in results/speed.csv: `python -m benchmarks [name ...]`."""

import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks import downbeat_speed, medley_speed, ordering_speed, preprocessing_speed, training_speed
from benchmarks.measure import HEADER, Line
from djnet.files import whole_file
from experiments.checkpoints import commit

TABLE = Path(__file__).parents[1] / "results" / "speed.csv"
COLUMNS = ("benchmark", "what", "measured", "unit", "goal", "detail", "commit")

BENCHMARKS = {
    "preprocessing": preprocessing_speed.lines,
    "downbeats": downbeat_speed.lines,
    "training": training_speed.lines,
    "ordering": ordering_speed.lines,
    "medley": medley_speed.lines,
}


def main(names: list[str]) -> None:
    if unknown := set(names) - set(BENCHMARKS):
        sys.exit(f"Unknown benchmark {min(unknown)!r}; there are {', '.join(BENCHMARKS)}.")
    print(HEADER)
    for name in names or BENCHMARKS:
        lines = []
        for line in BENCHMARKS[name]():
            print(line, flush=True)
            lines.append(line)
        keep(name, lines)


def keep(name: str, lines: list[Line]) -> None:
    """Put the lines of a benchmark into the table, in place of its older ones."""
    rows: list[tuple[str, ...]] = [
        (name, line.name, f"{line.value:.3g}", line.unit, line.goal, line.detail, commit()) for line in lines
    ]
    old: list[tuple[str, ...]] = []
    if TABLE.exists():
        with open(TABLE, newline="") as file:
            old = [tuple(row) for row in list(csv.reader(file))[1:] if row[0] != name]
    ranked = sorted(old + rows, key=lambda row: list(BENCHMARKS).index(row[0]))
    with whole_file(TABLE) as partial, open(partial, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(ranked)


if __name__ == "__main__":
    main(sys.argv[1:])
