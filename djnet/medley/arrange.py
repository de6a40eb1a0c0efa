"""Which part of every song plays, in which order, and how they are joined."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from djnet.errors import UserError
from djnet.medley.analysis import Song
from djnet.medley.energy import arc_scores, energies
from djnet.medley.join_score import JoinScores, Scorer, score_joins
from djnet.medley.parts import Part, candidates, ends, possible_lengths
from djnet.medley.search import Constraints, Places, Solution, second_best, solve, value_at
from djnet.medley.transitions import Asked, Join, Segment, lay_out
from djnet.medley.whole import whole, with_ends
from djnet.ordering import EXACT_LIMIT

_FITNESS = 0.1  # what one unit less of a part's fitness costs, in score
_CLEARLY = 0.03  # what another part than the best must gain besides, at its joins, to be played
_SEMITONES = (0, -1, 1)  # that a part may be transposed by; it must gain as clearly by that
_ENDS = 0.03  # what a medley gains that begins with an opening, and as much with an ending
_TOTAL_TRIES = 4
_USUAL_SECONDS = 16.0  # of a song whose start is set, while others play whole


@dataclass(frozen=True)
class Options:
    """Seconds of each song or of the whole medley, bars of a blend, parts to choose from, settings by song number.

    With a length of None songs play whole.

    `order` names the weights of a join's terms, see `join_score.WEIGHTS`; `joins` says what is asked of the join from
    one song to another. `arc` is how energy shall go, see `energy.ARCS`. With `repitch`, parts may be transposed.
    """

    length: float | None = 16.0
    total: float | None = None
    bars: int = 2
    candidates: int = 3
    settings: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    order: str = "mix"
    joins: Mapping[tuple[int, int], Asked] = field(default_factory=dict)
    arc: str | None = None
    repitch: bool = False


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
    costs: dict[str, float]  # of each constraint and each other wish, in score
    asked: list[Asked]  # of each join
    offered: Sequence[Sequence[Part]] = ()  # the parts of every song that might have played, the best first
    energies: Sequence[float] = ()  # of the parts, if there is an arc

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
    if options.candidates > 1 and len(songs) > 1 and None not in lengths:
        parts = [_with_ends(own, i, len(songs), constraints, options) for i, own in enumerate(parts)]
    return arrange_parts(parts, scorer, constraints, options)


def _with_ends(own: list[Part], song: int, count: int, constraints: Constraints, options: Options) -> list[Part]:
    """The parts of a song, with its opening and its ending where they may play.

    Of many songs, only those that are known to be first or last, because every part more is joined with all others.
    """
    edges = {"first": constraints.first, "last": constraints.last}
    if constraints.keep_order and not constraints.drop:
        edges = {"first": 0, "last": count - 1}
    if options.settings.get(song):
        return own
    allowed = [name for name, only in edges.items() if only == song or (only is None and count <= EXACT_LIMIT)]
    return own + [part for part in ends(own[0]) if part.only in allowed]


def arrange_parts(
    parts: Sequence[Sequence[Part]], scorer: Scorer, constraints: Constraints, options: Options
) -> Arrangement:
    """The best order of songs and the best of the parts that each song offers, the one that stands for it best first.

    Of the options, bars, order and joins count, and whether songs play whole.
    """
    plays_whole = options.length is None and options.total is None
    offered, parts = parts, [_transposed(own, options.repitch and len(parts) > 1) for own in parts]
    if len(parts) == 1:
        return as_given(with_ends(list(parts[0])) if plays_whole else parts[0][:1], scorer, options)
    flat, songs = list(itertools.chain(*parts)), [own[0].song for own in parts]
    joins = score_joins(flat, scorer, options.bars, options.order, _by_path(songs, options))
    scores, plain = _by_song(parts, joins.total), _places(parts, None)
    places = _places(parts, options.arc)
    solution = solve(scores, constraints, places)
    costs = {name: solve(scores, free, places).value - solution.value for name, free in constraints.relaxed()}
    if options.arc:
        value = value_at(scores, plain(len(solution.order)), solution)
        costs["arc"] = solve(scores, constraints, plain).value - value
    if options.joins:
        by_rule = score_joins(flat, scorer, options.bars, options.order).total
        costs["join"] = solve(_by_song(parts, by_rule), constraints, places).value - solution.value
    chosen = [parts[song][part] for song, part in zip(solution.order, solution.parts, strict=True)]
    first = np.cumsum([0, *map(len, parts)])
    numbers = first[list(solution.order)] + solution.parts
    second = second_best(scores, solution, constraints, places)
    return replace(
        _placed(
            with_ends(chosen) if plays_whole else chosen,
            joins,
            list(itertools.pairwise(numbers)),
            options,
            solution,
            second,
            {name: max(0.0, cost) for name, cost in costs.items()},
        ),
        offered=offered,
        energies=energies(flat)[numbers].tolist() if options.arc else (),
    )


def _transposed(own: Sequence[Part], repitch: bool) -> list[Part]:
    """The parts of a song as they may play: as somebody set it, as they are, or besides a semitone lower and higher."""
    given = own[0].song.transpose
    semitones = (given,) if given is not None else _SEMITONES if repitch else (0,)
    return [replace(part, transpose=part.transpose + number) for number in semitones for part in own]


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


def _numbers(parts: Sequence[Sequence[Part]]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of song and part, of all parts one after the other: -> int [P] twice."""
    song, part = np.array([(song, part) for song, own in enumerate(parts) for part in range(len(own))]).T
    return song, part


def _by_song(parts: Sequence[Sequence[Part]], total: np.ndarray) -> np.ndarray:
    """Scores of joins by song and part: [P, P] -> [n, c, n, c]; parts that there are not score -inf."""
    song, part = _numbers(parts)
    scores = np.full([len(parts), max(map(len, parts))] * 2, -np.inf)
    scores[song[:, None], part[:, None], song, part] = np.nan_to_num(total)
    return scores


def _places(parts: Sequence[Sequence[Part]], arc: str | None) -> Places:
    """What each part scores at each place: less where it stands for its song less well or is far from the arc.

    Also less for another part than the best, and for a transposed one. Openings can only be first and endings only
    last, and parts that there are not nowhere.
    """
    song, part = _numbers(parts)
    flat = list(itertools.chain(*parts))
    energy = energies(flat) if arc else np.zeros(len(flat))
    own = np.array(
        [
            _ENDS if one.only else -_FITNESS * (parts[i][0].fitness - one.fitness)
            for i, one in zip(song, flat, strict=True)
        ]
    )
    others = [
        not one.only and (one.start, one.end) != (parts[i][0].start, parts[i][0].end)
        for i, one in zip(song, flat, strict=True)
    ]
    retuned = [one.transpose != parts[i][0].transpose for i, one in zip(song, flat, strict=True)]
    own -= _CLEARLY * np.add(others, retuned, dtype=float)
    only = np.array([one.only for one in flat])

    def places(count: int) -> np.ndarray:
        values = np.tile(own, (count, 1)) + (arc_scores(energy, arc, count) if arc else 0.0)
        values[1:, only == "first"] = values[:-1, only == "last"] = -np.inf
        by_song = np.full((count, len(parts), max(map(len, parts))), -np.inf)
        by_song[:, song, part] = values
        return by_song

    return places
