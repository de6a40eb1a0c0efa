"""All parts of the report, put together; a part that cannot be made says what is missing and which command makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import djnet
from djnet.files import remove_partial
from djnet.pretrained import Scorer
from djnet.records import Manifest, RecordsError
from djnet.similarity import similarity_matrices
from experiments.checkpoints import commit
from experiments.report import medleys, page, predictions, results, sections, sources
from experiments.report.maps import Maps
from experiments.report.sound import Sounds
from preprocessing.job import JobError

_SECTIONS = ("tables", "figures", "hear", "play", "medleys", "listening")


@dataclass(frozen=True)
class Places:
    """Where everything lies."""

    data: Path
    results: Path
    output: Path
    medleys: Path
    cache: Path
    audio: Path | None = None


def build(places: Places, players: Mapping[str, str]) -> Path:
    """Write the report: -> its page. `players` says who plays, by cut: a name of shipped weights or a run's folder."""
    places.output.mkdir(parents=True, exist_ok=True)
    remove_partial(places.output)
    sounds, maps = Sounds(places.output), Maps(places.output)
    remarks: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    tables = results.tables(places.results)
    if not any(table.games for table in tables):
        remarks["tables"].append(f"There are no tables in {places.results} yet. They are made by: make evaluate")
    figures = results.figures(places.results, places.output)
    if not figures:
        remarks["figures"].append(
            f"There are no figures in {places.results / 'figures'} yet. They are made by: python -m experiments.figures"
        )
    shown = medleys.read(places.medleys, places.output, places.cache)
    if not shown:
        remarks["medleys"].append(
            f"There are no medleys in {places.medleys} yet. One is made by: "
            f"djnet medley songs/ -o {places.medleys}/mine.mp3"
        )
    data, facts = _sounding(places, players, sounds, maps, remarks)
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
        similarity="bright is similar, dark is not",
        facts=[*facts, f"djnet {djnet.__version__}", f"commit {commit()[:12]}"],
    )
    target = places.output / "index.html"
    page.write(target, text)
    return target


def _sounding(
    places: Places, players: Mapping[str, str], sounds: Sounds, maps: Maps, remarks: dict[str, list[str]]
) -> tuple[dict[str, Any], list[str]]:
    """The data of the parts that sound, and facts about the music; what is missing goes into the remarks."""
    data: dict[str, Any] = {"hear": [], "play": [], "trials": None}
    try:
        manifest = Manifest.read(places.data)
        find = sources.finder(manifest, places.cache, places.audio)
        clips = sections.audible_clips(manifest, find)
    except RecordsError as error:
        for name in ("hear", "play", "listening"):
            remarks[name].append(str(error))
        return data, []
    corpus = manifest.content["corpus"]
    facts = [f"music: {corpus['name']} {corpus['hash'][:12]}"]
    if not clips:
        for name in ("hear", "play", "listening"):
            remarks[name].append(_why_silent(corpus["name"], places.cache))
        return data, facts
    scorers = {cut: load_scorer(name) for cut, name in players.items()}

    def similarity(cut: str, fragments: Sequence) -> list[list]:
        scorer = scorers[cut]
        return similarity_matrices(scorer.model, [(piece - scorer.mean) / scorer.std for piece in fragments])

    games = predictions.read(places.results, corpus["hash"][:12], seed=0)
    data["hear"] = sections.hear(clips, games, sounds, maps, similarity)
    if not data["hear"]:
        folder = places.results / predictions.FOLDER
        remarks["hear"].append(
            f"There are no answers of SEN in {folder} for this music. Make them: make train evaluate"
        )
    heard = {puzzle["id"] for game in data["hear"] for puzzle in game["puzzles"]}
    unheard = sorted(clips, key=lambda one: one.clip.id in heard)
    data["play"] = sections.play(unheard, sounds, {cut: scorer.scores for cut, scorer in scorers.items()})
    data["trials"] = sections.listening_test(clips, sounds, scorers["downbeat"].scores)
    if data["trials"] is None:
        remarks["listening"].append(
            "The listening test needs five recordings with downbeats whose licences allow it: make preprocess, "
            "with more music, makes them."
        )
    return data, facts


def load_scorer(name: str) -> Scorer:
    """A network by its name or folder; a JobError if there is none."""
    try:
        return djnet.load(name)
    except (FileNotFoundError, ValueError) as error:
        raise JobError(str(error)) from error


def _why_silent(corpus: str, cache: Path) -> str:
    if corpus.startswith("free-"):
        which = corpus.removeprefix("free-")
        return f"The recordings are not in {cache} any more. They are fetched by: make preprocess CORPUS={which}"
    return f"The music of {corpus!r} is not on this page. To put it there, for yourself: make report AUDIO=folder"
