"""The faults of `python -m stress`, and the bench that they are injected into."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from djnet.files import digest_json
from djnet.pretrained import ModelError, read_model
from djnet.records import SPLITS, Manifest, RecordsError
from experiments.checkpoints import TrainingError, resume
from tests.faults import archives

SONGS, EPOCHS = 8, 4
FUZZED_AT_ONCE = {"audio": 2_000, "annotations": 500, "cues": 500, "state": 1_000}
DAMAGED_AT_ONCE = 20

# A fault is a function that does one kind of thing and yields whether each of its faults was survived.
Fault = Callable[[np.random.Generator], Iterator[bool]]


class Bench:
    """A folder with music, its records and a training run, each made once without a fault."""

    def __init__(self, folder: Path):
        self.folder, self.cache = folder, folder / "cache"
        self.records, self.runs = folder / "records", folder / "runs"
        self.fuzzed = Counter[str]()
        self.time(self.build_command(self.records))  # generates the songs too
        self.build_seconds = self.time(self.build_command(self.fresh("timed")))
        self.train_seconds = self.time(self.train_command(self.runs))
        self.medley_seconds = self.time(self.medley_command(folder / "medley.flac"))
        self.medley = (folder / "medley.flac").read_bytes()
        self.hash = Manifest.read(self.records).hash
        (self.checkpoint,) = self.runs.glob("*/*/checkpoint.npz")
        self.numbers = _numbers(self.checkpoint.parent)
        self.weights = _weights(self.checkpoint.with_name("best.keras"))

    @property
    def faults(self) -> list[Fault]:
        """All faults, in turn; each turn takes seconds to about a minute."""
        return [
            self.fuzz_audio,
            self.truncate_records,
            self.flip_bits_of_records,
            self.kill_preprocessing,
            self.fuzz_annotations,
            self.fuzz_cue_sheets,
            self.fuzz_state,
            self.kill_medleys,
            self.start_every_job_twice,
            self.damage_the_cache_of_medleys,
            self.truncate_checkpoints,
            self.flip_bits_of_checkpoints,
            self.damage_models,
            self.unpack_hostile_archives,
            self.fill_the_disk_of_preprocessing,
            self.kill_training,
            self.fill_the_disk_of_training,
        ]

    # The jobs under test.

    def build_command(self, output: Path) -> list[str]:
        """Records of a few generated songs."""
        flags = ["--corpus=synthetic", f"--songs={SONGS}", "--nodownbeats", "--workers=2"]
        return _command("preprocessing.build", *flags, f"--cache={self.cache}", f"--output={output}")

    def train_command(self, output: Path) -> list[str]:
        """A very small network for a few epochs, to the bit the same every time."""
        flags = ["--model=sn", f"--epochs={EPOCHS}", "--batch_clips=4", "--deterministic"]
        flags += ["--ablation=tower=(4,4)", "--ablation=dense=(8,)"]
        return _command("experiments.train", *flags, f"--data={self.records}", f"--output={output}")

    def medley_command(self, output: Path) -> list[str]:
        """A medley of three generated songs."""
        songs = sorted(map(str, self.cache.rglob("*.flac")))[:3]
        return _command("djnet.cli.main", "medley", *songs, "--force", f"--cache={self.cache}", "-o", str(output))

    def time(self, command: list[str]) -> float:
        """Seconds that an undisturbed job takes."""
        began = time.monotonic()
        if not _succeeds(command):
            raise RuntimeError("It fails without a fault already.")
        return time.monotonic() - began

    def is_built(self, output: Path) -> bool:
        """Whether the same command, run again, ends with the records of the undisturbed run."""
        return _succeeds(self.build_command(output)) and _intact(output) == self.hash

    def is_trained(self, output: Path) -> bool:
        """Whether the same command, run again, ends with all epochs and the numbers of the undisturbed run."""
        if not _succeeds(self.train_command(output)):
            return False
        (folder,) = output.glob("*/*")
        rows = (folder / "history.csv").read_text().splitlines()
        return len(rows) == 1 + EPOCHS and np.array_equal(_numbers(folder), self.numbers)

    def is_medley(self, output: Path) -> bool:
        """Whether the same command, run again, gives the medley of the undisturbed run, and no other files."""
        if not _succeeds(self.medley_command(output / "medley.flac")):
            return False
        names = {f"medley{ending}" for ending in (".flac", ".json", ".cue", ".csv", ".png")}
        same = (output / "medley.flac").read_bytes() == self.medley
        return same and {path.name for path in output.iterdir()} == names

    # The faults.

    def kill_preprocessing(self, rng: np.random.Generator) -> Iterator[bool]:
        """Kill it at a random moment, twice."""
        output = self.fresh("killed")
        for _ in range(2):
            _kill_after(self.build_command(output), rng.uniform(0.2, 0.9) * self.build_seconds)
        yield from [self.is_built(output)] * 2

    def kill_training(self, rng: np.random.Generator) -> Iterator[bool]:
        """Kill it at a random moment, mostly after TensorFlow is loaded."""
        output = self.fresh("killed-run")
        _kill_after(self.train_command(output), rng.uniform(0.4, 0.95) * self.train_seconds)
        yield self.is_trained(output)

    def kill_medleys(self, rng: np.random.Generator) -> Iterator[bool]:
        """Kill only the process that was started: its workers end, and the next medley is as of an undisturbed run."""
        output = self.fresh("killed-medley")
        output.mkdir()
        command = self.medley_command(output / "medley.flac")
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.05, 0.95) * self.medley_seconds)
        process.kill()
        process.wait()
        yield _group_ends(process.pid) and self.is_medley(output)

    def start_every_job_twice(self, rng: np.random.Generator) -> Iterator[bool]:
        """Two at once into one place: one is refused in one line, or both end alike; nothing is lost."""
        for name in ("build", "train", "medley"):
            output = self.fresh("twice")
            output.mkdir()
            target = output / "medley.flac" if name == "medley" else output
            command = getattr(self, f"{name}_command")(target)
            jobs = [
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in "ab"
            ]
            said = [job.communicate()[1] for job in jobs]
            codes = sorted(job.returncode for job in jobs)
            is_clear = codes[0] == 0 and codes[1] in (0, 2) and not any("Traceback" in text for text in said)
            check = {"build": self.is_built, "train": self.is_trained, "medley": self.is_medley}[name]
            yield is_clear and check(output)

    def damage_the_cache_of_medleys(self, rng: np.random.Generator) -> Iterator[bool]:
        """Cut off or turn bits of analysed songs: they are analysed again, or nothing that counts was touched."""
        output = self.fresh("damaged-cache")
        output.mkdir()
        for path in sorted((self.cache / "songs").iterdir()):
            path.write_bytes(_truncated(path.read_bytes(), rng))
        yield self.is_medley(output)

    def fill_the_disk_of_preprocessing(self, rng: np.random.Generator) -> Iterator[bool]:
        """No file may grow beyond a random size: one clear line, no half file, and later all is well."""
        output = self.fresh("full")
        yield _with_full_disk(self.build_command(output), int(rng.integers(1_000, 3_000_000))) and self.is_built(output)

    def fill_the_disk_of_training(self, rng: np.random.Generator) -> Iterator[bool]:
        """The same, while checkpoints and models are written."""
        output = self.fresh("full-run")
        limit = int(rng.integers(1_000, 2 * self.checkpoint.stat().st_size))
        yield _with_full_disk(self.train_command(output), limit) and self.is_trained(output)

    def truncate_records(self, rng: np.random.Generator) -> Iterator[bool]:
        """Cut off shards and manifests."""
        yield from self._damage_records(_truncated, rng)

    def flip_bits_of_records(self, rng: np.random.Generator) -> Iterator[bool]:
        """Turn single bits of shards and manifests."""
        yield from self._damage_records(_flipped, rng)

    def _damage_records(self, damage: Callable, rng: np.random.Generator) -> Iterator[bool]:
        """Each damage must be noticed, and the last one be repaired."""
        output = self.fresh("damaged")
        shutil.copytree(self.records, output)
        for i in range(DAMAGED_AT_ONCE):
            original = rng.choice(sorted([*self.records.glob("*.tfrecord"), self.records / "manifest.json"]))
            (output / original.name).write_bytes(damage(original.read_bytes(), rng))
            is_safe = _intact(output) in (
                None,
                self.hash,
            )  # or nothing that counts was touched: a blank of the manifest
            if i == DAMAGED_AT_ONCE - 1:
                is_safe = is_safe and self.is_built(output)
            shutil.copy(original, output)
            yield is_safe

    def truncate_checkpoints(self, rng: np.random.Generator) -> Iterator[bool]:
        """Cut off checkpoints."""
        yield from self._damage(self.checkpoint, _truncated, rng)

    def flip_bits_of_checkpoints(self, rng: np.random.Generator) -> Iterator[bool]:
        """Turn single bits of checkpoints."""
        yield from self._damage(self.checkpoint, _flipped, rng)

    def damage_models(self, rng: np.random.Generator) -> Iterator[bool]:
        """Cut off model files, or turn single bits."""
        yield from self._damage(self.checkpoint.with_name("best.keras"), (_truncated, _flipped)[rng.integers(2)], rng)

    def _damage(self, original: Path, damage: Callable, rng: np.random.Generator) -> Iterator[bool]:
        """A damaged file is refused by name, or nothing that counts was touched."""
        folder = self.fresh("damaged-run")
        folder.mkdir()
        path = folder / original.name
        for _ in range(DAMAGED_AT_ONCE):
            path.write_bytes(damage(original.read_bytes(), rng))
            try:
                if path.suffix == ".keras":
                    yield np.array_equal(_weights(path), self.weights)
                else:
                    yield np.array_equal(_numbers(folder), self.numbers)
            except (TrainingError, ModelError) as error:
                yield str(path) in str(error)

    def unpack_hostile_archives(self, rng: np.random.Generator) -> Iterator[bool]:
        """Packages whose names lead out of the folder ("zip slip"), some of them damaged."""
        for _ in range(DAMAGED_AT_ONCE):
            yield archives.survives(rng, self.folder / "inside" / "archives")

    def fuzz_audio(self, rng: np.random.Generator) -> Iterator[bool]:
        """Damaged music through the decoder."""
        yield from self._fuzz("audio")

    def fuzz_annotations(self, rng: np.random.Generator) -> Iterator[bool]:
        """Damaged section files through their readers."""
        yield from self._fuzz("annotations")

    def fuzz_cue_sheets(self, rng: np.random.Generator) -> Iterator[bool]:
        """Damaged cue sheets through their reader."""
        yield from self._fuzz("cues")

    def fuzz_state(self, rng: np.random.Generator) -> Iterator[bool]:
        """Damaged receipts, runs, manifests and settings through their readers."""
        yield from self._fuzz("state")

    def _fuzz(self, kind: str) -> Iterator[bool]:
        first, count = self.fuzzed[kind], FUZZED_AT_ONCE[kind]
        self.fuzzed[kind] += count
        while count:
            command = _command("tests.faults.fuzz", kind, str(first), str(count), str(self.folder))
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            numbers = done.stdout.split()
            survived = len(numbers) - (done.returncode != 0)
            yield from [True] * survived
            if done.returncode == 0:
                return
            print(f"{kind} file {first + survived}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
            yield False
            first, count = first + survived + 1, count - survived - 1

    def fresh(self, name: str) -> Path:
        """A folder that is not there yet."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        return path


