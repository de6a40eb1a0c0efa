"""Which recording a track of the records is, whether it may be published, and whom to credit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from djnet import audio
from djnet.corpora import free
from djnet.corpora.licences import is_noncommercial, may_be_published


@dataclass(frozen=True)
class Recording:
    """A recording on this machine; `parts` are the recordings that it was mixed from."""

    path: Path
    title: str
    credit: str
    licence: str
    parts: tuple["Recording", ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """What the page says of it."""
        return {"title": self.title, "credit": self.credit, "licence": self.licence}


@dataclass(frozen=True)
class TrackList:
    """The tracks of some records: file, group and licence of each; for a private report, whatever the licence."""

    rows: dict[str, dict[str, str]]  # by track
    private: bool = False

    def recording(self, track: str) -> Recording | None:
        """A track's recording, or nothing if it is not there or may not be published."""
        row = self.rows.get(track)
        if row is None or not (self.private or may_be_published(row["licence"])) or not Path(row["path"]).is_file():
            return None
        title, artist = _title_of(row["path"])
        credit = ", ".join(filter(None, [artist, row["group"]]))
        return Recording(Path(row["path"]), title, credit, row["licence"])

    def recording_in_parts(self, path: Path, tracks: Sequence[str], about: Mapping[str, str]) -> Recording | None:
        """A song or medley, if what is said of its folder or the licences of all its tracks let it be published."""
        title, licence = _title_of(path)[0], about.get("licence", "")
        if may_be_published(licence) or is_noncommercial(licence):
            return Recording(path, title, about.get("credit", ""), licence)
        parts = tuple(recording for track in tracks if (recording := self.recording(track)) is not None)
        if len(parts) < len(tracks) and not self.private:
            return None
        credit = "; ".join(part.title for part in parts)
        licence = ", ".join(sorted({part.licence for part in parts})) or "your own"
        return Recording(path, title, credit, licence, parts)

    def licence_of_file(self, path: str) -> str:
        """The licence of a file that is one of these tracks or of the free recordings; nothing for any other."""
        listed = {row["path"]: row["licence"] for row in self.rows.values()}
        packages = free.recordings(free.SETS[-1]).values()
        known = {f"{one.package}/{one.path}": one.licence for package in packages for one in package}
        return listed.get(path) or known.get(path.rpartition("/free/")[2], "")


def _title_of(path: str | Path) -> tuple[str, str]:
    """Title and artist by the tags; of a file without any, its name as words: track22.ogg is "Track 22"."""
    title, artist = audio.title_of(path)
    if title == Path(path).stem.replace("_", " "):
        words = re.sub(r"(?<=[a-z])(?=[0-9])|(?<=\w)-(?=\w)", " ", title)
        title = words[:1].upper() + words[1:]
    return title, artist
