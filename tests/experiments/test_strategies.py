"""The same training on one device, on two devices, and on two processes that talk over the loopback."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from experiments.configs import Run

# Without dropout, whose draws differ by device. In single precision rounding now and then decides which of two nearly
# equal values a maximum takes, which turns the gradient by a thousandth; on one device too, when a batch is merely
# turned around. So SEN learns slowly here and pools by the mean alone; DEFAULT, in double precision, is SEN as it is.
TINY = {"tower": (16, 16), "convnet": (8, 8), "dense": (32,), "window_seconds": 0.42, "dropout": 0.0}
RUN = Run(ablation=TINY | {"pooling": ("mean",)}, learning_rate=3e-4, batch_clips=8)
PADDED = replace(RUN, model="sn", segmentation="downbeat", learning_rate=1e-3, ablation=TINY | {"window_seconds": 0.0})
DEFAULT = Run(ablation={"dropout": 0.0}, batch_clips=8)
STEPS = 20

LOSSES = """
import json, sys
import keras
import tensorflow as tf
name, runs, records, steps = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4])
keras.config.set_floatx(sys.argv[5])
if name == "mirrored":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
else:
    from experiments.strategies import strategy_for
    strategy = strategy_for(name)
from djnet.records import Manifest
from experiments.configs import Run
from experiments.trainer import Trainer, training_batches
for run in map(Run.from_json, runs):
    manifest = Manifest.read(records)
    trainer = Trainer(run, manifest.pairs(run.segmentation, run.n), 10 * steps, strategy)
    batches = training_batches(run, manifest, 0, full_batches=True).repeat().take(steps)
    shared = trainer.strategy.experimental_distribute_dataset(batches)
    losses = [trainer.step(batch, step)[0] for step, batch in enumerate(shared)]
    print(json.dumps([losses, float(sum(abs(value).sum() for value in trainer.state().values()))]), flush=True)
"""


def _losses(name: str, records, precise: bool = False, **environment: str) -> subprocess.Popen:
    runs = json.dumps([run.to_json() for run in ((DEFAULT,) if precise else (RUN, PADDED))])
    floatx = "float64" if precise else "float32"
    command = [sys.executable, "-c", LOSSES, name, runs, str(records.folder), str(STEPS), floatx]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment)


def _answers(*processes: subprocess.Popen) -> list[list]:
    outputs = [process.communicate(timeout=900)[0] for process in processes]
    assert all(process.returncode == 0 for process in processes)
    return [[json.loads(line) for line in output.splitlines()] for output in outputs]


def _cluster() -> list[str]:
    """TF_CONFIG of two workers on free ports."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    cluster = {"worker": addresses}
    return [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": i}}) for i in range(2)]


@pytest.fixture(scope="module")
def alone(records) -> list:
    return _answers(_losses("one", records))[0]


def _assert_same(found: list, expected: list, tolerance: float = 1e-3) -> None:
    for (losses, size), (expected_losses, expected_size) in zip(found, expected, strict=True):
        assert len(losses) == STEPS and np.ptp(losses) > 0.01
        assert np.abs(np.subtract(losses, expected_losses)).max() < tolerance
        assert size == pytest.approx(expected_size, rel=tolerance)


def test_two_devices_learn_as_one(records, alone):
    _assert_same(_answers(_losses("mirrored", records))[0], alone)


@pytest.mark.verify
def test_two_processes_learn_as_one(records, alone):
    both = _answers(*(_losses("multiworker", records, TF_CONFIG=config) for config in _cluster()))
    for found in both:
        _assert_same(found, alone)


@pytest.mark.verify
def test_sen_as_it_is_learns_the_same_everywhere_in_double_precision(records):
    (alone,) = _answers(_losses("one", records, precise=True))
    (mirrored,) = _answers(_losses("mirrored", records, precise=True))
    both = _answers(*(_losses("multiworker", records, precise=True, TF_CONFIG=config) for config in _cluster()))
    for found in (mirrored, *both):
        _assert_same(found, alone, tolerance=1e-9)


@pytest.mark.verify
def test_a_killed_worker_comes_back_and_training_goes_on(records, tmp_path):
    """Each worker under a loop that starts it again, as README says; the second is killed once in the middle."""
    flags = [f"--data={records.folder}", f"--output={tmp_path}", "--epochs=20", "--batch_clips=4", "--model=sn"]
    flags += ["--strategy=multiworker", "--ablation=tower=(4,4)", "--ablation=dense=(8,)"]
    command = [sys.executable, "-m", "experiments.train", *flags]
    configs = _cluster()

    def start(i: int) -> subprocess.Popen:
        return subprocess.Popen(command, env=os.environ | {"TF_CONFIG": configs[i]}, stderr=subprocess.DEVNULL)

    workers = [start(0), start(1)]
    restarts = 0
    try:
        while not list(tmp_path.glob("*/*/history.csv")):
            assert all(worker.poll() is None for worker in workers)
            time.sleep(0.1)
        workers[1].send_signal(signal.SIGKILL)
        while any(worker.poll() != 0 for worker in workers):
            for i, worker in enumerate(workers):
                if worker.poll() not in (None, 0):
                    assert worker.returncode in (75, -signal.SIGKILL) and restarts < 20
                    restarts += 1
                    workers[i] = start(i)
            time.sleep(0.2)
    finally:
        for worker in workers:
            worker.kill()
    assert restarts >= 2
    (path,) = tmp_path.glob("*/*/history.csv")
    assert len(path.read_text().splitlines()) == 1 + 20
