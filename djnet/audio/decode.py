"""A music file -> float32, mono at 22,050 Hz or stereo; its length, hashes and title."""

import contextlib
import hashlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr

from djnet.audio import mpeg, other_formats
from djnet.audio.errors import AudioError
from djnet.constants import SAMPLE_RATE_HZ

_LIBSNDFILE = frozenset({".aif", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".w64", ".wav"})
READABLE = _LIBSNDFILE | (other_formats.ENDINGS if other_formats.is_installed() else frozenset())
# Music that cannot be read here: named with a way out rather than passed over.
CONVERTIBLE = other_formats.ENDINGS - READABLE

_BLOCK_FRAMES = 1 << 17
_PROBE_SECONDS = 2.0
_HASHED_BYTES = 8 << 20  # of the beginning, the middle and the end of a file
_TOLERATED_SECONDS = 0.1  # some encoders promise a few samples too many
_TOLERATED_MPEG_SECONDS = 1.0  # some programs leave bytes between the frames that players skip
_RATES_HZ = (8_000, 384_000)
_MOST_CHANNELS = 64
_LARGEST_MPEG_BYTES = 1 << 30
_UNKNOWN_FRAMES = 1 << 62  # of a flac file from a program that did not know the end when it wrote the beginning
_UNKNOWN_BYTES = 0x7FFFF000  # or more: the same of wav files
_LARGEST_SAMPLE = 1e6  # full scale is 1; the squares of much larger ones overflow


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
    blocks = zip(*blocks_at(path, start, seconds, rates), strict=True)
    return [np.concatenate(own) for own in blocks]


def blocks_at(
    path: str | Path, start: float, seconds: float | None, rates: Sequence[int]
) -> Iterator[list[np.ndarray]]:
    """The same in blocks, as they are decoded: -> float32 [n_i], mono, one for each rate."""
    with _opened(path) as sound:
        first = round(start * sound.samplerate)
        left = sound.frames - first
        wanted = left if seconds is None else min(round(seconds * sound.samplerate), left)
        if first < 0 or wanted <= 0:
            length = sound.frames / sound.samplerate
            raise AudioError(path, f"nothing to read at {start:g} s, the file has {length:.1f} s.")
        streams = [_Resampler(sound.samplerate, rate) for rate in rates]
        for block in _part(path, sound, first, wanted):
            mono = _mono(block)
            yield [stream.next(mono) for stream in streams]
        yield [stream.next(mono[:0], last=True) for stream in streams]


def load_stereo(path: str | Path, start: float, seconds: float, rate: int) -> np.ndarray:
    """Decode a part of a file as it was mixed: -> float32 [N, 2]; more than two channels become one, on both sides."""
    with _opened(path) as sound:
        first = min(max(0, round(start * sound.samplerate)), sound.frames)
        wanted = min(round(seconds * sound.samplerate), sound.frames - first)
        blocks = list(_part(path, sound, first, wanted))
        source, channels = sound.samplerate, sound.channels
    samples = np.concatenate([np.empty((0, channels), np.float32), *blocks])
    if channels > 2:
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
            samples = np.concatenate([_mono(block) for block in _next(path, sound, window)])
            digest.update((samples.clip(-1e4, 1e4) * 32767.0).round().astype("<i4").tobytes())
        _require_promised_bytes(path, sound)
        if sound.format == "OGG":
            _require_last_page(path)
        seconds = sound.frames / sound.samplerate
    return Probe(seconds, _hash_bytes(path), digest.hexdigest())


def title_of(path: str | Path) -> tuple[str, str]:
    """Title and artist of a file by its tags; the title by its name if there are none."""
    title = artist = ""
    with contextlib.suppress(soundfile.LibsndfileError, OSError, AudioError):
        if other_formats.is_other(path):
            tags = other_formats.tags_of(path)
            title, artist = tags.get("title", ""), tags.get("artist", "")
        else:
            with _quiet(path), _tagged(path) as sound:
                title, artist = sound.title, sound.artist
    stem = Path(path).stem.replace("_", " ").encode("utf-8", "replace").decode()  # names of files may be no text
    return _readable(title) or stem, _readable(artist)


