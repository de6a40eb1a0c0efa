"""Songs that play whole: from the intro to the outro, whose bars sound together with the neighbours."""

import itertools
from dataclasses import replace

import numpy as np

from djnet.constants import HOPS_PER_SECOND
from djnet.errors import UserError
from djnet.medley import tempo
from djnet.medley.analysis import Song
from djnet.medley.parts import Part, sounding

_QUIET_DB = 12.0  # below the loud bars: the end of a fade-out, a beginning from nothing
_FEWEST_BARS = 4


def whole(song: Song) -> Part:
    """All of a song between two downbeats, without a quiet beginning and the end of a fade-out.

    Where something in it must never play, the longest stretch without that.
    """
    downbeats = song.beats[tempo.trusted(song.beats, song.strengths) & (song.beats[:, 1] == 1), 0]
    if not len(song.bars) or len(downbeats) <= _FEWEST_BARS:
        return Part(song, *_free(song, np.array(sounding(song))), 0, 1.0)
    power = np.expm1(song.mel.astype(np.float32)).mean(axis=1)
    frames = np.clip((downbeats * HOPS_PER_SECOND).astype(int), 0, len(power) - 1)
    level = 10 * np.log10(np.add.reduceat(power, frames)[:-1] / np.maximum(np.diff(frames), 1) + 1e-3)
    loud = np.flatnonzero(level > np.percentile(level, 90) - _QUIET_DB)
    start, end = _free(song, downbeats[loud[0] : loud[-1] + 2])
    return Part(song, start, end, int(((downbeats >= start) & (downbeats < end)).sum()), 1.0)


def _free(song: Song, places: np.ndarray) -> tuple[float, float]:
    """The longest stretch from one of some places to another without what must never play: seconds [K] -> start, end.

    Where there are no downbeats, it may also begin and end where something begins or ends that must not play.
    """
    if len(places) == 2:
        inside = [time for span in song.never for time in span if places[0] < time < places[1]]
        places = np.unique([*places, *inside])
    usable = [song.plays(*span) for span in itertools.pairwise(places)]
    if not any(usable):
        raise UserError(f"{song.name}: never = ... leaves nothing of the song; allow more of it.")
    runs = [list(run) for plays, run in itertools.groupby(range(len(usable)), usable.__getitem__) if plays]
    start, end = max(((places[run[0]], places[run[-1] + 1]) for run in runs), key=lambda span: span[1] - span[0])
    return float(start), float(end)


def with_ends(parts: list[Part]) -> list[Part]:
    """Whole songs in their order: the first from its very beginning, the last to its very end, if that may play."""
    first, last = parts[0], parts[-1]
    begin, end = min(first.start, sounding(first.song)[0]), max(last.end, sounding(last.song)[1])
    parts = [replace(first, start=begin), *parts[1:]] if first.song.plays(begin, first.start) else parts
    return [*parts[:-1], replace(parts[-1], end=end)] if last.song.plays(last.end, end) else parts
