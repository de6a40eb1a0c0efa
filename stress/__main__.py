"""Break things for a while and count: `python -m stress [minutes]`.

Every fault is followed by the same command again, and what comes out must be what an undisturbed run gives. A fault is
survived if it was noticed, named in one line, and nothing is missing afterwards; everything else is lost.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from djnet.files import digest_json
from djnet.records import SPLITS, Manifest, RecordsError
from djnet.rng import rng_for
from experiments.checkpoints import TrainingError, resume

SONGS = 8
FUZZED_AT_ONCE = {"audio": 1_000, "annotations": 1_000}
AT_LEAST_AUDIO = 10_000

# A fault is a function that does one thing and yields whether each of its faults was survived.
Fault = Callable[[np.random.Generator], Iterator[bool]]


class Bench:
    """A folder with music, its records and a training run, each made once without a fault."""

    def __init__(self, folder: Path):
        self.folder, self.cache = folder, folder / "cache"
        self.records, self.runs = folder / "records", folder / "runs"
        self.fuzzed = Counter[str]()
        assert self.build(self.records).returncode == 0
        self.hash = Manifest.read(self.records).hash
        assert self.train(self.runs).returncode == 0
        self.checkpoint = next(self.runs.glob("*/*/checkpoint.npz"))
        self.weights = _weights(self.checkpoint.parent)

    def command(self, module: str, *flags: str) -> list[str]:
        """A job of the project."""
        return [sys.executable, "-m", module, *flags]

    def build_flags(self, output: Path) -> list[str]:
        """Records of a few generated songs."""
        flags = ["--corpus=synthetic", f"--songs={SONGS}", "--nodownbeats", "--workers=2"]
        return self.command("preprocessing.build", *flags, f"--cache={self.cache}", f"--output={output}")

    def train_flags(self, output: Path) -> list[str]:
        """A very small network for a few epochs."""
        flags = ["--model=sn", "--epochs=4", "--batch_clips=4", "--ablation=tower=(4,4)", "--ablation=dense=(8,)"]
        return self.command("experiments.train", *flags, f"--data={self.records}", f"--output={output}")

    def build(self, output: Path, **options) -> subprocess.CompletedProcess:
        """Run preprocessing to its end."""
        return subprocess.run(self.build_flags(output), capture_output=True, text=True, **options)

    def train(self, output: Path) -> subprocess.CompletedProcess:
        """Train to the end."""
        return subprocess.run(self.train_flags(output), capture_output=True, text=True)

    def is_right(self, output: Path) -> bool:
        """Whether a folder ends up with the records of the undisturbed run when the job is run again."""
        return self.build(output).returncode == 0 and Manifest.read(output).hash == self.hash

    # The faults.

    def kill_preprocessing(self, rng: np.random.Generator) -> Iterator[bool]:
        """Kill it at a random moment, once or twice."""
        output = self.fresh("killed")
        for _ in range(rng.integers(1, 3)):
            _kill_after(self.build_flags(output), rng.uniform(0.5, 12.0))
        yield self.is_right(output)

    def kill_training(self, rng: np.random.Generator) -> Iterator[bool]:
        """Kill it at a random moment; all epochs must be there in the end, and the weights be numbers."""
        output = self.fresh("killed-run")
        _kill_after(self.train_flags(output), rng.uniform(5.0, 30.0))
        done = self.train(output)
        folder = next(output.glob("*/*"))
        rows = (folder / "history.csv").read_text().splitlines()
        yield done.returncode == 0 and len(rows) == 1 + 4 and np.isfinite(_weights(folder)).all()

    def fill_the_disk(self, rng: np.random.Generator) -> Iterator[bool]:
        """No file may grow beyond a random size: one clear line, no half file, and later all is well."""
        output = self.fresh("full")
        limit = int(rng.integers(1_000, 3_000_000))
        done = self.build(output, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        clear = done.returncode in (0, 1, 2) and "Traceback" not in done.stderr
        yield clear and self.is_right(output)

    def damage_records(self, rng: np.random.Generator) -> Iterator[bool]:
        """Cut off or change a shard or the manifest: it must be noticed, and made again."""
        output = self.fresh("damaged")
        shutil.copytree(self.records, output)
        path = rng.choice(sorted([*output.glob("*.tfrecord"), output / "manifest.json"]))
        _damage(path, rng)
        try:
            manifest = Manifest.read(output)
            for split in SPLITS:
                manifest.shards(split)
            is_safe = manifest.hash == self.hash  # nothing that counts was touched: a blank of the manifest
        except RecordsError:
            is_safe = True
        yield is_safe and self.is_right(output)

    def damage_checkpoints(self, rng: np.random.Generator) -> Iterator[bool]:
        """Cut off or change a checkpoint many times: it is refused by name, or nothing that counts was touched."""
        folder = self.fresh("checkpoint")
        folder.mkdir()
        for _ in range(50):
            shutil.copy(self.checkpoint, folder / "checkpoint.npz")
            _damage(folder / "checkpoint.npz", rng)
            try:
                yield np.array_equal(_weights(folder), self.weights)
            except TrainingError:
                yield True

    def fuzz_audio(self, rng: np.random.Generator) -> Iterator[bool]:
        """Damaged music through the decoder."""
        yield from self._fuzz("audio")

    def fuzz_annotations(self, rng: np.random.Generator) -> Iterator[bool]:
        """Damaged section files and cue sheets through their readers."""
        yield from self._fuzz("annotations")

    def _fuzz(self, kind: str) -> Iterator[bool]:
        first, count = self.fuzzed[kind], FUZZED_AT_ONCE[kind]
        self.fuzzed[kind] += count
        while count:
            command = self.command("stress.fuzz", kind, str(first), str(count), str(self.folder))
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


def _weights(folder: Path) -> np.ndarray:
    """All numbers of a checkpoint and where it stands, in one array."""
    found: dict[str, np.ndarray] = {}
    progress = resume(folder, found.update)
    values = [value.astype(np.float64).ravel() for _, value in sorted(found.items())]
    return np.concatenate([*values, [float(progress.step), int(digest_json(progress.__dict__)[:8], 16)]])


def _damage(path: Path, rng: np.random.Generator) -> None:
    """Cut a file off, or turn a bit of it."""
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    if rng.integers(3) == 0:
        data = data[:place]
    else:
        data[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)


def _kill_after(command: list[str], seconds: float) -> None:
    """Start a job, and kill it and its workers after a while, unless it is faster."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main(minutes: float = 10.0) -> int:
    """Inject faults until the time is over and enough files were fuzzed; -> how many were lost."""
    injected, survived = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="djnet-stress-") as folder:
        bench = Bench(Path(folder))
        faults: list[Fault] = [bench.fuzz_audio, bench.damage_records, bench.damage_checkpoints]
        faults += [bench.kill_preprocessing, bench.fuzz_annotations, bench.fill_the_disk, bench.kill_training]
        end, turn = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end or bench.fuzzed["audio"] < AT_LEAST_AUDIO:
            fault = faults[turn % len(faults)] if time.monotonic() < end else bench.fuzz_audio
            for was_survived in fault(rng_for(0, "stress", turn)):
                injected[fault.__name__] += 1
                survived[fault.__name__] += was_survived
            turn += 1
            name = fault.__name__
            print(f"{name}: {injected[name]} faults, {injected[name] - survived[name]} lost", flush=True)
    print("\n| fault | injected | survived | lost |\n|---|---|---|---|")
    for name in sorted(injected):
        print(f"| {name.replace('_', ' ')} | {injected[name]} | {survived[name]} | {injected[name] - survived[name]} |")
    lost = injected.total() - survived.total()
    print(f"| all | {injected.total()} | {survived.total()} | {lost} |")
    return lost


if __name__ == "__main__":
    sys.exit(1 if main(*map(float, sys.argv[1:2])) else 0)
