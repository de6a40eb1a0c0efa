"""Break things and count: `make stress MINUTES=10`, or `python -m tests.faults [minutes] [--only=word] [--output=F]`.

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
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from djnet.rng import rng_for
from experiments.checkpoints import commit
from tests.faults import damage, faults, studio
from tests.faults.bench import WRONG, Bench, Job
from tests.tables import replace_rows

FUZZED_AT_ONCE = {"audio": 1_000, "json": 250, "cue": 250, "csv": 250, "toml": 250, "project": 250}

Fault = Callable[[np.random.Generator], Iterator[str]]


def all_faults(bench: Bench) -> dict[str, tuple[int, Fault]]:
    """Every fault by name: how many in ten minutes, and what does some of them."""
    listed: dict[str, tuple[int, Fault]] = {}
    disks = faults.small_disks_work(bench.fresh("disk"))
    if not disks:
        print("Disks are not filled: the system does not let this user mount one (unshare --mount).")
    for job, kills in {"preprocessing": 32, "training": 32, "medley": 36}.items():
        listed[f"kill {job}"] = kills, partial(_of_a_job, bench, job, faults.kill)
        listed[f"{job} started twice at once"] = 2, partial(_of_a_job, bench, job, faults.start_twice)
        listed[f"largest file of {job}"] = 10, partial(_of_a_job, bench, job, faults.limit_files)
        listed[f"clock set back in {job}"] = 1, partial(_of_a_job, bench, job, faults.set_clock_back)
        if disks:
            listed[f"disk full in {job}"] = 10, partial(_of_a_job, bench, job, faults.fill_disk)
    if disks:
        listed["disk of the cache full"] = 1, partial(_of_a_job, bench, "medley", faults.fill_cache)
    listed["every file of the cache damaged in turn"] = 1, partial(damage.damage_cache, bench)
    listed["records damaged"] = 100, partial(damage.damage_records, bench)
    listed["checkpoints and models damaged"] = 100, partial(damage.damage_run, bench)
    listed["hostile packages"] = 100, partial(damage.unpack_hostile_archives, bench)
    listed["attacks on the studio"] = 1_000, partial(studio.attack, bench)
    for kind, at_once in FUZZED_AT_ONCE.items():
        listed[f"fuzzed {kind} files"] = (
            (10_000 if kind == "audio" else 1_000),
            partial(_fuzz, bench, kind, at_once, [0]),
        )
    return listed


def _of_a_job(
    bench: Bench, job: str, fault: Callable[[Bench, Job, np.random.Generator], Iterator[str]], rng: np.random.Generator
) -> Iterator[str]:
    """A fault of a job, which has run undisturbed before."""
    return fault(bench, getattr(bench, job), rng)


def _fuzz(bench: Bench, kind: str, at_once: int, done: list[int], rng: np.random.Generator) -> Iterator[str]:
    """Damaged files through their readers, from the number on that the last call has left in `done`."""
    end = done[0] + at_once
    while done[0] < end:
        words = [kind, str(done[0]), str(end - done[0]), str(bench.fresh(f"fuzzed-{kind}"))]
        run = subprocess.run(
            [sys.executable, "-m", "tests.faults.fuzz", *words],
            capture_output=True, text=True, errors="replace", env=bench.environment,
        )  # fmt: skip
        read = len(run.stdout.split()) - (run.returncode != 0)
        yield from ["survived"] * read
        done[0] += read
        if run.returncode:
            print(f"{kind} file {done[0]}: {run.stderr.strip().splitlines()[-1:] or run.returncode}")
            yield "traceback" if "Traceback" in run.stderr else "lost"
            done[0] += 1
    if bench.left():
        print(f"{kind} files: left behind: {bench.left()}")
        yield "left behind"


def main(minutes: float, only: str, output: Path | None) -> int:
    """Inject faults until there were enough of each; -> how many were not survived."""
    facts = {"python": platform.python_version(), "commit": commit()}
    rows = []
    with tempfile.TemporaryDirectory(prefix="djnet-stress-") as folder:
        bench = Bench(Path(folder))
        for name, (goal, fault) in all_faults(bench).items():
            if only not in name:
                continue
            began, turn = time.monotonic(), 0
            outcomes: Counter[str] = Counter()
            while outcomes.total() < math.ceil(goal * minutes / 10):
                outcomes.update(fault(rng_for(0, "stress", name, turn)))
                turn += 1
                row = _row(name, outcomes, time.monotonic() - began) | facts
                print(", ".join(f"{key}: {value}" for key, value in row.items()), flush=True)
                if output is not None:
                    replace_rows(output, [row])
            rows.append(row)
    totals = {name: sum(row[name] for row in rows) for name in ("injected", "survived", *WRONG)}
    print(", ".join(f"{name}: {count}" for name, count in totals.items()))
    return totals["injected"] - totals["survived"]


def _row(name: str, outcomes: Counter[str], seconds: float) -> dict[str, Any]:
    counts = {outcome: outcomes[outcome] for outcome in ("survived", *WRONG)}
    return {"fault": name, "injected": outcomes.total(), **counts, "minutes": f"{seconds / 60:.1f}"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=10.0)
    parser.add_argument("--only", default="", help="only faults with this word in their name")
    parser.add_argument("--output", type=Path, help="write the table there as CSV")
    given = parser.parse_args()
    sys.exit(1 if main(given.minutes, given.only, given.output) else 0)
