import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.audio.sample_file import SampleFile
from djnet.medley import mix
from djnet.medley.limiter import true_peak
from djnet.medley.loudness import loudness_of
from djnet.medley.transitions import BLENDS, KINDS, LARGEST_STRETCH, RATE_HZ, Asked, Segment


def song(rng, bpm: float, bars: int = 6, meter: int = 4, gain: float = 0.3, pitch: float = 220.0) -> Segment:
    """A tone with a sharp click on every beat."""
    beat = 60.0 / bpm
    times = np.arange(bars * meter + 1) * beat + 0.1
    samples = np.zeros(round((times[-1] + 0.1) * RATE_HZ), np.float32)
    samples += 0.2 * np.sin(2 * np.pi * pitch * np.arange(len(samples)) / RATE_HZ)
    click = rng.standard_normal(400) * np.exp(-np.arange(400) / 80)
    for time in times:
        samples[round(time * RATE_HZ) :][:400] += click
    beats = np.stack([times, np.arange(len(times)) % meter + 1], axis=1)
    return Segment((gain * samples).astype(np.float32), times[0], times[-1], beats)


def whole(samples: np.ndarray, beats: np.ndarray | None = None) -> Segment:
    """A segment of all of its samples."""
    return Segment(samples, 0.0, len(samples) / RATE_HZ, np.zeros((0, 2)) if beats is None else beats)


def onset_errors(samples: np.ndarray, times: np.ndarray) -> np.ndarray:
    """How far from each time the energy of the highs begins to rise, in seconds."""
    energy = np.diff(samples[:, 0], 3) ** 2
    errors = []
    for time in times:
        around = energy[round((time - 0.08) * RATE_HZ) :][: round(0.16 * RATE_HZ)]
        share = np.cumsum(around) / around.sum()
        errors.append(np.searchsorted(share, 0.2) / RATE_HZ - 0.08)
    return np.array(errors)


def test_the_beats_of_a_blend_stay_where_they_are_said_to_be(rng):
    segments = [song(rng, 120), song(rng, 125, pitch=277), song(rng, 120, pitch=330)]
    made = mix.render(segments)
    assert [join.kind for join in made.joins] == ["blend", "blend"]
    for beats in made.beats:
        inside = beats[(beats[:, 0] > 0.1) & (beats[:, 0] < made.cuts[-1] - 2.1), 0]
        assert np.abs(onset_errors(made.samples, inside)).max() < 0.005
    for join, (before, after) in zip(made.joins, itertools.pairwise(made.beats), strict=True):
        common = [
            beats[(beats[:, 0] > join.start - 1e-6) & (beats[:, 0] < join.end + 1e-6)] for beats in (before, after)
        ]
        np.testing.assert_allclose(common[0], common[1], atol=1e-3)


def test_the_tempo_goes_gradually_from_one_song_to_the_next(rng):
    made = mix.render([song(rng, 120, bars=16), song(rng, 128, bars=16)], bars=4)
    downbeats = np.unique(np.round(np.concatenate(made.beats)[np.concatenate(made.beats)[:, 1] == 1, 0], 4))
    lengths = np.diff(downbeats)
    assert np.all(np.diff(lengths) < 1e-3)
    np.testing.assert_allclose(lengths[[0, -1]], [2.0, 1.875], atol=1e-3)
    assert made.joins[0].kind == "ramp" and 0.03 < made.joins[0].stretch < 0.05


def test_length_and_places(rng):
    a, b = song(rng, 120, bars=8), song(rng, 120, bars=8, pitch=277)
    made = mix.render([a, b], bars=2)
    assert len(made.samples) == round(28.0 * RATE_HZ)  # twice 16 s less two bars
    join = made.joins[0]
    assert (join.start, join.middle, join.end) == pytest.approx((12.0, 14.0, 16.0))
    assert made.cuts == pytest.approx([0.0, 14.0, 28.0])
    assert made.samples.dtype == np.float32 and made.samples.shape[1] == 2


