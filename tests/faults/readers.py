"""A small valid file of every kind that djnet reads, music aside, and what reads it."""

import json
from collections.abc import Callable
from pathlib import Path

from djnet.annotations import join_short, read_sections
from djnet.cli.settings import read_settings
from djnet.corpora import playlists, read_tracks
from djnet.medley.receipt import read_receipt
from djnet.puzzles import read_about
from djnet.records import FEATURES, SPLITS, VERSION, Manifest, moments
from djnet.studio.project import Project
from experiments import checkpoints, listening, predictions, study, tables
from experiments.configs import read_run
from experiments.plots import learning
from experiments.report.recordings import TrackList
from experiments.report.results import read_medleys
from preprocessing.shards import Parts

_CLIP = {
    "song": "a.wav", "content": "c", "begin": 0.0, "start": 0.5, "end": 9.0, "bpm": 0, "key": "", "beats": [[1, 1]],
}  # fmt: skip
_RUN = {
    "model": "sen", "segmentation": "fixed", "protocol": "centred", "preset": "compact", "ablation": {"stride": 1},
    "kinds": ["R1R2", "R2R1"], "n": 3, "optimiser": "sgd", "learning_rate": 0.05, "epochs": 40, "also": [], "seed": 0,
}  # fmt: skip
_SPLIT = {"tracks": 0, "clips": 0, "games": {}, "shards": [{"name": "a", "clips": 1, "bytes": 1, "sha256": ""}]}
_MANIFEST = {
    "hash": "", "version": VERSION, "features": FEATURES, "corpus": {"name": "n", "hash": ""}, "settings": {},
    "gzip": False,
    "splits": dict.fromkeys(SPLITS, _SPLIT), "silent_clips": 0, "mean": [0.0] * 128, "std": [1.0] * 128,
}  # fmt: skip
_PART = {
    "key": "part", "split": "train", "clips": 0, "silent": 1, "bytes": 0, "frames": 0, "sums": [1.0], "squares": [1.0],
    "games": {"fixed/3": 1}, "error": "", "sha256": "",
}  # fmt: skip

_HISTORY = ("epoch", "loss", "accuracy", "valid_pairwise", "valid_global", "pairs_per_second")

_PLAN = {
    "title": "t", "bars": 2, "first": False, "last": True,
    "clips": [{"song": "a", "start": 0.0, "end": 9.5, "transition": "cut", "bars": 2, "tied": False}],
}  # fmt: skip
VALID: dict[str, dict[str, str]] = {
    "json": {
        "medley.json": json.dumps({"title": "t", "bars": 2, "peak_db": -1.0, "clips": [_CLIP, _CLIP], "scores": [0.5]}),
        "run.json": json.dumps(
            {"run": _RUN, "records": "r", "corpus": {"name": "n"}, "finished": True, "commit": ""}
            | {"mean": [0.0], "std": [1.0]}
        ),
        "manifest.json": json.dumps(_MANIFEST),
        "game.json": json.dumps({"name": "songs", "licence": "CC0-1.0", "made_of": {"records": "x", "seed": 0}}),
        "part.json": json.dumps(_PART),
        "mix.json": json.dumps({"clips": [{"song": "a.wav"}, {"song": "b.wav"}]}),
    },
    "cue": {
        "a.cue": 'FILE "a.wav" WAVE\n  TRACK 01 AUDIO\n    TITLE "One"\n    INDEX 01 00:00:00\n  TRACK 02 AUDIO\n'
        '    TITLE "Two"\n    INDEX 01 01:10:37\n',
        "a.txt": '0\t1250\t"intro"\n1250\t4000\t"verse A"\n4000\t7125\t"chorus A"\n',
        "a.m3u": "#EXTM3U\n#EXTINF:12,A\na.mp3\nfile:///b%20c.flac\nC:\\d.wav\n",
        "a.pls": "[playlist]\nFile1=a.mp3\nFile2=b.mp3\nNumberOfEntries=2\n",
    },
    "csv": {
        "sections.csv": "start,end,label\n0,12.5,intro\n12.5,40,verse\n40,71.25,chorus\n",
        "mix.csv": "start,end,label,score\n0,8,a,\n8,16,b,0.5\n",
        "tracks.csv": "track,path,group,split,licence\na,a.flac,g,train,CC0-1.0\n",
        "history.csv": ",".join(_HISTORY) + "\n0,0.7,0.5,0.4,0.2,10\n",
        "table2.csv": "game,segmentation,n,gap,method,protocol,corpus,pairwise,global\n"
        "jigsaw,fixed,3,,sen,centred,s,.9,.8\n",
        "study.csv": "variant,epochs,records,seed\nbase,20,0123,0\n",
        "learning.csv": "experiment,protocol,seed,records,epoch,valid_global\ntable2/sen,centred,0,0123,0,0.5\n",
        "answers.csv": "test,listener,trial,a,b,choice,time\nt,l,1,sen,tempo,a,5\nt,l,2,sen,tempo,none,5\n",
        "predictions.csv": '# {"cell": {"n": "3"}}\npuzzle,truth,order,scores\na,0 1,1 0,0 .5 .4 0\nb,0 1,0 1,\n',
    },
    "toml": {
        "settings.toml": '["a.wav"]\nstart = 62.5\nlength = 20\n["b.wav"]\nlength = 7\n'
        '[[join]]\nfrom = "a.wav"\nto = "b.wav"\ntransition = "cut"\nbars = 2\n',
    },
    "project": {
        "project.json": json.dumps({"studio": 1, "revision": 3, "at": 1, "states": [_PLAN, _PLAN | {"bars": 4}]}),
    },
}


