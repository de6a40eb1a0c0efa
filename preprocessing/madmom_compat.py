"""madmom 0.16.1 on a current Python and NumPy: the names that it misses are put back before it is imported.

Nothing else of djnet imports madmom. Models and filters are read from the installed package at run time.
"""

import collections
import collections.abc
import importlib
import warnings
from types import ModuleType

import numpy as np


class MadmomMissingError(RuntimeError):
    """madmom is not installed; the message says how to build it."""


def madmom(name: str) -> ModuleType:
    """Import a module of madmom: `madmom("features.downbeats")`."""
    for module, missing, value in (
        (collections, "MutableSequence", collections.abc.MutableSequence),
        (np, "float", float),
        (np, "int", int),
    ):
        if missing not in vars(module):
            setattr(module, missing, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pkg_resources, invalid escapes
            return importlib.import_module(f"madmom.{name}")
    except ImportError as error:
        raise MadmomMissingError(
            f"Downbeats need madmom, which cannot be imported ({error}). Build it with: make madmom. "
            "Fixed-length games work without it (--nodownbeats)."
        ) from error


def plain_activations(samples: np.ndarray) -> np.ndarray:
    """madmom's own network, for comparison: float32 [N] at 44,100 Hz -> float [T, 2]."""
    signal = madmom("audio.signal").Signal(samples, sample_rate=44_100)
    return madmom("features.downbeats").RNNDownBeatProcessor()(signal)


def plain_beats(heard: np.ndarray) -> np.ndarray:
    """madmom's own decoder, for comparison: float [T, 2] -> float [K, 2] (seconds, position in the bar).

    madmom stacks the ragged answers of its bar lengths, which NumPy refuses by now; so each bar length is decoded alone
    and the more probable answer is kept.
    """
    loud = np.flatnonzero((heard >= 0.05).any(axis=1))
    if len(loud) == 0:
        return np.zeros((0, 2))
    answers = []
    for beats in (3, 4):
        processor = madmom("features.downbeats").DBNDownBeatTrackingProcessor(beats_per_bar=[beats], fps=100)
        path, probability = processor.hmms[0].viterbi(heard[loud[0] : loud[-1] + 1])
        # An array of objects is what madmom's own stacking gave on the NumPy of its day.
        ragged = np.empty((1, 2), object)
        ragged[0] = path, probability
        processor.map = lambda function, work, ragged=ragged: ragged
        answers.append((probability, processor.process(heard)))
    return max(answers, key=lambda answer: answer[0])[1]