@pytest.mark.parametrize(
    ("bpm", "meter", "kind", "reason"),
    [
        (104.0, 4, "blend", ""),
        (115.0, 4, "ramp", ""),
        (135.0, 4, "echo", "tempos differ by 35%"),
        (200.0, 4, "blend", "1 bar against 2"),
        (50.0, 4, "blend", "2 bars against 1"),
        (148.0, 4, "blend", "2 bars against 3"),
        (75.0, 3, "sweep", "4 against 3 beats in a bar"),
    ],
)
def test_the_kind_of_a_join_and_where_the_beats_are(rng, bpm, meter, kind, reason):
    segments = [song(rng, 100), song(rng, bpm, meter=meter, pitch=277)]
    made = mix.render(segments)
    (join,) = made.joins
    assert (join.kind, join.reason) == (kind, reason)
    assert join.stretch <= LARGEST_STRETCH.get(kind, 0.0)
    if kind in ("echo", "sweep"):
        assert join.middle == pytest.approx(segments[0].seconds)
        assert abs(onset_errors(made.samples, np.array([join.middle]))[0]) < 0.005
    else:
        first, second = ({round(time, 2) for time in beats[beats[:, 1] == 1, 0]} for beats in made.beats)
        assert len(first & second) >= join.bars + 1  # downbeats coincide
        times = np.unique(np.concatenate(made.beats)[:, 0].round(3))
        inside = times[(times > 0.1) & (times < made.cuts[-1] - 2.1)]
        clear = np.minimum(np.diff(inside, prepend=0), np.diff(inside, append=99)) > 0.1
        assert np.abs(onset_errors(made.samples, inside[clear])).max() < 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_both_songs_are_where_they_are_said_to_be_at_every_kind_of_join(rng, kind):
    """To 10 ms, by the onsets of all beats that sound alone and are not faded or filtered away."""
    bpm = {"blend": 123, "ramp": 135, "loop": 123}.get(kind, 97)
    made = mix.render([song(rng, 120, bars=8), song(rng, bpm, bars=8, pitch=277)], asked=[Asked(kind)])
    (join,) = made.joins
    assert join.kind == kind
    faded = 1.0 if kind == "overlay" else 0.0
    first, last = join.start + faded, join.start if kind == "sweep" else join.end - faded
    before, after = (beats[:, 0] for beats in made.beats)
    assert after[0] == pytest.approx(join.start if kind in (*BLENDS, "overlay") else join.middle, abs=1e-3)
    heard = np.concatenate(
        [before[(before > 0.1) & (before < last)], after[(after > first) & (after < made.cuts[-1] - 2.1)]]
    )
    apart = np.abs(heard[:, None] - np.concatenate([before, after, join.repeats]))
    alone = heard[(np.where(apart > 0.005, apart, 1.0) > 0.1).all(axis=1)]
    assert len(alone) > 30 and ((alone > join.start - 1) & (alone < join.end + 1)).sum() >= 3
    assert np.abs(onset_errors(made.samples, alone)).max() < 0.01


def test_cuts_are_made_where_they_are_asked_for(rng):
    segments = [song(rng, 120), song(rng, 120, pitch=277)]
    (join,) = mix.render(segments, bars=0).joins
    assert (join.kind, join.reason) == ("cut", "asked for")
    assert join.middle == join.end == pytest.approx(segments[0].seconds)


