"""Which of several trained runs a table shows."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from djnet.errors import UserError
from djnet.files import write_json
from experiments import evaluation
from experiments.configs import Run, experiment, read_run


@pytest.fixture
def choose(tmp_path, monkeypatch):
    """The epochs of the run that is chosen for a row: `choose([(run, finished), ...])`."""

    def chosen(runs: list[tuple[Run, bool]]) -> int | None:
        for run, finished in runs:
            folder = tmp_path / "music" / run.name
            folder.mkdir(parents=True)
            facts = {"run": run.to_json(), "records": "these", "corpus": {"name": ""}, "finished": finished}
            write_json(folder / "run.json", facts | {"commit": ""})
            (folder / "best.keras").touch()
        manifest: Any = SimpleNamespace(origin="these", folder=tmp_path)
        network = evaluation.Evaluation(manifest, tmp_path).network("table2/sen")
        return network.facts["epochs"] if isinstance(network, evaluation.TrainedNetwork) else None

    monkeypatch.setattr(evaluation, "read_model", lambda path: None)
    return chosen


def test_the_published_run_comes_first_then_the_one_trained_longest(choose):
    published = experiment("table2/sen")
    short, longer = (replace(published, epochs=published.epochs + more) for more in (1, 5))
    assert choose([(longer, True), (short, True)]) == longer.epochs
    assert choose([(published, True)]) == published.epochs


def test_a_run_that_is_not_finished_is_not_chosen(choose):
    published = experiment("table2/sen")
    assert choose([(published, False), (replace(published, epochs=1), True)]) == 1


def test_a_finished_run_without_weights_is_said_and_not_the_end(tmp_path):
    run = experiment("table2/sen")
    folder = tmp_path / "music" / run.name
    folder.mkdir(parents=True)
    facts = {"run": run.to_json(), "records": "these", "corpus": {"name": ""}, "finished": True, "commit": ""}
    write_json(folder / "run.json", facts)
    manifest: Any = SimpleNamespace(origin="these", folder=tmp_path)
    assert "best.keras is not loaded" in str(evaluation.Evaluation(manifest, tmp_path).network("table2/sen"))


@pytest.mark.parametrize(
    "change",
    [{"n": 10**9}, {"n": 0}, {"also": 5}, {"also": [5]}, {"gap_seconds": 10**400}, {"epochs": 2.5}, {"seed": "0"}],
)
def test_a_run_of_impossible_values_is_named(tmp_path, change):
    facts = {"run": change, "records": "", "corpus": {"name": ""}, "finished": True, "commit": ""}
    write_json(tmp_path / "run.json", facts)
    with pytest.raises(UserError, match=r"run\.json is not the description of a run"):
        read_run(tmp_path / "run.json")
