"""Chroma -> key, and how near two keys are. For display, and to choose between joins that are equally good."""

import numpy as np

NAMES = ("C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B")
# How well each degree of the chromatic scale fits a key, from listening tests (Krumhansl and Kessler 1982).
_MAJOR = (6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88)
_MINOR = (6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17)


def key_of(chroma: np.ndarray) -> str:
    """The key whose profile fits best: [12], from C on -> "C", "Am", ...; nothing if all tones are equally strong."""
    if not np.isfinite(chroma).all() or np.ptp(chroma) < 1e-9:
        return ""
    fits = {
        NAMES[root] + mode: float(np.corrcoef(np.roll(profile, root), chroma)[0, 1])
        for profile, mode in ((_MAJOR, ""), (_MINOR, "m"))
        for root in range(12)
    }
    return max(fits, key=fits.__getitem__)


def closeness(a: str, b: str) -> float:
    """1 for the same key or its relative, less with every fifth between them, 0 for the furthest and the unknown."""
    if not a or not b:
        return 0.0
    steps = (_fifths(a) - _fifths(b)) % 12
    return 1.0 - min(steps, 12 - steps) / 6


def _fifths(key: str) -> int:
    """Place on the circle of fifths; a minor key stands with its relative major."""
    root = NAMES.index(key.removesuffix("m")) + (3 if key.endswith("m") else 0)
    return root * 7 % 12
