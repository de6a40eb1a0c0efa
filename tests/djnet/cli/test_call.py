import numpy as np
import pytest
import soundfile

import djnet
from djnet.errors import UserError


def test_a_medley_in_one_line(songs, tmp_path, cache, capfd):
    files = [track.path for track in songs.tracks[:3]]
    options = {"cache": cache, "workers": 1, "length": 8, "first": songs.tracks[1].path}
    made = djnet.medley(files, tmp_path / "out.wav", before=[(files[2], files[0])], **options)  # type: ignore[operator]
    assert [clip["song"] for clip in made.plan] == [files[1], files[2], files[0]]
    assert len(made.joins) == len(made.scores) == 2 and made.joins[0]["start"] < made.joins[1]["start"]
    assert all(path.is_file() for path in made.paths) and "3 songs" in made.text
    assert soundfile.info(made.paths[0]).duration > 10
    assert capfd.readouterr() == ("", "")  # nothing on the terminal


@pytest.mark.parametrize(
    ("songs", "options", "said"),
    [
        ([], {}, "A medley needs songs"),
        ([np.zeros(100)], {}, "A medley needs songs: give paths"),
        (["gone.mp3"], {}, "gone.mp3: there is no such file"),
        ("gone", {}, "gone: there is no such file"),
        (["."], {"totl": 60}, "no option 'totl'; it has .*total"),
        (["."], {"dry_run": True}, "no option 'dry_run'"),
        (["."], {"bars": 99}, "bars"),
        (["."], {"total": -1}, "write seconds, minutes or both"),
    ],
)
def test_wrong_input_gets_a_sentence(songs, options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=said) as error:
        djnet.medley(songs, "out.wav", **options)  # type: ignore[operator]
    assert "\n" not in str(error.value) and not list(tmp_path.iterdir())


def test_the_best_order_in_one_line(write_tone, tmp_path, monkeypatch):
    files = [write_tone(tmp_path / f"{name}.wav", seconds=2.0) for name in "abc"]
    order = djnet.load("sen-two-matrices").order(files).order
    assert djnet.order(files) == [files[i] for i in order]
    with pytest.raises(UserError, match="nothing to score"):
        djnet.order([])
    with pytest.raises(UserError, match="gone"):
        djnet.order(["gone.wav", files[0]])


def test_the_package_of_medleys_is_still_a_package():
    import djnet.medley.tempo

    assert callable(djnet.medley) and callable(djnet.medley.tempo.bpm)
    with pytest.raises(AttributeError, match="no attribute 'medly'"):
        djnet.medly  # noqa: B018
