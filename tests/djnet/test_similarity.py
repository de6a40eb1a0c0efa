import numpy as np
import pytest
import tensorflow as tf
from djnet.similarity import similarity_matrices

from djnet.networks.layers import unit_length
from djnet.networks.models import build
from tests.djnet.networks.test_models import TINY


@pytest.mark.parametrize("window", [0.0, 0.7])
def test_matrices_are_those_that_the_network_sees(rng, window):
    model = build("sen", "compact", window_seconds=window, **TINY)
    pieces = [rng.standard_normal((frames, 128)).astype(np.float32) for frames in (90, 70, 80)]
    found = similarity_matrices(model, pieces)
    tower = model.get_layer("embedding")
    frames = 30 if window else 0
    end = tower(tf.constant(pieces[0][-frames:][None]))[0]
    beginning = tower(tf.constant(pieces[1][: frames or None][None]))[0]
    expected = tf.matmul(unit_length(end), unit_length(beginning), transpose_b=True)[0]
    assert found[0][1].shape == tuple(expected.shape)
    assert np.allclose(found[0][1], expected, atol=1e-5)
    assert len(found) == 3 and all(len(row) == 3 for row in found)


def test_other_networks_have_none(rng):
    with pytest.raises(ValueError, match="Only SEN"):
        similarity_matrices(build("sn", "compact", **TINY), [rng.standard_normal((90, 128))])
