import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djnet.constants import HOPS_PER_SECOND
from djnet.medley.parts import phrase_bars, thumbnails

BAR = 2.0


def song(rng, form: str, loud: dict[str, float]) -> np.ndarray:
    """Each letter is a part of four bars that always sounds the same, but for a little noise."""
    frames = round(4 * BAR * HOPS_PER_SECOND)
    parts = {letter: rng.random((frames, 128)) * loud.get(letter, 1.0) * 8 for letter in sorted(set(form))}
    mel = np.concatenate([parts[letter] for letter in form])
    return (mel + 0.05 * rng.random(mel.shape)).astype(np.float32)


def test_what_comes_back_loudly_is_the_thumbnail(rng):
    form = "ixcycxzc"
    mel = song(rng, form, {"i": 0.3, "c": 1.2})
    bars = np.arange(4 * len(form) + 1) * BAR
    best, *others = thumbnails(mel, bars, 4)
    assert form[round(best.start / BAR) // 4] == "c" and round(best.start / BAR) % 4 == 0
    assert best.bars == 4 and best.end - best.start == pytest.approx(4 * BAR)
    assert all(abs(other.start - best.start) >= 2 * BAR and other.fitness <= best.fitness for other in others)


def test_quiet_bars_are_avoided(rng):
    mel = song(rng, "qqqaqq", {"q": 0.02})
    best = thumbnails(mel, np.arange(25) * BAR, 4)[0]
    assert best.start == pytest.approx(12 * BAR)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 20), st.integers(1, 16), st.integers(1, 4))
def test_every_candidate_is_whole_bars_inside_the_song(count, length, wanted):
    rng = np.random.default_rng(count)
    bars = 0.5 + np.arange(count + 1) * BAR
    mel = (8 * rng.random((int((bars[-1] + 1) * HOPS_PER_SECOND), 128))).astype(np.float16)
    found = thumbnails(mel, bars, length, wanted)
    assert 1 <= len(found) <= wanted
    for span in found:
        assert span.bars == min(length, count)
        assert span.start in bars and span.end in bars and span.end > span.start


def test_phrases_and_songs_without_bars():
    assert [phrase_bars(np.arange(9) * 2.0, seconds) for seconds in (6, 16, 60)] == [4, 8, 16]
    assert thumbnails(np.zeros((100, 128), np.float32), np.array([0.0]), 4) == []
