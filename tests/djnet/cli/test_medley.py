import argparse
import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from djnet import audio
from djnet.annotations import read_sections
from djnet.cli import main, medley, options
from djnet.constants import SAMPLE_RATE_HZ
from djnet.features import log_mel
from djnet.files import locked
from djnet.medley import analysis, check, key, tempo
from djnet.medley.analysis import Song
from djnet.medley.loudness import loudness_of
from djnet.medley.transitions import RATE_HZ
from djnet.records import quantised


def known_song(path, probe) -> Song:
    """A song whose beats stand beside it, or which has none; in place of the tracker."""
    samples, fine = audio.load_at(path, 0.0, None, (SAMPLE_RATE_HZ, RATE_HZ))
    file = Path(path).with_name(Path(path).stem + ".beats.csv")
    beats = np.loadtxt(file, delimiter=",", skiprows=1) if file.exists() else np.zeros((0, 2))
    loudness = loudness_of(fine[:, None], RATE_HZ)
    mel = log_mel(samples).astype(np.float16)
    seconds = len(samples) / SAMPLE_RATE_HZ
    strengths, name = np.full(len(beats), 0.9), key.NAMES[len(samples) % 12]
    return Song(
        path,
        probe.content,
        probe.sound,
        seconds,
        name,
        loudness,
        tempo.smoothed(beats),
        strengths,
        mel,
        key.chroma_of(samples, SAMPLE_RATE_HZ),
        *quantised(samples),
    )


def stub_scores(mels, wanted=None) -> np.ndarray:
    """Scores that depend on the clips and nothing else."""
    ends = np.stack([mel[-20:].mean(axis=0) for mel in mels])
    begins = np.stack([mel[:20].mean(axis=0) for mel in mels])
    return np.exp(-np.linalg.norm(ends[:, None] - begins[None], axis=2) / 10).astype(np.float32)


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def run(monkeypatch, kept):
    """The command without the tracker and the network: `run("songs/", "-o", "x.wav")`."""
    monkeypatch.setattr(analysis, "_measure", known_song)
    monkeypatch.setattr(medley, "load_network", lambda name: stub_scores)
    measured: list[check.Check] = []
    original = check.check

    def kept_check(*given) -> check.Check:
        measured.append(original(*given))
        return measured[0]

    monkeypatch.setattr(check, "check", kept_check)

    def command(*words) -> check.Check | None:
        measured.clear()
        with pytest.raises(SystemExit) as ended:
            main.main(["medley", *map(str, words), "--cache", str(kept), "--workers", "1"])
        assert ended.value.code == 0
        return measured[0] if measured else None

    return command


@pytest.fixture
def quickly(monkeypatch):
    """Beats at the joins are not tracked."""
    monkeypatch.setattr(check, "_phase", lambda *_: None)


@pytest.fixture
def folder(songs, tmp_path) -> Path:
    """Four generated songs of known tempo."""
    where = tmp_path / "songs"
    where.mkdir()
    for track in songs.tracks[:4]:
        for file in (Path(track.path), Path(track.path).with_suffix("").with_suffix(".beats.csv")):
            shutil.copy(file, where)
    return where


def test_a_medley_is_in_step_equally_loud_and_as_long_as_planned(run, folder, tmp_path, capsys):
    output = tmp_path / "medley.wav"
    result = run(folder, "-o", output)
    said = capsys.readouterr().out
    assert "(proven)" in said and "Second-best order" in said and "1 smooth, 2 abrupt; without 'song-0000'" in said
    warnings = [warning for join in result.joins for warning in join.warnings] + result.warnings
    assert all("the tempo jumps" in warning for warning in warnings)  # one of the songs fits no other
    content = json.loads(output.with_suffix(".json").read_text())
    samples, rate = soundfile.read(output, dtype="float32")
    assert rate == 44_100 and samples.shape[1] == 2
    phases = [join.phase_ms for join in result.joins if join.phase_ms is not None]
    assert len(phases) >= 1 and np.abs(phases).max() < 10
    assert result.spread < 1.0 and result.peak_db < -1.0 and result.silence < 0.5

    assert len(samples) / rate == pytest.approx(read_sections(output.with_suffix(".csv"))[-1].end, abs=0.05)
    for clip in content["clips"]:
        bars = np.array([time for time, position in clip["beats"] if position == 1])
        assert np.abs(bars + clip["begin"] - clip["start"]).min() < 1e-6
        assert 8 <= clip["end"] - clip["start"] <= 30 and clip["bars"] in (4, 8, 16)


