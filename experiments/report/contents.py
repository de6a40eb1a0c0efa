"""The parts of the report that sound: puzzles to hear, puzzles to play, and the listening test."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from djnet import audio, baselines, constants
from djnet.cuts import cut_frames
from djnet.medley import keys, tempo
from djnet.ordering import best_order
from djnet.pages import playable
from experiments.predictions import Answer
from experiments.report import audible
from experiments.report import listening_test as trials
from experiments.report.answers import Answers, Game, best_baseline
from experiments.report.audible import Audible, Riddle
from experiments.report.recordings import Tracks
from experiments.report.similarity import Maps
from experiments.report.sounds import Sounds

HEAR_PUZZLES = 12  # a game
PLAY_CLIPS = 12
TEST_TRACKS = 20
NAMES = {"sen": "SEN", "continuity": "Continuity"}

Similarity = Callable[[str, Sequence[np.ndarray]], list[list[np.ndarray]]]  # where pieces are cut, pieces -> matrices


def hear(
    clips: Sequence[Audible],
    games: Mapping[Game, Answers],
    data: Path,
    tracks: Tracks,
    sounds: Sounds,
    maps: Maps,
    similarity: Similarity,
) -> tuple[list[dict[str, Any]], list[str]]:
    """A dozen puzzles of each game with the answers of SEN, the best other network and continuity.

    Also the games that SEN has played but nobody may hear.
    """
    found, silent = [], []
    for game in tqdm(sorted(game for game in games if "sen" in games[game]), desc="hear", unit="game"):
        answers = games[game]
        if game.game == "jigsaw":
            found_puzzles = audible.jigsaws(clips, game.segmentation, int(game.n))
        else:
            found_puzzles = audible.recordings(game.game, data, tracks)
        answered = (riddle for riddle in found_puzzles if _fits(riddle, answers["sen"].get(riddle.puzzle.id)))
        baseline = best_baseline(answers)
        shown = []
        for riddle in itertools.islice(answered, HEAR_PUZZLES):
            matrices = similarity(game.segmentation or "downbeat", riddle.puzzle.fragments)
            places = {"sound": riddle.sound(sounds), "map": maps.add(matrices, game, riddle.puzzle.id)}
            shown.append(_answered(riddle, answers, baseline) | places)
        if shown:
            found.append({"name": game.name, "remark": _remark(game, baseline), "puzzles": shown})
        else:
            silent.append(game.name)
    return found, silent


def _fits(riddle: Riddle, answer: Answer | None) -> bool:
    """Whether the puzzle that was answered is this one."""
    return answer is not None and answer.truth == riddle.puzzle.truth


def _answered(riddle: Riddle, answers: Answers, baseline: str | None) -> dict[str, Any]:
    """A puzzle for the page, and what the methods made of it."""
    puzzle = riddle.puzzle
    given = {
        method: answers[method].get(puzzle.id) for method in ("sen", baseline or "", "continuity") if method in answers
    }
    orders = {method: answer.order for method, answer in given.items() if answer is not None}
    orders.setdefault("continuity", best_order(baselines.continuity(puzzle)).order)
    found = {
        "id": puzzle.id,
        "cuts": riddle.cuts,
        "truth": list(puzzle.truth),
        "answers": [playable.answer(NAMES.get(method, method.upper()), order) for method, order in orders.items()],
    }
    scores = answers["sen"][puzzle.id].scores
    return found | riddle.source.labels | ({} if scores is None else {"scores": playable.rounded(scores)})


def _remark(game: Game, baseline: str | None) -> str:
    if baseline:
        return f"The best other network in this game is {baseline.upper()}."
    if game.game != "jigsaw":
        return ""
    train = f"python -m experiments.train --experiment=table3/{game.segmentation}/cin"
    return f"No other network was trained for this game yet: {train}, then make evaluate report."


def play(clips: Sequence[Audible], sounds: Sounds, scores: Mapping[str, playable.Scores]) -> list[dict[str, Any]]:
    """Games for people: each clip cut into 3 to 8 pieces, equally and at downbeats."""
    found = []
    for one in tqdm(clips[:PLAY_CLIPS], desc="play", unit="clip"):
        sound = one.sound(sounds)
        for cut, n in itertools.product(scores, playable.SIZES):
            puzzle = playable.play_with(one.clip, sound, cut, n, scores[cut])
            if puzzle is not None:
                found.append(puzzle | one.source.labels)
    return found


def listening_test(clips: Iterable[Audible], sounds: Sounds, score: playable.Scores) -> dict[str, Any] | None:
    """The listening test from pieces of these clips, or nothing if there are too few recordings."""
    firsts: dict[str, Audible] = {}
    for one in clips:
        if "downbeat/3" in one.clip.segmentations:
            firsts.setdefault(one.clip.track, one)
    if len(firsts) < trials.PIECES:
        return None
    chosen = list(firsts.values())[:TEST_TRACKS]
    pieces = [piece for one in tqdm(chosen, desc="listening test", unit="track") for piece in _pieces(one, sounds)]
    return trials.listening_test(pieces, score)


def _pieces(one: Audible, sounds: Sounds) -> Iterator[trials.Piece]:
    """A clip's three pieces of about eight seconds, from downbeat to downbeat."""
    import librosa

    cuts = one.clip.segmentations["downbeat/3"].cuts
    samples = audio.load(one.source.path, *playable.sound_span(one.clip))
    seconds, times = playable.seconds_of(cuts), one.clip.beats[:, 0]
    for number, mel in enumerate(cut_frames(one.clip.mel, cuts)):
        start, end = seconds[number : number + 2]
        own = samples[cuts[number] * constants.HOP_SAMPLES : cuts[number + 1] * constants.HOP_SAMPLES]
        chroma = librosa.feature.chroma_stft(y=own, sr=constants.SAMPLE_RATE_HZ, tuning=0.0).mean(axis=1)
        yield trials.Piece(
            track=one.clip.track,
            sound=one.sound(sounds),
            start=start,
            end=end,
            mel=mel.astype(np.float32),
            bpm=tempo.bpm(one.clip.beats[(times >= start) & (times <= end)]),
            key=keys.key_of(chroma),
        )
