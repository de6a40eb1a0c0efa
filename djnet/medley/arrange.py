"""What plays in a medley, and in which order: candidates of every song, scores between them, and the best choice."""

import itertools
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from djnet import constants
from djnet.errors import UserError
from djnet.medley import keys, mix
from djnet.medley.analysis import Song
from djnet.medley.parts import Thumbnail, phrase_bars, thumbnails
from djnet.medley.search import Choice, best_choice, other_order
from djnet.ordering import Rules

SHORTEST_SECONDS, LONGEST_SECONDS = 8.0, 30.0
_PSEUDO_BAR_SECONDS = 2.0  # where there are no bars
# In standard deviations of the scores: they decide between joins that sound about equally good to the network.
_KEY, _TEMPO, _FITNESS = 0.1, 0.1, 0.5

Scores = Callable[[list[np.ndarray]], np.ndarray]  # log-mels of n clips -> [n, n]


@dataclass(frozen=True)
class Wishes:
    """What a person asks of the order; songs are numbers in the list."""

    rules: Rules = field(default_factory=Rules)
    drop: int = 0
    keep_order: bool = False

    def require_possible(self, names: Sequence[str]) -> None:
        """A UserError names the songs whose wishes contradict each other."""
        chain = itertools.pairwise(range(len(names))) if self.keep_order else ()
        try:
            replace(self.rules, before=(*self.rules.before, *chain)).validate(len(names))
        except ValueError as error:
            raise UserError(re.sub(r"\b(?:[Pp]iece )?(\d+)\b", lambda m: repr(names[int(m[1])]), str(error))) from error

    def single(self) -> list[tuple[str, "Wishes"]]:
        """Each wish by name, with all wishes but that one."""
        found = []
        if self.rules.first is not None:
            found.append(("--first", replace(self, rules=replace(self.rules, first=None))))
        if self.rules.last is not None:
            found.append(("--last", replace(self, rules=replace(self.rules, last=None))))
        if self.rules.before:
            found.append(("--before", replace(self, rules=replace(self.rules, before=()))))
        if self.keep_order:
            found.append(("--keep-order", replace(self, keep_order=False)))
        return found


@dataclass(frozen=True)
class Override:
    """What the settings file says of one song."""

    start: float | None = None
    length: float | None = None


@dataclass(frozen=True)
class Clip:
    """A part of a song that may play."""

    song: Song
    span: Thumbnail

    @property
    def mel(self) -> np.ndarray:
        """The frames whose windows lie inside the clip: float32 [T, 128]."""
        first = int(np.ceil(self.span.start * constants.HOPS_PER_SECOND - 1e-6))
        last = int(self.span.end * constants.HOPS_PER_SECOND) - constants.WINDOW_HOPS + 1
        return self.song.mel[first : max(last, first + 1)].astype(np.float32)

    def part(self, samples: np.ndarray | None = None, begin: float = 0.0) -> mix.Part:
        """The clip as the mix takes it, with samples of the song from `begin` on, or none to plan only."""
        beats = self.song.beats if len(self.song.bars) else np.zeros((0, 2))
        beats = beats[(beats[:, 0] > self.span.start - 0.5) & (beats[:, 0] < self.span.end + 0.5)] - [begin, 0.0]
        samples = np.zeros((0, 2), np.float32) if samples is None else samples
        return mix.Part(samples, beats, self.span.start - begin, self.span.end - begin)


@dataclass(frozen=True)
class Plan:
    """Clips in their order, the score of each join, the choice they come from, and what else could have been."""

    clips: list[Clip]
    scores: list[float]
    choice: Choice
    other: Choice | None
    costs: dict[str, float]  # of each wish, in score

    def joins(self, bars: int) -> list[mix.Join]:
        """Where and how the clips will be joined."""
        return mix.joins_of([clip.part() for clip in self.clips], bars)

    def seconds(self, bars: int) -> float:
        """How long the medley will be."""
        last = self.clips[-1].span
        joins = self.joins(bars)
        return (joins[-1].start if joins else 0.0) + last.end - last.start


def candidates(song: Song, seconds: float, count: int, override: Override | None = None) -> list[Clip]:
    """The best parts of a song of about that many seconds, best first."""
    override = override or Override()
    bars = song.bars if len(song.bars) else _pseudo_bars(song)
    if override.length is not None:
        seconds = override.length
        length = max(1, round(seconds / float(np.median(np.diff(bars)))))
    elif len(song.bars):
        length = phrase_bars(bars, seconds, phrases_of(song))
    else:
        length = max(1, round(seconds / _PSEUDO_BAR_SECONDS))
    if override.start is None:
        return [Clip(song, span) for span in thumbnails(song.mel, bars, length, count)]
    if not 0 <= override.start < bars[-1]:
        raise UserError(
            f"{song.name}: start = {override.start:g} lies outside the song's bars, which end at {bars[-1]:.1f} s."
        )
    first = min(int(np.argmin(np.abs(bars - override.start))), len(bars) - 2)
    last = min(first + length, len(bars) - 1)
    return [Clip(song, Thumbnail(float(bars[first]), float(bars[last]), last - first, 1.0))]


