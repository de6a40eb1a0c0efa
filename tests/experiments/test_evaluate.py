import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest

import djnet
from djnet import scoring
from djnet.corpora import Corpus
from djnet.cuts import PROTOCOLS
from djnet.networks.models import build
from djnet.puzzles import jigsaws
from experiments import evaluation, tables
from experiments.checkpoints import run_folder
from experiments.configs import EXPERIMENTS, experiment
from experiments.evaluation import Evaluation, TrainedNetwork
from experiments.trainer import train
from preprocessing import make_medleys
from tests.djnet.networks.test_models import TINY
from tests.djnet.networks.test_release import random_variables, write

# Not in the paper.
OURS = (*tables.REFERENCES, tables.VARIANT, tables.WIDE, tables.MEAN, tables.RANDOM_GAP, *tables.MORE_MUSIC)


@pytest.fixture(scope="module")
def runs(records, tmp_path_factory):
    """Two short trainings: enough to play with."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("table2/sen", "table2/tsn"):
        run = experiment(name, epochs=1, batch_clips=4)
        train(run, records, run_folder(folder, records, run), show_progress=False)
    return folder


@pytest.fixture(scope="module")
def recordings(songs: Corpus, records, tmp_path_factory):
    """Songs with their sections, and mixes: folders as `make rwc` and `make mixes` leave them."""
    folder = tmp_path_factory.mktemp("recordings")
    for track in songs.tracks[:4]:
        path = Path(track.path)
        (folder / path.name).symlink_to(path)
        (folder / f"{path.stem}.csv").symlink_to(path.with_name(f"{path.stem}.sections.csv"))
    paths = {track.id: track.path for track in songs.tracks}
    medleys = tmp_path_factory.mktemp("medleys")
    clips = {clip.track: clip for split in ("train", "valid", "test") for clip in records.read_clips(split)}
    sources = [make_medleys.MixableClip(name, paths[name], clip.start, clip.beats) for name, clip in clips.items()]
    for number in range(2):
        make_medleys.make(number, sources[number : number + 7], medleys)
    return folder, medleys


def _run(*flags: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "experiments.evaluate", *flags], capture_output=True, text=True, timeout=300
    )


def test_three_games_from_records_to_tables_and_a_second_run_the_same(records, runs, recordings, tmp_path):
    """The whole chain by its commands: tables 2 and 4, again, from predictions alone, and compared."""
    sequencing, medleys = recordings
    flags = [f"--data={records.folder}", f"--runs={runs}", f"--sequencing={sequencing}", f"--medleys={medleys}"]
    for output in ("one", "two"):
        done = _run(*flags, f"--output={tmp_path / output}")
        assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "one" / "table2.csv").set_index("method")
    networks = ["sn", "ccsn", "cin", "tsn", "opn", "sen", "sen (greedy)", "sen (likeliest)"]
    networks += ["sen, two matrices", "sen, two matrices, wide", "sen, two matrices, mean of three seeds"]
    networks += ["sen, more music", "sen, two matrices, more music"]
    assert list(table.index) == ["random", "continuity", "click", *networks]
    played = table[table.reason.isna()]
    assert set(played.index) == {"random", "continuity", "click", "tsn", "sen", "sen (greedy)", "sen (likeliest)"}
    assert (played.puzzles == records.clips("test")).all()
    assert (played.global_low <= played["global"]).all() and (played["global"] <= played.global_high).all()
    assert (played["global"] <= played.pairwise + 1e-9).all()
    assert table.loc["tsn", "versus"] == "sen fixed" and 0 <= table.loc["tsn", "p_value"] <= 1
    missing = table[table.reason.notna()]
    assert missing["global"].isna().all()
    assert missing.reason.str.startswith("no finished run: python -m experiments.train --experiment=").all()
    assert table.loc["sen, more music", "reason"].endswith(" --also=FOLDER (records of pop909 (rendered))")
    assert table.loc["sen", "paper_global"] == 0.994 and table.loc["sen", "corpus"] == "synthetic"
    assert played.tracks.nunique() == 1 and (played.tracks < played.puzzles).all()
    assert (played.p_mcnemar.dropna() <= 1).all() and played.global_by_group.notna().all()
    assert "Table 2" in done.stdout and "0.996 (0.994)" in done.stdout

    games = pd.read_csv(tmp_path / "one" / "table4.csv").set_index(["game", "method", "segmentation"])
    assert games.loc[("sequencing", "sen", "fixed"), "puzzles"] == 4
    assert games.loc[("medley", "sen", "fixed"), ["puzzles", "n"]].tolist() == [2, 7]
    assert "no finished run" in games.loc[("sequencing", "sen", "downbeat"), "reason"]
    packages = pd.read_csv(tmp_path / "one" / "packages.csv")
    jigsaws = pd.read_csv(tmp_path / "one" / "table3.csv").query("method == 'sen' and segmentation == 'fixed'")
    assert set(jigsaws.epochs) == {1} and set(jigsaws.differs) == {"epochs 1"} and jigsaws.run.nunique() == 1
    for n, puzzles, solved in zip(jigsaws.n, jigsaws.puzzles, jigsaws["global"], strict=True):
        if len(own := packages[packages.n == n]):
            assert own.puzzles.sum() == puzzles
            assert (own.puzzles * own.sen).sum() / puzzles == pytest.approx(solved, abs=1e-3)
    assert set(packages.n) == {3, 8}
    songs = pd.read_csv(tmp_path / "one" / "sequencing_errors.csv")
    assert len(songs) == 4 and songs.right.str.startswith("I-V").all()
    assert set(songs.seed) == {0} and songs.commit.notna().all() and songs.trained_on.notna().all()
    assert "4 songs" in (tmp_path / "one" / "sequencing_errors.txt").read_text()

    again = _run(*flags, f"--output={tmp_path / 'one'}", "--recompute")
    assert again.returncode == 0, again.stderr
    for number in "2345":
        one, two = ((tmp_path / output / f"table{number}.csv").read_text() for output in ("one", "two"))
        assert pd.read_csv(tmp_path / "one" / f"table{number}.csv")["global"].notna().any()
        if number != "5":  # what has no predictions says so
            assert [line.split(",no ")[0] for line in one.splitlines()] == [
                line.split(",no ")[0] for line in two.splitlines()
            ]
    before = (tmp_path / "two" / "table2.csv").read_text()
    other_seed = _run(*flags, f"--output={tmp_path / 'two'}", "--table=2", "--seed=1")
    assert other_seed.returncode == 0 and "no finished run" in other_seed.stdout, other_seed.stderr
    assert (tmp_path / "two" / "table2.csv").read_text() == before  # no run has that seed
    tables_to_compare = [str(tmp_path / output / "table4.csv") for output in ("two", "one")]
    compared = subprocess.run(
        [sys.executable, "-m", "experiments.compare", *tables_to_compare], capture_output=True, text=True
    )
    assert compared.returncode == 0 and "0 worse" in compared.stdout, compared.stdout + compared.stderr


def test_predictions_of_another_run_are_not_taken(records, runs, tmp_path):
    cells = [cell for cell in tables.CELLS["2"] if cell.method == "sen"]
    settings = (records, runs, "compact", "centred", 0)
    (row,) = Evaluation(*settings, 4, answers=tmp_path).play(cells)
    assert Evaluation(*settings, 4, answers=tmp_path, recompute=True).play(cells)[0] == row
    (refused,) = Evaluation(*settings, 3, answers=tmp_path, recompute=True).play(cells)
    assert "holds predictions of another run" in refused["reason"] and refused["global"] == ""


def test_a_rerun_replaces_its_own_rows_only(tmp_path):
    row = dict.fromkeys(tables.KEY, "x") | {"global": 0.5, "reason": ""}
    tables.write(tmp_path / "t.csv", [row])
    tables.write(tmp_path / "t.csv", [row | {"seed": "y", "global": 0.6}])
    tables.write(tmp_path / "t.csv", [row | {"global": 0.7}])
    found = pd.read_csv(tmp_path / "t.csv")
    assert list(zip(found.seed, found["global"], strict=True)) == [("x", 0.7), ("y", 0.6)]


def test_another_training_never_replaces_a_row(tmp_path):
    row = dict.fromkeys(tables.KEY, "x") | {"global": 0.5, "reason": ""}
    tables.write(tmp_path / "t.csv", [row, row | {"run": "y", "global": 0.6}])
    assert tables.read(tmp_path / "t.csv")["global"].tolist() == ["0.5", "0.6"]


def test_rows_of_the_first_version_stay_readable(tmp_path):
    (tmp_path / "t.csv").write_text("game,method,protocol,passes\njigsaw,sen,isolated,40\n")
    (row,) = tables.read(tmp_path / "t.csv").to_dict("records")
    assert row == {"game": "jigsaw", "method": "sen", "protocol": "trimmed", "epochs": "40", "run": ""}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_references_play_every_game_in_every_protocol(records, recordings, protocol):
    sequencing, medleys = recordings
    folders = {"sequencing": sequencing, "medley": medleys}
    cells = [cell for cell in tables.CELLS["4"] if cell.method in tables.REFERENCES]
    rows = Evaluation(records, Path("nowhere"), protocol=protocol, limit=3, recordings=folders).play(cells)
    assert len(rows) == 12 and all(row["reason"] == "" and row["protocol"] == protocol for row in rows)


def test_a_malformed_run_is_named_and_left_out(records, runs, tmp_path, caplog):
    shutil.copytree(runs, tmp_path / "runs")
    for name, text in (("broken", "{"), ("list", "[]"), ("empty", "{}")):
        folder = tmp_path / "runs" / "music" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(text)
    cells = [cell for cell in tables.CELLS["2"] if cell.method == "sen"]
    assert Evaluation(records, tmp_path / "runs", limit=3).play(cells)[0]["reason"] == ""
    assert all(f"music/{name}/run.json is damaged (" in caplog.text for name in ("broken", "list", "empty"))


def test_a_run_that_is_gone_does_not_undo_its_row(tmp_path):
    played = dict.fromkeys(tables.KEY, "x") | {"global": 0.5, "reason": ""}
    empty = played | {"global": "", "reason": "no finished run"}
    tables.write(tmp_path / "t.csv", [played, empty | {"seed": "y"}])
    tables.write(tmp_path / "t.csv", [empty, empty | {"seed": "y", "reason": "still none"}])
    found = tables.read(tmp_path / "t.csv")
    assert found["global"].tolist() == ["0.5", ""] and found.reason.tolist() == ["", "still none"]


@pytest.mark.parametrize("change", [{"records": "0" * 64}, {"finished": False}])
def test_runs_on_other_music_and_unfinished_runs_are_not_used(records, runs, tmp_path, change):
    (found,) = runs.glob("*/sen-*")
    other = tmp_path / "music" / found.name
    shutil.copytree(found, other)
    cells = [cell for cell in tables.CELLS["2"] if cell.method == "sen"]
    assert Evaluation(records, tmp_path, limit=5).play(cells)[0]["reason"] == ""
    facts = json.loads((found / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(facts | change))
    (row,) = Evaluation(records, tmp_path, limit=5).play(cells)
    assert "no finished run" in row["reason"] and row["global"] == ""


def test_shipped_weights_play_where_nothing_was_trained(records, runs, tmp_path, monkeypatch):
    (found,) = runs.glob("*/sen-*")
    cells = [cell for cell in tables.CELLS["2"] if cell.method == "sen"]
    monkeypatch.setattr(evaluation, "WEIGHTS", found.parent)
    (shipped,), (own,) = (Evaluation(records, folder, limit=5).play(cells) for folder in (tmp_path, runs))
    assert shipped == own and shipped["reason"] == ""


def test_the_authors_checkpoint_plays_with_its_own_features(records, tmp_path):
    """The same puzzles, but a Hann window and the authors' mean and deviation: what `djnet.load` scores of them."""
    game = Evaluation(records, tmp_path, limit=1, answers=tmp_path / "predictions")
    name = game.add_network(str(write(tmp_path, random_variables())))
    cells = [cell for cell in tables.CELLS["3"] if (cell.segmentation, cell.n, cell.method) == ("fixed", 8, "random")]
    reference, row = game.play(tables.with_network(cells, name))
    assert (row["method"], row["preset"], row["trained_on"]) == ("sen, release", "release", "the authors' songs")
    assert row["reason"] == "" and len(row["run"]) == 8 and list(row) == list(reference)
    ((_, answer),) = ((cell, played.answers[0]) for cell, played in game.played.items() if cell.method == name)
    (puzzle,) = jigsaws(records, "test", "fixed", 8, limit=1, window="hann")
    assert answer.scores is not None
    assert np.allclose(answer.scores, djnet.load(tmp_path).scores(puzzle.fragments), atol=1e-5)
    assert answer.truth == next(jigsaws(records, "test", "fixed", 8)).truth


