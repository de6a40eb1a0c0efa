import os
import time
from pathlib import Path

import pytest

from djnet.cli import main
from djnet.medley import analysis
from tests.djnet.cli.test_medley import known_song


@pytest.fixture
def kept(tmp_path) -> Path:
    """A cache with an old and a new file of songs, an old download, and a file that is somebody else's."""
    for name, days in (("songs/old.npz", 100), ("songs/new.npz", 1), ("free/package/a.ogg", 200), ("mine.txt", 300)):
        path = tmp_path / "kept" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(500_000))
        os.utime(path, (time.time() - days * 86_400,) * 2)
    return tmp_path / "kept"


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main.main(["cache", *map(str, words)])
    return ended.value.code


def test_what_is_kept_is_shown(kept, tmp_path, capsys):
    assert run("--cache", kept) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [["songs", "2", "1.0"], ["free", "1", "0.5"]]
    assert lines[-1] == f"{kept}: 3 files, 1.5 MB."
    assert run("--cache", tmp_path / "nowhere") == 0
    assert "0 files, 0.0 MB" in capsys.readouterr().out


def test_clearing_leaves_what_is_new_and_what_is_not_ours(kept, capsys):
    (kept / "songs" / "link.npz").symlink_to(kept / "mine.txt")
    assert run("clear", "--older-than", "90d", "--cache", kept) == 0
    assert "Removed 2 files, 1.0 MB" in capsys.readouterr().out
    assert run("clear", "--cache", kept) == 0
    assert [str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()] == ["mine.txt"]


def test_a_wrong_age_is_one_line(kept, capsys):
    assert run("clear", "--older-than", "soon", "--cache", kept) == 2
    assert "no number of days" in capsys.readouterr().err
    assert (kept / "songs" / "old.npz").exists()


def test_a_damaged_file_is_made_anew_and_said(monkeypatch, tmp_path, write_tone, caplog):
    monkeypatch.setattr(analysis, "_measure", known_song)
    song = str(write_tone(tmp_path / "a.wav", seconds=5))
    (first,), _ = analysis.analyse([song], tmp_path, workers=1)
    assert not caplog.records
    (stored,) = (tmp_path / "songs").glob("*.npz")
    whole = stored.read_bytes()
    stored.write_bytes(whole[:100])
    (again,), _ = analysis.analyse([song], tmp_path, workers=1)
    assert f"{stored}: is damaged; the song is analysed again." in caplog.text
    assert again.loudness == first.loudness and len(stored.read_bytes()) == len(whole)
