from typing import Any

import numpy as np
import pytest
import scipy.special
import tensorflow as tf

import djnet
from djnet import audio
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.networks import release
from experiments.export import to_numpy

# The variables of the released checkpoint with their shapes; after every layer comes a batch normalisation.
WEIGHTS = {
    "cnn/Conv": (4, 128, 1, 128),
    "cnn/Conv_1": (4, 1, 128, 256),
    "cnn/Conv_2": (4, 1, 256, 256),
    "Conv": (3, 3, 1, 64),
    "Conv_1": (3, 3, 64, 128),
    "Conv_2": (3, 3, 128, 256),
    "fully_connected": (768, 1024),
    "fully_connected_1": (1024, 1024),
    "fully_connected_2": (1024, 2),
}
EPSILON = 1e-3  # of TensorFlow 1's batch normalisation, unless it is told another


def random_variables() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    values: dict[str, np.ndarray] = {
        "global_step": np.array(7.0, np.float32)
    }  # what else a checkpoint holds does not matter
    for name, shape in WEIGHTS.items():
        values[f"{name}/weights"] = rng.normal(0, np.sqrt(2 / np.prod(shape[:-1])), shape)
        for kind, low, high in (("gamma", 0.5, 1.5), ("beta", -0.2, 0.2), ("moving_mean", -0.2, 0.2)):
            values[f"{name}/BatchNorm/{kind}"] = rng.uniform(low, high, shape[-1])
        values[f"{name}/BatchNorm/moving_variance"] = rng.uniform(0.5, 1.5, shape[-1])
    return {name: np.asarray(value, np.float32) for name, value in values.items()}


@pytest.fixture(scope="module")
def variables():
    return random_variables()


def write(folder, variables):
    """A checkpoint as the release has it: no graph, and no file `checkpoint` that names it."""
    tf.raw_ops.SaveV2(
        prefix=str(folder / "model"),
        tensor_names=list(variables),
        shape_and_slices=[""] * len(variables),
        tensors=list(map(tf.constant, variables.values())),
    )
    return folder


@pytest.fixture(scope="module")
def checkpoint(variables, tmp_path_factory):
    return write(tmp_path_factory.mktemp("release"), variables)


