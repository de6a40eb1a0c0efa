import dataclasses
import html
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from djnet import audio
from djnet.corpora import TRACK_LIST
from djnet.errors import UserError
from djnet.pages import puzzles, sound
from djnet.records import Clip
from experiments import predictions, tables
from experiments.predictions import Answer
from experiments.report import answered, listening_test, music, results
from experiments.report.answered import Variant
from experiments.report.assets import Assets
from experiments.report.build import Folders, build, load_scorer
from experiments.report.music import Music
from experiments.report.recordings import TrackList
from tests import make_report
from tests.make_report import NETWORKS


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
    assert "Sequencing was not played yet on what is here. Make it: make rwc RWC=folder" in text
    names = [game["name"] for game in data["answered"]]
    assert names == ["Jigsaw, 4 pieces, cut at downbeats", "Jigsaw, 3 pieces, equal pieces"]
    for key in {puzzle["sound"] for puzzle in data["play"]}:
        assert (report.parent / "sounds" / f"{key}.js").exists()


def test_games_of_all_sizes_are_cut_and_answered(records):
    clip = next(clip for clip in records.read_clips("test") if "downbeat/8" in clip.segmentations)
    for cut, n in itertools.product(("fixed", "downbeat"), puzzles.SIZES):
        cuts = puzzles.choose_cuts(clip, cut, n)
        assert cuts is not None
        found = puzzles.to_play(clip, cut, cuts, _nearest)
        assert (found["cut"], found["n"]) == (cut, n)
        assert len(found["cuts"]) == n + 1 and found["cuts"] == sorted(found["cuts"])
        assert sorted(found["truth"]) == sorted(found["answers"][0]["order"]) == list(range(n))
        assert np.array(found["scores"]).shape == (n, n)
    assert puzzles.SIZES == (3, 4, 5, 6, 7, 8)


def test_with_nothing_there_the_page_says_what_makes_it(tmp_path):
    (tmp_path / "report" / "sounds").mkdir(parents=True)
    (tmp_path / "report" / "sounds" / "old.js").touch()
    page = build(Folders(*(tmp_path / name for name in ("data", "results", "report", "medleys"))), NETWORKS)
    text = page.read_text(encoding="utf-8")
    for command in ("make evaluate", "make preprocess", "djnet medley", "make figures"):
        assert command in text
    assert _data(page) == {"answered": [], "play": [], "listeningTest": None}
    assert list((tmp_path / "report" / "sounds").iterdir()) == []


def test_folders_that_hold_something_else_are_left_alone(tmp_path):
    (tmp_path / "figures").mkdir()
    folders = Folders(tmp_path / "data", tmp_path, tmp_path, tmp_path / "medleys")
    with pytest.raises(UserError, match="holds something else than a report"):
        build(folders, NETWORKS)
    with pytest.raises(UserError, match="where the report keeps its copies"):
        build(
            dataclasses.replace(folders, output=tmp_path / "report", medleys=tmp_path / "report" / "medleys"), NETWORKS
        )
    assert (tmp_path / "figures").is_dir()


