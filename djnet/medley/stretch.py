"""Time stretching: given times of a recording are moved to given other times, at its own pitch or a transposed one."""

import itertools

import numpy as np
import soxr

_SEAM_SECONDS = 0.015  # on each side of a place where the speed changes
_CONTEXT_SECONDS = 0.15  # around a piece that is stretched


def stretched(samples: np.ndarray, source: np.ndarray, places: np.ndarray, rate: int, semitones: int = 0) -> np.ndarray:
    """Samples [N, 2] with the times `source` moved to `places` (in samples, from 0), evenly in between: -> [M, 2].

    All of it sounds some semitones higher.
    """
    edge, context = round(_SEAM_SECONDS * rate), round(_CONTEXT_SECONDS * rate)
    padding = edge + 2 * context
    padded = np.pad(samples, ((padding, padding), (0, 0)))
    out = np.zeros((places[-1] + 2 * edge, 2), np.float32)
    for number, (a, b) in enumerate(itertools.pairwise(range(len(source)))):
        length = places[b] - places[a]
        if length <= 0:
            continue
        first = round(source[a] * rate) + padding
        speed = (source[b] - source[a]) * rate / length
        if abs(speed - 1) < 1e-4 and not semitones:
            piece = padded[first - edge : first + length + edge]
        else:
            count = round((source[b] - source[a]) * rate)
            around = _at_speed(padded[first - context : first + count + context], speed, rate, semitones)
            skip = round(context / speed) - edge
            piece = around[skip : skip + length + 2 * edge]
        _lay(out, piece, places[a], 0 if number == 0 else 2 * edge)
    return out[edge : edge + places[-1]]


def _lay(out: np.ndarray, piece: np.ndarray, place: int, overlap: int) -> None:
    """Put a piece at a place; its first samples cross-fade with what is there, at constant power."""
    piece = piece[: len(out) - place]
    if overlap:
        old, new = out[place : place + overlap], piece[:overlap]
        correlation = float((old * new).sum() / (np.sqrt((old**2).sum() * (new**2).sum()) + 1e-12))
        rise = np.linspace(0, 1, overlap, dtype=np.float32)[:, None]
        power = np.sqrt(rise**2 + (1 - rise) ** 2 + 2 * rise * (1 - rise) * max(correlation, -0.5))
        out[place : place + overlap] = ((1 - rise) * old + rise * new) / power
    out[place + overlap : place + len(piece)] = piece[overlap:]


def _at_speed(samples: np.ndarray, speed: float, rate: int, semitones: int) -> np.ndarray:
    """Play samples [N, 2] at another speed and some semitones higher: -> [N / speed, 2].

    Transposed by resampling, which meets the pitch to a cent; the library's own transposing misses low tones by six.
    """
    import python_stretch

    if semitones:
        higher = 2 ** (semitones / 12)
        samples, speed = soxr.resample(samples, higher * rate, rate), speed / higher
    stretch = python_stretch.Signalsmith.Stretch()
    stretch.preset(samples.shape[1], rate)
    stretch.timeFactor = speed
    return np.asarray(stretch.process(np.ascontiguousarray(samples.T))).T