def name_of(path: str | Path) -> str:
    """What a file is called in lists: artist and title by its tags, else its name."""
    title, artist = title_of(path)
    return f"{artist} - {title}" if artist else title


def _tagged(path: str | Path) -> soundfile.SoundFile:
    try:
        return soundfile.SoundFile(os.fsencode(path))
    except soundfile.LibsndfileError:  # perhaps by half a frame in front of an ID3v1 tag, of 128 bytes
        return soundfile.SoundFile(io.BytesIO(_mpeg_bytes(path)[:-128]))


def _readable(tag: str) -> str:
    """A tag on one line; nothing if it was written in an encoding that is not known."""
    return "" if "\N{REPLACEMENT CHARACTER}" in tag else " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", tag).split())


class _Sequential(soundfile.SoundFile):
    """A file that is read on from where it stands.

    After every read from a file that can be sought in, soundfile seeks to where it is: that spoils some hundred samples
    of mp3 files with small frames.
    """

    def seekable(self) -> bool:
        return False


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[soundfile.SoundFile]:
    """An open file that knows its length; whatever goes wrong inside the block becomes an AudioError that names it."""
    try:
        if Path(path).stat().st_size == 0:
            raise AudioError(path, "is an empty file.")
        with _quiet(path), _source(path) as source, _Sequential(source) as sound:
            if not _RATES_HZ[0] <= sound.samplerate <= _RATES_HZ[1]:
                raise AudioError(path, f"has a sample rate of {sound.samplerate} Hz; from 8 to 384 kHz are read.")
            if sound.channels > _MOST_CHANNELS:
                raise AudioError(path, f"has {sound.channels} channels; {_MOST_CHANNELS} are the most.")
            if sound.frames >= _UNKNOWN_FRAMES:
                raise AudioError(path, "does not say how long it is; convert it, e.g. with: ffmpeg -i IN OUT.flac")
            yield sound
    except soundfile.LibsndfileError as error:
        # For some damaged files libsndfile says that they do not exist; that they do is known here.
        said = error.error_string.rstrip(".")
        if "does not exist" in said or "Internal" in said:
            said = "not the format that its name says, or damaged"
        raise AudioError(path, f"cannot be decoded ({said}).") from error
    except OSError as error:
        raise AudioError(path, f"cannot be read ({error.strerror or error}).") from error


def _may_be_mpeg(path: str | Path) -> bool:
    """Whether the name or the first bytes are those of an mp3 file: some have other names."""
    with open(path, "rb") as file:
        head = file.read(3)
    synchronised = len(head) > 1 and head[0] == 0xFF and head[1] >= 0xE0
    return head == b"ID3" or synchronised or Path(path).suffix.lower() == ".mp3"


def _mpeg_bytes(path: str | Path) -> bytes:
    """An mp3 file, which is read whole."""
    if (size := Path(path).stat().st_size) > _LARGEST_MPEG_BYTES:
        raise AudioError(path, f"has {size / 1e6:.0f} MB; mp3 files of up to {_LARGEST_MPEG_BYTES / 1e6:.0f} are read.")
    return Path(path).read_bytes()


@contextlib.contextmanager
def _source(path: str | Path) -> Iterator[bytes | io.BytesIO]:
    """What libsndfile is to open: the path or, for an mp3 file, its frames alone, which must be whole."""
    if other_formats.is_other(path):
        with other_formats.decoded(path) as wav:
            yield os.fsencode(wav)
        return
    frames = mpeg.find_frames(_mpeg_bytes(path)) if _may_be_mpeg(path) else None
    if frames is None:
        yield os.fsencode(path)
        return
    if frames.promised is not None and frames.promised - frames.seconds > _TOLERATED_SECONDS:
        reason = f"is cut off or damaged: it has {frames.seconds:.1f} s of the {frames.promised:.1f} s in its header."
        raise AudioError(path, reason)
    if frames.lost > _TOLERATED_MPEG_SECONDS:
        reason = f"is damaged: about {frames.lost:.1f} s of it, from {frames.lost_at:.1f} s on, are no audio frames."
        raise AudioError(path, reason)
    yield io.BytesIO(frames.stream)


