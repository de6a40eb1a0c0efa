import numpy as np
import pytest

from djnet.medley.key import NAMES, best_fit, chroma_of, closeness, key_of, transposed


@pytest.mark.parametrize(("root", "scale", "mode"), [(0, (0, 2, 4, 5, 7, 9, 11), ""), (9, (0, 2, 3, 5, 7, 8, 10), "m")])
def test_a_scale_with_its_chord_is_its_key(root, scale, mode):
    for shift in range(12):
        chroma = np.zeros(12)
        chroma[[(root + shift + step) % 12 for step in scale]] = 0.5
        chroma[[(root + shift + step) % 12 for step in (0, scale[2], 7)]] += 0.5
        assert best_fit(chroma) == NAMES[(root + shift) % 12] + mode


def test_near_keys():
    assert closeness("C", "C") == closeness("C", "Am") == 1.0
    assert closeness("C", "G") == closeness("F", "C") == closeness("Am", "Em") == pytest.approx(5 / 6)
    assert closeness("C", "Gb") == 0.0
    assert closeness("", "C") == 0.0 and best_fit(np.ones(12)) == ""


@pytest.mark.parametrize("rate", [22_050, 44_100])
def test_the_key_of_samples(rate):
    t = np.arange(4 * rate) / rate
    chord = sum(np.sin(2 * np.pi * 440 * 2 ** (step / 12) * t) for step in (-9, -5, -2, 3))
    assert key_of(chord.astype(np.float32), rate) == "C"
    assert key_of(np.zeros(rate, np.float32), rate) == ""


def test_chroma_is_librosas(rng):
    samples = np.cumsum(rng.standard_normal(60_000)).astype(np.float32) / 100
    librosa = pytest.importorskip("librosa")  # the app does without it
    expected = librosa.feature.chroma_stft(y=samples, sr=22_050, n_fft=8192, hop_length=4096, tuning=0.0)
    assert np.allclose(chroma_of(samples, 22_050).T, expected, atol=1e-5)


def test_keys_are_transposed_by_name():
    assert [transposed(*one) for one in (("C", 1), ("Am", -1), ("Bm", 1), ("", 1))] == ["Db", "Abm", "Cm", ""]
