import numpy as np

from djnet.audio.sample_file import SampleFile


def test_slices_are_read_and_written_as_those_of_an_array(tmp_path):
    there, kept = np.zeros((1000, 2), np.float32), SampleFile(1000, tmp_path)
    for samples in (there, kept):
        rng = np.random.default_rng(0)
        samples[100:300] += rng.standard_normal((200, 2)).astype(np.float32)
        samples[990:2000] = 0.5
        samples[:150] *= np.float32(2)
        samples[200:250] = rng.standard_normal((50, 2))
    np.testing.assert_array_equal(kept[:], there)
    np.testing.assert_array_equal(kept[-20:], there[-20:])
    assert kept.shape == (1000, 2) and len(kept) == 1000 and not len(kept[10:10]) and not list(tmp_path.iterdir())


def test_samples_may_lie_in_memory_channel_by_channel(tmp_path):
    file, samples = SampleFile(5, tmp_path), np.arange(10, dtype=np.float32).reshape(2, 5).T
    file[0:5] = samples
    np.testing.assert_array_equal(file[0:5], samples)
