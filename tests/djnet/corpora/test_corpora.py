import csv
import hashlib
import io
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile

from djnet.constants import SAMPLE_RATE_HZ
from djnet.corpora import folder, free, playlists, synthetic
from djnet.corpora.free import Recording
from djnet.errors import UserError
from djnet.rng import rng_for

needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")


def test_generated_songs_are_the_same_for_a_seed_and_different_for_another():
    one, again, other = (synthetic.play(rng_for(seed, "song", 0)) for seed in (0, 0, 1))
    assert np.array_equal(one.samples, again.samples)
    assert len(one.samples) != len(other.samples) or not np.allclose(one.samples, other.samples)


def test_a_generated_song_has_beats_sections_and_sound_everywhere(songs):
    song = synthetic.play(rng_for(0, "song", 3))
    assert 40 < len(song.samples) / SAMPLE_RATE_HZ < 120
    assert np.abs(song.samples).max() == pytest.approx(0.8)
    downbeats = song.beats[song.beats[:, 1] == 1, 0]
    assert np.allclose(
        [section.start for section in song.sections],
        downbeats[np.searchsorted(downbeats, [s.start - 1e-6 for s in song.sections])],
    )
    assert [s.label for s in song.sections][:3] == ["intro", "verse", "chorus"]
    seconds = song.samples[: len(song.samples) // SAMPLE_RATE_HZ * SAMPLE_RATE_HZ].reshape(-1, SAMPLE_RATE_HZ)
    assert (seconds[:-3].std(axis=1) > 0.01).all()
    assert len({soundfile.info(track.path).frames for track in songs.tracks}) == len(songs.tracks)


def test_annotations_stand_beside_generated_songs(songs):
    path = Path(songs.tracks[0].path)
    with open(path.with_name("song-0000.sections.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["label"] == "intro" and all(float(row["start"]) < float(row["end"]) for row in rows)


def test_the_list_of_free_music():
    small, medium, full = (free.recordings(name) for name in free.SETS)
    assert set(small) < set(medium) < set(full)
    assert len(small) == 6 and len(medium) == 24
    every = [recording for group in full.values() for recording in group]
    assert len({recording.sha1 for recording in every}) == len(every) > 900
    assert all(recording.licence for recording in every)
    rest = free.recordings(free.REST)
    assert set(rest) == set(full) - set(medium)
    with pytest.raises(UserError, match="Unknown set 'tiny'"):
        free.recordings("tiny")


def _deb(folder: Path, files: dict[str, bytes]) -> Path:
    root = folder / "root"
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "DEBIAN").mkdir()
    control = (
        "Package: tunes\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: tunes\n"
    )
    (root / "DEBIAN" / "control").write_text(control)
    subprocess.run(["dpkg-deb", "--build", root, folder / "tunes.deb"], check=True, capture_output=True)
    return folder / "tunes.deb"


@needs_dpkg
def test_a_package_is_unpacked_without_installing_also_from_zips(tmp_path):
    with zipfile.ZipFile(tmp_path / "music.pk3", "w") as archive:
        archive.writestr("sound/inner.ogg", b"inner")
        archive.writestr("../../escape.ogg", b"escape")
    data = {"usr/a.ogg": b"one", "usr/b.ogg": b"changed", "usr/music.pk3": (tmp_path / "music.pk3").read_bytes()}
    deb = _deb(tmp_path, data)

    def listed(path: str, content: bytes) -> Recording:
        return Recording("tunes", path, hashlib.sha1(content).hexdigest(), "CC0")

    wanted = [
        listed("usr/a.ogg", b"one"),
        listed("usr/b.ogg", b"as listed"),
        listed("usr/music.pk3!/sound/inner.ogg", b"inner"),
        listed("usr/absent.ogg", b""),
    ]
    target = tmp_path / "store"
    assert free.unpack(deb, wanted, target) == 2
    files = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    assert files == {"usr/a.ogg": b"one", "usr/music.pk3!/sound/inner.ogg": b"inner"}
    assert not list(tmp_path.rglob("escape.ogg"))


@needs_dpkg
@pytest.mark.parametrize("path", ["../escape.ogg", "usr/../../escape.ogg", "/escape.ogg", "x.pk3!/../../escape.ogg"])
def test_no_path_leads_out_of_the_folder(tmp_path, path, monkeypatch):
    """Not even one of our own list, with an archive that holds just that path."""
    with zipfile.ZipFile(tmp_path / "x.pk3", "w") as archive:
        archive.writestr("../../escape.ogg", b"escape")
    names = ["./../escape.ogg", "usr/../../escape.ogg", "/escape.ogg"]
    with tarfile.open(tmp_path / "members.tar", "w") as tar:
        for name, data in [*((name, b"escape") for name in names), ("x.pk3", (tmp_path / "x.pk3").read_bytes())]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("linked.ogg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    original = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *_, **options: original(["cat", tmp_path / "members.tar"], **options)
    )
    sha1 = hashlib.sha1(b"escape").hexdigest()
    target = tmp_path / "inside" / "store"
    target.mkdir(parents=True)
    wanted = [Recording("tunes", path, sha1, "CC0"), Recording("tunes", "linked.ogg", sha1, "CC0")]
    with pytest.raises(UserError, match="leads out of the folder"):
        free.unpack(tmp_path / "x.deb", wanted, target)
    assert not list(tmp_path.rglob("*escape*")) and not list(target.rglob("*"))


@needs_dpkg
def test_a_damaged_package_is_named(tmp_path):
    (tmp_path / "broken.deb").write_bytes(b"not a package")
    with pytest.raises(UserError, match=r"broken.deb is damaged"):
        free.unpack(tmp_path / "broken.deb", [Recording("p", "a.ogg", "0", "CC0")], tmp_path)


@needs_dpkg
def test_a_damaged_zip_in_a_package_is_named(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.ogg", bytes(1000))
    data = bytearray(buffer.getvalue())
    data[35:40] = b"\xff" * 5  # where the packed bytes begin
    deb = _deb(tmp_path, {"usr/music.pk3": bytes(data)})
    with pytest.raises(UserError, match=r"tunes.deb is damaged \(Error -3"):
        free.unpack(deb, [Recording("tunes", "usr/music.pk3!/a.ogg", "0", "CC0")], tmp_path / "store")


def test_a_machine_without_apt_hears_what_else_it_can_do(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError, match=r"AUDIO=folder.*CORPUS=synthetic"):
        free.corpus("small", tmp_path)


def test_what_apt_cannot_fetch_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(free, "_apt", lambda own, folder, *words: "E: no such package")
    with pytest.raises(UserError, match="could not fetch drascula-music: E: no such package"):
        free.corpus("small", tmp_path)


def test_the_free_corpus_names_what_is_missing(tmp_path, monkeypatch):
    def fetch(package, listed, store, apt_folder):
        for recording in listed[1:]:
            path = store / package / recording.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    monkeypatch.setattr(free, "_fetch", fetch)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    corpus = free.corpus("small", tmp_path)
    assert corpus.name == "free-small" and len(corpus.skipped) == 6
    assert all(track.group in track.path and track.licence for track in corpus.tracks)


def test_a_folder_is_named_by_its_game_json(tmp_path):
    music = tmp_path / "songs"
    music.mkdir()
    assert folder.corpus(music).name == "songs"
    (music / "game.json").write_text('{"name": "songs (rendered)"}')
    assert folder.corpus(music).name == "songs (rendered)"
    for damaged in ('{"name": ', '["songs"]'):
        (music / "game.json").write_text(damaged)
        with pytest.raises(ValueError, match=r"game\.json should say"):
            folder.corpus(music)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "a.m3u",
            b"#EXTM3U\r\n#EXTINF:3,One\r\nsub/one.mp3\r\n\r\n/music/two.mp3\r\n",
            ["sub/one.mp3", "/music/two.mp3"],
        ),
        ("a.m3u8", "\N{ZERO WIDTH NO-BREAK SPACE}\N{LATIN SMALL LETTER E WITH ACUTE}.mp3".encode(), ["\xe9.mp3"]),
        ("a.m3u", b"..\\old\\\xe9.mp3\n", ["../old/\xe9.mp3"]),
        ("a.m3u", b"file:///music/my%20song.mp3\nhttp://radio/x.mp3\n", ["/music/my song.mp3", "http://radio/x.mp3"]),
        ("a.PLS", b"[playlist]\nFile10=c.mp3\nfile2 = b.mp3\nTitle2=B\nFile1=a.mp3\n", ["a.mp3", "b.mp3", "c.mp3"]),
        ("a.pls", b"", []),
        ("a.m3u", bytes(range(256)), None),
    ],
)
def test_playlists_are_read_as_players_write_them(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(content)
    entries = playlists.read(path)
    assert playlists.is_playlist(path)
    if expected is not None:
        assert entries == [entry if "://" in entry else str(tmp_path / entry) for entry in expected]
