"""Files that are wrong at random, through every reader: `python -m tests.faults.fuzz audio FIRST COUNT DIR`.

Runs in a child process with limits on memory and on the time of each file, and prints the number of each file before it
is read, so that the parent knows which one brought it down. File i is always the same.
"""

import contextlib
import io
import json
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

from djnet import audio
from djnet.annotations import AnnotationError, join_short, read_sections
from djnet.cli.settings import read_settings
from djnet.constants import SAMPLE_RATE_HZ
from djnet.errors import UserError
from djnet.medley.receipt import read_receipt
from djnet.records import Manifest
from djnet.rng import rng_for
from experiments.configs import read_run

MEMORY_BYTES = 4 << 30
SECONDS_A_FILE = 60  # of the clock: for a machine that is busy
RATE_HZ = 22_050
FORMATS = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".mp3": "MP3", ".aiff": "AIFF", ".au": "AU", ".w64": "W64"}
ANNOTATIONS = {
    ".csv": "start,end,label\n0,12.5,intro\n12.5,40,verse\n40,71.25,chorus\n",
    ".txt": '0\t1250\t"intro"\n1250\t4000\t"verse A"\n4000\t7125\t"chorus A"\n',
}
CUES = {
    ".cue": 'FILE "a.wav" WAVE\n  TRACK 01 AUDIO\n    TITLE "One"\n    INDEX 01 00:00:00\n  TRACK 02 AUDIO\n'
    '    TITLE "Two"\n    INDEX 01 01:10:37\n',
}

CLIP = {"song": "a.wav", "content": "c", "begin": 0.0, "start": 0.5, "end": 9.0, "bpm": 0, "key": "", "beats": [[1, 1]]}
STATE = {
    "medley.json": json.dumps({"title": "t", "bars": 2, "peak_db": -1.0, "clips": [CLIP, CLIP], "scores": [0.5]}),
    "run.json": json.dumps({"run": {"model": "sen"}, "records": "r", "corpus": {"name": "n"}, "finished": True}),
    "manifest.json": json.dumps({"hash": "", "version": 2, "mean": [0.0], "std": [1.0], "splits": {}}),
    "settings.toml": '["a.wav"]\nstart = 62.5\nlength = 20\n',
}


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes with a few of them changed, cut off, repeated, or random behind a valid header."""
    kind = rng.integers(5)
    raw = bytearray(data)
    if kind == 0:
        for place in rng.integers(0, len(raw), rng.integers(1, 20)):
            raw[place] = rng.integers(256)
    elif kind == 1:  # where lengths, rates and channels stand
        for place in rng.integers(0, min(len(raw), 64), rng.integers(1, 6)):
            raw[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(256)])
    elif kind == 2:
        raw = raw[: rng.integers(len(raw))]
    elif kind == 3:
        header = int(rng.integers(8, 128))
        raw = raw[:header] + rng.bytes(int(rng.integers(4096)))
    else:
        first, last = np.sort(rng.integers(0, len(raw), 2))
        raw = raw[:last] + raw[first:]
    return bytes(raw)


def _sound(suffix: str, rng: np.random.Generator) -> bytes:
    """A short valid file."""
    buffer = io.BytesIO()
    samples = 0.1 * rng.standard_normal((RATE_HZ // 4, int(rng.integers(1, 3))))
    soundfile.write(buffer, samples, RATE_HZ, format=FORMATS[suffix])
    return buffer.getvalue()


def _decode(path: Path) -> None:
    """What can be probed has as many samples as its probe says, or is an error."""
    with contextlib.suppress(audio.AudioError):
        seconds = audio.probe(path).seconds
        samples = audio.load(path)
        if abs(len(samples) / SAMPLE_RATE_HZ - seconds) > 0.001:
            raise AssertionError(f"{path}: {seconds} s by its probe, {len(samples)} samples.")


def _read(path: Path) -> None:
    with contextlib.suppress(AnnotationError):
        join_short(read_sections(path))


def _read_state(path: Path) -> None:
    """Files that jobs leave for the next one, or that people write for us."""
    readers: dict[str, Callable[[Path], object]] = {
        "medley.json": read_receipt,
        "run.json": read_run,
        "manifest.json": lambda path: Manifest.read(path.parent),
        "settings.toml": lambda path: read_settings(path, ["a.wav"]),
    }
    with contextlib.suppress(UserError):
        readers[path.name](path)


def run(kind: str, first: int, count: int, folder: Path) -> None:
    """Read `count` files, from number `first` on; anything but the reader's own error ends the process."""
    if kind == "audio":
        valid, read = {f"fuzz{suffix}": _sound(suffix, rng_for(0, "valid", suffix)) for suffix in FORMATS}, _decode
    elif kind == "state":
        valid, read = {name: text.encode() for name, text in STATE.items()}, _read_state
    else:
        texts = ANNOTATIONS if kind == "annotations" else CUES
        valid, read = {f"fuzz{suffix}": text.encode() for suffix, text in texts.items()}, _read
    names = list(valid)
    for i in range(first, first + count):
        name = names[i % len(names)]
        path = folder / name
        path.write_bytes(damaged(valid[name], rng_for(0, "fuzz", kind, i)))
        print(i, flush=True)
        signal.alarm(SECONDS_A_FILE)  # nobody handles it: it ends the process
        read(path)
    signal.alarm(0)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
