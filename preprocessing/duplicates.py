"""Tracks that are the same piece: another mix, master or arrangement, which must not stand in two splits.

Two recordings of a piece have the same sequence of chords and notes. A fingerprint is the chroma of the first minute,
a column every 0.3 s, without what stays the same for several seconds (the key, a drone), so that only the changes are
compared. The similarity of two tracks is the mean cosine of their columns, at the best of all lags up to 20 s.

In the 402 free recordings of the medium set, six pairs have 0.55 or more, each of them one piece in two versions
(Through Space in two games: 0.98; SuperTux's theme and its Christmas version: 0.60), and no other pair has more than
0.48. A pair that is joined by mistake only shares its split.
"""

from pathlib import Path

import numpy as np
import scipy.signal
from scipy.ndimage import uniform_filter1d
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tqdm import tqdm

from djnet import audio, storage
from djnet.constants import SAMPLE_RATE_HZ
from djnet.files import read_array, remove_partial, write_array
from preprocessing.cluster import Engine

SECONDS = 60.0  # of a track that are compared
THRESHOLD = 0.52
VERSION = 1  # of fingerprints and threshold
_WINDOW_SAMPLES = 4_096
_HOP_SAMPLES = SAMPLE_RATE_HZ // 10
_HOPS_PER_COLUMN = 3
_COLUMNS_PER_SECOND = SAMPLE_RATE_HZ / _HOP_SAMPLES / _HOPS_PER_COLUMN
_STEADY_COLUMNS = round(8.0 * _COLUMNS_PER_SECOND)  # the mean over so many is taken off
_LAG_COLUMNS = round(20.0 * _COLUMNS_PER_SECOND)
_LEAST_COLUMNS = round(16.0 * _COLUMNS_PER_SECOND)  # a shorter overlap counts as if the rest of it did not match
_BLOCK_TRACKS = 1_000


def find(paths: dict[str, str], cache: Path, engine: Engine) -> list[set[str]]:
    """Groups of tracks that are the same piece: {content hash: path} -> sets of content hashes, two or more in each."""
    folder = cache / "fingerprints"
    folder.mkdir(parents=True, exist_ok=True)
    remove_partial(folder)
    files = {content: folder / f"{content}-{VERSION}.npy" for content in paths}
    fingerprints: dict[str, np.ndarray] = {}
    for content, file in files.items():
        if (kept := read_array(file)) is not None and kept.ndim == 2:
            fingerprints[content] = kept
    missing = [(content, path) for content, path in paths.items() if content not in fingerprints]
    results = engine(_fingerprint_file, missing)
    for content, result in tqdm(results, desc="compare", total=len(missing), unit="track", disable=not missing):
        if result is not None:
            fingerprints[content] = result
            write_array(files[content], result)
    return same_pieces(fingerprints)


def _fingerprint_file(content: str, path: str) -> tuple[str, np.ndarray | None]:
    """Runs in a worker; no fingerprint for a file that cannot be used, which is named when its clips are made."""
    try:
        with storage.local_copy(path) as local:
            return content, fingerprint(audio.load(local, seconds=SECONDS))
    except (OSError, MemoryError):  # the disk or the machine
        raise
    except Exception:
        return content, None


def fingerprint(samples: np.ndarray) -> np.ndarray:
    """What changes in the chroma of a track's beginning: float32 [N] at 22,050 Hz -> float16 [T, 12], T up to 199."""
    import librosa.filters

    samples = samples[: round(SECONDS * SAMPLE_RATE_HZ)]
    overlap = _WINDOW_SAMPLES - _HOP_SAMPLES
    _, _, power = scipy.signal.spectrogram(samples, 1.0, "hann", _WINDOW_SAMPLES, overlap, detrend=False)
    chroma = (librosa.filters.chroma(sr=SAMPLE_RATE_HZ, n_fft=_WINDOW_SAMPLES) @ power).T
    columns = len(chroma) // _HOPS_PER_COLUMN
    chroma = chroma[: columns * _HOPS_PER_COLUMN].reshape(columns, _HOPS_PER_COLUMN, 12).mean(axis=1)
    loudness = np.log(chroma + 1e-3 * chroma.max() + 1e-9)
    loudness -= loudness.mean(axis=1, keepdims=True)
    changes = loudness - uniform_filter1d(loudness, _STEADY_COLUMNS, axis=0)
    return (changes / np.maximum(np.linalg.norm(changes, axis=1, keepdims=True), 1e-6)).astype(np.float16)


def same_pieces(fingerprints: dict[str, np.ndarray], threshold: float = THRESHOLD) -> list[set[str]]:
    """Groups of two or more keys whose tracks are the same piece, directly or through a third; no key is in two."""
    keys = sorted(fingerprints)
    similar = similarities([fingerprints[key] for key in keys]) > threshold
    _, labels = connected_components(coo_array(similar), directed=False)
    groups = [{keys[i] for i in np.flatnonzero(labels == label)} for label in np.unique(labels)]
    return [group for group in groups if len(group) > 1]


def split_keys(keys: dict[str, str], pieces: list[set[str]]) -> dict[str, str]:
    """Keys by which tracks get their splits: {content hash: key} -> the same, with one key for all of a piece.

    Keys that meet in a piece become the smallest of them, everywhere: if a piece is on two albums and the keys are
    albums, both albums get one split.
    """
    merged = {key: key for key in keys.values()}
    for piece in pieces:
        joined = {merged[keys[content]] for content in piece}
        merged = {key: min(joined) if now in joined else now for key, now in merged.items()}
    return {content: merged[key] for content, key in keys.items()}


def similarities(fingerprints: list[np.ndarray]) -> np.ndarray:
    """Similarity of every track to every other, at the best lag: n arrays of [T_i, 12] -> float32 [n, n], at most 1.

    One matrix product for each lag and block of tracks. The entry (i, j) has i begin later than j; its mirror image has
    the lags the other way, so the larger of the two counts.
    """
    count, columns = len(fingerprints), max(map(len, fingerprints), default=0)
    stacked = np.zeros((count, columns, 12), np.float32)
    present = np.zeros((count, columns), np.float32)
    for i, one in enumerate(fingerprints):
        stacked[i, : len(one)] = one
        present[i, : len(one)] = 1.0
    stacked = stacked.reshape(count, columns * 12)
    best = np.full((count, count), -1.0, np.float32)
    for first in range(0, count, _BLOCK_TRACKS):
        rows = slice(first, first + _BLOCK_TRACKS)
        for lag in range(min(_LAG_COLUMNS + 1, columns)):
            products = stacked[rows, 12 * lag :] @ stacked[:, : 12 * (columns - lag)].T
            overlap = present[rows, lag:] @ present[:, : columns - lag].T
            np.maximum(best[rows], products / np.maximum(overlap, _LEAST_COLUMNS), out=best[rows])
    np.fill_diagonal(best, -1.0)
    return np.maximum(best, best.T)
