"""A music file -> float32, mono at 22,050 Hz or stereo. The one place that decodes audio."""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr

from djnet.constants import SAMPLE_RATE_HZ
from djnet.errors import UserError

READABLE = frozenset({".aif", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".w64", ".wav"})
# Music that libsndfile does not read: named with a way out rather than passed over.
CONVERTIBLE = frozenset({".aac", ".alac", ".ape", ".m4a", ".m4b", ".mp4", ".mpc", ".webm", ".wma", ".wv"})

_BLOCK_FRAMES = 1 << 17
_PROBE_SECONDS = 2.0
_HASHED_BYTES = 8 << 20  # of the beginning, the middle and the end of a file
_TOLERATED_SECONDS = 0.1  # some encoders promise a few samples too many


class AudioError(UserError):
    """A file that cannot be used, with the reason in words for a person."""

    def __init__(self, path: str | Path, reason: str):
        super().__init__(path, reason)
        self.path, self.reason = str(path), reason

    def __str__(self) -> str:
        return f"{self.path!r}: {self.reason}"


@dataclass(frozen=True)
class Probe:
    """What is known of a file without decoding it whole.

    `content` is a hash of the file's bytes: the same on every machine, so splits hang on it. `sound` is a hash
    of decoded samples: the same for a copy with other tags or in another lossless format, on one machine.
    """

    seconds: float
    content: str
    sound: str


def load(path: str | Path, start: float = 0.0, seconds: float | None = None) -> np.ndarray:
    """Decode a file, or `seconds` of it from `start` on: -> float32 [N] at 22,050 Hz, mono.

    Only the part asked for is read, in blocks, so that the length of the file does not matter.
    """
    return load_at(path, start, seconds, (SAMPLE_RATE_HZ,))[0]


def load_at(path: str | Path, start: float, seconds: float | None, rates: Sequence[int]) -> list[np.ndarray]:
    """Decode once, at several sample rates: -> float32 [N_i], mono, one for each rate."""
    with _opened(path) as sound:
        first = round(start * sound.samplerate)
        left = sound.frames - first
        wanted = left if seconds is None else min(round(seconds * sound.samplerate), left)
        if first < 0 or wanted <= 0:
            length = sound.frames / sound.samplerate
            raise AudioError(path, f"nothing to read at {start:g} s, the file has {length:.1f} s.")
        sound.seek(first)
        streams = [_Resampler(path, sound.samplerate, rate) for rate in rates]
        for block in _mono_blocks(path, sound, wanted):
            _require_numbers(path, block)
            for stream in streams:
                stream.add(block)
    return [stream.end() for stream in streams]


def load_stereo(path: str | Path, start: float, seconds: float, rate: int) -> np.ndarray:
    """Decode a part of a file as it was mixed: -> float32 [N, 2]; more than two channels become one, heard twice.

    The part is where it is in a file decoded from its beginning: compressed formats are read up to it, since seeking
    in some of them leads elsewhere, by a tenth of a second and more.
    """
    with _opened(path) as sound:
        first = min(max(0, round(start * sound.samplerate)), sound.frames)
        if sound.format in ("OGG", "MP3"):
            for skipped in range(0, first, _BLOCK_FRAMES):
                sound.read(min(_BLOCK_FRAMES, first - skipped), dtype="float32")
        else:
            sound.seek(first)
        samples = sound.read(round(seconds * sound.samplerate), dtype="float32", always_2d=True)
        source = sound.samplerate
    _require_numbers(path, samples)
    if samples.shape[1] > 2:
        samples = samples.mean(axis=1, keepdims=True)
    if source != rate and len(samples):
        samples = soxr.resample(samples, source, rate)
    return np.repeat(samples, 2, axis=1) if samples.shape[1] == 1 else samples


