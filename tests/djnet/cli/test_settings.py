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
