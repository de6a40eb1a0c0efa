import pytest

from djnet.cli.settings import read_settings
from djnet.errors import UserError
from djnet.medley.transitions import Asked

SONGS = ["songs/Opening.mp3", "songs/Good Night.ogg", "songs/Another.wav"]


def read(tmp_path, content: str):
    path = tmp_path / "settings.toml"
    path.write_text(content)
    return read_settings(path, SONGS)


def test_songs_and_joins_are_known_by_their_names(tmp_path):
    settings = read(
        tmp_path,
        """
        ["Opening.mp3"]
        start = 62.5
        [[join]]
        from = "Opening"
        to = "good night"
        transition = "echo"
        bars = 4
        [[join]]
        from = "Another"
        to = "Opening"
        bars = 8
        """,
    )
    assert settings.songs == {0: {"start": 62.5}}
    assert settings.joins == {(0, 1): Asked("echo", 4), (2, 0): Asked(None, 8)}
    assert settings.renumbered({0: 1, 1: 0}).joins == {(1, 0): Asked("echo", 4)}  # the third song is not played


@pytest.mark.parametrize(
    ("join", "message"),
    [
        ('from = "Opening"', "below .*join.* write from"),
        ('from = "Opening"\nto = "Nobody"', "'Nobody': no song has that"),
        ('from = "Opening"\nto = "Opening"', "from one song to another"),
        ('from = "Opening"\nto = 3', "names of songs in quotes"),
        ('from = "Opening"\nto = "Good"\ntransition = "jump"', "no transition 'jump'; there are blend, ramp"),
        ('from = "Opening"\nto = "Good"\nbars = 9', "a whole number up to 8, not 9"),
        ('from = "Opening"\nto = "Good"\nbars = true', "not True"),
        ('from = "Opening"\nto = "Good"\nlength = 9', "below .*join.* write from"),
    ],
)
def test_mistakes_in_a_join_are_said(tmp_path, join, message):
    with pytest.raises(UserError, match=message):
        read(tmp_path, f"[[join]]\n{join}")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("nan", "must be seconds, not nan"),
        ("inf", "must be seconds, not inf"),
        ("-1", "must be seconds, not -1"),
        ("9" * 400, "must be seconds, not 99999999999999999999\\."),
        ("9" * 5000, "is not TOML"),
        ("[" * 5000, "is not TOML"),
    ],
)
def test_times_in_settings_are_times(tmp_path, value, complaint):
    path = tmp_path / "settings.toml"
    path.write_text(f'["a.wav"]\nstart = {value}\n')
    with pytest.raises(UserError, match=complaint):
        read_settings(path, ["a.wav"])


def test_a_song_may_have_its_tempo_metre_gain_and_what_never_plays(tmp_path):
    opening = (
        '["Opening"]\nbpm = 120.5\nmeter = 3\ngain = -3\ntranspose = -1\nstart = 20\nnever = [[0, 12.5], [60, 75]]\n'
    )
    settings = read(tmp_path, opening + '["Another"]\nnever = []\n')
    never = ((0.0, 12.5), (60.0, 75.0))
    assert settings.songs == {
        0: {"bpm": 120.5, "meter": 3, "gain": -3, "transpose": -1, "start": 20, "never": never},
        2: {},
    }


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("bpm = 0", "bpm of 'Opening' must be beats a minute from 30 to 300, not 0"),
        ("bpm = true", "not True"),
        ("meter = 3.5", "meter of 'Opening' must be a whole number"),
        ("meter = 1", "from 2 to 7, not 1"),
        ("gain = 40", "gain of 'Opening' must be decibels from -12 to 12, not 40"),
        ("transpose = 0.5", "transpose of 'Opening' must be a whole number of semitones, up to 6 down or up, not 0.5"),
        ("transpose = -7", "not -7"),
        ("length = 0", "length of 'Opening' must be seconds, not 0"),
        ("never = [10, 20]", r"never of 'Opening' must be spans in seconds such as \[\[0, 12.5\], "),
        ("never = [[20, 10]]", r"not \[\[20, 10\]\]"),
        ("never = [[1, 'x']]", "must be spans"),
        ("never = 3", "must be spans"),
        ("start = 15\nnever = [[10, 20]]", "start of 'Opening' lies in what must never play"),
        (
            "tempo = 120",
            "'Opening' has tempo; a song has start, length, bpm, meter, gain, transpose, never, nothing else",
        ),
        ('start = 1\n["opening.mp3"]\nlength = 3', "has settings already; put them together"),
    ],
)
def test_mistakes_in_a_song_are_said(tmp_path, line, complaint):
    with pytest.raises(UserError, match=complaint):
        read(tmp_path, f'["Opening"]\n{line}')
