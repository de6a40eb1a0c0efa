"""Downbeats against madmom alone, on the same clips and one core each."""

import resource
from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from benchmarks.measure import Line, music, seconds
from djnet import audio
from djnet.constants import CLIP_SECONDS
from djnet.downbeats import decoder, madmom, network

RATE_HZ = network.SAMPLE_RATE_HZ
CLIPS = 3


def lines() -> Iterator[Line]:
    """The network, the decoder, both, and the memory they take."""
    clips = [audio.load_at(track.path, 20.0, CLIP_SECONDS, (RATE_HZ,))[0] for track in music().tracks[:CLIPS]]
    activations = [network.activations(clip) for clip in clips]
    features, signal = madmom.madmom("features.downbeats"), madmom.madmom("audio.signal").Signal
    their_network = madmom.downbeat_processor()
    their_models = features.DBNDownBeatTrackingProcessor(beats_per_bar=[3, 4], fps=network.FRAMES_PER_SECOND).hmms
    with threadpool_limits(1):
        ours = (
            seconds(lambda: [network.activations(clip) for clip in clips]) / CLIPS,
            seconds(lambda: [decoder.decode(one) for one in activations]) / CLIPS,
        )
        theirs = (
            seconds(lambda: [their_network(signal(clip, sample_rate=RATE_HZ)) for clip in clips], repeats=1) / CLIPS,
            seconds(lambda: [hmm.viterbi(one) for one in activations for hmm in their_models], repeats=1) / CLIPS,
        )
    for what, mine, other, goal in (
        ("downbeat network", ours[0], theirs[0], "6 or more"),
        ("downbeat decoder", ours[1], theirs[1], ""),
        ("downbeats in all", sum(ours), sum(theirs), "5 or more"),
    ):
        times = f"{1e3 * mine:.0f} against {1e3 * other:.0f} ms a clip of {CLIP_SECONDS:g} s"
        yield Line(f"{what}: times madmom", other / mine, "x", goal, times)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield Line("memory of the whole process, at its peak", peak, "GB", "below 2")
