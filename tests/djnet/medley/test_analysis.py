import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from djnet import audio
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.medley import analysis


def test_a_song_is_analysed_once_and_known_by_its_content(songs, tmp_path, monkeypatch):
    track = Path(songs.tracks[0].path)
    (song,), skipped = analysis.analyse([str(track)], tmp_path, workers=1)
    true = np.loadtxt(track.with_suffix(".beats.csv"), delimiter=",", skiprows=1)
    assert not skipped and song.name == "song-0000"
    assert song.bpm == pytest.approx(60 / np.diff(true[:, 0]).mean(), rel=0.01)
    nearest = np.abs(song.bars[:, None] - true[None, true[:, 1] == 1, 0]).min(axis=1)
    assert np.median(nearest) < 0.02
    np.testing.assert_allclose(song.mel, log_mel(audio.load(track)), atol=0.01)
    assert song.key and -40 < song.loudness < 0

    monkeypatch.setattr(analysis, "_measure", lambda *_: pytest.fail("analysed again"))
    moved = shutil.copy(track, tmp_path / "other name.flac")
    (again,), _ = analysis.analyse([str(moved)], tmp_path, workers=1)
    assert again.name == "other name" and again.bpm == song.bpm
    np.testing.assert_array_equal(again.beats, song.beats)


def test_files_that_are_no_songs_are_left_out_with_a_reason(songs, tmp_path, write_tone):
    damaged = tmp_path / "damaged.ogg"
    damaged.write_bytes(b"OggS and nothing")
    write_tone(tmp_path / "short.wav", seconds=2.0)
    songs_left, skipped = analysis.analyse([str(damaged), str(tmp_path / "short.wav")], tmp_path, workers=1)
    assert not songs_left
    assert [Path(item.path).name for item in skipped] == ["damaged.ogg", "short.wav"]
    assert "2.0 s" in skipped[1].reason


def test_bars_come_from_where_the_beat_is_clear():
    beats = np.stack([np.arange(128) * 0.5, np.arange(128) % 4 + 1], axis=1)
    strengths = np.where(np.arange(128) < 64, 0.01, 0.9)
    nothing = np.zeros((0, 128)), np.zeros((0, 12)), np.zeros(0, np.int16)
    song = analysis.Song("x.wav", "", "", 64.0, "C", -14.0, beats, strengths, *nothing)
    assert 26 < song.bars[0] < 38 and song.bars[-1] == 62.0 and song.bpm == 120
    faint = analysis.Song("x.wav", "", "", 64.0, "C", -14.0, beats, 0.01 * strengths, *nothing)
    assert len(faint.bars) == 0 and faint.bpm == 0


def test_whatever_goes_wrong_with_one_song_leaves_that_song_out(songs, tmp_path, monkeypatch):
    def measure(path, *_) -> None:
        raise MemoryError("58 GB")

    monkeypatch.setattr(analysis, "_measure", measure)
    none, (skipped,) = analysis.analyse([songs.tracks[0].path], tmp_path, workers=1)
    assert not none and skipped.reason == "cannot be analysed (MemoryError: 58 GB)."


def test_a_song_of_hours_is_left_out_before_it_fills_the_memory(songs, tmp_path, monkeypatch):
    probe = audio.probe(songs.tracks[0].path)
    monkeypatch.setattr(audio, "probe", lambda path: replace(probe, seconds=36_000.0))
    monkeypatch.setattr(audio, "load_at", lambda *_: pytest.fail("it was read"))
    _, (skipped,) = analysis.analyse([songs.tracks[0].path], tmp_path, workers=1)
    assert skipped.reason == "has 600 minutes, 60 are the most; cut a piece out of it."


def test_a_worker_that_the_system_ended_is_one_line(songs, tmp_path, monkeypatch):
    def ended(*_) -> None:
        raise TerminatedWorkerError("A worker process was unexpectedly terminated.")

    monkeypatch.setattr(analysis, "_song", ended)
    with pytest.raises(UserError, match=r"lack of memory: try --workers 1"):
        analysis.analyse([songs.tracks[0].path], tmp_path, workers=1)
