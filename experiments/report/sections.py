"""The parts of the report that sound: puzzles to hear, puzzles to play, and the listening test."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from djnet import audio, baselines, keys, spec, tempo
from djnet.fragments import cut_frames
from djnet.ordering import best_order
from djnet.records import Clip, Manifest
from experiments.report import predictions, puzzles, trials
from experiments.report.maps import Maps
from experiments.report.sound import Sounds
from experiments.report.sources import Source

HEAR_PUZZLES = 12  # a game
PLAY_CLIPS = 12
TEST_TRACKS = 20
NAMES = {"sen": "SEN", "continuity": "Continuity"}


@dataclass(frozen=True)
class Audible:
    """A clip of the test split whose recording is here and may be heard."""

    clip: Clip
    source: Source

    def sound(self, sounds: Sounds) -> str:
        """Put what the clip's record covers on the page: -> its key."""
        return sounds.add(self.source, *puzzles.sound_span(self.clip))

    @property
    def labels(self) -> dict[str, str]:
        """What the page says of the recording."""
        return {"title": self.source.title, "credit": self.source.credit, "licence": self.source.licence}


def audible_clips(manifest: Manifest, find: Callable[[str], Source | None]) -> list[Audible]:
    """The clips of the test split that may be heard, a clip of every track first, then a second one, and so on."""
    tracks: dict[str, list[Audible]] = {}
    for clip in manifest.read_clips("test"):
        known = tracks.get(clip.track)
        source = known[0].source if known else find(clip.track)
        if source is not None:
            tracks.setdefault(clip.track, []).append(Audible(clip, source))
    turns = itertools.zip_longest(*tracks.values())
    return [clip for turn in turns for clip in turn if clip is not None]


def hear(
    clips: Sequence[Audible],
    games: Mapping[predictions.Game, Sequence[predictions.Prediction]],
    sounds: Sounds,
    maps: Maps,
    similarity: Callable[[str, Sequence[np.ndarray]], list[list[np.ndarray]]],
) -> list[dict[str, Any]]:
    """A dozen puzzles of each game with the answers of SEN, the best other network and continuity.

    Only of the protocol `isolated`: what is heard is the same under both.
    """
    found = []
    for game in tqdm(sorted(game for game in games if game.protocol == "isolated"), desc="hear", unit="game"):
        answered = predictions.by_puzzle(games[game])
        baseline = predictions.best_baseline(games[game])
        shown = []
        for one in (clip for clip in clips if "sen" in answered.get(clip.clip.id, ())):
            puzzle = _hear_one(one, game, answered[one.clip.id], baseline, similarity)
            if puzzle is not None:
                matrices = puzzle.pop("matrices")
                shown.append(puzzle | {"sound": one.sound(sounds), "map": maps.add(matrices, game, one.clip.id)})
            if len(shown) == HEAR_PUZZLES:
                break
        if shown:
            found.append({"name": game.name, "remark": _remark(game, baseline), "puzzles": shown})
    return found


def _hear_one(
    one: Audible,
    game: predictions.Game,
    answers: Mapping[str, predictions.Prediction],
    baseline: str | None,
    similarity: Callable[[str, Sequence[np.ndarray]], list[list[np.ndarray]]],
) -> dict[str, Any] | None:
    """One puzzle, or nothing if its clip is cut in another way than when it was answered."""
    recorded = one.clip.segmentations.get(f"{game.segmentation}/{game.n}")
    sen = answers["sen"]
    if recorded is None:
        return None
    puzzle = puzzles.puzzle_of(one.clip, recorded.cuts)
    if puzzle.truth != sen.truth:
        return None
    orders = {method: answers[method].order for method in ("sen", baseline or "") if method in answers}
    continuity = answers.get("continuity")
    orders["continuity"] = continuity.order if continuity else best_order(baselines.continuity(puzzle)).order
    playable = {
        "id": one.clip.id,
        "cuts": puzzles.seconds_of(recorded.cuts),
        "truth": list(puzzle.truth),
        "answers": [puzzles.answer(NAMES.get(name, name.upper()), order) for name, order in orders.items()],
        "matrices": similarity(game.segmentation, puzzle.fragments),
    }
    if sen.scores is not None:
        playable["scores"] = puzzles.rounded(sen.scores)
    return playable | one.labels


def _remark(game: predictions.Game, baseline: str | None) -> str:
    if baseline:
        return f"The best other network in this game is {baseline.upper()}."
    train = f"python -m experiments.train --experiment=table3/{game.segmentation}/cin"
    return f"No other network was trained for this game yet: {train}, then make evaluate report."


def play(clips: Sequence[Audible], sounds: Sounds, scores: Mapping[str, puzzles.Scores]) -> list[dict[str, Any]]:
    """Games for people: each clip cut into 3 to 8 pieces, equally and at downbeats."""
    found = []
    for one in tqdm(clips[:PLAY_CLIPS], desc="play", unit="clip"):
        sound = one.sound(sounds)
        for cut, n in itertools.product(scores, puzzles.SIZES):
            puzzle = puzzles.play_with(one.clip, sound, cut, n, scores[cut])
            if puzzle is not None:
                found.append(puzzle | one.labels)
    return found


def listening_test(clips: Iterable[Audible], sounds: Sounds, score: puzzles.Scores) -> dict[str, Any] | None:
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
    samples = audio.load(one.source.path, *puzzles.sound_span(one.clip))
    seconds = puzzles.seconds_of(cuts)
    for number, mel in enumerate(cut_frames(one.clip.mel, cuts)):
        start, end = seconds[number : number + 2]
        own = samples[cuts[number] * spec.HOP_SAMPLES : cuts[number + 1] * spec.HOP_SAMPLES]
        chroma = librosa.feature.chroma_stft(y=own, sr=spec.SAMPLE_RATE_HZ, tuning=0.0).mean(axis=1)
        times = one.clip.beats[:, 0]
        yield trials.Piece(
            track=one.clip.track,
            sound=one.sound(sounds),
            start=start,
            end=end,
            mel=mel.astype(np.float32),
            bpm=tempo.bpm(one.clip.beats[(times >= start) & (times <= end)]),
            key=keys.key_of(chroma),
        )