def test_echoes_come_on_the_beat_and_die_away(rng):
    times = np.arange(25) * 0.65
    hum = 0.1 * np.sin(2 * np.pi * 60 * np.arange(round(times[-1] * RATE_HZ)) / RATE_HZ)
    made = mix.render([song(rng, 120), whole(hum, np.stack([times, np.arange(25) % 4 + 1], axis=1))])
    (join,) = made.joins
    assert join.kind == "echo"
    highs, echoes = np.diff(made.samples[:, 0], 3), join.middle + 0.5 * np.arange(4)
    assert np.abs(onset_errors(made.samples, echoes)).max() < 0.01
    levels = [np.abs(highs[round(time * RATE_HZ) :][: RATE_HZ // 4]).max() for time in echoes]
    np.testing.assert_allclose(np.divide(levels[1:], levels[:-1]), 0.5, atol=0.1)
    assert np.abs(highs[round((join.end + 0.02) * RATE_HZ) :]).max() < 0.01 * levels[0]


def test_a_loop_goes_on_in_the_tempo_of_the_next_song_and_fades_out(rng):
    times = 0.1 + np.arange(49) * 60 / 123
    hum = 0.1 * np.sin(2 * np.pi * 60 * np.arange(round((times[-1] + 0.1) * RATE_HZ)) / RATE_HZ)
    second = Segment(hum, times[0], times[-1], np.stack([times, np.arange(49) % 4 + 1], axis=1))
    made = mix.render([song(rng, 120), second], asked=[Asked("loop", 4)])
    (join,) = made.joins
    beats = made.beats[1][:16, 0]  # the clicks of the first song on the beats of the second
    assert np.abs(onset_errors(made.samples, beats[2:14])).max() < 0.01
    highs = np.abs(np.diff(made.samples[:, 0], 3))
    first, last = (highs[round(time * RATE_HZ) :][: RATE_HZ // 2].max() for time in (join.middle, join.end - 0.5))
    assert last < 0.3 * first and highs[round((join.end + 0.02) * RATE_HZ) :].max() < 0.01 * first


def test_a_sweep_takes_the_highs_before_the_lows_and_leaves_the_next_song_whole(rng):
    noise = 0.2 * rng.standard_normal(round(16.2 * RATE_HZ))
    first = replace(song(rng, 120, bars=8), samples=noise)
    made = mix.render([first, song(rng, 150, bars=8)], asked=[Asked("sweep", 2)])
    (join,) = made.joins
    assert (join.bars, join.end - join.start) == (2, pytest.approx(4.0))

    def power(time: float, low: float, high: float) -> float:
        part = made.samples[round(time * RATE_HZ) :][: RATE_HZ // 4, 0]
        return float((np.abs(np.fft.rfft(part)[round(low / 4) : round(high / 4)]) ** 2).sum())

    before, middle, end = join.start - 1, join.start + 2, join.end - 0.3
    for band, least in (((4000, 12000), 1e-3), ((100, 200), 0.05)):
        ratios = [power(time, *band) / power(before, *band) for time in (middle, end)]
        assert ratios[1] < ratios[0] < 1.1 and (ratios[1] < 1e-3 if least == 1e-3 else ratios[1] > least)
    assert abs(onset_errors(made.samples, np.array([join.middle]))[0]) < 0.005


def test_one_join_alone_sounds_as_in_the_whole_mix(rng):
    segments = [song(rng, bpm, bars=12, pitch=pitch) for bpm, pitch in ((120, 220), (122, 277), (150, 330))]
    asked = [Asked("blend", 4), Asked("echo")]
    whole_mix = mix.render(segments, asked=asked)
    for i, join in enumerate(whole_mix.joins):
        samples, placed = mix.render_join(segments[i], segments[i + 1], asked=asked[i], seconds=3.0)
        assert (placed.kind, placed.bars) == (join.kind, join.bars)
        assert placed.middle - placed.start == pytest.approx(join.middle - join.start, abs=1e-6)
        begin = round((join.start - 3.0) * RATE_HZ)
        there = whole_mix.samples[begin : begin + len(samples)]
        assert len(samples) == len(there)
        assert np.abs(samples - there).max() < 0.12 * np.abs(there).max()  # gains that differ by less than 1 dB


def test_without_beats_there_is_a_long_overlay(rng):
    noise = [0.1 * rng.standard_normal(24 * RATE_HZ) for _ in range(2)]
    made = mix.render([whole(noise[0]), whole(noise[1])])
    assert made.joins[0].kind == "overlay" and made.joins[0].reason == "no downbeats"
    assert len(made.samples) == 40 * RATE_HZ
    power = (made.samples[:, 0] ** 2).reshape(-1, RATE_HZ // 10).mean(axis=1)[1:-22]
    assert 10 * np.log10(power.max() / power.min()) < 1.0  # equal power all through the fade


def test_clips_are_equally_loud_and_peaks_stay_below_the_limit(rng):
    made = mix.render([song(rng, 120, gain=0.02), song(rng, 124, gain=0.9, pitch=277), song(rng, 122, gain=0.2)])
    spans = [made.samples[round(a * RATE_HZ) : round(b * RATE_HZ)] for a, b in itertools.pairwise(made.cuts)]
    loudness = [loudness_of(span, RATE_HZ) for span in spans]
    assert max(loudness) - min(loudness) < 1.0
    assert 20 * np.log10(true_peak(made.samples)) < -1.0


def test_a_spiky_clip_is_limited_and_the_medley_is_as_loud_as_it_should_be(rng):
    segments = [song(rng, 120, gain=0.2), song(rng, 120, gain=0.2, pitch=277), song(rng, 120, gain=0.2)]
    spiky = 0.2 * segments[1].read()
    spiky[:: RATE_HZ // 2] = 0.9  # 24 dB above the rest
    made = mix.render([segments[0], replace(segments[1], samples=spiky), segments[2]])
    assert 20 * np.log10(true_peak(made.samples)) < -1.0 and made.limited_db > 6
    loudness = [
        loudness_of(made.samples[round(a * RATE_HZ) : round(b * RATE_HZ)], RATE_HZ)
        for a, b in itertools.pairwise(made.cuts)
    ]
    assert loudness == pytest.approx([mix.LOUDNESS_LUFS] * 3, abs=0.5)


@pytest.mark.parametrize("bpm", [120, 124, 150])
def test_a_clip_that_is_quiet_at_its_edges_makes_no_step(rng, bpm):
    segments = [song(rng, bpm, bars=8), song(rng, 120, bars=8, pitch=277), song(rng, bpm, bars=8)]
    swell = np.interp(np.linspace(0, 1, len(segments[1].read())), [0, 0.3, 0.5, 0.6, 1], [0.3, 0.4, 1, 0.5, 0.2])
    made = mix.render([segments[0], replace(segments[1], samples=segments[1].read() * swell), segments[2]])
    for join in made.joins:
        before, after = ((join.start - 6, join.start), (join.end, join.end + 6))
        sides = [
            loudness_of(made.samples[round(a * RATE_HZ) : round(b * RATE_HZ)], RATE_HZ) for a, b in (before, after)
        ]
        assert abs(sides[1] - sides[0]) < 0.5


def test_lows_change_places_instead_of_adding_up(rng):
    t = np.arange(24 * RATE_HZ) / RATE_HZ
    beats = np.stack([np.arange(49) * 0.5, np.arange(49) % 4 + 1], axis=1)
    bass = [whole((0.5 * np.sin(2 * np.pi * f * t)).astype(np.float32), beats) for f in (50.0, 60.0)]
    made = mix.render(bass, bars=4)
    spectrum = np.abs(np.fft.rfft(made.samples[round(16.5 * RATE_HZ) : round(19.5 * RATE_HZ), 0]))
    assert spectrum[150] > 30 * spectrum[180]  # 50 Hz alone in the first half of the blend


def test_a_recording_whose_zero_lies_elsewhere_does_not_thump_at_a_cut(rng):
    segments = [song(rng, 120), song(rng, 150, pitch=277)]
    plain = mix.render(segments).samples
    moved = mix.render([segments[0], replace(segments[1], samples=segments[1].read() - 0.4)]).samples
    np.testing.assert_allclose(moved, plain, atol=0.01)


def test_low_notes_stay(rng):
    t = np.arange(4 * RATE_HZ) / RATE_HZ
    mixes = [mix.render([whole(np.sin(2 * np.pi * f * t) + np.sin(2 * np.pi * 400 * t))]).samples for f in (40, 41)]
    for f, samples in zip((40, 41), mixes, strict=True):
        spectrum = np.abs(np.fft.rfft(samples[RATE_HZ // 2 : 3 * RATE_HZ // 2, 0]))
        assert spectrum[f] == pytest.approx(spectrum[400], rel=0.02)


def test_the_pitch_stays(rng):
    made = mix.render([song(rng, 120, pitch=440), song(rng, 128, pitch=440)])
    join = made.joins[0]
    part = made.samples[round(join.start * RATE_HZ) : round(join.end * RATE_HZ), 0]
    peak = np.argmax(np.abs(np.fft.rfft(part * np.hanning(len(part))))) * RATE_HZ / len(part)
    assert peak == pytest.approx(440, abs=1.0)


def pitch_of(samples: np.ndarray) -> float:
    """The frequency of the strongest tone of samples [N, 2], in Hz."""
    spectrum = np.log(np.abs(np.fft.rfft(samples[:, 0] * np.hanning(len(samples)))))
    top = int(np.argmax(spectrum))
    left, middle, right = spectrum[top - 1 : top + 2]
    return (top + 0.5 * (left - right) / (left - 2 * middle + right)) * RATE_HZ / len(samples)


@pytest.mark.parametrize("semitones", [-1, 1])
def test_a_transposed_song_sounds_a_semitone_away_and_its_beats_stay(rng, semitones):
    before, after = song(rng, 120, bars=8), replace(song(rng, 123, bars=8, pitch=440), transpose=semitones)
    made = mix.render([before, after])
    alone = made.samples[round((made.joins[0].end + 0.5) * RATE_HZ) :][: 8 * RATE_HZ]
    heard, _ = mix.render_join(before, after)
    for part, cents in ((alone, 1), (heard[-5 * RATE_HZ :], 2)):
        assert 1200 * np.log2(pitch_of(part) / 440) == pytest.approx(100 * semitones, abs=cents)
    beats = made.beats[1][made.beats[1][:, 0] < made.cuts[-1] - 2.1, 0]
    assert np.abs(onset_errors(made.samples, beats)).max() < 0.01


def test_the_same_segments_give_the_same_samples(rng):
    segments = [song(rng, 120, bars=3), song(rng, 126, bars=3), song(rng, 90, bars=3, meter=3)]
    np.testing.assert_array_equal(mix.render(segments).samples, mix.render(segments).samples)


@settings(deadline=None, max_examples=8)
@given(
    st.lists(st.tuples(st.floats(60, 180), st.sampled_from([3, 4]), st.integers(1, 5)), min_size=1, max_size=4),
    st.integers(0, 4),
)
def test_any_clips_make_a_mix_whose_segments_follow_each_other(kinds, bars):
    rng = np.random.default_rng(0)
    made = mix.render([song(rng, bpm, bars=count, meter=meter) for bpm, meter, count in kinds], bars=bars)
    assert np.isfinite(made.samples).all()
    assert np.all(np.diff(made.cuts) > 0)
    assert all(join.start <= join.middle <= join.end for join in made.joins)


def test_a_clip_may_begin_where_its_samples_begin_or_a_little_before(rng):
    for start in (0.0, -0.002):
        one = song(rng, 120, bars=3)
        other = Segment(one.read()[4410:], start, one.end - 0.1 + start, one.beats - [0.1 - start, 0.0])
        (join,) = mix.render([song(rng, 90, bars=3), other], bars=0).joins
        assert join.kind == "cut" and join.end > join.start


def test_silence_and_too_many_channels():
    silent = mix.render([whole(np.zeros(RATE_HZ)), whole(np.zeros(RATE_HZ))])
    assert not silent.samples.any()
    with pytest.raises(ValueError, match="one or two channels, got 6"):
        mix.render([whole(np.zeros((RATE_HZ, 6)))])
    with pytest.raises(ValueError, match="at least one"):
        mix.render([])


def test_the_ends_of_a_mix_are_soft(rng):
    noise = 0.2 * rng.standard_normal((12 * RATE_HZ, 2)).astype(np.float32)
    made = mix.render([whole(noise)]).samples
    level = np.abs(made).max(axis=1)
    usual = np.median(level)
    assert level[:5].max() < 0.2 * usual and level[-RATE_HZ // 50 :].max() < 0.2 * usual
    assert 0.5 * usual < np.median(level[-RATE_HZ - 500 : -RATE_HZ + 500]) < 0.9 * usual  # half of the fade is over
    assert np.median(level[400:900]) > 0.8 * usual


def test_a_long_mix_is_kept_in_a_file_and_sounds_the_same(rng, tmp_path, monkeypatch):
    segments = [song(rng, 120, bars=3), song(rng, 150, bars=3, pitch=277)]
    there = mix.render(segments).samples
    monkeypatch.setattr(mix, "_IN_MEMORY_SECONDS", 1.0)
    monkeypatch.setattr(mix, "_BLOCK_FRAMES", 50_000)
    lazy = [replace(segment, samples=segment.read) for segment in segments]
    made = mix.render(lazy, folder=tmp_path).samples
    assert isinstance(made, SampleFile) and not list(tmp_path.iterdir())
    np.testing.assert_allclose(made[:], there, atol=1e-6)


def test_a_song_may_be_louder_than_the_others(rng):
    segments = [song(rng, 120), replace(song(rng, 120), gain=-4.0), song(rng, 120)]
    made = mix.render(segments)
    spans = itertools.pairwise(round(cut * RATE_HZ) for cut in made.cuts)
    levels = [loudness_of(made.samples[first:last], RATE_HZ) for first, last in spans]
    assert levels[1] - (levels[0] + levels[2]) / 2 == pytest.approx(-4.0, abs=0.5)
