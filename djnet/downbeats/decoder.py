"""madmom's hidden Markov model of a bar, decoded with less work: activations [T, 2] -> beats [K, 2].

A state is a position in the bar at a tempo. Within a beat each state has one successor, the next position at the same
tempo; the tempo can change only where a beat begins. madmom's Viterbi decoder treats all states alike; this one adds
the same numbers in the same order, and so finds the same path.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from djnet.downbeats.madmom import madmom

BEATS_PER_BAR = (3, 4)
SLOWEST_BPM, FASTEST_BPM = 55.0, 215.0
_OBSERVATION_LAMBDA = 16


@dataclass(frozen=True)
class _Bar:
    """States of a bar of b beats at i tempos; those of one beat at one tempo are a row of consecutive numbers."""

    first: np.ndarray  # int [b * i]: first state of every row
    length: np.ndarray  # int [b * i]: states of the row, the beat's length in frames
    early: np.ndarray  # int [b * i]: how many states at its beginning count as the beat itself
    change: np.ndarray  # float [i, i]: log probability of a tempo (first) after a tempo (second)
    positions: np.ndarray  # float [states]: 0 to b
    on_beat: np.ndarray  # bool [states]


class Reading(NamedTuple):
    """Beats [K, 2] (seconds, 1 for a downbeat) of the most probable path through bars of one length, and its log."""

    beats: np.ndarray
    log_probability: float


def decode(activations: np.ndarray, frames_per_second: int = 100, threshold: float = 0.05) -> np.ndarray:
    """Beats and their positions in the bar: float [T, 2] -> float [K, 2] (seconds, 1 for a downbeat); maybe none."""
    readings = [read(activations, beats, frames_per_second, threshold) for beats in BEATS_PER_BAR]
    # The most probable bar length; the first one where two are equally so.
    return max(readings, key=lambda reading: reading.log_probability).beats


def read(
    activations: np.ndarray,
    beats_per_bar: int,
    frames_per_second: int = 100,
    threshold: float = 0.05,
    bpm: tuple[float, float] = (SLOWEST_BPM, FASTEST_BPM),
) -> Reading:
    """The best path through bars of so many beats, between two tempos: float [T, 2] -> Reading, maybe without beats."""
    loud = np.flatnonzero((activations >= threshold).any(axis=1))
    if len(loud) == 0:
        return Reading(np.zeros((0, 2)), 0.0)
    offset = int(loud[0])
    activations = activations[offset : loud[-1] + 1]
    bar = _bar(beats_per_bar, frames_per_second, *bpm)
    path, log_probability = _best_path(activations, bar)
    frames = _peaks(activations, bar.on_beat[path])
    numbers = bar.positions[path[frames]].astype(int) + 1
    return Reading(np.stack([(frames + offset) / frames_per_second, numbers], axis=1), log_probability)


def _peaks(activations: np.ndarray, on_beat: np.ndarray) -> np.ndarray:
    """The frame of the highest activation in every run of frames on a beat: [T, 2], bool [T] -> int [K]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on_beat.astype(np.int8), [0]])))
    highest = activations.max(axis=1)
    return np.array([a + int(np.argmax(highest[a:b])) for a, b in edges.reshape(-1, 2)], int)


def _best_path(activations: np.ndarray, bar: _Bar) -> tuple[np.ndarray, float]:
    """The most probable states and their log probability: [T, 2] -> int [T], float.

    In every frame, all values move on by one state within their rows; a row's first state is entered from the last
    states of the beat before. States on a beat, at the beginning of a row, are kept apart from those between beats.
    """
    activations = activations.astype(np.float32)
    with np.errstate(divide="ignore"):
        between = np.log((1.0 - np.sum(activations, axis=1)) / (_OBSERVATION_LAMBDA - 1)).astype(float)
        beat, downbeat = np.log(activations).astype(float).T
    tempos = len(bar.change)
    states, downbeats = len(bar.positions), bar.early[:tempos].sum()
    on = np.full(bar.early.sum(), -np.log(states))
    off = np.full(states - len(on), -np.log(states))
    on_last, off_last = np.cumsum(bar.early) - 1, np.cumsum(bar.length - bar.early) - 1
    on_first, off_first = on_last + 1 - bar.early, off_last + 1 - (bar.length - bar.early)
    before, places = np.roll(off_last, tempos), np.arange(len(bar.first)) * tempos
    ways = np.empty((len(bar.first) // tempos, tempos, tempos))
    came_from = np.empty(
        (len(activations), len(bar.first)), np.min_scalar_type(tempos)
    )  # the tempo that a row was entered from
    for t in range(len(activations)):
        np.add(off[before].reshape(-1, 1, tempos), bar.change, out=ways)
        best = ways.argmax(axis=2).ravel()
        came_from[t] = best
        entering, leaving = ways.ravel()[places + best], on[on_last]
        off[1:] = off[:-1] + between[t]
        off[off_first] = leaving + between[t]
        on[1:] = on[:-1]
        on[on_first] = entering
        on[:downbeats] += downbeat[t]
        on[downbeats:] += beat[t]
    values = np.empty(states)
    values[bar.on_beat], values[~bar.on_beat] = on, off
    return _follow_back(int(np.argmax(values)), came_from, bar), values.max()


def _follow_back(state: int, came_from: np.ndarray, bar: _Bar) -> np.ndarray:
    """The path that ends in a state: int [T, rows] -> int [T]."""
    path = np.empty(len(came_from), np.int64)
    tempos, end = len(bar.change), len(path)
    row = int(np.searchsorted(bar.first, state, side="right")) - 1
    while end > 0:
        begin = max(0, end - 1 - (state - bar.first[row]))
        path[begin:end] = np.arange(state + 1 - (end - begin), state + 1)
        row = (row // tempos * tempos - tempos) % len(bar.first) + int(came_from[begin, row])
        state, end = bar.first[row] + bar.length[row] - 1, begin
    return path


@cache
def _bar(beats: int, frames_per_second: int, slowest: float = SLOWEST_BPM, fastest: float = FASTEST_BPM) -> _Bar:
    """The model of a bar between two tempos, with madmom's own states and probabilities."""
    processor = madmom("features.downbeats").DBNDownBeatTrackingProcessor
    model = processor(
        beats_per_bar=[beats], min_bpm=slowest, max_bpm=fastest, fps=frames_per_second,
        observation_lambda=_OBSERVATION_LAMBDA,
    ).hmms[0]  # fmt: skip
    space = model.transition_model.state_space
    first = np.concatenate(space.first_states).astype(np.int64)
    length = np.concatenate(space.last_states).astype(np.int64) - first + 1
    on_beat = np.asarray(model.observation_model.pointers) >= 1
    early = np.array([int(on_beat[a : a + n].sum()) for a, n in zip(first, length, strict=True)])
    tempos = length[: len(space.first_states[0])]
    tempo_change = madmom("features.beats_hmm").exponential_transition
    with np.errstate(divide="ignore"):
        change = np.log(tempo_change(tempos, tempos, model.transition_model.transition_lambda[0])).T.copy()
    return _Bar(first, length, early, change, space.state_positions, on_beat)
