"""The games: a puzzle is shuffled fragments and their true order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from djnet.fragments import cut_frames
from djnet.records import Clip, Manifest
from djnet.rng import rng_for


@dataclass(frozen=True)
class Puzzle:
    """Fragments as a player gets them, and the answer: `truth[0]` is the piece that comes first, and so on."""

    id: str
    fragments: list[np.ndarray]  # log-mel [t_i, 128], not normalised
    truth: tuple[int, ...]

    @classmethod
    def shuffled(cls, name: str, ordered: Sequence[np.ndarray]) -> "Puzzle":
        """Shuffle fragments that are in their order; the same name is always shuffled the same way."""
        if len(ordered) < 2:
            raise ValueError(f"The puzzle {name!r} needs at least 2 fragments, got {len(ordered)}.")
        places = rng_for(0, "shuffle", name, len(ordered)).permutation(len(ordered))
        truth = tuple(int(place) for place in np.argsort(places))
        return cls(name, [ordered[place] for place in places], truth)


def jigsaw(clip: Clip, segmentation: str, n: int, protocol: str = "isolated", gap: int = 0) -> Puzzle:
    """A clip cut into n pieces, with `gap` frames taken away on each side of every cut."""
    pieces = cut_frames(clip.mel, clip.segmentations[f"{segmentation}/{n}"].cuts, protocol)
    if gap:
        pieces = [piece[gap : len(piece) - gap] for piece in pieces]
    if min(map(len, pieces)) < 1:
        raise ValueError(f"A gap of {gap} frames leaves nothing of a piece of {clip.id!r}.")
    return Puzzle.shuffled(clip.id, [piece.astype(np.float32) for piece in pieces])


def jigsaws(
    manifest: Manifest,
    split: str,
    segmentation: str,
    n: int,
    protocol: str = "isolated",
    gap: int = 0,
    limit: int = 1000,
) -> Iterator[Puzzle]:
    """Puzzles from the clips of a split, at most `limit`; clips that cannot be cut this way are passed over.

    Records are in the order of their hashes, so the first ones are a random choice.
    """
    found = 0
    for clip in manifest.read_clips(split):
        if found == limit:
            return
        if f"{segmentation}/{n}" in clip.segmentations:
            found += 1
            yield jigsaw(clip, segmentation, n, protocol, gap)
