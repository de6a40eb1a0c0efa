import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from djnet.errors import UserError
from experiments import predictions, tables
from experiments.compare import compare
from experiments.predictions import Answer


def _row(method, value, half=0.02):
    edges = {"global_low": value - half, "global_high": value + half}
    return dict.fromkeys(tables.KEY, "x") | {"method": method, "global": value, "reason": ""} | edges


def _write(path, *rows):
    path.parent.mkdir(exist_ok=True)
    tables.write(path, list(rows))
    return path


def test_what_got_worse_is_found(tmp_path):
    old = _write(tmp_path / "old.csv", _row("a", 0.8), _row("b", 0.8), _row("c", 0.8), _row("gone", 0.1))
    lost = _row("c", 0.8) | {"global": "", "reason": "no finished run"}
    new = _write(tmp_path / "new.csv", _row("a", 0.6), _row("b", 0.81), lost, _row("new", 0.1))
    table, alone = compare(old, new, 0.01)
    assert dict(zip(table.method, table.verdict, strict=True)) == {"a": "WORSE", "b": "not sure", "c": "LOST"}
    assert alone == 2
    run = [sys.executable, "-m", "experiments.compare", str(old), str(new)]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 1 and "2 worse" in done.stdout


def test_the_same_puzzles_are_compared_where_they_are_known(tmp_path):
    """Ten more puzzles solved of a hundred, none lost: sure, though the intervals overlap."""
    paths = {}
    for name, solved in (("old", 50), ("new", 60)):
        row = _row("a", solved / 100, half=0.1)
        paths[name] = _write(tmp_path / name / "t.csv", row)
        key = {column: str(value) for column, value in tables.key_of(row).items()}
        answers = [Answer(str(i), (0, 1), (0, 1) if i < solved else (1, 0)) for i in range(100)]
        predictions.write(tmp_path / name / "predictions" / predictions.file_name(key), {"puzzles": "same"}, answers)
    table, _ = compare(paths["old"], paths["new"], 0.01)
    assert table.verdict.tolist() == ["better"] and float(table.p_value.item()) == pytest.approx(0.002, abs=1e-4)
    for path in paths.values():
        for predicted in (path.parent / "predictions").iterdir():
            predicted.unlink()
    assert compare(paths["old"], paths["new"], 0.01)[0].verdict.tolist() == ["not sure"]


def test_files_that_are_no_tables(tmp_path):
    good = _write(tmp_path / "good.csv", _row("a", 0.5))
    bad = tmp_path / "bad.csv"
    pd.DataFrame({"x": np.arange(2)}).to_csv(bad, index=False)
    twice = tmp_path / "twice.csv"
    pd.DataFrame([_row("a", 0.5), _row("a", 0.5)]).to_csv(twice, index=False)
    for path, said in (
        (bad, r"bad\.csv, line 1: is no table of results, it has no column 'game'"),
        (tmp_path / "none.csv", "there is no such file"),
        (twice, r"twice\.csv, line 3: stands there twice"),
    ):
        with pytest.raises(UserError, match=said):
            compare(good, path, 0.01)
    other = _write(tmp_path / "other.csv", _row("b", 0.5))
    run = [sys.executable, "-m", "experiments.compare", str(good), str(other)]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 2 and "have no row in common" in done.stderr and done.stderr.count("\n") == 1
