"""Music files: decode (`load`, `load_at`, `load_stereo`), look at (`probe`, `title_of`) and encode (`write`)."""

from djnet.audio.decode import (
    CONVERTIBLE,
    READABLE,
    AudioError,
    Probe,
    load,
    load_at,
    load_stereo,
    probe,
    title_of,
)
from djnet.audio.encode import LOSSY, WRITABLE, write

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
    "probe",
    "title_of",
    "write",
]
