"""Plays the cells of the tables: finds the puzzles and the runs, lets each method answer, and measures the answers."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import joblib
import keras
import numpy as np
from tqdm import tqdm

from djnet import baselines, metrics, scoring
from djnet.constants import seconds_to_hops
from djnet.files import digest_json
from djnet.ordering import best_order, greedy, likeliest
from djnet.pairs import LISTWISE
from djnet.pretrained import WEIGHTS, ModelError, read_model
from djnet.puzzles import Puzzle, corpus_hash, find_recordings, fingerprint, jigsaws, read_about, recording
from djnet.records import Manifest
from experiments import predictions
from experiments.checkpoints import commit
from experiments.configs import Run, experiment
from experiments.predictions import Answer
from experiments.significance import interval, mcnemar
from experiments.tables import GREEDY, LIKELIEST, REFERENCES, Cell, key_of

SECTIONS = 10  # the paper plays the first ten sections of a song
MEASURES = [
    "pairwise", "pairwise_low", "pairwise_high", "global", "global_low", "global_high",
    "undecidable", "global_decidable", "kendall_tau", "longest_run", "position_error",
    "versus", "difference", "p_value",
]  # fmt: skip
MADE_BY = {"sequencing": "make rwc RWC=folder", "medley": "make mixes"}


@dataclass(frozen=True)
class Game:
    """Puzzles with where they come from, or the reason why there are none."""

    puzzles: list[Puzzle] = field(default_factory=list)
    corpus: str = ""
    corpus_hash: str = ""
    reason: str = ""

    @property
    def n(self) -> str:
        """Numbers of fragments: "8", or "7-11"."""
        sizes = sorted({len(puzzle.truth) for puzzle in self.puzzles})
        return "-".join(map(str, dict.fromkeys((sizes[0], sizes[-1])))) if sizes else ""

    @cached_property
    def decidable(self) -> np.ndarray:
        """For each puzzle whether it can be solved for sure: bool [P]."""
        return np.array([puzzle.is_decidable for puzzle in self.puzzles])


@dataclass(frozen=True)
class Network:
    """A trained network and where it comes from."""

    model: keras.Model
    facts: dict[str, Any]
    weights: str  # hash


class Arena:
    """Plays cells on test puzzles with the runs of a folder."""

    def __init__(
        self,
        manifest: Manifest,
        runs: Path,
        preset: str = "compact",
        protocol: str = "isolated",
        seed: int = 0,
        limit: int = 1000,
        recordings: dict[str, Path] | None = None,
        answers: Path | None = None,
        recompute: bool = False,
        test: Manifest | None = None,
    ):
        """`recordings`: a folder for each game that is not the jigsaw; `answers`: where predictions are kept.

        Jigsaws are cut from the test split of the records that runs were trained on, or of other records, `test`.
        """
        self._manifest, self._runs, self._test = manifest, runs, test or manifest
        self._preset, self._protocol, self._seed, self._limit = preset, protocol, seed, limit
        self._recordings, self._folder, self._recompute = recordings or {}, answers, recompute
        self._games: dict[tuple[str, str, int, float], Game] = {}
        self._networks: dict[str, Network | str] = {}
        self._answered: dict[Cell, list[Answer]] = {}
        self._scores: dict[tuple[str, str, str, int, float], list[np.ndarray]] = {}

    @cached_property
    def _commit(self) -> str:
        return commit()

    def play(self, cells: list[Cell]) -> list[dict[str, Any]]:
        """A row for every cell; a cell that cannot be played is empty and says why."""
        for cell in cells:  # what is wrong with the recordings is said before anything is played
            self.game(cell)
        played = [self._row(cell) for cell in cells]
        solved = {
            (cell.group, cell.method, cell.segmentation): right for cell, (_, right) in zip(cells, played, strict=True)
        }
        for cell, (row, right) in zip(cells, played, strict=True):
            other = solved.get((cell.group, *cell.rival))
            if right is not None and other is not None and len(right) == len(other) and right is not other:
                row["versus"] = " ".join(filter(None, cell.rival))
                row["difference"] = round(float(right.mean() - other.mean()), 4)
                row["p_value"] = round(mcnemar(right, other), 6)
        return [row for row, _ in played]

    def answers(self, cell: Cell) -> list[Answer] | None:
        """The answers to a cell that was played; nothing if it could not be."""
        return self._answered.get(cell)

    def game(self, cell: Cell) -> Game:
        """The puzzles of a cell."""
        key = cell.group
        if key not in self._games:
            self._games[key] = self._jigsaws(cell) if cell.game == "jigsaw" else self._recorded(cell.game)
        return self._games[key]

    def _jigsaws(self, cell: Cell) -> Game:
        _, cut, n, gap = cell.group
        found = list(jigsaws(self._test, "test", cut, n, self._protocol, seconds_to_hops(gap), self._limit))
        corpus = self._test.content["corpus"]
        reason = "" if found else f"no test clips for {cut} cuts, n = {n}"
        return Game(found, corpus["name"], corpus["hash"][:12], reason)

    def _recorded(self, game: str) -> Game:
        """Sections of songs, or the clips of medleys, from a folder of recordings with annotations."""
        folder = self._recordings.get(game)
        if folder is None or not folder.is_dir():
            return Game(reason=f"no recordings: {MADE_BY[game]}")
        if self._protocol != "isolated":
            return Game(reason="the parts of recordings are always cut first (isolated)")
        files = find_recordings(folder)[: self._limit]
        limit = SECTIONS if game == "sequencing" else None
        work = (joblib.delayed(_listen)(sound, annotation, limit) for sound, annotation in files)
        heard = joblib.Parallel(joblib.cpu_count(), prefer="threads", return_as="generator")(work)
        found = list(tqdm(heard, desc=f"listen, {game}", total=len(files), unit="recording", leave=False))
        return Game([puzzle for puzzle, _ in found], read_about(folder)["name"], corpus_hash([one for _, one in found]))

    def _row(self, cell: Cell) -> tuple[dict[str, Any], np.ndarray | None]:
        """A row, and for each puzzle whether it was solved."""
        game = self.game(cell)
        row: dict[str, Any] = {
            "game": cell.game,
            "segmentation": cell.segmentation,
            "n": game.n or (cell.n or ""),
            "gap": cell.gap or "",
            "method": cell.method,
            "protocol": self._protocol,
            "preset": self._preset if cell.experiment else "",
            "corpus": game.corpus,
            "corpus_hash": game.corpus_hash,
            "trained_on": self._trained_on(cell.experiment) if cell.experiment else "",
            "seed": self._seed if cell.experiment else "",
            "puzzles": len(game.puzzles),
            **dict.fromkeys(MEASURES, ""),
            "chance_global": round(float(np.mean([1 / _factorial(len(p.truth)) for p in game.puzzles] or [0])), 6),
            "paper_pairwise": cell.paper[0] if cell.paper else "",
            "paper_global": cell.paper[1] if cell.paper else "",
            "commit": self._commit,
            "trained_commit": "",
            "passes": "",
            "reason": game.reason,
        }
        if game.reason:
            return row, None
        answers = self._answers(cell, game, row)
        if isinstance(answers, str):
            return row | {"reason": answers}, None
        self._answered[cell] = answers
        measured = [metrics.evaluate(answer.order, answer.truth) for answer in answers]
        for name in measured[0]:
            values = np.array([values[name] for values in measured])
            short = name.removesuffix("_accuracy")
            row[short] = round(float(values.mean()), 4)
            if short != name:
                row[f"{short}_low"], row[f"{short}_high"] = (round(edge, 4) for edge in interval(values))
        right = np.array([values["global_accuracy"] for values in measured])
        row["undecidable"] = int(np.sum(~game.decidable))
        row["global_decidable"] = round(float(right[game.decidable].mean()), 4) if game.decidable.any() else ""
        return row, right

    def _trained_on(self, name: str) -> str:
        return " + ".join([self._manifest.name, *experiment(name).also])

    def _answers(self, cell: Cell, game: Game, row: dict[str, Any]) -> list[Answer] | str:
        """An answer to every puzzle, or the reason why there are none; the row learns which weights gave them."""
        key = {name: str(value) for name, value in key_of(row).items()}
        path = None if self._folder is None else self._folder / predictions.file_name(key)
        puzzles = digest_json([[puzzle.id, *puzzle.truth] for puzzle in game.puzzles])[:12]
        if self._recompute:
            if path is None or not path.is_file():
                return f"no predictions: {path}"
            about, answers = predictions.read(path)
            if about.get("cell") != key or about.get("puzzles") != puzzles:
                return f"{path.name} holds predictions of another run"
            row |= {name: about.get(name, "") for name in ("trained_commit", "passes")}
            return answers
        about = {"cell": key, "puzzles": puzzles, "weights": "", "trained_commit": "", "passes": ""}
        if cell.method not in REFERENCES:
            network = self.network(cell.experiment)
            if isinstance(network, str):
                return network
            training = {"trained_commit": network.facts["commit"], "passes": network.facts["run"]["epochs"]}
            about |= {"weights": network.weights, **training}
            row |= training
        answers = self._play(cell, game)
        if path is not None:
            predictions.write(path, about, answers)
        return answers

    def _play(self, cell: Cell, game: Game) -> list[Answer]:
        bar = {"desc": f"{cell.game} {cell.segmentation} {game.n} {cell.method}", "total": len(game.puzzles)}
        network = None if cell.method in REFERENCES else self.network(cell.experiment)
        if isinstance(network, Network) and network.model.name in LISTWISE:
            orders = scoring.solve_puzzles(network.model, game.puzzles, self._manifest.mean, self._manifest.std)
            watched = tqdm(orders, unit="puzzle", leave=False, **bar)
            return [Answer(p.id, p.truth, order) for p, order in zip(game.puzzles, watched, strict=True)]
        if network is None:
            score = baselines.chance if cell.method == "random" else baselines.continuity
            scores = [score(puzzle) for puzzle in game.puzzles]
        else:
            assert isinstance(network, Network)
            key = (cell.experiment, *cell.group)
            if key not in self._scores:
                found = scoring.score_puzzles(network.model, game.puzzles, self._manifest.mean, self._manifest.std)
                self._scores[key] = list(tqdm(found, unit="puzzle", leave=False, **bar))
            scores = self._scores[key]
        rule = {GREEDY: greedy, LIKELIEST: likeliest}.get(cell.method.removeprefix("sen "), best_order)
        return [Answer(p.id, p.truth, rule(s).order, s) for p, s in zip(game.puzzles, scores, strict=True)]

    def network(self, name: str) -> Network | str:
        """The best weights of a named run, else those shipped for this music, else what to do."""
        if name not in self._networks:
            self._networks[name] = self._find_network(name)
        return self._networks[name]

    def _find_network(self, name: str) -> Network | str:
        run = experiment(name, preset=self._preset, protocol=self._protocol, seed=self._seed)
        found = self._runs_of(run, self._runs.glob("*/*/run.json")) or self._runs_of(run, WEIGHTS.glob("*/run.json"))
        if not found:
            flags = f"--experiment={name} --preset={self._preset} --protocol={self._protocol} --seed={self._seed}"
            places = f"--data={self._manifest.folder} --output={self._runs}"
            places += f" --also=FOLDER (records of {', '.join(run.also)})" if run.also else ""
            return f"no finished run: python -m experiments.train {flags} {places}"
        _, folder, facts = max(found, key=lambda item: item[:2])  # the one that was trained longest
        with open(folder / "best.keras", "rb") as file:
            weights = hashlib.file_digest(file, "sha256").hexdigest()[:12]
        try:
            return Network(read_model(folder / "best.keras"), facts, weights)
        except ModelError as error:
            return str(error)

    def _runs_of(self, run: Run, paths: Iterable[Path]) -> list[tuple[int, Path, dict[str, Any]]]:
        """Finished runs of this row on these records: epochs, folder, facts."""
        return [
            (facts["run"]["epochs"], path.parent, facts)
            for path in sorted(paths)
            if (facts := json.loads(path.read_text(encoding="ascii")))["records"] == self._manifest.origin
            and facts["finished"]
            and Run.from_json(facts["run"]).row == run.row
        ]


def _listen(sound: Path, annotation: Path, limit: int | None) -> tuple[Puzzle, list[Any]]:
    """A puzzle, and what makes it this one."""
    return recording(sound, annotation, limit), fingerprint(sound, annotation, limit)


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1.0, n + 1)))
