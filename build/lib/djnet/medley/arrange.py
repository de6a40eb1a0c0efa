"""Which part of every song plays, in which order, and how they are joined."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from djnet.errors import UserError
from djnet.medley import key, tempo
from djnet.medley.analysis import Song
from djnet.medley.parts import Part, candidates, possible_lengths
from djnet.medley.search import Constraints, Solution, second_best, solve
from djnet.medley.transitions import LARGEST_STRETCH, Join, Segment, lay_out

# In standard deviations of the scores: they decide between joins that are about equally good for the network.
_KEY, _TEMPO, _FITNESS = 0.1, 0.1, 0.5
_TOTAL_TRIES = 4

Scorer = Callable[[list[np.ndarray]], np.ndarray]  # log-mels of n parts -> scores [n, n] of one before another


@dataclass(frozen=True)
class Options:
    """Seconds of each song or of the whole medley, bars of a blend, parts to choose from, settings by song number."""

    length: float = 16.0
    total: float | None = None
    bars: int = 2
    candidates: int = 3
    settings: Mapping[int, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Arrangement:
    """Parts in their order with the joins between them and their scores, and what else could have been."""

    parts: list[Part]
    joins: list[Join]
    scores: list[float]
    solution: Solution
    second: Solution | None
    costs: dict[str, float]  # of each constraint, in score

    @property
    def seconds(self) -> float:
        """How long the medley will be."""
        begin = self.joins[-1].start if self.joins else 0.0
        return begin + self.parts[-1].end - self.parts[-1].start


def validate(constraints: Constraints, songs: Sequence[Song]) -> None:
    """A UserError names the songs whose constraints contradict each other."""
    try:
        constraints.validate(len(songs))
    except ValueError as error:
        named = re.sub(r"\b(?:[Pp]iece )?(\d+)\b", lambda match: repr(songs[int(match[1])].name), str(error))
        raise UserError(named) from error


def arrange(songs: Sequence[Song], scorer: Scorer, constraints: Constraints, options: Options) -> Arrangement:
    """The best parts in their best order; for a total length, the nearest of a few tries."""
    total = options.total
    if total is None:
        return _arranged(songs, [options.length] * len(songs), scorer, constraints, options)
    possible = [possible_lengths(song) for song in songs]
    shortest, longest = sum(0.75 * min(lengths) for lengths in possible), sum(map(max, possible))
    if not shortest <= total <= longest:
        raise UserError(
            f"--total={total:g}: {len(songs)} songs give a medley of {shortest:.0f} to {longest:.0f} s; "
            "ask for a total between, or take other songs."
        )
    tries, wanted = [], total
    for _ in range(_TOTAL_TRIES):
        lengths: list[float] = []
        for i, choices in enumerate(possible):  # each song takes over what the ones before left
            share = (wanted - sum(lengths)) / (len(songs) - i)
            lengths.append(min(choices, key=lambda length: abs(length - share)))
        tries.append(_arranged(songs, lengths, scorer, constraints, options))
        wanted += total - tries[-1].seconds
    return min(tries, key=lambda arrangement: abs(arrangement.seconds - total))


def _arranged(
    songs: Sequence[Song], lengths: Sequence[float], scorer: Scorer, constraints: Constraints, options: Options
) -> Arrangement:
    parts = [
        candidates(song, seconds, options.candidates, **options.settings.get(i, {}))
        for i, (song, seconds) in enumerate(zip(songs, lengths, strict=True))
    ]
    if len(songs) == 1:
        return Arrangement(parts[0][:1], [], [], Solution((0,), (0,), 0.0, 0.0), None, {})
    network, scores = score(parts, scorer)
    solution = solve(scores, constraints)
    costs = {name: max(0.0, solve(scores, free).value - solution.value) for name, free in constraints.relaxed()}
    places = list(zip(solution.order, solution.parts, strict=True))
    chosen = [parts[song][part] for song, part in places]
    silent = np.zeros((0, 2), np.float32)
    _, joins = lay_out([Segment(silent, part.start, part.end, part.beats) for part in chosen], options.bars)
    own_scores = [float(network[before + after]) for before, after in itertools.pairwise(places)]
    return Arrangement(chosen, joins, own_scores, solution, second_best(scores, solution, constraints), costs)


def score(options: Sequence[Sequence[Part]], scorer: Scorer) -> tuple[np.ndarray, np.ndarray]:
    """The network's scores, and with small preferences added: -> [n, c, n, c] twice, -inf for parts there are not."""
    songs = [parts[0].song for parts in options]
    places = [(song, part) for song, parts in enumerate(options) for part in range(len(parts))]
    number, part = np.array(places).T
    matrix = scorer([options[song][part].mel for song, part in places])
    bpm = np.array([song.bpm for song in songs])
    near = tempo.octaves_apart(bpm[:, None], bpm) <= np.log2(1 + LARGEST_STRETCH)  # one can blend into the other
    near &= (bpm[:, None] > 0) & (bpm > 0)
    keys = np.array([[key.closeness(a.key, b.key) for b in songs] for a in songs])
    preference = (_KEY * keys + _TEMPO * near)[number[:, None], number]
    loss = np.array([_FITNESS * (options[song][0].fitness - options[song][part].fitness) for song, part in places])
    spread = float(matrix[number[:, None] != number].std())
    scores = np.full((2, *[len(options), max(map(len, options))] * 2), -np.inf)
    scores[0, number[:, None], part[:, None], number, part] = matrix
    scores[1, number[:, None], part[:, None], number, part] = matrix + spread * (preference - loss[:, None] - loss)
    return scores[0], scores[1]
