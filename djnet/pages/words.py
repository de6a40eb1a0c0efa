"""A join in words: how the music gets from one song to the next, and what its score is made of."""

from collections.abc import Mapping
from typing import Any

_HOW = {
    "blend": "blend: both songs in step",
    "ramp": "ramp: in step while the tempo changes",
    "overlay": "overlay: a long cross-fade",
    "loop": "loop: the last bar goes on under the next song",
    "sweep": "sweep: a filter closes over the last bars",
    "echo": "echo: the last beat dies away",
    "cut": "cut on the downbeat",
}
# By the lowest value that they stand for, the best first.
_TERMS = {
    "tempo": ((0.8, "beats go together"), (0.5, "beats can follow"), (0.2, "tempos differ"), (0.0, "tempos far apart")),
    "harmony": ((0.8, "keys close"), (0.6, "keys related"), (0.4, "keys distant"), (0.0, "keys clash")),
    "energy": ((0.85, "as strong after it"), (0.6, "a small step in energy"), (0.0, "a large step in energy")),
    "voices": ((0.85, ""), (0.6, "voices may meet"), (0.0, "two voices at once")),
    "sen": ((0.5, "the network hears it go on"), (0.01, "the network likes it a little"), (0.0, "")),
}


def how(join: Mapping[str, Any]) -> str:
    """The transition of a join as the receipt has it: "blend: both songs in step, over 2 bars, stretched by 1.2%"."""
    words = [_HOW.get(join["kind"], join["kind"])]
    if join["bars"]:
        words.append(f"over {join['bars']} bar{'s' * (join['bars'] != 1)}")
    elif join["end"] - join["start"] >= 1.0:
        words.append(f"over {join['end'] - join['start']:.0f} s")
    if join["stretch"] >= 0.0005:
        words.append(f"stretched by {100 * join['stretch']:.1f}%")
    return ", ".join([*words, join["reason"]] if join["reason"] else words)


def why(terms: Mapping[str, float]) -> list[str]:
    """The terms of a score in words; a term that has none is named with its value."""
    return [word for name, value in terms.items() if (word := _word(name, value))]


def _word(name: str, value: float) -> str:
    if name not in _TERMS:
        return f"{name} {value:.2f}"
    return next(word for least, word in _TERMS[name] if value >= least or least == 0.0)


def clock(seconds: float) -> str:
    """Minutes and whole seconds."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"
