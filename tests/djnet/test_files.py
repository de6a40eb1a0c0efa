import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from djnet.errors import UserError
from djnet.files import (
    locked,
    read_array,
    read_csv,
    remove_partial,
    require_shape,
    temporary_folder,
    whole_file,
    write_array,
)

HOLD = "import sys; from pathlib import Path; from djnet.files import locked, whole_file\n"


def _left_by_a_killed_process(path) -> str:
    """The name of what a process that is killed while it writes leaves behind."""
    kill = f"with whole_file(Path({str(path)!r})) as partial:\n partial.touch(); import os; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", HOLD + kill])
    (left,) = path.parent.glob(".*.partial")
    return left.name


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    left = tmp_path / _left_by_a_killed_process(tmp_path / "a.wav")
    strange = tmp_path / ".download.partial"
    strange.touch()
    with whole_file(tmp_path / "b.wav") as partial:
        written_by_another = partial.with_name(partial.name.replace(f"-{os.getpid()}.", f"-{os.getppid()}."))
        written_by_another.touch()
        partial.touch()
        os.rename(partial, tmp_path / "aside")
        remove_partial(tmp_path)
        os.rename(tmp_path / "aside", partial)
    assert not left.exists() and strange.exists() and written_by_another.exists()


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    done: list[str] = []
    replace = os.replace

    def noted(old: Path, new: Path) -> None:
        done.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "replace", noted)
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(Path(f"/proc/self/fd/{handle}").readlink().name))
    with whole_file(tmp_path / "a.json") as partial:
        partial.touch()
    assert done == [partial.name, "replace", tmp_path.name]


def test_an_error_of_writing_names_the_final_file_and_the_room(tmp_path):
    said = r"No space left.* \(\d+\.\d MB are free on its disk\).*a\.json"
    with pytest.raises(OSError, match=said), whole_file(tmp_path / "a.json") as partial:
        partial.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["folder", "medley.wav"])
def test_one_job_at_a_time(tmp_path, name):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    hold = f"with locked(Path({str(path)!r})):\n print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", HOLD + hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        with (
            pytest.raises(UserError, match=rf"Another run is writing to .*{name} \(process {other.pid} on "),
            locked(path),
        ):
            pass
        other.kill()
    with locked(path):  # the system let go of it
        assert list(tmp_path.rglob(".*lock"))
    assert not list(tmp_path.rglob(".*lock"))


def test_those_who_may_wait_write_one_after_the_other(tmp_path):
    path = tmp_path / "table.csv"
    add = f"path = Path({str(path)!r})\nfor _ in range(20):\n with locked(path, wait=True):\n"
    add += "  old = path.read_text() if path.exists() else ''\n  path.write_text(old + 'x')\n"
    jobs = [subprocess.Popen([sys.executable, "-c", HOLD + add]) for _ in range(3)]
    assert [job.wait() for job in jobs] == [0, 0, 0]
    assert path.read_text() == "x" * 60 and [left.name for left in tmp_path.iterdir()] == ["table.csv"]


def test_temporary_folders_of_killed_processes_are_removed():
    kill = "from djnet.files import temporary_folder; import os\nwith temporary_folder() as folder:\n"
    kill += " (folder / 'decoded.wav').touch(); print(folder, flush=True); os.kill(os.getpid(), 9)"
    left = Path(subprocess.run([sys.executable, "-c", kill], capture_output=True, text=True).stdout.strip())
    assert left.is_dir()
    with temporary_folder() as own, temporary_folder():
        assert own.is_dir() and not left.exists()
    assert not own.exists()


def test_no_whole_number_is_beyond_all_floats(tmp_path):
    require_shape([10**300, -1.5], [float], tmp_path)
    for number in (10**400, -(10**400), float("nan"), float("inf"), True, "1"):
        with pytest.raises(UserError, match=r"\[0\] is not a number"):
            require_shape([number], [float], tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "has no column 'a'"),
        ("a,c\n1,2\n", "has no column 'b'"),
        ("a,b\n1,2\n1,2,3\n", "line 3: more or fewer cells"),
        ("a,b\n1,2\n1\n", "line 3: more or fewer cells"),
        (f"a,b\n1,{'x' * 200_000}\n", "line 2: cannot be read .*field larger"),
        ("\x00\x01\x02", "has no column 'a'"),
    ],
)
def test_a_table_of_another_shape_is_named_with_the_line(tmp_path, text, complaint):
    path = tmp_path / "t.csv"
    path.write_text("b,a\n1,\n")
    assert read_csv(path, ("a", "b")) == [{"b": "1", "a": ""}]
    path.write_text(text)
    with pytest.raises(UserError, match=rf"t\.csv.*{complaint}"):
        read_csv(path, ("a", "b"))


@pytest.mark.parametrize("array", [np.zeros((0, 2)), np.arange(6.0).reshape(3, 2), np.arange(5, dtype=np.int16)])
def test_a_kept_array_comes_back_or_is_known_as_damaged(tmp_path, array):
    path = tmp_path / "a.npy"
    assert read_array(path) is None
    write_array(path, array)
    again: Any = read_array(path)
    assert np.array_equal(again, array) and again.dtype == array.dtype
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert (kept := read_array(path)) is None or (np.array_equal(kept, array) and kept.dtype == array.dtype)
    for size in range(0, len(data) - 4):
        path.write_bytes(data[:size])
        assert read_array(path) is None
    np.save(path, array)  # as version 0.1 did
    again = read_array(path)
    assert np.array_equal(again, array)