def test_receipts_say_where_everything_is_and_render_the_same_bytes(run, quickly, folder, tmp_path, capsys):
    output = tmp_path / "medley.flac"
    run(folder, "-o", output, "--length", "8")
    seconds = soundfile.info(output).duration
    content = json.loads(output.with_suffix(".json").read_text())
    middles = [join["middle"] for join in content["joins"]]
    sheet = [part.start for part in read_sections(output.with_suffix(".cue"))]
    assert sheet == pytest.approx([0.0, *middles], abs=1 / 75)
    listed = read_sections(output.with_suffix(".csv"))
    assert [part.start for part in listed] == pytest.approx([0.0, *middles], abs=1e-3)
    assert listed[-1].end == pytest.approx(seconds, abs=1e-3)
    assert [part.label for part in listed] == [Path(clip["song"]).stem for clip in content["clips"]]
    assert output.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert 'src="medley.flac"' in output.with_suffix(".html").read_text()

    run("--again", output.with_suffix(".json"), "-o", tmp_path / "copy.flac", "--no-page")
    assert not (tmp_path / "copy.html").exists()
    assert (tmp_path / "copy.flac").read_bytes() == output.read_bytes()
    assert (tmp_path / "copy.json").read_bytes() == output.with_suffix(".json").read_bytes()

    run(folder, "-o", tmp_path / "joins.wav", "--preview", "--length", "8")
    assert "3 joins" in capsys.readouterr().out
    assert soundfile.info(tmp_path / "joins.wav").duration < seconds + 12
    assert not (tmp_path / "joins.json").exists()


def planned(capsys) -> list[str]:
    """Songs of the table that was printed, in their order."""
    lines = capsys.readouterr().out.splitlines()
    return [line.split()[1] for line in lines if line[:1].isdigit()]


def test_constraints_are_kept_and_their_cost_is_said(run, folder, tmp_path, capsys):
    dry = ("--dry-run", "-o", tmp_path / "x.wav")
    run(folder, *dry)
    free = planned(capsys)
    assert sorted(free) == [f"song-000{i}" for i in range(4)]
    run(folder, *dry, "--first", free[2], "--last", f"{free[0]}.flac")
    assert "--first costs" in (said := capsys.readouterr().out) and "--last costs" in said
    run(folder, *dry, "--before", free[3], free[0])
    order = planned(capsys)
    assert order.index(free[3]) < order.index(free[0])
    run(folder, *dry, "--keep-order")
    assert planned(capsys) == sorted(free)
    (folder / "list.m3u").write_text("song-0002.flac\ngone.flac\nsong-0001.flac\nsong-0003.flac\n")
    run(folder / "list.m3u", *dry, "--keep-order")
    said = capsys.readouterr().out
    assert "gone.flac cannot be read" in said and "1 of 4 files left out." in said
    assert [line.split()[1] for line in said.splitlines() if line[:1].isdigit() and "song" in line] == [
        "song-0002", "song-0001", "song-0003"
    ]  # fmt: skip
    run(folder, *dry, "--drop-worst", "1")
    assert len(planned(capsys)) == 3
    assert list(tmp_path.iterdir()) == [folder]


