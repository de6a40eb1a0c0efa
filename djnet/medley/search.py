"""Order and choice together: each song has several candidates, one of them plays, and the sum of scores is highest.

Up to 15 songs by dynamic programming over subsets: proven. More: the best order for the most that any candidates of two
songs could reach gives a bound and a start; then the best candidates for the order and the best order for the
candidates in turn, until neither helps.
"""

import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from djnet.ordering import EXACT_LIMIT, TOLERANCE, Rules, best_order, value_of


@dataclass(frozen=True)
class Choice:
    """Songs in their order, which candidate of each plays, the sum of scores, and what no choice can exceed."""

    order: tuple[int, ...]
    picks: tuple[int, ...]  # a candidate for every song of the order
    value: float
    bound: float

    @property
    def proven(self) -> bool:
        """Whether no other choice is better."""
        return self.bound - self.value <= TOLERANCE * max(1.0, abs(self.value))


def best_choice(scores: np.ndarray, rules: Rules, drop: int = 0, keep_order: bool = False) -> Choice:
    """The best order and candidates: scores [n, c, n, c] of a song's candidate before another's -> Choice.

    A candidate that a song does not have scores -inf everywhere. `drop` songs are left out, never the first or the
    last of the rules; with `keep_order` songs stay in the order of their numbers. A ValueError names a rule that
    cannot be kept.
    """
    n = len(scores)
    if drop > n - 2:
        raise ValueError(f"Cannot leave out {drop} of {n} songs: two must be left.")
    rules = replace(rules, before=(*rules.before, *(itertools.pairwise(range(n)) if keep_order else ())))
    rules.validate(n)
    if n <= EXACT_LIMIT:
        if keep_order:
            rules = replace(rules, before=tuple(itertools.combinations(range(n), 2)))
        return _exact(scores, rules, drop)
    found = _alternating(scores, rules, keep_order, range(n))
    for _ in range(drop):  # one after the other: the one without which the others join best
        shorter = [
            _picked(scores, [song for song in found.order if song != left])
            for left in found.order
            if left not in (rules.first, rules.last)
        ]
        songs = sorted(max(shorter, key=lambda choice: choice.value).order)
        found = replace(_alternating(scores, rules, keep_order, songs), bound=np.inf)
    return found


def _exact(scores: np.ndarray, rules: Rules, drop: int) -> Choice:
    """Dynamic programming: best[songs, first, candidate] is the highest sum of an order of these songs."""
    n, c = scores.shape[:2]
    exists = np.isfinite(scores).any(axis=(2, 3))
    best = np.full((1 << n, n, c), -np.inf)
    for song in [rules.last] if rules.last is not None else range(n):
        best[1 << song, song] = np.where(exists[song], 0.0, -np.inf)
    sets = np.arange(1 << n)
    sizes = sum(sets >> bit & 1 for bit in range(n))
    earlier = [sum(1 << a for a, b in set(rules.before) if b == song) for song in range(n)]
    for size in range(2, n - drop + 1):
        group = sets[sizes == size]
        for first in range(n):
            own = group[(group >> first & 1 == 1) & (group & earlier[first] == 0)]
            rest = best[own ^ (1 << first)].reshape(len(own), n * c)
            for pick in range(c):
                best[own, first, pick] = (rest + scores[first, pick].reshape(-1)).max(axis=1, initial=-np.inf)
    ends = best[sizes == n - drop]
    if rules.first is not None:
        ends = ends[:, rules.first][:, None]
    if not np.isfinite(ends.max()):
        raise ValueError("No order keeps to all of these rules.")
    at, song, pick = (int(i) for i in np.unravel_index(int(np.argmax(ends)), ends.shape))
    song = song if rules.first is None else rules.first
    return _walk(scores, best, int(sets[sizes == n - drop][at]), song, pick)


