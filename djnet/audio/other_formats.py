"""Formats that libsndfile does not read, such as m4a and wma: FFmpeg decodes them into a temporary wav file.

FFmpeg comes with PyAV (`pip install djnet[formats]`); without it the program `ffmpeg` is used, if there is one.
"""

import contextlib
import importlib.util
import mmap
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from djnet import processes
from djnet.audio.errors import AudioError
from djnet.files import temporary_folder

ENDINGS = frozenset({
    ".3gp", ".aac", ".ac3", ".alac", ".ape", ".asf", ".avi", ".dsf", ".m4a", ".m4b", ".m4p", ".mka", ".mkv", ".mov",
    ".mp4", ".mpc", ".tta", ".webm", ".wma", ".wv",
})  # fmt: skip
# What FFmpeg may take a file for: no playlists and scripts, which would make it open other files and addresses.
_CONTAINERS = "aac,ac3,aiff,ape,asf,avi,dsf,flac,matroska,mov,mp3,mpc,mpc8,ogg,tta,wav,wv"
_WITHOUT_LENGTH = ("aac", "ac3", "mp3")
_FIRST_BYTES = re.compile(rb"....ftyp|\x1a\x45\xdf\xa3|\x30\x26\xb2\x75", re.DOTALL)  # mp4, Matroska, Windows Media
_ENCRYPTED = re.compile(rb"stsd.{12}(?:drms|drmi|enca|aavd)", re.DOTALL)  # where an mp4 file names its codec
_TOLERATED_SECONDS = 1.0
_LONGEST_SECONDS = 7200.0  # what is decoded to a temporary file: 2.8 GB of it
_TOO_LONG = f"is longer than {_LONGEST_SECONDS / 3600:g} hours; cut a piece out of it."
_CHANGES = "is damaged or changes its sample rate or channels on the way; convert it, e.g. with: ffmpeg -i IN OUT.flac"
# Samples in front of the music that encoders put there; used where the file does not say how many there are. The first
# frame of AAC is never whole; of mp3, 576 samples are LAME's and 529 the decoder's.
_DELAY_SAMPLES = {"aac": 1024, "mp3": 1105, "mp3float": 1105, "ac3": 256}


def is_installed() -> bool:
    """Whether FFmpeg is here in one way or the other."""
    return _has_pyav() or shutil.which("ffmpeg") is not None


def is_other(path: str | Path) -> bool:
    """Whether a file is for FFmpeg, by its name or by its first bytes: some m4a files are called mp3."""
    if Path(path).suffix.lower() in ENDINGS:
        return True
    with open(path, "rb") as file:
        return _FIRST_BYTES.match(file.read(8)) is not None


@contextlib.contextmanager
def decoded(path: str | Path) -> Iterator[Path]:
    """The same sound as a file that libsndfile reads, for as long as the block lasts."""
    _require_unencrypted(path)
    if not is_installed():
        reason = "is in a format that needs FFmpeg: pip install djnet[formats], or install the program ffmpeg."
        raise AudioError(path, reason)
    with temporary_folder() as folder:
        output = folder / "decoded.wav"
        (_decode if _has_pyav() else _decode_by_program)(path, output)
        yield output


def tags_of(path: str | Path) -> dict[str, str]:
    """Tags of the container by their names in small letters, `title` and `artist` among them; empty without FFmpeg."""
    if _has_pyav():
        import av

        with contextlib.suppress(av.FFmpegError, OSError), _opened(path) as container:
            return {name.lower(): text for name, text in container.metadata.items()}
    if shutil.which("ffmpeg"):
        said = _ffmpeg(path, "-f", "ffmetadata", "-").stdout
        lines = (re.sub(r"\\(.)", r"\1", line).partition("=") for line in said.splitlines() if "=" in line)
        return {name.lower(): text for name, _, text in lines}
    return {}


def _has_pyav() -> bool:
    return importlib.util.find_spec("av") is not None


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    import av

    # An open file and not its name, which FFmpeg would take for an address if there is a colon in it.
    options = {"format_whitelist": _CONTAINERS}
    with open(path, "rb") as file, av.open(file, options=options, metadata_errors="replace") as container:
        yield container


def _decode(path: str | Path, output: Path) -> None:
    """Decode with PyAV; an AudioError if there is no sound or more than a second of it is damaged or missing."""
    import av

    try:
        with _opened(path) as container:
            if not container.streams.audio:
                raise AudioError(path, "is a video without sound.")
            stream = container.streams.best("audio")
            if stream.codec_context is None:
                raise AudioError(path, "holds sound in a codec that FFmpeg does not know.")
            packets = list(container.demux(stream))
            damaged: list[Any] = []
            seconds = _write(path, output, _blocks(path, container, stream, packets, damaged), stream)
            promised = _promised_seconds(container, stream, packets, damaged, seconds)
    except av.FFmpegError as error:
        raise AudioError(path, f"cannot be decoded ({error.strerror}).") from error
    if promised - seconds > _TOLERATED_SECONDS:
        raise AudioError(path, _incomplete(seconds, promised))