def test_lengths_and_settings(run, quickly, folder, tmp_path, capsys):
    settings = tmp_path / "settings.toml"
    settings.write_text('["song-0001.flac"]\nstart = 20.0\nlength = 10\n')
    run(folder, "-o", tmp_path / "x.wav", "--total", "60", "--settings", settings)
    seconds = soundfile.info(tmp_path / "x.wav").duration
    assert 45 < seconds < 75
    clips = json.loads((tmp_path / "x.json").read_text())["clips"]
    chosen = next(clip for clip in clips if "song-0001" in clip["song"])
    assert abs(chosen["start"] - 20.0) < 1.5 and abs(chosen["end"] - chosen["start"] - 10) < 1.5


@pytest.mark.parametrize(
    ("word", "seconds"),
    [("300", 300), ("5:00", 300), ("20m", 1200), ("1:05:00", 3900), ("1h20m", 4800), ("1.5m", 90), ("90s", 90)],
)
def test_durations_may_be_written_as_people_do(word, seconds):
    assert options.duration(word) == seconds


@pytest.mark.parametrize("word", ["", "0", "-3", "m", "5:xx", "nan", "inf", "1e9", "9" * 400])
def test_what_is_no_duration(word):
    with pytest.raises(argparse.ArgumentTypeError, match="such as 300, 5:00 or 20m"):
        options.duration(word)


def test_a_total_that_cannot_be_met_takes_the_nearest_and_says_so(run, folder, tmp_path, capsys):
    run(folder, "--dry-run", "-o", tmp_path / "x.wav", "--total", "20m")
    said = capsys.readouterr().out
    assert "is the nearest to 20:00.0" in said and "with 4 songs" in said
    run(folder, "--dry-run", "-o", tmp_path / "x.wav", "--length", "0:40")
    assert "  24  " in capsys.readouterr().out  # bars


def test_strange_songs_still_make_a_medley(run, quickly, folder, tmp_path, rng, capsys, write_tone):
    (folder / "copy.flac").write_bytes((folder / "song-0000.flac").read_bytes())
    (folder / "broken.wav").write_bytes(b"RIFF no music")
    write_tone(folder / "short.wav", seconds=5.0)
    talk = np.repeat(rng.random(150) < 0.5, 4410) * 0.1 * rng.standard_normal(150 * 4410)
    soundfile.write(folder / "talk.wav", np.concatenate([np.zeros(44_100), talk]), 22_050)
    for track in ("song-0002", "song-0003"):
        (folder / f"{track}.flac").unlink()
    run(folder, "-o", tmp_path / "x.ogg")
    said = capsys.readouterr().out
    assert "Left out: " in said and "broken.wav" in said and "is the same audio" in said
    assert "overlay: no downbeats" in said and "WARNING: the true peak" not in said
    clips = json.loads((tmp_path / "x.json").read_text())["clips"]
    assert sorted(Path(clip["song"]).stem for clip in clips) == ["copy", "short", "song-0001", "talk"]
    assert next(clip for clip in clips if "talk" in clip["song"])["start"] > 1.5  # not in the silence


