import subprocess
import sys

import pandas as pd
import pytest

from experiments.configs import experiment
from experiments.study import BASE, VARIANTS, write


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_possible_run_and_only_the_base_changes_nothing(name):
    assert (experiment(BASE, **VARIANTS[name]) == experiment(BASE)) == (name == "base")


def test_a_study_says_what_a_variant_reached(records, tmp_path):
    """With less music for as many more epochs."""
    places = [f"--data={records.folder}", f"--runs={tmp_path / 'runs'}", f"--output={tmp_path}"]
    command = [sys.executable, "-m", "experiments.study", *places, "--epochs=1", f"--other={records.folder}"]
    done = subprocess.run([*command, "--only=half of the music"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (row,) = pd.read_csv(tmp_path / "study.csv").to_dict("records")
    assert row["variant"] == "half of the music" and row["epochs"] == 2 and 0 <= row["valid_global"] <= 1
    assert row[records.content["corpus"]["name"]] == row["valid_global"] and 0 <= row["valid_global_6"] <= 1
    assert row["clips"] == -(-records.clips("train") // 2)
    done = subprocess.run([*command, "--only=more music"], capture_output=True, text=True)
    assert "more music is left out: it needs records of pop909 (rendered) (--also)" in done.stdout
    done = subprocess.run([*command, "--only=deeper"], capture_output=True, text=True)
    assert done.returncode == 2 and "no variant 'deeper'" in done.stderr


def test_a_row_is_replaced_and_not_doubled(tmp_path):
    row = {"variant": "base", "epochs": 8, "records": "12345678", "seed": 0}
    for name, score in (("base", 0.1), ("adam", 0.2), ("base", 0.3)):
        write(tmp_path / "study.csv", row | {"variant": name, "valid_global": score})
    found = pd.read_csv(tmp_path / "study.csv")
    assert list(zip(found["variant"], found["valid_global"], strict=True)) == [("adam", 0.2), ("base", 0.3)]
