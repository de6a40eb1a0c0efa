import json

import pandas as pd

from experiments.configs import Run
from experiments.plots import learning


def _write_run(runs, name, records, epochs, finished=True, **values):
    folder = runs / "synthetic" / name
    folder.mkdir(parents=True)
    facts = {"run": Run("sen", epochs=epochs, **values).to_json(), "records": records, "finished": finished}
    facts["corpus"] = {"name": "synthetic"}
    (folder / "run.json").write_text(json.dumps(facts), encoding="ascii")
    pd.DataFrame({"epoch": range(epochs), "valid_global": 0.5, "pairs_per_second": 1}).to_csv(
        folder / "history.csv", index=False
    )


def _lengths(history):
    return history.groupby(["experiment", "protocol"]).size().to_dict()


def test_what_is_kept_are_finished_runs_on_these_records_the_longest_of_each(records, tmp_path):
    for epochs, finished, of in ((1, True, records.origin), (2, True, records.origin), (3, False, records.origin)):
        _write_run(tmp_path, str(epochs), of, epochs, finished)
    _write_run(tmp_path, "other", "other", 4)
    history = learning.histories(records, tmp_path)
    assert _lengths(history) == {("table2/sen", Run().protocol): 2}
    assert "pairs_per_second" not in history and set(history.corpus) == {"synthetic"}


def test_a_network_that_is_gone_stays_and_one_that_is_trained_anew_is_replaced(records, tmp_path):
    path = tmp_path / "results" / "learning.csv"
    assert learning.keep(path, learning.histories(records, tmp_path)).empty and not path.exists()
    _write_run(tmp_path / "before", "sen", records.origin, 2)
    _write_run(tmp_path / "before", "sen overlapping", records.origin, 2, protocol="overlapping")
    learning.keep(path, learning.histories(records, tmp_path / "before"))
    _write_run(tmp_path / "after", "sen", records.origin, 3)
    learning.keep(path, learning.histories(records, tmp_path / "after"))
    lengths = {("table2/sen", Run().protocol): 3, ("table2/sen", "overlapping"): 2}
    assert _lengths(learning.read(path)) == lengths
