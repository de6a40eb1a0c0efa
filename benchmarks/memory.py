"""The largest memory of a command with all its processes: `python -m benchmarks.memory djnet medley songs/`.

As a benchmark (`python -m benchmarks memory`): of medleys, of a very long song, and of an evaluation if there are
records and runs (the folders `data` and `runs`, or those that the variables DATA and RUNS name).
"""

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import soundfile

from benchmarks.measure import CACHE, Line
from djnet import audio
from djnet.corpora import synthetic

LONG_MINUTES = 41
SONGS_GB = {12: 1.2, 40: 1.6}  # goals
LONG_GB = EVALUATION_GB = 1.5
_RATE_HZ = 44_100


def lines() -> Iterator[Line]:
    """Peaks in GB; songs are generated, and nothing of them is in the cache."""
    songs = [track.path for track in synthetic.corpus(max(SONGS_GB), 0, CACHE).tracks]
    with tempfile.TemporaryDirectory() as folder:
        for count, goal in SONGS_GB.items():
            yield _medley(songs[:count], Path(folder, str(count)), f"{count} songs", goal)
        long = long_song(songs, 60.0 * LONG_MINUTES, Path(folder, "long.flac"))
        yield _medley([str(long), *songs[:2]], Path(folder, "three"), f"a song of {LONG_MINUTES} minutes", LONG_GB)
        data, runs = (Path(os.environ.get(name, name.lower())) for name in ("DATA", "RUNS"))
        if data.is_dir() and runs.is_dir():
            words = [f"--data={data}", f"--runs={runs}", f"--output={folder}/results"]
            name = f"evaluation of {data.name}"
            yield _line(name, [sys.executable, "-m", "experiments.evaluate", *words], EVALUATION_GB)


def long_song(songs: Sequence[str], seconds: float, path: Path) -> Path:
    """Write songs one after the other, in stereo, again and again until they last so long."""
    missing = round(seconds * _RATE_HZ)
    with soundfile.SoundFile(path, "w", _RATE_HZ, 2) as file:
        for song in itertools.cycle(songs):
            samples = audio.load_stereo(song, 0.0, seconds, _RATE_HZ)[:missing]
            file.write(samples)
            missing -= len(samples)
            if not missing:
                break
    return path


def _medley(songs: Sequence[str], folder: Path, name: str, goal: float) -> Line:
    words = ["medley", *songs, f"--cache={folder}", "-o", f"{folder}.flac", "--no-page"]
    return _line(f"medley of {name}", [sys.executable, "-m", "djnet.cli.main", *words], goal)


def _line(name: str, command: Sequence[str], goal: float) -> Line:
    code, spent, peak = peak_of(command)
    if code:
        raise RuntimeError(f"{name}: exit code {code}")
    return Line(f"memory at its peak, all processes: {name}", peak, "GB", f"below {goal:g}", f"{spent:.0f} s")


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
