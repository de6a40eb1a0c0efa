"""Where the sections of a song, or the clips of a medley, lie in a recording.

Reads the AIST section files of RWC (start, end in hundredths of a second, label), plain CSV (start, end, label in
seconds) and cue sheets. Errors name the file and the line.
"""

import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path

from djnet.errors import UserError

SHORTEST_SECONDS = 1.0
_COLUMNS = ("start", "end", "label")


class AnnotationError(UserError):
    """An annotation that cannot be used: which file, which line, and why."""

    def __init__(self, path: Path | str, line: int, reason: str):
        super().__init__(f"{path}, line {line}: {reason}")


@dataclass(frozen=True)
class Section:
    """A section of a song or a clip of a medley, in seconds."""

    start: float
    end: float
    label: str

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.end - self.start


def read_sections(path: Path) -> list[Section]:
    """The sections of a recording, by the kind of file: .csv, .cue, or AIST's .txt."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise AnnotationError(path, line, "is not UTF-8 text; save it in that encoding.") from error
    numbered = (_read_cue if path.suffix.lower() == ".cue" else _read_table)(path, text)
    if not numbered:
        raise AnnotationError(path, 1, "has no sections.")
    previous = 0.0
    for line, section in numbered:
        start, end = section.start, section.end
        if start < 0 or end <= start:
            raise AnnotationError(path, line, f"a section cannot go from {start:g} s to {end:g} s.")
        if start < previous - 1e-6:
            reason = f"begins at {start:g} s, before the section above it ends ({previous:g} s)."
            raise AnnotationError(path, line, reason)
        previous = end if end != float("inf") else start
    return [section for _, section in numbered]


def join_short(sections: list[Section], shortest: float = SHORTEST_SECONDS) -> tuple[list[Section], int]:
    """Join sections that are too short to the one before (the first to the one after): -> sections, how many joined."""
    kept: list[Section] = []
    for section in sections:
        if kept and min(kept[-1].seconds, section.seconds) < shortest:
            label = section.label if kept[-1].seconds < shortest else kept[-1].label
            kept[-1] = replace(kept[-1], end=section.end, label=label)
        else:
            kept.append(section)
    return kept, len(sections) - len(kept)


def _read_table(path: Path, text: str) -> list[tuple[int, Section]]:
    """Plain CSV, or AIST's columns: without a header, tabs between them, times in hundredths, labels in quotes."""
    is_csv = path.suffix.lower() == ".csv"
    lines = [line if line.strip() else "" for line in text.splitlines()]
    rows = csv.DictReader(lines) if is_csv else csv.DictReader(lines, _COLUMNS, delimiter="\t", quoting=csv.QUOTE_NONE)
    if missing := set(_COLUMNS) - set(rows.fieldnames or ()):
        raise AnnotationError(path, 1, f"has no column {min(missing)!r}; it needs start, end and label.")
    sections = []
    for row in rows:
        line, label = rows.line_num, row["label"]
        if None in (row["start"], row["end"]) or (label is None and not is_csv):
            between = f"with {'commas' if is_csv else 'tabs'} between, got {lines[line - 1]!r}"
            raise AnnotationError(path, line, f"needs start, end and label {between}.")
        start, end = (_number(path, line, row[name]) / (1 if is_csv else 100) for name in ("start", "end"))
        sections.append((line, Section(start, end, (label or "") if is_csv else label.strip().strip('"'))))
    return sections


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise AnnotationError(path, line, f"{text!r} is not a number.") from None


def _read_cue(path: Path, text: str) -> list[tuple[int, Section]]:
    """Tracks begin at INDEX 01 (minutes, seconds, 75ths) and end where the next begins, the last with the audio."""
    sections: list[tuple[int, Section]] = []
    title = ""
    for line, content in enumerate(text.splitlines(), 1):
        words = content.strip()
        if named := re.match(r'TITLE\s+"?([^"]*)"?', words, re.IGNORECASE):
            title = named[1]
        if re.match(r"INDEX\s+01\b", words, re.IGNORECASE):
            time = re.match(r"INDEX\s+01\s+(\d+):([0-5]\d):(\d\d)$", words, re.IGNORECASE)
            if not time:
                raise AnnotationError(path, line, f"INDEX 01 needs minutes:seconds:frames, got {words!r}.")
            start = 60 * int(time[1]) + int(time[2]) + int(time[3]) / 75
            if sections:
                before, section = sections[-1]
                sections[-1] = (before, replace(section, end=start))
            sections.append((line, Section(start, float("inf"), title)))
    return sections
