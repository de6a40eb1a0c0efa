import json
import subprocess
import sys
import zipfile

import keras
import numpy as np
import pytest

import djnet
from djnet import audio, pretrained, scoring
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.networks.models import build
from djnet.ordering import best_order
from djnet.puzzles import jigsaws
from tests.djnet.networks.test_models import TINY


def test_a_run_folder_scores_as_its_network(records, tmp_path):
    model = build("sen", "compact", **TINY)
    model.save(tmp_path / "best.keras")
    facts = {"mean": records.mean.tolist(), "std": records.std.tolist(), "run": {"protocol": "centred"}}
    (tmp_path / "run.json").write_text(json.dumps(facts))
    puzzle = next(iter(jigsaws(records, "test", "fixed", 4)))
    (expected,) = scoring.score_puzzles(model, [puzzle], records.mean, records.std)
    assert np.allclose(djnet.load(tmp_path).scores(puzzle.fragments), expected, atol=1e-6)


def test_a_network_that_was_trained_without_the_frames_at_the_edges_does_not_get_them(records):
    centred, trimmed = (next(jigsaws(records, "test", "fixed", 4, protocol)) for protocol in ("centred", "trimmed"))
    model = build("sen", "compact", **TINY)
    scorer = pretrained.Scorer(model, records.mean, records.std, "trimmed")
    (expected,) = scoring.score_puzzles(model, [trimmed], records.mean, records.std)
    assert np.array_equal(scorer.scores(centred.fragments), expected)


@pytest.mark.parametrize("name", pretrained.names())
def test_shipped_networks_load_and_answer(name, records):
    puzzle = next(iter(jigsaws(records, "test", "fixed", 3)))
    scores = djnet.load(name).scores(puzzle.fragments)
    assert scores.shape == (3, 3) and scores.dtype == np.float32
    assert (scores >= 0).all() and (scores <= 1).all() and not scores.diagonal().any()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([], "nothing to score"),
        ("song.mp3", "nothing to score: give a list"),
        (["gone.mp3", "gone.wav"], "gone.mp3"),
        ([np.zeros(22_050)] * 2, r"Fragment 0 is an array of shape \(22050,\), not a log-mel \[frames, 128\]"),
        ([np.ones((99, 128)), np.ones((10, 128))], "Fragment 1 has 10 frames, and 11 are the fewest"),
        ([np.full((99, 128), np.nan)], "no numbers"),
        ([["a", "b"]], "Fragment 0 is an array of shape"),
    ],
)
def test_wrong_input_gets_a_sentence(wrong, said):
    scorer = djnet.load("sen-fixed")
    for question in (scorer.scores, scorer.order):
        with pytest.raises(UserError, match=said) as error:
            question(wrong)
        assert "\n" not in str(error.value)


def test_files_are_scored_and_ordered_as_their_log_mels(write_tone, tmp_path):
    files = [write_tone(tmp_path / f"{name}.wav", seconds=3.0) for name in "abc"]
    scorer = djnet.load("sen-fixed")
    scores = scorer.scores([log_mel(audio.load(file)) for file in files])
    assert np.array_equal(scorer.scores(files), scores)
    assert scorer.order(files) == best_order(scores)


@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: data.replace(b"PK", b"KP"), lambda _: b""])
def test_damaged_weights_are_named(damage, tmp_path):
    for file in (pretrained.WEIGHTS / "sen-fixed").glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "weights.npz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(pretrained.ModelError, match=r"weights\.npz is not loaded: it is damaged"):
        djnet.load(tmp_path)


def test_without_tensorflow_a_run_says_what_to_install(monkeypatch, tmp_path):
    build("sen", "compact", **TINY).save(tmp_path / "best.keras")
    (tmp_path / "run.json").write_bytes((pretrained.WEIGHTS / "sen-fixed" / "run.json").read_bytes())
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(pretrained.ModelError, match=r"best\.keras needs keras, .*: pip install 'djnet\[train\]'"):
        djnet.load(tmp_path)


def test_what_is_no_network(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing is neither a network of the package \(.*\) nor a folder"):
        djnet.load("nothing")
    build("sen", "compact", **TINY).save(tmp_path / "best.keras")
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ValueError, match="no mean of the features"):
        djnet.load(tmp_path)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"std": [0.0] * 128}, "std above 0"),
        ({"std": [float("nan")] * 128}, r"std\[0\] is not a number"),
        ({"mean": 3}, "mean is not a list"),
        ({"run": []}, "run is not an object"),
    ],
)
def test_a_run_without_sensible_moments_is_refused(tmp_path, facts, message):
    (tmp_path / "best.keras").touch()
    sensible = {"mean": [0.0] * 128, "std": [1.0] * 128, "run": {"protocol": "centred"}}
    (tmp_path / "run.json").write_text(json.dumps(sensible | facts))
    with pytest.raises(UserError, match=rf"run.json is damaged \(.*{message}"):
        djnet.load(tmp_path)


@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: data.replace(b"PK", b"KP"), lambda _: b""])
def test_a_damaged_model_file_is_named(damage, tmp_path):
    path = tmp_path / "best.keras"
    build("sn", "compact", **TINY).save(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(pretrained.ModelError, match=r"best\.keras is not loaded: it is damaged"):
        pretrained.read_model(path)


@pytest.mark.parametrize("name", ["config.json", "metadata.json", "assets/more"])
def test_a_model_file_that_would_fill_the_memory_is_refused_before_it_is_read(tmp_path, monkeypatch, name):
    with zipfile.ZipFile(tmp_path / "best.keras", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr(name, bytes(11 << 20))
    monkeypatch.setattr(keras.models, "load_model", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(pretrained.ModelError, match=rf"best\.keras is not loaded: {name} in it has 12 MB"):
        pretrained.read_model(tmp_path / "best.keras")


def test_a_model_file_with_code_in_it_is_refused(tmp_path):
    layers = [keras.Input((2,)), keras.layers.Lambda(lambda x: x)]
    keras.Sequential(layers).save(tmp_path / "best.keras")
    with pytest.raises(pretrained.ModelError, match=r"(?i)lambda|unsafe"):
        pretrained.read_model(tmp_path / "best.keras")


def test_importing_djnet_does_not_load_tensorflow():
    code = "import sys, djnet; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