def _quiet(path: str | Path) -> contextlib.AbstractContextManager[None]:
    """The mp3 decoder writes remarks on damaged files to the process's standard error; the AudioError says it all."""
    return _without_stderr() if _may_be_mpeg(path) else contextlib.nullcontext()


@contextlib.contextmanager
def _without_stderr() -> Iterator[None]:
    with open(os.devnull, "w") as nowhere:
        kept = os.dup(2)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _part(path: str | Path, sound: soundfile.SoundFile, first: int, frames: int) -> Iterator[np.ndarray]:
    """The frames [first, first + frames) of a file in blocks [n, C], just as in a file decoded from its beginning.

    Compressed formats are decoded up to there: seeking in some of them leads elsewhere, by a tenth of a second or more.
    """
    if sound.format in ("OGG", "MP3"):
        for _ in _next(path, sound, first):
            pass
    else:
        sound.seek(first)
    yield from _next(path, sound, frames)


def _next(path: str | Path, sound: soundfile.SoundFile, frames: int) -> Iterator[np.ndarray]:
    """The next `frames` frames in blocks [n, C]; an AudioError if the file ends before or has no sensible samples.

    A few frames that are missing at the end are silence, so that there are always as many as the file has by its probe.
    """
    while frames > 0:
        block = sound.read(min(frames, _BLOCK_FRAMES), dtype="float32", always_2d=True)
        if len(block) == 0 and frames > _TOLERATED_SECONDS * sound.samplerate:
            raise AudioError(path, "is cut off or damaged: it ends before the length in its header.")
        if len(block) == 0:
            block = np.zeros((frames, sound.channels), np.float32)
        largest = np.abs(block).max()
        if not np.isfinite(largest):
            raise AudioError(path, "contains samples that are not numbers (NaN or infinity).")
        if largest > _LARGEST_SAMPLE:
            raise AudioError(path, f"contains samples as large as {largest:.3g}; full scale is 1.")
        frames -= len(block)
        yield block


def _mono(block: np.ndarray) -> np.ndarray:
    """The mean over channels: [n, C] -> [n]."""
    channels = block.shape[1]
    # A product with equal weights is many times as fast as `mean(axis=1)`.
    return block @ np.full(channels, 1.0 / channels, np.float32) if channels > 1 else block[:, 0]


class _Resampler:
    """Blocks at one sample rate -> blocks at another."""

    def __init__(self, source: int, target: int):
        self._stream = soxr.ResampleStream(source, target, num_channels=1) if source != target else None

    def next(self, block: np.ndarray, last: bool = False) -> np.ndarray:
        return block if self._stream is None else self._stream.resample_chunk(block, last)


def _require_promised_bytes(path: str | Path, sound: soundfile.SoundFile) -> None:
    """For wav, aiff and au, libsndfile takes the length from what is there and notes in its log what was promised."""
    sizes = re.search(r"^ *(?:data|SSND|Data Size) *: (\d+) \(should be (\d+)\)", sound.extra_info, re.MULTILINE)
    if sizes is None or int(sizes[1]) >= _UNKNOWN_BYTES:
        return
    promised, there = int(sizes[1]), int(sizes[2])
    missing = (promised / max(1, there) - 1) * sound.frames / sound.samplerate
    if missing > _TOLERATED_SECONDS:
        raise AudioError(path, f"is cut off: {missing:.1f} s of what its header promises are missing.")


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
