"""Train one network: `make train`, or

    python -m experiments.train --experiment=table2/sen --data=data
    python -m experiments.train --model=sn --segmentation=downbeat --epochs=20
    python -m experiments.train --list

Run the same command again after an interruption and it goes on. A run's folder below --output gets its best weights
(best.keras), what it was made with (run.json) and how it went (history.csv).
"""

import ast
import importlib.util
from dataclasses import fields
from pathlib import Path
from typing import Any

from absl import flags

from djnet import storage
from djnet.cli import job
from djnet.errors import UserError
from djnet.files import digest_json
from djnet.records import Manifest, RecordsError

RETRY = 75  # exit code "try again": another worker was lost
WORKER_LOST = "Another worker is gone. The same command on every machine goes on from the last checkpoint."

# One flag for each plain field of a run; without it the experiment's value stays.
_FIELDS: dict[str, tuple[Any, str]] = {
    "model": (flags.DEFINE_string, "Network: sen, sn, cin, ccsn, tsn or opn."),
    "segmentation": (flags.DEFINE_string, "Where clips are cut: fixed or downbeat."),
    "protocol": (flags.DEFINE_string, "What frames next to a cut see: centred, trimmed or overlapping."),
    "preset": (flags.DEFINE_string, "Size of the network: paper or compact."),
    "optimiser": (flags.DEFINE_string, "sgd (momentum 0.9, the paper's) or adam."),
    "learning_rate": (flags.DEFINE_float, "Highest learning rate; it rises, then falls along a cosine."),
    "warmup_steps": (flags.DEFINE_integer, "Steps until the highest learning rate."),
    "batch_clips": (flags.DEFINE_integer, "Clips a step; each has six pairs."),
    "epochs": (flags.DEFINE_integer, "Epochs: how often every training clip is seen."),
    "patience": (flags.DEFINE_integer, "Stop after so many epochs without a better validation score; 0 never."),
    "l2": (flags.DEFINE_float, "Weight of the L2 penalty."),
    "redraw": (flags.DEFINE_bool, "Draw the cuts anew in every epoch, within the few seconds more that records hold."),
    "off_beat": (flags.DEFINE_float, "Move the cuts of that share of the clips off the beat, where cut at downbeats."),
    "timbre": (flags.DEFINE_bool, "Augmentation: change level, spectral tilt, noise and pitch of every clip."),
    "spec_augment": (flags.DEFINE_bool, "Augmentation: mask a band of frequencies and a run of frames of every clip."),
    "gap_seconds": (flags.DEFINE_float, "Remove that much music on each side of every cut."),
    "random_gap": (flags.DEFINE_bool, "Draw the gap for each clip, from 0 to --gap_seconds."),
    "share": (flags.DEFINE_float, "Train on that part of the training clips only, as if there were no more music."),
    "seed": (flags.DEFINE_integer, "Seed of weights, order and every other draw."),
}


