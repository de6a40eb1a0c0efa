"""A little of what `make stress` does for ten minutes."""

import shutil
import signal

import pytest

from djnet.rng import rng_for
from tests.faults import archives, fuzz
from tests.faults.fuzz import damaged


@pytest.mark.parametrize(("kind", "count"), [("audio", 70), ("annotations", 100), ("cues", 100), ("state", 400)])
def test_damaged_files_give_the_readers_own_error_or_none(kind, count, tmp_path, capsys):
    fuzz.run(kind, 0, count, tmp_path)
    assert capsys.readouterr().out.split() == [str(i) for i in range(count)]
    assert signal.alarm(0) == 0, "an alarm is left that would end whatever comes next"


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")
def test_hostile_archives_write_nothing_outside(tmp_path):
    assert all(archives.survives(rng_for(0, "archives", i), tmp_path / "deep" / "inside") for i in range(10))


def test_damage_changes_a_file_and_is_always_the_same():
    data = bytes(range(256)) * 4
    found = [damaged(data, rng_for(0, "damage", i)) for i in range(20)]
    assert sum(one != data for one in found) >= 18
    assert found == [damaged(data, rng_for(0, "damage", i)) for i in range(20)]
