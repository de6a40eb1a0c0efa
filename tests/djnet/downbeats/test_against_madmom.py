"""Slow, on real music: run by `make verify`, and the second test by `make verify-downbeats RWC=folder`."""

import os
from pathlib import Path

import joblib
import mir_eval
import numpy as np
import pandas as pd
import pytest

from djnet import audio
from djnet.constants import CLIP_SECONDS
from djnet.corpora import free
from djnet.downbeats import network, tracker
from djnet.errors import UserError
from preprocessing import render_midi
from tests.djnet.downbeats import madmom_alone

CACHE = Path("~/.cache/djnet").expanduser()
LIMIT = 0.005  # between the F-measures


def _both(path: Path | str, start: float, seconds: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Our beats [K, 2], madmom's beats [K, 2], and the largest difference of the activations."""
    (samples,) = audio.load_at(path, start, seconds, (network.SAMPLE_RATE_HZ,))
    expected = madmom_alone.activations(samples)
    difference = float(np.abs(network.activations(samples) - expected).max())
    return tracker.track(samples, network.SAMPLE_RATE_HZ), madmom_alone.beats(expected), difference


@pytest.mark.verify
def test_a_hundred_real_clips_have_madmoms_beats():
    try:
        tracks = free.corpus("small", CACHE).tracks
    except UserError as error:
        pytest.skip(str(error))
    long_ones = [track.path for track in tracks if audio.probe(track.path).seconds > 60]
    places = [(path, start, CLIP_SECONDS) for path in long_ones for start in (5.0, 35.0)][:100]
    assert len(places) == 100
    results = joblib.Parallel(joblib.cpu_count())(joblib.delayed(_both)(*place) for place in places)
    same = sum(np.array_equal(ours, theirs) for ours, theirs, _ in results)
    differences = [difference for _, _, difference in results]
    print(f"identical beats in {same} of 100 clips; activations differ by at most {max(differences):.2g}")
    # In a few clips madmom's own rounding grows over the frames: double precision differs from it by as much.
    assert np.median(differences) < 1e-5 and np.quantile(differences, 0.9) < 1e-4
    assert same >= 99


def _compare(midi: Path, truth: Path, seconds: float) -> dict[str, object]:
    """F-measure of the downbeats of one song, ours and madmom's, and whether both are the same."""
    rendered = CACHE / "rwc-p" / f"{midi.stem}.wav"
    if not rendered.is_file():
        render_midi.render(midi, rendered, render_midi.find_soundfont())
    ours, theirs, _ = _both(rendered, 0.0, seconds)
    table = pd.read_csv(truth, sep=";")
    expected = mir_eval.beat.trim_beats(table.t[(table.beat == 1) & (table.t < seconds)].to_numpy())
    downbeats = [mir_eval.beat.trim_beats(beats[beats[:, 1] == 1, 0]) for beats in (ours, theirs)]
    scores = [mir_eval.beat.f_measure(expected, found) for found in downbeats]
    return {"song": midi.stem, "ours": scores[0], "madmom": scores[1], "identical": np.array_equal(ours, theirs)}


@pytest.mark.verify
@pytest.mark.skipif(not os.environ.get("RWC"), reason="RWC=folder says where RWC-P is")
def test_downbeats_are_as_good_as_madmoms_on_rendered_songs():
    """The folder has midi/RWC_P001.mid ... and beats/RWC_P001.csv ... (columns t;beat).

    madmom takes two minutes a song on one core; RWC_SONGS and RWC_SECONDS say how much of the set to use.
    """
    folder, seconds = Path(os.environ["RWC"]).expanduser(), float(os.environ.get("RWC_SECONDS", "60"))
    songs = sorted((folder / "midi").glob("*.mid"))[: int(os.environ.get("RWC_SONGS", "100"))]
    assert songs, f"{folder / 'midi'}: no MIDI files there."
    work = (joblib.delayed(_compare)(midi, folder / "beats" / f"{midi.stem}.csv", seconds) for midi in songs)
    rows = pd.DataFrame(joblib.Parallel(joblib.cpu_count(), batch_size=1)(work))
    ours, theirs = rows.ours.mean(), rows.madmom.mean()
    print(rows.round(4).to_csv(index=False))
    print(f"RWC-P, rendered, {len(rows)} songs, {seconds:g} s each: downbeat F-measure")
    print(f"ours {ours:.4f}, madmom {theirs:.4f}, difference {ours - theirs:+.4f} (limit {LIMIT})")
    print(f"identical beats in {rows.identical.sum()} of {len(rows)} songs")
    assert abs(ours - theirs) <= LIMIT
