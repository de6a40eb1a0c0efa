import dataclasses
import html
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from djnet import audio
from djnet.corpora import TRACK_LIST, read_tracks
from djnet.errors import UserError
from djnet.pages import sound
from experiments import predictions, tables
from experiments.predictions import Answer
from experiments.report import answered, listening_test, music, results
from experiments.report.answered import Variant
from experiments.report.assets import Assets
from experiments.report.build import Folders, build, load_scorer
from experiments.report.music import Music
from experiments.report.recordings import TrackList
from tests import make_report
from tests.make_report import NETWORKS, page_data


def test_a_report_has_every_section_and_names_no_other_host(report):
    text, results_page = (path.read_text(encoding="utf-8") for path in (report, report.with_name("results.html")))
    for page in (text, results_page):
        assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
        assert "<script>window.hacked" not in page
        for tag in (
            '<meta name="description" content="',
            '<meta property="og:title" content="',
            "Content-Security-Policy",
        ):
            assert tag in page
    for part in ("table2/cin", "0.994", "[0.700, 0.900]", "commit abc", "figures/puzzle.svg", "tables/table2.csv"):
        assert part in results_page
    assert "none yet" in text and (report.parent / "tables" / "table2.csv").is_file()
    size = sum(path.stat().st_size for path in report.parent.rglob("*") if path.is_file())
    assert size < 40e6
    data = page_data(report)
    assert "Sequencing was not played yet on what is here. Make it: make rwc RWC=folder" in text
    names = [game["name"] for game in data["answered"]]
    assert names == [
        "A clip of 24 seconds, 4 pieces, cut where a bar begins",
        "A clip of 24 seconds, 3 pieces, equal pieces",
    ]
    for key in {puzzle["sound"] for puzzle in data["play"]}:
        assert (report.parent / "sounds" / f"{key}.js").exists()


def test_with_nothing_there_the_page_says_what_makes_it(tmp_path):
    (tmp_path / "report" / "sounds").mkdir(parents=True)
    (tmp_path / "report" / "sounds" / "old.js").touch()
    page = build(Folders(*(tmp_path / name for name in ("data", "results", "report", "medleys", "cache"))), NETWORKS)
    text = "".join(path.read_text(encoding="utf-8") for path in (page, page.with_name("results.html")))
    for command in ("make evaluate", "make preprocess", "djnet medley", "make figures"):
        assert command in text
    assert page_data(page) == {"answered": [], "play": [], "listeningTest": None}
    assert list((tmp_path / "report" / "sounds").iterdir()) == []


@pytest.mark.parametrize(
    ("address", "pictures"),
    [("", []), ("https://example.org/puzzles/", ["https://example.org/puzzles/figures/puzzle.png"])],
)
def test_links_show_a_picture_where_the_address_of_the_pages_is_known(tmp_path, address, pictures):
    (tmp_path / "results" / "figures").mkdir(parents=True)
    (tmp_path / "results" / "figures" / "puzzle.png").touch()
    folders = Folders(*(tmp_path / name for name in ("data", "results", "report", "medleys", "cache")))
    text = build(folders, NETWORKS, address=address).read_text(encoding="utf-8")
    assert re.findall('<meta property="og:image" content="(.*)">', text) == pictures


def test_folders_that_hold_something_else_are_left_alone(tmp_path):
    (tmp_path / "figures").mkdir()
    folders = Folders(tmp_path / "data", tmp_path, tmp_path, tmp_path / "medleys", tmp_path / "cache")
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
    page = build(Folders(data, *(tmp_path / name for name in ("results", "report", "medleys", "cache"))), NETWORKS)
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
    tracks, private = (TrackList(read_tracks(tmp_path), private) for private in (False, True))
    found = tracks.recording("free")
    assert found is not None and found.labels == {"title": "Free", "credit": "album", "licence": "CC-BY-4.0"}
    assert tracks.recording("closed") is None and private.recording("closed") is not None
    mixed = tracks.recording_in_parts(paths["free"], ["free", "free"], {})
    assert mixed is not None and mixed.licence == "CC-BY-4.0"
    assert mixed.credit == "Free; Free"
    assets = Assets(tmp_path / "report")
    assets.add_sound(mixed, 0.0, 1.0)
    assert assets.credits == {"Free: album (CC-BY-4.0)"}  # those of the tracks, each once
    assert tracks.recording_in_parts(paths["free"], ["free", "closed"], {}) is None
    assert tracks.recording_in_parts(paths["free"], ["verse"], {}) is None
    assert private.recording_in_parts(paths["free"], ["verse"], {}) is not None
    song = tracks.recording_in_parts(paths["free"], ["verse"], {"licence": "CC-BY-NC-4.0", "credit": "somebody"})
    assert song is not None and song.labels == {"title": "Free", "credit": "somebody", "licence": "CC-BY-NC-4.0"}
    assert tracks.recording_in_parts(paths["free"], ["verse"], {"licence": "CC-BY-ND-4.0"}) is None
    assert (
        tracks.licence_of_file(str(paths["closed"])) == "see copyright file"
        and tracks.licence_of_file("elsewhere.mp3") == ""
    )
    with pytest.raises(UserError, match=r"tracks\.csv is missing: run make preprocess again"):
        read_tracks(tmp_path / "nowhere")


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
    assert mix.spans.tolist() == [[0, 3], [3, 6], [6, 9]] and len(mix.puzzle.fragments) == 3 and mix.span == (0.0, 9.0)
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