def changes(given: Any) -> dict[str, Any]:
    """The fields of a run that flags change."""
    found = {name: value for name in _FIELDS if (value := given[name].value) is not None}
    if given.also:
        found["also"] = tuple(records.corpus for records in _also(given))
    if given.kinds is not None:
        found["kinds"] = tuple(given.kinds)
    ablation = {}
    for text in given.ablation:
        name, _, value = text.partition("=")
        try:
            ablation[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            ablation[name] = value
    return found | {"ablation": ablation}


def _also(given: Any) -> list[Manifest]:
    return [Manifest.read(_local_records(data)) for data in given.also]


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_bool("list", False, "List the named experiments and stop.")
    flags.DEFINE_list("experiment", ["table2/sen"], "Named runs, see --list; the flags below change them.")
    flags.DEFINE_string("data", "data", "Folder of records, or their address: s3://bucket/data.")
    flags.DEFINE_list("also", [], "Folders of other records to train on as well; validation is on --data alone.")
    flags.DEFINE_string("output", "runs", "Folder for the runs.")
    flags.DEFINE_enum(
        "strategy",
        "auto",
        ["auto", "one", "mirrored", "multiworker", "tpu"],
        "Devices: auto takes a TPU, all GPUs, or the CPU.",
    )
    flags.DEFINE_bool("deterministic", False, "Only operations that give the same bits every time; slower.")
    flags.DEFINE_bool("mixed_precision", False, "bfloat16 where it is safe, for GPUs and TPUs.")
    flags.DEFINE_bool("tensorboard", False, "Write logs for TensorBoard into the run's folder.")
    flags.DEFINE_multi_string(
        "ablation", [], "Change a field of the network: --ablation=stride=2 --ablation=\"pooling=('max',)\"."
    )
    flags.DEFINE_list("kinds", None, "Kinds of pairs to train with, for example R1R2,R2R1.")
    for name, (define, text) in _FIELDS.items():
        define(name, None, text)


def main(given: Any) -> None:
    """Train, showing how it goes."""
    job.import_quietly("tensorflow")
    from experiments.configs import EXPERIMENTS, Run, experiment
    from experiments.strategies import strategy_for

    if given.list:
        for name, run in EXPERIMENTS.items():
            print(f"{name:24s} {run.name}")
        return
    assert {*_FIELDS, "ablation", "kinds", "n", "also"} == {field.name for field in fields(Run)}
    try:
        runs = [experiment(name, **changes(given)) for name in given.experiment]
    except ValueError as error:
        raise UserError(str(error)) from error
    manifest = Manifest.read(_local_records(given.data))
    strategy = strategy_for(given.strategy)
    left_out = []
    for run in runs:
        try:
            _train(given, run, manifest, strategy)
        except RecordsError as error:  # no clips for this game, but perhaps for the next
            left_out.append(str(error))
            print(error)
    if len(left_out) == len(runs):
        raise UserError(left_out[0])


def _local_records(data: str) -> Path:
    """The folder of the records; those at an address are copied to the cache first."""
    if not storage.is_address(data):
        return Path(data).expanduser()
    return storage.fetch(data, Path("~/.cache/djnet/records").expanduser() / digest_json(data.rstrip("/"))[:16])


def _train(given: Any, run: Any, manifest: Manifest, strategy: Any) -> None:
    import keras
    import tensorflow as tf

    from experiments.checkpoints import TrainingError, run_folder
    from experiments.trainer import WorkerLostError, train

    folder = run_folder(Path(given.output).expanduser(), manifest, run)

    if given.deterministic:
        tf.config.experimental.enable_op_determinism()
    if given.mixed_precision:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")  # its range needs no scaling of the loss
    if given.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise UserError(
            "--tensorboard needs the package tensorboard: install it with .venv/bin/pip install tensorboard"
        )
    writer = tf.summary.create_file_writer(str(folder / "tensorboard")) if given.tensorboard else None

    def show(row: dict[str, Any]) -> None:
        accuracy = f"{row['valid_pairwise']:.3f} ({row['valid_global']:.3f})"
        learned = f"loss {row['loss']:.3f}  right {row['accuracy']:.3f}  validation {accuracy}"
        print(f"epoch {row['epoch'] + 1:3d}/{run.epochs}  {learned}  {row['pairs_per_second']:.0f} pairs/s", flush=True)
        if writer is not None:
            with writer.as_default(step=row["epoch"]):
                for name, value in row.items():
                    tf.summary.scalar(name, value)

    print(f"{run.name}: {', '.join([manifest.corpus, *run.also])}, into {folder}")
    try:
        result = train(run, manifest, folder, strategy, on_epoch=show, also=_also(given))
    except (WorkerLostError, tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        said = error.message if isinstance(error, tf.errors.OpError) else str(error)
        job.fail(f"{WORKER_LOST} ({said.splitlines()[0][:200]})", code=RETRY)
    except TrainingError as error:
        raise UserError(str(error)) from error
    except tf.errors.ResourceExhaustedError as error:
        raise UserError(f"Out of memory with --batch_clips={run.batch_clips}: try half as many.") from error
    best = f"epoch {result.best_epoch + 1}, validation global accuracy {result.best_score:.3f}"
    print(f"Best: {best}: {folder / 'best.keras'}")


if __name__ == "__main__":
    job.run(main, define_flags)
