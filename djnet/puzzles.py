"""The games: a puzzle is shuffled fragments and their true order."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from djnet import audio
from djnet.annotations import SHORTEST_SECONDS, join_short, read_sections
from djnet.constants import HOP_SAMPLES, SAMPLE_RATE_HZ
from djnet.cuts import cut_fragments, downbeat_hops, fragment_mel, spans_between, without_last_bars
from djnet.errors import UserError, shown
from djnet.features import log_mel
from djnet.files import digest_json, read_json, require_shape
from djnet.records import Clip, Manifest
from djnet.rng import rng_for

# Games whose puzzles are recordings in parts: their folder below the records, and how many parts of a recording play
# (the paper: the first ten sections of a song).
GAME_FOLDERS = {"sequencing": "sequencing", "medley": "medleys"}
MOST_PARTS = {"sequencing": 10, "medley": None}
ANNOTATION_SUFFIXES = (".csv", ".cue", ".txt")
SAME_AUDIO = 0.2  # pieces whose frames differ less on average are the same audio; unrelated ones differ by about 1
# Beside recordings: their name as a corpus, and, where all have the same, licence and credit, or what they are made of.
ABOUT = "game.json"
_OVERHANG_SECONDS = 2.0  # the last part of an annotation may be that much longer than the audio


@dataclass(frozen=True)
class Edges:
    """The first 64 and the last 2,048 samples of a fragment."""

    beginning: np.ndarray
    end: np.ndarray

    @classmethod
    def of(cls, samples: np.ndarray) -> "Edges":
        """The edges of a fragment [N], as copies: the fragment itself can be forgotten."""
        return cls(samples[:64].copy(), samples[-2048:].copy())


@dataclass(frozen=True)
class Puzzle:
    """Fragments as a player gets them, and the answer: `truth[0]` is the piece that comes first, and so on."""

    id: str
    fragments: list[np.ndarray]  # log-mel [t_i, 128], not normalised
    truth: tuple[int, ...]
    labels: tuple[str, ...] = ()  # of the fragments, where they have any: verse, chorus, titles
    edges: list[Edges] = field(default_factory=list)  # of the fragments, where their samples are known
    track: str = ""  # where the music comes from: puzzles of one track are not independent
    group: str = ""  # what the track was published with: a package, an album

    @classmethod
    def shuffled(
        cls,
        name: str,
        ordered: Sequence[np.ndarray],
        labels: Sequence[str] = (),
        edges: Sequence[Edges] = (),
        track: str = "",
        group: str = "",
    ) -> "Puzzle":
        """Shuffle fragments that are in their order; the same name is always shuffled the same way.

        name, ordered, labels, edges, track, group: as the fields of a puzzle; labels and edges in the true order.
        """
        if len(ordered) < 2:
            raise ValueError(f"The puzzle {name!r} needs at least 2 fragments, got {len(ordered)}.")
        places = rng_for(0, "shuffle", name, len(ordered)).permutation(len(ordered))
        truth = tuple(int(place) for place in np.argsort(places))
        lists: list[list[Any]] = [[values[i] for i in places] if values else [] for values in (ordered, labels, edges)]
        return cls(name, lists[0], truth, tuple(lists[1]), lists[2], track or name, group)

    @property
    def is_decidable(self) -> bool:
        """Whether no two pieces are the same audio; nobody could tell which of those comes first."""
        return not any(same_audio(a, b) for a, b in combinations(self.fragments, 2))


def same_audio(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two pieces, log-mel [t, 128], are the same audio; equal cuts may differ by a frame."""
    common = min(len(a), len(b))
    return abs(len(a) - len(b)) <= 1 and bool(np.abs(a[:common] - b[:common]).mean() < SAME_AUDIO)


def jigsaw(
    clip: Clip,
    segmentation: str,
    n: int,
    protocol: str = "centred",
    gap: int = 0,
    window: str = "hamming",
    bar_removed: bool = False,
) -> Puzzle:
    """A clip cut into n pieces as its record says; a ValueError if so much is removed that nothing is left of a piece.

    clip, segmentation, n: which cuts of which clip.
    protocol, window: of the features, see `cuts` and `features.log_mel`.
    gap: hops that are left out on each side of every cut.
    bar_removed: also leave out the bar before every cut.
    """
    spans = spans_between(clip.segmentations[f"{segmentation}/{n}"].cuts, gap)
    if bar_removed:
        spans = without_last_bars(spans, downbeat_hops(clip.beats, 0, len(clip.mel)))
    waveform = clip.waveform
    try:
        fragments = cut_fragments(waveform, spans, protocol, window)
    except ValueError as error:
        raise ValueError(f"Too much is removed of {clip.id!r}: {error}") from error
    edges = [Edges.of(waveform[a * HOP_SAMPLES : b * HOP_SAMPLES]) for a, b in spans]
    return Puzzle.shuffled(clip.id, fragments, (), edges, clip.track, clip.group)


