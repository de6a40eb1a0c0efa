"""The key of a recording, and how near two keys are on the circle of fifths."""

import numpy as np

NAMES = ("C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B")
# How well each degree of the chromatic scale fits a key, from listening tests (Krumhansl and Kessler 1982).
_MAJOR = (6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88)
_MINOR = (6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17)


def key_of(samples: np.ndarray, rate: int) -> str:
    """The key of a mono recording [N]: "C", "Am", ...; empty if all tones are equally strong."""
    import librosa.feature

    chroma = librosa.feature.chroma_stft(y=samples, sr=rate, n_fft=8192, hop_length=4096, tuning=0.0)
    return best_fit(chroma.mean(axis=1))


def best_fit(chroma: np.ndarray) -> str:
    """The key whose profile correlates best with the strength of the twelve tones from C on: [12] -> its name."""
    if not np.isfinite(chroma).all() or np.ptp(chroma) < 1e-9:
        return ""
    profiles = [np.roll(profile, root) for profile in (_MAJOR, _MINOR) for root in range(12)]
    mode, root = divmod(int(np.corrcoef(profiles, chroma)[-1, :-1].argmax()), 12)
    return NAMES[root] + "m" * mode


def closeness(a: str, b: str) -> float:
    """1 for the same key or its relative, 1/6 less for every fifth between them; 0 if one is unknown."""
    if not a or not b:
        return 0.0
    steps = (_fifths(a) - _fifths(b)) % 12
    return 1.0 - min(steps, 12 - steps) / 6


def _fifths(key: str) -> int:
    """Place on the circle of fifths; a minor key stands with its relative major."""
    root = NAMES.index(key.removesuffix("m")) + (3 if key.endswith("m") else 0)
    return root * 7 % 12