@pytest.mark.parametrize(
    ("file", "title"),
    [("track22", "Track 22"), ("hr-last_stand", "Hr last stand"), ("7 Nights - Live", "7 Nights - Live")],
)
def test_a_file_without_tags_has_its_name_as_words_for_a_title(tmp_path, write_tone, file, title):
    path = write_tone(tmp_path / f"{file}.wav", seconds=1)
    tracks = TrackList({"it": {"path": str(path), "group": "", "licence": "CC0-1.0"}})
    found = tracks.recording("it")
    assert found is not None and found.title == title


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
        "A clip of 24 seconds, 3 pieces, equal pieces": {"sen"},
        "A medley of songs, 7-11 pieces": {"sen", "continuity"},
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
    monkeypatch.setattr(listening_test, "SONGS", 99)
    folders = Folders(records.folder, *(tmp_path / name for name in ("", "report", "medleys", "cache")))
    page = build(folders, NETWORKS, private=True)
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert all(line.format(results=tmp_path) in text for line in said)
    assert "Sequencing was not played yet" not in text and "The listening test needs four recordings" in text


def test_the_best_baseline_is_another_trained_network():
    def given(right):
        return {str(i): Answer(str(i), (0, 1), (0, 1) if i < right else (1, 0)) for i in range(5)}

    found = {"sen": given(5), "sen (greedy)": given(5), "continuity": given(4), "all": given(5), "sn": given(1)}
    assert answered.best_baseline(found | {"cin": given(3)}) == "cin"
    assert answered.best_baseline({"sen": given(5), "continuity": given(4)}) is None


def test_tables_that_are_none_are_named(tmp_path):
    (tmp_path / "table2.csv").write_text("a,b\n1,2,3\n")
    with pytest.raises(UserError, match=r"table2\.csv, line 2: more or fewer cells"):
        results.read_tables(tmp_path)


def test_a_network_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match="nothing is neither a network"):
        load_scorer("nothing")


def test_three_sentences_come_from_equal_pieces_of_the_first_protocol(tmp_path):
    row = {"game": "jigsaw", "segmentation": "fixed", "method": "sen", "puzzles": "9", "reason": "", "global_low": "0"}
    row |= dict.fromkeys(("pairwise", "pairwise_low", "pairwise_high", "global_high", "paper_pairwise"), "1")
    rows = [
        row | {"n": n, "method": method, "protocol": protocol, "global": share, "paper_global": "0.9"}
        for protocol, share in (("overlapping", "1.0"), ("isolated", "0.25"))
        for method in ("continuity", "sen")
        for n in ("3", "8")
    ]
    make_report.write_csv(tmp_path / "table3.csv", rows)
    tables_read = results.read_tables(tmp_path)
    assert [row["method"] for row in tables_read["table3"][:3]] == ["sen", "sen", "continuity"]
    assert results.headline(tables_read) == {
        "sen": {"3": 25.0, "8": 25.0}, "continuity": {"3": 25.0, "8": 25.0}, "paper": {"3": 90.0, "8": 90.0}
    }  # fmt: skip
    assert results.headline({}) is None
    page = build(Folders(*(tmp_path / name for name in ("data", "", "report", "medleys", "cache"))), NETWORKS)
    shares = re.findall(r'class="share (\w+)" style="--share: (\d+)%"></span><strong>(\d+)%', page.read_text())
    assert shares == 2 * [("sen", "25", "25"), ("continuity", "25", "25"), ("paper", "90", "90")]  # the picture


@pytest.mark.parametrize(
    ("flag", "said"), [("word", "Not a flag: 'word'"), ("--address=example.org", "https:// in front")]
)
def test_the_command_says_what_is_wrong(flag, said):
    done = subprocess.run([sys.executable, "-m", "experiments.report", flag], capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
