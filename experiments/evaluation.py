"""Plays the cells of the tables: finds the puzzles and the networks, lets each method answer, measures the answers."""

import hashlib
import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import joblib
import keras
import numpy as np
from tqdm import tqdm

from djnet import metrics, scoring
from djnet.baselines import REFERENCES
from djnet.constants import seconds_to_hops
from djnet.errors import UserError
from djnet.files import digest_json
from djnet.ordering import best_order, greedy, likeliest
from djnet.pairs import LISTWISE
from djnet.pretrained import WEIGHTS, ModelError, load, read_model, weights_of
from djnet.puzzles import (
    MOST_PARTS,
    Puzzle,
    corpus_hash,
    find_recordings,
    fingerprint,
    jigsaws,
    read_about,
    recording,
)
from djnet.records import Manifest
from experiments import predictions
from experiments.checkpoints import commit
from experiments.configs import EXPERIMENTS, Run, experiment, read_run
from experiments.predictions import Answer
from experiments.significance import interval, mcnemar, mean_by_group, permutation_test
from experiments.tables import BAR, GREEDY, LIKELIEST, MEASURES, Cell, key_of

MADE_BY = {"sequencing": "make rwc RWC=folder", "medley": "make mixes"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Game:
    """Puzzles with where they come from, or the reason why there are none."""

    puzzles: list[Puzzle] = field(default_factory=list)
    corpus: str = ""
    corpus_hash: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Played:
    """What a method answered to every puzzle of a cell, and what is known of the puzzles without their fragments."""

    answers: list[Answer]
    tracks: list[str]
    groups: list[str]
    labels: dict[str, tuple[str, ...]]
    decidable: np.ndarray  # bool [P]: whether no two pieces are the same audio

    @property
    def solved(self) -> np.ndarray:
        """1 for every puzzle whose whole order is right: [P]."""
        return np.array([float(answer.order == answer.truth) for answer in self.answers])


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network and where it comes from."""

    model: keras.Model
    weights: str  # hash
    facts: dict[str, Any]  # the columns of a row that say how it was trained
    scale: tuple[np.ndarray, np.ndarray] | None = None  # mean and deviation of its features, if not the records' own
    window: str = "hamming"  # of its features


class Evaluation:
    """Plays cells on test puzzles with the runs of a folder."""

    def __init__(
        self,
        manifest: Manifest,
        runs: Path,
        preset: str = "compact",
        protocol: str = "centred",
        seed: int = 0,
        limit: int = 1000,
        recordings: dict[str, Path] | None = None,
        answers: Path | None = None,
        recompute: bool = False,
        test: Manifest | None = None,
    ):
        """Set up; nothing is read yet.

        manifest: the records that runs were trained on. runs: their folder.
        preset, protocol, seed: of the runs, and the protocol of the puzzles.
        limit: at most so many puzzles a game.
        recordings: a folder for each game that is not the jigsaw. answers: where predictions are kept.
        recompute: take answers from there instead of asking the networks.
        test: other records, whose test split is cut into jigsaws in place of the manifest's.
        """
        self._manifest, self._runs, self._test = manifest, runs, test or manifest
        self._preset, self._protocol, self._seed, self._limit = preset, protocol, seed, limit
        self._recordings, self._folder, self._recompute = recordings or {}, answers, recompute
        self._networks: dict[tuple[str, int], TrainedNetwork | str] = {}
        self.played: dict[Cell, Played] = {}

    @cached_property
    def _commit(self) -> str:
        return commit()

    def play(self, cells: list[Cell]) -> list[dict[str, Any]]:
        """A row for every cell; a cell that cannot be played is empty and says why.

        Cells with the same puzzles are played together, so that no more than one game is in memory.
        """
        rows: dict[Cell, dict[str, Any]] = {}
        groups = dict.fromkeys(cell.group for cell in cells)
        for group in sorted(groups, key=lambda group: group[0] == "jigsaw"):  # mistakes in annotations are said first
            own = [cell for cell in cells if cell.group == group]
            scores: dict[str, list[np.ndarray]] = {}
            for window, same in groupby(own, self._window):
                game = self._game(own[0], window)
                for cell in same:
                    rows[cell] = self._row(cell, game, scores)
                del game  # before the next one is read
            for cell in own:
                self._compare(cell, own, rows[cell])
        return [rows[cell] for cell in cells]

    def _compare(self, cell: Cell, others: Sequence[Cell], row: dict[str, Any]) -> None:
        """Add to a row how it differs from its rival on the same puzzles."""
        rival = next((other for other in others if (other.method, other.segmentation) == cell.rival), None)
        if rival is None or rival is cell or cell not in self.played or rival not in self.played:
            return
        ours, theirs = self.played[cell], self.played[rival]
        row["versus"] = " ".join(filter(None, cell.rival))
        row["difference"] = round(float(ours.solved.mean() - theirs.solved.mean()), 4)
        row["p_value"] = round(permutation_test(ours.solved, theirs.solved, ours.tracks), 6)
        row["p_mcnemar"] = round(mcnemar(ours.solved, theirs.solved), 6)

    def _window(self, cell: Cell) -> str:
        """The window of the features that a cell's network wants."""
        network = self._networks.get((cell.experiment, self._seed))
        return network.window if isinstance(network, TrainedNetwork) else "hamming"

    def _game(self, cell: Cell, window: str) -> Game:
        """The puzzles of a cell and of all others of its group."""
        if cell.game != "jigsaw":
            return self._recorded(cell.game, window)
        _, cut, n, gap = cell.group
        hops = 0 if gap == BAR else seconds_to_hops(float(gap))
        settings = (cut, n, self._protocol, hops, self._limit, window, gap == BAR)
        puzzles = list(jigsaws(self._test, "test", *settings))
        corpus = self._test.content["corpus"]
        reason = "" if puzzles else f"no test clips for {cut} cuts, n = {n}"
        return Game(puzzles, corpus["name"], corpus["hash"][:12], reason)

    def _recorded(self, game: str, window: str) -> Game:
        """Sections of songs, or the clips of medleys, from a folder of recordings with annotations."""
        folder = self._recordings.get(game)
        if folder is None or not folder.is_dir():
            return Game(reason=f"no recordings: {MADE_BY[game]}")
        files = find_recordings(folder)[: self._limit]
        work = (joblib.delayed(_read_recording)(*pair, MOST_PARTS[game], self._protocol, window) for pair in files)
        results = joblib.Parallel(joblib.cpu_count(), prefer="threads", return_as="generator")(work)
        puzzles = list(tqdm(results, desc=f"read, {game}", total=len(files), unit="recording", leave=False))
        hashes = corpus_hash([known for _, known in puzzles])
        return Game([puzzle for puzzle, _ in puzzles], read_about(folder)["name"], hashes)

    def _row(self, cell: Cell, game: Game, scores: dict[str, list[np.ndarray]]) -> dict[str, Any]:
        """A row of the table; `scores` keeps those of this game's networks for other ways to an order."""
        sizes = sorted({len(puzzle.truth) for puzzle in game.puzzles})
        seeds = cell.seeds or (self._seed,)
        networks: list[Any] = [self.network(cell.experiment, seed) for seed in seeds] if cell.experiment else []
        missing = next((network for network in networks if isinstance(network, str)), "")
        network = networks[0] if networks and not missing else None
        row: dict[str, Any] = {
            "game": cell.game,
            "segmentation": cell.segmentation,
            "n": "-".join(map(str, dict.fromkeys((sizes[0], sizes[-1])))) if sizes else cell.n or "",
            "gap": cell.gap or "",
            "method": cell.method,
            "protocol": self._protocol,
            "preset": self._preset if cell.experiment else "",
            "corpus": game.corpus,
            "corpus_hash": game.corpus_hash,
            "trained_on": self._trained_on(cell.experiment) if cell.experiment in EXPERIMENTS else "",
            "seed": "+".join(map(str, seeds)) if cell.experiment else "",
            "run": "",
            "differs": "",
            "puzzles": len(game.puzzles),
            "tracks": len({puzzle.track for puzzle in game.puzzles}),
            **dict.fromkeys(MEASURES, ""),
            "chance_global": round(float(np.mean([1 / math.factorial(len(p.truth)) for p in game.puzzles] or [0])), 6),
            "paper_pairwise": cell.paper[0] if cell.paper else "",
            "paper_global": cell.paper[1] if cell.paper else "",
            "commit": self._commit,
            "trained_commit": "",
            "epochs": "",
            "reason": game.reason or missing,
        }
        row |= network.facts if network else {}
        if row["reason"]:
            return row
        answers = self._answers(cell, game, row, networks, scores)
        if isinstance(answers, str):
            return row | {"reason": answers}
        played = Played(
            answers,
            [puzzle.track for puzzle in game.puzzles],
            [puzzle.group for puzzle in game.puzzles],
            {puzzle.id: puzzle.labels for puzzle in game.puzzles},
            np.array([puzzle.is_decidable for puzzle in game.puzzles]),
        )
        self.played[cell] = played
        return row | _measured(played)

    def _trained_on(self, name: str) -> str:
        return " + ".join([self._manifest.name, *experiment(name).also])

    def _answers(
        self, cell: Cell, game: Game, row: dict[str, Any], networks: list[Any], scores: dict[str, list[np.ndarray]]
    ) -> list[Answer] | str:
        """An answer to every puzzle, or the reason why there are none; as kept in the folder of predictions."""
        key = {name: str(value) for name, value in key_of(row).items()}
        path = None if self._folder is None else self._folder / predictions.file_name(key)
        puzzles = digest_json([[puzzle.id, *puzzle.truth] for puzzle in game.puzzles])[:12]
        if self._recompute:
            if path is None or not path.is_file():
                return f"no predictions: {path}"
            about, answers = predictions.read(path)
            if about.get("cell") != key or about.get("puzzles") != puzzles:
                return f"{path.name} holds predictions of another run"
            return answers
        answers = self._play(cell, game, networks, scores)
        if path is not None:
            weights = "+".join(network.weights for network in networks)
            predictions.write(path, {"cell": key, "puzzles": puzzles, "weights": weights}, answers)
        return answers

    def _play(
        self, cell: Cell, game: Game, networks: list[TrainedNetwork], scores: dict[str, list[np.ndarray]]
    ) -> list[Answer]:
        bar = {"desc": f"{cell.game} {cell.segmentation} {cell.n or ''} {cell.method}", "total": len(game.puzzles)}
        normalised = game.puzzles, *((networks and networks[0].scale) or (self._manifest.mean, self._manifest.std))
        if networks and networks[0].model.name in LISTWISE:
            orders = tqdm(scoring.solve_puzzles(networks[0].model, *normalised), unit="puzzle", leave=False, **bar)
            return [Answer(p.id, p.truth, order) for p, order in zip(game.puzzles, orders, strict=True)]
        name = f"{cell.experiment or cell.method} {cell.seeds}"
        if name not in scores:
            players = [scoring.score_puzzles(network.model, *normalised) for network in networks]
            matrices = zip(*players, strict=True) if players else ([REFERENCES[cell.method](p)] for p in game.puzzles)
            means = (np.mean(matrix, axis=0) for matrix in matrices)
            scores[name] = list(tqdm(means, unit="puzzle", leave=False, **bar))
        rule = {GREEDY: greedy, LIKELIEST: likeliest}.get(cell.method.removeprefix("sen "), best_order)
        return [Answer(p.id, p.truth, rule(s).order, s) for p, s in zip(game.puzzles, scores[name], strict=True)]

    def network(self, name: str, seed: int | None = None) -> TrainedNetwork | str:
        """The best weights of a named run, else those shipped for this music, else what to do."""
        seed = self._seed if seed is None else seed
        if (name, seed) not in self._networks:
            self._networks[name, seed] = self._find_network(name, seed)
        return self._networks[name, seed]

    def _find_network(self, name: str, seed: int) -> TrainedNetwork | str:
        published = experiment(name, preset=self._preset, protocol=self._protocol, seed=seed)
        paths = self._runs.glob("*/*/run.json"), WEIGHTS.glob("*/run.json")
        choices = next(filter(None, (self._runs_of(published, own) for own in paths)), [])
        if not choices:
            flags = f"--experiment={name} --preset={self._preset} --protocol={self._protocol} --seed={seed}"
            places = f"--data={self._manifest.folder} --output={self._runs}"
            places += f" --also=FOLDER (records of {', '.join(published.also)})" if published.also else ""
            return f"no finished run: python -m experiments.train {flags} {places}"
        # As it is published, or else what was trained longest.
        run, folder, facts = max(choices, key=lambda choice: (choice[0].hash == published.hash, choice[0].epochs))
        path = weights_of(folder) or folder / "best.keras"
        try:
            model = read_model(path)
        except ModelError as error:
            return str(error)
        columns = _training(run, facts) | {"differs": run.differences(published)}
        return TrainedNetwork(model, _hash(path), columns)

    def add_network(self, name: str) -> str:
        """Let a network play besides those of the tables: what `djnet.load` takes -> its name in the tables."""
        scorer = load(name)
        folder = scorer.folder or Path()
        if (folder / "run.json").exists():
            run, about = read_run(folder / "run.json")
            method, weights = folder.name, _hash(weights_of(folder) or folder / "best.keras")
            origin = " + ".join([f"{about['corpus']['name']} {about['records'][:8]}", *run.also])
            columns = _training(run, about) | {"preset": run.preset, "seed": run.seed, "trained_on": origin}
        else:
            method, weights = "sen, release", _hash(next(folder.glob("*.data-*")))
            columns = {"preset": "release", "trained_on": "the authors' songs", "seed": "", "run": weights[:8]}
        scale = scorer.mean, scorer.std
        self._networks[method, self._seed] = TrainedNetwork(scorer.model, weights, columns, scale, scorer.window)
        return method

    def _runs_of(self, published: Run, paths: Iterable[Path]) -> list[tuple[Run, Path, dict[str, Any]]]:
        """Finished runs of a row on these records, with their folders and facts."""
        runs = []
        for path in sorted(paths):
            try:
                run, facts = read_run(path)
                if facts["records"] == self._manifest.origin and facts["finished"] and run.row == published.row:
                    runs.append((run, path.parent, facts))
            except UserError as error:
                log.warning("%s It is left out.", error)
        return runs


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def _training(run: Run, about: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row that tell of a run; `about` is what stands in its run.json."""
    return {"run": run.hash, "trained_commit": about.get("commit", ""), "epochs": run.epochs}


def _measured(played: Played) -> dict[str, Any]:
    """The measures of a row."""
    row: dict[str, Any] = {}
    measured = [metrics.evaluate(answer.order, answer.truth) for answer in played.answers]
    for name in measured[0]:
        values = np.array([values[name] for values in measured])
        short = name.removesuffix("_accuracy")
        row[short] = round(float(values.mean()), 4)
        if short != name:
            row[f"{short}_low"], row[f"{short}_high"] = (round(edge, 4) for edge in interval(values, played.tracks))
            row[f"{short}_by_group"] = round(mean_by_group(values, played.groups), 4) if any(played.groups) else ""
    decidable = played.decidable
    row["undecidable"] = int(np.sum(~decidable))
    row["global_decidable"] = round(float(played.solved[decidable].mean()), 4) if decidable.any() else ""
    return row


def _read_recording(sound: Path, annotation: Path, limit: int | None, *features: str) -> tuple[Puzzle, list[Any]]:
    """A puzzle, and what makes it this one."""
    return recording(sound, annotation, limit, *features), fingerprint(sound, annotation, limit)
