"""Everything that is published in results/, from records to figures: `make reproduce`, or

    python -m experiments.reproduce --data=data --dry_run
    python -m experiments.reproduce --data=data --only=table2,boundary

Trains what is not trained yet, then plays all games and writes all tables. Stopped at any time, the same command goes
on where it was. What a training says goes to log.txt in its run's folder.
"""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from absl import flags
from tqdm import tqdm

from djnet.cli import job
from djnet.errors import UserError
from djnet.records import Manifest

SEEDED = ("table2/sen", "table2/ccsn", "table4/downbeat")  # what is trained with more than one seed
LOG = "log.txt"
PAIRS_PER_SECOND = 300.0  # of a compact SEN on one core, until a run of this folder tells better


@dataclass(frozen=True)
class Job:
    """One training: an experiment with its protocol and seed."""

    experiment: str
    protocol: str
    seed: int


@dataclass(frozen=True)
class Training:
    """A run that is not finished: its command, its folder, how many epochs it has had and needs."""

    command: list[str]
    folder: Path
    done: int
    epochs: int


def jobs(names: Sequence[str], seeds: int) -> list[Job]:
    """What is to be trained: all rows centred, some with more seeds or in the other protocols."""
    trainings = [Job(name, "centred", 0) for name in names]
    trainings += [Job(name, "centred", seed) for seed in range(1, seeds) for name in names if name in SEEDED]
    trainings += [Job(name, "overlapping", 0) for name in names if name.startswith(("table2/", "table4/"))]
    return trainings + [Job(name, "trimmed", 0) for name in names if name.startswith("table4/")]


def train_all(trainings: Sequence[Training], at_once: int, epochs: Callable[[Path], int]) -> None:
    """Run trainings side by side, each on its share of the cores; `epochs` tells how far a folder is.

    On few cores that is faster than one after the other: a small network does not keep a second core busy. If one
    fails, or at Ctrl-C, all end, and go on from their checkpoints the next time.
    """
    waiting, shares = list(trainings), _shares(at_once)
    running: dict[subprocess.Popen, tuple[Training, set[int]]] = {}
    had = sum(training.done for training in trainings)
    with tqdm(desc="train", total=sum(training.epochs for training in trainings), initial=had, unit="epoch") as bar:
        try:
            while waiting or running:
                while waiting and shares:
                    process, share = _start(waiting[0], shares[-1]), shares.pop()
                    running[process] = waiting.pop(0), share
                time.sleep(0.5)
                for process in [process for process in running if process.poll() is not None]:
                    training, share = running.pop(process)
                    shares.append(share)
                    if process.returncode:
                        raise UserError(_failure(training, process.returncode))
                bar.set_postfix_str(", ".join(training.folder.name for training, _ in running.values()), refresh=False)
                bar.update(sum(epochs(training.folder) for training in trainings) - bar.n)
        finally:
            for process in running:
                process.terminate()
                process.wait()


