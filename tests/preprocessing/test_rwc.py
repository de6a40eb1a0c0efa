import json
from pathlib import Path

import pytest

from djnet.errors import UserError
from djnet.puzzles import find_recordings, read_about, recording
from preprocessing import render_midi, rwc


@pytest.fixture
def folder(tmp_path, write_tone):
    (tmp_path / "rwc" / "sections").mkdir(parents=True)
    for number in (1, 2):
        text = '0\t400\t"intro"\n400\t450\t"verse A"\n450\t900\t"chorus A"\n'
        (tmp_path / "rwc" / "sections" / f"RM-P00{number}.CHORUS.TXT").write_text(text)
    write_tone(tmp_path / "rwc" / "audio" / "RWC_P001.flac", seconds=10)
    write_tone(tmp_path / "rwc" / "audio" / "RWC_P002.wav", seconds=10)
    return tmp_path / "rwc"


def test_recordings_are_taken_where_they_are(folder, tmp_path):
    assert rwc.build(folder, tmp_path / "out", tmp_path / "cache") == (2, 0, 2)
    assert rwc.build(folder, tmp_path / "out", tmp_path / "cache") == (2, 0, 2)  # again: the same
    assert json.loads((tmp_path / "out" / "game.json").read_text()) == {"name": "rwc-p"}
    (first, annotation), _ = find_recordings(tmp_path / "out")
    assert first.name == "RWC_P001.flac"
    puzzle = recording(first, annotation)
    assert [puzzle.labels[piece] for piece in puzzle.truth] == ["intro", "chorus A"]


def test_songs_without_a_recording_are_rendered_and_said_to_be(folder, tmp_path, monkeypatch, write_tone):
    (folder / "audio" / "RWC_P002.wav").rename(tmp_path / "played.wav")
    with pytest.raises(UserError, match=r"RWC_P002 has sections, but no file in audio/ and none in midi/"):
        rwc.build(folder, tmp_path / "out", tmp_path / "cache")
    (folder / "midi").mkdir()
    (folder / "midi" / "RWC_P002.mid").touch()

    def render(midi: Path, wav: Path, soundfont: Path) -> None:
        wav.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "played.wav").rename(wav)

    monkeypatch.setattr(render_midi, "render", render)
    monkeypatch.setattr(render_midi, "find_soundfont", lambda name: Path("font.sf2"))
    assert rwc.build(folder, tmp_path / "out", tmp_path / "cache") == (2, 1, 2)
    assert json.loads((tmp_path / "out" / "game.json").read_text()) == {"name": "rwc-p (rendered)"}
    (folder / "LICENSE").write_text("Attribution-NonCommercial 4.0 International\n")
    rwc.build(folder, tmp_path / "out", tmp_path / "cache")
    assert "licence" not in read_about(tmp_path / "out")  # one song is a recording, which it does not cover
    (folder / "audio" / "RWC_P001.flac").unlink()
    (folder / "midi" / "RWC_P001.mid").touch()
    write_tone(tmp_path / "played.wav", seconds=10)
    rwc.build(folder, tmp_path / "out", tmp_path / "cache")
    about = read_about(tmp_path / "out")
    assert about["licence"] == "CC-BY-NC-4.0" and "rendered" in about["credit"]


def test_no_annotations(tmp_path):
    with pytest.raises(UserError, match="no annotations there"):
        rwc.build(tmp_path, tmp_path / "out", tmp_path / "cache")
