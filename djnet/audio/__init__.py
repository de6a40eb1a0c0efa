"""Music files: `load...` and `blocks_at`, `probe`, `title_of` and `name_of`, `write` and `read_back`."""

from djnet.audio.decode import (
    CONVERTIBLE,
    READABLE,
    Probe,
    blocks_at,
    load,
    load_at,
    load_stereo,
    name_of,
    probe,
    title_of,
)
from djnet.audio.encode import LOSSY, WRITABLE, read_back, require_writable, write
from djnet.audio.errors import AudioError

__all__ = [
    "CONVERTIBLE",
    "LOSSY",
    "READABLE",
    "WRITABLE",
    "AudioError",
    "Probe",
    "blocks_at",
    "load",
    "load_at",
    "load_stereo",
    "name_of",
    "probe",
    "read_back",
    "require_writable",
    "title_of",
    "write",
]
