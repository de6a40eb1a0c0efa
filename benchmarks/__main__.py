"""Run every benchmark and print one table: `python -m benchmarks [name ...]`."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks import preprocessing_speed
from benchmarks.measure import HEADER

BENCHMARKS = {"preprocessing": preprocessing_speed.lines}


def main(names: list[str]) -> None:
    if unknown := set(names) - set(BENCHMARKS):
        sys.exit(f"Unknown benchmark {min(unknown)!r}; there are {', '.join(BENCHMARKS)}.")
    print(HEADER)
    for name in names or BENCHMARKS:
        for line in BENCHMARKS[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
