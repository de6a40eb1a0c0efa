from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from djnet import constants
from djnet.networks.config import PRESETS, config_for
from djnet.networks.layers import nearness
from djnet.networks.models import MODELS, build
from djnet.pairs import ORDERS

PAIRWISE = ("sen", "sn", "cin", "ccsn")
TINY = {"tower": (4, 6, 8), "convnet": (4, 6, 8), "dense": (16, 16)}

WEIGHTS = {
    ("paper", "sen"): 2_940_744,
    ("paper", "sn"): 4_929_032,
    ("paper", "cin"): 3_356_168,
    ("paper", "ccsn"): 2_891_016,
    ("paper", "tsn"): 6_501_896,
    ("paper", "opn"): 8_079_896,
    ("compact", "sen"): 755_624,
    ("compact", "sn"): 1_252_104,
    ("compact", "cin"): 858_888,
    ("compact", "ccsn"): 743_048,
    ("compact", "tsn"): 2_038_536,
    ("compact", "opn"): 2_041_112,
}
ABLATIONS: dict[str, tuple[dict[str, Any], int, int]] = {
    "inner_product": ({"similarity": "inner_product"}, 2_940_744, 755_624),
    "stride2": ({"stride": 2}, 2_940_744, 755_624),
    "mean_pooling": ({"pooling": ("mean",)}, 2_416_456, 624_552),
    "max_pooling": ({"pooling": ("max",)}, 2_416_456, 624_552),
    "two_matrices": ({"two_matrices": True}, 2_940_744 + 9 * 64, 755_624 + 9 * 32),
    "release": ({"variance": True, "pool_last": False}, 2_940_744, 755_624),
    "plain": ({"batch_norm": False, "dropout": 0.0}, 2_930_562, 750_530),
}


def _fragments(*lengths: int, seed: int = 0) -> np.ndarray:
    """Fragments of these lengths, padded to the longest."""
    rng = np.random.default_rng(seed)
    out = np.zeros((len(lengths), max(lengths), constants.MEL_BINS), np.float32)
    for row, length in zip(out, lengths, strict=True):
        row[:length] = rng.standard_normal((length, constants.MEL_BINS))
    return out


@pytest.mark.parametrize(("preset", "name"), WEIGHTS)
def test_weights_and_shapes(preset, name):
    model = build(name, preset)
    assert model.count_params() == WEIGHTS[preset, name]
    inputs = [_fragments(70, 90, seed=i) for i in range(len(model.inputs))]
    assert len(inputs) == (3 if name in ("tsn", "opn") else 2)
    found = model(inputs).numpy()
    assert found.shape == ((2, len(ORDERS)) if name == "opn" else (2,))
    assert np.isfinite(found).all() and (found >= 0).all() and (found <= 1).all()


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_weights_of_the_ablations(ablation):
    changes, paper, compact = ABLATIONS[ablation]
    for preset, expected in (("paper", paper), ("compact", compact)):
        model = build("sen", preset, **changes)
        assert model.count_params() == expected
        assert model([_fragments(80), _fragments(80, seed=1)]).shape == (1,)


def test_the_shapes_inside_sen():
    model = build("sen", "paper")
    embedding, comparison = model.get_layer("embedding"), model.get_layer("comparison")
    x, valid = embedding(_fragments(341), tf.ones([1, 341]))
    assert x.shape == (1, 341, 512) and valid.shape == (1, 341)
    matrix = comparison.similarity((x, x))
    assert matrix.shape == (1, 341, 341)
    sizes = []
    y, valid = matrix[..., None], None
    for block in comparison.blocks:
        y, valid = block(y, valid)
        sizes.append(tuple(y.shape[1:]))
    assert sizes == [(114, 114, 64), (38, 38, 128), (13, 13, 256)]
    assert comparison.pooling(y).shape == (1, 768)
    assert [dense.units for dense in comparison.classifier.layers if isinstance(dense, keras.layers.Dense)] == [
        1024,
        1024,
        2,
    ]


def test_the_release_does_not_pool_after_the_last_convolution():
    blocks = build("sen", "paper", pool_last=False).get_layer("comparison").blocks
    assert [block.pool for block in blocks] == [3, 3, 1]


