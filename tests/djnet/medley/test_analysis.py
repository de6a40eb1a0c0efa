import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from joblib.externals.loky.process_executor import TerminatedWorkerError

from djnet import audio
from djnet.constants import SAMPLE_RATE_HZ
from djnet.downbeats import network, tracker
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.medley import analysis, key, parts, tempo, voices
from djnet.medley.loudness import loudness_of


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


def test_a_song_that_is_analysed_while_it_is_decoded_is_that_of_all_samples_at_once(songs, monkeypatch):
    """In many pieces, and with three networks at once: to the bit, but for filters that settle and matrix products."""
    path = songs.tracks[1].path
    rates = (SAMPLE_RATE_HZ, tracker.ANALYSIS_RATE_HZ, voices.RATE_HZ)
    samples, fine, coarse = audio.load_at(path, 0.0, 30.0, rates)
    whole = tracker.activations(fine, tracker.ANALYSIS_RATE_HZ)
    decode = audio.blocks_at
    monkeypatch.setattr(audio, "blocks_at", lambda path, start, seconds, rates: decode(path, start, 30.0, rates))
    monkeypatch.setattr(analysis, "_PIECE_SECONDS", 7.0)
    monkeypatch.setattr(network, "_LAYER_BYTES", 3000 * network._FRAME_BYTES // 3)
    song = analysis._measure(path, audio.probe(path))
    assert song.seconds == pytest.approx(30.0, abs=0.01)
    assert np.array_equal(song.mel, log_mel(samples).astype(np.float16))
    np.testing.assert_allclose(song.waveform(0.0, 30.0), samples, atol=2e-5)
    np.testing.assert_allclose(song.chroma, key.chroma_of(samples, SAMPLE_RATE_HZ), atol=1e-3)
    np.testing.assert_allclose(song.voices, voices.voices_of(coarse), atol=0.01)
    np.testing.assert_allclose(song.activations, whole, atol=1e-3)
    assert np.array_equal(song.beats, tempo.smoothed(analysis._followed(whole, (3, 4))[0]))
    stereo = loudness_of(np.repeat(fine[:, None], 2, axis=1), tracker.ANALYSIS_RATE_HZ)
    assert song.loudness == pytest.approx(stereo, abs=0.01)


def test_a_song_takes_little_more_memory_than_its_samples(write_tone, tmp_path, monkeypatch):
    """Five minutes, without the tracker: of the samples at three rates only those at one are kept, until stored."""
    monkeypatch.setattr(analysis, "_PIECE_SECONDS", 10.0)
    monkeypatch.setattr(analysis, "has_tracker", lambda: False)
    monkeypatch.setattr(analysis.fallback, "track", lambda mel: (np.zeros((0, 2)), np.zeros(0)))
    monkeypatch.setattr(voices, "voices_of", lambda samples: np.zeros(1 + len(samples) // voices.HOP_SAMPLES))
    path = write_tone(tmp_path / "x.wav", seconds=300.0)
    probe = audio.probe(path)
    tracemalloc.start()
    song = analysis._measure(str(path), probe)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * song.samples.nbytes


def test_silence_is_no_song(write_tone, tmp_path):
    soundfile.write(tmp_path / "silent.wav", np.full(10 * SAMPLE_RATE_HZ, 0.5), SAMPLE_RATE_HZ)
    _, (skipped,) = analysis.analyse([str(tmp_path / "silent.wav")], tmp_path, workers=1)
    assert skipped.reason == "is silent."


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
    monkeypatch.setattr(audio, "blocks_at", lambda *_: pytest.fail("it was read"))
    _, (skipped,) = analysis.analyse([songs.tracks[0].path], tmp_path, workers=1)
    assert skipped.reason == "has 600 minutes, 60 are the most; cut a piece out of it."


def test_a_worker_that_the_system_ended_is_one_line(songs, tmp_path, monkeypatch):
    def ended(*_) -> None:
        raise TerminatedWorkerError("A worker process was unexpectedly terminated.")

    monkeypatch.setattr(analysis, "_song", ended)
    with pytest.raises(UserError, match=r"lack of memory: try --workers 1"):
        analysis.analyse([songs.tracks[0].path], tmp_path, workers=1)


def clicks(bpm: float, meter: int, accent: float, seconds: float = 40.0) -> np.ndarray:
    """Activations of a tracker: beats, every `meter`-th of which is a downbeat with a probability of `accent`."""
    activations = np.full((round(100 * seconds), 2), 0.01, np.float32)
    for number, time in enumerate(np.arange(0.2, seconds - 0.2, 60 / bpm)):
        first = accent if number % meter == 0 else 0.05
        for frame, share in zip(round(100 * time) + np.arange(-1, 2), (0.7, 1.0, 0.7), strict=True):  # as wide as real
            activations[frame] = share * (0.95 - first), share * first
    return activations


@pytest.mark.parametrize("meter", [3, 4])
def test_the_metre_is_the_likelier_reading_and_may_be_corrected(meter):
    activations = clicks(120, meter, accent=0.8)
    beats, strengths, readings = analysis._followed(activations, (3, 4))
    assert beats[:, 1].max() == meter and strengths.min() > 0.5
    (_, bpm, three), (_, _, four), *_ = readings
    assert bpm == pytest.approx(120, abs=1) and (four > three + 50 if meter == 4 else three > four + 50)

    nothing = np.zeros((0, 128)), np.zeros((0, 12)), np.zeros(0, np.int16)
    song = analysis.Song("x.wav", "", "", 40.0, "C", -14.0, beats, strengths, *nothing, activations=activations)
    other = analysis.corrected(song, meter=7 - meter)
    assert other.beats[:, 1].max() == 7 - meter and other.bpm == pytest.approx(120, abs=1)
    slow = analysis.corrected(song, bpm=60, gain=-3.0)
    assert slow.bpm == pytest.approx(60, abs=1) and slow.gain == -3.0
    assert analysis.corrected(song).beats is song.beats


def test_songs_and_their_parts_can_be_compared():
    """Also with Python 3.13, whose data classes compare arrays even where they are one object."""
    arrays = np.zeros((9, 2)), np.ones(9), np.zeros((9, 128)), np.zeros((9, 12)), np.zeros(9, np.int16)
    song, other = (analysis.Song("x.wav", "x", "x", 9.0, "C", -14.0, *arrays) for _ in range(2))
    assert song == song and song != other
    part = parts.Part(song, 0.0, 4.0, 2, 1.0)
    assert part == parts.Part(song, 0.0, 4.0, 2, 1.0) and part in [parts.Part(other, 0.0, 4.0, 2, 1.0), part]


def test_a_shuffle_is_not_read_as_three_beats():
    """Beats of 90 in a minute with strong triplets, of which every second one looks like a beat in 3/4 at 135."""
    activations = np.full((4000, 2), 0.01, np.float32)
    third = 60 / 90 / 3
    for number in range(int(39 / third)):
        frame = round(100 * (0.2 + number * third))
        downbeat = 0.6 if number % 6 == 0 else 0.01
        beat = 0.3 if number % 2 == 0 else 0.28 if number % 3 == 0 else 0.02
        activations[frame] = beat, downbeat
    assert analysis._followed(activations, (3,))[0][:, 1].max() == 3
    beats, _, readings = analysis._followed(activations, (3, 4))
    assert max(readings, key=lambda reading: reading[2])[0] == 3  # the tracker alone would be wrong
    assert beats[:, 1].max() == 4 and tempo.bpm(beats) == pytest.approx(90, abs=2)


def test_songs_of_the_same_name_are_told_apart():
    nothing = np.zeros((0, 2)), np.zeros(0), np.zeros((0, 128)), np.zeros((0, 12)), np.zeros(0, np.int16)
    paths = ("a/x.wav", "b/x.wav", "c/y.wav", "x.ogg")
    songs = [analysis.Song(path, path, path, 9.0, "C", -14.0, *nothing) for path in paths]
    names = [song.name for song in analysis._told_apart(songs)]
    assert names == ["x (a/x.wav)", "x (b/x.wav)", "y", "x (x.ogg)"]
