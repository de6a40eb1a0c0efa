import csv
import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from djnet import audio, constants
from djnet.corpora import folder
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.records import FEATURES, SPLITS, Manifest, serialize
from preprocessing import build as job_module
from preprocessing.build import build
from preprocessing.clips import Settings, choose_starts
from preprocessing.cluster import engine_for


@pytest.fixture
def run_job(cache):
    """Run the job in a process of its own: `run_job("--audio=...")`."""

    def run(*flags: str, **options) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "preprocessing.build", f"--cache={cache}", *flags]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)

    return run


def _skipped(output) -> dict[str, str]:
    with open(output / "skipped.csv", newline="", encoding="utf-8") as file:
        return {row["path"]: row["reason"] for row in csv.DictReader(file)}


@pytest.fixture
def bad_folder(tmp_path, write_tone, rng):
    """Good songs with odd names among files that are wrong in every way: -> folder, {bad name: reason}."""
    music = tmp_path / "my music"
    for name in ("plain.wav", "with spaces.flac", "accénts.ogg", "new\nline.wav", "emoji 🎵.mp3", "deep/er/song.wav"):
        write_tone(music / name, seconds=26)
    write_tone(music / "eight kHz.wav", seconds=26, rate=8_000)
    write_tone(music / "six channels.wav", seconds=26, rate=96_000, channels=6)
    (music / "text.mp3").write_text("not music " * 1000)
    (music / "empty.wav").touch()
    soundfile.write(music / "zero length.wav", np.zeros(0), 44_100)
    for suffix in ("ogg", "mp3", "flac"):
        path = write_tone(music / f"cut off.{suffix}", seconds=40)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    write_tone(music / "short.wav", seconds=3)
    soundfile.write(music / "silence.wav", np.zeros(30 * 22_050), 22_050)
    soundfile.write(music / "constant.wav", np.full(30 * 22_050, 0.5), 22_050)
    nan = rng.standard_normal(30 * 22_050).astype(np.float32)
    nan[20 * 22_050] = np.nan
    soundfile.write(music / "nan.wav", nan, 22_050, subtype="FLOAT")
    (music / "a copy of plain.wav").write_bytes((music / "plain.wav").read_bytes())
    samples, rate = soundfile.read(music / "with spaces.flac")
    soundfile.write(music / "zz same sound.wav", samples, rate)
    (music / "video.m4a").write_bytes(b"\0" * 1000)
    (music / "gone.wav").symlink_to(music / "nowhere.wav")
    (music / "loop.wav").symlink_to(music / "loop.wav")
    (music / "deep" / "up").symlink_to(music, target_is_directory=True)
    (music / "cover.jpg").write_bytes(b"\xff\xd8")
    return music, {
        "text.mp3": "cannot be decoded",
        "empty.wav": "is an empty file",
        "zero length.wav": "has no samples",
        "cut off.ogg": "cut off",
        "cut off.mp3": "cut off",
        "cut off.flac": "c",  # cut off or cannot be decoded: libsndfile versions differ
        "short.wav": "has 3.0 s, a clip needs 24 s",
        "silence.wav": "silent",
        "constant.wav": "silent or constant",
        "nan.wav": "not numbers",
        "plain.wav": "same audio as",
        "zz same sound.wav": "same audio as",
        "video.m4a": "cannot be decoded",
        "gone.wav": "No such file",
        "loop.wav": "cannot be read",
    }


def test_bad_files_are_named_and_the_rest_goes_on(run_job, bad_folder, tmp_path):
    music, reasons = bad_folder
    done = run_job(f"--audio={music}", f"--output={tmp_path / 'data'}", "--workers=2")
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    found = _skipped(tmp_path / "data")
    assert set(found) == {str(music / name) for name in reasons}
    for name, reason in reasons.items():
        assert reason in found[str(music / name)], name
    manifest = Manifest.read(tmp_path / "data")
    tracks = {clip.track for split in SPLITS if manifest.clips(split) for clip in manifest.read_clips(split)}
    assert tracks == {
        "a copy of plain.wav",
        "with spaces.flac",
        "accénts.ogg",
        "new\nline.wav",
        "emoji 🎵.mp3",
        "deep/er/song.wav",
        "eight kHz.wav",
        "six channels.wav",
    }
    assert f"{len(reasons)} files were left out" in done.stdout


