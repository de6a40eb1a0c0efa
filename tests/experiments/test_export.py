import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from djnet.networks.models import build
from djnet.pretrained import Scorer
from experiments.export import TOLERANCE, compare, export, export_litert, litert, served

TINY = {"tower": (8, 8), "convnet": (4, 4), "dense": (16,)}

SERVE = """
import json, sys
for name in ("djnet", "experiments", "preprocessing"):
    sys.modules[name] = None  # cannot be imported
import numpy as np, tensorflow as tf
served = tf.saved_model.load(sys.argv[1]).signatures
mels = np.load(sys.argv[2])
frames = [served["embed"](mel=tf.constant(mel[None]))["frames"] for mel in mels]
print(json.dumps(served["score"](frames_a=frames[0], frames_b=frames[1])["probability"].numpy().tolist()))
"""


@pytest.fixture(autouse=True)
def same_weights() -> None:
    keras.utils.set_random_seed(0)


def _scorer(name: str, rng: np.random.Generator, **values: float) -> Scorer:
    mean, std = rng.uniform(0, 4, 128).astype(np.float32), rng.uniform(1, 2, 128).astype(np.float32)
    return Scorer(build(name, "compact", **TINY, **values), mean, std)


SLOW = [pytest.param(*case, marks=pytest.mark.verify) for case in (("sen", 0.0), ("cin", 0.0), ("ccsn", 0.5))]


@pytest.mark.parametrize(("name", "window"), [("sen", 0.5), ("sn", 0.0), *SLOW])
def test_what_is_served_is_what_was_trained(name, window, tmp_path, rng):
    scorer = _scorer(name, rng, window_seconds=window)
    export(scorer, tmp_path / "out")
    exported, expected = compare(scorer, served(tmp_path / "out"))
    assert np.abs(exported - expected).max() < TOLERANCE and np.ptp(expected) > 10 * TOLERANCE


@pytest.mark.verify
def test_a_litert_file_answers_as_the_network(tmp_path, rng):
    scorer = _scorer("sen", rng)
    export_litert(scorer, tmp_path / "pair.tflite")
    exported, expected = compare(scorer, litert(tmp_path / "pair.tflite"))
    assert np.abs(exported - expected).max() < TOLERANCE and np.ptp(expected) > 10 * TOLERANCE
    assert [path.name for path in tmp_path.iterdir()] == ["pair.tflite"]


def test_it_is_served_without_djnet(tmp_path, rng):
    model = build("sen", "compact", **TINY)
    mean, std = np.zeros(128, np.float32), np.ones(128, np.float32)
    export(Scorer(model, mean, std), tmp_path / "out")
    mels = rng.uniform(0, 4, (2, 90, 128)).astype(np.float32)
    np.save(tmp_path / "mels.npy", mels)
    command = [sys.executable, "-c", SERVE, str(tmp_path / "out"), str(tmp_path / "mels.npy")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": ""})
    assert done.returncode == 0, done.stderr
    assert np.allclose(json.loads(done.stdout), model([mels[:1], mels[1:]]).numpy(), atol=TOLERANCE)


def test_silence_is_music_and_padding_is_not(tmp_path, rng):
    model = build("sen", "compact", **TINY, window_seconds=0.0)
    mean, std = np.full(128, 2.0, np.float32), np.ones(128, np.float32)
    export(Scorer(model, mean, std), tmp_path / "out")
    signatures = tf.saved_model.load(str(tmp_path / "out")).signatures
    mels = rng.uniform(0, 4, (2, 90, 128)).astype(np.float32)
    mels[0, 20:30] = mels[1, 80:] = 0.0  # digital silence, in the middle and at the end
    padded = np.pad(mels, [(0, 0), (0, 7), (0, 0)], constant_values=-1.0)
    frames = signatures["embed"](mel=tf.constant(padded))["frames"]
    probability = signatures["score"](frames_a=frames[:1], frames_b=frames[1:])["probability"]
    expected = model([(mel[None] - mean) / std for mel in mels])
    assert np.allclose(probability, expected, atol=TOLERANCE)


def test_the_command_exports_a_shipped_network(tmp_path):
    command = [sys.executable, "-m", "experiments.export", "sen-downbeat", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "signatures embed and score; 12 answers from" in done.stdout


def test_networks_of_three_fragments_have_no_score(tmp_path):
    with pytest.raises(ValueError, match="tsn compares 3 fragments"):
        export(Scorer(build("tsn", "compact", **TINY), np.zeros(128), np.ones(128)), tmp_path / "out")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Give what is missing"),
        (["nowhere", "out", "--litert=x"], "--litert=x: the name must end in .tflite"),
        (["nowhere", "out"], "nowhere is neither a network of the package"),
    ],
)
def test_wrong_words_end_with_one_line(words, message):
    command = [sys.executable, "-m", "experiments.export", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.strip().splitlines()) == 1
