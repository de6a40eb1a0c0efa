"""Which recording a track of the records is, whether it may be published, and whom to credit."""

import csv
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from djnet import audio
from djnet.corpora import TRACK_LIST, free
from djnet.corpora.licences import is_noncommercial, may_be_published
from djnet.errors import UserError


@dataclass(frozen=True)
class Source:
    """A recording on this machine; `parts` are the recordings that it was mixed of."""

    path: Path
    title: str
    credit: str
    licence: str
    parts: tuple["Source", ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """What the page says of it."""
        return {"title": self.title, "credit": self.credit, "licence": self.licence}


@dataclass(frozen=True)
class Tracks:
    """The tracks of some records: file, group and licence of each. With `own`, music that is not free is used too."""

    listed: dict[str, dict[str, str]]
    own: bool = False

    @classmethod
    def read(cls, data: Path, own: bool = False) -> "Tracks":
        """The list that stands beside records; a UserError if there is none."""
        path = data / TRACK_LIST
        try:
            with open(path, newline="", encoding="utf-8") as file:
                return cls({row["track"]: row for row in csv.DictReader(file)}, own)
        except FileNotFoundError:
            raise UserError(f"{path} is missing: run make preprocess again, it only writes the list.") from None

    def source(self, track: str) -> Source | None:
        """A track's recording, or nothing if it is not there or may not be passed on."""
        row = self.listed.get(track)
        if row is None or not (self.own or may_be_published(row["licence"])) or not Path(row["path"]).is_file():
            return None
        title, artist = audio.title_of(Path(row["path"]))
        credit = ", ".join(filter(None, [artist, row["group"], Path(track).name]))
        return Source(Path(row["path"]), title, credit, row["licence"])

    def licence_at(self, path: str) -> str:
        """The licence of a file that is one of these tracks or of the free recordings; nothing for any other."""
        listed = (row["licence"] for row in self.listed.values() if row["path"] == path)
        groups = free.recordings(free.SETS[-1]).items()
        known = (one.licence for group, ones in groups for one in ones if path.endswith(f"/free/{group}/{one.path}"))
        return next(itertools.chain(listed, known), "")

    def recording(self, path: Path, parts: Sequence[str], about: Mapping[str, str]) -> Source | None:
        """A recording in parts, if it may be passed on: by what is said of all in its folder, or by its tracks."""
        title, licence = audio.title_of(path)[0], about.get("licence", "")
        if may_be_published(licence) or is_noncommercial(licence):
            return Source(path, title, about.get("credit", path.name), licence)
        known = tuple(source for part in parts if (source := self.source(part)) is not None)
        if len(known) < len(parts) and not self.own:
            return None
        licences = sorted({source.licence for source in known}) or ["your own"]
        credit = "; ".join(source.title for source in known)
        return Source(path, title, credit or path.name, ", ".join(licences), known)
