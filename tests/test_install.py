"""What a new user does: build, install into an empty environment, make a medley. Needs the package index."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What of the tests needs neither TensorFlow nor the jobs.
APP_TESTS = ["tests/djnet/medley", "tests/djnet/downbeats/test_fallback.py"]


def _run(*words: str | Path, **options) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=clean, check=False, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def _newest() -> str | None:
    """A Python 3.13, the newest that the app promises, if there is one that runs; pyenv leaves shims that do not."""
    places = [shutil.which("python3.13"), *sorted(Path.home().glob(".pyenv/versions/3.13*/bin/python"))]
    for place in map(str, filter(None, places)):
        if subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
            return place
    return None


@pytest.mark.verify
@pytest.mark.parametrize("find", [lambda: sys.executable, _newest], ids=["this", "3.13"])
def test_the_wheel_makes_a_medley_in_an_empty_environment(tmp_path, songs, find):
    if (program := find()) is None:
        pytest.skip("no Python 3.13 on this machine")
    _run(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT)
    wheel, archive = next(tmp_path.glob("*.whl")), next(tmp_path.glob("*.tar.gz"))
    _run(sys.executable, "-m", "twine", "check", "--strict", wheel, archive)
    _run(program, "-m", "venv", tmp_path / "empty")
    before = _megabytes(tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    _run(python, "-m", "pip", "--quiet", "install", wheel)
    assert _megabytes(tmp_path / "empty") - before < 400
    files = [track.path for track in songs.tracks[:4]]
    command = [tmp_path / "empty" / "bin" / "djnet", "medley", *files, "--output=medley.mp3", f"--cache={tmp_path}"]
    _run(*command, cwd=tmp_path)
    receipt = json.loads((tmp_path / "medley.json").read_text())
    assert len(receipt["clips"]) == 4 and len(receipt["joins"]) == 3
    _run(python, "-c", "import sys, djnet.pretrained; assert 'tensorflow' not in sys.modules", cwd=tmp_path)
    if program != sys.executable:
        _run(python, "-m", "pip", "--quiet", "install", "pytest", "hypothesis", "psutil")
        _run(python, "-m", "pytest", "-p", "no:cacheprovider", *APP_TESTS, cwd=ROOT)
    _run(python, "-m", "pip", "--quiet", "install", f"djnet[studio] @ {wheel.as_uri()}")
    words = [tmp_path / "empty" / "bin" / "djnet", "studio", f"--project={tmp_path / 'project'}", "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as studio:
        try:
            assert studio.stdout is not None
            address = studio.stdout.readline().split()[-1]
            page, script = (_read(address + name) for name in ("", "static/studio.js"))
            names = re.findall(r"static/[a-z.]+", page) + [
                f"static/{name}" for name in re.findall(r'"\./(.*)"', script)
            ]
            assert len(names) > 8 and all(_read(address + name) for name in names)
            assert json.loads(_read(f"{address}state"))["songs"] == []
        finally:
            studio.terminate()


def _read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return answer.read().decode()


def _megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*")) / 1e6
