import numpy as np
import tensorflow as tf

from djnet import augmentation
from djnet.dataset import Keyed, fragment_batches
from djnet.features import log_mel
from djnet.rng import rng_for


def _mel() -> np.ndarray:
    return log_mel(rng_for(0, "augment").normal(0, 0.1, 22050).astype(np.float32))


def test_gain_alone_is_exact(monkeypatch):
    """What comes out is the log-mel of the louder or softer sound itself."""
    monkeypatch.setattr(augmentation, "TILT_DECIBELS", 0.0)
    monkeypatch.setattr(augmentation, "PITCH_BINS", 0.0)
    monkeypatch.setattr(augmentation, "NOISE_DECIBELS", (-200.0, -200.0))
    samples = rng_for(0, "augment").normal(0, 0.1, 22050).astype(np.float32)
    key = tf.constant([3, 4], tf.int64)
    gain = augmentation.GAIN_DECIBELS * float(tf.random.stateless_uniform([4], key, -1.0, 1.0)[0])
    louder = log_mel(samples * np.float32(10 ** (gain / 20)))
    assert abs(gain) > 0.5
    assert np.abs(augmentation.recolour(log_mel(samples), key) - louder).max() < 1e-3


def test_a_key_decides_the_change_and_all_of_a_clip_changes_alike():
    mel = np.stack([_mel(), _mel()])
    one, again, two = (augmentation.recolour(mel, tf.constant([0, i], tf.int64)).numpy() for i in (1, 1, 2))
    assert np.array_equal(one, again) and np.isfinite(one).all() and (one >= 0).all()
    assert np.abs(one - two).mean() > 0.01
    shift = (one - mel).mean(axis=(1, 2))
    assert abs(shift[0] - shift[1]) < 0.05


def test_silence_stays_finite():
    assert not augmentation.recolour(tf.zeros([5, 128]), tf.constant([0, 0], tf.int64)).numpy().any()


def test_batches_are_recoloured_by_their_key(records):
    def frames(**options):
        batches = fragment_batches(records, "train", 3, batch_size=4, window=20, **options)
        return next(iter(batches)).frames.numpy()

    plain = frames(shuffle=Keyed(0, 0))
    first, again = (frames(shuffle=Keyed(0, 0), recolour=True) for _ in range(2))
    assert np.array_equal(first, again) and np.abs(first - plain).mean() > 0.05
