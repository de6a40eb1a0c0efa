"""Samples -> a music file with tags, and back: the same samples give the same bytes. FFmpeg (PyAV) writes m4a."""

import contextlib
import errno
import importlib.util
import itertools
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from djnet.audio.sample_file import Samples
from djnet.errors import UserError, shown
from djnet.files import whole_file

WRITABLE = {
    ".wav": ("WAV", "PCM_16"),
    ".flac": ("FLAC", "PCM_16"),
    ".ogg": ("OGG", "VORBIS"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
    ".m4a": ("ipod", "aac"),  # FFmpeg's names
}
LOSSY = frozenset({".ogg", ".mp3", ".m4a"})
_AAC_BITS = 32_000  # a second, for each step of quality
_BLOCK_FRAMES = 1 << 18
_FULL_BYTES = 1 << 16  # with less room a disk is full
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def require_writable(path: Path) -> None:
    """A UserError says why no file of this name can be written."""
    ending = path.suffix.lower()
    if ending not in WRITABLE:
        raise UserError(f"{path}: the ending says the format; there are {', '.join(WRITABLE)}.")
    if ending == ".m4a" and importlib.util.find_spec("av") is None:
        raise UserError(f"{path}: m4a files are written by FFmpeg: pip install 'djnet[formats]', or choose .mp3.")


def write(
    path: Path,
    samples: Samples,
    rate: int,
    title: str,
    comment: str,
    quality: int = 9,
    chapters: Sequence[tuple[float, str]] = (),
) -> None:
    """Write samples [N, C], whole or not at all, in the format of the name's ending.

    rate: in Hz
    title, comment: tags
    quality: of mp3, ogg and m4a files, from 1 for the smallest to 10 for the best
    chapters: of an m4a file, where they begin in seconds and their names; to other files they are added as tags
    """
    require_writable(path)
    form, subtype = WRITABLE[path.suffix.lower()]
    if path.suffix.lower() == ".m4a":
        _write_m4a(path, samples, rate, {"title": shown(title), "comment": shown(comment)}, quality, chapters)
        return
    with sound_file(path) as partial:
        level = {"compression_level": 1 - quality / 10} if path.suffix.lower() in LOSSY else {}
        options = {"samplerate": rate, "channels": samples.shape[1], "format": form, "subtype": subtype, **level}
        with soundfile.SoundFile(os.fsencode(partial), "w", **options) as sound:
            sound.title, sound.comment, sound.software = shown(title), shown(comment), "djnet"
            for first in range(0, len(samples), _BLOCK_FRAMES):  # its Vorbis encoder fails on very long blocks
                sound.write(samples[first : first + _BLOCK_FRAMES])
        if form == "OGG":
            _fix_serial(partial)


def _write_m4a(
    path: Path,
    samples: Samples,
    rate: int,
    tags: dict[str, str],
    quality: int,
    chapters: Sequence[tuple[float, str]],
) -> None:
    """AAC in an MP4 file. Its edit list leaves out the samples that the encoder puts in front of the music."""
    import av

    form, codec = WRITABLE[".m4a"]
    layout = "stereo" if samples.shape[1] == 2 else "mono"
    with whole_file(path) as partial, open(partial, "wb") as file, av.open(file, "w", format=form) as container:
        stream: Any = container.add_stream(codec, rate=rate, layout=layout, bit_rate=_AAC_BITS * quality)
        container.metadata.update(tags)
        edges = [round(rate * start) for start, _ in chapters] + [len(samples)]
        container.set_chapters([
            {"id": i, "start": start, "end": end, "time_base": Fraction(1, rate), "metadata": {"title": name}}
            for i, ((start, end), (_, name)) in enumerate(zip(itertools.pairwise(edges), chapters, strict=True))
        ])  # fmt: skip
        for first in range(0, len(samples), _BLOCK_FRAMES):
            block = np.ascontiguousarray(samples[first : first + _BLOCK_FRAMES].T, np.float32)
            frame = av.AudioFrame.from_ndarray(block, format="fltp", layout=layout)
            frame.sample_rate, frame.pts = rate, first
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def read_back(path: Path) -> Iterator[np.ndarray]:
    """What a file holds that was written here, in blocks [n, C]."""
    if path.suffix.lower() == ".m4a":
        import av

        with open(path, "rb") as file, av.open(file, "r") as container:
            for frame in container.decode(audio=0):
                yield frame.to_ndarray().T
    else:
        with soundfile.SoundFile(os.fsencode(path)) as sound:
            yield from sound.blocks(_BLOCK_FRAMES, dtype="float32", always_2d=True)


@contextlib.contextmanager
def sound_file(path: Path) -> Iterator[Path]:
    """As `files.whole_file`, for soundfile to write to: what it says of a full disk becomes an OSError."""
    with whole_file(path) as partial:
        try:
            yield partial
        except (soundfile.LibsndfileError, AssertionError) as error:  # soundfile asserts that all was written
            if shutil.disk_usage(partial.parent).free < _FULL_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(partial)) from error
            raise OSError(errno.EIO, f"cannot be written ({str(error) or 'not all of it'})", str(partial)) from error


def _fix_serial(path: Path) -> None:
    """Give an Ogg file the serial number 1 instead of a random one, page by page, with checksums to match."""
    with open(path, "r+b") as file:
        while header := file.read(27):
            sizes = file.read(header[26])
            page = bytearray(header + sizes + file.read(sum(sizes)))
            page[14:18] = (1).to_bytes(4, "little")
            page[22:26] = bytes(4)
            page[22:26] = _checksum(bytes(page)).to_bytes(4, "little")
            file.seek(-len(page), os.SEEK_CUR)
            file.write(page)


def _checksum(page: bytes) -> int:
    """Ogg's CRC: zlib's with every bit the other way round and nothing inverted."""
    mirrored = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)
