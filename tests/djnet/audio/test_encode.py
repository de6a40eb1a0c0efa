import importlib.util
import time

import mutagen.mp4
import numpy as np
import pytest
import soundfile

from djnet import audio
from djnet.errors import UserError


@pytest.mark.parametrize("ending", [ending for ending in audio.WRITABLE if ending != ".m4a"])
def test_the_same_samples_give_the_same_bytes_with_tags(tmp_path, rng, ending):
    samples = (0.1 * rng.standard_normal((44_100, 2))).astype(np.float32)
    paths = [tmp_path / f"{name}{ending}" for name in "ab"]
    for path in paths:
        audio.write(path, samples, 44_100, "A title", "What plays")
        time.sleep(0.01)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with soundfile.SoundFile(paths[0]) as sound:
        assert (sound.title, sound.comment) == ("A title", "What plays")
        assert sound.samplerate == 44_100 and sound.channels == 2
        read = sound.read(dtype="float32")
    assert abs(len(read) - len(samples)) < 3000
    if ending not in audio.LOSSY:
        np.testing.assert_allclose(read, samples, atol=1e-4)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [f"{name}{ending}" for name in "ab"]


def clicks(rng) -> np.ndarray:
    """A loud click every half second, the first after 0.1 s: [N, 2]."""
    samples = np.zeros((3 * 44_100 + 777, 2), np.float32)
    for place in range(4_410, len(samples) - 22_050, 22_050):
        samples[place : place + 400] = (0.5 * rng.standard_normal(400) * np.exp(-np.arange(400) / 80))[:, None]
    return samples


def start_of(samples: np.ndarray) -> float:
    """Where the first click begins, in seconds."""
    power = np.cumsum(samples[:20_000, 0] ** 2)
    return float(np.searchsorted(power / power[-1], 0.3)) / 44_100


@pytest.mark.parametrize("ending", audio.WRITABLE)
def test_music_begins_where_it_does_in_the_samples(tmp_path, rng, ending):
    """Encoders put samples in front of the music, which players leave out if the file says how many."""
    path, samples = tmp_path / f"x{ending}", clicks(rng)
    audio.write(path, samples, 44_100, "A title", "What plays")
    back = np.concatenate(list(audio.read_back(path)))
    assert abs(start_of(back) - start_of(samples)) < 0.001 and abs(len(back) - len(samples)) < 3000
    decoded = audio.load_stereo(path, 0.0, 10.0, 44_100)
    assert abs(start_of(decoded) - start_of(samples)) < 0.005


def test_m4a_files_have_tags_and_the_same_samples_give_the_same_bytes(tmp_path, rng):
    paths, samples = [tmp_path / f"{name}.m4a" for name in "ab"], clicks(rng)
    chapters = [(0.0, "A"), (1.5, "\u6771\u4eac")]
    for path in paths:
        audio.write(path, samples, 44_100, "F\u00eate", "What plays", chapters=chapters)
        time.sleep(0.01)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    file = mutagen.mp4.MP4(paths[0])
    assert file.tags and file.chapters
    assert file.tags["\xa9nam"] == ["F\u00eate"]
    assert [(chapter.start, chapter.title) for chapter in file.chapters] == chapters


def test_without_pyav_one_line_says_how_to_get_m4a(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"x\.m4a: m4a files are written by FFmpeg: pip install 'djnet\[formats\]'"):
        audio.require_writable(tmp_path / "x.m4a")
    audio.require_writable(tmp_path / "x.mp3")


@pytest.mark.parametrize("ending", sorted(audio.LOSSY))
def test_better_files_are_larger_and_nearer_to_the_samples(tmp_path, rng, ending):
    samples = np.cumsum(0.01 * rng.standard_normal((88_200, 2)), axis=0).astype(np.float32) % 0.5
    paths = [tmp_path / f"{quality}{ending}" for quality in (2, 10)]
    for path in paths:
        audio.write(path, samples, 44_100, "A title", "What plays", quality=int(path.stem))
    poor, good = (
        np.abs(np.concatenate(list(audio.read_back(path)))[20_000:60_000] - samples[20_000:60_000]).mean()
        for path in paths
    )
    assert paths[0].stat().st_size < 0.8 * paths[1].stat().st_size and good < poor


def test_unknown_endings_are_named(tmp_path):
    with pytest.raises(UserError, match=r"x\.aac.*\.wav, \.flac"):
        audio.write(tmp_path / "x.aac", np.zeros((10, 2), np.float32), 44_100, "", "")
