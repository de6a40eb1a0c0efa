import subprocess
import sys

from experiments.configs import EXPERIMENTS
from experiments.reproduce import SEEDED, Job, jobs


def test_every_row_is_trained_and_equal_cuts_in_both_protocols():
    found = jobs(list(EXPERIMENTS), seeds=3)
    assert {item.experiment for item in found} == set(EXPERIMENTS)
    overlapping = {item.experiment for item in found if item.protocol == "overlapping"}
    assert {name for name in EXPERIMENTS if name.startswith("table2/")} <= overlapping
    assert all(EXPERIMENTS[name].segmentation == "fixed" for name in overlapping)
    assert [item for item in found if item.seed == 2] == [
        Job(name, "isolated", 2) for name in EXPERIMENTS if name in SEEDED
    ]


def test_a_dry_run_says_what_is_missing_and_trains_nothing(records, tmp_path):
    command = [sys.executable, "-m", "experiments.reproduce", f"--data={records.folder}", f"--runs={tmp_path}"]
    done = subprocess.run([*command, "--dry_run", "--only=table5"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "table5/stride2" in done.stdout and "8 runs to train" in done.stdout
    assert list(tmp_path.iterdir()) == []
    done = subprocess.run([*command, "--only=table9"], capture_output=True, text=True)
    assert done.returncode == 2 and "no experiment begins so" in done.stderr
