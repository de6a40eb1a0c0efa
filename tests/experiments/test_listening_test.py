import dataclasses
import types

import numpy as np
import pytest

from djnet.corpora import read_tracks
from experiments.report import listening_test, music
from experiments.report.assets import Assets
from experiments.report.music import Music
from experiments.report.recordings import TrackList
from tests.make_report import page_data


def _song(path="song.wav", bpm=120.0, key="C"):
    return types.SimpleNamespace(path=path, bpm=bpm, key=key)


def test_three_recordings_are_too_few_for_the_listening_test(records, tmp_path):
    tracks = TrackList(read_tracks(records.folder), private=True)
    (first, *_) = music.find_clips(records, tracks)
    three = [music.ClipWithMusic(dataclasses.replace(first.clip, track=str(i)), first.recording) for i in range(3)]
    assert "downbeat/3" in first.clip.segmentations
    assert listening_test.listening_test(Music(records.folder, tracks, three, {}, Assets(tmp_path)), tmp_path) is None
    assert list((tmp_path / "sounds").iterdir()) == []


def test_the_listening_test_compares_orders_of_the_same_songs(report):
    for trial in page_data(report)["listeningTest"]["trials"]:
        assert {trial["first"]["name"], trial["second"]["name"]} in ({"mix", "sen"}, {"tempo and key", "random"})
        assert trial["first"]["sound"] != trial["second"]["sound"]
        for order in (trial["first"], trial["second"]):
            assert (report.parent / "sounds" / f"{order['sound']}.js").exists()
            assert order["seconds"] > 3 * listening_test.JOIN_SECONDS


def test_every_pair_of_orders_is_heard_equally_often_and_every_order_once_a_group():
    pairs = [frozenset(pair) for group in listening_test._PAIRS for pair in group]
    assert len(set(pairs)) == len(pairs) == 6
    assert all(len({name for pair in group for name in pair}) == 4 for group in listening_test._PAIRS)


def test_joins_are_heard_with_ten_seconds_on_each_side():
    rate = listening_test.RATE_HZ
    samples = np.ones(30 * rate, np.float32)
    samples[12 * rate :] = 2.0
    heard = listening_test.excerpts(samples, [12.0, 5.0])
    assert len(heard) == 2 * round(20.8 * rate)
    assert (heard[5 * rate], heard[15 * rate]) == (1.0, 2.0)
    assert heard[0] == heard[round(20.4 * rate)] == 0.0
    assert heard[round(20.8 * rate) + 2 * rate] == 0.0 and heard[round(20.8 * rate) + 8 * rate] == 1.0  # the mix begins


def test_tempo_and_key_bring_like_songs_together():
    like = listening_test.likeness([_song(bpm=120, key="C"), _song(bpm=60, key="Am"), _song(bpm=90, key="Gb")])
    assert like[0, 1] == pytest.approx(1.0)  # half the tempo and the relative key are the same
    assert like[0, 2] < 0
    assert listening_test.likeness([_song(), _song(bpm=0.0)])[0, 1] == pytest.approx(-1.0)  # without a beat: no tempo
