import numpy as np
import pytest

from djnet.errors import UserError
from djnet.medley import arrange
from djnet.medley.arrange import Options
from djnet.medley.search import Constraints
from djnet.medley.transitions import BLENDS, Asked


def names(arrangement: arrange.Arrangement) -> list[str]:
    return [part.song.name for part in arrangement.parts]


def test_the_network_alone_decides_if_asked_and_wishes_have_a_price(song):
    songs = [song(name) for name in "abc"]
    one = Options(candidates=1, order="sen")
    scores = np.array([[0, 0.9, 0.1], [0.1, 0, 0.9], [0.2, 0.1, 0]])
    best = arrange.arrange(songs, lambda mels, wanted: scores, Constraints(), one)
    assert names(best) == ["a", "b", "c"]
    assert best.scores == pytest.approx([0.9, 0.9]) and best.solution.proven
    assert best.percentiles == pytest.approx([100 * 5 / 6] * 2)  # two of six joins share the highest place
    last = arrange.arrange(songs, lambda mels, wanted: scores, Constraints(last=1), one)
    assert names(last) == ["c", "a", "b"] and last.costs["last"] == pytest.approx(1.8 - 1.1)
    assert last.second is not None
    with pytest.raises(UserError, match="'b' cannot be both"):
        arrange.validate(Constraints(first=1, last=1), [song.path for song in songs])


def test_songs_are_ordered_so_that_they_blend(song, rng):
    songs = [song(str(bpm), bpm) for bpm in (100, 135, 104, 138, 120, 170)]

    def noise(mels: list[np.ndarray], wanted: np.ndarray) -> np.ndarray:
        """The network hardly prefers the order in which the songs are given, in which two joins of five blend."""
        return 0.01 * rng.random((len(mels), len(mels))) + 0.05 * np.eye(len(mels), k=1)

    blending = {}
    for order in ("mix", "sen"):
        joins = arrange.arrange(songs, noise, Constraints(), Options(candidates=1, order=order)).joins
        blending[order] = sum(join.kind in BLENDS for join in joins)
    assert blending["mix"] == 5 > blending["sen"]


def indifferent(mels: list[np.ndarray], wanted: np.ndarray) -> np.ndarray:
    return np.full((len(mels), len(mels)), 0.01)


def test_an_arc_orders_songs_by_energy_and_its_cost_is_said(song):
    songs = [song(name) for name in "abcd"]
    for one, loudness in zip(songs, (-10.0, -25.0, -15.0, -20.0), strict=True):
        object.__setattr__(one, "loudness", loudness)
        one.mel[:] = 6.0
        one.chroma[:] = songs[0].chroma[: len(one.chroma)]
    one = Options(candidates=1, arc="rise")
    made = arrange.arrange(songs, indifferent, Constraints(), one)
    assert names(made) == ["b", "d", "c", "a"] and made.energies == sorted(made.energies)
    assert made.costs["arc"] == pytest.approx(0, abs=1e-6) and made.solution.proven
    fixed = arrange.arrange(songs, indifferent, Constraints(first=0), one)
    assert fixed.costs["first"] > 0.1
    assert "arc" not in arrange.arrange(songs, indifferent, Constraints(), Options(candidates=1)).costs


def test_a_medley_may_begin_with_an_opening_and_end_with_an_ending(song):
    songs = [song(name) for name in "abc"]
    for one in songs:
        one.mel[:] = 6.0
        one.chroma[:] = songs[0].chroma[0]  # so that all joins are alike
    made = arrange.arrange(songs, indifferent, Constraints(), Options())
    assert [part.only for part in made.parts] == ["first", "", "last"]
    assert made.parts[0].start < 0.1 and made.parts[-1].end > 63.5 and len(made.joins) == 2
    quiet = songs[0].mel[: 16 * 43]
    quiet[:] = 1.0  # nothing that is worth hearing first
    alone = arrange.arrange(songs, indifferent, Constraints(first=0), Options())
    assert alone.parts[0].only == ""


def test_the_best_part_plays_unless_a_join_gains_clearly(song):
    songs = [song(name) for name in "ab"]
    best = [arrange.candidates(one, 16.0, 3) for one in songs]
    for gain, kept in ((0.01, True), (0.5, False)):
        choices = [[own[0], arrange.replace(own[1], fitness=own[0].fitness)] for own in best]
        total = np.zeros((4, 4))
        total[1, 3] = gain
        scores, places = arrange._by_song(choices, total), arrange._places(choices, None)
        assert (arrange.solve(scores, Constraints(), places).parts == (0, 0)) == kept


def test_what_is_asked_of_joins_has_a_price(song):
    songs = [song(name) for name in "abc"]
    asked = {(a, b): Asked("cut") for a in range(3) for b in range(3) if a != b}
    made = arrange.arrange(songs, indifferent, Constraints(), Options(candidates=1, joins=asked))
    assert made.costs["join"] > 0.5
    free = {(0, 1): Asked("blend")}
    assert arrange.arrange(songs, indifferent, Constraints(), Options(candidates=1, joins=free)).costs["join"] < 0.05


def test_totals_are_met_or_the_nearest_is_taken(song, rng):
    songs = [song(f"s{i}", bpm) for i, bpm in enumerate((100, 110, 120, 130, 140, 150))]

    def arranged(total: float) -> arrange.Arrangement:
        options = Options(total=total, candidates=1)
        return arrange.arrange(songs, lambda mels, wanted: rng.random((len(mels), len(mels))), Constraints(), options)

    for total in (70.0, 100.0, 130.0):
        assert abs(arranged(total).seconds - total) < 0.1 * total
    bars = 4 * 60 / np.array([100, 110, 120, 130, 140, 150])
    assert arranged(10.0).seconds <= 4 * bars.sum()
    assert arranged(5000.0).seconds > 250


def test_songs_a_semitone_apart_play_in_one_key_if_they_may_be_transposed(song):
    songs = [song(name, key=key) for name, key in zip("abc", ("C", "Db", "Db"), strict=True)]
    for one in songs:
        one.mel[:] = 6.0
        one.chroma[:] = 0.1
        one.chroma[:, np.add((0, 4, 7), one.key == "Db")] = 1
    as_they_are = arrange.arrange(songs, indifferent, Constraints(), Options())
    assert [part.transpose for part in as_they_are.parts] == [0, 0, 0]
    made = arrange.arrange(songs, indifferent, Constraints(), Options(repitch=True))
    assert sorted((part.song.name, part.key) for part in made.parts) == [("a", "Db"), ("b", "Db"), ("c", "Db")]
    assert made.solution.proven and made.terms[0]["harmony"] > 0.99 and made.scores > as_they_are.scores
    by_hand = [arrange.replace(one, transpose=2) if one.name == "b" else one for one in songs]
    kept = arrange.arrange(by_hand, indifferent, Constraints(), Options())
    assert sorted((part.song.name, part.transpose) for part in kept.parts) == [("a", 0), ("b", 2), ("c", 0)]
