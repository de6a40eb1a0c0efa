"""The folder of a run: what it was made with, how it went, and a checkpoint that loses nothing.

A run folder holds run.json (config, commit, corpus, versions), history.csv (a row an epoch), best.keras (the weights
with the best validation score) and checkpoint.npz (everything needed to go on).
"""

import csv
import io
import json
import os
import platform
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import djnet
from djnet.errors import UserError
from djnet.files import read_csv, whole_file, write_json
from djnet.records import Manifest
from experiments.configs import Run, read_run


class TrainingError(RuntimeError):
    """Training that cannot go on, in words for a person."""


@dataclass
class Progress:
    """Where a run is; saved in every checkpoint."""

    epoch: int = 0
    step_in_epoch: int = 0
    step: int = 0
    best_score: float = -1.0
    best_epoch: int = -1
    improved_epoch: int = -1  # the last one that was better than all before, and not only as good
    loss_sum: float = 0.0
    right_sum: float = 0.0


def claim(run: Run, manifest: Manifest, folder: Path, also: Sequence[Manifest] = ()) -> None:
    """Write run.json, or make sure that the folder belongs to this run and this music."""
    path = folder / "run.json"
    facts = {"run": run.to_json(), "corpus": manifest.content["corpus"], "records": manifest.origin}
    facts |= {"also": [other.origin for other in also]}
    if (folder / "checkpoint.npz").exists():
        described, found = read_run(path)
        read_history(folder / "history.csv")  # what is wrong with it is said now, not at the end of an epoch
        before = described.to_json()
        for name, value in facts["run"].items():
            if (was := before[name]) != value:
                raise TrainingError(
                    f"{folder} belongs to a run with {name} = {was}, not {value}: choose another --output."
                )
        if (found["records"], found.get("also", [])) != (facts["records"], facts["also"]):
            raise TrainingError(
                f"{folder} was trained on other records ({found['corpus']['name']}): choose another --output."
            )
        return
    versions = {"djnet": djnet.__version__, "tensorflow": tf.__version__, "keras": keras.__version__}
    versions |= {"python": platform.python_version(), "numpy": np.__version__}
    moments = {"mean": manifest.mean.tolist(), "std": manifest.std.tolist()}
    write_json(path, facts | {"commit": commit(), "versions": versions, "finished": False} | moments)


def finish(folder: Path, best_epoch: int, best_score: float) -> None:
    """Mark a run as finished: only such runs are evaluated."""
    _, facts = read_run(folder / "run.json")
    done = {"finished": True, "best_epoch": best_epoch, "best_score": best_score}
    write_json(folder / "run.json", facts | done)


def run_folder(output: Path, manifest: Manifest, run: Run) -> Path:
    """Where a run lives: runs on other music have a folder of their own."""
    return output / f"{manifest.corpus}-{manifest.origin[:8]}" / run.name


def commit() -> str:
    """The commit of the code, with a plus sign if files were changed since; empty outside a repository."""
    here = Path(__file__).parent
    try:
        head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=here, capture_output=True, text=True)
        changed = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=here, capture_output=True, text=True)
    except OSError:
        return ""
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def save(folder: Path, progress: Progress, state: dict[str, np.ndarray]) -> None:
    """Write a checkpoint: where the run is, and every number that training changes."""
    whole = io.BytesIO()  # NumPy leaves an archive open if the disk is full, and Python complains of it later
    np.savez(whole, progress=np.array(json.dumps(progress.__dict__)), **state)
    with whole_file(folder / "checkpoint.npz") as partial:
        partial.write_bytes(whole.getbuffer())


def save_model(path: Path, model: keras.Model) -> None:
    """Write a model as a .keras file, whole or not at all."""
    with whole_file(path) as partial:
        saved = partial.with_name(f"{partial.name}.keras")  # Keras insists on the ending
        try:
            model.save(saved)
            os.replace(saved, partial)
        finally:
            saved.unlink(missing_ok=True)


def resume(folder: Path, restore: Callable[[dict[str, np.ndarray]], None]) -> Progress:
    """Give the numbers of the last checkpoint to `restore`, if there is one: -> where the run is."""
    path = folder / "checkpoint.npz"
    if not path.exists():
        return Progress()
    try:
        with np.load(path, allow_pickle=False) as saved:
            restore({name: saved[name] for name in saved.files if name != "progress"})
            return Progress(**json.loads(str(saved["progress"])))
    except Exception as error:  # a damaged file can make NumPy and zipfile say almost anything
        raise TrainingError(f"{path} is damaged ({error}): remove {folder} to begin anew.") from error


def append(path: Path, row: dict[str, Any]) -> None:
    """Add a row to the history; a row of an epoch that is run again replaces the old one."""
    rows = [old for old in read_history(path) if int(old["epoch"]) < row["epoch"]]
    with whole_file(path) as partial, open(partial, "w", newline="") as file:
        writer = csv.DictWriter(file, list(row), extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows([*rows, row])


def read_history(path: Path) -> list[dict[str, str]]:
    """The rows of a history.csv, none if there is no such file; a UserError if what stands there is no history."""
    rows = read_csv(path, ("epoch", "valid_global")) if path.exists() else []
    if not all(row["epoch"].isdecimal() and len(row["epoch"]) < 10 for row in rows):
        raise UserError(f"{path} is damaged (the column 'epoch' has no whole numbers): remove it.")
    return rows
