"""The training loop: one step that runs the same on one device and on many."""

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from djnet import metrics, scoring
from djnet.constants import seconds_to_hops
from djnet.dataset import Epoch, Fragments, fragment_batches
from djnet.files import locked
from djnet.networks.batch_norm import precise
from djnet.networks.models import build
from djnet.pairs import LISTWISE, Kind, Pair, pairs_of, questions_for
from djnet.records import Manifest, RecordsError
from djnet.rng import rng_for
from experiments import checkpoints
from experiments.checkpoints import Progress, TrainingError
from experiments.configs import Run

CHECKPOINT_SECONDS = 60.0
MOMENTUM = 0.9
_METRICS = (metrics.pairwise_accuracy, metrics.global_accuracy)


class WorkerLostError(TrainingError):
    """Another machine is gone or out of step: started again, all go on from the last checkpoint."""


@dataclass(frozen=True)
class Result:
    """What came out of a run."""

    folder: Path
    best_score: float
    best_epoch: int
    epochs: int


class Trainer:
    """A network with its optimiser, under a strategy of tf.distribute."""

    def __init__(self, run: Run, pairs: Sequence[Pair], steps: int = 1, strategy: tf.distribute.Strategy | None = None):
        """`pairs` are the labelled pairs of the records; the learning rate falls over so many steps."""
        self.run = run
        self.strategy = strategy or tf.distribute.get_strategy()
        self.questions = questions_for(run.model, pairs, [Kind[name] for name in run.kinds])
        rate = learning_rates(run, steps)
        keras.utils.set_random_seed(run.seed)
        with self.strategy.scope():
            self.model = build(run.model, run.preset, **run.ablation)
            self.optimiser: keras.optimizers.Optimizer = (
                keras.optimizers.SGD(rate, momentum=MOMENTUM) if run.optimiser == "sgd" else keras.optimizers.Adam(rate)
            )
            self.optimiser.build(self.model.trainable_variables)
        self._kernels = [variable for variable in self.model.trainable_variables if len(variable.shape) > 1]
        self._seeds = [
            layer.seed_generator.state
            for layer in self.model._flatten_layers()
            if isinstance(layer, keras.layers.Dropout) and layer.rate > 0
        ]
        # One graph for full batches and one for the last: a graph for any size is slower.
        self._compiled = tf.function(self._distributed_step)

    @property
    def writes(self) -> bool:
        """Whether this process writes the run's folder: of several workers, only the first does."""
        return self.strategy.extended.should_checkpoint

    def require_same_step(self, step: int) -> None:
        """Make sure that all workers go on from the same checkpoint."""
        steps = self.strategy.run(lambda: tf.constant(step, tf.float32))
        if (mean := float(self.strategy.reduce(tf.distribute.ReduceOp.MEAN, steps, None))) != step:
            raise WorkerLostError(f"Workers are in different steps ({step} here, {mean:g} on average).")

    def step(self, batch: Fragments, step: int) -> tuple[float, float]:
        """One step on one global batch: -> loss and share of right answers."""
        loss, right = self._compiled(batch, tf.constant(step))
        return float(loss), float(right)

    def loss(self, batch: Fragments, training: bool = True) -> tuple[tf.Tensor, tf.Tensor]:
        """Cross entropy of a batch of clips, each fragment embedded once: -> loss, share of right answers."""
        embedded = scoring.embed(self.model, batch, self.run.padded, training)
        logits = precise(scoring.answer(self.model, embedded, self.questions.fragments, training))
        answers = tf.broadcast_to(tf.constant(self.questions.answers)[:, None], tf.shape(logits)[:2])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(answers, logits)
        right = tf.equal(tf.argmax(logits, axis=-1), tf.cast(answers, tf.int64))
        return tf.reduce_mean(losses), tf.reduce_mean(tf.cast(right, tf.float32))

    def _distributed_step(self, batch: Any, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        losses, rights = self.strategy.run(self._replica_step, args=(batch, step))
        mean = tf.distribute.ReduceOp.MEAN
        return self.strategy.reduce(mean, losses, None), self.strategy.reduce(mean, rights, None)

    def _replica_step(self, batch: Fragments, step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        # Dropout draws by the number of the step, so that a run that was resumed draws as one that was not.
        for i, seed in enumerate(self._seeds):
            seed.assign(tf.cast(tf.stack([self.run.seed * 1000 + i, step]), seed.dtype))
        with tf.GradientTape() as tape:
            loss, right = self.loss(batch)
            penalty = self.run.l2 * tf.add_n([tf.nn.l2_loss(tf.convert_to_tensor(kernel)) for kernel in self._kernels])
            total = (loss + penalty) / self.strategy.num_replicas_in_sync
        variables = self.model.trainable_variables
        gradients = tape.gradient(total, [variable.value for variable in variables])
        self.optimiser.apply_gradients(zip(gradients, variables, strict=True))
        return loss, right

    def state(self) -> dict[str, np.ndarray]:
        """Every number that training changes."""
        variables = [*self.model.variables, *self.optimiser.variables]
        return {f"v{i:04d}": variable.numpy() for i, variable in enumerate(variables)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set every number that training changes."""
        for i, variable in enumerate([*self.model.variables, *self.optimiser.variables]):
            variable.assign(state[f"v{i:04d}"])


def train(
    run: Run,
    manifest: Manifest,
    folder: Path,
    strategy: tf.distribute.Strategy | None = None,
    on_epoch: Callable[[dict[str, Any]], None] = lambda row: None,
    show_progress: bool = True,
    also: Sequence[Manifest] = (),
) -> Result:
    """Train a run, or go on with it from its last checkpoint; `also` are the records of the run's other corpora."""
    check_memory(run)
    if run.also != tuple(other.corpus for other in also):
        raise TrainingError(f"This run also needs records of {', '.join(run.also)}: say where with --also=folder.")
    for split in ("train", "valid"):
        if not clips_of(run, manifest, split):
            raise RecordsError(
                f"The {split} split of {manifest.folder} has no clips for {run.segmentation} cuts, n = {run.n}."
            )
    # Several devices share a batch, so that one which is not full could leave a device without a clip.
    devices = (strategy or tf.distribute.get_strategy()).num_replicas_in_sync
    full_batches = devices > 1
    if run.batch_clips % devices:
        raise TrainingError(f"{run.batch_clips} clips do not share out to {devices} devices: change --batch_clips.")
    clips = training_clips(run, manifest, also)
    steps = clips // run.batch_clips if full_batches else math.ceil(clips / run.batch_clips)
    if not steps:
        raise TrainingError(
            f"{clips} training clips do not fill a batch of {run.batch_clips}: try a smaller --batch_clips."
        )
    trainer = Trainer(run, manifest.pairs(run.segmentation, run.n), steps * run.epochs, strategy)
    if not trainer.writes:
        return _fit(trainer, manifest, folder, steps, on_epoch, show_progress, also)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        checkpoints.claim(run, manifest, folder, also)
        result = _fit(trainer, manifest, folder, steps, on_epoch, show_progress, also)
        checkpoints.finish(folder, result.best_epoch, result.best_score)
    return result


def _fit(
    trainer: Trainer,
    manifest: Manifest,
    folder: Path,
    steps: int,
    on_epoch: Callable[[dict[str, Any]], None],
    show_progress: bool,
    also: Sequence[Manifest],
) -> Result:
    """Train from the last checkpoint on to the end; arguments as of `train`, and the steps of an epoch."""
    run = trainer.run
    progress = checkpoints.resume(folder, trainer.restore)
    trainer.require_same_step(progress.step)
    while progress.epoch < run.epochs and not _is_done(run, progress):
        began, first = time.monotonic(), progress.step_in_epoch
        _run_epoch(trainer, manifest, also, folder, progress, steps, show_progress)
        score = validate(trainer.model, run, manifest)
        pairs = (progress.step_in_epoch - first) * run.batch_clips * len(trainer.questions.answers)
        row = {
            "epoch": progress.epoch,
            "loss": round(progress.loss_sum / steps, 5),
            "accuracy": round(progress.right_sum / steps, 5),
            "valid_pairwise": round(score["pairwise_accuracy"], 5),
            "valid_global": round(score["global_accuracy"], 5),
            "pairs_per_second": round(pairs / (time.monotonic() - began), 1),
        }
        # Of equal epochs the later one is taken: a small validation split is soon saturated while training still helps.
        if score["global_accuracy"] > progress.best_score:
            progress.improved_epoch = progress.epoch
        if is_better := score["global_accuracy"] >= progress.best_score:
            progress.best_score, progress.best_epoch = score["global_accuracy"], progress.epoch
        progress.epoch += 1
        progress.step_in_epoch, progress.loss_sum, progress.right_sum = 0, 0.0, 0.0
        state = trainer.state()
        _require_finite(state, progress, folder, run)
        if trainer.writes:
            if is_better:
                checkpoints.save_model(folder / "best.keras", trainer.model)
            checkpoints.append(folder / "history.csv", row)
            checkpoints.save(folder, progress, state)
            on_epoch(row)
    return Result(folder, progress.best_score, progress.best_epoch, progress.epoch)


def _run_epoch(
    trainer: Trainer,
    manifest: Manifest,
    also: Sequence[Manifest],
    folder: Path,
    progress: Progress,
    steps: int,
    show_progress: bool,
) -> None:
    run = trainer.run
    full = trainer.strategy.num_replicas_in_sync > 1
    batches = training_batches(run, manifest, progress.epoch, full, also).skip(progress.step_in_epoch)
    distributed = trainer.strategy.experimental_distribute_dataset(batches)
    began = saved = time.monotonic()
    first = progress.step_in_epoch
    bar = tqdm(
        distributed, f"epoch {progress.epoch + 1}/{run.epochs}", steps, initial=progress.step_in_epoch, unit="step",
        disable=not (show_progress and trainer.writes), leave=False,
    )  # fmt: skip
    for batch in bar:
        loss, right = trainer.step(batch, progress.step)
        if not math.isfinite(loss):
            raise TrainingError(
                f"The loss is {loss} in step {progress.step} (epoch {progress.epoch + 1}): training stops and the last "
                f"good checkpoint in {folder} is kept. Try a lower --learning_rate than {run.learning_rate:g}."
            )
        progress.step += 1
        progress.step_in_epoch += 1
        progress.loss_sum += loss
        progress.right_sum += right
        done = progress.step_in_epoch
        pairs = (done - first) * run.batch_clips * len(trainer.questions.answers) / (time.monotonic() - began)
        bar.set_postfix_str(
            f"loss {progress.loss_sum / done:.3f}, right {progress.right_sum / done:.3f}, {pairs:.0f} pairs/s",
            refresh=False,
        )
        if trainer.writes and time.monotonic() - saved > CHECKPOINT_SECONDS:
            state = trainer.state()
            _require_finite(state, progress, folder, run)
            checkpoints.save(folder, progress, state)
            saved = time.monotonic()


def _require_finite(state: dict[str, np.ndarray], progress: Progress, folder: Path, run: Run) -> None:
    """Stop before ruined weights replace good ones."""
    if not all(np.isfinite(values).all() for values in state.values()):
        raise TrainingError(
            f"The weights are not finite after step {progress.step}: training stops and the last good checkpoint in "
            f"{folder} is kept. Try a lower --learning_rate than {run.learning_rate:g}."
        )


def training_batches(
    run: Run, manifest: Manifest, epoch: int, full_batches: bool = False, also: Sequence[Manifest] = ()
) -> tf.data.Dataset:
    """The batches of an epoch; the same epoch of the same run is always the same."""
    batches = fragment_batches(
        manifest,
        "train",
        run.n,
        segmentation=run.segmentation,
        protocol=run.protocol,
        window=run.network.window_frames,
        gap=seconds_to_hops(run.gap_seconds),
        random_gap=run.random_gap,
        first=training_clips(run, manifest, also),
        also=also,
        batch_size=run.batch_clips,
        epoch=Epoch(run.seed, epoch),
        redraw=run.redraw,
        off_beat=run.off_beat,
        timbre=run.timbre,
        spec_augment=run.spec_augment,
        drop_remainder=full_batches,
    )
    # Several machines share every batch, as several devices do; each reads all files and keeps its part.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return batches.with_options(options)


def training_clips(run: Run, manifest: Manifest, also: Sequence[Manifest] = ()) -> int:
    """How many clips an epoch sees."""
    return math.ceil(run.share * sum(clips_of(run, records, "train") for records in (manifest, *also)))


def validate(model: keras.Model, run: Run, manifest: Manifest, split: str = "valid") -> dict[str, float]:
    """Pairwise and global accuracy on the puzzles of a split, cut as in training."""
    scores: list[list[float]] = []
    for batch in fragment_batches(
        manifest,
        split,
        run.n,
        segmentation=run.segmentation,
        protocol=run.protocol,
        window=run.network.window_frames,
        gap=seconds_to_hops(run.gap_seconds),
        batch_size=32,
    ):
        # Each puzzle in an order of its own: a model that always answers alike must not be right.
        places = np.stack(
            [rng_for(0, "validate", len(scores) + i).permutation(run.n) for i in range(len(batch.frames))]
        )
        shuffled = Fragments(*(tf.gather(values, places, axis=1, batch_dims=1) for values in batch))
        for order, place in zip(scoring.solve_batch(model, shuffled), places, strict=True):
            answer = place[list(order)].tolist()
            scores.append([metric(answer, range(run.n)) for metric in _METRICS])
    pairwise, exact = np.mean(scores, axis=0)
    return {"pairwise_accuracy": float(pairwise), "global_accuracy": float(exact)}


def learning_rates(run: Run, steps: int) -> keras.optimizers.schedules.LearningRateSchedule:
    """A short linear warm-up, then half a cosine down to a hundredth."""
    warmup = max(1, run.warmup_steps)
    decay = max(1, steps - warmup)
    return keras.optimizers.schedules.CosineDecay(
        run.learning_rate / warmup, decay, 0.01, warmup_target=run.learning_rate, warmup_steps=warmup
    )


def check_memory(run: Run) -> None:
    """Refuse a batch that cannot fit, by the size of the largest tensors: the tower's and the first 2D layer's."""
    network = run.network
    frames = network.window_frames or seconds_to_hops(24 / run.n)
    questions = 6 if run.model in LISTWISE else sum(pair.kind.name in run.kinds for pair in pairs_of(run.n))
    tower = 2 * run.n * frames * sum(network.tower)
    matrix = questions * frames**2 * network.convnet[0] * 3 if run.model == "sen" else 0
    needed = 4 * 4 * run.batch_clips * (tower + matrix)
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > available and not tf.config.list_physical_devices("GPU"):
        fits = max(1, int(run.batch_clips * available / needed / 1.2))
        raise TrainingError(
            f"A batch of {run.batch_clips} clips needs about {needed / 1e9:.0f} GB, this machine has "
            f"{available / 1e9:.0f} GB: try --batch_clips={fits}, or --preset=compact."
        )


def _is_done(run: Run, progress: Progress) -> bool:
    return bool(run.patience) and progress.epoch - 1 - progress.improved_epoch >= run.patience


def clips_of(run: Run, manifest: Manifest, split: str) -> int:
    """How many clips of a split can be cut as in this run."""
    return manifest.content["splits"][split]["games"].get(f"{run.segmentation}/{run.n}", 0)
