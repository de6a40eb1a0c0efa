import json
import shutil
import time
from pathlib import Path

import pytest

from djnet.medley import analysis
from djnet.studio.songs import Songs
from djnet.studio.studio import Studio
from tests.djnet.cli.test_medley import known_song, stub_scores

ENDS = ("ready", "left out")


@pytest.fixture
def music(songs, tmp_path) -> Path:
    """A folder of four generated songs of known tempo."""
    where = tmp_path / "music"
    where.mkdir()
    for track in songs.tracks[:4]:
        for file in (Path(track.path), Path(track.path).with_suffix("").with_suffix(".beats.csv")):
            shutil.copy(file, where)
    return where


@pytest.fixture(scope="session")
def kept_songs(tmp_path_factory) -> Path:
    """A cache that the tests of the studio share."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def open_studio(monkeypatch, kept_songs, tmp_path):
    """A studio without the child, the tracker and the network: `open_studio(music)`; all songs are analysed."""
    monkeypatch.setattr(analysis, "_measure", known_song)
    monkeypatch.setattr(Songs, "_start", lambda _: None)
    monkeypatch.setattr(Songs, "_ask", lambda *_: "")
    opened = []

    def start(music: Path | None, folder: Path = tmp_path / "project") -> Studio:
        studio = Studio(folder, music, kept_songs, stub_scores, "stub")
        opened.append(studio)
        await_songs(studio)
        return studio

    yield start
    for studio in opened:
        studio.songs.close()


def await_songs(studio: Studio) -> None:
    """Wait until every file is analysed or left out."""
    for _ in range(1200):
        if all(entry["state"] in ENDS for entry in studio.songs.states()):
            return
        time.sleep(0.05)
    raise AssertionError(json.dumps(studio.songs.states()))
