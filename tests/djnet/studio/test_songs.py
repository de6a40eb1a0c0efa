"""Files that would hang or break a decoder: a child decodes them, and is ended."""

import time

import pytest

from djnet.studio.songs import Songs


def _entry(songs: Songs) -> dict:
    for _ in range(1200):
        (entry,) = songs.states()
        if entry["state"] == "left out":
            return entry
        time.sleep(0.05)
    raise AssertionError(entry)


@pytest.mark.parametrize(
    ("answer", "seconds", "said"),
    [
        ("import time; time.sleep(60)", 0.5, "takes longer than 0.5 s"),
        ("import os; os.abort()", 30.0, "too much memory"),
    ],
)
def test_a_decoder_that_hangs_or_breaks_leaves_one_song_out_and_no_file(tmp_path, monkeypatch, answer, seconds, said):
    (tmp_path / "songs").mkdir()
    (tmp_path / "songs" / "bad.wav").write_bytes(b"RIFF")
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec python3 -c "{answer}"\n')
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    songs = Songs(None, tmp_path / "songs", tmp_path / "cache", seconds=seconds)
    assert said in _entry(songs)["reason"]
    assert not (tmp_path / "songs" / "bad.wav").exists()  # an upload that nobody can use
    songs.close()


def test_the_child_says_why_a_file_is_no_song(tmp_path):
    (tmp_path / "songs").mkdir()
    (tmp_path / "songs" / "bad.wav").write_bytes(b"RIFF no music")
    songs = Songs(None, tmp_path / "songs", tmp_path / "cache")
    assert "bad.wav" not in (entry := _entry(songs))["reason"] and entry["reason"].endswith(".")
    songs.close()
