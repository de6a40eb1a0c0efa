"""Files that are cut off or have single bits turned: each is noticed, named, and made anew where that is possible."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from djnet.pretrained import ModelError, read_model
from djnet.records import SPLITS, Manifest, RecordsError
from experiments.checkpoints import TrainingError, resume
from tests.faults import archives
from tests.faults.bench import Bench, content

AT_ONCE = 20

Damage = Callable[[bytes, np.random.Generator], bytes]


def cut_off(data: bytes, rng: np.random.Generator) -> bytes:
    """The beginning of a file."""
    return data[: rng.integers(len(data))]


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with one bit turned."""
    place = int(rng.integers(len(data)))
    return data[:place] + bytes([data[place] ^ 1 << int(rng.integers(8))]) + data[place + 1 :]


def damage_records(bench: Bench, rng: np.random.Generator) -> Iterator[str]:
    """Each damage of shards and manifests is noticed, and the last one is repaired by the same command."""
    job, output = bench.preprocessing, bench.fresh("damaged")
    shutil.copytree(job.output, output)
    undamaged = _intact(output)
    originals = sorted([*job.output.glob("*.tfrecord"), job.output / "manifest.json"])
    for i in range(AT_ONCE):
        original = originals[rng.integers(len(originals))]
        (output / original.name).write_bytes((cut_off, flip)[rng.integers(2)](original.read_bytes(), rng))
        is_safe = _intact(output) in (None, undamaged)  # or nothing that counts was touched: a blank of the manifest
        if i == AT_ONCE - 1:
            yield bench.ends_well(job, output) if is_safe else "lost"
        else:
            shutil.copy(original, output)
            yield "survived" if is_safe else "lost"


def damage_run(bench: Bench, rng: np.random.Generator) -> Iterator[str]:
    """A damaged checkpoint or model is refused by its name, or nothing that counts was touched."""
    (original,) = bench.training.output.glob("*/*/checkpoint.npz")
    folder = bench.fresh("damaged-run")
    folder.mkdir()
    readers: dict[str, Callable[[Path], list[np.ndarray]]] = {"checkpoint.npz": _numbers, "best.keras": _weights}
    for name, read in readers.items():
        whole = original.with_name(name)
        undamaged = read(whole)
        for _ in range(AT_ONCE // 2):
            path = folder / name
            path.write_bytes((cut_off, flip)[rng.integers(2)](whole.read_bytes(), rng))
            try:
                same = all(map(np.array_equal, read(path), undamaged))
            except (TrainingError, ModelError) as error:
                same = str(path) in str(error)
            yield "survived" if same else "lost"


def damage_cache(bench: Bench, rng: np.random.Generator) -> Iterator[str]:
    """Every file of the cache in turn: it is made anew, and the medley or the records are the same."""
    for name, job in (("songs", bench.medley), ("fingerprints", bench.preprocessing)):
        whole = content(bench.cache / name)
        for path in sorted((bench.cache / name).iterdir()):
            path.write_bytes((cut_off, flip)[rng.integers(2)](path.read_bytes(), rng))
            verdict = bench.ends_well(job, bench.fresh("damaged-cache"))
            if (now := content(bench.cache / name)) != whole:
                print(f"cache: {[key for key in now.keys() | whole.keys() if now.get(key) != whole.get(key)]}")
            path.write_bytes(whole[path.name])
            yield verdict


def unpack_hostile_archives(bench: Bench, rng: np.random.Generator) -> Iterator[str]:
    """Packages whose names lead out of the folder ("zip slip"), some of them damaged."""
    for _ in range(AT_ONCE):
        yield "survived" if archives.survives(rng, bench.folder / "inside" / "archives") else "lost"


def _intact(folder: Path) -> str | None:
    """The hash of records whose shards are all in order; None if a damage is noticed."""
    try:
        manifest = Manifest.read(folder)
        for split in SPLITS:
            manifest.shards(split)
        return manifest.hash
    except RecordsError:
        return None


def _numbers(checkpoint: Path) -> list[np.ndarray]:
    """All numbers of a checkpoint, and where it stands."""
    numbers: dict[str, np.ndarray] = {}
    progress = resume(checkpoint.parent, numbers.update)
    return [value for _, value in sorted(numbers.items())] + [np.array(list(progress.__dict__.values()))]


def _weights(path: Path) -> list[np.ndarray]:
    return read_model(path).get_weights()