def _incomplete(seconds: float, promised: float) -> str:
    return f"is cut off or damaged: {seconds:.1f} s of its {promised:.1f} s can be decoded."


def _write(path: str | Path, output: Path, blocks: Iterator[np.ndarray], stream: Any) -> float:
    """Write blocks [n, C] to a file: -> its length in seconds."""
    first = next(blocks, None)
    if first is None:
        raise AudioError(path, "cannot be decoded (there is no sound in it).")
    rate, channels = stream.codec_context.sample_rate, first.shape[1]
    with soundfile.SoundFile(str(output), "w", rate, channels, subtype="FLOAT", format="RF64") as sound:
        sound.write(first)
        for block in blocks:
            if block.shape[1] != channels:
                raise AudioError(path, _CHANGES)
            sound.write(block)
            if sound.tell() > _LONGEST_SECONDS * rate:
                raise AudioError(path, _TOO_LONG)
        return sound.tell() / rate


def _blocks(
    path: str | Path, container: Any, stream: Any, packets: list[Any], damaged: list[Any]
) -> Iterator[np.ndarray]:
    """The samples in blocks [n, C] from the first of the music on; `damaged` packets are added up and are silence."""
    import av

    resampler = av.AudioResampler(format="flt")
    delay, codec = 0, stream.codec_context
    if not packets[0].has_sidedata("skip_samples"):
        delay = _DELAY_SAMPLES.get(codec.name, 0)
    # Of wma, two frames in front are left out, as is right for Microsoft's encoder; FFmpeg's own puts one there.
    has_one = codec.name in ("wmav1", "wmav2") and container.metadata.get("encoder", "").startswith("Lavf")
    if has_one:
        codec.flags2 |= av.codec.context.Flags2.skip_manual
    for packet in packets:
        try:
            frames = [part for frame in packet.decode() for part in resampler.resample(frame)]
            blocks = [frame.to_ndarray().reshape(frame.samples, -1) for frame in frames]
        except av.FFmpegError:
            damaged.append(packet)
            if sum(map(_seconds, damaged)) > _TOLERATED_SECONDS:
                at = float((packet.pts or 0) * packet.time_base)
                raise AudioError(path, f"is damaged: what lies around {at:.1f} s cannot be decoded.") from None
            blocks = [np.zeros((round(_seconds(packet) * codec.sample_rate), codec.channels), np.float32)]
        except ValueError:  # of the resampler
            raise AudioError(path, _CHANGES) from None
        for block in blocks[has_one and packet is packets[0] :]:
            left_out = min(delay, len(block))
            delay -= left_out
            yield block[left_out:]


def _seconds(packet: Any) -> float:
    return float((packet.duration or 0) * packet.time_base)


def _promised_seconds(container: Any, stream: Any, packets: list[Any], damaged: list[Any], seconds: float) -> float:
    """How long the sound is by the header or, where none says it, by the bytes that were not decoded; 0: unknown."""
    if container.format.name in _WITHOUT_LENGTH:
        decoded = sum(packet.size for packet in packets) - sum(packet.size for packet in damaged)
        return seconds * (container.size - (packets[0].pos or 0)) / max(1, decoded)
    if stream.duration is not None:
        return float(stream.duration * stream.time_base)
    return container.duration / 1e6 if container.duration and len(container.streams) == 1 else 0.0


def _decode_by_program(path: str | Path, output: Path) -> None:
    """Decode with the program ffmpeg, which stops at the first packet that is damaged."""
    limit = ("-t", f"{_LONGEST_SECONDS + 1:g}")
    done = _ffmpeg(path, "-map", "0:a:0", *limit, "-c:a", "pcm_f32le", "-f", "wav", "-rf64", "auto", str(output))
    said = done.stderr
    if "matches no streams" in said:
        raise AudioError(path, "is a video without sound.")
    if done.returncode or not output.exists():
        raise AudioError(path, "cannot be decoded (damaged, or not the format that its name says).")
    seconds = soundfile.info(str(output)).duration
    if seconds > _LONGEST_SECONDS:
        raise AudioError(path, _TOO_LONG)
    length = re.search(r"Duration: (\d+):(\d+):([\d.]+), start", said)
    promised = sum(60**i * float(part) for i, part in enumerate(reversed(length.groups()))) if length else 0.0
    if promised - seconds > _TOLERATED_SECONDS and Path(path).suffix.lower()[1:] not in _WITHOUT_LENGTH:
        raise AudioError(path, _incomplete(seconds, promised))


def _ffmpeg(path: str | Path, *words: str) -> subprocess.CompletedProcess[str]:
    options = ["-nostdin", "-hide_banner", "-nostats", "-xerror", "-format_whitelist", _CONTAINERS]
    return processes.run(["ffmpeg", *options, "-i", f"file:{path}", *words])


def _require_unencrypted(path: str | Path) -> None:
    """Songs bought from Apple before 2009, films and audio books may be encrypted."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[4:8] == b"ftyp" and _ENCRYPTED.search(data):
            raise AudioError(path, "is protected against copying (DRM); only programs of the shop play it.")