@pytest.mark.parametrize("name", ["empty", "nothing useful"])
def test_a_folder_without_music_ends_with_one_line(run_job, tmp_path, name, write_tone):
    (tmp_path / name).mkdir()
    if name != "empty":
        write_tone(tmp_path / name / "short.wav", seconds=2)
    done = run_job(f"--audio={tmp_path / name}", f"--output={tmp_path / 'data'}")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "No music that can be used" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "data" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--nonsense=1"], "Unknown command line flag 'nonsense'"),
        (["--clips_per_track=0"], "clips_per_track must be at least 1, got 0"),
        (["--split=0.5,0.5"], "three shares"),
        (["--corpus=huge"], "huge"),
        (["--audio=no/such/folder"], "--audio=no/such/folder: there is no such folder"),
        (["stray"], "Not a flag: 'stray'"),
    ],
)
def test_wrong_flags_end_with_one_line(run_job, tmp_path, flags, message):
    done = run_job(f"--output={tmp_path / 'data'}", *flags)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1 and message in done.stderr


def test_help_explains_the_flags(run_job):
    done = run_job("--help")
    assert "--audio" in done.stdout and "A folder of your own music" in done.stdout


def test_a_killed_run_goes_on_with_the_same_result(songs, records, tmp_path, monkeypatch, cache):
    script = (
        "import sys; from pathlib import Path; from preprocessing.build import build, Settings;"
        "from djnet.corpora import synthetic;"
        "cache = Path(sys.argv[2]);"
        "build(synthetic.corpus(int(sys.argv[1]), 0, cache), Path(sys.argv[3]), Settings(), cache)"
    )
    command = [sys.executable, "-c", script, str(len(songs.tracks)), str(cache), str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    parts = tmp_path / ".parts"
    while not list(parts.glob("*.json")):
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len(list(parts.glob("*.json")))
    assert not (tmp_path / "manifest.json").exists() and finished < len(songs.tracks)
    done: list[str] = []
    original = job_module.prepare

    def counting(track, *rest):
        done.append(track.id)
        return original(track, *rest)

    monkeypatch.setattr(job_module, "prepare", counting)
    again = build(songs, tmp_path, Settings(), cache)
    assert again.manifest.hash == records.hash
    assert len(done) == len(songs.tracks) - finished
    assert not parts.exists()


@pytest.mark.parametrize("moment", [1, 2, 9, 24, 25, 27, 28])
def test_stopped_at_any_moment_it_goes_on_with_the_same_result(songs, records, tmp_path, monkeypatch, moment, cache):
    """Every file gets its name by one rename: stop the run at one of them, leave the rubbish of a killed run behind."""
    original, count = os.replace, Counter[str]()

    def replace(source, target):
        count["renames"] += 1
        if count["renames"] == moment:
            raise KeyboardInterrupt
        original(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            build(songs, tmp_path, Settings(), cache)
    assert not (tmp_path / "manifest.json").exists()
    (tmp_path / ".train-00000-of-00001.tfrecord.partial").write_bytes(b"rubbish")
    assert build(songs, tmp_path, Settings(), cache).manifest.hash == records.hash


def test_a_second_run_does_nothing(songs, records, monkeypatch, cache):
    monkeypatch.setattr(job_module, "prepare", None)
    assert build(songs, records.folder, Settings(), cache).manifest.hash == records.hash


def test_other_settings_replace_the_records_and_a_damaged_shard_is_repaired(songs, records, tmp_path, cache):
    first = build(songs, tmp_path, Settings(clips_per_track=1), cache).manifest
    assert first.hash != records.hash
    assert build(songs, tmp_path, Settings(), cache).manifest.hash == records.hash
    Manifest.read(tmp_path).shards("test")[0].write_bytes(b"rubbish")
    assert build(songs, tmp_path, Settings(), cache).manifest.hash == records.hash


@pytest.mark.parametrize("changed", ["jigsaw sizes", "beats", "pieces"])
def test_records_of_another_program_are_not_up_to_date(songs, records, cache, monkeypatch, changed):
    def prepare(*_) -> None:
        raise UserError("prepared again")

    monkeypatch.setattr(job_module, "_prepare_all", prepare)
    assert build(songs, records.folder, Settings(), cache).manifest.hash == records.hash, "nothing is done"
    if changed == "jigsaw sizes":
        monkeypatch.setitem(FEATURES, "jigsaw_sizes", [3, 5])
    else:
        module = {"beats": job_module.tracker, "pieces": job_module.duplicates}[changed]
        monkeypatch.setattr(module, "VERSION", "another")
    with pytest.raises(UserError, match="prepared again"):
        build(songs, records.folder, Settings(), cache)


def test_workers_and_compression_do_not_change_the_records(songs, records, tmp_path, cache):
    assert (
        build(songs, tmp_path / "two", Settings(), cache, engine=engine_for("local", 2)).manifest.hash == records.hash
    )
    packed = build(songs, tmp_path / "gzip", Settings(), cache, compress=True).manifest
    for split in SPLITS:
        plain, small = ([serialize(clip) for clip in folder.read_clips(split)] for folder in (records, packed))
        assert plain == small


def test_files_of_others_in_the_folder_stay(songs, tmp_path, cache):
    foreign = tmp_path / "imagenet-00000-of-00010.tfrecord"
    foreign.write_bytes(b"precious")
    build(songs, tmp_path, Settings(clips_per_track=1), cache)
    assert foreign.read_bytes() == b"precious"


def test_a_part_without_its_records_is_made_again(songs, records, tmp_path, cache, monkeypatch):
    """As after a kill while finished parts were being removed."""
    with monkeypatch.context() as patch:
        patch.setattr("preprocessing.shards.Parts.remove", lambda self: None)
        build(songs, tmp_path, Settings(), cache)
    for path in (tmp_path / ".parts").glob("*.tfrecord"):
        path.unlink()
    Manifest.read(tmp_path).shards("test")[0].unlink()
    assert build(songs, tmp_path, Settings(), cache).manifest.hash == records.hash


def test_damaged_beats_in_the_cache_are_found_again(songs, records, tmp_path, cache):
    own = tmp_path / "cache"
    shutil.copytree(cache / "beats", own / "beats")
    for path, rubbish in zip(sorted((own / "beats").iterdir()), (b"", b"rubbish" * 9), strict=False):
        path.write_bytes(rubbish)
    assert build(songs, tmp_path / "data", Settings(), own).manifest.hash == records.hash


def test_a_rerun_says_the_same_of_what_was_left_out_and_sees_changes(tmp_path, cache, write_tone):
    music, data = tmp_path / "music", tmp_path / "data"
    for i in range(4):
        write_tone(music / "one album" / f"{i}.wav", seconds=25)
    soundfile.write(music / "silence.wav", np.zeros(30 * 22_050), 22_050)
    settings = Settings(split_by="group", downbeats=False)

    def run() -> tuple[str, set[str]]:
        summary = build(folder.corpus(music), data, settings, cache)
        assert {item.path for item in summary.skipped} == set(_skipped(data))
        return summary.manifest.hash, {Path(item.path).name for item in summary.skipped}

    first = run()
    assert first[1] == {"silence.wav"} and run() == first
    (music / "junk.mp3").write_text("junk " * 100)
    assert run() == (first[0], {"silence.wav", "junk.mp3"})
    (music / "other").mkdir()
    (music / "one album" / "3.wav").rename(music / "other" / "3.wav")
    assert run()[0] != first[0]


def test_a_name_that_is_no_text(tmp_path, cache, write_tone):
    path = write_tone(tmp_path / "music" / "fine.wav", seconds=25)
    os.rename(path, os.fsencode(path.parent) + b"/bad\xff.wav")
    summary = build(folder.corpus(path.parent), tmp_path / "data", Settings(downbeats=False), cache)
    assert summary.skipped == []
    (clip,) = (clip for split in SPLITS if summary.manifest.clips(split) for clip in summary.manifest.read_clips(split))
    assert os.fsencode(clip.track) == b"bad\xff.wav"


def test_two_runs_at_once(songs, tmp_path, cache):
    with open(tmp_path / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="Another run is writing to"):
            build(songs, tmp_path, Settings(), cache)


def test_a_full_disk_leaves_no_half_file(run_job, songs, tmp_path):
    limit = 400_000  # bytes a file: less than the records of one song
    done = run_job(
        f"--audio={os.path.dirname(songs.tracks[0].path)}",
        f"--output={tmp_path / 'data'}",
        "--workers=1",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert not list((tmp_path / "data").glob("*.tfrecord")) and not (tmp_path / "data" / "manifest.json").exists()


def test_a_folder_that_cannot_be_written(run_job, songs, tmp_path):
    (tmp_path / "file").touch()
    done = run_job(f"--audio={os.path.dirname(songs.tracks[0].path)}", f"--output={tmp_path / 'file' / 'data'}")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [f"{tmp_path / 'file' / 'data'}: Not a directory."]


def test_clips_never_overlap_and_fit(rng):
    for seconds in [24.0, 24.05, 47.9, 48.0, 100.0, 239.0, 241.0, 1000.0, 36_000.0]:
        starts = np.array(choose_starts(seconds, "abc", Settings()))
        assert len(starts) == min(10, int(seconds / constants.CLIP_SECONDS))
        assert (np.diff(starts) >= constants.CLIP_HOPS).all()
        assert starts[0] >= 0 and constants.hops_to_seconds(starts[-1] + constants.CLIP_HOPS) <= seconds
    assert choose_starts(23.9, "abc", Settings()) == ()
    assert choose_starts(100.0, "abc", Settings(first_only=True)) == (0,)
    assert choose_starts(100.0, "abc", Settings(seed=1)) != choose_starts(100.0, "abc", Settings(seed=0))


def test_a_record_is_the_log_mel_of_its_place_in_the_track(songs, records):
    paths = {track.id: track.path for track in songs.tracks}
    for clip in list(records.read_clips("test"))[:3]:
        samples = audio.load(paths[clip.track])
        first = round(clip.start * constants.SAMPLE_RATE_HZ)
        own = samples[first : first + len(clip.samples)]
        assert np.abs(clip.waveform - own).max() < 1e-4
        expected = log_mel(own)
        assert np.abs(clip.mel - expected).max() < 0.01


def test_the_folder_corpus_follows_links_once(tmp_path, write_tone):
    write_tone(tmp_path / "album" / "one.wav", seconds=1)
    (tmp_path / "album" / "again").symlink_to(tmp_path, target_is_directory=True)
    tracks = folder.corpus(tmp_path).tracks
    assert [(track.id, track.group) for track in tracks] == [("album/one.wav", "album")]


def test_whatever_goes_wrong_with_one_track_leaves_that_track_out(songs, tmp_path, cache, monkeypatch):
    original = job_module.prepare
    strange = songs.tracks[3].id

    def prepare(track, *rest):
        if track.id == strange:
            raise ZeroDivisionError("nobody thought of this")
        return original(track, *rest)

    monkeypatch.setattr(job_module, "prepare", prepare)
    corpus = replace(songs, tracks=songs.tracks[2:5])
    (skipped,) = build(corpus, tmp_path, Settings(downbeats=False), cache).skipped
    assert skipped.reason == "cannot be used (ZeroDivisionError: nobody thought of this)."
    assert skipped.path == songs.tracks[3].path
