import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet import constants, tfrecords
from djnet.files import digest_json
from djnet.pairs import pairs_of
from djnet.records import (
    Clip,
    Manifest,
    RecordsError,
    Segmentation,
    dequantised,
    deserialize,
    quantised,
    serialize,
)

NAMES = st.text(max_size=30) | st.just("a name\nwith 🎵 and \udce9")


@given(
    names=st.tuples(NAMES, NAMES, NAMES),
    frames=st.integers(0, 50),
    seed=st.integers(0, 9),
    cuts=st.lists(st.integers(0, 2_000), min_size=4, max_size=9),
)
@settings(max_examples=50, deadline=None)
def test_a_clip_survives_the_round_trip(names, frames, seed, cuts):
    rng = np.random.default_rng(seed)
    clip = Clip(
        id=names[0],
        track=names[1],
        group=names[2],
        split="valid",
        start=12.5,
        offset=7,
        samples=rng.integers(-(2**15), 2**15, 512 * frames).astype(np.int16),
        scale=1.25,
        mel=rng.uniform(0, 20, (frames + 1, constants.MEL_BINS)).astype(np.float16),
        beats=rng.uniform(0, 20, (5, 2)).astype(np.float32),
        segmentations={"fixed/3": Segmentation(np.array(cuts), pairs_of(len(cuts) - 1))},
    )
    again = deserialize(serialize(clip))
    assert (again.id, again.track, again.group, again.split) == (*names, "valid")
    assert (again.start, again.offset) == (12.5, 7)
    assert again.mel.dtype == np.float16 and np.array_equal(again.mel, clip.mel)
    assert again.samples.dtype == np.int16 and np.array_equal(again.samples, clip.samples) and again.scale == 1.25
    assert np.array_equal(again.beats, clip.beats)
    assert np.array_equal(again.segmentations["fixed/3"].cuts, cuts)
    assert again.segmentations["fixed/3"].pairs == clip.segmentations["fixed/3"].pairs
    assert serialize(again) == serialize(clip)


def test_the_statistics_are_those_of_the_training_split(records):
    mel = np.concatenate([clip.mel for clip in records.read_clips("train")]).astype(np.float64)
    assert np.abs(mel.mean(axis=0) - records.mean).max() < 1e-4
    assert np.abs(mel.std(axis=0) - records.std).max() < 1e-4


def test_every_clip_is_complete(records):
    for split in ("train", "valid", "test"):
        clips = list(records.read_clips(split))
        assert len(clips) == records.clips(split) > 0
        for clip in clips:
            assert clip.split == split
            assert set(clip.segmentations) >= {f"fixed/{n}" for n in constants.JIGSAW_SIZES}
            for n in constants.JIGSAW_SIZES:
                cuts = clip.segmentations[f"fixed/{n}"].cuts
                assert cuts[0] == clip.offset and cuts[-1] == clip.offset + constants.CLIP_HOPS
                assert cuts[-1] <= clip.hops == len(clip.mel) - 1


def test_puzzles_lie_inside_the_clip(records):
    """Only training may look beyond the 24 s."""
    for split in ("valid", "test"):
        for clip in records.read_clips(split):
            for segmentation in clip.segmentations.values():
                assert clip.offset <= segmentation.cuts[0]
                assert segmentation.cuts[-1] <= clip.offset + constants.CLIP_HOPS


