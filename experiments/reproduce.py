"""Everything that is published in results/, from records to figures: `make reproduce`, or

    python -m experiments.reproduce --data=data --dry_run
    python -m experiments.reproduce --data=data --only=table2,boundary

Trains what is not trained yet, one run after the other, then plays all games and writes all tables. Stopped at any
time, the same command goes on where it was.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from absl import flags

from djnet.records import Manifest
from preprocessing import job

SEEDED = ("table2/sen", "table2/ccsn", "table4/downbeat")  # what is trained with more than one seed
PAIRS_PER_SECOND = 250.0  # of a compact SEN on two cores, until a run of this folder tells better


@dataclass(frozen=True)
class Job:
    """One training: an experiment with its protocol and seed."""

    experiment: str
    protocol: str
    seed: int


def jobs(names: Sequence[str], seeds: int) -> list[Job]:
    """What is to be trained: all rows isolated, the paper's with equal cuts also overlapping, some with more seeds.

    With a gap at every cut fragments share no samples either way, so the run that is trained so is isolated only.
    """
    found = [Job(name, "isolated", 0) for name in names]
    found += [Job(name, "overlapping", 0) for name in names if name.startswith(("table2/", "table3/fixed/"))]
    return found + [Job(name, "isolated", seed) for seed in range(1, seeds) for name in names if name in SEEDED]


def define_flags() -> None:
    """The flags of the command; not defined on import, since other modules with flags of their own use this one."""
    flags.DEFINE_string("data", "data", "Folder of records.")
    flags.DEFINE_string("runs", "runs", "Folder of runs.")
    flags.DEFINE_string("output", "results", "Folder for the tables.")
    flags.DEFINE_list("only", [], "Only experiments whose names begin with one of these (experiments.train --list).")
    flags.DEFINE_bool("dry_run", False, "Say what would be trained and how long it would take, and stop.")
    flags.DEFINE_integer("epochs", None, "Passes over the training clips, the same for every run.", lower_bound=1)
    flags.DEFINE_list("transfer", [], "Folders of records of other music, for the table of what carries over to it.")
    flags.DEFINE_integer("seeds", 1, "So many seeds of SEN and of the best baseline; one of the rest.", lower_bound=1)


def main(argv: Sequence[str]) -> None:
    """Train, evaluate, draw."""
    given = flags.FLAGS
    job.import_quietly("tensorflow")
    from experiments.checkpoints import read_history, run_folder
    from experiments.configs import EXPERIMENTS, experiment

    if len(argv) > 1:
        raise job.JobError(f"Not a flag: {argv[1]!r} (--help lists the flags).")
    manifest = Manifest.read(Path(given.data).expanduser())
    names = [name for name in EXPERIMENTS if not given.only or name.startswith(tuple(given.only))]
    if not names:
        raise job.JobError(f"--only={','.join(given.only)}: no experiment begins so; see experiments.train --list.")
    runs = Path(given.runs).expanduser()
    changes = {} if given.epochs is None else {"epochs": given.epochs}
    todo: dict[Path, tuple[Job, float]] = {}
    for item in jobs(names, given.seeds):
        run = experiment(item.experiment, protocol=item.protocol, seed=item.seed, **changes)
        folder = run_folder(runs, manifest, run)
        done = list(read_history(folder / "history.csv"))
        if len(done) < run.epochs and folder not in todo:
            rate = float(done[-1]["pairs_per_second"]) if done else PAIRS_PER_SECOND
            clips = manifest.content["splits"]["train"]["games"].get(f"{run.segmentation}/{run.n}", 0)
            todo[folder] = item, (run.epochs - len(done)) * clips * 6 / rate / 3600
    for folder, (item, hours) in todo.items():
        print(f"{hours:6.2f} h  {item.experiment:24s} {item.protocol:12s} seed {item.seed}  {folder.name}")
    print(f"{sum(hours for _, hours in todo.values()):6.2f} h in all, {len(todo)} runs to train.")
    if given.dry_run:
        return
    places = [f"--data={given.data}", f"--output={given.runs}"]
    for item, _ in todo.values():
        chosen = [f"--experiment={item.experiment}", f"--protocol={item.protocol}", f"--seed={item.seed}"]
        _run("experiments.train", *places, *chosen, *(f"--{name}={value}" for name, value in changes.items()))
    places = [f"--data={given.data}", f"--runs={given.runs}", f"--output={given.output}"]
    _run("preprocessing.mixes", f"--data={given.data}")
    for seed in range(given.seeds):
        _run("experiments.evaluate", *places, f"--seed={seed}")
    for table, protocol in (
        ("2", "overlapping"),
        ("3", "overlapping"),
        ("boundary", "isolated"),
        ("boundary", "overlapping"),
    ):
        _run("experiments.evaluate", *places, f"--table={table}", f"--protocol={protocol}")
    for folder in given.transfer:
        _run("experiments.evaluate", *places, "--table=transfer", f"--test_data={folder}")
    _run("experiments.figures", f"--data={given.data}", f"--runs={given.runs}", f"--results={given.output}")


def _run(module: str, *flag: str) -> None:
    """One step as a command of its own, so that its memory is free for the next."""
    code = subprocess.run([sys.executable, "-m", module, *flag]).returncode
    if code:
        raise job.JobError(
            f"python -m {module} {' '.join(flag)} ended with code {code}; run the same command to go on."
        )


if __name__ == "__main__":
    define_flags()
    job.run(main)
