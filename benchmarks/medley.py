"""The stages of a medley: analysis, scoring and rendering, in seconds of music a second; and how many joins blend."""

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import djnet
from benchmarks.measure import CACHE, Line, music, seconds
from djnet import audio
from djnet.corpora import free
from djnet.medley import analysis, join_score, mix, parts
from djnet.medley.arrange import Options, arrange
from djnet.medley.search import Constraints
from djnet.medley.transitions import BLENDS, RATE_HZ, Segment

SONGS = 6
RATE = "s of music a second"
SETS = {"electronic": "nexuiz-music", "orchestral": "wesnoth-1.16-music"}  # packages of free recordings
SET_SONGS = 12


def lines() -> Iterator[Line]:
    """Each stage by itself; both cores for the analysis, as the command does it. Then how many joins blend."""
    yield from _stages()
    tracks = free.corpus("full", CACHE).tracks
    sets = {name: [track.path for track in tracks if track.group == group] for name, group in SETS.items()}
    half = SET_SONGS // 2
    sets["mixed"] = [path for paths in sets.values() for path in paths[:half]]
    for name, paths in sets.items():
        for order, share in blending(paths[:SET_SONGS], CACHE).items():
            goal = "at least 70" if order == "mix" else ""
            yield Line(f"medley: joins with beats in step, {name} songs, --order={order}", 100 * share, "%", goal)


def blending(paths: Sequence[str], cache: Path) -> dict[str, float]:
    """The share of joins whose beats are in step, for every --order and for the order of the files."""
    songs, _ = analysis.analyse(paths, cache)
    scorer = djnet.load("sen-downbeat").scores
    shares = {}
    for order in (*join_score.WEIGHTS, "kept"):
        options = Options(order="mix" if order == "kept" else order)
        joins = arrange(songs, scorer, Constraints(keep_order=order == "kept"), options).joins
        shares[order] = sum(join.kind in BLENDS for join in joins) / len(joins)
    return shares


def _stages() -> Iterator[Line]:
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
    silent = seconds(join_score.score_joins, clips, lambda mels, wanted: np.zeros((len(mels), len(mels))), 2)
    pairs = len(clips) * (len(clips) - 3)
    yield Line("medley: scoring all joins", pairs / spent, "joins a second", "", f"{pairs / silent:.0f} without SEN")

    segments = []
    for part in (candidates[0] for candidates in options):
        samples = audio.load_stereo(part.song.path, part.start, part.end - part.start, RATE_HZ)
        segments.append(Segment(samples, 0.0, part.end - part.start, part.beats - np.array([part.start, 0.0])))
    length = mix.render(segments).cuts[-1]
    yield Line("medley: rendering", length / seconds(mix.render, segments), RATE)
