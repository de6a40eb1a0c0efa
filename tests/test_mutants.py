from pathlib import Path

import pytest

from tests import tables
from tests.mutants import EQUIVALENT, MUTANTS, ROOT


@pytest.mark.parametrize("file", MUTANTS)
def test_every_mutant_changes_one_place_of_the_program_as_it_is_now(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    tests, lines = MUTANTS[file]
    assert all((ROOT / name).is_file() for name in tests.split())
    assert [old for old, new in lines if text.count(old) != 1 or old == new] == []


def test_there_are_enough_mutants_and_equivalent_ones_have_a_reason():
    assert sum(len(lines) for _, lines in MUTANTS.values()) >= 60
    listed = {(file, new) for file, (_, lines) in MUTANTS.items() for _, new in lines}
    assert EQUIVALENT.keys() <= listed and all(EQUIVALENT.values())


def test_a_row_of_a_table_replaces_its_older_self_only(tmp_path: Path):
    path = tmp_path / "results" / "mutants.csv"
    tables.replace_rows(path, [{"file": "b.py", "killed": 1}, {"file": "a.py", "killed": 2}])
    tables.replace_rows(path, [{"file": "b.py", "killed": 3}])
    assert path.read_text() == "file,killed\na.py,2\nb.py,3\n"
