"""The largest memory of a command with all its processes: `python -m benchmarks.memory djnet medley songs/`."""

import subprocess
import sys
import time
from collections.abc import Sequence

import psutil


def peak_of(command: Sequence[str], step: float = 0.1) -> tuple[int, float, float]:
    """Run a command: -> its exit code, seconds, and the largest memory of its processes together in GB.

    Memory that processes share counts once (proportional set size).
    """
    start, peak = time.perf_counter(), 0
    with subprocess.Popen(command) as process:
        root = psutil.Process(process.pid)
        while process.poll() is None:
            peak = max(peak, _used(root))
            time.sleep(step)
    return process.returncode, time.perf_counter() - start, peak / 1e9


def _used(root: psutil.Process) -> int:
    """Bytes that a process and its children use now; processes that have ended use none."""
    used = 0
    try:
        for process in (root, *root.children(recursive=True)):
            used += process.memory_full_info().pss
    except psutil.Error:
        pass
    return used


if __name__ == "__main__":
    code, spent, most = peak_of(sys.argv[1:])
    print(f"{spent:.1f} s, {most:.2f} GB at most", file=sys.stderr)
    sys.exit(code)
