"""The frames of an mp3 file, counted by walking from header to header.

Few mp3 files say how long they are. For the others libsndfile estimates the length by the bit rate of the first frame
and reads no further: it counts tags as music, or leaves music out. Half a frame in front of a tag, or other bytes
between the frames, can stop it altogether. So it is given whole frames alone, behind an Info header with their number.
"""

import struct
from dataclasses import dataclass

_KILOBITS = {  # by the four bits of the header; 0 is "free format", which is not read here
    1: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0),
    2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0),
}
_RATES_HZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
_SAME = 0xFFFE0C00  # sync, version, layer and sample rate: the same in every header of a file
_SYNC, _SYNC_MASK, _LAYER_III = 0xFFE00000, 0xFFE60000, 0x00020000
_CHAIN = 3  # headers in a row, each where the one before says, that are not there by chance
_TAGS = (b"ID3", b"TAG", b"APETAGEX", b"LYRICSBEGIN")
_ID3V1_BYTES = 128
_HEADER_KILOBITS_INDEX = 14  # the longest frames: room for an Info header at every sample rate
_DECODER_DELAY = 529  # samples that decoders leave out at the beginning, on top of the delay in an Info header


@dataclass(frozen=True)
class Frames:
    """What there is of an mp3 file: the frames for a decoder and, in seconds, what is there and what is missing."""

    stream: bytes  # an Info header with the number of frames, and the frames
    seconds: float
    promised: float | None  # by a Xing, Info or VBRI header
    lost: float  # by the number of bytes between the frames that are neither frames nor tags
    lost_at: float


class _Format:
    """What the header of one frame says of all frames of the file."""

    def __init__(self, header: int):
        version = header >> 19 & 3
        self.same = header & _SAME
        self.rate = _RATES_HZ[version][header >> 10 & 3]
        self.samples = 1152 if version == 3 else 576
        self.side_bytes = {True: (17, 32), False: (9, 17)}[version == 3][header >> 6 & 3 != 3]
        self.kilobits = _KILOBITS[1 if version == 3 else 2]

    def size(self, header: int) -> int:
        """Bytes of the frame with this header, 0 if it is no header of this file."""
        kilobits = self.kilobits[header >> 12 & 15]
        if header & _SAME != self.same or not kilobits:
            return 0
        return self.samples * 125 * kilobits // self.rate + (header >> 9 & 1)


def find_frames(data: bytes) -> Frames | None:
    """The frames of a Layer III file, None if there are none."""
    if data[-_ID3V1_BYTES:].startswith(b"TAG"):
        data = data[:-_ID3V1_BYTES]
    place, kind = _synchronise(data, _behind_tag(data, 0), None)
    if kind is None:
        return None
    first = data[place : place + kind.size(_header(data, place))]
    is_header, promised = _length_header(first)
    if is_header:
        place += len(first)
    frames: list[bytes] = []
    lost, lost_at = 0, 0
    while place < len(data):
        size = kind.size(_header(data, place))
        if size and place + size <= len(data):
            frames.append(data[place : place + size])
            place += size
            continue
        after, _ = _synchronise(data, _behind_tag(data, place), kind)
        if not size and not data.startswith(_TAGS, place):
            lost_at = lost_at if lost else len(frames)
            lost += after - place
        place = after
    if not frames:
        return None
    has_info = promised is not None and _info_at(first) >= 0
    header = _with_count(first, len(frames)) if has_info else _new_header(_header(first, 0), len(frames), kind)
    seconds = kind.samples / kind.rate
    total = len(frames) * seconds
    return Frames(
        stream=header + b"".join(frames),
        seconds=total,
        promised=None if promised is None else promised * seconds,
        lost=lost * total / sum(map(len, frames)),
        lost_at=lost_at * seconds,
    )


def _header(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 4].ljust(4, b"\0"), "big")


def _behind_tag(data: bytes, place: int) -> int:
    """The place behind an ID3v2 tag that begins here and ends within the file, else the place itself."""
    tag = data[place : place + 10]
    if len(tag) < 10 or not tag.startswith(b"ID3"):
        return place
    size = 0
    for byte in tag[6:]:
        size = size << 7 | byte & 0x7F
    behind = place + len(tag) + size
    return behind if behind < len(data) else place


def _synchronise(data: bytes, place: int, kind: _Format | None) -> tuple[int, _Format | None]:
    """The next place with frames in a row, of this kind if given, and their kind; else the end of the data and None."""
    while (place := data.find(b"\xff", place)) >= 0:
        header = _header(data, place)
        if header & _SYNC_MASK == _SYNC | _LAYER_III and header >> 19 & 3 != 1 and header >> 10 & 3 != 3:
            own = kind or _Format(header)
            if _is_chain(data, place, own):
                return place, own
        place += 1
    return len(data), None


def _is_chain(data: bytes, place: int, kind: _Format) -> bool:
    """Whether whole frames begin here, each where the one before ends; the last may be the end of the file."""
    for count in range(_CHAIN):
        size = kind.size(_header(data, place))
        if not size or place + size > len(data):
            return count > 0 and place + max(size, 1) > len(data)
        place += size
    return True


def _info_at(frame: bytes) -> int:
    """Where in a frame a Xing or Info header begins, -1 if there is none."""
    return max(frame.find(name, 4, 46) for name in (b"Xing", b"Info"))


def _length_header(frame: bytes) -> tuple[bool, int | None]:
    """Whether a frame is a header with the length instead of sound, and how many frames it promises."""
    vbri, info = frame.find(b"VBRI", 32, 44), _info_at(frame)
    if vbri >= 0:
        return True, int.from_bytes(frame[vbri + 14 : vbri + 18], "big")
    if info >= 0 and int.from_bytes(frame[info + 4 : info + 8], "big") & 1:
        return True, int.from_bytes(frame[info + 8 : info + 12], "big")
    return info >= 0, None


def _with_count(frame: bytes, count: int) -> bytes:
    """A Xing or Info header with another number of frames."""
    place = _info_at(frame) + 8
    return frame[:place] + count.to_bytes(4, "big") + frame[place + 4 :]


def _new_header(header: int, count: int, kind: _Format) -> bytes:
    """An Info header that leaves every sample of the frames behind it where it is.

    Decoders take such a header for a promise that the encoder's delay and their own are to be left out. A silent frame
    is put in front of the sound, and the delay is such that this frame is left out and nothing else.
    """
    header = header & ~0xF200 | 0x10000 | _HEADER_KILOBITS_INDEX << 12  # no padding, no checksum
    silent = header.to_bytes(4, "big") + bytes(kind.size(header) - 4)
    delays = (kind.samples - _DECODER_DELAY) << 12 | _DECODER_DELAY
    info = struct.pack(">4sII4s17x3s", b"Info", 1, count + 1, b"LAME", delays.to_bytes(3, "big"))
    first = 4 + kind.side_bytes
    return silent[:first] + info + silent[first + len(info) :] + silent