def test_one_song_is_a_medley_too(run, quickly, folder, tmp_path, capsys):
    run(folder / "song-0000.flac", "-o", tmp_path / "x.mp3")
    said = capsys.readouterr().out
    assert "nothing to join" in said and ", 1 song." in said
    assert soundfile.info(tmp_path / "x.mp3").duration > 7


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["-o", "nowhere/x.wav"], "there is no folder nowhere"),
        (["-o", "x.aac"], "the ending says the format"),
        (["-o", "there.wav"], "is there already; choose another -o, or --force"),
        (["--first", "nobody"], "no song has that in its name"),
        (["--first", "song"], "that may be song-0000.flac or song-0001.flac"),
        (["--first", "song-0001", "--last", "song-0001"], "'song-0001' cannot be both the first and the last"),
        (["--before", "0001", "0002", "--before", "0002", "0001"], "go round in a circle"),
        (["--keep-order", "--first", "song-0003"], "the other rules forbid it"),
        (["--drop-worst", "3"], "two must be left"),
        (["--total", "-3"], "such as 300, 5:00 or 20m, not '-3'"),
        (["--length", "long"], "such as 300, 5:00 or 20m, not 'long'"),
        (["--settings", "bad.toml"], "is not TOML"),
        (["--settings", "strange.toml"], "nothing else"),
        (["--again", "there.wav"], "is not a receipt"),
        (["missing/"], "there is no such file or folder"),
    ],
)
def test_mistakes_are_one_line(monkeypatch, kept, folder, tmp_path, capsys, words, complaint):
    monkeypatch.setattr(analysis, "_measure", known_song)
    monkeypatch.setattr(medley, "load_network", lambda name: stub_scores)
    monkeypatch.chdir(tmp_path)
    Path("there.wav").write_bytes(b"mine")
    Path("bad.toml").write_text("start = = 3")
    Path("strange.toml").write_text('["song-0001"]\nvolume = 3\n')
    with pytest.raises(SystemExit) as ended:
        main.main(["medley", *words, str(folder), "--cache", str(kept), "--workers", "1"])
    assert ended.value.code == 2
    error = [
        line for line in capsys.readouterr().err.splitlines() if line and not line.startswith(("analyse:", "score:"))
    ]
    assert len(error) == 1 and complaint in error[0]
    assert Path("there.wav").read_bytes() == b"mine"


def test_songs_are_called_by_their_tags(run, quickly, folder, tmp_path, capsys):
    samples, rate = soundfile.read(folder / "song-0001.flac")
    with soundfile.SoundFile(folder / "song-0001.flac", "w", rate, 1) as sound:
        sound.title, sound.artist = "Some title", "Somebody"
        sound.write(samples)
    run(folder, "-o", tmp_path / "x.wav", "--length", "8", "--first", "some title")
    assert "Somebody - Some title" in capsys.readouterr().out
    sheet = (tmp_path / "x.cue").read_text()
    assert 'TITLE "Somebody - Some title"' in sheet and 'PERFORMER "Somebody"' in sheet
    assert json.loads((tmp_path / "x.json").read_text())["clips"][0]["name"] == "Somebody - Some title"


def test_a_song_is_explained_and_nothing_is_written(run, folder, tmp_path, capsys):
    run(folder, "-o", tmp_path / "x.wav", "--explain", "song-0001", "--arc", "rise")
    said = capsys.readouterr().out
    assert "--arc costs" in said and "Energy from song to song" in said
    explained = said[said.index("song-0001 (") :]
    assert "beats in a bar" in explained and "repetition" in explained and "of them clear" in explained
    assert sum(line.endswith("plays") for line in explained.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    "words", [["--explain", "nobody"], ["--first", "nobody"], ["--settings", "strange.toml"], ["--drop-worst", "3"]]
)
def test_mistakes_are_said_before_any_song_is_analysed(monkeypatch, folder, tmp_path, capsys, words):
    monkeypatch.setattr(analysis, "analyse", lambda *_: pytest.fail("analysed"))
    monkeypatch.chdir(tmp_path)
    Path("strange.toml").write_text('["sogn-0001"]\nstart = 3\n')
    with pytest.raises(SystemExit) as ended:
        main.main(["medley", *words, str(folder)])
    assert ended.value.code == 2 and capsys.readouterr().err.count("\n") == 1


def test_a_song_that_is_gone_or_changed_is_named(run, quickly, folder, tmp_path, capsys):
    run(folder, "-o", tmp_path / "x.wav", "--length", "8")
    (folder / "song-0002.flac").write_bytes((folder / "song-0001.flac").read_bytes())
    with pytest.raises(SystemExit) as ended:
        main.main(["medley", "--again", str(tmp_path / "x.json"), "-o", str(tmp_path / "y.wav")])
    assert ended.value.code == 2 and "has changed since" in capsys.readouterr().err


