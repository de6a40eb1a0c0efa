from dataclasses import replace

import numpy as np
import pytest

from djnet.medley import join_score
from djnet.medley.join_score import WEIGHTS, score_joins
from djnet.medley.key import CHROMA_HOP
from djnet.medley.parts import candidates


def indifferent(mels: list[np.ndarray], wanted: np.ndarray) -> np.ndarray:
    return np.full((len(mels), len(mels)), 0.01)


def test_scores_lie_between_nothing_and_one_and_add_up(song, rng):
    songs = [song("a", 120), song("b", 126), song("c", 0), song("d", 90)]
    parts = [part for one in songs for part in candidates(one, 16.0, 2)]
    scores = score_joins(parts, lambda mels, wanted: rng.random((len(mels), len(mels))), bars=2)
    same = np.array([[a.song is b.song for b in parts] for a in parts])
    for values in (scores.total, *scores.terms.values(), scores.percentile / 100):
        assert np.isnan(values[same]).all() and (values[~same] >= 0).all() and (values[~same] <= 1).all()
    mixed = sum(weight * scores.terms[name] for name, weight in WEIGHTS["mix"].items())
    np.testing.assert_allclose(scores.total, mixed)
    assert all(sum(weights.values()) == pytest.approx(1) for weights in WEIGHTS.values())


def test_the_nearer_the_tempo_the_better(song):
    parts = [candidates(song(str(bpm), bpm), 16.0, 1)[0] for bpm in (100, 101, 110, 200, 150, 135, 0)]
    tempo = score_joins(parts, indifferent, bars=2).terms["tempo"][0, 1:]
    near, ramp, double, half_again, apart, free = tempo
    assert 1 > near > ramp > half_again > apart >= 0
    assert near > double > half_again and near > free > apart


def test_keys_are_compared_where_parts_sound_together(song):
    songs = [song(name) for name in "abc"]
    triads = {"C": (0, 4, 7), "Gb": (6, 10, 1)}
    frame = round(20 * 22_050 / CHROMA_HOP)
    for one, (early, late) in zip(songs, (("Gb", "C"), ("C", "Gb"), ("Gb", "C")), strict=True):
        one.chroma[:] = 0.1
        one.chroma[:frame, triads[early]] = 1
        one.chroma[frame:, triads[late]] = 1
    parts = [candidates(one, 16.0, 1, start=12.0, length=16.0)[0] for one in songs]  # 12 s to 28 s
    harmony = score_joins(parts, indifferent, bars=2).terms["harmony"]
    assert harmony[0, 1] > 0.95 and harmony[0, 2] < 0.2


def test_a_step_in_energy_counts_against_a_join(song):
    songs = [song(name) for name in "abc"]
    for one, edge in zip(songs, (1.0, 1.0, 0.5), strict=True):
        one.mel[:] = 6.0
        one.mel[: len(one.mel) // 2] *= edge
    parts = [candidates(one, 16.0, 1, start=24.0, length=16.0)[0] for one in songs]  # the middle of the song
    energy = score_joins(parts, indifferent, bars=2).terms["energy"]
    assert energy[0, 1] == pytest.approx(1.0, abs=0.01) and energy[0, 2] < 0.6


def test_the_network_hears_what_lies_around_the_overlap(song):
    heard: list[int] = []

    def keep(mels: list[np.ndarray], wanted: np.ndarray) -> np.ndarray:
        heard[:] = map(len, mels)
        return indifferent(mels, wanted)

    parts = [candidates(song(name), 16.0, 1)[0] for name in "ab"]
    score_joins(parts, keep, bars=2)
    assert heard == [1 + 8 * 22_050 // 512] * 2  # 16 s less two bars of 2 s on each side
    score_joins(parts, keep, bars=2, order="sen")
    assert heard == [1 + 16 * 22_050 // 512] * 2


def test_most_scores_of_the_network_count_as_equal(song):
    parts = [candidates(song(str(i)), 16.0, 1)[0] for i in range(7)]
    matrix = np.linspace(0, 0.05, 49).reshape(7, 7)
    matrix[2, 5] = 0.9
    scores = score_joins(parts, lambda mels, wanted: matrix, bars=2)
    sen = scores.terms["sen"]
    assert sen[2, 5] > 0.85 and np.nansum(sen > 0.01) == 1
    assert np.nanargmax(scores.percentile) == 2 * 7 + 5 and np.nanmax(scores.percentile) > 98
    assert join_score._NOISE_PERCENTILE == 95


def test_two_singers_at_once_count_against_a_join(song):
    """Only where both sing while both sound: not where one is silent, or where nothing overlaps."""
    songs = [song(name) for name in "abc"]
    for one, level in zip(songs, (0.9, 0.8, 0.0), strict=True):
        object.__setattr__(one, "voices", np.full(70, level))
    parts = [candidates(one, 16.0, 1)[0] for one in songs]
    term = score_joins(parts, indifferent, bars=2).terms["voices"]
    assert term[0, 1] == pytest.approx(1 - 0.9 * 0.8) and term[0, 2] == term[2, 1] == 1
    assert score_joins(parts, indifferent, bars=0).terms["voices"][0, 1] == 1


def test_of_a_transposed_part_only_the_harmony_differs(song):
    songs = [song(name) for name in "ab"]
    for one, triad in zip(songs, ((0, 4, 7), (1, 5, 8)), strict=True):  # C and Db
        one.chroma[:] = 0.1
        one.chroma[:, triad] = 1
    as_it_is = [candidates(one, 16.0, 1)[0] for one in songs]
    parts = [*as_it_is, *(replace(part, transpose=-1) for part in as_it_is)]
    scores = score_joins(parts, indifferent, bars=2)
    assert scores.terms["harmony"][0, 3] > 0.99 > 0.7 > scores.terms["harmony"][0, 1]
    assert scores.terms["harmony"][2, 3] == pytest.approx(scores.terms["harmony"][0, 1])
    for name in ("tempo", "energy", "voices", "sen"):
        assert scores.terms[name][0, 3] == scores.terms[name][0, 1]
    assert [parts[i].key for i in (0, 2)] == ["C", "B"]
