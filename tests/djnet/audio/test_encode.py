import time

import numpy as np
import pytest
import soundfile

from djnet import audio


@pytest.mark.parametrize("ending", audio.WRITABLE)
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


@pytest.mark.parametrize("ending", sorted(audio.LOSSY))
def test_better_files_are_larger_and_nearer_to_the_samples(tmp_path, rng, ending):
    samples = np.cumsum(0.01 * rng.standard_normal((88_200, 2)), axis=0).astype(np.float32) % 0.5
    paths = [tmp_path / f"{quality}{ending}" for quality in (2, 10)]
    for path in paths:
        audio.write(path, samples, 44_100, "A title", "What plays", quality=int(path.stem))
    poor, good = (np.abs(soundfile.read(path)[0][20_000:60_000] - samples[20_000:60_000]).mean() for path in paths)
    assert paths[0].stat().st_size < 0.8 * paths[1].stat().st_size and good < poor


def test_unknown_endings_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"x\.m4a.*\.wav, \.flac"):
        audio.write(tmp_path / "x.m4a", np.zeros((10, 2), np.float32), 44_100, "", "")
