"""All parts of the report, put together; a part that cannot be made says what is missing and which command makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import djnet
from djnet.corpora.licences import is_noncommercial
from djnet.errors import UserError
from djnet.files import remove_partial
from djnet.pages import page
from djnet.pretrained import Scorer
from djnet.puzzles import GAME_FOLDERS
from djnet.records import Manifest, RecordsError
from djnet.similarity import similarity_matrices
from experiments.checkpoints import commit
from experiments.evaluation import MADE_BY
from experiments.report import answers, audible, contents, medleys, results
from experiments.report.answers import Answers, Game
from experiments.report.recordings import Tracks
from experiments.report.similarity import Maps
from experiments.report.sounds import FOLDER as SOUNDS
from experiments.report.sounds import Sounds

_SOUNDING = ("hear", "play", "listening")
_SECTIONS = ("tables", "figures", "medleys", *_SOUNDING)


@dataclass(frozen=True)
class Places:
    """Where everything lies."""

    data: Path
    results: Path
    output: Path
    medleys: Path


def build(places: Places, players: Mapping[str, str], own: bool = False) -> Path:
    """Write the report: -> its page.

    `players` says who plays, by cut: a name of shipped weights or a run's folder. With `own`, music whose licence is
    not known to allow it is put on the page too.
    """
    if places.output.is_dir() and any(places.output.iterdir()) and not (places.output / SOUNDS).is_dir():
        raise UserError(f"{places.output} holds something else than a report: choose another folder with --output.")
    places.output.mkdir(parents=True, exist_ok=True)
    remove_partial(places.output)
    sounds, maps = Sounds(places.output), Maps(places.output)
    remarks: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    data: dict[str, Any] = {"hear": [], "play": [], "trials": None}
    facts, tracks = [f"djnet {djnet.__version__}", f"commit {commit()[:12]}"], Tracks({}, own)
    try:
        manifest = Manifest.read(places.data)
        tracks = Tracks.read(places.data, own)
    except (RecordsError, UserError) as error:
        for name in _SOUNDING:
            remarks[name].append(str(error))
    else:
        corpus = manifest.content["corpus"]
        facts.append(f"music: {corpus['name']} {corpus['hash'][:12]}")
        data = _sounding(places, manifest, tracks, players, sounds, maps, remarks)
    tables = results.tables(places.results)
    figures = results.figures(places.results, places.output)
    shown = medleys.read(places.medleys, places.output, tracks)
    for name, there, where, command in (
        ("tables", any(table.games for table in tables), places.results, "make evaluate"),
        ("figures", figures, places.results / "figures", "make figures"),
        ("medleys", shown, places.medleys, f"djnet medley songs/ -o {places.medleys}/mine.mp3"),
    ):
        if not there:
            remarks[name].append(f"There are no {name} in {where} yet. They are made by: {command}")
    sounds.remove_others()
    maps.remove_others()
    text = page.render(
        "report.html.jinja",
        title="djnet: music puzzles",
        data=data,
        scripts=page.SCRIPTS,
        tables=tables,
        figures=figures,
        medleys=shown,
        preferences=results.preferences(places.results),
        remarks=remarks,
        credits=sorted(sounds.credits),
        own=own,
        noncommercial=any(is_noncommercial(puzzle["licence"]) for game in data["hear"] for puzzle in game["puzzles"]),
        players=" and ".join(players.values()),
        facts=facts,
    )
    target = places.output / "index.html"
    page.write(target, text)
    return target


def _sounding(
    places: Places,
    manifest: Manifest,
    tracks: Tracks,
    players: Mapping[str, str],
    sounds: Sounds,
    maps: Maps,
    remarks: dict[str, list[str]],
) -> dict[str, Any]:
    """The data of the parts that sound; what is missing goes into the remarks."""
    data: dict[str, Any] = {"hear": [], "play": [], "trials": None}
    corpus = manifest.content["corpus"]
    clips = audible.audible_clips(manifest, tracks)
    if not clips:
        for name in _SOUNDING:
            remarks[name].append(
                f"No recording of {corpus['name']} is here and may be passed on. Fetch them again: make preprocess. "
                "Music of your own, for yourself: make report FLAGS=--own"
            )
        return data
    scorers = {cut: load_scorer(name) for cut, name in players.items()}

    def similarity(cut: str, fragments: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        scorer = scorers[cut]
        return similarity_matrices(scorer.model, [(piece - scorer.mean) / scorer.std for piece in fragments])

    music = {game: audible.music_of(game, places.data) for game in GAME_FOLDERS}
    games = answers.find(places.results, music | {"jigsaw": corpus["hash"][:12]}, manifest.name)
    data["hear"], silent = contents.hear(clips, games, places.data, tracks, sounds, maps, similarity)
    remarks["hear"] += unheard_games(places.results / answers.FOLDER, games, silent)
    heard = {puzzle["id"] for game in data["hear"] for puzzle in game["puzzles"]}
    unheard = sorted(clips, key=lambda one: one.clip.id in heard)
    data["play"] = contents.play(unheard, sounds, {cut: scorer.scores for cut, scorer in scorers.items()})
    data["trials"] = contents.listening_test(clips, sounds, scorers["downbeat"].scores)
    if data["trials"] is None:
        remarks["listening"].append(
            "The listening test needs five recordings with downbeats whose licences allow it: make preprocess, "
            "with more music, makes them."
        )
    return data


def unheard_games(folder: Path, games: Mapping[Game, Answers], silent: Sequence[str]) -> list[str]:
    """What cannot be heard, why, and which commands make it."""
    played = {game.game for game in games if "sen" in games[game]}
    if not played:
        return [f"There are no answers of SEN to this music in {folder}. Make them: make train evaluate"]
    found = [
        f"{game.capitalize()} was not played yet on what is here. Make it: {command}, then make evaluate report"
        for game, command in MADE_BY.items()
        if game not in played
    ]
    if silent:
        found.append(
            f"Played but not heard here, since nothing says that the recordings may be passed on: {'; '.join(silent)}. "
            "For yourself: make report FLAGS=--own"
        )
    return found


def load_scorer(name: str) -> Scorer:
    """A network by its name or folder; a UserError if there is none."""
    try:
        return djnet.load(name)
    except (FileNotFoundError, ValueError) as error:
        raise UserError(str(error)) from error
