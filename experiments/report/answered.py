"""Puzzles with the answers that `make evaluate` kept, to be heard on the page."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from djnet import baselines
from djnet.errors import UserError
from djnet.networks.models import MODELS
from djnet.ordering import best_order
from djnet.pages.puzzles import page_data
from djnet.scoring import similarity_matrices
from experiments import predictions
from experiments.report.music import Music, PuzzleWithMusic

FOLDER = "predictions"
PUZZLES = 12  # a game
_CUTS = {"fixed": "equal pieces", "downbeat": "cut where a bar begins"}
_GAMES = {"jigsaw": "A clip of 24 seconds", "sequencing": "A song in its sections", "medley": "A medley of songs"}
_NETWORK = "downbeat"  # the network that plays recordings, which come in parts: as it was trained
_NAMES = {"sen": "SEN", "continuity": "Continuity"}

Answers = dict[str, dict[str, predictions.Answer]]  # by method and puzzle


class Variant(NamedTuple):
    """A game whose methods all answer the same puzzles; recordings have no segmentation."""

    game: str
    segmentation: str
    n: str

    @property
    def name(self) -> str:
        """For people."""
        return ", ".join(filter(None, [_GAMES[self.game], f"{self.n} pieces", _CUTS.get(self.segmentation)]))


Variants = dict[Variant, Answers]


def read_answers(results: Path, corpora: Mapping[str, str], trained_on: str) -> Variants:
    """The answers to some music (its hash, by the name of the game), of networks and of the references beside them.

    Only those of networks trained on the named records, with seed 0, the protocol `centred` and no gaps: others
    differ in what networks get, not in what people hear.
    """
    variants: Variants = {}
    for path in sorted((results / FOLDER).glob("*.csv")):
        try:
            about, given = predictions.read(path)
            cell = about["cell"]
            game, cut, method = cell["game"], cell["segmentation"], cell["method"]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is damaged ({error}). Remove it and run: make evaluate") from error
        if cell["protocol"] != "centred" or cell.get("gap") or cell["seed"] not in ("", "0"):
            continue
        if cell["corpus_hash"] != corpora.get(game) or cell["trained_on"] not in ("", trained_on):
            continue
        if game == "jigsaw" or cut in ("", _NETWORK):
            variant = Variant(game, cut if game == "jigsaw" else "", cell["n"])
            variants.setdefault(variant, {})[method] = {answer.puzzle: answer for answer in given}
    return variants


def best_baseline(answers: Answers) -> str | None:
    """The trained network, other than SEN, with the most whole orders right."""
    rivals = [method for method in MODELS if method != "sen" and method in answers]
    solved = {method: sum(answer.order == answer.truth for answer in answers[method].values()) for method in rivals}
    return max(rivals, key=solved.__getitem__, default=None)


def answered_puzzles(music: Music, variants: Variants) -> tuple[list[dict[str, Any]], list[str]]:
    """A dozen puzzles of each game with the answers of SEN, the best other network and continuity.

    Also the names of the games that SEN has played but whose music may not be published.
    """
    shown, unpublished = [], []
    for variant in tqdm(sorted(one for one in variants if "sen" in variants[one]), desc="hear", unit="game"):
        answers = variants[variant]
        if variant.game == "jigsaw":
            candidates = music.jigsaws(variant.segmentation, int(variant.n))
        else:
            candidates = music.recordings(variant.game)
        truths = {puzzle: answer.truth for puzzle, answer in answers["sen"].items()}
        answered = (one for one in candidates if truths.get(one.puzzle.id) == one.puzzle.truth)
        baseline = best_baseline(answers)
        puzzles = [_page_data(music, variant, one, answers, baseline) for one in itertools.islice(answered, PUZZLES)]
        if puzzles:
            game = {"name": variant.name, "segmentation": variant.segmentation, "baseline": baseline}
            shown.append(game | {"puzzles": puzzles})
        else:
            unpublished.append(variant.name)
    return shown, unpublished


def _page_data(
    music: Music, variant: Variant, one: PuzzleWithMusic, answers: Answers, baseline: str | None
) -> dict[str, Any]:
    """A puzzle for the page, with its sound, its similarity matrices and what the methods made of it."""
    puzzle, scorer = one.puzzle, music.scorers[variant.segmentation or _NETWORK]
    methods = [method for method in ("sen", baseline or "", "continuity") if puzzle.id in answers.get(method, {})]
    orders = {method: answers[method][puzzle.id].order for method in methods}
    orders.setdefault("continuity", best_order(baselines.continuity(puzzle)).order)
    named = {_NAMES.get(method, method.upper()): order for method, order in orders.items()}
    matrices = similarity_matrices(scorer.model, [(piece - scorer.mean) / scorer.std for piece in puzzle.fragments])
    return page_data(puzzle, one.spans, named, answers["sen"][puzzle.id].scores) | {
        "sound": music.assets.add_sound(one.recording, *one.span),
        "picture": music.assets.add_picture(matrices, *variant, puzzle.id),
        **one.recording.labels,
    }
