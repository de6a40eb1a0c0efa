import contextlib

import mido
import numpy as np
import pytest

from djnet.errors import UserError
from djnet.puzzles import read_about
from preprocessing import render_midi
from tests.faults.fuzz import damaged


def _song(path, channels=(0, 9)):
    notes = mido.MidiFile()
    for channel in channels:
        track = mido.MidiTrack([mido.Message("program_change", channel=channel, program=0)])
        track += [mido.Message("note_on", channel=channel, note=60, time=10 * i) for i in range(4)]
        track += [mido.Message("program_change", channel=channel, program=0, time=50)]
        track += [mido.Message("note_on", channel=channel, note=62)]
        notes.tracks.append(track)
    path.parent.mkdir(parents=True, exist_ok=True)
    notes.save(path)
    return path


def _notes(path):
    """Every note with its time."""
    times = [np.cumsum([message.time for message in track]) for track in mido.MidiFile(path).tracks]
    found = zip(mido.MidiFile(path).tracks, times, strict=True)
    return [(m.note, int(t)) for track, when in found for m, t in zip(track, when, strict=True) if m.type == "note_on"]


def _programs(path):
    messages = [message for track in mido.MidiFile(path).tracks for message in track]
    return {m.channel: m.program for m in messages if m.type == "program_change"}


def test_a_song_gets_instruments_of_its_own_and_keeps_its_notes_and_drums(tmp_path):
    songs = [_song(tmp_path / f"{name}.mid") for name in "abcdefgh"]
    for song in songs:
        render_midi.recast(song, tmp_path / f"recast-{song.name}")
    casts = [_programs(tmp_path / f"recast-{song.name}") for song in songs]
    assert len({cast[0] for cast in casts}) > 3 and {cast[9] for cast in casts} == {0}
    assert all(cast[0] < render_midi.INSTRUMENTS for cast in casts)
    before, after = (_notes(path) for path in (songs[0], tmp_path / "recast-a.mid"))
    assert before == after and len(before) == 10
    render_midi.recast(songs[0], tmp_path / "again.mid")
    assert (tmp_path / "again.mid").read_bytes() == (tmp_path / "recast-a.mid").read_bytes()


def test_a_folder_is_rendered_with_several_fonts_and_goes_on(tmp_path, monkeypatch):
    for name in "abcdefgh":
        _song(tmp_path / "midi" / f"{name}.mid")
    (tmp_path / "midi" / "broken.mid").write_text("no notes")
    played = []

    def render(midi, wav, font):
        played.append(font.name)
        wav.write_bytes(b"sound")

    monkeypatch.setattr(render_midi, "render", render)
    monkeypatch.setattr(render_midi, "require_fluidsynth", lambda: None)
    fonts = [str(tmp_path / name) for name in ("one.sf2", "two.sf2")]
    with pytest.raises(UserError, match=r"No soundfont .*one\.sf2 found"):
        render_midi.build(tmp_path / "midi", tmp_path / "tunes", fonts, 100)
    for font in fonts:
        (tmp_path / font).touch()
    (skipped,) = render_midi.build(tmp_path / "midi", tmp_path / "tunes", fonts, 100)
    assert "broken.mid is not a MIDI file" in skipped.reason
    assert "broken.mid" in (tmp_path / "tunes" / "skipped.csv").read_text()
    assert set(played) == {"one.sf2", "two.sf2"} and len(played) == 8
    assert read_about(tmp_path / "tunes")["name"] == "tunes (rendered)"
    (tmp_path / "tunes" / "c.wav").unlink()
    render_midi.build(tmp_path / "midi", tmp_path / "tunes", fonts, 100)
    assert len(played) == 9


def test_a_folder_without_notes(tmp_path):
    with pytest.raises(UserError, match="no MIDI files there"):
        render_midi.build(tmp_path, tmp_path / "out", ["x.sf2"], 10)


def test_damaged_and_endless_notes_are_named(tmp_path, rng):
    whole = _song(tmp_path / "a.mid").read_bytes()
    for _ in range(200):
        (tmp_path / "b.mid").write_bytes(damaged(whole, rng))
        with contextlib.suppress(UserError):
            render_midi.recast(tmp_path / "b.mid", tmp_path / "c.mid")
    notes = mido.MidiFile()
    notes.tracks.append(mido.MidiTrack([mido.Message("note_on", time=10**8)]))
    notes.save(tmp_path / "b.mid")
    with pytest.raises(UserError, match=r"b\.mid lasts \d+ minutes, 60 are the most"):
        render_midi.recast(tmp_path / "b.mid", tmp_path / "c.mid")