def test_music_that_may_not_be_passed_on_is_not_on_the_page(records, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(records.folder, data)
    listed = (data / TRACK_LIST).read_text().replace("CC0-1.0", "own")
    (data / TRACK_LIST).write_text(listed)
    make_report.write_medley(tmp_path / "medleys")
    page = build(Folders(data, tmp_path / "results", tmp_path / "report", tmp_path / "medleys"), NETWORKS)
    text = page.read_text(encoding="utf-8")
    assert text.count("make report FLAGS=--own") == 4  # three sections and the medley
    assert list((tmp_path / "report" / "sounds").iterdir()) == [] and not (tmp_path / "report" / "medleys").exists()


def test_tracks_and_mixes_are_heard_as_far_as_their_licences_allow(tmp_path, write_tone):
    paths = {name: write_tone(tmp_path / f"{name}.wav", seconds=1) for name in ("free", "closed")}
    rows = [
        {"track": name, "path": str(path), "group": "album", "split": "test", "licence": licence}
        for (name, path), licence in zip(paths.items(), ("CC-BY-4.0", "see copyright file"), strict=True)
    ]
    make_report.write_csv(tmp_path / TRACK_LIST, rows)
    tracks, private = (TrackList.read(tmp_path, private) for private in (False, True))
    found = tracks.recording("free")
    assert found is not None and found.labels == {"title": "free", "credit": "album, free", "licence": "CC-BY-4.0"}
    assert tracks.recording("closed") is None and private.recording("closed") is not None
    mixed = tracks.recording_in_parts(paths["free"], ["free", "free"], {})
    assert mixed is not None and mixed.licence == "CC-BY-4.0"
    assert mixed.credit == "free; free"
    assets = Assets(tmp_path / "report")
    assets.add_sound(mixed, 0.0, 1.0)
    assert assets.credits == {"free: album, free (CC-BY-4.0)"}  # those of the tracks, each once
    assert tracks.recording_in_parts(paths["free"], ["free", "closed"], {}) is None
    assert tracks.recording_in_parts(paths["free"], ["verse"], {}) is None
    assert private.recording_in_parts(paths["free"], ["verse"], {}) is not None
    song = tracks.recording_in_parts(paths["free"], ["verse"], {"licence": "CC-BY-NC-4.0", "credit": "somebody"})
    assert song is not None and song.labels == {"title": "free", "credit": "somebody", "licence": "CC-BY-NC-4.0"}
    assert tracks.recording_in_parts(paths["free"], ["verse"], {"licence": "CC-BY-ND-4.0"}) is None
    assert (
        tracks.licence_of_file(str(paths["closed"])) == "see copyright file"
        and tracks.licence_of_file("elsewhere.mp3") == ""
    )
    with pytest.raises(UserError, match=r"tracks\.csv is missing: run make preprocess again"):
        TrackList.read(tmp_path / "nowhere")


def test_long_sounds_are_smaller_by_the_second(tmp_path):
    noise = np.random.default_rng(0).normal(0, 0.1, 61 * sound.RATE_HZ)
    soundfile.write(tmp_path / "noise.wav", noise, sound.RATE_HZ)
    short, long = (len(sound.mp3_text(tmp_path / "noise.wav", 0.0, seconds)) / seconds for seconds in (5, 61))
    assert long < 0.9 * short


def test_recordings_in_parts_become_puzzles_with_their_sound(tmp_path, write_tone):
    folder = tmp_path / "medleys"
    write_tone(folder / "mix-000.wav", seconds=9)
    make_report.write_csv(
        folder / "mix-000.csv", [{"start": 3 * i, "end": 3 * i + 3, "label": f"song {i}"} for i in range(3)]
    )
    assets = Assets(tmp_path / "report")
    (mix,) = Music(tmp_path, TrackList({}, private=True), [], {}, assets).recordings("medley")
    assert mix.cuts == [0, 3, 6, 9] and len(mix.puzzle.fragments) == 3 and mix.span == (0.0, 9.0)
    assert list(Music(tmp_path, TrackList({}), [], {}, assets).recordings("medley")) == []
    assert music.corpus_hash("medley", tmp_path) != music.corpus_hash("sequencing", tmp_path) == ""
    (folder / "mix-000.wav").unlink()
    assert music.corpus_hash("medley", tmp_path) == ""


def test_titles_come_from_tags_or_from_names(tmp_path, write_tone):
    assert audio.title_of(write_tone(tmp_path / "some_song.wav", seconds=1)) == ("some song", "")
    (tmp_path / "text.ogg").write_text("no music")
    assert audio.title_of(tmp_path / "text.ogg") == ("text", "")


def _cell(**values):
    return {"cell": dict.fromkeys(tables.KEY, "") | {"protocol": "centred", "seed": "0"} | values}


def test_answers_are_those_to_the_same_music(tmp_path):
    given = [Answer("p", (0, 1, 2), (2, 1, 0))]
    for name, about in {
        "a": _cell(game="jigsaw", segmentation="fixed", n="3", method="sen", corpus_hash="x"),
        "b": _cell(game="jigsaw", segmentation="fixed", n="3", method="cin", corpus_hash="other"),
        "c": _cell(game="jigsaw", segmentation="fixed", n="3", method="sn", corpus_hash="x", protocol="overlapping"),
        "d": _cell(game="medley", segmentation="fixed", n="7-11", method="sen", corpus_hash="y"),
        "e": _cell(game="medley", segmentation="downbeat", n="7-11", method="sen", corpus_hash="y"),
        "f": _cell(game="medley", n="7-11", method="continuity", corpus_hash="y", seed=""),
        "g": _cell(game="medley", n="7-11", method="random", corpus_hash="older mixes", seed=""),
        "h": _cell(game="medley", segmentation="downbeat", n="7-11", method="cin", corpus_hash="y", trained_on="other"),
    }.items():
        predictions.write(tmp_path / answered.FOLDER / f"{name}.csv", about, given)
    corpora = {"jigsaw": "x", "medley": "y", "sequencing": ""}
    found = answered.read_answers(tmp_path, corpora, "these records")
    assert {game.name: set(methods) for game, methods in found.items()} == {
        "Jigsaw, 3 pieces, equal pieces": {"sen"},
        "Medley, 7-11 pieces": {"sen", "continuity"},
    }
    (tmp_path / answered.FOLDER / "z.csv").write_text("no json\n")
    with pytest.raises(UserError, match=r"z\.csv is damaged .* Remove it and run: make evaluate"):
        answered.read_answers(tmp_path, corpora, "these records")


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        ({}, ["There are no answers of SEN to this music in {results}/predictions. Make them: make train evaluate"]),
        (
            {"sequencing": "sen", "jigsaw": "sen", "medley": "random"},
            [
                "Medley was not played yet on what is here. Make it: make mixes, then make evaluate report",
                "may be passed on: Sequencing, 10 pieces. For yourself: make report FLAGS=--own",
            ],
        ),
    ],
)
def test_games_that_are_not_heard_name_the_command_that_makes_them(records, tmp_path, monkeypatch, methods, said):
    variants: answered.Variants = {Variant(game, "", "10"): {method: {}} for game, method in methods.items()}
    unpublished = ["Sequencing, 10 pieces"] if variants else []
    monkeypatch.setattr(answered, "read_answers", lambda *_: variants)
    monkeypatch.setattr(answered, "answered_puzzles", lambda *_: ([], unpublished))
    monkeypatch.setattr(music, "PLAY_CLIPS", 0)
    monkeypatch.setattr(listening_test, "PIECES", 99)
    page = build(Folders(records.folder, tmp_path, tmp_path / "report", tmp_path / "medleys"), NETWORKS, private=True)
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert all(line.format(results=tmp_path) in text for line in said)
    assert "Sequencing was not played yet" not in text and "The listening test needs five recordings" in text


