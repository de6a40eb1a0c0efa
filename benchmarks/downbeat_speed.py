"""Downbeats against madmom alone, on the same clips and one core each."""

import resource
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import Line, seconds
from benchmarks.preprocessing_speed import music
from djnet import audio
from djnet.constants import CLIP_SECONDS
from djnet.downbeats import network
from djnet.downbeats.madmom import madmom

CLIPS = 3


def lines() -> Iterator[Line]:
    """The network, the decoder, both, and the memory they take."""
    clips = [
        audio.load_at(track.path, 20.0, CLIP_SECONDS, (network.SAMPLE_RATE_HZ,))[0] for track in music().tracks[:CLIPS]
    ]
    downbeats, signal = madmom("features.downbeats"), madmom("audio.signal").Signal
    network = downbeats.RNNDownBeatProcessor()
    decoder = downbeats.DBNDownBeatTrackingProcessor(beats_per_bar=[3, 4], fps=100)
    heard = [network.activations(clip) for clip in clips]
    [decoder.decode(one) for one in heard]

    def decode_plainly(activations: np.ndarray) -> list:
        return [model.viterbi(activations) for model in decoder.hmms]

    with threadpool_limits(1):
        ours = [
            seconds(lambda: [network.activations(clip) for clip in clips]) / CLIPS,
            seconds(lambda: [decoder.decode(one) for one in heard]) / CLIPS,
        ]
        theirs = [
            seconds(lambda: [network(signal(clip, sample_rate=44_100)) for clip in clips], repeats=1) / CLIPS,
            seconds(lambda: [decode_plainly(one) for one in heard], repeats=1) / CLIPS,
        ]
    times = f"{1e3 * ours[0]:.0f} ms against {theirs[0]:.1f} s a clip of 24 s"
    yield Line("downbeat network: times madmom", theirs[0] / ours[0], "x", "20 or more", times)
    times = f"{1e3 * ours[1]:.0f} ms against {1e3 * theirs[1]:.0f} ms a clip"
    yield Line("downbeat decoder: times madmom", theirs[1] / ours[1], "x", "", times)
    yield Line(
        "downbeats in all: times madmom", sum(theirs) / sum(ours), "x", "10 or more", f"{1e3 * sum(ours):.0f} ms a clip"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield Line("memory of the whole process, at its peak", peak, "GB", "below 2")
