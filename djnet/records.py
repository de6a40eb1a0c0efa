"""Records on disk: one `tf.train.Example` a clip, in shards, with a manifest that says what they are.

A record holds a clip's samples as 16-bit integers and its log-mel as float16 before normalisation, somewhat longer than
the clip where the track goes on (so that training can shift the start), and for each segmentation its cuts and labelled
pairs as indices. The log-mel is that of all samples; next to a cut a fragment has frames of its own (see `cuts`), which
are computed from the samples when it is cut.
"""

import hashlib
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from djnet import constants, tfrecords
from djnet.cuts import cut_fragments, spans_between
from djnet.errors import UserError
from djnet.files import digest_json, read_json, require_shape
from djnet.pairs import Kind, Pair

SPLITS = ("train", "valid", "test")
MANIFEST = "manifest.json"
VERSION = 2

# What a record's numbers mean; records made with other values are refused.
FEATURES = {
    "sample_rate_hz": constants.SAMPLE_RATE_HZ,
    "window": "hamming",
    "window_samples": constants.WINDOW_SAMPLES,
    "hop_samples": constants.HOP_SAMPLES,
    "mel_bins": constants.MEL_BINS,
    "log_gain": constants.LOG_GAIN,
    "clip_hops": constants.CLIP_HOPS,
    "frames": "centred",
    "jigsaw_sizes": list(constants.JIGSAW_SIZES),
}
FULL_SCALE = 32_767
_BLOCK_SAMPLES = 1 << 20


_SHARDS = [{"name": str, "clips": int, "bytes": int, "sha256": str}]
_MANIFEST_SHAPE = {
    "features": dict,
    "corpus": {"name": str, "hash": str},
    "settings": dict,
    "gzip": bool,
    "splits": {split: {"tracks": int, "clips": int, "games": dict, "shards": _SHARDS} for split in SPLITS},
    "silent_clips": int,
}


class RecordsError(UserError):
    """Records that are missing, damaged or made with other settings, in words for a person."""


@dataclass(frozen=True)
class Segmentation:
    """The cuts of one game and its labelled pairs; cuts are hops of the record, not of the clip."""

    cuts: np.ndarray  # int [n + 1]
    pairs: list[Pair]


@dataclass(frozen=True)
class Clip:
    """One record. Times are in hops from its beginning, but `start`, which is in seconds of the track."""

    id: str
    track: str
    group: str
    split: str
    start: float
    offset: int  # where the fixed clip of CLIP_HOPS hops begins
    samples: np.ndarray  # int16 [512 H]
    scale: float  # the sample that is stored as 32,767
    mel: np.ndarray  # float16 [H + 1, 128], not normalised
    beats: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.float32))  # seconds, position in the bar
    segmentations: dict[str, Segmentation] = field(default_factory=dict)  # by name: "fixed/3"

    @property
    def hops(self) -> int:
        """Length of the record."""
        return len(self.samples) // constants.HOP_SAMPLES

    @property
    def waveform(self) -> np.ndarray:
        """The samples as they sound: float32 [512 H]."""
        return dequantised(self.samples, self.scale)

    def fragments(self, cuts: np.ndarray, protocol: str = "centred", gap: int = 0) -> list[np.ndarray]:
        """The record cut at hops [n + 1], without `gap` hops on each side of every cut: -> n of float32 [t_i, 128]."""
        return cut_fragments(self.waveform, spans_between(cuts, gap), protocol)


def quantised(samples: np.ndarray) -> tuple[np.ndarray, float]:
    """Samples as 16-bit integers, and what the largest stands for (more than 1 only where samples are): [N] -> [N]."""
    scale = max(1.0, float(samples.max(initial=0.0)), -float(samples.min(initial=0.0)))
    stored = np.empty(len(samples), np.int16)
    for first in range(0, len(samples), _BLOCK_SAMPLES):  # spares memory
        block = slice(first, first + _BLOCK_SAMPLES)
        stored[block] = np.round(samples[block] * (FULL_SCALE / scale))
    return stored, scale


def dequantised(samples: np.ndarray, scale: float) -> np.ndarray:
    """What `quantised` was given, to 16 bits: int16 [N] -> float32 [N]."""
    return samples.astype(np.float32) * np.float32(scale / FULL_SCALE)


