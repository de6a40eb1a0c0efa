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


def test_a_jump_of_tempo_is_measured_and_double_time_is_none():
    def beats(bpm: float, start: float) -> np.ndarray:
        times = start + np.arange(24) * 60 / bpm
        return np.stack([times, np.arange(24) % 4 + 1], axis=1)

    middle = beats(120, 0.0)[-1, 0]
    for bpm, wanted in ((120, 0.0), (240, 0.0), (150, 0.25), (90, 1 / 3)):
        jump = check.tempo_jump(beats(120, 0.0), beats(bpm, middle), join_at(middle, "echo"))
        assert jump == pytest.approx(wanted, abs=1e-6)
    assert check.tempo_jump(beats(120, 0.0), np.zeros((0, 2)), join_at(middle, "echo")) == 0.0


def test_the_summary_names_the_song_that_spoils_two_joins():
    smooth, abrupt = check.JoinCheck(None, 0.0), check.JoinCheck(None, 0.0, tempo_jump=0.3)
    assert check.summary([smooth, smooth], ["a", "b", "c"]) == "2 smooth, 0 abrupt"
    assert check.summary([smooth, abrupt], ["a", "b", "c"]) == "1 smooth, 1 abrupt"
    assert check.summary([abrupt, abrupt, smooth], ["a", "b", "c", "d"]).endswith("without 'b' two of them go away")


def test_two_singers_at_once_are_counted_and_named():
    sings = np.stack([np.arange(20.0), np.ones(20)], axis=1)
    silent = sings * [1, 0]
    join = Join("blend", 8.0, 10.0, 12.0, 2, 0.0, "")
    assert check.voices_together(sings, sings, join) == pytest.approx(4.0, abs=0.11)
    assert check.voices_together(sings, silent, join) == 0.0
    assert (
        check.voices_together(sings, sings[:0], join)
        is check.voices_together(sings, sings, join_at(10, "echo"))
        is None
    )
    noise = np.random.default_rng(0).standard_normal((20 * RATE_HZ, 2)).astype(np.float32)
    nothing = np.zeros((0, 2))
    made = Mix(0.1 * noise, [nothing] * 2, [join], voices=[sings, sings])
    checked = check.check(made).joins
    assert "two voices at once for 4.0 s" in checked[0].warnings
    assert check.summary(checked, ["a", "b"]) == "0 smooth, 1 abrupt (1 with two voices at once)"


def test_keys_that_clash_are_said():
    t = np.arange(20 * RATE_HZ) / RATE_HZ
    chords = [
        sum(np.sin(2 * np.pi * 220 * 2 ** (tone / 12) * t) for tone in tones) for tones in ((0, 4, 7), (6, 10, 13))
    ]
    samples = 0.1 * np.concatenate(chords)[:, None].repeat(2, axis=1).astype(np.float32)
    nothing = np.zeros((0, 2))
    near = check.check(Mix(samples[: 20 * RATE_HZ], [nothing] * 2, [join_at(10.0, "overlay")])).joins[0]
    far = check.check(Mix(samples, [nothing] * 2, [join_at(20.0, "overlay")])).joins[0]
    assert near.keys is not None and near.keys > 0.9 and not near.warnings and far.warnings == ["the keys clash"]
