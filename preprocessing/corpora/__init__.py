"""Where music comes from. A corpus is a list of tracks; each module here makes one kind of list."""

from dataclasses import dataclass, field

TRACK_LIST = "tracks.csv"  # beside the records: each track with its file on this machine, its split and licence


@dataclass(frozen=True)
class Track:
    """One piece of music: `group` is what it was published with (a soundtrack, an album folder)."""

    id: str
    path: str
    group: str
    licence: str


@dataclass(frozen=True)
class Skipped:
    """A file that is not used, and why, in words for a person."""

    path: str
    reason: str


@dataclass(frozen=True)
class Corpus:
    """A name, the tracks, and what was left out while looking for them."""

    name: str
    tracks: list[Track]
    skipped: list[Skipped] = field(default_factory=list)