@pytest.mark.parametrize("name", PAIRWISE)
@pytest.mark.parametrize("window", [0.0, 0.7])
@pytest.mark.parametrize("stride", [1, 2])
def test_a_pair_alone_and_in_any_padded_batch_gives_the_same(name, window, stride):
    model = build(name, "compact", window_seconds=window, stride=stride, **TINY)
    _disturb(model)
    a, b = _fragments(50, 12, 37), _fragments(20, 43, 61, seed=1)
    padded = model([np.pad(a, [(0, 0), (0, 23), (0, 0)]), np.pad(b, [(0, 0), (0, 5), (0, 0)])]).numpy()
    for i, (first, second) in enumerate([(50, 20), (12, 43), (37, 61)]):
        alone = model([a[i : i + 1, :first], b[i : i + 1, :second]]).numpy()
        assert abs(alone[0] - padded[i]) < 1e-5


def test_two_matrices_are_a_variant_of_sen_and_see_no_padding():
    """The second matrix is 1 where both fragments are the same, whatever the tower has learned."""
    model = build("sen", "compact", window_seconds=0.0, two_matrices=True, **TINY)
    _disturb(model)
    a, b = _fragments(50), _fragments(20, seed=1)
    padded = model([np.pad(a, [(0, 0), (0, 9), (0, 0)]), np.pad(b, [(0, 0), (0, 40), (0, 0)])]).numpy()
    assert np.abs(padded - model([a, b]).numpy()).max() < 1e-5
    near = nearness(tf.constant(a), tf.constant(a))[0].numpy()
    assert np.allclose(np.diag(near), 1, atol=1e-5) and 0 < near.min() < 0.9
    with pytest.raises(ValueError, match="variant of sen"):
        build("sn", "compact", two_matrices=True)
    with pytest.raises(ValueError, match="needs stride 1"):
        build("sen", "compact", two_matrices=True, stride=2)


def _disturb(model: keras.Model) -> None:
    """Give normalisation something to do: moments and scales as after training."""
    rng = np.random.default_rng(1)
    for variable in model.variables:
        if variable.path.rsplit("/", 1)[-1] in ("gamma", "variance"):
            variable.assign(rng.uniform(0.5, 1.5, variable.shape))
        elif variable.path.rsplit("/", 1)[-1] in ("beta", "mean"):
            variable.assign(rng.uniform(-0.3, 0.3, variable.shape))


@pytest.mark.parametrize("name", PAIRWISE)
def test_in_training_the_moments_see_no_padding(name):
    """The same batch, padded more: same answers in training, same moments remembered."""
    answers, moments = [], []
    a, b = _fragments(50, 12, 37), _fragments(20, 43, 61, seed=1)
    for extra in (0, 17):
        keras.utils.set_random_seed(0)
        model = build(name, "compact", window_seconds=0.0, dropout=0.0, **TINY)
        pad = [(0, 0), (0, extra), (0, 0)]
        answers.append(model([np.pad(a, pad), np.pad(b, pad)], training=True).numpy())
        moments.append([v.numpy() for v in model.non_trainable_variables if "seed" not in v.path])
    assert np.abs(answers[0] - answers[1]).max() < 1e-5
    for one, other in zip(*moments, strict=True):
        assert np.abs(one - other).max() < 1e-5


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_loads_without_help(name, tmp_path):
    model = build(name, "compact", **TINY)
    inputs = [_fragments(80, 66, seed=i) for i in range(len(model.inputs))]
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert np.array_equal(again(inputs), model(inputs))
    assert again.get_layer("comparison").config == config_for("compact", **TINY)


def test_music_has_a_direction():
    """b after a and a after b are different questions for every pairwise model."""
    for name in PAIRWISE:
        model = build(name, "compact", **TINY)
        a, b = _fragments(70), _fragments(70, seed=1)
        assert abs(model([a, b]).numpy()[0] - model([b, a]).numpy()[0]) > 1e-7


def test_wrong_names():
    with pytest.raises(ValueError, match="Unknown model 'sem'; there are sen, sn"):
        build("sem")
    with pytest.raises(ValueError, match="Unknown preset 'huge'"):
        build("sen", "huge")
    with pytest.raises(ValueError, match="A network has no 'strid'"):
        build("sen", strid=2)
    with pytest.raises(ValueError, match="edges must be zeros or repeated, got 'mirrored'"):
        build("sen", edges="mirrored")
    with pytest.raises(ValueError, match="similarity must be cosine or inner_product"):
        build("sen", similarity="euclid")
    assert set(PRESETS) == {"paper", "compact", "release"}
