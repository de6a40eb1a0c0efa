"""The listening test: pieces of several recordings in two orders, SEN's, by tempo and key, or random."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from djnet import audio
from djnet.constants import HOP_SAMPLES, SAMPLE_RATE_HZ
from djnet.files import digest_json
from djnet.medley import tempo
from djnet.medley.key import closeness, key_of
from djnet.medley.tempo import octaves_apart
from djnet.ordering import best_order, greedy
from djnet.pages.puzzles import Score, puzzle_of, sound_span, to_seconds
from djnet.rng import rng_for
from experiments.report.assets import Assets
from experiments.report.music import ClipWithMusic, Music

TRIALS = 12
PIECES = 5
TRACKS = 20
ORDERS = ("sen", "random", "tempo and key")


@dataclass(frozen=True)
class Piece:
    """About eight seconds of a recording, from downbeat to downbeat, and what the orders go by."""

    track: str
    sound: str
    start: float  # seconds of the sound
    end: float
    mel: np.ndarray  # [T, 128]
    bpm: float
    key: str


def listening_test(music: Music) -> dict[str, Any] | None:
    """The listening test as the page takes it, or nothing if too few recordings have downbeats."""
    by_track: dict[str, ClipWithMusic] = {}
    for one in music.clips:
        if "downbeat/3" in one.clip.segmentations:
            by_track.setdefault(one.clip.track, one)
    if len(by_track) < PIECES:
        return None
    chosen = tqdm(list(by_track.values())[:TRACKS], desc="listening test", unit="track")
    pieces = [piece for one in chosen for piece in _pieces(one, music.assets)]
    trials = draw_trials(pieces, music.scorers["downbeat"].scores)
    return {"id": digest_json(trials)[:12], "trials": trials}


def _pieces(one: ClipWithMusic, assets: Assets) -> Iterator[Piece]:
    """A clip's three pieces of about eight seconds, from downbeat to downbeat."""
    clip, recording = one
    sound = assets.add_sound(recording, *sound_span(clip))
    samples = audio.load(recording.path, *sound_span(clip))
    cuts, times = clip.segmentations["downbeat/3"].cuts, clip.beats[:, 0]
    puzzle = puzzle_of(clip, cuts)
    seconds = itertools.pairwise(to_seconds(cuts))
    for piece, (first, last), (start, end) in zip(puzzle.truth, itertools.pairwise(cuts), seconds, strict=True):
        part = samples[first * HOP_SAMPLES : last * HOP_SAMPLES]
        bpm = tempo.bpm(clip.beats[(times >= start) & (times <= end)])
        yield Piece(clip.track, sound, start, end, puzzle.fragments[piece], bpm, key_of(part, SAMPLE_RATE_HZ))


def draw_trials(pieces: Sequence[Piece], score: Score) -> list[dict[str, Any]]:
    """Trials that each draw their pieces anew from five tracks; each two of the three orders meet equally often."""
    tracks = sorted({piece.track for piece in pieces})
    trials = []
    contests = itertools.cycle(itertools.combinations(ORDERS, 2))
    for number, (first, second) in zip(range(TRIALS), contests, strict=False):
        rng = rng_for(0, "listening", number)
        chosen = rng.choice(len(tracks), PIECES, replace=False)
        choices = [[piece for piece in pieces if piece.track == tracks[i]] for i in chosen]
        drawn = [some[rng.integers(len(some))] for some in choices]
        orders = {
            "sen": list(best_order(score([piece.mel for piece in drawn])).order),
            "random": rng.permutation(len(drawn)).tolist(),
            "tempo and key": list(greedy(likeness(drawn)).order),
        }
        trial = {
            "id": f"t{number + 1}",
            "pieces": [{"sound": piece.sound, "start": piece.start, "end": piece.end} for piece in drawn],
            "first": {"name": first, "order": orders[first]},
            "second": {"name": second, "order": orders[second]},
        }
        if orders[first] != orders[second]:  # else there is nothing to compare
            trials.append(trial)
    return trials


def likeness(pieces: Sequence[Piece]) -> np.ndarray:
    """How near tempo and key of every two pieces are, as other tools go by: -> [n, n]."""
    bpm = np.array([piece.bpm for piece in pieces])
    near = np.array([[closeness(a.key, b.key) for b in pieces] for a in pieces])
    return near - 4.0 * octaves_apart(bpm[:, None], bpm)
