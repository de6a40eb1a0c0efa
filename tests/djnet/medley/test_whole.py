from dataclasses import replace

import numpy as np
import pytest

from djnet.errors import UserError
from djnet.medley.analysis import corrected
from djnet.medley.arrange import Options, arrange
from djnet.medley.search import Constraints
from djnet.medley.whole import sounding, whole, with_ends


def faded(song):
    """The same song with a second of silence before it and a fade over its last ten seconds."""
    gain = np.interp(np.arange(len(song.mel)), [0, 43, 44, len(song.mel) - 430, len(song.mel)], [0, 0, 1, 1, 0])
    return replace(song, mel=(song.mel * gain[:, None]).astype(np.float16))


def test_a_whole_song_goes_from_its_first_downbeat_to_its_last_that_is_not_too_quiet(song):
    one = faded(song("a"))
    part = whole(one)
    downbeats = one.beats[one.beats[:, 1] == 1, 0]
    assert {part.start, part.end} <= set(downbeats) and part.bars == round((part.end - part.start) / 2)
    assert part.start < 2.5 and 54 < part.end < 63


def test_without_beats_all_that_sounds_is_played(song):
    one = faded(song("a", bpm=0))
    assert (whole(one).start, whole(one).end) == sounding(one) and whole(one).start == pytest.approx(1.0, abs=0.05)


def test_whole_songs_are_joined_over_many_bars_and_the_last_one_ends_as_it_does(song):
    songs = [faded(song(name, bpm)) for name, bpm in (("a", 120), ("b", 124), ("c", 122))]
    options = Options(length=None, bars=8)
    made = arrange(songs, lambda mels, wanted: np.zeros((len(mels), len(mels))), Constraints(), options)
    assert [join.bars for join in made.joins] == [8, 8]
    assert made.parts == with_ends([whole(part.song) for part in made.parts])
    assert made.parts[-1].end == sounding(made.parts[-1].song)[1]
    assert 130 < made.seconds < 3 * 64 - 2 * 15


def test_a_whole_song_leaves_out_what_must_never_play(song):
    one = whole(corrected(song("a"), never=((10.0, 12.0), (60.0, 64.0))))
    assert one.start == pytest.approx(12.25) and one.end < 60 and one.bars == round((one.end - one.start) / 2)
    assert with_ends([one]) == [one]
    free = whole(corrected(song("b", 0), never=((20.0, 22.0),)))
    assert free.start == 22.0
    with pytest.raises(UserError, match="leaves nothing of the song"):
        whole(corrected(song("b"), never=((0.0, 99.0),)))