def test_any_network_can_play_besides(records, runs, tmp_path):
    (folder,) = runs.glob("*/sen-*")
    flags = [f"--data={records.folder}", f"--runs={runs}", f"--output={tmp_path}", "--table=2", "--puzzles=3"]
    done = _run(*flags, f"--network={folder}")
    assert done.returncode == 0, done.stderr
    table = tables.read(tmp_path / "table2.csv").set_index("method")
    same = ["pairwise", "global", "run", "trained_on", "epochs", "seed"]
    assert table.loc[folder.name, same].tolist() == table.loc["sen", same].tolist()
    done = _run(*flags, f"--network={tmp_path}")
    assert done.returncode == 2 and "is neither a network of the package" in done.stderr


def test_recordings_that_cannot_be_used(records, runs, tmp_path, write_tone):
    write_tone(tmp_path / "song.wav", seconds=8)
    flags = [f"--data={records.folder}", f"--runs={runs}", f"--output={tmp_path / 'out'}", "--table=4"]
    for text, said in (
        (None, "song.wav has no annotation beside it"),
        ("start,end,label\n0,4,a\n3,8,b\n", "song.csv, line 3: begins at 3 s, before the section above it ends"),
        ("start,end,label\n0,4,a\n4,80,b\n", "song.csv: the part at 4 s lies beyond the end"),
    ):
        if text is not None:
            (tmp_path / "song.csv").write_text(text)
        done = _run(*flags, f"--sequencing={tmp_path}")
        assert done.returncode == 2 and said in done.stderr.splitlines()[-1], done.stderr
        assert "Traceback" not in done.stderr and "puzzle" not in done.stderr  # nothing was played
    done = _run(*flags, f"--medleys={tmp_path / 'nowhere'}")
    assert done.returncode == 2 and "nowhere: there is no such folder" in done.stderr


