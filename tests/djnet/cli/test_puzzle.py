import html
import shlex

import numpy as np
import pytest
import soundfile

from djnet import audio
from djnet.cli import puzzle
from djnet.cli.main import main as console
from djnet.constants import SAMPLE_RATE_HZ
from djnet.errors import UserError
from tests.make_report import page_data


@pytest.fixture(scope="module")
def long_song(songs, tmp_path_factory):
    """Ten minutes of a quiet tone, and music from 400 s on."""
    music = audio.load(songs.tracks[0].path, 0.0, 40.0)
    time = np.arange(600 * SAMPLE_RATE_HZ, dtype=np.float32) / SAMPLE_RATE_HZ
    samples = 0.02 * np.sin(2 * np.pi * 220 * time)
    samples[400 * SAMPLE_RATE_HZ :][: len(music)] = music
    path = tmp_path_factory.mktemp("songs") / "<b>long & 'loud'.wav"
    soundfile.write(path, samples, SAMPLE_RATE_HZ)
    return path


def test_the_best_part_of_a_long_song_becomes_a_page_that_holds_everything(long_song, tmp_path, capsys):
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as ended:
        console(["puzzle", str(long_song), "-n", "5", "-o", str(page)])
    assert ended.value.code == 0
    start = float(capsys.readouterr().out.split("from ")[-1].split(" s,")[0])
    assert 399 <= start <= 417
    data, text = page_data(page), page.read_text(encoding="utf-8")
    assert data["level"] == "downbeat" and {play["n"] for play in data["play"]} == {5}
    assert [play["cut"] for play in data["play"]][:2] == ["fixed", "downbeat"]
    assert "<b>long" not in text and "&lt;b&gt;long &amp; &#39;loud&#39;" in text
    command = html.unescape(text.split("Made by <code>")[1].split("</code>")[0])
    words = shlex.split(command)  # it can be pasted into a shell
    assert words[:5] == ["djnet", "puzzle", long_song.name, "-n", "5"] and words[-2:] == ["--cut", "downbeat"]
    assert 'djnet.addSound("song", "' in text and "src=" not in text.split("<script>")[0]
    with pytest.raises(UserError, match="is there already"):
        puzzle.main([str(long_song), "-o", str(page)])


def test_a_part_can_be_asked_for_and_without_downbeats_pieces_are_equal(long_song, tmp_path, capsys):
    page = tmp_path / "page.html"
    puzzle.main([str(long_song), "-n", "3", "-o", str(page), "--start", "100"])
    assert "cut into equal pieces instead" in capsys.readouterr().out
    (play,) = page_data(page)["play"]
    assert play["cut"] == page_data(page)["level"] == "fixed"
    assert np.allclose(np.diff(play["spans"]), 8.0, atol=0.05)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["short.wav"], r"short\.wav has 10\.0 s, and a puzzle needs 24 s"),
        (["song.wav", "--start", "20"], r"--start=20: .*song\.wav has 24 s from 0 up to 6\.0 s"),
        (["song.wav", "--start", "-1"], "not from there"),
        (["silent.wav"], r"silent\.wav is silent from 0\.0 s on"),
        (["song.wav", "-o", "nowhere/page.html"], "there is no folder nowhere"),
        (["missing.wav"], "cannot be read"),
    ],
)
def test_what_cannot_be_a_puzzle_is_said(write_tone, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    write_tone(tmp_path / "short.wav", seconds=10)
    write_tone(tmp_path / "song.wav", seconds=30)
    soundfile.write(tmp_path / "silent.wav", np.zeros(30 * SAMPLE_RATE_HZ), SAMPLE_RATE_HZ)
    with pytest.raises(ValueError, match=said):
        puzzle.main(words)


@pytest.mark.parametrize("words", [["song.wav", "-n", "9"], []])
def test_wrong_words_end_with_one_line(words, capsys):
    with pytest.raises(SystemExit) as ended:
        puzzle.main(words)
    assert ended.value.code == 2 and len(capsys.readouterr().err.splitlines()) == 1
