"""madmom's own answers, for comparison."""

import numpy as np

from djnet.downbeats.madmom import downbeat_processor, madmom


def activations(samples: np.ndarray) -> np.ndarray:
    """madmom's own network: float32 [N] at 44,100 Hz -> float [T, 2]."""
    return downbeat_processor()(madmom("audio.signal").Signal(samples, sample_rate=44_100))


def beats(activations: np.ndarray) -> np.ndarray:
    """madmom's own decoder: float [T, 2] -> float [K, 2] (seconds, position in the bar).

    madmom stacks the ragged answers of its bar lengths, which NumPy refuses by now; so each bar length is decoded alone
    and the more probable answer is kept.
    """
    loud = np.flatnonzero((activations >= 0.05).any(axis=1))
    if len(loud) == 0:
        return np.zeros((0, 2))
    answers = []
    for beats_per_bar in (3, 4):
        processor = madmom("features.downbeats").DBNDownBeatTrackingProcessor(beats_per_bar=[beats_per_bar], fps=100)
        path, probability = processor.hmms[0].viterbi(activations[loud[0] : loud[-1] + 1])
        # An array of objects is what madmom's own stacking gave on the NumPy of its day.
        ragged = np.empty((1, 2), object)
        ragged[0] = path, probability
        processor.map = lambda function, work, ragged=ragged: ragged
        answers.append((probability, processor.process(activations)))
    return max(answers, key=lambda answer: answer[0])[1]
