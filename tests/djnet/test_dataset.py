import numpy as np
import pytest

from djnet import constants
from djnet.cuts import PROTOCOLS, downbeat_hops
from djnet.dataset import Epoch, fragment_batches
from djnet.features import log_mel
from djnet.records import Manifest


def _first_batch(records, **options):
    return next(iter(fragment_batches(records, "train", 3, batch_size=4, **options)))


def _whole(records, clip, cuts, protocol, gap):
    return [(mel - records.mean) / records.std for mel in clip.fragments(cuts, protocol, gap)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("segmentation", ["fixed", "downbeat"])
@pytest.mark.parametrize(("gap", "window"), [(0, 0), (0, 63), (7, 0), (20, 63)])
def test_fragments_are_the_features_of_their_own_samples(records, protocol, segmentation, gap, window):
    """Every frame, to float16: the mirrored ones at the edges, computed here, as all others."""
    options = {"segmentation": segmentation, "protocol": protocol, "gap": gap, "window": window}
    clips = [clip for clip in records.read_clips("train") if f"{segmentation}/3" in clip.segmentations]
    batch = _first_batch(records, **options)
    for frames, lengths, clip in zip(batch.frames.numpy(), batch.lengths.numpy(), clips, strict=False):
        expected = _whole(records, clip, clip.segmentations[f"{segmentation}/3"].cuts, protocol, gap)
        for fragment, length, mel in zip(frames, lengths, expected, strict=True):
            assert length == len(mel)
            sides = (mel[-window:], mel[:window]) if window else (mel,)
            for side, own in zip(fragment, sides, strict=True):
                assert np.abs(side[: len(own)] - own).max() < 2e-3
                assert not side[len(own) :].any()


@pytest.mark.parametrize("segmentation", ["fixed", "downbeat"])
@pytest.mark.parametrize("random_gap", [False, True])
def test_redrawn_fragments_are_the_features_of_their_own_samples(records, segmentation, random_gap):
    """Wherever the cuts are drawn: each fragment is found again as the log-mel of a piece of one of the clips."""
    options = {"segmentation": segmentation, "redraw": True, "random_gap": random_gap, "gap": 30 if random_gap else 0}
    batch = _first_batch(records, epoch=Epoch(3, 1), off_beat=0.5, **options)
    clips = list(records.read_clips("train"))
    stored = [(clip.mel.astype(np.float32) - records.mean) / records.std for clip in clips]
    for frames, lengths in zip(batch.frames.numpy()[:, :, 0], batch.lengths.numpy(), strict=True):
        inner = frames[0, 2 : lengths[0] - 2]
        which, start = min(
            ((i, t) for i, mel in enumerate(stored) for t in range(len(mel) - len(inner))),
            key=lambda place: np.abs(stored[place[0]][place[1]] - inner[0]).max(),
        )
        first = start - 2
        own = clips[which].waveform[first * 512 : (first + lengths[0] - 1) * 512]
        assert np.abs((log_mel(own) - records.mean) / records.std - frames[0, : lengths[0]]).max() < 2e-3


def test_an_epoch_sees_every_clip_once_and_the_key_decides_the_order(records):
    def firsts(epoch):
        batches = fragment_batches(records, "train", 3, batch_size=5, epoch=epoch)
        return np.concatenate([batch.frames.numpy()[:, 0, 0, 0, :4] for batch in batches])

    plain, one, again, two, other = map(firsts, (None, Epoch(1, 0), Epoch(1, 0), Epoch(2, 0), Epoch(1, 1)))
    assert len(plain) == records.clips("train")
    assert np.array_equal(one, again) and not np.array_equal(one, two) and not np.array_equal(one, other)
    assert np.array_equal(np.sort(plain, axis=0), np.sort(one, axis=0))


def test_other_records_are_added_and_normalised_as_the_first(records):
    louder = records.content | {"mean": [value + 1 for value in records.content["mean"]]}
    other = Manifest(records.folder, louder)
    alone, both = (
        np.concatenate([batch.lengths for batch in fragment_batches(records, "train", 3, also=also)])
        for also in ([], [other])
    )
    assert np.array_equal(np.concatenate([alone, alone]), both)
    (batch,) = fragment_batches(records, "train", 3, also=[other], batch_size=len(both))
    assert np.array_equal(batch.frames[: len(alone)], batch.frames[len(alone) :])


@pytest.mark.parametrize("segmentation", ["fixed", "downbeat"])
def test_cuts_drawn_anew_stay_inside_their_records_and_can_be_repeated(records, segmentation):
    def batch(epoch, redraw=True):
        return _first_batch(records, segmentation=segmentation, epoch=Epoch(0, epoch), redraw=redraw)

    assert np.array_equal(batch(0).frames, batch(0).frames)
    for other in (batch(0, redraw=False), batch(1)):
        assert not np.array_equal(batch(0).lengths, other.lengths) or not np.array_equal(batch(0).frames, other.frames)
    frames, lengths = batch(0).frames.numpy()[:, :, 0], batch(0).lengths.numpy()
    assert np.isfinite(frames).all() and np.array_equal(np.any(frames != 0, axis=-1).sum(axis=-1), lengths)


def test_downbeats_drawn_anew_are_downbeats_and_can_be_moved_off_the_beat(records):
    """Every fragment begins where the record has a downbeat, or none of its clip does, and is as long."""
    starts = set()
    for clip in records.read_clips("train"):
        mel = (clip.mel.astype(np.float32) - records.mean) / records.std
        places = downbeat_hops(clip.beats, 0, clip.hops)
        starts |= {mel[place + 2].tobytes() for place in places if place + 2 < len(mel)}

    def batch(epoch, off_beat=0.0):
        keyed = {"epoch": Epoch(0, epoch), "redraw": True, "off_beat": off_beat}
        return _first_batch(records, segmentation="downbeat", **keyed)

    def on_the_beat(batch):
        return [[frame.tobytes() in starts for frame in clip] for clip in batch.frames.numpy()[:, :, 0, 2]]

    for epoch in range(2):
        assert np.all(on_the_beat(batch(epoch)))
        moved = batch(epoch, off_beat=1.0)
        assert np.mean(on_the_beat(moved)) < 0.5 and np.array_equal(moved.lengths, batch(epoch).lengths)
        frames = moved.frames.numpy()[:, :, 0]
        assert np.array_equal(np.any(frames != 0, axis=-1).sum(axis=-1), moved.lengths)


@pytest.mark.parametrize("segmentation", ["fixed", "downbeat"])
def test_a_window_holds_the_end_and_the_beginning_of_every_fragment(records, segmentation):
    whole = _first_batch(records, segmentation=segmentation)
    sides = _first_batch(records, segmentation=segmentation, window=40)
    assert sides.frames.shape == (4, 3, 2, 40, constants.MEL_BINS)
    assert np.array_equal(whole.lengths, sides.lengths)
    for frames, windows, lengths in zip(whole.frames.numpy(), sides.frames.numpy(), whole.lengths.numpy(), strict=True):
        for fragment, (end, beginning), length in zip(frames[:, 0], windows, lengths, strict=True):
            assert np.array_equal(end, fragment[length - 40 : length])
            assert np.array_equal(beginning, fragment[:40])


def test_a_window_longer_than_the_fragment_is_padded(records):
    whole, sides = _first_batch(records), _first_batch(records, window=500)
    length = int(whole.lengths[0, 0])
    for side in (0, 1):
        assert np.array_equal(sides.frames[0, 0, side, :length], whole.frames[0, 0, 0, :length])
        assert not np.any(sides.frames[0, 0, side, length:])


def test_a_random_gap_is_drawn_for_each_clip(records):
    whole, fewer = (_first_batch(records, epoch=Epoch(0, 2), gap=40, random_gap=drawn) for drawn in (False, True))
    removed = whole.lengths.numpy() + 80 - fewer.lengths.numpy()
    assert (removed % 2 == 0).all() and (removed == removed[:, :1]).all() and len(set(removed[:, 0])) > 2
    assert removed.min() >= 0 and removed.max() <= 80


def test_the_first_clips_only_are_always_the_same(records):
    def lengths(**options):
        return sum(len(batch.frames) for batch in fragment_batches(records, "train", 3, window=63, **options))

    assert lengths(first=5) == lengths(first=5, epoch=Epoch(0, 1)) == 5
    few = fragment_batches(records, "train", 3, first=5, batch_size=5)
    mixed = fragment_batches(records, "train", 3, first=5, batch_size=5, epoch=Epoch(0, 1))
    first, second = (np.sort(next(iter(batches)).frames.numpy().sum((1, 2, 3, 4))) for batches in (few, mixed))
    assert np.allclose(first, second)


def test_wrong_arguments(records):
    with pytest.raises(ValueError, match="Unknown protocol"):
        fragment_batches(records, "train", 3, protocol="leaky")
    with pytest.raises(ValueError, match="need an `epoch`"):
        fragment_batches(records, "train", 3, redraw=True)
