"""Break things and count: `make stress MINUTES=10`, or `python -m tests.faults [minutes] [--output=stress.csv]`.

Every fault is followed by the same command again, and what comes out must be, byte for byte, what an undisturbed run
gives. The minutes, about as many on two idle cores, say how many faults there are. The table is written after each.
"""

import argparse
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pandas as pd

from djnet.files import whole_file
from djnet.rng import rng_for
from experiments.checkpoints import commit
from tests.faults import damage, faults
from tests.faults.bench import WRONG, Bench

FUZZED_AT_ONCE = {"audio": 1_000, "json": 250, "cue": 250, "csv": 250, "toml": 250}

Fault = Callable[[np.random.Generator], Iterator[str]]


def all_faults(bench: Bench) -> dict[str, tuple[int, Fault]]:
    """Every fault by name: how many in ten minutes, and what does some of them."""
    listed: dict[str, tuple[int, Fault]] = {}
    for job, kills in zip(bench.jobs, (32, 32, 36), strict=True):
        listed[f"kill {job.name}"] = kills, partial(faults.kill, bench, job)
        listed[f"{job.name} started twice at once"] = 2, partial(faults.start_twice, bench, job)
        listed[f"largest file of {job.name}"] = 10, partial(faults.limit_files, bench, job)
        listed[f"clock set back in {job.name}"] = 1, partial(faults.set_clock_back, bench, job)
        if faults.small_disks_work(bench.fresh("disk")):
            listed[f"disk full in {job.name}"] = 10, partial(faults.fill_disk, bench, job)
        else:
            print("Disks are not filled: the system does not let this user mount one (unshare --mount).")
    if faults.small_disks_work(bench.fresh("disk")):
        listed["disk of the cache full"] = 1, partial(faults.fill_cache, bench, bench.medley)
    listed["every file of the cache damaged in turn"] = 1, partial(damage.damage_cache, bench)
    listed["records damaged"] = 100, partial(damage.damage_records, bench)
    listed["checkpoints and models damaged"] = 100, partial(damage.damage_run, bench)
    listed["hostile packages"] = 100, partial(damage.unpack_hostile_archives, bench)
    for kind, count in {"audio": 10_000, "json": 1_000, "cue": 1_000, "csv": 1_000, "toml": 1_000}.items():
        listed[f"fuzzed {kind} files"] = count, partial(_fuzz, bench, kind, [0])
    return listed


def _fuzz(bench: Bench, kind: str, done: list[int], rng: np.random.Generator) -> Iterator[str]:
    """Damaged files through their readers, from the number on that the last call has left in `done`."""
    end = done[0] + FUZZED_AT_ONCE[kind]
    while done[0] < end:
        words = [kind, str(done[0]), str(end - done[0]), str(bench.folder)]
        run = subprocess.run(
            [sys.executable, "-m", "tests.faults.fuzz", *words], capture_output=True, text=True, errors="replace"
        )
        read = len(run.stdout.split()) - (run.returncode != 0)
        yield from ["survived"] * read
        done[0] += read
        if run.returncode:
            print(f"{kind} file {done[0]}: {run.stderr.strip().splitlines()[-1:] or run.returncode}")
            yield "traceback" if "Traceback" in run.stderr else "lost"
            done[0] += 1


def main(minutes: float, output: Path | None) -> int:
    """Inject faults until there were enough of each; -> how many were not survived."""
    outcomes: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="djnet-stress-") as folder:
        bench = Bench(Path(folder))
        began, turn = time.monotonic(), 0
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
        listed = {name: (math.ceil(goal * minutes / 10), fault) for name, (goal, fault) in all_faults(bench).items()}
        outcomes = {name: Counter() for name in listed}
        while short := {name: outcomes[name].total() / goal for name, (goal, _) in listed.items()}:
            name = min(short, key=short.__getitem__)
            if short[name] >= 1:
                break
            outcomes[name].update(listed[name][1](rng_for(0, "stress", turn)))
            turn += 1
            wrong = outcomes[name].total() - outcomes[name]["survived"]
            print(f"{name}: {outcomes[name].total()} of {listed[name][0]}, {wrong} not survived", flush=True)
            table = summary(outcomes, (time.monotonic() - began) / 60)
            if output is not None:
                with whole_file(output) as whole:
                    table.to_csv(whole, index=False)
    print(table.to_string(index=False))
    return int(table.iloc[-1][list(WRONG)].sum())


def summary(outcomes: dict[str, Counter[str]], minutes: float) -> pd.DataFrame:
    """A row for each kind of fault and one for all, which says how long it took, where and at which commit."""
    rows = [{"fault": name, "injected": counts.total(), **_row(counts)} for name, counts in outcomes.items()]
    together = sum(outcomes.values(), Counter[str]())
    where = {"minutes": f"{minutes:.0f}", "python": platform.python_version(), "commit": commit()}
    rows.append({"fault": "all", "injected": together.total(), **_row(together), **where})
    return pd.DataFrame(rows)


def _row(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in ("survived", *WRONG)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=10.0)
    parser.add_argument("--output", type=Path, help="write the table there as CSV")
    given = parser.parse_args()
    sys.exit(1 if main(given.minutes, given.output) else 0)
