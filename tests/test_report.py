import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from djnet.records import Clip
from experiments.report import predictions, puzzles, results, sources, trials
from experiments.report.assembly import Places, build, load_scorer
from experiments.report.predictions import Prediction
from preprocessing.job import JobError
from tests.make_report import PLAYERS, write_csv


def _data(page: Path) -> dict:
    text = page.read_text(encoding="utf-8")
    begin = text.index('id="data">') + len('id="data">')
    return json.loads(text[begin : text.index("</script>", begin)])


def test_a_report_has_every_section_and_names_no_other_host(report):
    text = report.read_text(encoding="utf-8")
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text
    assert "<script>window.hacked" not in text
    for found in ("table2/cin", "0.994", "[0.700, 0.900]", "commit abc", "figures/puzzle.svg", "No listeners have"):
        assert found in text
    size = sum(path.stat().st_size for path in report.parent.rglob("*") if path.is_file())
    assert size < 40e6
    data = _data(report)
    names = [game["name"] for game in data["hear"]]
    assert names == ["Jigsaw, 4 pieces, cut at downbeats", "Jigsaw, 3 pieces, equal pieces"]
    for sound in {puzzle["sound"] for puzzle in data["play"]}:
        assert (report.parent / "sounds" / f"{sound}.js").exists()


def test_games_of_all_sizes_are_cut_and_answered(report):
    play = _data(report)["play"]
    assert {one["n"] for one in play if one["cut"] == "fixed"} == set(puzzles.SIZES)
    assert {one["cut"] for one in play} == {"fixed", "downbeat"}
    for one in play:
        assert len(one["cuts"]) == one["n"] + 1 and one["cuts"] == sorted(one["cuts"])
        assert sorted(one["truth"]) == sorted(one["answers"][0]["order"]) == list(range(one["n"]))
        assert np.array(one["scores"]).shape == (one["n"], one["n"])


def test_with_nothing_there_the_page_says_what_makes_it(tmp_path):
    page = build(Places(*(tmp_path / name for name in ("data", "results", "report", "medleys", "cache"))), PLAYERS)
    text = page.read_text(encoding="utf-8")
    for command in ("make evaluate", "make preprocess", "djnet medley", "python -m experiments.figures"):
        assert command in text
    assert _data(page) == {"hear": [], "play": [], "trials": None}


def test_a_second_run_keeps_its_sounds_and_removes_others(records, cache, report, tmp_path):
    """Music of one's own is not on the page unless its folder is named, and what was there before goes."""
    (tmp_path / "sounds").mkdir()
    (tmp_path / "sounds" / "old.js").touch()
    places = Places(records.folder, tmp_path / "results", tmp_path, tmp_path / "medleys", tmp_path / "no-cache")
    page = build(places, PLAYERS)
    assert list((tmp_path / "sounds").iterdir()) == []
    assert "make report AUDIO=folder" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("licence", "free"),
    [
        ("CC-BY-SA-3.0", True), ("GPL-2+", True), ("public-domain", True), ("CC0", True), ("Expat or GPL-2", True),
        ("CC-BY-NC-4.0", False), ("CC-BY-ND-3.0", False), ("see copyright file", False), ("", False),
        ("Drascula-License", False),
    ],
)  # fmt: skip
def test_only_licences_that_are_known_to_allow_it_are_published(licence, free):
    assert sources.may_be_published(licence) == free


def test_titles_come_from_tags_or_from_names(tmp_path, write_tone):
    assert sources.title_of(write_tone(tmp_path / "some_song.wav", seconds=1)) == ("some song", "")
    (tmp_path / "text.ogg").write_text("no music")
    assert sources.title_of(tmp_path / "text.ogg") == ("text", "")