def test_the_best_baseline_is_another_trained_network():
    def given(right):
        return {str(i): Answer(str(i), (0, 1), (0, 1) if i < right else (1, 0)) for i in range(5)}

    found = {"sen": given(5), "sen (greedy)": given(5), "continuity": given(4), "all": given(5), "sn": given(1)}
    assert answered.best_baseline(found | {"cin": given(3)}) == "cin"
    assert answered.best_baseline({"sen": given(5), "continuity": given(4)}) is None


def test_tables_that_are_none_are_named(tmp_path):
    (tmp_path / "table2.csv").write_text("a,b\n1,2,3\n")
    with pytest.raises(UserError, match=r"table2\.csv has lines with more or fewer cells"):
        results.read_tables(tmp_path)


def test_a_network_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match="nothing is neither a network"):
        load_scorer("nothing")


def _nearest(mels):
    levels = np.array([mel.mean() for mel in mels])
    return 1.0 / (1.0 + np.abs(levels[:, None] - levels[None]))


def _piece(track, level=0.0, bpm=120.0, key="C"):
    return listening_test.Piece(track, "s", 0.0, 8.0, np.full((9, 128), level, np.float32), bpm, key)


def test_trials_compare_orders_that_differ_over_pieces_of_different_tracks():
    pieces = [_piece(f"track{i}", i, 80 + 10 * i, "CGDAE"[i % 5]) for i in range(9)]
    trials = listening_test.draw_trials(pieces, _nearest)
    assert trials == listening_test.draw_trials(pieces, _nearest)
    assert 9 <= len(trials) <= listening_test.TRIALS
    for trial in trials:
        assert trial["first"]["order"] != trial["second"]["order"]
        assert sorted(trial["first"]["order"]) == list(range(listening_test.PIECES))
    assert {trial["first"]["name"] for trial in trials} == {"sen", "random"}


def test_four_recordings_are_too_few_for_the_listening_test(records, tmp_path):
    tracks = TrackList.read(records.folder, private=True)
    (first, *_) = music.find_clips(records, tracks)
    four = [music.ClipWithMusic(dataclasses.replace(first.clip, track=str(i)), first.recording) for i in range(4)]
    assert "downbeat/3" in first.clip.segmentations
    assert listening_test.listening_test(Music(records.folder, tracks, four, {}, Assets(tmp_path))) is None
    assert list((tmp_path / "sounds").iterdir()) == []


def test_tempo_and_key_bring_like_pieces_together():
    pieces = [_piece("a", bpm=120, key="C"), _piece("b", bpm=60, key="Am"), _piece("c", bpm=90, key="Gb")]
    like = listening_test.likeness(pieces)
    assert like[0, 1] == pytest.approx(1.0)  # half the tempo and the relative key are the same
    assert like[0, 2] < 0


def test_cuts_of_sizes_that_are_not_recorded_follow_the_same_rules():
    beats = np.stack([np.arange(0, 30, 0.5), np.tile([1, 2, 3, 4], 15)], axis=1).astype(np.float32)
    clip = Clip(
        "x", "t", "g", "test", 0.0, 129, np.zeros(1291 * 512, np.int16), 1.0, np.zeros((1292, 128), np.float16), beats
    )
    equal = puzzles.choose_cuts(clip, "fixed", 5)
    assert equal is not None and equal[0] == 129 and np.ptp(np.diff(equal)) <= 1
    cuts = puzzles.choose_cuts(clip, "downbeat", 7)
    assert cuts is not None and len(cuts) == 8
    bars = np.asarray(puzzles.to_seconds(cuts)) / 2.0
    assert np.allclose(bars, np.round(bars), atol=0.02)
    assert puzzles.choose_cuts(dataclasses.replace(clip, beats=beats[:0]), "downbeat", 5) is None


def test_the_command_says_what_is_wrong():
    done = subprocess.run([sys.executable, "-m", "experiments.report", "word"], capture_output=True, text=True)
    assert done.returncode == 2 and "Not a flag: 'word'" in done.stderr and "Traceback" not in done.stderr
