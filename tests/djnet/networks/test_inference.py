import subprocess
import sys

import keras
import numpy as np
import pytest

import djnet
from djnet import pretrained, scoring
from djnet.networks import inference
from djnet.networks.models import build, from_numpy
from djnet.puzzles import Puzzle
from experiments.export import to_numpy
from tests.djnet.networks.test_models import TINY

LENGTHS = (1, 2, 7, 10, 62, 63, 64, 200, 63)  # the window is 63 frames


def _fragments(rng: np.random.Generator, lengths=LENGTHS) -> list[np.ndarray]:
    """Normalised frames that change slowly, as music does, cut into pieces that follow each other."""
    frames = np.cumsum(rng.standard_normal((sum(lengths), 128)), axis=0)
    frames = (frames - frames.mean(axis=0)) / frames.std(axis=0)
    return np.split(frames.astype(np.float32), np.cumsum(lengths)[:-1])


def _keras_scores(model: keras.Model, fragments: list[np.ndarray]) -> np.ndarray:
    puzzle = Puzzle("", fragments, tuple(range(len(fragments))))
    (scores,) = scoring.score_puzzles(model, [puzzle], np.zeros(128, np.float32), np.ones(128, np.float32))
    return scores


@pytest.mark.parametrize("name", pretrained.names())
def test_shipped_networks_answer_in_numpy_as_in_keras(name, rng):
    scorer, fragments = djnet.load(name), _fragments(rng)
    assert isinstance(scorer.network, inference.Sen)
    expected = _keras_scores(scorer.model, fragments)
    assert np.abs(scorer.network.scores(fragments) - expected).max() < 1e-4 and np.ptp(expected) > 0.1


@pytest.mark.parametrize(
    "ablation",
    [
        {},
        {"two_matrices": True},
        {"window_seconds": 0.0, "edges": "zeros", "stride": 2},
        {"similarity": "inner_product", "pooling": ("max", "std"), "variance": True},
        {"batch_norm": False, "pool_last": False, "tower_size": 3, "pool": 2, "pool_edges": "both"},
    ],
)
def test_every_variant_of_sen_runs_in_numpy(ablation, rng, tmp_path):
    keras.utils.set_random_seed(0)
    model = build("sen", "compact", **TINY, **ablation)
    for weight in model.weights:  # running statistics and biases away from their first values
        if len(weight.shape) == 1:
            weight.assign(weight + rng.uniform(0.0, 0.1, weight.shape))
    with open(tmp_path / "weights.npz", "wb") as file:
        inference.write(file, to_numpy(model))
    network, fragments = inference.read(tmp_path / "weights.npz"), _fragments(rng, (5, 40, 63, 90))
    expected = _keras_scores(model, fragments)
    assert np.abs(network.scores(fragments) - expected).max() < 1e-4 and np.ptp(expected[expected > 0]) > 1e-3
    assert np.abs(_keras_scores(from_numpy(network), fragments) - expected).max() < 1e-4


def test_a_fragment_has_the_same_scores_in_any_company(rng):
    network, fragments = djnet.load("sen-fixed").network, _fragments(rng, (30, 63, 80, 70))
    assert np.allclose(network.scores(fragments)[1:, 1:], network.scores(fragments[1:]), atol=1e-6)


def test_only_wanted_pairs_are_scored(rng):
    mels = [rng.standard_normal((frames, 128)).astype(np.float32) for frames in (40, 60, 40)]
    scorer = djnet.load("sen-medley")
    wanted = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]], bool)
    np.testing.assert_allclose(scorer.scores(mels, wanted), np.where(wanted, scorer.scores(mels), 0), atol=1e-5)


def test_scoring_needs_neither_tensorflow_nor_keras():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('tensorflow', 'keras', 'absl', 'pandas', 'librosa')));"
        "import numpy, djnet; print(djnet.load('sen-downbeat').scores(numpy.ones((3, 70, 128))).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["(3,", "3)"] and not done.stderr


def test_only_sen_has_a_forward_pass_in_numpy():
    with pytest.raises(ValueError, match="cin does not run in NumPy"):
        to_numpy(build("cin", "compact", **TINY))
