"""The page beside a medley: a player with its time line, songs, beats and joins."""

import base64
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from djnet.audio.sample_file import Samples
from djnet.medley.mix import Mix
from djnet.medley.receipt import names_of
from djnet.medley.transitions import RATE_HZ
from djnet.pages import page, sound, words

_POINTS_A_SECOND = 50
_COMPRESSION = 0.6  # of the music inside the page: about 120 kbit a second


def write_medley(path: Path, music: Path, mix: Mix, receipt: Mapping[str, Any], embed: bool = False) -> None:
    """Write the page of a medley whose music lies beside it or, with `embed`, in the page itself."""
    names = names_of(dict(receipt))
    joins = [asdict(join) for join in mix.joins]
    songs = [
        _song(clip, name, span, beats)
        for clip, name, span, beats in zip(
            receipt["clips"], names, itertools.pairwise(mix.cuts), mix.beats, strict=True
        )
    ]
    data = {
        "seconds": round(mix.cuts[-1], 3),
        "wave": base64.b64encode(peaks(mix.samples).tobytes()).decode("ascii"),
        "points": _POINTS_A_SECOND,
        "songs": songs,
        "joins": [_join(i, join, receipt, names) for i, join in enumerate(joins)],
    }
    text = base64.b64encode(sound.mp3(mix.samples[:], RATE_HZ, _COMPRESSION)).decode("ascii") if embed else ""
    page.write_page(
        path, "medley.html.jinja", title=receipt["title"], music=music.name, data=data, sound=text,
        facts=f"{len(songs)} song{'s' * (len(songs) != 1)}, {words.clock(mix.cuts[-1])}",
        second=_second(receipt),
    )  # fmt: skip


def peaks(samples: Samples) -> np.ndarray:
    """The loudest sample of every 20 ms: [N, 2] -> uint8 [P], 255 is full scale."""
    step, points = RATE_HZ // _POINTS_A_SECOND, [np.zeros(0, np.uint8)]
    for first in range(0, len(samples) // step * step, 60 * RATE_HZ):
        piece = samples[first : first + 60 * RATE_HZ]
        blocks = piece[: len(piece) // step * step].reshape(-1, step * piece.shape[1])
        loud = np.maximum(blocks.max(axis=1), -blocks.min(axis=1))
        points.append(np.clip(255 * loud, 0, 255).astype(np.uint8))
    return np.concatenate(points)


def _song(clip: Mapping[str, Any], name: str, span: tuple[float, float], beats: np.ndarray) -> dict[str, Any]:
    """Where a song is heard, and what of it."""
    facts = [f"{clip['bpm']:.0f} bpm" if clip["bpm"] else "no clear beat", clip["key"]]
    part = f"{words.clock(clip['start'])} to {words.clock(clip['end'])} of the song"
    return {
        "name": name,
        "from": round(span[0], 3),
        "to": round(span[1], 3),
        "facts": ", ".join([part, *facts]),
        "beats": [[round(float(time), 3), int(position)] for time, position in beats],
    }


def _join(i: int, join: dict[str, Any], receipt: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A join with its score in words, and what the second-best order has in its place."""
    terms = receipt.get("terms") or []
    second = (receipt.get("second") or {}).get("songs", [])
    after = dict(itertools.pairwise(second)).get(names[i])
    instead = ""
    if second and after != names[i + 1]:
        instead = f"Second choice: {after} follows here." if after else "Second choice: the medley ends here."
    return {
        "start": round(join["start"], 3),
        "middle": round(join["middle"], 3),
        "end": round(join["end"], 3),
        "how": words.how(join),
        "why": words.why(terms[i]) if i < len(terms) else [],
        "score": round(receipt["scores"][i], 2),
        "instead": instead,
    }


def _second(receipt: Mapping[str, Any]) -> dict[str, Any] | None:
    """The second-best order and how much less it scores in all."""
    second = receipt.get("second")
    if not second or "value" not in receipt:
        return None
    return {"songs": second["songs"], "less": f"{max(0.0, receipt['value'] - second['value']):.2f}"}
