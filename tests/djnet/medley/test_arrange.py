import numpy as np
import pytest

from djnet.errors import UserError
from djnet.medley import arrange
from djnet.medley.arrange import Options
from djnet.medley.search import Constraints


def test_what_the_network_says_comes_before_key_and_tempo(song):
    songs = [song(name, key=key) for name, key in zip("abc", ("C", "Gb", "C"), strict=True)]
    one = Options(candidates=1)
    scores = np.array([[0, 0.9, 0.1], [0.1, 0, 0.9], [0.2, 0.1, 0]])
    best = arrange.arrange(songs, lambda mels: scores, Constraints(), one)
    assert [part.song.name for part in best.parts] == ["a", "b", "c"]
    assert best.scores == pytest.approx([0.9, 0.9]) and best.solution.proven
    even = np.where(np.eye(3), 0, 0.5) + np.array([[0, 0, 0], [1e-3, 0, 0], [0, 1e-3, 0]])
    nearest = arrange.arrange(songs, lambda mels: even, Constraints(first=0), one)
    assert nearest.second is not None and nearest.costs["first"] >= 0
    with pytest.raises(UserError, match="'b' cannot be both"):
        arrange.validate(Constraints(first=1, last=1), songs)


def test_totals_are_met_or_refused(song, rng):
    songs = [song(f"s{i}", bpm) for i, bpm in enumerate((100, 110, 120, 130, 140, 150))]

    def arranged(total: float) -> arrange.Arrangement:
        options = Options(total=total, candidates=1)
        return arrange.arrange(songs, lambda mels: rng.random((len(mels), len(mels))), Constraints(), options)

    for total in (70.0, 100.0, 130.0):
        assert abs(arranged(total).seconds - total) < 0.1 * total
    with pytest.raises(UserError, match=r"--total=10: 6 songs give a medley of \d+ to \d+ s"):
        arranged(10.0)
