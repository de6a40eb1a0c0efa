"""Slow, on real music: run by `make verify`."""

from pathlib import Path

import joblib
import numpy as np
import pytest

from djnet import audio
from djnet.constants import CLIP_SECONDS
from djnet.corpora import free
from djnet.downbeats import network, tracker
from djnet.downbeats.madmom import plain_activations, plain_beats
from djnet.errors import UserError


def _compare(path: str, start: float) -> tuple[bool, float]:
    (samples,) = audio.load_at(path, start, CLIP_SECONDS, (network.SAMPLE_RATE_HZ,))
    expected = plain_activations(samples)
    difference = float(np.abs(network.activations(samples) - expected).max())
    ours, theirs = tracker.track(samples, network.SAMPLE_RATE_HZ), plain_beats(expected)
    return np.array_equal(ours, theirs), difference


@pytest.mark.verify
def test_a_hundred_real_clips_have_madmoms_beats():
    try:
        tracks = free.corpus("small", Path("~/.cache/djnet").expanduser()).tracks
    except UserError as error:
        pytest.skip(str(error))
    places = [(track.path, start) for track in tracks for start in (5.0, 35.0) if audio.probe(track.path).seconds > 60][
        :100
    ]
    assert len(places) == 100
    found = joblib.Parallel(joblib.cpu_count())(joblib.delayed(_compare)(*place) for place in places)
    same, differences = zip(*found, strict=True)
    print(f"identical beats in {sum(same)} of 100 clips; activations differ by at most {max(differences):.2g}")
    # In a few clips madmom's own rounding grows over the frames: double precision differs from it by as much.
    assert np.median(differences) < 1e-5 and np.quantile(differences, 0.9) < 1e-4
    assert sum(same) >= 99
