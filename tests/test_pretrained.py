import json
import subprocess
import sys

import numpy as np
import pytest

import djnet
from djnet import pretrained, scoring
from djnet.games import jigsaws
from djnet.models import build
from tests.test_models import TINY


def test_a_run_folder_scores_as_its_network(records, tmp_path):
    model = build("sen", "compact", **TINY)
    model.save(tmp_path / "best.keras")
    moments = {"mean": records.mean.tolist(), "std": records.std.tolist()}
    (tmp_path / "run.json").write_text(json.dumps(moments))
    puzzle = next(iter(jigsaws(records, "test", "fixed", 4)))
    (expected,) = scoring.score_puzzles(model, [puzzle], records.mean, records.std)
    assert np.allclose(djnet.load(tmp_path).scores(puzzle.fragments), expected, atol=1e-6)


@pytest.mark.parametrize("name", pretrained.names())
def test_shipped_networks_load_and_answer(name, records):
    puzzle = next(iter(jigsaws(records, "test", "fixed", 3)))
    scores = djnet.load(name).scores(puzzle.fragments)
    assert scores.shape == (3, 3) and scores.dtype == np.float32
    assert (scores >= 0).all() and (scores <= 1).all() and not scores.diagonal().any()


def test_what_is_no_network(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing is neither a network of the package \(.*\) nor a folder"):
        djnet.load("nothing")
    build("sen", "compact", **TINY).save(tmp_path / "best.keras")
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ValueError, match="no moments"):
        djnet.load(tmp_path)


def test_importing_djnet_does_not_load_tensorflow():
    code = "import sys, djnet; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
