"""Finished tracks -> shards and manifest.

Each finished track is one small file of records (a part) with a JSON beside it that is written last: a part with its
JSON is whole. When all parts are there, they are joined to shards in the order of their hashes, which mixes tracks
well and does not depend on who finished first. TFRecord files can be joined byte by byte.
"""

import gzip
import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from djnet import tfrecords
from djnet.constants import MEL_BINS
from djnet.errors import UserError
from djnet.files import digest_json, read_json, whole_file, write_json
from djnet.records import FEATURES, MANIFEST, SPLITS, VERSION, Clip, RecordsError, serialize

SHARD_BYTES = 100 << 20
_PART = {
    "split": str, "clips": int, "silent": int, "bytes": int, "frames": int, "sums": [float], "squares": [float],
    "games": dict, "error": str, "sha256": str,
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """What is known of a finished track; `error` says why it has no records."""

    key: str
    split: str
    clips: int = 0
    silent: int = 0
    bytes: int = 0
    frames: int = 0
    sums: Sequence[float] = ()  # of each mel bin, over all stored frames
    squares: Sequence[float] = ()
    games: dict[str, int] = field(default_factory=dict)  # how many clips can be cut for each game
    error: str = ""
    sha256: str = ""  # of its records


class Parts:
    """The finished tracks of a folder."""

    def __init__(self, folder: Path):
        self.folder = folder / ".parts"

    def find(self, key: str) -> Part | None:
        """A finished part, or nothing."""
        try:
            part = Part(**read_json(self.folder / f"{key}.json", _PART))
            digest = _sha256(self.records(key)) if part.clips else ""
        except (OSError, UserError, TypeError):
            return None
        return part if digest == part.sha256 and len(part.sums) == len(part.squares) else None

    def add(self, key: str, split: str, clips: list[Clip], silent: int, error: str = "") -> Part:
        """Write a track's records."""
        self.folder.mkdir(exist_ok=True)
        sums = squares = np.zeros(0)
        size, digest = 0, ""
        if clips:
            with whole_file(self.records(key)) as partial:
                tfrecords.write(partial, map(serialize, clips))
                size, digest = partial.stat().st_size, _sha256(partial)
            sums = sum(clip.mel.sum(axis=0, dtype=np.float64) for clip in clips)
            squares = sum(np.square(clip.mel, dtype=np.float64).sum(axis=0) for clip in clips)
        frames = sum(len(clip.mel) for clip in clips)
        games = dict(sorted(Counter(name for clip in clips for name in clip.segmentations).items()))
        part = Part(key, split, len(clips), silent, size, frames, list(sums), list(squares), games, error, digest)
        write_json(self.folder / f"{key}.json", part.__dict__)
        return part

    def records(self, key: str) -> Path:
        """The file with a part's records."""
        return self.folder / f"{key}.tfrecord"

    def remove(self) -> None:
        """Forget all parts; the shards hold their records now."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_shards(folder: Path, parts: Parts, done: list[Part], about: dict[str, Any], compress: bool) -> dict[str, Any]:
    """Join parts to shards and write the manifest last: -> the manifest."""
    (folder / MANIFEST).unlink(missing_ok=True)  # from here on the old shards are replaced
    splits: dict[str, Any] = {}
    for split in SPLITS:
        own = sorted((part for part in done if part.split == split and part.clips), key=lambda part: part.key)
        groups = _pack(own)
        splits[split] = {
            "tracks": len(own),
            "clips": sum(part.clips for part in own),
            "games": dict(sorted(sum((Counter(part.games) for part in own), Counter()).items())),
            "shards": [
                _write_shard(folder / f"{split}-{i:05d}-of-{len(groups):05d}.tfrecord", parts, group, compress)
                for i, group in enumerate(groups)
            ],
        }
    mean, std = _moments([part for part in sorted(done, key=lambda part: part.key) if part.split == "train"])
    manifest = {"version": VERSION, "features": FEATURES, **about, "gzip": compress, "splits": splits}
    manifest |= {"silent_clips": sum(part.silent for part in done), "mean": mean, "std": std}
    write_json(folder / MANIFEST, manifest | {"hash": digest_json(manifest)})
    current = {shard["name"] for split in splits.values() for shard in split["shards"]}
    for path in folder.glob("*-of-*.tfrecord"):
        if path.name not in current and re.fullmatch(r"(train|valid|test)-\d{5}-of-\d{5}\.tfrecord", path.name):
            path.unlink()
    parts.remove()
    return manifest


def _pack(parts: list[Part]) -> list[list[Part]]:
    """Split a list of parts into runs of about SHARD_BYTES each."""
    total = sum(part.bytes for part in parts)
    count = max(1, round(total / SHARD_BYTES)) if parts else 0
    groups: list[list[Part]] = [[] for _ in range(count)]
    before = 0
    for part in parts:
        groups[before * count // total].append(part)
        before += part.bytes
    return [group for group in groups if group]


def _write_shard(path: Path, parts: Parts, group: list[Part], compress: bool) -> dict[str, Any]:
    with whole_file(path) as partial:
        with open(partial, "wb") as raw:
            out: IO[bytes] = gzip.GzipFile("", "wb", 6, raw, mtime=0) if compress else raw  # type: ignore[assignment]
            for part in group:
                with open(parts.records(part.key), "rb") as records:
                    shutil.copyfileobj(records, out, 1 << 20)
            if compress:
                out.close()
        size, digest = partial.stat().st_size, _sha256(partial)
    return {"name": path.name, "clips": sum(part.clips for part in group), "bytes": size, "sha256": digest}


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _moments(parts: list[Part]) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each mel bin; a bin that never changes gets 1, so that it can be divided by."""
    parts = [part for part in parts if part.frames]
    if not parts:
        return [0.0] * MEL_BINS, [1.0] * MEL_BINS
    frames = sum(part.frames for part in parts)
    mean = np.sum([part.sums for part in parts], axis=0) / frames
    variance = np.sum([part.squares for part in parts], axis=0) / frames - mean**2
    std = np.sqrt(np.maximum(variance, 0.0))
    if not np.isfinite([mean, std]).all():
        raise RecordsError("The mean of the features is not finite: run the same command again.")
    return [round(float(x), 6) for x in mean], [round(float(x), 6) if x > 1e-3 else 1.0 for x in std]
