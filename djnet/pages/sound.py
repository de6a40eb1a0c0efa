"""Music for a page: small mp3 files that a page opened from disk may read.

A page that was opened from a file cannot fetch other files, but it can load scripts. So a sound is a script that
hands its mp3 over as text; the browser decodes it and cuts it into pieces, exactly where the network's pieces were cut.
"""

import base64
import io
from pathlib import Path

import numpy as np
import soundfile

from djnet import audio

RATE_HZ = 32_000
_COMPRESSION = 0.5  # of 0 (largest) to 1 (smallest): about 60 kbit a second
_LONG_SECONDS, _LONG_COMPRESSION = 60.0, 0.8  # whole songs and mixes: about 45 kbit, or the page would grow too large


def mp3_text(path: str | Path, start: float, seconds: float) -> str:
    """A part of a music file as mono mp3 in base64, as the page's scripts take it."""
    (samples,) = audio.load_at(path, start, seconds, (RATE_HZ,))
    return as_text(samples, RATE_HZ)


def as_text(samples: np.ndarray, rate: int) -> str:
    """Samples [N] as mono mp3 in base64."""
    compression = _LONG_COMPRESSION if len(samples) > _LONG_SECONDS * rate else _COMPRESSION
    peak = float(np.abs(samples).max(initial=1.0))
    return base64.b64encode(mp3(samples / peak, rate, compression)).decode("ascii")


def mp3(samples: np.ndarray, rate: int, compression: float = _COMPRESSION) -> bytes:
    """Samples, [N] or [N, channels], as mp3.

    Of variable bit rate: only then does the file say how many samples the encoder put in front, and cuts are exact.
    """
    buffer = io.BytesIO()
    options = {"format": "MP3", "subtype": "MPEG_LAYER_III", "bitrate_mode": "VARIABLE"}
    soundfile.write(buffer, samples, rate, compression_level=compression, **options)
    return buffer.getvalue()
