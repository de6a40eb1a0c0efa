"""The jobs under test: what an undisturbed run of each leaves, and whether a disturbed one ends with the same."""

import io
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from djnet.corpora import synthetic

SONGS, EPOCHS = 6, 3
SECONDS_A_JOB = 600

# What becomes of a fault: "survived", or one of these.
WRONG = ("lost", "traceback", "orphan", "left behind")


@dataclass
class Job:
    """A job, the folder of an undisturbed run, what stands in it, and how long it took."""

    name: str
    command: Callable[[Path], list[str]]
    output: Path
    content: dict[str, Any]
    seconds: float


class Bench:
    """A folder with music, and the three jobs that write: preprocessing, training and medleys."""

    def __init__(self, folder: Path):
        self.folder, self.cache, self.temporary = folder, folder / "cache", folder / "tmp"
        self.temporary.mkdir()
        names = {"TMPDIR": str(self.temporary), "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.environment = os.environ | names

    @cached_property
    def preprocessing(self) -> Job:
        """Records of a few generated songs."""
        self.run(self._build(self.folder / "first"))  # generates the songs
        return self._undisturbed("preprocessing", self._build)

    @cached_property
    def training(self) -> Job:
        """A very small network for a few epochs, to the bit the same every time."""
        return self._undisturbed("training", self._train)

    @cached_property
    def medley(self) -> Job:
        """A medley of three generated songs, whose beats are in the cache."""
        self.run(self._medley(self.fresh("first")))  # fills the cache
        return self._undisturbed("medley", self._medley)

    @cached_property
    def songs(self) -> list[Path]:
        """Generated songs."""
        return [Path(track.path) for track in synthetic.corpus(SONGS, seed=0, cache=self.cache).tracks]

    def _undisturbed(self, name: str, command: Callable[[Path], list[str]]) -> Job:
        output, began = self.fresh(f"{name}-undisturbed"), time.monotonic()
        done = self.run(command(output))
        if done.returncode or self.left():
            raise RuntimeError(f"{name} fails without a fault already: {done.stderr[-2000:]} {self.left()}")
        return Job(name, command, output, content(output), time.monotonic() - began)

    def _build(self, output: Path) -> list[str]:
        flags = ["--corpus=synthetic", f"--songs={SONGS}", "--clips_per_track=1", "--nodownbeats", "--workers=2"]
        return _python("preprocessing.build", *flags, f"--cache={self.cache}", f"--output={output}")

    def _train(self, output: Path) -> list[str]:
        flags = ["--model=sn", f"--epochs={EPOCHS}", "--batch_clips=2", "--deterministic"]
        flags += ["--ablation=tower=(4,4)", "--ablation=dense=(8,)", f"--data={self.preprocessing.output}"]
        return _python("experiments.train", *flags, f"--output={output}")

    def _medley(self, output: Path) -> list[str]:
        output.mkdir(exist_ok=True)
        words = ["--force", "--length=8", f"--cache={self.cache}", "-o", str(output / "medley.flac")]
        return _python("djnet.cli.main", "medley", *map(str, self.songs[:3]), *words)

    def run(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a job to its end."""
        options |= {"env": self.environment, "timeout": SECONDS_A_JOB, "start_new_session": True}
        return subprocess.run(command, capture_output=True, text=True, errors="replace", **options)

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        """Start a job in a group of its own."""
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=self.environment, start_new_session=True)

    def ends_well(self, job: Job, output: Path) -> str:
        """Whether the same command, run again, ends with what the undisturbed run has, and nothing besides."""
        done = self.run(job.command(output))
        if done.returncode:
            print(f"{job.name}: {done.stderr.strip()[-1000:]}")
            return "traceback" if "Traceback" in done.stderr else "lost"
        made = content(output)
        if surplus := sorted(made.keys() - job.content.keys()) + self.left():
            print(f"{job.name}: left behind: {surplus}")
            return "left behind"
        if differing := [name for name, value in job.content.items() if made.get(name) != value]:
            print(f"{job.name}: differs: {differing}")
            return "lost"
        return "survived"

    def left(self) -> list[str]:
        """Temporary files that are still there."""
        return [path.name for path in self.temporary.iterdir()]

    def fresh(self, name: str) -> Path:
        """A folder that is not there yet."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        return path


def content(folder: Path) -> dict[str, Any]:
    """Every file of a job's output, hidden ones too, by its name; without the times of day and speeds in them."""
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: _lasting(path) for name, path in files.items()}


def _lasting(path: Path) -> Any:
    data = path.read_bytes()
    if path.name == "history.csv":
        return pd.read_csv(io.BytesIO(data)).drop(columns="pairs_per_second").to_csv()
    if path.suffix == ".keras":  # a zip, with the time of day in one of its parts and places in memory in another
        with zipfile.ZipFile(path) as parts:
            read = {name: parts.read(name) for name in parts.namelist() if name != "metadata.json"}
        return {name: re.sub(rb'"shared_object_id": \d+', b"", part) for name, part in read.items()}
    if path.name == "medley.json":
        return data.replace(str(path.parent).encode(), b"")
    return data


def _python(module: str, *words: str) -> list[str]:
    return [sys.executable, "-m", module, *words]
