import subprocess
import sys

import numpy as np
import pytest

import djnet
from djnet.cli import main, options, order
from djnet.medley import join_score
from djnet.pages import puzzles


def test_commands_are_listed_and_mistakes_are_one_line(capsys):
    main.main([])
    said = capsys.readouterr().out
    assert all(name in said for name in main.COMMANDS)
    with pytest.raises(SystemExit) as ended:
        main.main(["medly"])
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    for name in main.COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main.main([name, "--help"])
        assert ended.value.code == 0
        assert f"djnet {name}" in capsys.readouterr().out


def test_the_options_are_those_of_the_library():
    assert set(options.ORDERS) == set(join_score.WEIGHTS) and options.PIECES == puzzles.SIZES
    assert options.PARSERS.keys() == main.COMMANDS.keys()


def test_help_and_mistakes_come_at_once():
    # Without any package: what is imported decides how long it takes (0.1 s; with NumPy and SciPy 1 s and more).
    code = (
        "import sys; from djnet.cli import main\n"
        f"for words in {[*([name, '--help'] for name in main.COMMANDS), ['--version'], ['medley', '--bars=9']]}:\n"
        "    try: main.main(words)\n"
        "    except SystemExit: pass\n"
        "assert not {'numpy', 'scipy', 'soundfile', 'tqdm', 'jinja2'} & sys.modules.keys(), 'slow'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("package", ["experiments", "preprocessing"])
def test_jobs_say_what_to_install(package):
    code = (
        "import importlib.util; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'pandas' else find(name, *rest)\n"
        f"import {package}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "need pandas" in done.stderr and "pip install '.[train]'" in done.stderr


def test_the_version_names_what_matters_and_the_licences(capsys):
    main.main(["--version"])
    said = capsys.readouterr().out
    assert said.startswith(f"djnet {djnet.__version__} (Apache-2.0)")
    assert f"numpy {np.__version__}\n" in said and "madmom" in said and "CC BY-NC-SA" in said


def test_order_prints_the_best_order_and_the_scores(monkeypatch, tmp_path, write_tone, capsys):
    files = [str(write_tone(tmp_path / f"{name}.wav", seconds=3.0)) for name in "abc"]
    scores = np.array([[0.0, 0.1, 0.2], [0.3, 0.0, 0.9], [0.8, 0.1, 0.0]])
    monkeypatch.setattr(order, "load_network", lambda name: lambda mels: scores)
    with pytest.raises(SystemExit) as ended:
        main.main(["order", *files])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert [line.split()[0] for line in said.splitlines()[1:4]] == ["2", "3", "1"]
    assert "Sum of scores 1.700 (proven)" in said and "loses 0.700: 1 2 3" in said
    for words, complaint in (
        (files[:1], "two different files"),
        ([*files, "--first", "z"], "no song has that in its name"),
        ([*files, "--first", "a", "--last", "a"], "both the first and the last"),
        ([*files, "gone.wav"], "gone.wav"),
    ):
        with pytest.raises(SystemExit) as ended:
            main.main(["order", *words])
        assert ended.value.code == 2 and complaint in capsys.readouterr().err


def test_order_takes_a_playlist_and_names_what_is_missing(monkeypatch, tmp_path, write_tone, capsys):
    for name in "ab":
        write_tone(tmp_path / "music" / f"{name}.wav", seconds=3.0)
    (tmp_path / "list.m3u8").write_text("#EXTM3U\nmusic/b.wav\nmusic/gone.wav\nmusic\\a.wav\n")
    monkeypatch.setattr(order, "load_network", lambda name: lambda mels: np.array([[0.0, 0.9], [0.1, 0.0]]))
    with pytest.raises(SystemExit) as ended:
        main.main(["order", str(tmp_path / "list.m3u8")])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert "gone.wav cannot be read (No such file" in said and "1 of 3 files left out." in said
    assert said.index("b.wav") < said.index("a.wav")
