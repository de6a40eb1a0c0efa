import numpy as np
import pytest

from djnet.errors import UserError
from djnet.medley import arrange
from djnet.medley.arrange import Options
from djnet.medley.search import Constraints
from djnet.medley.transitions import BLENDS


def names(arrangement: arrange.Arrangement) -> list[str]:
    return [part.song.name for part in arrangement.parts]


def test_the_network_alone_decides_if_asked_and_wishes_have_a_price(song):
    songs = [song(name) for name in "abc"]
    one = Options(candidates=1, order="sen")
    scores = np.array([[0, 0.9, 0.1], [0.1, 0, 0.9], [0.2, 0.1, 0]])
    best = arrange.arrange(songs, lambda mels: scores, Constraints(), one)
    assert names(best) == ["a", "b", "c"]
    assert best.scores == pytest.approx([0.9, 0.9]) and best.solution.proven
    assert best.percentiles == pytest.approx([100 * 5 / 6] * 2)  # two of six joins share the highest place
    last = arrange.arrange(songs, lambda mels: scores, Constraints(last=1), one)
    assert names(last) == ["c", "a", "b"] and last.costs["last"] == pytest.approx(1.8 - 1.1)
    assert last.second is not None
    with pytest.raises(UserError, match="'b' cannot be both"):
        arrange.validate(Constraints(first=1, last=1), [song.path for song in songs])


def test_songs_are_ordered_so_that_they_blend(song, rng):
    songs = [song(str(bpm), bpm) for bpm in (100, 135, 104, 138, 120, 170)]

    def noise(mels: list[np.ndarray]) -> np.ndarray:
        """The network hardly prefers the order in which the songs are given, in which two joins of five blend."""
        return 0.01 * rng.random((len(mels), len(mels))) + 0.05 * np.eye(len(mels), k=1)

    blending = {}
    for order in ("mix", "sen"):
        joins = arrange.arrange(songs, noise, Constraints(), Options(candidates=1, order=order)).joins
        blending[order] = sum(join.kind in BLENDS for join in joins)
    assert blending["mix"] == 5 > blending["sen"]


def test_totals_are_met_or_the_nearest_is_taken(song, rng):
    songs = [song(f"s{i}", bpm) for i, bpm in enumerate((100, 110, 120, 130, 140, 150))]

    def arranged(total: float) -> arrange.Arrangement:
        options = Options(total=total, candidates=1)
        return arrange.arrange(songs, lambda mels: rng.random((len(mels), len(mels))), Constraints(), options)

    for total in (70.0, 100.0, 130.0):
        assert abs(arranged(total).seconds - total) < 0.1 * total
    bars = 4 * 60 / np.array([100, 110, 120, 130, 140, 150])
    assert arranged(10.0).seconds <= 4 * bars.sum()
    assert arranged(5000.0).seconds > 250
