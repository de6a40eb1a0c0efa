import numpy as np
import pytest
import scipy.signal
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.constants import SAMPLE_RATE_HZ
from djnet.corpora import synthetic
from djnet.rng import rng_for
from preprocessing import duplicates
from preprocessing.cluster import engine_for


@pytest.fixture(scope="module")
def samples() -> list[np.ndarray]:
    return [synthetic.play(rng_for(7, "song", number)).samples for number in range(5)]


def _quieter(samples, rng):
    return 0.05 * samples


def _equalised(samples, rng):
    """Without the bass, and with twice the treble."""
    highs = scipy.signal.sosfilt(scipy.signal.butter(2, 2_000, "highpass", fs=SAMPLE_RATE_HZ, output="sos"), samples)
    return (
        scipy.signal.sosfilt(scipy.signal.butter(2, 200, "highpass", fs=SAMPLE_RATE_HZ, output="sos"), samples) + highs
    )


def _noisy(samples, rng):
    return samples + 0.2 * samples.std() * rng.standard_normal(len(samples))


def _later(samples, rng):
    return np.concatenate([np.zeros(3 * SAMPLE_RATE_HZ), samples])


def _all(samples, rng):
    return _later(_noisy(_equalised(_quieter(samples, rng), rng), rng), rng)


@pytest.mark.parametrize("change", [_quieter, _equalised, _noisy, _later, _all])
def test_another_version_of_a_song_is_the_same_piece_and_other_songs_are_not(samples, rng, change):
    fingerprints = {str(i): duplicates.fingerprint(one) for i, one in enumerate(samples)}
    fingerprints["again"] = duplicates.fingerprint(change(samples[2], rng).astype(np.float32))
    assert duplicates.same_pieces(fingerprints) == [{"2", "again"}]


def test_the_first_minute_makes_a_fingerprint(samples):
    columns = duplicates.fingerprint(samples[0])
    assert columns.dtype == np.float16 and columns.shape[1] == 12 and len(columns) <= 200
    longer = np.concatenate([samples[0], samples[1]])
    assert np.array_equal(duplicates.fingerprint(longer)[: len(columns) - 30], columns[:-30])
    assert not duplicates.fingerprint(np.zeros(24 * SAMPLE_RATE_HZ, np.float32)).any()


def test_silence_and_nothing_are_no_pieces():
    silent = duplicates.fingerprint(np.zeros(30 * SAMPLE_RATE_HZ, np.float32))
    assert duplicates.same_pieces({"a": silent, "b": silent, "c": silent[:0]}) == []
    assert duplicates.same_pieces({}) == []


@given(seed=st.integers(0, 1000), count=st.integers(0, 12), threshold=st.floats(-0.2, 0.5))
@settings(max_examples=50, deadline=None)
def test_groups_are_disjoint_and_do_not_depend_on_the_order(seed, count, threshold):
    rng = np.random.default_rng(seed)
    fingerprints = {}
    for key in rng.permutation(count):
        columns = rng.standard_normal((rng.integers(50, 200), 12))
        fingerprints[f"{key:02d}"] = columns / np.linalg.norm(columns, axis=1, keepdims=True)
    groups = duplicates.same_pieces(fingerprints, threshold)
    members = [key for group in groups for key in group]
    assert len(members) == len(set(members)) and set(members) <= set(fingerprints)
    assert all(len(group) > 1 for group in groups)
    assert duplicates.same_pieces(dict(sorted(fingerprints.items())), threshold) == groups


def test_all_recordings_of_a_piece_share_one_key():
    pieces = [{"c", "a"}, {"d", "e"}]
    assert duplicates.split_keys({x: x for x in "abcde"}, pieces) == {"a": "a", "b": "b", "c": "a", "d": "d", "e": "d"}
    albums = {"a": "two", "b": "two", "c": "one", "d": "one", "e": "three", "f": "four"}
    assert duplicates.split_keys(albums, pieces) == dict.fromkeys("abcde", "one") | {"f": "four"}
    assert duplicates.split_keys(albums, []) == albums


def test_fingerprints_are_kept_and_made_again_when_damaged(samples, tmp_path):
    paths = {}
    for i, one in enumerate([samples[0], samples[1], 0.3 * samples[0]]):
        paths[f"hash{i}"] = str(tmp_path / f"{i}.flac")
        soundfile.write(paths[f"hash{i}"], one, SAMPLE_RATE_HZ)
    (tmp_path / "broken.flac").write_text("no music")
    paths["broken"] = str(tmp_path / "broken.flac")
    decoded = []

    def engine(function, items):
        items = list(items)
        decoded.append([content for content, _ in items])
        return engine_for("local", 1)(function, items)

    for _ in range(2):
        assert duplicates.find(paths, tmp_path / "cache", engine) == [{"hash0", "hash2"}]
    (tmp_path / "cache" / "fingerprints" / f"hash1-{duplicates.VERSION}.npy").write_bytes(b"")
    assert duplicates.find(paths, tmp_path / "cache", engine) == [{"hash0", "hash2"}]
    assert decoded == [["hash0", "hash1", "hash2", "broken"], ["broken"], ["hash1", "broken"]]
