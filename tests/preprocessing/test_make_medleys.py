import json

import numpy as np
import pandas as pd
import pytest
import soundfile

from djnet.corpora import TRACK_LIST
from djnet.errors import UserError
from djnet.files import write_json
from djnet.puzzles import fingerprint, recording
from preprocessing import make_medleys


def test_the_order_follows_tempo_then_key():
    assert make_medleys.ordered([120, 100, 110, 130], ["C"] * 4) == (1, 2, 0, 3)
    assert make_medleys.ordered([100, 100, 100], ["C", "D", "G"]) in ((0, 2, 1), (1, 2, 0))  # fifths apart: C, G, D
    assert make_medleys.ordered([60, 121, 130], ["C"] * 3) == (0, 1, 2)  # half the tempo is the same tempo


@pytest.fixture(scope="module")
def mixable(songs, records):
    paths = {track.id: track.path for track in songs.tracks}
    clips = {clip.track: clip for split in ("train", "valid", "test") for clip in records.read_clips(split)}
    return [make_medleys.MixableClip(name, paths[name], clip.start, clip.beats) for name, clip in clips.items()]


def test_a_mix_is_a_puzzle_with_its_answer(mixable, tmp_path):
    make_medleys.make(3, mixable[:7], tmp_path)
    answer = pd.read_csv(tmp_path / "mix-003.csv")
    seconds = soundfile.info(tmp_path / "mix-003.flac").duration
    assert answer.start[0] == 0 and answer.end.iloc[-1] == pytest.approx(seconds, abs=0.01)
    assert np.array_equal(answer.start[1:], answer.end[:-1])
    assert (answer.end - answer.start > 3).all() and (answer.end - answer.start < 30).all()
    assert sorted(answer.label) == sorted(clip.track for clip in mixable[:7])
    puzzle = recording(tmp_path / "mix-003.flac", tmp_path / "mix-003.csv")
    assert [puzzle.labels[piece] for piece in puzzle.truth] == answer.label.tolist()


def test_only_missing_mixes_are_made_and_other_records_begin_anew(songs, records, tmp_path, monkeypatch):
    made = []

    def make(number, chosen, folder):
        made.append(number)
        (folder / f"mix-{number:03d}.csv").touch()

    some = [make_medleys.MixableClip(str(i), "", 0.0, np.zeros((0, 2))) for i in range(9)]
    monkeypatch.setattr(make_medleys, "make", make)
    monkeypatch.setattr(make_medleys, "mixable_clips", lambda manifest, paths: some)
    folder = records.folder / "medleys"
    assert make_medleys.build(records, 3, 0) == folder and made == [0, 1, 2]
    (folder / "mix-001.csv").unlink()
    make_medleys.build(records, 3, 0)
    assert made == [0, 1, 2, 1]
    make_medleys.build(records, 2, 0)  # fewer: no longer among the puzzles
    assert made == [0, 1, 2, 1] and sorted(path.stem for path in folder.glob("mix-*.csv")) == ["mix-000", "mix-001"]
    make_medleys.build(records, 3, seed=1)
    assert made == [0, 1, 2, 1, 0, 1, 2]
    assert json.loads((folder / "game.json").read_text())["name"] == "mixes of synthetic"


def test_a_mix_is_known_by_what_it_is_made_of_and_not_by_its_last_bit(tmp_path, write_tone):
    sound, answer = write_tone(tmp_path / "mix-000.wav", seconds=12), tmp_path / "mix-000.csv"
    answer.write_text("start,end,label\n0,6,a\n6,12,b\n")
    first = fingerprint(sound, answer)
    write_tone(sound, seconds=12)
    assert fingerprint(sound, answer) != first
    write_json(tmp_path / "game.json", {"name": "mixes", "made_of": {"records": "x", "seed": 0}})
    made = fingerprint(sound, answer)
    write_tone(sound, seconds=12)
    assert fingerprint(sound, answer) == made
    answer.write_text("start,end,label\n0,6,b\n6,12,a\n")
    assert fingerprint(sound, answer) != made


def test_tracks_that_may_be_passed_on_are_mixed_where_there_are_enough():
    some = [make_medleys.MixableClip(str(i), "", 0.0, np.zeros((0, 2))) for i in range(14)]
    licences = {clip.track: "GPL-3+" for clip in some[:11]} | {"11": "Drascula-License", "12": "own"}
    assert make_medleys.publishable(some, licences) == some[:11]
    assert make_medleys.publishable(some, licences | {"0": "see copyright file"}) == some  # ten are too few


def test_too_few_tracks(records, monkeypatch):
    monkeypatch.setattr(make_medleys, "mixable_clips", lambda manifest, paths: [])
    with pytest.raises(UserError, match=r"No mixes: 0 test tracks of .* have bars enough, 7 are needed"):
        make_medleys.build(records, 4, seed=5)


def test_records_know_where_their_tracks_are(songs, records):
    table = pd.read_csv(records.folder / TRACK_LIST)
    assert set(table.track) == {track.id for track in songs.tracks}
    test_tracks = {clip.track for clip in records.read_clips("test")}
    assert set(table[table.split == "test"].track) == test_tracks
