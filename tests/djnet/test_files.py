import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from djnet.errors import UserError
from djnet.files import locked, remove_partial, whole_file

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