def test_damaged_predictions_are_named(tmp_path):
    row = {"game": "jigsaw", "segmentation": "fixed", "n": 3, "method": "sen", "protocol": "isolated"}
    row |= {"corpus_hash": "x", "seed": 0, "puzzle": "p", "truth": "0 1 2", "order": "0 1 1", "scores": ""}
    write_csv(tmp_path / predictions.FOLDER / "a.csv", [row])
    with pytest.raises(JobError, match=r"a\.csv, line 2: '0 1 1' is not an order of '0 1 2'"):
        predictions.read(tmp_path, "x", 0)
    assert predictions.read(tmp_path, "other", 0) == {}


def test_the_best_baseline_is_another_trained_network():
    def answers(method, right):
        return [Prediction(method, str(i), (0, 1), (0, 1) if i < right else (1, 0), None) for i in range(5)]

    found = [*answers("sen", 5), *answers("sen (greedy)", 5), *answers("continuity", 4), *answers("sn", 1)]
    found += answers("cin", 3)
    assert predictions.best_baseline(found) == "cin"
    assert predictions.best_baseline(answers("sen", 5)) is None


def test_tables_that_are_none_are_named(tmp_path):
    (tmp_path / "table2.csv").write_text("a,b\n1,2,3\n")
    with pytest.raises(JobError, match=r"table2\.csv has lines with more or fewer cells"):
        results.tables(tmp_path)


def test_a_network_that_is_not_there_is_named(tmp_path):
    with pytest.raises(JobError, match="nothing is neither a network"):
        load_scorer("nothing")


def _nearest(mels):
    levels = np.array([mel.mean() for mel in mels])
    return 1.0 / (1.0 + np.abs(levels[:, None] - levels[None]))


def _piece(track, level=0.0, bpm=120.0, key="C"):
    return trials.Piece(track, "s", 0.0, 8.0, np.full((9, 128), level, np.float32), bpm, key)


def test_trials_compare_orders_that_differ_over_pieces_of_different_tracks():
    pieces = [_piece(f"track{i}", i, 80 + 10 * i, "CGDAE"[i % 5]) for i in range(9)]
    found = trials.listening_test(pieces, _nearest)
    assert found is not None and found == trials.listening_test(pieces, _nearest)
    assert 9 <= len(found["trials"]) <= trials.TRIALS
    for trial in found["trials"]:
        assert trial["first"]["order"] != trial["second"]["order"]
        assert sorted(trial["first"]["order"]) == list(range(trials.PIECES))
    assert {trial["first"]["name"] for trial in found["trials"]} == {"sen", "random"}
    assert trials.listening_test(pieces[:4], _nearest) is None


def test_tempo_and_key_bring_like_pieces_together():
    pieces = [_piece("a", bpm=120, key="C"), _piece("b", bpm=60, key="Am"), _piece("c", bpm=90, key="Gb")]
    like = trials.likeness(pieces)
    assert like[0, 1] == pytest.approx(1.0)  # half the tempo and the relative key are the same
    assert like[0, 2] < 0


def test_cuts_of_sizes_that_are_not_recorded_follow_the_same_rules():
    beats = np.stack([np.arange(0, 30, 0.5), np.tile([1, 2, 3, 4], 15)], axis=1).astype(np.float32)
    clip = Clip("x", "t", "g", "test", 0.0, 129, np.zeros((1290, 128), np.float16), beats)
    equal = puzzles.cuts_of(clip, "fixed", 5)
    assert equal is not None and equal[0] == 129 and np.ptp(np.diff(equal)) <= 1
    cuts = puzzles.cuts_of(clip, "downbeat", 7)
    assert cuts is not None and len(cuts) == 8
    bars = np.asarray(puzzles.seconds_of(cuts)) / 2.0
    assert np.allclose(bars, np.round(bars), atol=0.02)
    assert puzzles.cuts_of(Clip("x", "t", "g", "test", 0.0, 0, clip.mel), "downbeat", 5) is None


def test_the_command_says_what_is_wrong(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "experiments.report", f"--audio={tmp_path / 'none'}"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "there is no such folder" in done.stderr and "Traceback" not in done.stderr
