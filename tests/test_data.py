import numpy as np
import pytest

from djnet import spec
from djnet.data import fragment_batches
from djnet.fragments import cut_frames


def _first_batch(records, **options):
    return next(iter(fragment_batches(records, "train", 3, batch_size=4, **options)))


@pytest.mark.parametrize("protocol", ["isolated", "overlapping"])
def test_batches_hold_the_fragments_of_the_fixed_clip(records, protocol):
    batch = _first_batch(records, protocol=protocol)
    clips = list(records.read_clips("train"))[:4]
    for frames, lengths, clip in zip(batch.frames.numpy(), batch.lengths.numpy(), clips, strict=True):
        expected = cut_frames(clip.mel, clip.segmentations["fixed/3"].cuts, protocol)
        for fragment, length, mel in zip(frames, lengths, expected, strict=True):
            assert length == len(mel)
            normal = (mel.astype(np.float32) - records.mean) / records.std
            assert np.abs(fragment[:length] - normal).max() < 1e-4
            assert not fragment[length:].any()


def test_a_pass_sees_every_clip_once_and_the_seed_decides_the_order(records):
    def firsts(seed):
        batches = fragment_batches(records, "train", 3, batch_size=5, shuffle_seed=seed)
        return np.concatenate([batch.frames.numpy()[:, 0, 0, :4] for batch in batches])

    plain, one, again, two = firsts(None), firsts(1), firsts(1), firsts(2)
    assert len(plain) == records.clips("train")
    assert np.array_equal(one, again) and not np.array_equal(one, two)
    assert np.array_equal(np.sort(plain, axis=0), np.sort(one, axis=0))


def test_shifted_clips_stay_inside_their_records(records):
    plain = _first_batch(records)
    seen = {tuple(_first_batch(records, shift=True).frames.numpy()[:, 0, 0, 0]) for _ in range(4)}
    assert len(seen) > 1
    batch = _first_batch(records, shift=True)
    assert np.array_equal(batch.lengths, plain.lengths)
    assert np.isfinite(batch.frames).all()
    assert batch.frames.shape[1:] == (3, int(plain.lengths.numpy().max()), spec.MEL_BINS)


def test_wrong_arguments(records):
    with pytest.raises(ValueError, match="Unknown protocol"):
        fragment_batches(records, "train", 3, protocol="leaky")
    with pytest.raises(ValueError, match="can be shifted"):
        fragment_batches(records, "train", 3, segmentation="downbeat", shift=True)
