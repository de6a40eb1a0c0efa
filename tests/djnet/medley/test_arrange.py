import numpy as np
import pytest

from djnet import constants
from djnet.cli.medley import Options, make_plan
from djnet.errors import UserError
from djnet.features import log_mel
from djnet.medley import arrange
from djnet.medley.analysis import Song
from djnet.medley.arrange import Override, Wishes
from djnet.ordering import Rules


@pytest.fixture
def song(rng):
    """A song of noise: `song("name", bpm=120)`, with no beats for 0."""

    def make(name: str, bpm: float = 120.0, seconds: float = 64.0, key: str = "C") -> Song:
        times = np.arange(0.25, seconds - 1, 60 / bpm) if bpm else np.zeros(0)
        beats = np.stack([times, np.arange(len(times)) % 4 + 1], axis=1)
        mel = (8 * rng.random((constants.seconds_to_hops(seconds), constants.MEL_BINS))).astype(np.float16)
        return Song(f"{name}.wav", name, name, seconds, key, -14.0, beats, np.full(len(times), 0.9), mel)

    return make


def test_candidates_are_phrases_on_downbeats(song):
    for bpm, wanted in ((120, 8), (60, 4), (150, 8)):
        found = arrange.candidates(song("a", bpm), 16.0, 3)
        assert len(found) == 3
        for clip in found:
            assert clip.span.bars == wanted and clip.span.start in clip.song.bars and clip.span.end in clip.song.bars
            assert len(clip.part().downbeats) == wanted + 1
    (chosen,) = arrange.candidates(song("a"), 16.0, 3, Override(start=21.0, length=9.0))
    assert chosen.span.start == pytest.approx(20.25) and chosen.span.bars in (4, 5)
    with pytest.raises(UserError, match="lies outside the song"):
        arrange.candidates(song("a"), 16.0, 3, Override(start=100.0))


def test_songs_without_a_beat_give_clips_too(song):
    free = arrange.candidates(song("a", bpm=0), 16.0, 3)
    assert len(free) == 3 and all(clip.span.end - clip.span.start == pytest.approx(16.0, abs=0.1) for clip in free)
    assert not len(free[0].part().downbeats)
    for seconds in (1.0, 2.9, 5.0, 5.9, 7.2):  # as they are
        (short,) = arrange.candidates(song("a", bpm=0, seconds=seconds), 16.0, 3)
        assert short.span.end - short.span.start == pytest.approx(seconds, abs=0.1)


def test_a_clip_holds_the_frames_of_its_own_samples(song, rng):
    samples = (0.1 * rng.standard_normal(20 * constants.SAMPLE_RATE_HZ)).astype(np.float32)
    whole = song("a", bpm=120, seconds=20.0)
    object.__setattr__(whole, "mel", log_mel(samples).astype(np.float16))
    clip = arrange.candidates(whole, 8.0, 1)[0]
    first = int(np.ceil(clip.span.start * constants.HOPS_PER_SECOND)) * constants.HOP_SAMPLES
    own = log_mel(samples[first : round(clip.span.end * constants.SAMPLE_RATE_HZ)])
    assert abs(len(own) - len(clip.mel)) <= 1
    np.testing.assert_allclose(clip.mel[: len(own)], own[: len(clip.mel)], atol=0.01)


def test_what_the_network_says_comes_before_key_and_tempo(song):
    options = [
        arrange.candidates(song(name, key=key), 16.0, 1) for name, key in zip("abc", ("C", "Gb", "C"), strict=True)
    ]
    scores = np.array([[0, 0.9, 0.1], [0.1, 0, 0.9], [0.2, 0.1, 0]])
    found = arrange.plan(options, lambda mels: scores, Wishes())
    assert [clip.song.name for clip in found.clips] == ["a", "b", "c"]
    assert found.scores == pytest.approx([0.9, 0.9]) and found.choice.proven
    even = np.where(np.eye(3), 0, 0.5) + np.array([[0, 0, 0], [1e-3, 0, 0], [0, 1e-3, 0]])
    nearest = arrange.plan(options, lambda mels: even, Wishes(Rules(first=0)))
    assert nearest.other is not None and nearest.costs["--first"] >= 0
    with pytest.raises(UserError, match="'b' cannot be both"):
        arrange.plan(options, lambda mels: scores, Wishes(Rules(first=1, last=1)))


def test_totals_are_met_or_refused(song, rng):
    songs = [song(f"s{i}", bpm) for i, bpm in enumerate((100, 110, 120, 130, 140, 150))]

    def planned(total: float) -> arrange.Plan:
        options = Options(total=total, candidates=1)
        return make_plan(songs, options, Wishes(), {}, lambda mels: rng.random((len(mels), len(mels))))

    for total in (70.0, 100.0, 130.0):
        assert abs(planned(total).seconds(2) - total) < 0.1 * total
    with pytest.raises(UserError, match=r"--total=10: 6 songs give a medley of \d+ to \d+ s"):
        planned(10.0)