def probe(path: str | Path) -> Probe:
    """Length and hashes of a file; an AudioError if it is empty, damaged or cut off."""
    with _opened(path) as sound:
        if sound.frames <= 0:
            raise AudioError(path, "has no samples.")
        window = min(sound.frames, round(_PROBE_SECONDS * sound.samplerate))
        digest = hashlib.blake2b(f"{sound.samplerate} {sound.channels} {sound.frames}".encode(), digest_size=16)
        for first in (0, (sound.frames - window) // 2, sound.frames - window):
            sound.seek(first)
            block = np.concatenate(list(_mono_blocks(path, sound, window)))
            digest.update(np.nan_to_num(block * 32767.0, posinf=0.0, neginf=0.0).round().astype("<i4").tobytes())
        if sound.format == "OGG":
            _require_last_page(path)
        seconds = sound.frames / sound.samplerate
    return Probe(seconds, _hash_bytes(path), digest.hexdigest())


def title_of(path: str | Path) -> tuple[str, str]:
    """Title and artist of a file by its tags; the title by its name if there are none."""
    try:
        with soundfile.SoundFile(os.fsencode(path)) as sound:
            title, artist = sound.title, sound.artist
    except (soundfile.LibsndfileError, OSError):
        title = artist = ""
    return title or Path(path).stem.replace("_", " "), artist or ""


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[soundfile.SoundFile]:
    """An open file; whatever goes wrong inside the block becomes an AudioError that names it."""
    try:
        if Path(path).stat().st_size == 0:
            raise AudioError(path, "is an empty file.")
        if Path(path).suffix.lower() in CONVERTIBLE:
            raise AudioError(path, "is in a format that is not read; convert it, e.g. with: ffmpeg -i IN OUT.flac")
        with _without_notes(path), soundfile.SoundFile(os.fsencode(path)) as sound:
            yield sound
    except soundfile.LibsndfileError as error:
        # For some damaged files libsndfile says that they do not exist; that they do is known here.
        said = error.error_string.rstrip(".")
        if "does not exist" in said or "Internal" in said:
            said = "not the format that its name says, or damaged"
        raise AudioError(path, f"cannot be decoded ({said}).") from error
    except OSError as error:
        raise AudioError(path, f"cannot be read ({error.strerror or error}).") from error


@contextlib.contextmanager
def _without_notes(path: str | Path) -> Iterator[None]:
    """The mp3 decoder writes remarks on damaged files to the process's standard error; the AudioError says it all."""
    if Path(path).suffix.lower() != ".mp3":
        yield
        return
    with open(os.devnull, "w") as nowhere:
        kept = os.dup(2)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _require_numbers(path: str | Path, samples: np.ndarray) -> None:
    if not np.isfinite(samples).all():
        raise AudioError(path, "contains samples that are not numbers (NaN or infinity).")


def _mono_blocks(path: str | Path, sound: soundfile.SoundFile, frames: int) -> Iterator[np.ndarray]:
    """The next `frames` frames as mono blocks; a file much shorter than its header says is an error."""
    mix = np.full(sound.channels, 1.0 / sound.channels, np.float32)
    while frames > 0:
        block = sound.read(min(frames, _BLOCK_FRAMES), dtype="float32", always_2d=True)
        if len(block) == 0 and frames > _TOLERATED_SECONDS * sound.samplerate:
            raise AudioError(path, "is cut off or damaged: it ends before the length in its header.")
        if len(block) == 0:
            return
        frames -= len(block)
        # A product with equal weights is the mean over channels, many times as fast as `mean(axis=1)`.
        yield block @ mix if sound.channels > 1 else block[:, 0]


class _Resampler:
    """Blocks at one sample rate -> one array at another."""

    def __init__(self, path: str | Path, source: int, target: int):
        self._parts: list[np.ndarray] = []
        try:
            self._stream = soxr.ResampleStream(source, target, num_channels=1) if source != target else None
        except (ValueError, RuntimeError) as error:
            raise AudioError(path, f"has a sample rate of {source} Hz that cannot be converted.") from error

    def add(self, block: np.ndarray) -> None:
        self._parts.append(block if self._stream is None else self._stream.resample_chunk(block))

    def end(self) -> np.ndarray:
        if self._stream is not None:
            self._parts.append(self._stream.resample_chunk(np.empty(0, np.float32), last=True))
        return np.concatenate(self._parts)


def _require_last_page(path: str | Path) -> None:
    """An Ogg file that was cut off has no other sign of it than a last page that is not whole."""
    with open(path, "rb") as file:
        file.seek(max(0, Path(path).stat().st_size - (1 << 17)))
        tail = file.read()
    page = tail[tail.rfind(b"OggS") :]
    segments = page[26] if len(page) > 26 else 0
    if len(page) < 27 + segments + sum(page[27 : 27 + segments]) or len(page) < 27:
        raise AudioError(path, "is cut off in the middle of a page.")


def _hash_bytes(path: str | Path) -> str:
    """A hash of size, beginning, middle and end; of every byte up to 24 MiB."""
    size = Path(path).stat().st_size
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with open(path, "rb") as file:
        if size <= 3 * _HASHED_BYTES:
            digest.update(file.read())
        else:
            for first in (0, (size - _HASHED_BYTES) // 2, size - _HASHED_BYTES):
                file.seek(first)
                digest.update(file.read(_HASHED_BYTES))
    return digest.hexdigest()