def test_songs_with_hostile_names_play_under_escaped_ones(run, quickly, folder, tmp_path, capsys):
    os.rename(folder / "song-0000.flac", os.fsencode(folder) + b"/not \xff utf-8.flac")
    os.rename(folder / "song-0001.flac", folder / 'a\x1b[31m\n"b\u202e.flac')
    os.rename(folder / "song-0002.flac", folder / "$x_{$.flac")
    (folder / "loop.wav").symlink_to(folder / "loop.wav")
    (folder / "bad\x07.wav").write_bytes(b"RIFF no music")
    output = tmp_path / "x.flac"
    run(folder, "-o", output)
    said = capsys.readouterr().out
    assert "loop.wav cannot be read (Too many levels of symbolic links)" in said and "bad\\x07.wav" in said
    names = {"not ? utf-8", 'a\\x1b[31m\\n"b\\u202e', "$x {$", "song-0003"}
    assert all(name[:20] in said for name in names) and "\x1b" not in said and "\x07" not in said
    assert {part.label for part in read_sections(output.with_suffix(".csv"))} == names
    assert {part.label for part in read_sections(output.with_suffix(".cue"))} == {n.replace('"', "'") for n in names}
    run("--again", output.with_suffix(".json"), "-o", tmp_path / "y.flac")
    assert (tmp_path / "y.flac").read_bytes() == output.read_bytes()


def test_an_output_that_is_being_written_is_refused_before_any_work(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(analysis, "analyse", lambda *_: pytest.fail("it began to work"))
    with locked(tmp_path / "x.json"), pytest.raises(SystemExit) as ended:  # x.mp3 and x.wav share what lies beside them
        main.main(["medley", str(folder), "-o", str(tmp_path / "x.wav")])
    assert ended.value.code == 2 and "Another run is writing to" in capsys.readouterr().err


def test_a_full_disk_is_one_line_and_leaves_nothing(run, quickly, folder, tmp_path, capsys, monkeypatch):
    def full(*_) -> None:
        raise soundfile.LibsndfileError(2)

    monkeypatch.setattr(soundfile.SoundFile, "write", full)
    with pytest.raises(SystemExit) as ended:
        main.main(["medley", str(folder), "-o", str(tmp_path / "x.wav"), "--workers", "1", "--cache", str(tmp_path)])
    *_, line = capsys.readouterr().err.strip().splitlines()
    assert ended.value.code == 1 and "x.wav: cannot be written (System error" in line and "MB are free" in line
    assert not list(tmp_path.glob(".*"))


def test_a_cache_that_cannot_be_written_is_done_without(run, quickly, folder, tmp_path, monkeypatch):
    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(SystemExit) as ended:
        main.main(["medley", str(folder), "-o", str(tmp_path / "x.wav"), "--workers=1", "--cache", str(tmp_path / "c")])
    assert ended.value.code == 0 and (tmp_path / "x.wav").exists() and not list((tmp_path / "c" / "songs").iterdir())


def test_songs_may_be_transposed_and_the_receipt_says_so(run, quickly, folder, tmp_path, capsys):
    settings = tmp_path / "settings.toml"
    settings.write_text('["song-0001"]\ntranspose = 2\n')
    output = tmp_path / "x.wav"
    run(folder, "-o", output, "--length", "8", "--repitch", "--settings", settings)
    assert "(+2)" in capsys.readouterr().out
    clips = json.loads(output.with_suffix(".json").read_text())["clips"]
    assert {clip["transpose"] for clip in clips if "song-0001" in clip["song"]} == {2}
    assert all(clip["transpose"] in (-1, 0, 1) for clip in clips if "song-0001" not in clip["song"])
    run("--again", output.with_suffix(".json"), "-o", tmp_path / "y.wav")
    assert (tmp_path / "y.wav").read_bytes() == output.read_bytes()
