import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.constants import HOPS_PER_SECOND
from djnet.errors import UserError
from djnet.medley.analysis import corrected
from djnet.medley.parts import candidates, thumbnails
from djnet.medley.transitions import Segment

BAR = 2.0


def mel_of(rng, form: str, loud: dict[str, float]) -> np.ndarray:
    """Each letter is a part of four bars that always sounds the same, but for a little noise."""
    frames = round(4 * BAR * HOPS_PER_SECOND)
    parts = {letter: rng.random((frames, 128)) * loud.get(letter, 1.0) * 8 for letter in sorted(set(form))}
    mel = np.concatenate([parts[letter] for letter in form])
    return (mel + 0.05 * rng.random(mel.shape)).astype(np.float32)


def test_what_comes_back_loudly_is_the_thumbnail(rng):
    form = "ixcycxzc"
    mel = mel_of(rng, form, {"i": 0.3, "c": 1.2})
    bars = np.arange(4 * len(form) + 1) * BAR
    fitness = {first: sum(terms.values()) for first, terms in thumbnails(mel, bars, 4).items()}
    best, *others = fitness
    assert form[best // 4] == "c" and best % 4 == 0
    assert all(abs(other - best) >= 2 and fitness[other] <= fitness[best] for other in others)


def test_quiet_bars_are_avoided(rng):
    mel = mel_of(rng, "qqqaqq", {"q": 0.02})
    best, *_ = thumbnails(mel, np.arange(25) * BAR, 4)
    assert best == 12


def mel_of_bars(rng, form: str, louder: dict[str, float] | None = None) -> np.ndarray:
    """Each letter is a bar that always sounds the same, but for a little noise; some are louder, in dB."""
    frames = round(BAR * HOPS_PER_SECOND)
    spectra = {letter: rng.permutation(np.linspace(2, 4, 128)) for letter in sorted(set(form))}
    gain = {letter: db * np.log(10) / 10 for letter, db in (louder or {}).items()}
    bars = [np.tile(spectra[letter] + gain.get(letter, 0.0), (frames, 1)) for letter in form]
    return np.concatenate(bars).astype(np.float32) + 0.02 * rng.random((frames * len(form), 128), np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_of_two_parts_that_come_back_the_louder_is_chosen(seed):
    form = "abcdkefghlabcdmefgh"
    mel = mel_of_bars(np.random.default_rng(seed), form, dict.fromkeys("abcd", -6.0))
    best, *_ = thumbnails(mel, np.arange(len(form) + 1) * BAR, 4)
    assert form[best:][:4] == "efgh"


@pytest.mark.parametrize("seed", range(5))
def test_a_part_that_begins_much_quieter_than_it_goes_on_is_not_chosen(seed):
    form = "wxyzstuvkwxyzstuvl"
    mel = mel_of_bars(np.random.default_rng(seed), form, dict.fromkeys("skl", -9.0) | dict.fromkeys("tuv", 3.0))
    best, *_ = thumbnails(mel, np.arange(len(form) + 1) * BAR, 4)
    assert form[best:][:4] == "wxyz"


@pytest.mark.parametrize("seed", range(5))
def test_what_comes_back_twice_is_better_than_what_comes_back_once(seed):
    form = "uavawcxcycz"
    mel = mel_of(np.random.default_rng(seed), form, {"a": 1.02})
    best, *_ = thumbnails(mel, np.arange(4 * len(form) + 1) * BAR, 4)
    assert form[best // 4] == "c" and best % 4 == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_part_begins_where_the_music_changes(seed):
    form = "aaaabbbbcccc" * 3  # every four bars come back equally often
    first, *_ = thumbnails(mel_of_bars(np.random.default_rng(seed), form), np.arange(len(form) + 1) * BAR, 4)
    assert first % 4 == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_note_that_is_held_does_not_come_back(seed):
    form = "kaaaaaaxbcdeybcdez"
    best, *_ = thumbnails(mel_of_bars(np.random.default_rng(seed), form), np.arange(len(form) + 1) * BAR, 4)
    assert "a" not in form[best:][:4]


def test_parts_begin_and_end_with_clear_bars(rng):
    clear = np.ones(24, bool)
    clear[[5, 14]] = False
    mel = mel_of_bars(rng, "abcdefgh" * 3)
    for first in thumbnails(mel, np.arange(25) * BAR, 8, 100, clear):
        assert clear[[first, first + 1, first + 6, first + 7]].all()
    for first in thumbnails(mel, np.arange(25) * BAR, 4, 100, clear):
        assert clear[first : first + 4].all()
    assert thumbnails(mel, np.arange(25) * BAR, 8, 1, np.arange(24) % 2 == 0)  # no such part: the best there is


def test_no_two_parts_share_more_than_half(rng):
    firsts = sorted(thumbnails(mel_of_bars(rng, "abcdefgh" * 3), np.arange(25) * BAR, 4, count=100))
    assert len(firsts) > 5 and np.diff(firsts).min() >= 2


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 20), st.integers(1, 16), st.integers(1, 4))
def test_every_candidate_is_whole_bars_inside_the_song(count, length, wanted):
    rng = np.random.default_rng(count)
    bars = 0.5 + np.arange(count + 1) * BAR
    mel = (8 * rng.random((int((bars[-1] + 1) * HOPS_PER_SECOND), 128))).astype(np.float16)
    length = min(length, count)
    firsts = thumbnails(mel, bars, length, wanted)
    assert 1 <= len(firsts) <= wanted and all(0 <= first <= count - length for first in firsts)


def test_candidates_are_phrases_on_downbeats(song):
    for bpm, seconds, phrase in ((120, 16, 8), (60, 16, 4), (150, 16, 8), (120, 6, 4), (150, 26, 16), (150, 60, 32)):
        parts = candidates(song("a", bpm), seconds, 3)
        assert len(parts) == (3 if phrase < 32 else 1)
        for part in parts:
            assert part.bars == phrase and part.start in part.song.bars and part.end in part.song.bars
            assert len(Segment(np.zeros(0), part.start, part.end, part.beats).ending) == phrase + 1
    (chosen,) = candidates(song("a"), 16.0, 3, start=21.0, length=9.0)
    assert chosen.start == pytest.approx(20.25) and chosen.bars in (4, 5)
    with pytest.raises(UserError, match="lies outside the song"):
        candidates(song("a"), 16.0, 3, start=100.0)


def test_songs_without_a_beat_have_parts_too(song):
    free = candidates(song("a", bpm=0), 16.0, 3)
    assert len(free) == 3 and all(part.end - part.start == pytest.approx(24.0, abs=0.1) for part in free)
    assert not len(free[0].beats)
    for seconds in (1.0, 2.9, 5.0, 5.9, 7.2):  # as they are
        (short,) = candidates(song("a", bpm=0, seconds=seconds), 16.0, 3)
        assert short.end - short.start == pytest.approx(seconds, abs=0.1)


def test_what_must_never_play_is_in_no_part(song):
    never = ((0.0, 20.0), (40.0, 48.0))
    one = corrected(song("a", 120), never=never)
    for part in candidates(one, 8.0, 5):
        assert part.bars == 4 and one.plays(part.start, part.end)
    (shorter,) = candidates(one, 60.0, 1)
    assert shorter.bars == 9 and shorter.start == pytest.approx(20.25) and shorter.end < 40
    (cut,) = candidates(one, 8.0, 1, start=36.0, length=16.0)
    assert cut.start == pytest.approx(36.25) and cut.bars == 1  # up to what must not play
    with pytest.raises(UserError, match="must never play"):
        candidates(one, 8.0, 1, start=41.0)
    with pytest.raises(UserError, match=r"a: never = \.\.\. leaves no bar"):
        candidates(corrected(song("a", 120), never=((0.0, 90.0),)), 8.0, 1)
    free = corrected(song("b", 0), never=((0.0, 30.0),))
    assert all(part.start >= 30 for part in candidates(free, 8.0, 3))
