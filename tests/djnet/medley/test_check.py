import numpy as np
import pytest
import soxr

from djnet.corpora import synthetic
from djnet.medley import check
from djnet.medley.mix import Mix
from djnet.medley.transitions import RATE_HZ, Join
from djnet.rng import rng_for


def join_at(middle: float, kind: str = "blend") -> Join:
    return Join(kind, middle - 0.02, middle, middle, 0, 0.0, "")


@pytest.mark.parametrize(("late", "warned"), [(0.0, False), (0.04, True)])
def test_beats_that_jump_are_measured(late, warned):
    song = synthetic.play(rng_for(0, "song", 3))
    music = soxr.resample(song.samples, 22_050, RATE_HZ)
    middle = float(song.beats[40, 0])
    cut, gap = round(middle * RATE_HZ), round(late * RATE_HZ)
    samples = np.repeat(np.concatenate([music[:cut], music[cut - gap :]])[:, None], 2, axis=1)
    before, after = song.beats[:40], song.beats[40:]
    (join,) = check.check(Mix(0.5 * samples, [before, after], [join_at(middle)])).joins
    assert join.phase_ms == pytest.approx(1e3 * late, abs=8)
    assert any("beats jump" in warning for warning in join.warnings) == warned


def test_steps_peaks_and_silence_are_found(rng):
    noise = rng.standard_normal((20 * RATE_HZ, 2)).clip(-3, 3).astype(np.float32)
    noise[: 10 * RATE_HZ] *= 0.05
    noise[10 * RATE_HZ :] *= 0.1
    noise[14 * RATE_HZ : 15 * RATE_HZ] = 0
    nothing = np.zeros((0, 2))
    result = check.check(Mix(noise, [nothing, nothing], [join_at(10.0, "fade")]))
    (join,) = result.joins
    assert join.phase_ms is None and join.step == pytest.approx(6.0, abs=0.5)
    assert len(join.warnings) == 1 and "loudness jumps" in join.warnings[0]
    assert result.silence == pytest.approx(1.0, abs=0.06) and "silence" in result.warnings[0]
    loud = check.check(Mix(4 * noise[10 * RATE_HZ : 13 * RATE_HZ], [nothing], []))
    assert loud.peak_db > -1 and "true peak" in loud.warnings[0] and not loud.joins
