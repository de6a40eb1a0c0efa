"""Faults of processes, disks and clocks; each yields what became of every one, see `bench.WRONG`."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.faults.bench import Bench, Job

KILLS_IN_A_ROW = 4  # of one output, before the same command is left to end
SECONDS_TO_END = 30
_YEARS_SECONDS = 10**8
# The same job in a process whose clock stands three years back.
_YESTERDAY = f"""
import runpy, sys, time
now, now_ns = time.time, time.time_ns
time.time, time.time_ns = lambda: now() - {_YEARS_SECONDS}, lambda: now_ns() - {_YEARS_SECONDS}_000_000_000
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def kill(bench: Bench, job: Job, rng: np.random.Generator) -> Iterator[str]:
    """Kill a job at random moments: with all its workers, or alone, when the workers must end by themselves."""
    output = bench.fresh("killed")
    outcomes = []
    for _ in range(KILLS_IN_A_ROW):
        process = bench.start(job.command(output))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.05, 0.95) * job.seconds)
        way = rng.integers(3)
        if way == 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.send_signal((signal.SIGKILL, signal.SIGTERM)[way - 1])
        process.wait()
        outcomes.append("survived" if group_ends(process.pid) else "orphan")
    verdict = bench.ends_well(job, output)
    yield from (outcome if outcome == "orphan" else verdict for outcome in outcomes)


def start_twice(bench: Bench, job: Job, rng: np.random.Generator) -> Iterator[str]:
    """Two at once into one place: one is refused in one line, or both end alike; nothing is lost."""
    output = bench.fresh("twice")
    commands = [job.command(output)] * 2
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "env": bench.environment}
    both = [subprocess.Popen(command, **options) for command in commands]  # type: ignore[call-overload]
    said = [process.communicate()[1] for process in both]
    if any("Traceback" in text for text in said) or not {process.returncode for process in both} <= {0, 2}:
        print(f"{job.name}: {[process.returncode for process in both]} {[text[-1000:] for text in said]}")
        yield "traceback" if any("Traceback" in text for text in said) else "lost"
    else:
        yield bench.ends_well(job, output)


def limit_files(bench: Bench, job: Job, rng: np.random.Generator) -> Iterator[str]:
    """No file may grow beyond a random size: one clear line, no half file, and later all is well."""
    output = bench.fresh("limited")
    largest = max(path.stat().st_size for path in job.output.rglob("*") if path.is_file())
    limit = int(np.exp(rng.uniform(np.log(100), np.log(2 * largest))))
    done = bench.run(
        job.command(output), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )  # fmt: skip
    yield _said_clearly(done) or bench.ends_well(job, output)


def fill_disk(bench: Bench, job: Job, rng: np.random.Generator) -> Iterator[str]:
    """The disk of the output has less room than is needed: one clear line, no half file, and later all is well."""
    output, kept = bench.fresh("full"), bench.fresh("kept")
    room = int(rng.uniform(0.02, 0.98) * sum(path.stat().st_size for path in job.output.rglob("*") if path.is_file()))
    output.mkdir()
    done = bench.run(on_a_small_disk(output, max(room, 8_192), job.command(output), kept))
    if half := [path.name for path in kept.rglob("*.partial*")]:
        print(f"{job.name}: left behind: {half}")
        yield "left behind"
        return
    output.rmdir()
    kept.rename(output)  # what was on the full disk, on one with room
    yield _said_clearly(done) or bench.ends_well(job, output)


def fill_cache(bench: Bench, job: Job, rng: np.random.Generator) -> Iterator[str]:
    """A medley whose cache has no room goes on without it."""
    cache, output = bench.fresh("small-cache"), bench.fresh("full")
    cache.mkdir()
    command = [word.replace(f"--cache={bench.cache}", f"--cache={cache}") for word in job.command(output)]
    room = int(rng.integers(8_192, 1 << 20))
    done = bench.run(on_a_small_disk(cache, room, command, bench.fresh("kept")))
    same = done.returncode == 0 and (output / "medley.flac").read_bytes() == job.content["medley.flac"]
    yield "survived" if same else "traceback" if "Traceback" in done.stderr else "lost"


def small_disks_work(folder: Path) -> bool:
    """Whether the system lets us mount a disk of memory that only one process sees."""
    (folder / "small").mkdir(parents=True)
    command = on_a_small_disk(folder / "small", 8_192, ["true"], folder / "kept")
    return bool(shutil.which("unshare")) and subprocess.run(command, capture_output=True).returncode == 0


def set_clock_back(bench: Bench, job: Job, rng: np.random.Generator) -> Iterator[str]:
    """Stop a job, go on three years earlier; then once more with all its files dated in the past and the future."""
    output = bench.fresh("clock")
    process = bench.start(job.command(output))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(rng.uniform(0.3, 0.9) * job.seconds)
    process.kill()
    process.wait()
    group_ends(process.pid)
    _, _, *words = job.command(output)
    done = bench.run([sys.executable, "-c", _YESTERDAY, *words])
    for path in (*output.rglob("*"), *bench.cache.rglob("*")):
        moment = time.time() + float(rng.choice([-1, 1])) * _YEARS_SECONDS
        os.utime(path, (moment, moment), follow_symlinks=False)
    yield _said_clearly(done) or bench.ends_well(job, output)


def _said_clearly(done: subprocess.CompletedProcess[str]) -> str:
    """What is wrong with the words of a job that was disturbed: nothing if it ended, or said why it did not."""
    if "Traceback" in done.stderr:
        print(done.stderr[-1500:])
        return "traceback"
    if done.returncode not in (0, 1, 2):
        print(f"Exit code {done.returncode}: {done.stderr[-1500:]}")
        return "lost"
    return ""


def on_a_small_disk(folder: Path, size: int, command: list[str], kept: Path) -> list[str]:
    """A command that runs with a disk of some bytes, of memory, in place of a folder; what was on it is copied."""
    script = 'mount -t tmpfs -o size="$1" none "$2" || exit 99; folder=$2; kept=$3; shift 3\n'
    script += '"$@"; code=$?; cp -a "$folder" "$kept"; exit $code'
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--mount", *user, "sh", "-c", script, "sh", str(size), str(folder), str(kept), *command]


def group_ends(group: int) -> bool:
    """Whether all processes that were started with one end within half a minute of it; else they are killed."""
    for _ in range(2 * SECONDS_TO_END):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    return False
