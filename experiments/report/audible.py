"""Puzzles together with the music they were cut from, as far as it may be heard."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
from tqdm import tqdm

from djnet.annotations import join_short, read_sections
from djnet.pages import playable
from djnet.puzzles import (
    GAME_FOLDERS,
    MOST_PARTS,
    Puzzle,
    corpus_hash,
    find_recordings,
    fingerprint,
    read_about,
    recording,
)
from djnet.records import Clip, Manifest
from experiments.report.recordings import Source, Tracks
from experiments.report.sounds import Sounds

_GAP_SECONDS = 0.1  # parts further apart than that are not one recording that can be cut


@dataclass(frozen=True)
class Riddle:
    """A puzzle, where its music lies in a recording (start and length in seconds), and where that is cut."""

    puzzle: Puzzle
    source: Source
    span: tuple[float, float]
    cuts: list[float]

    def sound(self, sounds: Sounds) -> str:
        """Put the music on the page: -> its key."""
        return sounds.add(self.source, *self.span)


@dataclass(frozen=True)
class Audible:
    """A clip of the test split whose recording is here and may be heard."""

    clip: Clip
    source: Source

    def sound(self, sounds: Sounds) -> str:
        """Put what the clip's record covers on the page: -> its key."""
        return sounds.add(self.source, *playable.sound_span(self.clip))


def audible_clips(manifest: Manifest, tracks: Tracks) -> list[Audible]:
    """The clips of the test split that may be heard, a clip of every track first, then a second one, and so on."""
    found: dict[str, list[Audible]] = {}
    for clip in manifest.read_clips("test"):
        known = found.get(clip.track)
        source = known[0].source if known else tracks.source(clip.track)
        if source is not None:
            found.setdefault(clip.track, []).append(Audible(clip, source))
    return [one for turn in itertools.zip_longest(*found.values()) for one in turn if one is not None]


def jigsaws(clips: Sequence[Audible], segmentation: str, n: int) -> Iterator[Riddle]:
    """Clips cut as their records say."""
    for one in clips:
        if recorded := one.clip.segmentations.get(f"{segmentation}/{n}"):
            puzzle = playable.puzzle_of(one.clip, recorded.cuts)
            yield Riddle(puzzle, one.source, playable.sound_span(one.clip), playable.seconds_of(recorded.cuts))


def music_of(game: str, data: Path) -> str:
    """The hash of a game's recordings, as evaluate has it; nothing if they cannot be played: evaluate says why."""
    folder = data / GAME_FOLDERS[game]
    if not folder.is_dir():
        return ""
    try:
        files = tqdm(find_recordings(folder), desc=f"check, {game}", unit="recording")
        work = (joblib.delayed(fingerprint)(*pair, MOST_PARTS[game]) for pair in files)
        return corpus_hash(joblib.Parallel(joblib.cpu_count(), prefer="threads")(work))
    except ValueError:
        return ""


def recordings(game: str, data: Path, tracks: Tracks) -> Iterator[Riddle]:
    """The songs or medleys that evaluate plays, those that may be heard."""
    folder, limit = data / GAME_FOLDERS[game], MOST_PARTS[game]
    about = read_about(folder)
    for path, annotation in find_recordings(folder):
        parts = join_short(read_sections(annotation))[0][:limit]
        source = tracks.recording(path, [part.label for part in parts], about)
        gapless = all(after.start - before.end < _GAP_SECONDS for before, after in itertools.pairwise(parts))
        if source is not None and gapless and parts[-1].end != float("inf"):
            cuts = [part.start for part in parts] + [parts[-1].end]
            yield Riddle(recording(path, annotation, limit), source, (0.0, cuts[-1]), cuts)
