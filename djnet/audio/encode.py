"""Samples -> a music file with tags: the same samples give the same bytes."""

import contextlib
import errno
import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import soundfile

from djnet.audio.sample_file import Samples
from djnet.errors import shown
from djnet.files import whole_file

WRITABLE = {
    ".wav": ("WAV", "PCM_16"),
    ".flac": ("FLAC", "PCM_16"),
    ".ogg": ("OGG", "VORBIS"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
}
LOSSY = frozenset({".ogg", ".mp3"})
_BLOCK_FRAMES = 1 << 18
_FULL_BYTES = 1 << 16  # with less room a disk is full
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def write(path: Path, samples: Samples, rate: int, title: str, comment: str, quality: int = 9) -> None:
    """Write samples [N, C], whole or not at all, in the format of the name's ending.

    rate: in Hz
    title, comment: tags
    quality: of mp3 and ogg files, from 1 for the smallest to 10 for the best
    """
    if path.suffix.lower() not in WRITABLE:
        raise ValueError(f"{path.name}: the ending says the format; there are {', '.join(WRITABLE)}.")
    form, subtype = WRITABLE[path.suffix.lower()]
    with sound_file(path) as partial:
        level = {"compression_level": 1 - quality / 10} if path.suffix.lower() in LOSSY else {}
        options = {"samplerate": rate, "channels": samples.shape[1], "format": form, "subtype": subtype, **level}
        with soundfile.SoundFile(os.fsencode(partial), "w", **options) as sound:
            sound.title, sound.comment, sound.software = shown(title), shown(comment), "djnet"
            for first in range(0, len(samples), _BLOCK_FRAMES):  # its Vorbis encoder fails on very long blocks
                sound.write(samples[first : first + _BLOCK_FRAMES])
        if form == "OGG":
            partial.write_bytes(_with_fixed_serial(partial.read_bytes()))


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


def _with_fixed_serial(ogg: bytes) -> bytes:
    """An Ogg file with the serial number 1 instead of a random one, and the pages' checksums to match."""
    pages, place = [], 0
    while place < len(ogg):
        segments = ogg[place + 26]
        size = 27 + segments + sum(ogg[place + 27 : place + 27 + segments])
        page = bytearray(ogg[place : place + size])
        page[14:18] = (1).to_bytes(4, "little")
        page[22:26] = bytes(4)
        page[22:26] = _checksum(bytes(page)).to_bytes(4, "little")
        pages.append(bytes(page))
        place += size
    return b"".join(pages)


def _checksum(page: bytes) -> int:
    """Ogg's CRC: zlib's with every bit the other way round and nothing inverted."""
    mirrored = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)