@given(peak=st.floats(1e-4, 50.0), seed=st.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_samples_survive_as_16_bits(peak, seed):
    samples = np.random.default_rng(seed).uniform(-peak, peak, 2000).astype(np.float32)
    stored, scale = quantised(samples)
    assert stored.dtype == np.int16 and np.abs(dequantised(stored, scale) - samples).max() <= 0.51 * scale / 32767
    assert scale == max(1.0, np.abs(samples).max()), "16 bits of full scale, as in a file, unless samples go beyond it"


def test_pairs_are_read_from_the_records(records):
    assert records.pairs("fixed", 4) == pairs_of(4)
    with pytest.raises(RecordsError, match="has no clips for fixed cuts, n = 5"):
        records.pairs("fixed", 5)


def test_samples_of_another_length_than_the_spectrogram_are_refused_with_their_shard(records, tmp_path):
    clip = next(records.read_clips("train"))
    with pytest.raises(ValueError, match="samples do not belong to"):
        deserialize(serialize(replace(clip, samples=clip.samples[:-512])))
    manifest = _copy(records, tmp_path)
    shard = manifest.shards("train")[0]
    tfrecords.write(shard, [serialize(replace(clip, samples=clip.samples[:-512]))])
    digest = hashlib.sha256(shard.read_bytes()).hexdigest()
    for listed in manifest.content["splits"]["train"]["shards"]:
        listed["sha256"] = digest
    with pytest.raises(RecordsError, match=rf"{shard.name} holds a record that is not a clip .*make preprocess"):
        list(manifest.read_clips("train"))


def test_a_shard_is_hashed_once_a_process(records, monkeypatch):
    records.shards("train")
    monkeypatch.setattr("hashlib.file_digest", None)
    records.shards("train")


def _copy(records: Manifest, folder) -> Manifest:
    for path in records.folder.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    return Manifest.read(folder)


def test_no_records(tmp_path):
    with pytest.raises(RecordsError, match=r"manifest.json is missing.*make preprocess"):
        Manifest.read(tmp_path)


def test_a_damaged_shard_is_refused_by_name(records, tmp_path):
    manifest = _copy(records, tmp_path)
    shard = manifest.shards("train")[0]
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    with pytest.raises(RecordsError, match=f"{shard.name} is damaged"):
        next(manifest.read_clips("train"))
    shard.unlink()
    with pytest.raises(RecordsError, match=f"{shard.name} is missing"):
        next(manifest.read_clips("train"))


def test_other_settings_are_refused(records, tmp_path, monkeypatch):
    manifest = _copy(records, tmp_path)
    monkeypatch.setitem(__import__("djnet.records").records.FEATURES, "hop_samples", 256)
    with pytest.raises(RecordsError, match="made with hop_samples = 512, this program needs 256"):
        Manifest.read(manifest.folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(mean=[0.0] * 128), "was changed after it was written"),
        (
            lambda content: content.update(version=1),
            r"has format 1, this program reads format 2.*make preprocess DATA=",
        ),
        (lambda content: content.pop("hash"), "is damaged"),
    ],
)
def test_a_changed_manifest_is_refused(records, tmp_path, change, message):
    manifest = _copy(records, tmp_path)
    path = tmp_path / "manifest.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(RecordsError, match=message):
        Manifest.read(manifest.folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"std": [0.0] * 128}, r"mean and std are not 128 numbers each, std above 0"),
        ({"mean": [0.0] * 127}, r"mean and std are not 128 numbers"),
        ({"mean": [float("nan")] * 128}, r"mean\[0\] is not a number"),
        ({"std": None}, r"std is not a list"),
        ({"splits": {"train": {"shards": []}}}, r"splits.train has no 'tracks'"),
        ({"corpus": []}, r"corpus is not an object"),
    ],
)
def test_a_manifest_of_the_wrong_shape_is_refused_by_its_place(records, tmp_path, change, message):
    content = records.content | change
    (tmp_path / "manifest.json").write_text(json.dumps(content | {"hash": digest_json(content)}))
    with pytest.raises(RecordsError, match=rf"manifest.json is damaged \({message}.*make preprocess"):
        Manifest.read(tmp_path)


@pytest.mark.parametrize("text", ["[]", "3", '"hash"', "[" * 100_000, "\0", '{"hash": 3}'])
def test_what_is_no_manifest_is_refused_by_name(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RecordsError, match=r"manifest.json is damaged \("):
        Manifest.read(tmp_path)


def test_the_origin_is_the_same_where_rounding_differs(records):
    rounded = Manifest(records.folder, records.content | {"mean": [x + 1e-7 for x in records.content["mean"]]})
    assert rounded.origin == records.origin and rounded.hash != records.hash
    settings = records.content["settings"] | {"seed": 1}
    assert Manifest(records.folder, records.content | {"settings": settings}).origin != records.origin


def test_an_unknown_split(records):
    with pytest.raises(ValueError, match="Unknown split 'dev'"):
        records.clips("dev")