def _command(module: str, *words: str) -> list[str]:
    return [sys.executable, "-m", module, *words]


def _succeeds(command: list[str]) -> bool:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return done.returncode == 0


def _intact(folder: Path) -> str | None:
    """The hash of records whose shards are all in order; None if a damage is noticed."""
    try:
        manifest = Manifest.read(folder)
        for split in SPLITS:
            manifest.shards(split)
        return manifest.hash
    except RecordsError:
        return None


def _numbers(folder: Path) -> np.ndarray:
    """All numbers of a checkpoint and where it stands, in one array."""
    found: dict[str, np.ndarray] = {}
    progress = resume(folder, found.update)
    values = [value.astype(np.float64).ravel() for _, value in sorted(found.items())]
    return np.concatenate([*values, [float(progress.step), int(digest_json(progress.__dict__)[:8], 16)]])


def _weights(path: Path) -> np.ndarray:
    """All weights of a model file, in one array."""
    return np.concatenate([np.ravel(weights) for weights in read_model(path).get_weights()])


def _truncated(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data))]


def _flipped(data: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(len(data)))
    return data[:place] + bytes([data[place] ^ 1 << int(rng.integers(8))]) + data[place + 1 :]


def _group_ends(group: int) -> bool:
    """Whether all processes that were started with one end within half a minute of it."""
    for _ in range(60):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.5)
    return False


def _with_full_disk(command: list[str], limit: int) -> bool:
    """Run a job whose files may not grow beyond a size: whether it ended with clear words."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited)
    return done.returncode in (0, 1, 2) and "Traceback" not in done.stderr


def _kill_after(command: list[str], seconds: float) -> None:
    """Start a job, and kill it and its workers after a while, unless it is faster."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
