import subprocess
import sys

import pandas as pd
import pytest

from experiments.configs import experiment
from experiments.study import BASE, VARIANTS


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_possible_run_and_only_the_base_changes_nothing(name):
    assert (experiment(BASE, **VARIANTS[name]) == experiment(BASE)) == (name == "base")


def test_a_study_writes_what_each_variant_reached_and_goes_on(records, tmp_path):
    """A second call trains nothing again, and a row is replaced, not doubled."""
    places = [f"--data={records.folder}", f"--runs={tmp_path / 'runs'}", f"--output={tmp_path}"]
    command = [sys.executable, "-m", "experiments.study", *places, "--epochs=1"]
    for _ in range(2):
        done = subprocess.run([*command, "--only=half as wide"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    row = pd.read_csv(tmp_path / "study.csv").to_dict("records")
    assert len(row) == 1 and row[0]["variant"] == "half as wide" and 0 <= row[0]["valid_global"] <= 1
    done = subprocess.run([*command, "--only=deeper"], capture_output=True, text=True)
    assert done.returncode == 2 and "no variant 'deeper'" in done.stderr
