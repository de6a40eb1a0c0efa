import numpy as np
import pytest

from djnet import augmentation
from djnet.dataset import Epoch, fragment_batches
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
    gain = augmentation.GAIN_DECIBELS * rng_for(0, "gain").uniform(-1.0, 1.0)
    louder = log_mel(samples * np.float32(10 ** (gain / 20)))
    assert abs(gain) > 0.5
    assert np.abs(augmentation.change_timbre(log_mel(samples), rng_for(0, "gain")) - louder).max() < 1e-3


def test_a_key_decides_the_change_and_all_of_a_clip_changes_alike():
    mel = np.stack([_mel(), _mel()])
    one, again, two = (augmentation.change_timbre(mel, rng_for(i)) for i in (1, 1, 2))
    assert np.array_equal(one, again) and np.isfinite(one).all() and (one >= 0).all()
    assert np.abs(one - two).mean() > 0.01
    shift = (one - mel).mean(axis=(1, 2))
    assert abs(shift[0] - shift[1]) < 0.05


def test_silence_stays_finite():
    assert not augmentation.change_timbre(np.zeros((5, 128), np.float32), rng_for(0)).any()


@pytest.mark.parametrize("augmentation", ["timbre", "spec_augment"])
def test_batches_are_augmented_by_their_key(records, augmentation):
    def frames(epoch, **options):
        batches = fragment_batches(records, "train", 3, batch_size=4, window=20, epoch=Epoch(0, epoch), **options)
        return next(iter(batches)).frames.numpy()

    first, again, other = (frames(epoch, **{augmentation: True}) for epoch in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert np.abs(first - frames(0)).mean() > 0.01


def test_spec_augment_masks_a_band_and_a_run_of_frames():
    masked = np.ones((20, 3, 2, 40, 128), np.float32)
    for i, frames in enumerate(masked):
        augmentation.mask_spectrogram(frames, rng_for(i))
    assert all(np.array_equal(one, np.broadcast_to(one[0, 0], one.shape)) for one in masked)
    bins, rows = (masked[:, 0, 0] == 0).all(axis=1).sum(axis=1), (masked[:, 0, 0] == 0).all(axis=2).sum(axis=1)
    assert bins.max() <= 12 and rows.max() <= 10 and len(set(bins)) > 3 and len(set(rows)) > 3
