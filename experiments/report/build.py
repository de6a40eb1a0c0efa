"""All parts of the report, put together: a page for visitors and one with the results.

The pages say what is missing and which command makes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import djnet
from djnet.corpora import read_tracks
from djnet.corpora.licences import is_noncommercial
from djnet.errors import UserError
from djnet.files import remove_partial
from djnet.pages.page import write_page
from djnet.pretrained import Scorer
from djnet.puzzles import GAME_FOLDERS
from djnet.records import Manifest
from experiments.checkpoints import commit
from experiments.evaluation import MADE_BY
from experiments.report import answered
from experiments.report.assets import SOUNDS, Assets
from experiments.report.listening_test import listening_test
from experiments.report.music import Music, corpus_hash, find_clips
from experiments.report.recordings import TrackList
from experiments.report.results import copy_figures, copy_tables, headline, read_medleys, read_tables


@dataclass(frozen=True)
class Folders:
    """Where everything lies."""

    data: Path
    results: Path
    output: Path
    medleys: Path
    cache: Path  # of analysed songs


def build(folders: Folders, networks: Mapping[str, str], private: bool = False, address: str = "") -> Path:
    """Write the report: -> its page for visitors; results.html lies beside it.

    `networks` says which network plays, by where pieces are cut: a name of shipped weights or a run's folder. A private
    report also has music whose licence is not known to allow it. `address` is where the folder will be published: only
    then can links to it be shown with a picture.
    """
    output = folders.output
    if output.is_dir() and any(output.iterdir()) and not (output / SOUNDS).is_dir():
        raise UserError(f"{output} holds something else than a report: choose another folder with --output.")
    output.mkdir(parents=True, exist_ok=True)
    remove_partial(output)
    assets, tracks = Assets(output), TrackList({}, private)
    data: dict[str, Any] = {"answered": [], "play": [], "listeningTest": None}
    facts = [f"djnet {djnet.__version__}", f"commit {commit()[:12]}"]
    no_music, played = "", set()
    unpublished: list[str] = []
    try:
        manifest = Manifest.read(folders.data)
        facts.append(f"music: {manifest.corpus} {manifest.content['corpus']['hash'][:12]}")
        tracks = TrackList(read_tracks(folders.data), private)
        clips = find_clips(manifest, tracks)
    except UserError as error:
        no_music = str(error)
    else:
        scorers = {cut: load_scorer(name) for cut, name in networks.items()}
        music = Music(folders.data, tracks, clips, scorers, assets)
        corpora = {game: corpus_hash(game, folders.data) for game in GAME_FOLDERS}
        corpora["jigsaw"] = manifest.content["corpus"]["hash"][:12]
        variants = answered.read_answers(folders.results, corpora, manifest.name)
        data["answered"], unpublished = answered.answered_puzzles(music, variants)
        data["play"] = music.puzzles_to_play({one["id"] for game in data["answered"] for one in game["puzzles"]})
        data["listeningTest"] = listening_test(music, folders.cache)
        played = {variant.game for variant in variants if "sen" in variants[variant]}
    assets.remove_unused()
    tables = read_tables(folders.results)
    copy_tables(folders.results, tables, output)
    figures = copy_figures(folders.results / "figures", output)
    both = {"tables": tables, "figures": figures, "folders": folders, "facts": facts, "address": address.rstrip("/")}
    web = Path(__file__).with_name("web")
    write_page(output / "results.html", "results.html.jinja", web, data={}, **both)
    write_page(
        output / "index.html",
        "index.html.jinja",
        web,
        data=data,
        no_music=no_music,
        played=played,
        unpublished=unpublished,
        commands=MADE_BY,
        shares=headline(tables),
        medleys=read_medleys(folders.medleys, output, tracks),
        credits=sorted(assets.credits),
        private=private,
        noncommercial=any(is_noncommercial(one["licence"]) for game in data["answered"] for one in game["puzzles"]),
        **both,
    )
    return output / "index.html"


def load_scorer(name: str) -> Scorer:
    """A network by its name or folder; a UserError if there is none."""
    try:
        return djnet.load(name)
    except (FileNotFoundError, ValueError) as error:
        raise UserError(str(error)) from error
