"""Which part of every song plays, in which order, and how they are joined."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from djnet.errors import UserError
from djnet.medley.analysis import Song
from djnet.medley.join_score import JoinScores, Scorer, score_joins
from djnet.medley.parts import Part, candidates, possible_lengths
from djnet.medley.search import Constraints, Solution, second_best, solve
from djnet.medley.transitions import Asked, Join, Segment, lay_out
from djnet.medley.whole import whole, with_ends

_FITNESS = 0.05  # what one unit less of a part's fitness costs at each of its joins, in score
_TOTAL_TRIES = 4
_USUAL_SECONDS = 16.0  # of a song whose start is set, while others play whole


@dataclass(frozen=True)
class Options:
    """Seconds of each song or of the whole medley, bars of a blend, parts to choose from, settings by song number.

    With a length of None songs play whole.

    `order` names the weights of a join's terms, see `join_score.WEIGHTS`; `joins` says what is asked of the join from
    one song to another.
    """

    length: float | None = 16.0
    total: float | None = None
    bars: int = 2
    candidates: int = 3
    settings: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    order: str = "mix"
    joins: Mapping[tuple[int, int], Asked] = field(default_factory=dict)


@dataclass(frozen=True)
class Arrangement:
    """Parts in their order with the joins between them and their scores, and what else could have been.

    `terms` says what each score is made of; `percentiles` where the network's score of a join lies among all joins of
    different songs.
    """

    parts: list[Part]
    joins: list[Join]
    scores: list[float]
    terms: list[dict[str, float]]
    percentiles: list[float]
    solution: Solution
    second: Solution | None
    costs: dict[str, float]  # of each constraint, in score
    asked: list[Asked]  # of each join

    @property
    def seconds(self) -> float:
        """How long the medley will be."""
        begin = self.joins[-1].start if self.joins else 0.0
        return begin + self.parts[-1].end - self.parts[-1].start


def validate(constraints: Constraints, paths: Sequence[str]) -> None:
    """A UserError names the files of songs whose constraints contradict each other."""
    try:
        constraints.validate(len(paths))
    except ValueError as error:
        named = re.sub(r"\b(?:[Pp]iece )?(\d+)\b", lambda match: repr(Path(paths[int(match[1])]).stem), str(error))
        raise UserError(named) from error


def arrange(songs: Sequence[Song], scorer: Scorer, constraints: Constraints, options: Options) -> Arrangement:
    """The best parts in their best order; for a total length, the nearest of a few tries."""
    total = options.total
    if total is None:
        return _arranged(songs, [options.length] * len(songs), scorer, constraints, options)
    possible = [possible_lengths(song) for song in songs]
    tries, wanted = [], total
    for _ in range(_TOTAL_TRIES):
        lengths: list[float] = []
        for i, choices in enumerate(possible):  # each song takes over what the ones before left
            share = (wanted - sum(lengths)) / (len(songs) - i)
            lengths.append(float(choices[np.abs(choices - share).argmin()]))
        tries.append(_arranged(songs, lengths, scorer, constraints, options))
        wanted += total - tries[-1].seconds
    return min(tries, key=lambda arrangement: abs(arrangement.seconds - total))


def _arranged(
    songs: Sequence[Song], lengths: Sequence[float | None], scorer: Scorer, constraints: Constraints, options: Options
) -> Arrangement:
    parts = [
        [whole(song)]
        if seconds is None and not options.settings.get(i)
        else candidates(song, seconds or _USUAL_SECONDS, options.candidates, **options.settings.get(i, {}))
        for i, (song, seconds) in enumerate(zip(songs, lengths, strict=True))
    ]
    return arrange_parts(parts, scorer, constraints, options)


def arrange_parts(
    parts: Sequence[Sequence[Part]], scorer: Scorer, constraints: Constraints, options: Options
) -> Arrangement:
    """The best order of songs and the best of the parts that each song offers, the one that stands for it best first.

    Of the options, bars, order and joins count, and whether songs play whole.
    """
    plays_whole = options.length is None and options.total is None
    if len(parts) == 1:
        return as_given(with_ends(list(parts[0])) if plays_whole else parts[0][:1], scorer, options)
    songs = [own[0].song for own in parts]
    joins = score_joins(list(itertools.chain(*parts)), scorer, options.bars, options.order, _by_path(songs, options))
    scores = _with_fitness(parts, joins)
    solution = solve(scores, constraints)
    costs = {name: max(0.0, solve(scores, free).value - solution.value) for name, free in constraints.relaxed()}
    chosen = [parts[song][part] for song, part in zip(solution.order, solution.parts, strict=True)]
    chosen = with_ends(chosen) if plays_whole else chosen
    first = np.cumsum([0, *map(len, parts)])
    pairs = list(itertools.pairwise(first[list(solution.order)] + solution.parts))
    second = second_best(scores, solution, constraints)
    return _placed(chosen, joins, pairs, options, solution, second, costs)


def as_given(parts: Sequence[Part], scorer: Scorer, options: Options) -> Arrangement:
    """The given parts of different songs in the given order; of the options, bars, order and joins count."""
    order = tuple(range(len(parts)))
    if len(parts) == 1:
        return Arrangement(list(parts), [], [], [], [], Solution((0,), (0,), 0.0, 0.0), None, {}, [])
    songs = [part.song for part in parts]
    joins = score_joins(parts, scorer, options.bars, options.order, _by_path(songs, options))
    pairs = list(itertools.pairwise(order))
    value = float(sum(joins.total[pair] for pair in pairs))
    return _placed(parts, joins, pairs, options, Solution(order, (0,) * len(parts), value, np.inf), None, {})


def _placed(
    parts: Sequence[Part],
    joins: JoinScores,
    pairs: Sequence[tuple[int, int]],
    options: Options,
    solution: Solution,
    second: Solution | None,
    costs: dict[str, float],
) -> Arrangement:
    """Parts with their joins: `pairs` are the numbers of every two neighbours among all parts that were scored."""
    silent = np.zeros((0, 2), np.float32)
    asked = [options.joins.get(pair, Asked()) for pair in itertools.pairwise(solution.order)]
    _, placed = lay_out([Segment(silent, part.start, part.end, part.beats) for part in parts], options.bars, asked)
    return Arrangement(
        list(parts),
        placed,
        [float(joins.total[pair]) for pair in pairs],
        [{name: float(values[pair]) for name, values in joins.terms.items()} for pair in pairs],
        [float(joins.percentile[pair]) for pair in pairs],
        solution,
        second,
        costs,
        asked,
    )


def _by_path(songs: Sequence[Song], options: Options) -> dict[tuple[str, str], Asked]:
    """What is asked of joins, by the paths of their songs."""
    return {(songs[a].path, songs[b].path): wish for (a, b), wish in options.joins.items()}


def _with_fitness(options: Sequence[Sequence[Part]], joins: JoinScores) -> np.ndarray:
    """Scores by song and part, less for parts that stand for their song less well: -> [n, c, n, c].

    Parts that there are not score -inf.
    """
    places = np.array([(song, part) for song, parts in enumerate(options) for part in range(len(parts))])
    loss = np.array([_FITNESS * (parts[0].fitness - part.fitness) for parts in options for part in parts])
    song, part = places.T
    scores = np.full([len(options), max(map(len, options))] * 2, -np.inf)
    scores[song[:, None], part[:, None], song, part] = np.nan_to_num(joins.total) - loss[:, None] - loss
    return scores