def _shares(at_once: int) -> list[set[int]]:
    """The cores that each of several trainings gets; nothing where the system does not let us choose."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return [set(cores[i::at_once]) for i in range(at_once)]


def _start(training: Training, cores: set[int]) -> subprocess.Popen:
    training.folder.mkdir(parents=True, exist_ok=True)
    with open(training.folder / LOG, "ab") as log:
        process = subprocess.Popen(training.command, stdout=log, stderr=subprocess.STDOUT)
    if cores:  # before TensorFlow counts them
        os.sched_setaffinity(process.pid, cores)
    return process


def _failure(training: Training, code: int) -> str:
    said = (training.folder / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.split("\r")[-1] for line in reversed(said) if line.strip()), "no word of why")
    return f"{training.folder.name} ended with code {code}: {last.strip()} The same command goes on from here."


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("data", "data", "Folder of records.")
    flags.DEFINE_string("runs", "runs", "Folder of runs.")
    flags.DEFINE_string("output", "results", "Folder for the tables.")
    flags.DEFINE_list("only", [], "Only experiments whose names begin with one of these (experiments.train --list).")
    flags.DEFINE_bool("dry_run", False, "Say what would be trained and how long it would take, and stop.")
    flags.DEFINE_integer("epochs", None, "Epochs, the same for every run.", lower_bound=1)
    flags.DEFINE_list("also", [], "Folders of records that networks with more music are trained on as well.")
    flags.DEFINE_list("transfer", [], "Folders of records of other music, for the table of what carries over to it.")
    flags.DEFINE_integer("at_once", None, "Trainings side by side; by default two, with a GPU one.", lower_bound=1)
    flags.DEFINE_integer("seeds", 1, "So many seeds of SEN and of the best baseline; one of the rest.", lower_bound=1)


def main(given: Any) -> None:
    """Train, evaluate, draw."""
    job.import_quietly("tensorflow")
    from experiments.checkpoints import read_history, run_folder
    from experiments.configs import EXPERIMENTS, experiment
    from experiments.trainer import training_clips

    manifest = Manifest.read(Path(given.data).expanduser())
    names = [name for name in EXPERIMENTS if not given.only or name.startswith(tuple(given.only))]
    if not names:
        raise UserError(f"--only={','.join(given.only)}: no experiment begins so; see experiments.train --list.")
    runs = Path(given.runs).expanduser()
    others = {other.corpus: other for other in (Manifest.read(Path(folder).expanduser()) for folder in given.also)}
    changes = {} if given.epochs is None else {"epochs": given.epochs}
    at_once = given.at_once or _default_at_once()
    todo: dict[Path, Training] = {}
    hours = 0.0
    for item in jobs(names, given.seeds):
        run = experiment(item.experiment, protocol=item.protocol, seed=item.seed, **changes)
        folder = run_folder(runs, manifest, run)
        done = list(read_history(folder / "history.csv"))
        also = [others[name] for name in run.also if name in others]
        clips = training_clips(run, manifest, also)
        if not clips:
            print(f"{item.experiment} is left out: no training clips of {given.data} can be cut so.")
        elif len(also) < len(run.also):
            print(f"{item.experiment} is left out: it needs records of {', '.join(run.also)} too (--also).")
        elif len(done) < run.epochs and folder not in todo:
            flag = {"experiment": item.experiment, "protocol": item.protocol, "seed": item.seed, **changes}
            flag |= {"data": given.data, "output": given.runs, "also": ",".join(str(other.folder) for other in also)}
            command = [sys.executable, "-m", "experiments.train", *(f"--{key}={value}" for key, value in flag.items())]
            todo[folder] = Training(command, folder, len(done), run.epochs)
            rate = float(done[-1]["pairs_per_second"]) if done else PAIRS_PER_SECOND
            needed = (run.epochs - len(done)) * clips * 6 / rate / 3600
            hours += needed / at_once
            print(f"{needed:6.2f} h  {item.experiment:24s} {item.protocol:12s} seed {item.seed}  {folder.name}")
    print(f"{hours:6.2f} h in all, {at_once} at once; {len(todo)} runs to train.", flush=True)
    if given.dry_run:
        return
    if todo:
        train_all(list(todo.values()), at_once, lambda folder: len(list(read_history(folder / "history.csv"))))
    places = [f"--data={given.data}", f"--runs={given.runs}", f"--output={given.output}"]
    _run("preprocessing.make_medleys", f"--data={given.data}", required=False)  # needs seven tracks
    for seed in range(given.seeds):
        _run("experiments.evaluate", *places, f"--seed={seed}")
        for folder in given.transfer:
            _run("experiments.evaluate", *places, "--table=transfer", f"--test_data={folder}", f"--seed={seed}")
    _run("experiments.evaluate", *places, "--table=boundary")
    for table, protocol in itertools.product(("2", "3", "4"), ("overlapping", "trimmed")):
        _run("experiments.evaluate", *places, f"--table={table}", f"--protocol={protocol}")
    _run("experiments.plots", f"--data={given.data}", f"--runs={given.runs}", f"--results={given.output}")


def _default_at_once() -> int:
    import tensorflow as tf

    return 1 if tf.config.list_physical_devices("GPU") else min(2, os.cpu_count() or 1)


def _run(module: str, *flag: str, required: bool = True) -> None:
    """One step as a command of its own, so that its memory is free for the next."""
    code = subprocess.run([sys.executable, "-m", module, *flag]).returncode
    if code and required:
        raise UserError(f"python -m {module} {' '.join(flag)} ended with code {code}; run the same command to go on.")


if __name__ == "__main__":
    job.run(main, define_flags)
