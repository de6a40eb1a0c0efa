"""A medley's stages: listening, scoring, rendering, in seconds of music a second."""

import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, seconds
from benchmarks.preprocessing_speed import music
from djnet import audio
from djnet.constants import MEL_BINS
from djnet.medley import analysis, arrange, mix
from djnet.networks import models
from djnet.pretrained import Scorer

SONGS = 6


def lines() -> Iterator[Line]:
    """Each stage by itself; both cores for listening, as the command does it."""
    paths = [track.path for track in music().tracks[:SONGS]]
    with tempfile.TemporaryDirectory() as folder:
        analysis.analyse(paths[:2], Path(folder))  # compiles, and starts the workers
        start = time.perf_counter()
        found, _ = analysis.analyse(paths, Path(folder, "cold"))
        cold = time.perf_counter() - start
        warm = seconds(lambda: analysis.analyse(paths, Path(folder, "cold")))
    total = sum(song.seconds for song in found)
    yield Line("medley: listening to whole songs, two at once", total / cold, "s of music a second", "")
    yield Line("the same, songs that are known: times as fast", cold / warm, "x", "")

    options = [arrange.candidates(song, 16.0, 3) for song in found]
    mels = [clip.mel for clip in itertools.chain(*options)]
    scorer = Scorer(
        models.build("sen", preset="compact"), np.zeros(MEL_BINS, np.float32), np.ones(MEL_BINS, np.float32)
    )
    scorer.scores(mels)
    clips = sum(clip.span.end - clip.span.start for clip in itertools.chain(*options))
    pairs = len(mels) * (len(mels) - 1)
    spent = seconds(lambda: scorer.scores(mels))
    yield Line(
        "medley: scoring all pairs", clips / spent, "s of music a second", "", f"{pairs / spent:.0f} pairs a second"
    )

    parts = []
    for clip in (choices[0] for choices in options):
        samples = audio.load_stereo(clip.song.path, clip.span.start, clip.span.end - clip.span.start, mix.RATE_HZ)
        parts.append(clip.part(samples, clip.span.start))
    made = mix.render(parts)
    spent = seconds(lambda: mix.render(parts))
    yield Line("medley: rendering", made.cuts[-1] / spent, "s of music a second", "")
