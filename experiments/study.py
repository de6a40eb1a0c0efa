"""How SEN is best trained, judged by validation puzzles only: `make study`, or

    python -m experiments.study --data=data --only=base,timbre --other=data-rest,data-rwc

Each variant changes one thing of the run `table2/sen` and trains for the same few epochs (with less music for as many
more as make the same number of steps); results/study.csv says how well each does with three and with six pieces, and
with three of other music, whose validation split plays too. The winners are the defaults of experiments/configs.py and
of the preset `compact`. Stopped at any time, the same command goes on where it was.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from absl import flags

from djnet import metrics
from djnet.cli import job
from djnet.constants import seconds_to_hops
from djnet.errors import UserError
from djnet.files import whole_file
from djnet.records import Manifest
from experiments import tables
from experiments.configs import WIDE

BASE = "table2/sen"
BASELINES = ("sn", "cin", "ccsn", "tsn", "opn")
DOWNBEATS = {"segmentation": "downbeat", "off_beat": 0.0}
SGD = {"optimiser": "sgd", "learning_rate": 0.05}
TWO_MATRICES = {"ablation": {"two_matrices": True}}
MORE_MUSIC = {"also": ("pop909 (rendered)",)}
VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "cut at downbeats": DOWNBEATS,
    "cut at downbeats and half off the beat": DOWNBEATS | {"off_beat": 0.5},
    "cut at downbeats and three quarters off the beat": DOWNBEATS | {"off_beat": 0.75},
    "cuts not drawn anew": {"redraw": False},
    "timbre": {"timbre": True},
    "spec_augment": {"spec_augment": True},
    "rate 0.0005": {"learning_rate": 0.0005},
    "rate 0.002": {"learning_rate": 0.002},
    "sgd": SGD,
    "sgd and two matrices": SGD | TWO_MATRICES,
    "batches of 16": {"batch_clips": 16},
    "zeros at the edges": {"ablation": {"edges": "zeros"}},
    "dropout 0.5": {"ablation": {"dropout": 0.5}},
    "two matrices": TWO_MATRICES,
    "window 0.8 s": {"ablation": {"window_seconds": 0.836}},
    "window 3 s": {"ablation": {"window_seconds": 2.926}},
    "trimmed": {"protocol": "trimmed"},
    "overlapping": {"protocol": "overlapping"},
    "random gap": {"gap_seconds": 1.0, "random_gap": True},
    "half as wide": {"ablation": {"tower": (32, 64, 128), "convnet": (16, 32, 64), "dense": (256, 256)}},
    "twice as wide": {"ablation": WIDE},
    "twice as wide and two matrices": {"ablation": WIDE | {"two_matrices": True}},
    "more music": MORE_MUSIC,
    "more music and two matrices": MORE_MUSIC | TWO_MATRICES,
    **{f"{name} of the music": {"share": share} for name, share in (("half", 1 / 2), ("an eighth", 1 / 8))},
    **{f"{model} in batches of {n}": {"model": model, "batch_clips": n} for model in BASELINES for n in (4, 16)},
}


_KEY = ["variant", "epochs", "records", "seed"]  # what makes a row of the table the same row


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("data", "data", "Folder of records.")
    flags.DEFINE_string("runs", "runs/study", "Folder for the runs of the study.")
    flags.DEFINE_string("output", "results", "Folder for study.csv.")
    flags.DEFINE_list("only", [], f"Only these variants: {', '.join(VARIANTS)}.")
    flags.DEFINE_list("also", [], "Folders of records that the variant with more music is trained on as well.")
    flags.DEFINE_list("other", [], "Folders of records of other music, whose validation puzzles are played too.")
    flags.DEFINE_integer("epochs", 20, "Epochs, the same for every variant.", lower_bound=1)


def main(given: Any) -> None:
    """Train what is missing, write the table after every variant."""
    job.import_quietly("tensorflow")
    from experiments.checkpoints import TrainingError
    from experiments.configs import experiment
    from experiments.trainer import train

    if unknown := set(given.only) - set(VARIANTS):
        raise UserError(f"--only: no variant {min(unknown)!r}; there are {', '.join(VARIANTS)}.")
    manifest = Manifest.read(Path(given.data).expanduser())
    others, also = ([Manifest.read(Path(name).expanduser()) for name in names] for names in (given.other, given.also))
    runs, path = Path(given.runs).expanduser(), Path(given.output).expanduser() / "study.csv"
    for name in given.only or VARIANTS:
        epochs = round(given.epochs / VARIANTS[name].get("share", 1))
        run = experiment(BASE, epochs=epochs, **VARIANTS[name])
        more = [records for records in also if records.corpus in run.also]
        if len(more) < len(run.also):
            print(f"{name} is left out: it needs records of {', '.join(run.also)} (--also).")
            continue
        print(f"{name}: {run.name}", flush=True)
        folder = runs / manifest.origin[:8] / f"{name.replace(' ', '-')}-epochs={epochs}"
        try:
            train(run, manifest, folder, on_epoch=lambda row: print(row, flush=True), also=more)
        except TrainingError as error:
            raise UserError(str(error)) from error
        write(path, row_of(name, folder, manifest, others, more))
    print(f"-> {path}")


def solved(folder: Path, run: Any, manifest: Manifest, other: Manifest, n: int) -> float:
    """Share of a corpus' validation puzzles of n pieces that the best weights of a run put in order."""
    from djnet import scoring
    from djnet.pairs import LISTWISE
    from djnet.pretrained import read_model
    from djnet.puzzles import jigsaws

    if run.model in LISTWISE and n != 3:
        return float("nan")
    gap = seconds_to_hops(run.gap_seconds)
    puzzles = list(jigsaws(other, "valid", run.segmentation, n, run.protocol, gap))
    if not puzzles:
        return float("nan")
    orders = scoring.solve_puzzles(read_model(folder / "best.keras"), puzzles, manifest.mean, manifest.std)
    right = [metrics.global_accuracy(order, p.truth) for order, p in zip(orders, puzzles, strict=True)]
    return round(sum(right) / len(right), 5)