def _run(path: Path) -> None:
    run, facts = read_run(path)
    assert run.name and run.row
    moments(facts, path)


def _medley(path: Path) -> None:
    """The receipt or the table of a medley, of which the other is whole."""
    other = path.with_suffix(".csv" if path.suffix == ".json" else ".json")
    other.write_text(VALID[other.suffix[1:]][other.name])
    try:
        read_medleys(path.parent, path.parent / "report", TrackList({}))
    finally:
        other.unlink()
        path.unlink()


def _part(path: Path) -> None:
    (path.parent / ".parts").mkdir(exist_ok=True)
    path.rename(path.parent / ".parts" / path.name)
    Parts(path.parent).find("part")


def _tracks(path: Path) -> None:
    tracks = TrackList(read_tracks(path.parent))
    tracks.recording("a")
    tracks.licence_of_file("a.flac")


def _table(path: Path) -> None:
    names = ("game", "segmentation", "n", "gap", "method", "protocol")
    tables.published(path.parent, "2", [dict.fromkeys(names, "")])


def _study(path: Path) -> None:
    study.write(path, {"variant": "base", "epochs": 20, "records": "0123", "seed": 0})


def _project(path: Path) -> None:
    """A project is opened, or kept beside a new one; either can be changed."""
    given = path.read_bytes()
    project = Project(path)
    kept = sorted(path.parent.glob("*.damaged*.json"))
    assert [one.read_bytes() for one in kept] == ([given] if project.notice else [])
    project.change(project.plan | {"bars": 1}, project.revision)
    for one in kept:
        one.unlink()


def _listening(path: Path) -> None:
    listening.preferences(listening.read(path))


READERS: dict[str, Callable[[Path], object]] = {
    "medley.json": read_receipt,
    "run.json": _run,
    "manifest.json": lambda path: Manifest.read(path.parent),
    "game.json": lambda path: read_about(path.parent),
    "part.json": _part,
    "mix.json": _medley,
    "a.cue": lambda path: join_short(read_sections(path)),
    "a.txt": lambda path: join_short(read_sections(path)),
    "a.m3u": playlists.read,
    "a.pls": playlists.read,
    "sections.csv": lambda path: join_short(read_sections(path)),
    "mix.csv": _medley,
    "tracks.csv": _tracks,
    "history.csv": lambda path: checkpoints.append(path, dict.fromkeys(_HISTORY, 1)),
    "table2.csv": _table,
    "study.csv": _study,
    "learning.csv": learning.read,
    "answers.csv": _listening,
    "predictions.csv": predictions.read,
    "project.json": _project,
    "settings.toml": lambda path: read_settings(path, ["a.wav", "b.wav"]),
}
