"""A small report for the tests: all sections, two games, few sounds."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from djnet import audio
from djnet.cuts import spans_between
from djnet.medley.mix import Mix
from djnet.medley.transitions import lay_out
from djnet.pages.puzzles import puzzle_of
from djnet.records import Manifest
from experiments import predictions, tables
from experiments.predictions import Answer
from experiments.report import answered, listening_test, music
from experiments.report.build import Folders, build

TITLE = "<script>window.hacked = 1</script> \"Quoted\" & 'more' \N{MUSICAL NOTE}"
GAMES = (("fixed", 3), ("downbeat", 4))
NETWORKS = {"fixed": "sen-fixed", "downbeat": "sen-downbeat", "medley": "sen-medley"}


def page_data(page: Path) -> dict:
    """What a page's scripts get."""
    text = page.read_text(encoding="utf-8")
    begin = text.index('id="data">') + len('id="data">')
    return json.loads(text[begin : text.index("</script>", begin)])


def write_csv(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def make(records: Manifest, results: Path) -> Path:
    """Write results and a report of them: -> the page for visitors."""
    write_table(results)
    write_medley(results / "medleys")
    (results / "figures").mkdir()
    (results / "figures" / "puzzle.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answered, "PUZZLES", 2)
        patch.setattr(music, "PLAY_CLIPS", 1)
        patch.setattr(listening_test, "TRACKS", 4)
        patch.setattr(listening_test, "GROUPS", 1)
        patch.setattr(listening_test.mix, "render", render_quickly)
        patch.setattr(music, "SIZES", (3, 4, 5))  # each size is a graph to be traced
        # The generated corpus has too few songs in its test split: all may be heard here.
        patch.setattr(Manifest, "read_clips", _clips_of_all_splits(Manifest.read_clips))
        patch.setattr(audio, "title_of", lambda _: (TITLE, ""))
        write_predictions(records, results)
        folders = Folders(records.folder, results, results / "report", results / "medleys", results / "cache")
        return build(folders, NETWORKS, private=True)


def render_quickly(segments, bars, peak_db):
    """Parts one after the other, without all that makes a mix good."""
    return Mix(np.concatenate([segment.read() for segment in segments]), [], lay_out(segments, bars)[1])


def _clips_of_all_splits(read):
    def read_all(manifest, _):
        for split in ("test", "valid", "train"):
            yield from read(manifest, split)

    return read_all


def write_table(results: Path) -> None:
    row = dict.fromkeys(tables.KEY, "") | {"game": "jigsaw", "segmentation": "fixed", "n": 3, "protocol": "centred"}
    row |= {"corpus": "synthetic", "corpus_hash": "0" * 12, "puzzles": 30, "commit": "abc", "reason": ""}
    accuracies = ("pairwise", "pairwise_low", "pairwise_high", "global", "global_low", "global_high")
    row |= dict.fromkeys((*accuracies, "paper_pairwise", "paper_global"), "")
    values = dict(zip(accuracies, (0.7, 0.6, 0.8, 0.5, 0.4, 0.6), strict=True))
    better = dict(zip(accuracies, (0.9, 0.85, 0.95, 0.8, 0.7, 0.9), strict=True))
    rows = [
        row | {"method": "continuity"} | values,
        row | {"method": "sen", "paper_pairwise": 0.996, "paper_global": 0.994} | better,
        *(row | {"method": "sen", "seed": str(seed)} | better for seed in range(1, 12)),
        row | {"method": "cin", "reason": "no finished run: python -m experiments.train --experiment=table2/cin"},
    ]
    write_csv(results / "table2.csv", rows)


def write_medley(folder: Path) -> None:
    folder.mkdir()
    time = np.arange(8 * 22_050) / 22_050
    soundfile.write(folder / "mine.wav", 0.1 * np.sin(2 * np.pi * 220 * time), 22_050)
    songs = [
        {"start": "0.000", "end": "4.000", "label": "One", "score": ""},
        {"start": "4.000", "end": "8.000", "label": TITLE, "score": "0.7000"},
    ]
    write_csv(folder / "mine.csv", songs)
    content = {"value": 0.7, "clips": [], "second": {"songs": [TITLE, "One"], "value": 0.4}}
    (folder / "mine.json").write_text(json.dumps(content))


def write_predictions(records: Manifest, results: Path) -> None:
    """Every puzzle of two games: SEN right, CIN the other way round."""
    for segmentation, n in GAMES:
        clips = [clip for clip in records.read_clips("test") if f"{segmentation}/{n}" in clip.segmentations]
        cut = [puzzle_of(clip, spans_between(clip.segmentations[f"{segmentation}/{n}"].cuts)) for clip in clips]
        for method, step in (("sen", 1), ("cin", -1)):
            cell = dict.fromkeys(tables.KEY, "") | {"game": "jigsaw", "segmentation": segmentation, "n": str(n)}
            cell |= {"method": method, "protocol": "centred", "seed": "0"}
            cell |= {"corpus_hash": records.content["corpus"]["hash"][:12]}
            given = [Answer(one.id, one.truth, one.truth[::step], np.full((n, n), 0.5)) for one in cut]
            predictions.write(results / answered.FOLDER / predictions.file_name(cell), {"cell": cell}, given)
