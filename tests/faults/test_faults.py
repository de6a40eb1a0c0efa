"""A little of what `make stress` does for ten minutes."""

import shutil
import signal

import pytest

from djnet.rng import rng_for
from tests.faults import archives, fuzz, readers
from tests.faults.fuzz import damaged, misspelt


@pytest.mark.parametrize(
    ("kind", "count"), [("audio", 70), ("json", 300), ("cue", 200), ("csv", 200), ("toml", 100), ("project", 100)]
)
def test_damaged_files_give_the_readers_own_error_or_none(kind, count, tmp_path, capsys):
    fuzz.run(kind, 0, count, tmp_path)
    assert capsys.readouterr().out.split() == [str(i) for i in range(count)]
    assert signal.alarm(0) == 0, "an alarm is left that would end whatever comes next"


@pytest.mark.parametrize("name", readers.READERS)
def test_the_files_that_are_damaged_are_valid_before(name, tmp_path):
    (text,) = (files[name] for files in readers.VALID.values() if name in files)
    if name in ("manifest.json", "run.json"):  # hashes and moments are of real records
        return
    (tmp_path / name).write_text(text)
    readers.READERS[name](tmp_path / name)


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")
def test_hostile_archives_write_nothing_outside(tmp_path):
    assert all(archives.survives(rng_for(0, "archives", i), tmp_path / "deep" / "inside") for i in range(10))


@pytest.mark.parametrize("damage", [damaged, misspelt])
def test_damage_changes_a_file_and_is_always_the_same(damage):
    data = b'{"a": 5, "b": [1.5, "text"]}\n' * 30
    files = [damage(data, rng_for(0, "damage", i)) for i in range(20)]
    assert sum(one != data for one in files) >= 18
    assert files == [damage(data, rng_for(0, "damage", i)) for i in range(20)]
