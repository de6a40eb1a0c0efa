"""madmom's hidden Markov model of a bar, decoded with less work: activations [T, 2] -> beats [K, 2].

A state is a position in the bar at a tempo. Within a beat each state has one successor, the next position at the same
tempo; the tempo can change only where a beat begins. madmom's Viterbi decoder treats all states alike; this one adds
the same numbers in the same order, and so finds the same path.
"""

from dataclasses import dataclass
from functools import cache

import numba
import numpy as np

from djnet.downbeats.madmom import madmom

BEATS_PER_BAR = (3, 4)
_OBSERVATION_LAMBDA = 16


@dataclass(frozen=True)
class _Bar:
    """States of a bar of b beats at i tempos; those of one beat at one tempo are a row of consecutive numbers."""

    first: np.ndarray  # int [b * i]: first state of every row
    length: np.ndarray  # int [b * i]: states of the row, the beat's length in frames
    early: np.ndarray  # int [b * i]: how many states at its beginning count as the beat itself
    change: np.ndarray  # float [i, i]: log probability of a tempo (first) after a tempo (second)
    reach: np.ndarray  # int [i, 2]: first and one past the last tempo that can come before a tempo
    positions: np.ndarray  # float [states]: 0 to b
    on_beat: np.ndarray  # bool [states]


def decode(activations: np.ndarray, frames_per_second: int = 100, threshold: float = 0.05) -> np.ndarray:
    """Beats and their positions in the bar: float [T, 2] -> float [K, 2] (seconds, 1 for a downbeat); maybe none."""
    loud = np.flatnonzero((activations >= threshold).any(axis=1))
    if len(loud) == 0:
        return np.zeros((0, 2))
    offset = int(loud[0])
    activations = activations[offset : loud[-1] + 1]
    bars = [_bar(beats, frames_per_second) for beats in BEATS_PER_BAR]
    results = [_best_path(activations, bar) for bar in bars]
    # The most probable bar length; the first one where two are equally so.
    bar, (path, _) = max(zip(bars, results, strict=True), key=lambda item: item[1][1])
    frames = _peaks(activations, bar.on_beat[path])
    numbers = bar.positions[path[frames]].astype(int) + 1
    return np.stack([(frames + offset) / frames_per_second, numbers], axis=1)


def _peaks(activations: np.ndarray, on_beat: np.ndarray) -> np.ndarray:
    """The frame of the highest activation in every run of frames on a beat: [T, 2], bool [T] -> int [K]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on_beat.astype(np.int8), [0]])))
    highest = activations.max(axis=1)
    return np.array([a + int(np.argmax(highest[a:b])) for a, b in edges.reshape(-1, 2)], int)


def _best_path(activations: np.ndarray, bar: _Bar) -> tuple[np.ndarray, float]:
    """The most probable states and their log probability: [T, 2] -> int [T], float."""
    activations = activations.astype(np.float32)
    with np.errstate(divide="ignore"):
        densities = np.empty((len(activations), 3))
        densities[:, 0] = np.log((1.0 - np.sum(activations, axis=1)) / (_OBSERVATION_LAMBDA - 1))
        densities[:, 1:] = np.log(activations)
    return _viterbi(densities, bar.first, bar.length, bar.early, bar.change, bar.reach)


@numba.njit(cache=True, nogil=True)
def _viterbi(densities, first, length, early, change, reach):
    frames, rows, tempos = len(densities), len(first), len(change)
    beats = rows // tempos
    states = first[rows - 1] + length[rows - 1]
    before = np.full(states, -np.log(states))
    after = np.empty(states)
    ending = np.empty(tempos)
    came_from = np.empty((frames, rows), np.int32)  # the row that a first state was entered from
    for t in range(frames):
        silent = densities[t, 0]
        for beat in range(beats):
            sounding = densities[t, 2] if beat == 0 else densities[t, 1]
            previous = (beat - 1) % beats * tempos
            for old in range(tempos):
                ending[old] = before[first[previous + old] + length[previous + old] - 1]
            for tempo in range(tempos):
                row = beat * tempos + tempo
                best, best_old = -np.inf, 0
                for old in range(reach[tempo, 0], reach[tempo, 1]):
                    value = ending[old] + change[tempo, old]
                    if value > best:
                        best, best_old = value, old
                came_from[t, row] = previous + best_old
                begin = first[row]
                after[begin] = best + sounding
                for state in range(begin + 1, begin + early[row]):
                    after[state] = before[state - 1] + sounding
                for state in range(begin + early[row], begin + length[row]):
                    after[state] = before[state - 1] + silent
        before, after = after, before
    path = np.empty(frames, np.int64)
    state = int(np.argmax(before))
    probability = before[state]
    row = int(np.searchsorted(first, state, side="right")) - 1
    for t in range(frames - 1, -1, -1):
        path[t] = state
        if state == first[row]:
            row = came_from[t, row]
            state = first[row] + length[row] - 1
        else:
            state -= 1
    return path, probability


@cache
def _bar(beats: int, frames_per_second: int) -> _Bar:
    """The model of a bar, with madmom's own states and probabilities."""
    processor = madmom("features.downbeats").DBNDownBeatTrackingProcessor
    model = processor(beats_per_bar=[beats], fps=frames_per_second, observation_lambda=_OBSERVATION_LAMBDA).hmms[0]
    space = model.transition_model.state_space
    first = np.concatenate(space.first_states).astype(np.int64)
    length = np.concatenate(space.last_states).astype(np.int64) - first + 1
    on_beat = np.asarray(model.observation_model.pointers) >= 1
    early = np.array([int(on_beat[a : a + n].sum()) for a, n in zip(first, length, strict=True)])
    tempos = length[: len(space.first_states[0])]
    tempo_change = madmom("features.beats_hmm").exponential_transition
    with np.errstate(divide="ignore"):
        change = np.log(tempo_change(tempos, tempos, model.transition_model.transition_lambda[0])).T.copy()
    reach = np.array([[known[0], known[-1] + 1] for known in map(np.flatnonzero, np.isfinite(change))])
    return _Bar(first, length, early, change, reach, space.state_positions, on_beat)
