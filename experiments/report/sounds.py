"""The sounds of a report, each a script beside the page, and whom to credit for them."""

from pathlib import Path

from djnet.files import digest_json, whole_file
from djnet.pages.sound import as_text, encode
from experiments.report.recordings import Source

FOLDER = "sounds"
_FORMAT = 2  # of the files, so that older ones are not taken for new ones


class Sounds:
    """The sounds of a report; one that an earlier run has written is not encoded again."""

    def __init__(self, report: Path):
        self._folder = report / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._kept: set[str] = set()
        self.credits: set[str] = set()

    def add(self, source: Source, start: float, seconds: float) -> str:
        """Make a part of a recording playable, and credit it: -> its key."""
        size = source.path.stat().st_size
        key = digest_json([_FORMAT, str(source.path), size, round(start, 4), round(seconds, 4)])[:16]
        target = self._folder / f"{key}.js"
        if key not in self._kept and not target.exists():
            text = as_text(encode(source.path, start, seconds))
            with whole_file(target) as partial:
                partial.write_text(f'djnet.heard("{key}", "{text}");\n', encoding="ascii")
        self._kept.add(key)
        self.credits |= {f"{one.title}: {one.credit} ({one.licence})" for one in source.parts or (source,)}
        return key

    def remove_others(self) -> None:
        """Remove what an older report has left behind."""
        for path in self._folder.iterdir():
            if path.stem not in self._kept:
                path.unlink()
