import gc
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from djnet import scoring
from djnet.corpora import synthetic
from djnet.dataset import Fragments
from djnet.errors import UserError
from djnet.files import locked
from djnet.networks.models import MODELS
from djnet.networks.models import build as build_model
from djnet.pairs import pairs_of
from djnet.records import Manifest, RecordsError
from experiments import checkpoints
from experiments.checkpoints import TrainingError, read_history, run_folder
from experiments.configs import ABLATIONS, BATCHES, EXPERIMENTS, Run, experiment
from experiments.trainer import Trainer, check_memory, learning_rates, train, training_batches, validate
from preprocessing.build import build
from preprocessing.clips import Settings

TINY = {"tower": (32, 32, 32), "convnet": (16, 16, 32), "dense": (64,), "window_seconds": 0.42, "dropout": 0.1}
RUN = Run(ablation=TINY, optimiser="adam", learning_rate=3e-3, warmup_steps=10, epochs=24, batch_clips=8)


@pytest.fixture(scope="module")
def many(tmp_path_factory, cache) -> Manifest:
    """Records of a hundred generated songs."""
    songs = synthetic.corpus(100, 0, cache)
    return build(songs, tmp_path_factory.mktemp("many"), Settings(downbeats=False), cache).manifest


def test_a_tiny_sen_learns_to_order_songs_it_never_heard(many, tmp_path):
    untrained = validate(Trainer(RUN, pairs_of(3)).model, RUN, many, "test")
    assert untrained["global_accuracy"] < 0.4  # chance is 1 in 6
    result = train(RUN, many, tmp_path / "run", show_progress=False)
    trained = validate(keras.models.load_model(tmp_path / "run" / "best.keras"), RUN, many, "test")
    assert trained["global_accuracy"] >= 0.8
    rows = list(read_history(tmp_path / "run" / "history.csv"))
    assert [int(row["epoch"]) for row in rows] == list(range(RUN.epochs))
    assert max(float(row["valid_global"]) for row in rows) == pytest.approx(result.best_score, abs=1e-4)
    saved = json.loads((tmp_path / "run" / "run.json").read_text())
    assert Run.from_json(saved["run"]) == RUN
    assert saved["corpus"]["name"] == "synthetic" and saved["versions"]["tensorflow"] == tf.__version__


@pytest.mark.parametrize("name", MODELS)
def test_every_network_can_learn_one_batch_by_heart(name):
    run = replace(RUN, model=name, l2=0.0, ablation=TINY | {"dropout": 0.0})
    trainer = Trainer(run, pairs_of(3), 60)
    frames = np.random.default_rng(0).standard_normal((4, 3, 2, run.network.window_frames, 128)).astype(np.float32)
    batch = Fragments(tf.constant(frames), tf.constant(np.full((4, 3), 300)))
    for step in range(60):
        loss, right = trainer.step(batch, step)
        if right == 1.0 and loss < 0.2:
            break
    assert right == 1.0 and loss < 0.3


@pytest.mark.parametrize("window", [0.0, 0.42])
def test_a_step_in_mixed_precision(window):
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        trainer = Trainer(replace(RUN, ablation=TINY | {"window_seconds": window}), pairs_of(3), 3)
        frames = np.random.default_rng(0).standard_normal((4, 3, 2 if window else 1, 18, 128)).astype(np.float32)
        batch = Fragments(tf.constant(frames), tf.fill([4, 3], 18))
        losses = [trainer.step(batch, step)[0] for step in range(3)]
        assert np.isfinite(losses).all() and losses[-1] < losses[0]
        assert {variable.dtype for variable in trainer.model.trainable_variables} == {"float32"}
    finally:
        keras.mixed_precision.set_global_policy("float32")


SCRIPT = """
import json, sys
from pathlib import Path
import tensorflow as tf
tf.config.experimental.enable_op_determinism()
from djnet.records import Manifest
from experiments import trainer
from experiments.configs import Run
trainer.CHECKPOINT_SECONDS = 0.0
run = Run.from_json(json.loads(sys.argv[1]))
trainer.train(run, Manifest.read(sys.argv[2]), Path(sys.argv[3]), show_progress=False)
"""


