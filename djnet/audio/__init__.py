"""Music files: decode (`load`, `load_at`, `load_stereo`), look at (`probe`, `title_of`, `name_of`), `write`."""

from djnet.audio.decode import (
    CONVERTIBLE,
    READABLE,
    Probe,
    load,
    load_at,
    load_stereo,
    name_of,
    probe,
    title_of,
)
from djnet.audio.encode import LOSSY, WRITABLE, write
from djnet.audio.errors import AudioError

__all__ = [
    "CONVERTIBLE",
    "LOSSY",
    "READABLE",
    "WRITABLE",
    "AudioError",
    "Probe",
    "load",
    "load_at",
    "load_stereo",
    "name_of",
    "probe",
    "title_of",
    "write",
]
