"""Songs that play whole: from the intro to the outro, whose bars sound together with the neighbours."""

from dataclasses import replace

import numpy as np

from djnet.constants import HOPS_PER_SECOND, hops_to_seconds
from djnet.medley import tempo
from djnet.medley.analysis import Song
from djnet.medley.parts import Part

_QUIET_DB = 12.0  # below the loud bars: the end of a fade-out, a beginning from nothing
_FEWEST_BARS = 4
_AUDIBLE = 0.1  # mean log-mel of a frame


def whole(song: Song) -> Part:
    """All of a song between two downbeats, without a quiet beginning and the end of a fade-out."""
    downbeats = song.beats[tempo.trusted(song.beats, song.strengths) & (song.beats[:, 1] == 1), 0]
    if not len(song.bars) or len(downbeats) <= _FEWEST_BARS:
        return Part(song, *sounding(song), 0, 1.0)
    power = np.expm1(song.mel.astype(np.float32)).mean(axis=1)
    frames = np.clip((downbeats * HOPS_PER_SECOND).astype(int), 0, len(power) - 1)
    level = 10 * np.log10(np.add.reduceat(power, frames)[:-1] / np.maximum(np.diff(frames), 1) + 1e-3)
    loud = np.flatnonzero(level > np.percentile(level, 90) - _QUIET_DB)
    first, last = int(loud[0]), int(loud[-1]) + 1
    return Part(song, float(downbeats[first]), float(downbeats[last]), last - first, 1.0)


def sounding(song: Song) -> tuple[float, float]:
    """From the first sound of a song to its last, in seconds."""
    frames = np.flatnonzero(song.mel.mean(axis=1, dtype=np.float32) > _AUDIBLE)
    if not len(frames):
        return 0.0, song.seconds
    return float(hops_to_seconds(frames[0])), min(song.seconds, float(hops_to_seconds(frames[-1] + 1)))


def with_ends(parts: list[Part]) -> list[Part]:
    """Whole songs in their order: the first from its very beginning, the last to its very end."""
    first = replace(parts[0], start=min(parts[0].start, sounding(parts[0].song)[0]))
    parts = [first, *parts[1:]]
    return [*parts[:-1], replace(parts[-1], end=max(parts[-1].end, sounding(parts[-1].song)[1]))]
