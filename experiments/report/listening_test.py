"""The listening test: pieces of several recordings in two orders, SEN's, by tempo and key, or random."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from djnet.files import digest_json
from djnet.medley import keys
from djnet.ordering import best_order, greedy
from djnet.pages.playable import Scores
from djnet.rng import rng_for

TRIALS = 12
PIECES = 5
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


def listening_test(pieces: Sequence[Piece], score: Scores) -> dict[str, Any] | None:
    """The trials as the page takes them, or nothing if the pieces come from too few recordings.

    Each trial draws its pieces anew, and each two of the three orders meet equally often.
    """
    tracks = sorted({piece.track for piece in pieces})
    if len(tracks) < PIECES:
        return None
    trials = []
    duels = list(itertools.combinations(ORDERS, 2))
    for number in range(TRIALS):
        rng = rng_for(0, "listening", number)
        chosen = rng.choice(len(tracks), PIECES, replace=False)
        own = [[piece for piece in pieces if piece.track == tracks[i]] for i in chosen]
        drawn = [some[rng.integers(len(some))] for some in own]
        orders = _orders(drawn, score, rng)
        first, second = duels[number % len(duels)]
        if orders[first] == orders[second]:  # nothing to compare
            continue
        trials.append(
            {
                "id": f"t{number + 1}",
                "pieces": [{"sound": piece.sound, "start": piece.start, "end": piece.end} for piece in drawn],
                "first": {"name": first, "order": orders[first]},
                "second": {"name": second, "order": orders[second]},
            }
        )
    return {"id": digest_json(trials)[:12], "trials": trials}


def _orders(pieces: Sequence[Piece], score: Scores, rng: np.random.Generator) -> dict[str, list[int]]:
    return {
        "sen": list(best_order(score([piece.mel for piece in pieces])).order),
        "random": rng.permutation(len(pieces)).tolist(),
        "tempo and key": list(greedy(likeness(pieces)).order),
    }


def likeness(pieces: Sequence[Piece]) -> np.ndarray:
    """How near tempo and key of every two pieces are, as other tools go by: -> [n, n]."""
    tempo = np.log2([max(piece.bpm, 1.0) for piece in pieces])
    apart = np.abs(tempo[:, None] - tempo[None, :])
    apart = np.minimum(apart, np.abs(1.0 - apart))  # twice the tempo counts as the same
    near = np.array([[keys.closeness(a.key, b.key) for b in pieces] for a in pieces])
    return near - 4.0 * apart