def serialize(clip: Clip) -> bytes:
    """A clip as the bytes of a `tf.train.Example`; the same clip always gives the same bytes."""
    import tensorflow as tf

    def text(value: str) -> tf.train.Feature:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode("utf-8", "surrogateescape")]))

    def ints(values: Any) -> tf.train.Feature:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=np.asarray(values, np.int64).ravel()))

    def floats(values: Any) -> tf.train.Feature:
        return tf.train.Feature(float_list=tf.train.FloatList(value=np.asarray(values, np.float32).ravel()))

    def raw(values: np.ndarray, kind: str) -> tf.train.Feature:
        data = np.ascontiguousarray(values, kind).tobytes()
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[data]))

    features = {
        "id": text(clip.id),
        "track": text(clip.track),
        "group": text(clip.group),
        "split": text(clip.split),
        "start": floats([clip.start]),
        "offset": ints([clip.offset]),
        "samples": raw(clip.samples, "<i2"),
        "scale": floats([clip.scale]),
        "mel": raw(clip.mel, "<f2"),
        "beats": floats(clip.beats),
    }
    for name, segmentation in clip.segmentations.items():
        features[f"{name}/cuts"] = ints(segmentation.cuts)
        features[f"{name}/pairs"] = ints(segmentation.pairs)
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString(deterministic=True)