class PlainNumpy:
    """The released graph, written from its table: one pair at a time, nothing padded, nothing folded."""

    def __init__(self, variables):
        self.variables = {name: value.astype(np.float64) for name, value in variables.items()}

    def normalised(self, name, x):
        gamma, beta, mean, variance = (
            self.variables[f"{name}/BatchNorm/{kind}"] for kind in ("gamma", "beta", "moving_mean", "moving_variance")
        )
        return gamma * (x - mean) / np.sqrt(variance + EPSILON) + beta

    def convolved(self, name, x):
        """Convolution of [H, W, C] that keeps the size (that of the tower: over time only), batch norm, ReLU."""
        kernel = self.variables[f"{name}/weights"]
        rows, columns = kernel.shape[:2]
        sides = [(n - 1) // 2 for n in (rows, 1 if name.startswith("cnn") else columns)]
        padding = [(sides[0], rows - 1 - sides[0]), (sides[1], 0 if name.startswith("cnn") else columns - 1 - sides[1])]
        padded: Any = np.pad(x, [*padding, (0, 0)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, (rows, columns), (0, 1))  # type: ignore[call-overload]
        return np.maximum(self.normalised(name, np.einsum("hwcrs,rscf->hwf", windows, kernel, optimize=True)), 0)

    def embedded(self, mel):
        x = mel.astype(np.float64)[:, :, None]
        for name in ("cnn/Conv", "cnn/Conv_1", "cnn/Conv_2"):
            x = self.convolved(name, x)
        return x[:, 0]

    def probability(self, first, second):
        a, b = self.embedded(first), self.embedded(second)
        x = (a @ b.T / (np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)))[:, :, None]
        x = pooled(self.convolved("Conv", x))
        x = pooled(self.convolved("Conv_1", x))
        x = self.convolved("Conv_2", x)
        x = np.concatenate([x.max(axis=(0, 1)), x.mean(axis=(0, 1)), x.var(axis=(0, 1))])
        for name in ("fully_connected", "fully_connected_1"):
            x = np.maximum(self.normalised(name, x @ self.variables[f"{name}/weights"]), 0)
        x = self.normalised("fully_connected_2", x @ self.variables["fully_connected_2/weights"])
        return scipy.special.softmax(x)[1]


def pooled(x):
    """Maximum of blocks of 3 x 3, "SAME": what the last block lacks is missing before and behind, one more behind."""
    missing = [-n % 3 for n in x.shape[:2]]
    x = np.pad(x, [*[(n // 2, n - n // 2) for n in missing], (0, 0)], constant_values=-np.inf)
    return x.reshape(x.shape[0] // 3, 3, x.shape[1] // 3, 3, -1).max(axis=(1, 3))


def test_the_checkpoint_answers_as_the_released_graph(checkpoint, variables, rng):
    """Alone and in padded batches; lengths of every remainder, since blocks of pooling begin where the length says."""
    mean, std = release.moments()
    mels = [mean + std * rng.standard_normal((length, 128)) for length in (11, 12, 13, 16)]
    graph, scorer = PlainNumpy(variables), djnet.load(checkpoint)
    normal = [(mel - mean) / std for mel in mels]
    expected = np.array([[graph.probability(a, b) * (a is not b) for b in normal] for a in normal])
    assert np.ptp(expected[expected > 0]) > 0.01
    assert np.abs(scorer.scores(mels) - expected).max() < 1e-4
    assert np.abs(scorer.scores(mels[:1] * 2)[0, 1] - graph.probability(normal[0], normal[0])) < 1e-4  # not padded
    assert np.abs(to_numpy(scorer.model).scores([mel.astype(np.float32) for mel in normal]) - expected).max() < 1e-4


def test_its_features_have_a_hann_window_and_the_authors_moments(checkpoint, write_tone, tmp_path):
    scorer = djnet.load(checkpoint)
    assert (len(scorer.mean), scorer.mean[0], scorer.std[-1] > 0) == (128, np.float32(8.037307), True)
    files = [write_tone(tmp_path / f"{name}.wav", seconds=1.0) for name in "ab"]
    hann, hamming = ([log_mel(audio.load(file), window) for file in files] for window in ("hann", "hamming"))
    assert np.array_equal(scorer.scores(files), scorer.scores(hann))
    assert not np.array_equal(scorer.scores(files), scorer.scores(hamming))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"Conv_1/weights": None}, "has no variable Conv_1/weights, which should be 3 x 3 x 64 x 128"),
        (
            {"cnn/Conv_2/weights": np.zeros((4, 1, 256, 512), np.float32)},
            "is 4 x 1 x 256 x 512 and should be 4 x 1 x 256",
        ),
        ({"Conv/BatchNorm/beta": np.float32(1)}, "Conv/BatchNorm/beta is a single number and should be 64"),
        (
            {"Conv/BatchNorm/gamma": np.full(64, np.nan, np.float32)},
            "Conv/BatchNorm/gamma has values that are no numbers",
        ),
    ],
)
def test_wrong_variables_are_named(variables, changed, said, tmp_path):
    write(tmp_path, {name: value for name, value in (variables | changed).items() if value is not None})
    with pytest.raises(UserError, match=said) as error:
        djnet.load(tmp_path)
    assert "\n" not in str(error.value)


def test_damaged_checkpoints_are_named(checkpoint, tmp_path):
    index, data = "model.index", "model.data-00000-of-00001"
    (tmp_path / index).write_bytes((checkpoint / index).read_bytes())
    with pytest.raises(UserError, match=f"{data} is missing: the weights belong beside {index}"):
        djnet.load(tmp_path)
    (tmp_path / data).write_bytes((checkpoint / data).read_bytes()[:1000])
    with pytest.raises(UserError, match="model is not a checkpoint that can be read") as error:
        djnet.load(tmp_path)
    assert "\n" not in str(error.value)
    (tmp_path / index).write_bytes(b"no index")
    with pytest.raises(UserError, match="model is not a checkpoint that can be read"):
        djnet.load(tmp_path)
    (tmp_path / "other.index").touch()
    with pytest.raises(UserError, match="should hold one checkpoint and holds 2"):
        djnet.load(tmp_path)
