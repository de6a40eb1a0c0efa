"""Decoding, features, records, and what a second core gives."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import librosa
import numpy as np
import soundfile

from benchmarks.measure import Line, seconds
from djnet import audio, constants
from djnet.corpora import Corpus, free, synthetic
from djnet.dataset import Keyed, fragment_batches
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.pairs import pairs_of
from djnet.records import Manifest
from preprocessing.build import build
from preprocessing.clips import Settings

CACHE = Path("~/.cache/djnet").expanduser()


def music() -> Corpus:
    """Real recordings where they can be had, generated songs elsewhere; every third, a few minutes in all."""
    try:
        whole = free.corpus("small", CACHE)
    except UserError:
        whole = synthetic.corpus(30, 0, CACHE)
    return Corpus(whole.name, whole.tracks[::3], [])


def lines() -> Iterator[Line]:
    """Every measurement of preprocessing."""
    corpus = music()
    yield from _features([track.path for track in corpus.tracks[:8]])
    with tempfile.TemporaryDirectory() as folder:
        yield from _workers(corpus, Path(folder))


def _features(paths: list[str]) -> Iterator[Line]:
    total = sum(soundfile.info(path).duration for path in paths)
    with tempfile.TemporaryDirectory() as folder:
        kinds = {"as they are (ogg)": paths}
        for suffix in ("wav", "flac"):
            kinds[suffix] = [str(Path(folder, f"{i}.{suffix}")) for i in range(len(paths))]
            for path, copy in zip(paths, kinds[suffix], strict=True):
                samples, rate = soundfile.read(path, dtype="int16")
                soundfile.write(copy, samples, rate)
        for kind, files in kinds.items():
            yield from _against_librosa(kind, files, total)


def _against_librosa(kind: str, paths: list[str], total: float) -> Iterator[Line]:
    def plain(path: str) -> np.ndarray:
        samples, rate = librosa.load(path, sr=constants.SAMPLE_RATE_HZ)
        return librosa.feature.melspectrogram(
            y=samples,
            sr=rate,
            n_fft=constants.WINDOW_SAMPLES,
            hop_length=constants.HOP_SAMPLES,
            n_mels=constants.MEL_BINS,
            window="hamming",
            center=False,
        )

    ours = seconds(lambda: [log_mel(audio.load(path)) for path in paths])
    decode = seconds(lambda: [audio.load(path) for path in paths])
    theirs = seconds(lambda: [plain(path) for path in paths])
    detail = f"{total / ours:.0f} s of music a second; decoding alone is {decode / theirs:.0%} of librosa's whole time"
    yield Line(f"log-mel of whole tracks, {kind}: times as fast as librosa", theirs / ours, "x", "3 or more", detail)
    yield Line(f"the same, {kind}: times decoding and resampling alone", ours / decode, "x", "at most 1.6")


def _workers(corpus: Corpus, folder: Path) -> Iterator[Line]:
    build(Corpus(corpus.name, corpus.tracks[:4]), folder / "warm", Settings(), folder / "cache 1", workers=2)
    one = seconds(lambda: build(corpus, folder / "one", Settings(), folder / "cache 2", workers=1), repeats=1)
    two = seconds(lambda: build(corpus, folder / "two", Settings(), folder / "cache 3", workers=2), repeats=1)
    manifest = Manifest.read(folder / "two")
    clips = sum(manifest.clips(split) for split in ("train", "valid", "test"))
    yield Line(
        "preprocessing with two workers: times one", one / two, "x", "1.7 or more", f"{clips / two:.0f} clips a second"
    )
    yield from _reading(manifest)


def _reading(manifest: Manifest) -> Iterator[Line]:
    clips = manifest.clips("train")
    passes = max(1, 600 // clips)
    for n in (3, 8):
        dataset = fragment_batches(manifest, "train", n, batch_size=16, shuffle=Keyed(0, 0), redraw=True).repeat(passes)
        taken = seconds(lambda dataset=dataset: [None for _ in dataset])  # type: ignore[misc]
        pairs = passes * clips * len(pairs_of(n)) / taken
        yield Line(f"records read, shuffled, cut: pairs a second at n = {n}", pairs, "", "5,000 or more")
