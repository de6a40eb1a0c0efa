"""The orders that `make evaluate` kept, puzzle by puzzle, by game and method."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from djnet.errors import UserError
from djnet.networks.models import MODELS
from experiments.predictions import Answer, read

FOLDER = "predictions"
_CUTS = {"fixed": "equal pieces", "downbeat": "cut at downbeats"}
_NETWORK = "downbeat"  # the network that plays recordings, which come in parts: as it was trained


class Game(NamedTuple):
    """Methods that answer the same puzzles; recordings have no cuts of their own."""

    game: str
    segmentation: str
    n: str

    @property
    def name(self) -> str:
        """For people."""
        return ", ".join(filter(None, [self.game.capitalize(), f"{self.n} pieces", _CUTS.get(self.segmentation)]))


Answers = dict[str, dict[str, Answer]]  # by method and puzzle


def find(results: Path, music: Mapping[str, str], trained_on: str, seed: int = 0) -> dict[Game, Answers]:
    """The answers to some music (its hash, by the name of the game), of networks and of the references beside them.

    Only those of networks trained on the named records, of the protocol `isolated` and without gaps: others differ in
    what networks get, not in what is heard.
    """
    found: dict[Game, Answers] = {}
    for path in sorted((results / FOLDER).glob("*.csv")):
        try:
            about, answers = read(path)
            cell = about["cell"]
            game, cut, method = cell["game"], cell["segmentation"], cell["method"]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is damaged ({error}). Remove it and run: make evaluate") from error
        if cell["protocol"] != "isolated" or cell.get("gap") or cell["seed"] not in ("", str(seed)):
            continue
        if cell["corpus_hash"] != music.get(game) or cell["trained_on"] not in ("", trained_on):
            continue
        if game != "jigsaw" and cut not in ("", _NETWORK):
            continue
        key = Game(game, cut if game == "jigsaw" else "", cell["n"])
        found.setdefault(key, {})[method] = {answer.puzzle: answer for answer in answers}
    return found


def best_baseline(answers: Mapping[str, Mapping[str, Answer]]) -> str | None:
    """The trained network, other than SEN, with the most whole orders right."""
    right = {
        method: sum(answer.order == answer.truth for answer in answers[method].values())
        for method in MODELS
        if method != "sen" and method in answers
    }
    return max(right, key=lambda method: right[method], default=None)
