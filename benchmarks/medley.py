"""The stages of a medley: analysis, scoring and rendering, in seconds of music a second."""

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import djnet
from benchmarks.measure import Line, music, seconds
from djnet import audio
from djnet.medley import analysis, join_score, mix, parts
from djnet.medley.transitions import RATE_HZ, Segment

SONGS = 6
RATE = "s of music a second"


def lines() -> Iterator[Line]:
    """Each stage by itself; both cores for the analysis, as the command does it."""
    paths = [track.path for track in music().tracks[:SONGS]]
    with tempfile.TemporaryDirectory() as folder:
        analysis.analyse(paths[:2], Path(folder))  # compiles, and starts the workers
        cold = seconds(analysis.analyse, paths, Path(folder, "cold"), repeats=1)
        warm = seconds(analysis.analyse, paths, Path(folder, "cold"))
        songs, _ = analysis.analyse(paths, Path(folder, "cold"))
    yield Line("medley: analysis of whole songs, two at once", sum(song.seconds for song in songs) / cold, RATE)
    yield Line("the same, songs that are in the cache: times as fast", cold / warm, "x")

    options = [parts.candidates(song, 16.0, 3) for song in songs]
    clips = list(itertools.chain(*options))
    scorer = djnet.load("sen-downbeat").scores
    join_score.score_joins(clips, scorer, bars=2)
    spent = seconds(join_score.score_joins, clips, scorer, 2)
    silent = seconds(join_score.score_joins, clips, lambda mels: np.zeros((len(mels), len(mels))), 2)
    pairs = len(clips) * (len(clips) - 3)
    yield Line("medley: scoring all joins", pairs / spent, "joins a second", "", f"{pairs / silent:.0f} without SEN")

    segments = []
    for part in (candidates[0] for candidates in options):
        samples = audio.load_stereo(part.song.path, part.start, part.end - part.start, RATE_HZ)
        segments.append(Segment(samples, 0.0, part.end - part.start, part.beats - np.array([part.start, 0.0])))
    length = mix.render(segments).cuts[-1]
    yield Line("medley: rendering", length / seconds(mix.render, segments), RATE)