def _start(run: Run, records: Manifest, folder) -> subprocess.Popen:
    command = [sys.executable, "-c", SCRIPT, json.dumps(run.to_json()), str(records.folder), str(folder)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def test_a_killed_run_ends_with_the_weights_of_one_that_was_not(records, tmp_path):
    run = replace(RUN, epochs=2, batch_clips=3)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert _start(run, records, whole).wait() == 0
    process = _start(run, records, killed)
    checkpoint = killed / "checkpoint.npz"
    while process.poll() is None and not (checkpoint.exists() and _step(checkpoint) >= 3):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 3 <= _step(checkpoint) < _step(whole / "checkpoint.npz")
    assert _start(run, records, killed).wait() == 0
    with np.load(whole / "checkpoint.npz") as one, np.load(checkpoint) as other:
        assert set(one.files) == set(other.files)
        for name in one.files:
            if name != "progress":
                assert np.abs(one[name].astype(float) - other[name].astype(float)).max() < 1e-5, name
    assert (whole / "history.csv").read_text().count("\n") == (killed / "history.csv").read_text().count("\n")


def _step(path) -> int:
    with np.load(path) as saved:
        return json.loads(str(saved["progress"]))["step"]


def test_the_folder_of_another_run_is_refused(records, tmp_path):
    train(replace(RUN, epochs=1), records, tmp_path, show_progress=False)
    with pytest.raises(TrainingError, match=r"belongs to a run with learning_rate = 0.003, not 0.1"):
        train(replace(RUN, epochs=1, learning_rate=0.1), records, tmp_path)
    found = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(found | {"records": "others"}))
    with pytest.raises(TrainingError, match="was trained on other records"):
        train(replace(RUN, epochs=1), records, tmp_path)


def test_a_folder_that_is_being_trained_into_is_left_alone(records, tmp_path):
    folder = run_folder(tmp_path, records, replace(RUN, epochs=1))
    folder.mkdir(parents=True)
    with locked(folder):
        unfinished = folder / ".checkpoint.npz.1.partial"
        unfinished.touch()
        with pytest.raises(UserError, match=rf"Another run is writing to .* \(process {os.getpid()} on .*\)"):
            train(replace(RUN, epochs=1), records, folder)
        assert unfinished.exists() and not (folder / "run.json").exists()
    train(replace(RUN, epochs=1), records, folder, show_progress=False)
    assert {path.name for path in folder.iterdir()} == {"run.json", "history.csv", "best.keras", "checkpoint.npz"}