def jigsaws(
    manifest: Manifest,
    split: str,
    segmentation: str,
    n: int,
    protocol: str = "centred",
    gap: int = 0,
    limit: int = 1000,
    window: str = "hamming",
    bar_removed: bool = False,
) -> Iterator[Puzzle]:
    """Puzzles from the clips of a split; clips that cannot be cut this way are passed over.

    manifest, split: the records. Those are in the order of their hashes, so the first ones are a random choice.
    segmentation, n, protocol, gap, window, bar_removed: as in `jigsaw`.
    limit: at most so many puzzles.
    """
    clips = (clip for clip in manifest.read_clips(split) if f"{segmentation}/{n}" in clip.segmentations)
    for clip in itertools.islice(clips, limit):
        with contextlib.suppress(ValueError) if bar_removed else contextlib.nullcontext():  # a piece of a single bar
            yield jigsaw(clip, segmentation, n, protocol, gap, window, bar_removed)


def find_recordings(folder: Path) -> list[tuple[Path, Path]]:
    """Audio files with their annotations beside them, of the same name: `song.wav` and `song.csv`, `.cue` or `.txt`."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    sounds = {path.stem: path for path in files if path.suffix.lower() in audio.READABLE}
    notes = {path.stem: path for path in files if path.suffix.lower() in ANNOTATION_SUFFIXES}
    if alone := sounds.keys() - notes.keys():
        path = sounds[min(alone)]
        raise ValueError(f"{path} has no annotation beside it: write {path.stem}.csv with start, end and label.")
    if alone := notes.keys() - sounds.keys():
        raise ValueError(f"{notes[min(alone)]} has no audio of the same name beside it.")
    if not sounds:
        raise ValueError(f"{folder} holds no recordings.")
    return [(sounds[name], notes[name]) for name in sorted(sounds)]


def read_about(folder: Path) -> dict[str, Any]:
    """What is said of a folder of recordings; at least its name."""
    path = folder / ABOUT
    try:
        about = {"name": folder.name} | (read_json(path, {}) if path.is_file() else {})
        require_shape(about, {"name": str}, path)
    except UserError:
        raise UserError(f'{path} should say {{"name": "..."}} in JSON: correct it or take it away.') from None
    return about | {"name": shown(about["name"])}


def fingerprint(path: Path, annotation: Path, limit: int | None = None) -> list[Any]:
    """What makes a recording's puzzle this one: the music, and in how many parts it is.

    A mix that was made of known music (`made_of` in its folder's game.json) is known by that and by the order of its
    parts: its samples differ in the last bit from machine to machine.
    """
    parts = join_short(read_sections(annotation))[0][:limit]
    made_of = read_about(path.parent).get("made_of")
    music = audio.probe(path).content if made_of is None else [made_of, *(part.label for part in parts)]
    return [path.name, music, len(parts)]


def corpus_hash(fingerprints: Sequence[list[Any]]) -> str:
    """A short hash of all recordings of a game."""
    return digest_json(list(fingerprints))[:12]


def recording(
    path: Path, annotation: Path, limit: int | None = None, protocol: str = "centred", window: str = "hamming"
) -> Puzzle:
    """The annotated parts of one recording: the sections of a song (sequencing), or the clips of a medley.

    Parts shorter than a second are joined to a neighbour; with a limit, only the first ones play (the paper's ten).
    """
    parts = join_short(read_sections(annotation))[0][:limit]
    known = parts[-1].end != float("inf")
    samples = audio.load(path, seconds=parts[-1].end if known else None)
    seconds = len(samples) / SAMPLE_RATE_HZ
    spans = []
    for part in parts:
        late = part.end != float("inf") and part.end > seconds + _OVERHANG_SECONDS
        if late or part.start + SHORTEST_SECONDS > seconds:
            raise ValueError(
                f"{annotation}: the part at {part.start:g} s lies beyond the end of {path} ({seconds:.1f} s)."
            )
        last = len(samples) if part.end == float("inf") else min(len(samples), round(part.end * SAMPLE_RATE_HZ))
        spans.append((round(part.start * SAMPLE_RATE_HZ), last))
    if protocol == "overlapping":  # frames of the whole recording, each with the part that its centre lies in
        mel = log_mel(samples, window)
        fragments = [mel[-(-first // HOP_SAMPLES) : -(-last // HOP_SAMPLES)] for first, last in spans]
    else:
        fragments = [fragment_mel(samples[first:last], protocol, window) for first, last in spans]
    edges = [Edges.of(samples[first:last]) for first, last in spans]
    return Puzzle.shuffled(path.stem, fragments, [part.label for part in parts], edges)