def phrases_of(song: Song) -> tuple[int, ...]:
    """Phrases of a song, in bars, that last 8 to 30 s; the nearest that it has if none does."""
    bar = float(np.median(np.diff(song.bars)))
    there = [n for n in (4, 8, 16) if n < len(song.bars)]
    fitting = tuple(n for n in there if SHORTEST_SECONDS <= n * bar <= LONGEST_SECONDS)
    return fitting or (4 if 4 * bar > LONGEST_SECONDS else there[-1],)


def total_range(songs: Sequence[Song]) -> tuple[float, float]:
    """The shortest and the longest medley of these songs, about, in seconds."""
    options = [_lengths(song) for song in songs]
    return sum(0.75 * min(lengths) for lengths in options), sum(map(max, options))


def lengths_for_total(songs: Sequence[Song], seconds: float) -> list[float]:
    """A length for each song so that all add up to about so many seconds; each takes over what the ones before left."""
    chosen: list[float] = []
    for i, song in enumerate(songs):
        share = (seconds - sum(chosen)) / (len(songs) - i)
        chosen.append(min(_lengths(song), key=lambda length: abs(length - share)))
    return chosen


def _lengths(song: Song) -> list[float]:
    """Lengths that a part of a song may have, in seconds."""
    if not len(song.bars):
        return [
            min(length, song.seconds) for length in np.arange(SHORTEST_SECONDS, LONGEST_SECONDS, _PSEUDO_BAR_SECONDS)
        ]
    bar = float(np.median(np.diff(song.bars)))
    return [count * bar for count in phrases_of(song)]


def _pseudo_bars(song: Song) -> np.ndarray:
    """Every two seconds or so from the first sound to the last, where there are no downbeats: [K + 1]."""
    loud = np.flatnonzero(song.mel.mean(axis=1, dtype=np.float32) > 0.1)
    first, last = (loud[0], loud[-1] + 1) if len(loud) else (0, len(song.mel))
    begin, end = constants.hops_to_seconds(first), constants.hops_to_seconds(last)
    if end - begin < _PSEUDO_BAR_SECONDS:
        return np.array([0.0, song.seconds])
    return np.append(np.arange(begin, end - _PSEUDO_BAR_SECONDS / 2, _PSEUDO_BAR_SECONDS), end)


def plan(options: Sequence[Sequence[Clip]], scorer: Scores, wishes: Wishes) -> Plan:
    """Choose clips and order: `options` are the candidates of every song."""
    if len(options) == 1:
        return Plan([options[0][0]], [], Choice((0,), (0,), 0.0, 0.0), None, {})
    wishes.require_possible([clips[0].song.name for clips in options])
    heard, scores = score(options, scorer)
    try:
        choice = best_choice(scores, wishes.rules, wishes.drop, wishes.keep_order)
    except ValueError as error:
        raise UserError(str(error)) from error
    costs = {}
    for name, without in wishes.single():
        free = best_choice(scores, without.rules, without.drop, without.keep_order)
        costs[name] = max(0.0, free.value - choice.value)
    other = other_order(scores, choice, wishes.rules, wishes.drop, wishes.keep_order)
    places = list(zip(choice.order, choice.picks, strict=True))
    joins = [float(heard[a, i, b, j]) for (a, i), (b, j) in itertools.pairwise(places)]
    return Plan([options[song][pick] for song, pick in places], joins, choice, other, costs)


def score(options: Sequence[Sequence[Clip]], scorer: Scores) -> tuple[np.ndarray, np.ndarray]:
    """What the network says, and that with the small preferences: -> [n, c, n, c] twice, -inf where nothing is."""
    n, c = len(options), max(map(len, options))
    flat = [(song, pick) for song, clips in enumerate(options) for pick in range(len(clips))]
    print(f"score: {len(flat)} clips of {n} songs", file=sys.stderr)
    matrix = scorer([options[song][pick].mel for song, pick in flat])
    heard = np.full((n, c, n, c), -np.inf)
    places = np.array(flat).T
    heard[places[0][:, None], places[1][:, None], places[0][None, :], places[1][None, :]] = matrix
    songs = [clips[0].song for clips in options]
    near = np.array([[_KEY * keys.closeness(a.key, b.key) + _TEMPO * _matches(a, b) for b in songs] for a in songs])
    loss = np.zeros((n, c))
    for song, pick in flat:
        loss[song, pick] = _FITNESS * (options[song][0].span.fitness - options[song][pick].span.fitness)
    spread = float(matrix[places[0][:, None] != places[0][None, :]].std())
    return heard, heard + spread * (near[:, None, :, None] - loss[:, :, None, None] - loss[None, None])


def _matches(a: Song, b: Song) -> bool:
    """Whether the tempos are so near that one song can blend into the other."""
    if not a.bpm or not b.bpm:
        return False
    return any(abs(np.log(a.bpm * factor / b.bpm)) <= np.log1p(mix.LIMIT) for factor in (0.5, 1.0, 2.0))