def test_a_checkpoint_that_does_not_fit_is_one_error_and_nothing_else(tmp_path, monkeypatch):
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"MB are free on its disk") as raised:
            checkpoints.save(tmp_path, checkpoints.Progress(), {"v0": np.zeros(10_000), "v1": np.zeros(10)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.filename == str(tmp_path / "checkpoint.npz") and not list(tmp_path.iterdir())
    del raised
    gc.collect()
    assert complaints == []


def test_a_damaged_checkpoint_is_named(records, tmp_path):
    train(replace(RUN, epochs=1), records, tmp_path, show_progress=False)
    (tmp_path / "checkpoint.npz").write_bytes(b"rubbish")
    with pytest.raises(TrainingError, match=r"checkpoint.npz is damaged"):
        train(replace(RUN, epochs=1), records, tmp_path)


def test_a_loss_that_is_no_number_stops_at_once_and_keeps_the_checkpoint(records, tmp_path, monkeypatch):
    train(replace(RUN, epochs=2), records, tmp_path, show_progress=False)
    run = replace(RUN, epochs=3)
    found = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(found | {"run": run.to_json()}))
    before = (tmp_path / "checkpoint.npz").read_bytes()
    steps = _step(tmp_path / "checkpoint.npz")
    monkeypatch.setattr(Trainer, "step", lambda *args: (float("nan"), 0.0))
    with pytest.raises(TrainingError, match=rf"loss is nan in step {steps} \(epoch 3\).*lower --learning_rate"):
        train(run, records, tmp_path, show_progress=False)
    assert (tmp_path / "checkpoint.npz").read_bytes() == before


def test_training_stops_when_it_does_not_get_better(records, tmp_path):
    run = replace(RUN, epochs=50, patience=2, learning_rate=1e-9)
    assert train(run, records, tmp_path, show_progress=False).epochs < 50


def test_no_clips_for_the_game(many, tmp_path):
    with pytest.raises(RecordsError, match="no clips for downbeat cuts, n = 3"):
        train(replace(RUN, segmentation="downbeat"), many, tmp_path)


def test_a_batch_that_cannot_fit_is_refused_before_it_starts():
    with pytest.raises(TrainingError, match=r"needs about \d+ GB, this machine has.*--batch_clips="):
        check_memory(Run(preset="paper", batch_clips=100_000))
    check_memory(Run())


def test_a_model_that_always_answers_alike_is_not_right(records, monkeypatch):
    """OPN that names one order whatever it hears must score by chance in validation."""
    run = replace(RUN, model="opn")
    monkeypatch.setattr(scoring, "answers", lambda model, frames, questions, padded: np.eye(6)[[5] * len(questions)])
    everything = [
        validate(build_model("opn", "compact", **TINY), run, records, split) for split in ("train", "valid", "test")
    ]
    assert max(score["global_accuracy"] for score in everything) < 0.7


def test_a_run_that_never_began_does_not_claim_its_folder(records, tmp_path, monkeypatch):
    run = replace(RUN, epochs=1)
    with pytest.raises(TrainingError, match="needs about"):
        train(replace(run, batch_clips=10**7), records, tmp_path)
    assert list(tmp_path.iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", lambda *args: (float("nan"), 0.0))
        with pytest.raises(TrainingError, match="loss is nan in step 0"):
            train(run, records, tmp_path, show_progress=False)
    assert train(replace(run, learning_rate=1e-3), records, tmp_path, show_progress=False).epochs == 1


def test_other_records_are_trained_on_too_and_must_be_there(records, many, tmp_path):
    run = replace(RUN, epochs=1, also=(many.corpus,))
    with pytest.raises(TrainingError, match=f"also needs records of {many.corpus}: say where with --also=folder"):
        train(run, records, tmp_path)
    assert list(tmp_path.iterdir()) == []
    train(run, records, tmp_path, show_progress=False, also=[many])
    assert _step(tmp_path / "checkpoint.npz") == -(-(records.clips("train") + many.clips("train")) // run.batch_clips)
    assert json.loads((tmp_path / "run.json").read_text())["also"] == [many.origin]
    with pytest.raises(TrainingError, match="was trained on other records"):
        train(run, records, tmp_path, also=[replace(many, content=many.content | {"settings": {}})])


def test_weights_that_are_not_finite_are_never_written(records, tmp_path, monkeypatch):
    """The loss can be finite in the very step that ruins the weights."""
    run = replace(RUN, epochs=2)
    train(replace(run, epochs=1), records, tmp_path / "good", show_progress=False)
    state = Trainer.state
    monkeypatch.setattr(Trainer, "state", lambda self: state(self) | {"v0000": np.full(3, np.nan)})
    with pytest.raises(TrainingError, match=r"weights are not finite .*Try a lower --learning_rate"):
        train(run, records, tmp_path / "bad", show_progress=False)
    assert not (tmp_path / "bad" / "checkpoint.npz").exists() and not (tmp_path / "bad" / "best.keras").exists()


def test_spec_augment_goes_on_as_if_it_had_not_stopped(records):
    run = replace(RUN, spec_augment=True, timbre=True)
    one, again, other = (
        np.concatenate([batch.frames.numpy() for batch in training_batches(run, records, epoch)]) for epoch in (3, 3, 4)
    )
    assert np.array_equal(one, again) and not np.array_equal(one, other)


def test_a_run_is_known_by_all_its_settings():
    changes: dict[str, Any] = {
        "optimiser": "adam", "learning_rate": 0.01, "warmup_steps": 7, "batch_clips": 16, "l2": 0.0, "redraw": False,
        "off_beat": 0.5, "timbre": True, "spec_augment": True, "epochs": 3, "gap_seconds": 0.5, "also": ("x",),
        "ablation": {"window_seconds": 0.8}, "kinds": ("R1R2", "R2R1"), "share": 0.5, "protocol": "trimmed",
    }  # fmt: skip
    base = Run()
    others = [replace(base, **{name: value}) for name, value in changes.items()]
    assert len({run.hash for run in others} | {base.hash}) == len({run.name for run in others}) + 1 == len(changes) + 1
    assert replace(base, seed=1).hash == base.hash and replace(base, seed=1).differences(base) == ""
    assert replace(base, epochs=3, optimiser="adam").differences(base) == "optimiser adam, epochs 3"


def test_the_learning_rate_rises_and_falls():
    run = Run(learning_rate=1.0, warmup_steps=10)
    schedule = learning_rates(run, 100)
    rates = [float(schedule(step)) for step in range(100)]
    assert np.argmax(rates) in (9, 10) and rates[0] == pytest.approx(0.1) and rates[-1] < 0.02
    assert (np.diff(rates[10:]) < 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "sem"}, "model must be one of sen, sn"),
        ({"segmentation": "bars"}, "segmentation must be one of fixed, downbeat"),
        ({"epochs": 0}, "epochs must be above 0, got 0"),
        ({"l2": -1.0}, "l2 must not be negative"),
        ({"kinds": ("R1R2",)}, "needs R1R2 and a kind of negative pairs"),
        ({"kinds": ("R1R2", "R9R9")}, "kinds are R1R2"),
        ({"kinds": ("R1R2", "R1R2")}, "kinds are R1R2"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0, got nan"),
        ({"seed": -1}, "seed must not be negative"),
        ({"ablation": {"tower": 8}}, r"tower must be widths above 0 such as \(64, 128\), got 8"),
        ({"off_beat": 1.5}, "off_beat must be from 0 to 1, got 1.5"),
        ({"share": 0.0}, "share must be above 0 and at most 1, got 0"),
        ({"gap_seconds": 5.0}, "leaves nothing of fragments"),
        ({"ablation": {"strid": 2}}, "A network has no 'strid'"),
        ({"model": "tsn", "n": 4}, "tsn compares three fragments, not 4"),
    ],
)
def test_impossible_runs(changes, message):
    with pytest.raises(ValueError, match=message):
        Run(**changes)


def test_every_row_of_every_table_has_an_experiment():
    names = set(EXPERIMENTS)
    assert {f"table2/{model}" for model in MODELS} <= names
    assert {f"table3/{cut}/{model}" for cut in ("fixed", "downbeat") for model in ("sn", "cin", "sen")} <= names
    assert {"table4/fixed", "table4/downbeat"} <= names
    assert {f"table5/{name}" for name in ABLATIONS} <= names
    assert {"two_matrices/fixed", "two_matrices/downbeat"} <= names
    assert len({run.name for run in EXPERIMENTS.values()}) == 24
    assert experiment("table5/stride2", ablation={"dropout": 0.1}).ablation == {"stride": 2, "dropout": 0.1}
    with pytest.raises(ValueError, match="Unknown experiment 'table9/sen'"):
        experiment("table9/sen")


def _run(*flags: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "experiments.train", *flags]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=os.environ | {"PYTHONWARNINGS": "ignore"}
    )