def row_of(
    variant: str, folder: Path, manifest: Manifest, others: Sequence[Manifest] = (), also: Sequence[Manifest] = ()
) -> dict[str, Any]:
    """What a variant reached, on the validation split and on that of other records; `also` was trained on."""
    from experiments.checkpoints import read_history
    from experiments.configs import read_run
    from experiments.trainer import clips_of, training_clips

    run, facts = read_run(folder / "run.json")
    history = pd.DataFrame(read_history(folder / "history.csv")).astype(float)
    best = history.loc[history["valid_global"][::-1].idxmax()]  # of equal epochs the later one, as in training
    return {
        "variant": variant,
        "valid_pairwise": best["valid_pairwise"],
        "valid_global": best["valid_global"],
        "last_valid_global": history["valid_global"].iloc[-1],
        "best_epoch": int(best["epoch"]) + 1,
        "epochs": len(history),
        "loss": history["loss"].iloc[-1],
        "accuracy": history["accuracy"].iloc[-1],
        "clips": training_clips(run, manifest, also),
        "preset": facts["run"]["preset"],
        "puzzles": clips_of(run, manifest, "valid"),
        "corpus": manifest.corpus,
        "corpus_hash": manifest.content["corpus"]["hash"][:12],
        "records": manifest.origin[:8],
        "seed": facts["run"]["seed"],
        "commit": facts.get("commit", ""),
        "valid_global_6": solved(folder, run, manifest, manifest, 6),
        **{other.corpus: solved(folder, run, manifest, other, 3) for other in others},
    }


def read(path: Path) -> pd.DataFrame:
    """The table; a hash is text, also one of digits only."""
    return tables.read_numbers(path, _KEY)


def write(path: Path, row: dict[str, Any]) -> None:
    """Add a row, in place of the one of the same variant, epochs and records."""
    rows = pd.DataFrame([row])
    if path.exists():
        old = read(path)
        kept = [tuple(values) != tuple(rows[_KEY].iloc[0]) for values in old[_KEY].itertuples(index=False)]
        rows = pd.concat([old[kept], rows], ignore_index=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as partial:
        rows.to_csv(partial, index=False)


if __name__ == "__main__":
    job.run(main, define_flags)
