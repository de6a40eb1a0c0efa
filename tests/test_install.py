"""What a new user does: build, install into an empty environment, make a medley. Needs the package index."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _run(*words: str | Path, **options) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=clean, check=False, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.verify
def test_the_wheel_makes_a_medley_in_an_empty_environment(tmp_path, songs):
    _run(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT)
    wheel, archive = next(tmp_path.glob("*.whl")), next(tmp_path.glob("*.tar.gz"))
    _run(sys.executable, "-m", "twine", "check", "--strict", wheel, archive)
    _run(sys.executable, "-m", "venv", tmp_path / "empty")
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
