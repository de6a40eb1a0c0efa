import subprocess
import sys
from pathlib import Path

import pytest

from djnet.errors import UserError
from experiments.configs import EXPERIMENTS
from experiments.reproduce import SEEDED, Job, Training, jobs, train_all


def test_every_row_is_trained_and_equal_cuts_in_all_protocols():
    found = jobs(list(EXPERIMENTS), seeds=3)
    assert {item.experiment for item in found} == set(EXPERIMENTS)
    overlapping = {item.experiment for item in found if item.protocol == "overlapping"}
    assert {name for name in EXPERIMENTS if name.startswith("table2/")} <= overlapping
    trimmed = {item.experiment for item in found if item.protocol == "trimmed"}
    assert trimmed == {"table4/fixed", "table4/downbeat"} <= overlapping
    assert [item for item in found if item.seed == 2] == [
        Job(name, "centred", 2) for name in EXPERIMENTS if name in SEEDED
    ]


def test_a_dry_run_says_what_is_missing_and_trains_nothing(records, tmp_path):
    command = [sys.executable, "-m", "experiments.reproduce", f"--data={records.folder}", f"--runs={tmp_path}"]
    done = subprocess.run([*command, "--dry_run", "--only=table5"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "table5/stride2" in done.stdout and "8 runs to train" in done.stdout
    assert list(tmp_path.iterdir()) == []
    more = [*command, "--dry_run", "--only=more_music"]
    done = subprocess.run(more, capture_output=True, text=True)
    assert "needs records of pop909 (rendered) too (--also)" in done.stdout and "0 runs to train" in done.stdout
    done = subprocess.run([*command, "--only=table9"], capture_output=True, text=True)
    assert done.returncode == 2 and "no experiment begins so" in done.stderr


PASS = "import sys; open(sys.argv[1] + '/history', 'a').write('x')"


def _epochs(folder: Path) -> int:
    history = folder / "history"
    return len(history.read_text()) if history.exists() else 0


def test_all_trainings_run_also_with_more_of_them_than_places(tmp_path):
    folders = [tmp_path / name for name in "abc"]
    train_all([Training([sys.executable, "-c", PASS, str(f)], f, 0, 1) for f in folders], 2, _epochs)
    assert [_epochs(folder) for folder in folders] == [1, 1, 1]


def test_a_training_that_fails_ends_the_others_and_its_last_words_are_told(tmp_path):
    fails = [sys.executable, "-c", "print('epoch 1'); raise SystemExit('The disk is full.')"]
    waits = [sys.executable, "-c", "import time; time.sleep(600)"]
    trainings = [Training(waits, tmp_path / "waits", 0, 1), Training(fails, tmp_path / "fails", 0, 1)]
    with pytest.raises(UserError, match=r"fails ended with code 1: The disk is full\. The same command goes on"):
        train_all([*trainings, Training(waits, tmp_path / "never", 0, 1)], 2, _epochs)
    assert not (tmp_path / "never").exists()