def deserialize(data: Any) -> Clip:
    """The clip that `serialize` turned into these bytes; a ValueError if they cannot be one.

    Samples and log-mel are views of `data`: of a file that is mapped into memory, they are read when they are used.
    """
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    record = bytes(data)
    try:
        features = tf.train.Example.FromString(record).features.feature
    except DecodeError as error:
        raise ValueError(str(error)) from error

    def view(name: str, kind: str) -> np.ndarray:
        content = features[name].bytes_list.value[0]
        if len(content) % np.dtype(kind).itemsize:
            raise ValueError(f"{len(content)} bytes of {name} are no whole numbers")
        return np.frombuffer(data, kind, len(content) // np.dtype(kind).itemsize, record.find(content))

    def text(name: str) -> str:
        return features[name].bytes_list.value[0].decode("utf-8", "surrogateescape")

    samples, mel = view("samples", "<i2"), view("mel", "<f2").reshape(-1, constants.MEL_BINS)
    if len(samples) != (len(mel) - 1) * constants.HOP_SAMPLES:
        raise ValueError(f"{len(samples)} samples do not belong to {len(mel)} frames")
    names = sorted(key.removesuffix("/cuts") for key in features if key.endswith("/cuts"))
    return Clip(
        id=text("id"),
        track=text("track"),
        group=text("group"),
        split=text("split"),
        start=features["start"].float_list.value[0],
        offset=features["offset"].int64_list.value[0],
        samples=samples,
        scale=features["scale"].float_list.value[0],
        mel=mel,
        beats=np.array(features["beats"].float_list.value, np.float32).reshape(-1, 2),
        segmentations={
            name: Segmentation(
                np.array(features[f"{name}/cuts"].int64_list.value, np.int64),
                _pairs(tuple(features[f"{name}/pairs"].int64_list.value)),
            )
            for name in names
        },
    )


@cache
def _pairs(values: tuple[int, ...]) -> list[Pair]:
    """Labelled pairs from their numbers, four each; all clips share them."""
    return [Pair(a, b, label, Kind(kind)) for a, b, label, kind in zip(*[iter(values)] * 4, strict=True)]


def moments(content: dict[str, Any], path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of features from a manifest or run.json: float32 [128] each, fit to divide by."""
    require_shape(content, {"mean": [float], "std": [float]}, path)
    mean, std = (np.array(content[name], np.float32) for name in ("mean", "std"))
    if not len(mean) == len(std) == constants.MEL_BINS or std.min() <= 0 or not np.isfinite([mean, std]).all():
        raise UserError(f"{path} is damaged (mean and std are not {constants.MEL_BINS} numbers each, std above 0).")
    return mean, std


@dataclass(frozen=True)
class Manifest:
    """What stands in a folder of records."""

    folder: Path
    content: dict[str, Any]

    @classmethod
    def read(cls, folder: str | Path) -> "Manifest":
        """The manifest of a folder; a RecordsError if it has none or was made with other settings."""
        folder = Path(folder)
        path = folder / MANIFEST
        if not path.is_file():
            raise RecordsError(
                f"{path} is missing: no finished records there. Make them with: make preprocess DATA={folder}"
            )
        try:
            content = read_json(path, {"hash": str})
            stated = content.pop("hash")
        except UserError as error:
            raise RecordsError(f"{error} Remove it and run: make preprocess DATA={folder}") from error
        if content.get("version") != VERSION:
            raise RecordsError(
                f"{path} has format {content.get('version')}, this program reads format {VERSION}. "
                f"Make the records again, with the flags of the first time: make preprocess DATA={folder}"
            )
        if stated != digest_json(content):
            raise RecordsError(
                f"{path} was changed after it was written. Remove it and run: make preprocess DATA={folder}"
            )
        try:
            require_shape(content, _MANIFEST_SHAPE, path)
            moments(content, path)
        except UserError as error:
            raise RecordsError(f"{error} Remove it and run: make preprocess DATA={folder}") from error
        for name, value in FEATURES.items():
            if content["features"].get(name) != value:
                raise RecordsError(
                    f"{folder} was made with {name} = {content['features'].get(name)}, this program needs {value}: "
                    f"make preprocess DATA={folder} makes it again."
                )
        return cls(folder, content)

    @property
    def hash(self) -> str:
        """A hash of everything in the folder, to the last bit."""
        return digest_json(self.content)

    @property
    def origin(self) -> str:
        """A hash of the music and of what was done to it: the same on machines that round differently."""
        return digest_json({name: self.content[name] for name in ("version", "features", "corpus", "settings")})

    @property
    def corpus(self) -> str:
        """The name of the music."""
        return self.content["corpus"]["name"]

    @property
    def name(self) -> str:
        """The corpus and the beginning of the records' origin, for people."""
        return f"{self.corpus} {self.origin[:8]}"

    @property
    def mean(self) -> np.ndarray:
        """Mean of each mel bin over the training split: [128]."""
        return moments(self.content, self.folder / MANIFEST)[0]

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of each mel bin over the training split: [128]."""
        return moments(self.content, self.folder / MANIFEST)[1]

    def clips(self, split: str) -> int:
        """How many clips a split has."""
        return sum(shard["clips"] for shard in self._shards(split))

    def shards(self, split: str) -> list[Path]:
        """The files of a split, each checked against its hash; a RecordsError names the first that differs."""
        return [self.check(shard) for shard in self._shards(split)]

    def check(self, shard: dict[str, Any]) -> Path:
        """Compare one shard with its entry in the manifest, once a process unless it changes: -> its path."""
        path = self.folder / shard["name"]
        if not path.is_file():
            raise RecordsError(f"{path} is missing. Run make preprocess DATA={self.folder} again.")
        status = path.stat()
        if _sha256(path, status.st_size, status.st_mtime_ns) != shard["sha256"]:
            raise RecordsError(f"{path} is damaged. Remove it and run make preprocess DATA={self.folder} again.")
        return path

    def read_clips(self, split: str) -> Iterator[Clip]:
        """The clips of a split, one after the other; a RecordsError names a shard with a record that is no clip.

        Shards are mapped into memory, so samples and log-mels stay on the disk until they are used.
        """
        if not self.clips(split):
            raise RecordsError(f"The {split} split of {self.folder} is empty: preprocess more music.")
        for path in self.shards(split):
            status = path.stat()
            try:
                mapped, clips = _read_shard(path, self.content["gzip"], status.st_size, status.st_mtime_ns)
            except (ValueError, IndexError) as error:
                raise RecordsError(
                    f"{path} holds a record that is not a clip ({error}). "
                    f"Remove it and run make preprocess DATA={self.folder} again."
                ) from error
            yield from clips
            tfrecords.release(mapped)

    def pairs(self, segmentation: str, n: int) -> list[Pair]:
        """The labelled pairs of a segmentation, the same for every clip: of the first training clip that has them."""
        name = f"{segmentation}/{n}"
        clips = (clip.segmentations[name].pairs for clip in self.read_clips("train") if name in clip.segmentations)
        if (pairs := next(clips, None)) is None:
            raise RecordsError(f"The train split of {self.folder} has no clips for {segmentation} cuts, n = {n}.")
        return pairs

    def _shards(self, split: str) -> list[dict[str, Any]]:
        if split not in SPLITS:
            raise ValueError(f"Unknown split {split!r}; there are {', '.join(SPLITS)}.")
        return self.content["splits"][split]["shards"]


@cache
def _sha256(path: Path, size: int, modified: int) -> str:
    """Hash of a file, remembered as long as its size and time stay the same."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _read_shard(path: Path, is_packed: bool, size: int, modified: int) -> tuple[mmap.mmap, list[Clip]]:
    """A file and its clips, remembered as long as its size and time stay the same."""
    mapped = tfrecords.map_file(path, is_packed)
    return mapped, [deserialize(data) for data in tfrecords.records_of(mapped)]
