import numpy as np
import pytest

from djnet.cli import options
from djnet.medley import energy
from djnet.medley.parts import candidates


def test_loud_parts_with_sharp_onsets_have_more_energy(song):
    songs = [song(name) for name in "abc"]
    for one, (level, depth) in zip(songs, ((6.0, 0.0), (6.0, 2.0), (5.0, 1.0)), strict=True):
        one.mel[:] = level
        one.mel[::20] += depth
    object.__setattr__(songs[2], "loudness", -20.0)
    values = energy.energies([candidates(one, 16.0, 1)[0] for one in songs])
    assert values.argmax() == 1 and values.min() == 0 and values.max() == 1
    assert energy.energies([candidates(songs[0], 16.0, 1)[0]]).tolist() == [0.5]


@pytest.mark.parametrize(
    ("arc", "wanted"), [("rise", [0, 1 / 3, 2 / 3, 1]), ("fall", [1, 2 / 3, 1 / 3, 0]), ("wave", [0, 1, 0, 1])]
)
def test_an_arc_costs_nothing_where_energy_is_as_it_wants(arc, wanted):
    losses = energy.arc_scores(np.array(wanted), arc, 4)
    np.testing.assert_allclose(np.diag(losses), 0, atol=1e-9)
    assert losses.min() == pytest.approx(-energy.WEIGHT) and losses.max() == pytest.approx(0)
    assert np.ptp(energy.arc_scores(np.array([0.2]), "flat", 4)) == 0
    assert tuple(energy.ARCS) == options.ARCS
