import json
import shutil
import subprocess
import sys

import keras
import numpy as np
import pandas as pd
import pytest

from djnet import scoring
from djnet.games import jigsaws
from djnet.models import build
from experiments import tables
from experiments.checkpoints import run_folder
from experiments.configs import EXPERIMENTS, experiment
from experiments.training import train
from tests.test_models import TINY


@pytest.fixture(scope="module")
def runs(records, tmp_path_factory):
    """Two short trainings: enough to play with."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("table2/sen", "table2/tsn"):
        run = experiment(name, epochs=1, batch_clips=4)
        train(run, records, run_folder(folder, records, run), show_progress=False)
    return folder


def _run(*flags: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "experiments.evaluate", *flags], capture_output=True, text=True, timeout=300
    )


def test_the_command_writes_a_table_and_a_second_run_the_same(records, runs, tmp_path):
    flags = [f"--data={records.folder}", f"--runs={runs}", f"--output={tmp_path}", "--table=2"]
    done = _run(*flags)
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "table2.csv").set_index("method")
    assert list(table.index) == ["random", "continuity", "sn", "ccsn", "cin", "tsn", "opn", "sen", "sen (greedy)"]
    played = table[table.reason.isna()]
    assert set(played.index) == {"random", "continuity", "tsn", "sen", "sen (greedy)"}
    assert (played.puzzles == records.clips("test")).all()
    assert (played.global_low <= played["global"]).all() and (played["global"] <= played.global_high).all()
    assert (played["global"] <= played.pairwise + 1e-9).all()
    missing = table[table.reason.notna()]
    assert missing["global"].isna().all()
    assert missing.reason.str.startswith("no finished run: python -m experiments.train --experiment=table2/").all()
    assert table.loc["sen", "paper_global"] == 0.994 and table.loc["sen", "corpus"] == "synthetic"
    assert "Table 2" in done.stdout and "0.996 (0.994)" in done.stdout
    before = (tmp_path / "table2.csv").read_text()
    assert _run(*flags).returncode == 0
    assert (tmp_path / "table2.csv").read_text() == before


def test_a_rerun_replaces_its_own_rows_only(tmp_path):
    row = dict.fromkeys(tables.KEY, "x") | {"global": 0.5, "reason": ""}
    tables.write(tmp_path / "t.csv", [row])
    tables.write(tmp_path / "t.csv", [row | {"seed": "y", "global": 0.6}])
    tables.write(tmp_path / "t.csv", [row | {"global": 0.7}])
    found = pd.read_csv(tmp_path / "t.csv")
    assert dict(zip(found.seed, found["global"], strict=True)) == {"y": 0.6, "x": 0.7}


@pytest.mark.parametrize("change", [{"records": "0" * 64}, {"finished": False}])
def test_runs_on_other_music_and_unfinished_runs_are_not_used(records, runs, tmp_path, change):
    (found,) = runs.glob("*/sen-*")
    other = tmp_path / "music" / found.name
    shutil.copytree(found, other)
    arena = tables.Arena(records, tmp_path, "compact", "isolated", 0, 5)
    cells = [cell for cell in tables.CELLS["2"] if cell.method == "sen"]
    assert arena.play(cells)[0]["reason"] == ""
    facts = json.loads((found / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(facts | change))
    (row,) = arena.play(cells)
    assert "no finished run" in row["reason"] and "global" not in row


def test_every_cell_names_an_experiment_and_the_papers_value():
    for cells in tables.CELLS.values():
        for cell in cells:
            assert not cell.experiment or cell.experiment in EXPERIMENTS
            assert (cell.paper is not None) == bool(cell.experiment and "greedy" not in cell.method)


def test_the_interval_holds_the_mean_and_shrinks(rng):
    for count in (50, 5_000):
        values = (rng.random(count) < 0.7).astype(float)
        low, high = tables.interval(values)
        assert low <= values.mean() <= high
        assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.21 / count), rel=0.25)


@pytest.mark.parametrize("window", [0.0, 0.7])
def test_scores_of_many_puzzles_are_those_of_the_pair_model(records, window):
    model = build("sen", "compact", window_seconds=window, **TINY)
    assert isinstance(model, keras.Model)
    puzzles = list(jigsaws(records, "test", "downbeat", 4, limit=3))
    found = list(scoring.score_puzzles(model, puzzles, records.mean, records.std))
    for puzzle, scores in zip(puzzles, found, strict=True):
        a, b = (((piece - records.mean) / records.std)[None] for piece in puzzle.fragments[:2])
        assert scores[0, 1] == pytest.approx(float(model([a, b])[0]), abs=1e-5)