def test_every_cell_names_an_experiment_and_the_papers_value():
    for table, cells in tables.CELLS.items():
        for cell in cells:
            assert not cell.experiment or cell.experiment in EXPERIMENTS
            ours = not table.isdigit() or cell.method in OURS or "(" in cell.method
            ours |= table == "4" and cell.method in ("sn", "cin")  # the paper lets SEN alone play all games
            assert (cell.paper is None) == ours


@pytest.mark.parametrize("window", [0.0, 0.7, 4.0])  # of 4 s: longer than some fragments, which are padded
@pytest.mark.parametrize("name", ["sen", "sn", "cin", "ccsn"])
def test_scores_of_many_puzzles_are_those_of_the_pair_model(records, name, window):
    # SN's vectors are longer than its window.
    model = build(name, "compact", window_seconds=window, **(TINY | {"tower": (8, 8, 64)}))
    assert isinstance(model, keras.Model)
    puzzles = list(jigsaws(records, "test", "downbeat", 4, limit=3))
    found = list(scoring.score_puzzles(model, puzzles, records.mean, records.std))
    for puzzle, scores in zip(puzzles, found, strict=True):
        a, b = (((piece - records.mean) / records.std)[None] for piece in puzzle.fragments[:2])
        assert scores[0, 1] == pytest.approx(float(model([a, b])[0]), abs=1e-5)


def test_the_mean_of_several_seeds_plays_with_the_mean_of_their_scores(records, tmp_path, monkeypatch):
    player = Evaluation(records, tmp_path)
    models = [SimpleNamespace(name="sen", seed=seed) for seed in (0, 1, 2)]
    networks: list[Any] = [TrainedNetwork(model, str(model.seed), {}) for model in models]
    monkeypatch.setattr(player, "network", lambda name, seed: networks[seed])

    def scores(model, puzzles, mean, std):
        for puzzle in puzzles:
            yield np.full((len(puzzle.truth),) * 2, float(model.seed), np.float32)

    monkeypatch.setattr(scoring, "score_puzzles", scores)
    cell = next(cell for cell in tables.CELLS["2"] if cell.seeds)
    (row,) = player.play([cell])
    assert row["seed"] == "0+1+2" and not row["reason"]
    assert all(np.all(answer.scores == 1.0) for answer in player.played[cell].answers)
    networks[2] = "no finished run"
    assert player.play([cell])[0]["reason"] == "no finished run"