def test_the_command_trains_and_goes_on(records, tmp_path):
    flags = [f"--data={records.folder}", f"--output={tmp_path}", "--epochs=1", "--batch_clips=4", "--spec_augment"]
    flags += [
        "--model=sn",
        "--segmentation=downbeat",
        "--ablation=tower=(4,4,4)",
        "--ablation=dense=(8,)",
    ]
    extra = ["tensorboard"] if importlib.util.find_spec("tensorboard") else []
    flags += [f"--{name}" for name in extra]
    done = _run(*flags)
    assert done.returncode == 0, done.stderr
    assert "epoch   1/1" in done.stdout and "Best: epoch 1" in done.stdout
    (folder,) = tmp_path.glob("synthetic-*/*")
    assert folder.name.startswith("sn-downbeat-centred-compact-dense=8-tower=4+4+4")
    assert {"best.keras", "run.json", "history.csv", "checkpoint.npz", *extra} <= {p.name for p in folder.iterdir()}
    assert "Best: epoch 1" in _run(*flags).stdout


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--model=sem"], "model must be one of"),
        (["--data=nowhere"], "manifest.json is missing"),
        (["--experiment=table9/x"], "Unknown experiment"),
        (["--strategy=magic"], "strategy"),
    ],
)
def test_wrong_flags_end_with_one_line(flags, message):
    done = _run(*flags)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_list_shows_all_experiments():
    assert len(_run("--list").stdout.splitlines()) == len(EXPERIMENTS)


def test_another_model_brings_its_own_batches_and_other_cuts_their_share_off_the_beat():
    assert experiment("table2/sen", model="sn").batch_clips == experiment("table2/sn").batch_clips == BATCHES["sn"]
    assert experiment("table2/sen", model="sn", batch_clips=2).batch_clips == 2
    assert experiment("table2/sen", segmentation="downbeat") == experiment("table4/downbeat")
    assert experiment("table2/sen", segmentation="downbeat", off_beat=0.0).off_beat == 0
    assert experiment("table4/downbeat", segmentation="fixed") == experiment("table4/fixed")
