"""What `djnet medley --explain SONG` prints: how a song was read, and why which part of it plays."""

import itertools

import numpy as np

from djnet.cli.text import clock, count, table
from djnet.medley.analysis import Song
from djnet.medley.arrange import Arrangement
from djnet.medley.energy import energies

_SUNG = 0.5  # probability of a voice from which on somebody sings


def explain_text(song: Song, arrangement: Arrangement) -> str:
    """Tempo, metre with its evidence, bars, key, voices, and the candidate parts with what their fitness is made of."""
    rows = [
        ("tempo", f"{song.bpm:.1f} beats a minute" if song.bpm else "no clear beat"),
        ("metre", _meter(song)),
        ("bars", _bars(song)),
        ("key", song.key or "not clear"),
        ("voices", f"{100 * np.mean(song.voices > _SUNG):.0f}% of the time" if len(song.voices) else "not looked for"),
        ("loudness", f"{song.loudness:.1f} LUFS as recorded"),
    ]
    return "\n".join([f"{song.name} ({song.path})", table(rows), _candidates(song, arrangement)])


def _meter(song: Song) -> str:
    """Beats in a bar, and how likely the other readings are."""
    beats = int(song.beats[:, 1].max(initial=0))
    if not beats:
        return "no beats"
    if not song.readings:
        return f"{beats} beats in a bar; no other reading was compared"
    likeliest = max(reading[2] for reading in song.readings)
    listed = [
        f"{meter:.0f} beats at {bpm:.0f}: {likelihood - likeliest:.0f}" for meter, bpm, likelihood in song.readings
    ]
    return f"{beats} beats in a bar; log likelihood a minute, against the likeliest: {', '.join(listed)}"


def _bars(song: Song) -> str:
    """How many bars there are, and where they were followed although they are not clear."""
    if not len(song.bars):
        return "none that are clear"
    span = f"{clock(song.bars[0])} to {clock(song.bars[-1])} of {clock(song.seconds)}"
    missed = sum(1 for clear, _ in itertools.groupby(song.clear) if not clear)
    words = f"{len(song.clear)} from {span}, {int(song.clear.sum())} of them clear"
    return f"{words}; followed through {count(missed, 'unclear passage')}" if missed else words


def _candidates(song: Song, arrangement: Arrangement) -> str:
    """A table of the parts that might play: fitness and its terms, energy among all parts, and which was chosen."""
    offered = list(itertools.chain(*arrangement.offered)) or arrangement.parts
    own = [(part, energy) for part, energy in zip(offered, energies(offered), strict=True) if part.song is song]
    playing = [(part.start, part.end) for part in arrangement.parts if part.song is song]
    terms = list(dict.fromkeys(name for part, _ in own for name in part.terms))
    rows = [("part of it", "bars", "fitness", *terms, "energy rank", "")]
    for part, energy in own:
        values = [f"{part.terms[name] + 0.0:+.2f}" if name in part.terms else "" for name in terms]
        only = {"first": "only as the beginning of the medley", "last": "only as its end"}.get(part.only, "")
        chosen = "plays" if (part.start, part.end) in playing else only
        span = f"{clock(part.start)}-{clock(part.end)}"
        rows.append((span, str(part.bars), f"{part.fitness:.2f}", *values, f"{energy:.2f}", chosen))
    return table(rows) if playing else f"{table(rows)}\nThe song is left out."