def _walk(scores: np.ndarray, best: np.ndarray, songs: int, song: int, pick: int) -> Choice:
    value = float(best[songs, song, pick])
    order, picks = [song], [pick]
    while songs := songs ^ (1 << song):
        onward = scores[song, pick] + best[songs]
        song, pick = (int(i) for i in np.unravel_index(int(np.argmax(onward)), onward.shape))
        order.append(song)
        picks.append(pick)
    return Choice(tuple(order), tuple(picks), value, value)


def _alternating(scores: np.ndarray, rules: Rules, keep_order: bool, songs: Sequence[int]) -> Choice:
    """Order and candidates in turn, from the best order for the most that candidates could reach."""
    songs = list(songs)
    most = scores.max(axis=(1, 3))
    if keep_order:
        found = _picked(scores, songs)
        return replace(found, bound=found.value)
    start = _ordered(most, songs, rules)
    found = _picked(scores, start.order)
    while True:
        better = _picked(scores, _ordered(_fixed(scores, found), songs, rules).order)
        if better.value <= found.value + TOLERANCE:
            return replace(found, bound=max(found.value, start.bound))
        found = better


def _ordered(scores: np.ndarray, songs: list[int], rules: Rules) -> Choice:
    """The best order of some songs, by their numbers."""
    number = {song: i for i, song in enumerate(songs)}
    small = np.where(np.eye(len(songs), dtype=bool), 0.0, scores[np.ix_(songs, songs)])
    before = [(number[a], number[b]) for a, b in rules.before if a in number and b in number]
    first, last = (None if song is None else number[song] for song in (rules.first, rules.last))
    found = best_order(small, first, last, before, seconds=10.0)
    return Choice(tuple(songs[i] for i in found.order), (), found.value, found.bound)


def _picked(scores: np.ndarray, order: Sequence[int]) -> Choice:
    """The best candidates for an order."""
    values = np.where(np.isfinite(scores[order[0]]).any(axis=(1, 2)), 0.0, -np.inf)
    came = []
    for a, b in itertools.pairwise(order):
        through = values[:, None] + scores[a, :, b, :]
        came.append(through.argmax(axis=0))
        values = through.max(axis=0)
    picks = [int(values.argmax())]
    for back in reversed(came):
        picks.append(int(back[picks[-1]]))
    return Choice(tuple(order), tuple(reversed(picks)), float(values.max()), np.inf)


def other_order(
    scores: np.ndarray, chosen: Choice, rules: Rules, drop: int = 0, keep_order: bool = False
) -> Choice | None:
    """The best among the other orders; nothing if the rules leave no other.

    Up to 15 songs: another order lacks at least one of the joins, so each is forbidden in turn. More: the best of those
    that move one song, with the same candidates; its bound is then not known.
    """
    found = []
    if len(scores) <= EXACT_LIMIT:
        for a, b in itertools.pairwise(chosen.order):
            without = scores.copy()
            without[a, :, b, :] = -np.inf
            with contextlib.suppress(ValueError):
                found.append(best_choice(without, rules, drop, keep_order))
    elif not keep_order:
        fixed = _fixed(scores, chosen)
        picks = dict(zip(chosen.order, chosen.picks, strict=True))
        for place, song in enumerate(chosen.order):
            rest = chosen.order[:place] + chosen.order[place + 1 :]
            for new in range(len(chosen.order)):
                order = (*rest[:new], song, *rest[new:])
                if order != chosen.order and rules.kept_by(order):
                    found.append(Choice(order, tuple(picks[i] for i in order), value_of(fixed, order), np.inf))
    return max(found, key=lambda choice: choice.value, default=None)


def _fixed(scores: np.ndarray, chosen: Choice) -> np.ndarray:
    """Scores between the chosen candidates: [n, c, n, c] -> [n, n]; the first candidate of songs that do not play."""
    picks = np.zeros(len(scores), int)
    picks[list(chosen.order)] = chosen.picks
    songs = np.arange(len(scores))
    return scores[songs[:, None], picks[:, None], songs[None, :], picks[None, :]]
