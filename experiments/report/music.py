"""Clips and puzzles together with the music they were cut from, as far as it may be published."""

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from tqdm import tqdm

from djnet import puzzles
from djnet.annotations import join_short, read_sections
from djnet.cuts import spans_between
from djnet.errors import UserError
from djnet.pages.puzzles import LEVELS, SIZES, choose_spans, puzzle_of, sound_span, to_play, to_seconds
from djnet.pretrained import Scorer
from djnet.records import Clip, Manifest
from experiments.report.assets import Assets
from experiments.report.recordings import Recording, TrackList

PLAY_CLIPS = 12
_GAP_SECONDS = 0.1  # parts further apart than that are not one recording that can be cut


class ClipWithMusic(NamedTuple):
    """A clip of the test split, and the recording that it comes from."""

    clip: Clip
    recording: Recording


class PuzzleWithMusic(NamedTuple):
    """A puzzle, its part of a recording (start and length in seconds), and its pieces (seconds of the part, [n, 2])."""

    puzzle: puzzles.Puzzle
    recording: Recording
    span: tuple[float, float]
    spans: np.ndarray


@dataclass(frozen=True)
class Music:
    """What the parts of the report that sound are made from."""

    data: Path  # folder of records, and of recordings for other games
    tracks: TrackList
    clips: list[ClipWithMusic]
    scorers: Mapping[str, Scorer]  # by where pieces are cut
    assets: Assets

    def jigsaws(self, segmentation: str, n: int) -> Iterator[PuzzleWithMusic]:
        """Clips cut as their records say."""
        for clip, recording in self.clips:
            if recorded := clip.segmentations.get(f"{segmentation}/{n}"):
                spans = spans_between(recorded.cuts)
                yield PuzzleWithMusic(puzzle_of(clip, spans), recording, sound_span(clip), to_seconds(spans))

    def recordings(self, game: str) -> Iterator[PuzzleWithMusic]:
        """The songs or medleys that evaluate plays, those that may be published."""
        folder, limit = self.data / puzzles.GAME_FOLDERS[game], puzzles.MOST_PARTS[game]
        about = puzzles.read_about(folder)
        for path, annotation in puzzles.find_recordings(folder):
            parts = join_short(read_sections(annotation))[0][:limit]
            recording = self.tracks.recording_in_parts(path, [part.label for part in parts], about)
            gapless = all(after.start - before.end < _GAP_SECONDS for before, after in itertools.pairwise(parts))
            if recording is not None and gapless and parts[-1].end != float("inf"):
                spans = spans_between(np.array([part.start for part in parts] + [parts[-1].end]))
                puzzle = puzzles.recording(path, annotation, limit)
                yield PuzzleWithMusic(puzzle, recording, (0.0, parts[-1].end), spans)

    def puzzles_to_play(self, answered: set[str]) -> list[dict[str, Any]]:
        """Puzzles for people: clips in 3 to 8 pieces at each level; first those not yet answered."""
        clips = sorted(self.clips, key=lambda one: one.clip.id in answered)[:PLAY_CLIPS]
        data = []
        for clip, recording in tqdm(clips, desc="play", unit="clip"):
            labels = recording.labels | {"sound": self.assets.add_sound(recording, *sound_span(clip))}
            for (level, network), n in itertools.product(LEVELS.items(), SIZES):
                if (spans := choose_spans(clip, level, n)) is not None:
                    data.append(to_play(clip, level, spans, self.scorers[network].scores) | labels)
        return data


def find_clips(manifest: Manifest, tracks: TrackList) -> list[ClipWithMusic]:
    """The clips of the test split that may be published, a clip of every track first, then a second one, and so on.

    A UserError if there are none.
    """
    recording_of = functools.cache(tracks.recording)
    by_track: dict[str, list[ClipWithMusic]] = {}
    for clip in manifest.read_clips("test"):
        if (recording := recording_of(clip.track)) is not None:
            by_track.setdefault(clip.track, []).append(ClipWithMusic(clip, recording))
    if not by_track:
        raise UserError(
            f"No recording of {manifest.corpus} is here and may be passed on. Fetch them again: make preprocess. "
            "Music of your own, for yourself: make report FLAGS=--own"
        )
    return [one for turn in itertools.zip_longest(*by_track.values()) for one in turn if one is not None]


def corpus_hash(game: str, data: Path) -> str:
    """The hash of a game's recordings, as evaluate has it; nothing if they cannot be played: evaluate says why."""
    try:
        files = tqdm(puzzles.find_recordings(data / puzzles.GAME_FOLDERS[game]), desc=f"check, {game}", unit="file")
        work = (joblib.delayed(puzzles.fingerprint)(*pair, puzzles.MOST_PARTS[game]) for pair in files)
        return puzzles.corpus_hash(joblib.Parallel(joblib.cpu_count(), prefer="threads")(work))
    except (FileNotFoundError, ValueError):
        return ""
