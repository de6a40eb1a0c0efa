"""Files that are wrong at random, through every reader: `python -m tests.faults.fuzz audio FIRST COUNT DIR`.

Runs in a child process with limits on memory and on the time of each file, and prints the number of each file before it
is read, so that the parent knows which one brought it down. File i is always the same.
"""

import contextlib
import io
import os
import re
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

from djnet import audio
from djnet.constants import SAMPLE_RATE_HZ
from djnet.errors import UserError
from djnet.medley import analysis
from djnet.rng import rng_for
from tests.faults import readers

MEMORY_BYTES = 4 << 30
SECONDS_A_FILE = 60  # of the clock: for a machine that is busy
RATE_HZ = 22_050
FORMATS = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".mp3": "MP3", ".aiff": "AIFF", ".au": "AU", ".w64": "W64"}
# What no program that reads a value has thought of.
WRONG_VALUES = (
    "", "null", "true", "-1", "0", "1e999", "nan", "-inf", "9" * 400, "9" * 5_000, "[" * 3_000, "[]", "{}", '""', '"x"',
    '"\\u0000"', '"\\ud800"', "x" * 200_000, "\x00", "\x1b[2J", "\u202e", '"', "'", ",", "\n", "\r", "0x10", "1_000",
    "\u0661",
)  # fmt: skip


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


def misspelt(data: bytes, rng: np.random.Generator) -> bytes:
    """A text with one or two of its words and numbers replaced by a wrong value: mostly of a shape that can be read."""
    for _ in range(rng.integers(1, 3)):
        words = list(re.finditer(rb'"[^"\n]*"|[-\w.]+|\[\]|\{\}', data))
        if not words:
            break
        word = words[rng.integers(len(words))]
        wrong = WRONG_VALUES[rng.integers(len(WRONG_VALUES))].encode("utf-8", "surrogatepass")
        data = data[: word.start()] + wrong + data[word.end() :]
    return data


def _sound(suffix: str, rng: np.random.Generator) -> bytes:
    """A short valid file."""
    buffer = io.BytesIO()
    samples = 0.1 * rng.standard_normal((RATE_HZ // 4, int(rng.integers(1, 3))))
    soundfile.write(buffer, samples, RATE_HZ, format=FORMATS[suffix])
    return buffer.getvalue()


def _decode(path: Path) -> None:
    """What can be probed has as many samples as its probe says, or is an error; a medley leaves it out."""
    with contextlib.suppress(audio.AudioError):
        seconds = audio.probe(path).seconds
        samples = audio.load(path)
        if abs(len(samples) / SAMPLE_RATE_HZ - seconds) > 0.001:
            raise AssertionError(f"{path}: {seconds} s by its probe, {len(samples)} samples.")
    result = analysis._song(str(path), path.parent / "songs", os.getpid())
    if not isinstance(result, str) or "cannot be analysed" in result:
        raise AssertionError(f"{path}: {result}")


def _read(path: Path) -> None:
    with contextlib.suppress(UserError):
        readers.READERS[path.name](path)


def run(kind: str, first: int, count: int, folder: Path) -> None:
    """Read `count` files, from number `first` on; anything but the reader's own error ends the process."""
    read: Callable[[Path], None]
    if kind == "audio":
        valid, read = {f"fuzz{suffix}": _sound(suffix, rng_for(0, "valid", suffix)) for suffix in FORMATS}, _decode
    else:
        valid, read = {name: text.encode() for name, text in readers.VALID[kind].items()}, _read
    names = list(valid)
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(first, first + count):
        name = names[i % len(names)]
        rng = rng_for(0, "fuzz", kind, i)
        path = folder / name
        path.write_bytes((damaged if kind == "audio" or rng.integers(2) else misspelt)(valid[name], rng))
        print(i, flush=True)
        signal.alarm(SECONDS_A_FILE)  # nobody handles it: it ends the process
        read(path)
    signal.alarm(0)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
