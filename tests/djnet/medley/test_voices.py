import numpy as np
import pytest
import scipy.signal

from djnet.medley import voices
from djnet.medley.piecewise import Piecewise


def test_the_curve_does_not_depend_on_where_it_is_divided(rng):
    samples = (0.1 * rng.standard_normal(20 * voices.HOP_SAMPLES + 5)).astype(np.float32)
    samples *= 1 + np.sin(np.arange(len(samples)) / 9e4).astype(np.float32)
    whole = voices.voices_of(samples)
    assert whole.shape == (21,) and (whole > 0).all() and (whole < 1).all()
    stream = Piecewise(voices.voices_of, voices.HOP_SAMPLES, 8, voices.CONTEXT_HOPS)
    for block in np.array_split(samples, 7):
        stream.add(block)
    np.testing.assert_allclose(stream.end(), whole, atol=0.01)


def test_filters_see_every_place_of_the_spectrum(rng):
    """The highest answer over all bins, against SciPy: also where the normalisation turns a filter around."""
    mel = rng.random((40, 96)).astype(np.float32)
    weights = voices._weights()
    assert (weights["scale_1"] < 0).any() or (weights["scale_2"] < 0).any() or (weights["scale_3"] < 0).any()
    for layer in (0, 2):
        answers = voices._highest(mel, layer)
        kernel = weights[f"kernel_{layer}"]
        padded = np.pad(mel, (((len(kernel) - 1) // 2, len(kernel) // 2), (0, 0)))
        for k in (0, 20, 50):
            plain = scipy.signal.correlate2d(padded, kernel[..., k], "valid") + weights[f"bias_{layer}"][k]
            normal = np.maximum(plain, 0) * weights[f"scale_{layer + 1}"][k] + weights[f"shift_{layer + 1}"][k]
            np.testing.assert_allclose(answers[::2, k], normal.max(axis=1)[::2], atol=1e-3)


@pytest.mark.parametrize("seconds", [0.1, 1.0, 4.0])
def test_short_sounds(rng, seconds):
    samples = (0.1 * rng.standard_normal(int(seconds * voices.RATE_HZ))).astype(np.float32)
    assert np.isfinite(voices.voices_of(samples)).all()
