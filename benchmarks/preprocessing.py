"""Decoding, features, records, and what a second core gives."""

import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import librosa
import numpy as np
import soundfile

from benchmarks.measure import Line, music, seconds
from djnet import audio, constants
from djnet.corpora import Corpus
from djnet.dataset import Epoch, fragment_batches
from djnet.features import log_mel
from djnet.pairs import pairs_of
from djnet.records import SPLITS, Manifest
from preprocessing.build import build
from preprocessing.clips import Settings
from preprocessing.cluster import engine_for


def lines() -> Iterator[Line]:
    """Every measurement of preprocessing."""
    corpus = music()
    with tempfile.TemporaryDirectory() as folder:
        yield from _features([track.path for track in corpus.tracks[:8]], Path(folder))
        yield from _records(corpus, Path(folder))


def _features(paths: list[str], folder: Path) -> Iterator[Line]:
    """Log-mel spectrograms of whole tracks in three formats, against librosa's."""
    total = sum(soundfile.info(path).duration for path in paths)
    formats = {"as they are (ogg)": paths}
    for suffix in ("wav", "flac"):
        formats[suffix] = [str(folder / f"{i}.{suffix}") for i in range(len(paths))]
        for path, copy in zip(paths, formats[suffix], strict=True):
            samples, rate = soundfile.read(path, dtype="int16")
            soundfile.write(copy, samples, rate)
    for name, files in formats.items():
        ours, decode, theirs = (seconds(_each, work, files) for work in (_our_mel, audio.load, _librosa_mel))
        detail = f"{total / ours:.0f} s of music a second; decoding is {decode / theirs:.0%} of librosa's whole time"
        what = f"log-mel of whole tracks, {name}: times as fast as librosa"
        yield Line(what, theirs / ours, "x", "3 or more", detail)
        yield Line(f"the same, {name}: times decoding and resampling alone", ours / decode, "x", "at most 1.6")


def _each(work: Callable[[str], object], paths: list[str]) -> None:
    for path in paths:
        work(path)


def _our_mel(path: str) -> np.ndarray:
    return log_mel(audio.load(path))


def _librosa_mel(path: str) -> np.ndarray:
    samples, rate = librosa.load(path, sr=constants.SAMPLE_RATE_HZ)
    sizes = {"n_fft": constants.WINDOW_SAMPLES, "hop_length": constants.HOP_SAMPLES, "n_mels": constants.MEL_BINS}
    return librosa.feature.melspectrogram(y=samples, sr=rate, window="hamming", **sizes)  # type: ignore[arg-type]


def _records(corpus: Corpus, folder: Path) -> Iterator[Line]:
    """Writing records with one and with two workers, and reading them."""

    def write(music: Corpus, name: str, workers: int) -> None:
        build(music, folder / name, Settings(), folder / f"cache {name}", engine=engine_for("local", workers))

    write(Corpus(corpus.name, corpus.tracks[:4]), "warm", 2)
    one, two = (seconds(write, corpus, str(workers), workers, repeats=1) for workers in (1, 2))
    manifest = Manifest.read(folder / "2")
    rate = f"{sum(map(manifest.clips, SPLITS)) / two:.0f} clips a second"
    yield Line("preprocessing with two workers: times one", one / two, "x", "1.7 or more", rate)
    clips = manifest.clips("train")
    epochs = max(1, 600 // clips)
    for n in (3, 8):
        dataset = fragment_batches(manifest, "train", n, batch_size=16, epoch=Epoch(0, 0), redraw=True).repeat(epochs)
        pairs = epochs * clips * len(pairs_of(n)) / seconds(deque, dataset, 0)
        yield Line(f"records read, shuffled, cut: pairs a second at n = {n}", pairs, "", "5,000 or more")
