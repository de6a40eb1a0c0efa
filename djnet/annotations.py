"""Where the parts of a recording lie: sections of a song, clips of a medley.

Reads the AIST section files of RWC (start, end in hundredths of a second, label), plain CSV (start, end, label in
seconds) and cue sheets. Errors name the file and the line.
"""

import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path

from djnet.errors import UserError

SHORTEST_SECONDS = 1.0


class AnnotationError(UserError):
    """An annotation that cannot be used: which file, which line, and why."""

    def __init__(self, path: Path | str, line: int, reason: str):
        super().__init__(f"{path}, line {line}: {reason}")


@dataclass(frozen=True)
class Part:
    """A section or a clip, in seconds."""

    start: float
    end: float
    label: str


def read_parts(path: Path) -> list[Part]:
    """The parts of a recording, by the kind of file: .csv, .cue, or AIST's .txt."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise AnnotationError(path, line, "is not UTF-8 text; save it in that encoding.") from error
    read = {".csv": _read_csv, ".cue": _read_cue}.get(path.suffix.lower(), _read_aist)
    numbered = read(path, text)
    if not numbered:
        raise AnnotationError(path, 1, "has no parts.")
    previous = 0.0
    for line, part in numbered:
        if part.start < 0 or part.end <= part.start:
            raise AnnotationError(path, line, f"a part cannot go from {part.start:g} s to {part.end:g} s.")
        if part.start < previous - 1e-6:
            raise AnnotationError(
                path, line, f"begins at {part.start:g} s, before the part above it ends ({previous:g} s)."
            )
        previous = part.end if part.end != float("inf") else part.start
    return [part for _, part in numbered]


def join_short(parts: list[Part], shortest: float = SHORTEST_SECONDS) -> tuple[list[Part], int]:
    """Join parts that are too short to their neighbour before (the first to the one after): -> parts, how many."""
    kept: list[Part] = []
    joined = 0
    for part in parts:
        if kept and (part.end - part.start < shortest or kept[-1].end - kept[-1].start < shortest):
            short_first = kept[-1].end - kept[-1].start < shortest
            label = part.label if short_first else kept[-1].label
            kept[-1] = replace(kept[-1], end=part.end, label=label)
            joined += 1
        else:
            kept.append(part)
    return kept, joined


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise AnnotationError(path, line, f"{text!r} is not a number.") from None


def _read_aist(path: Path, text: str) -> list[tuple[int, Part]]:
    found = []
    for line, content in enumerate(text.splitlines(), 1):
        if not content.strip():
            continue
        fields = content.split("\t")
        if len(fields) < 3:
            raise AnnotationError(path, line, f"needs start, end and label with tabs between, got {content!r}.")
        start, end = (_number(path, line, field) / 100 for field in fields[:2])
        found.append((line, Part(start, end, fields[2].strip().strip('"'))))
    return found


def _read_csv(path: Path, text: str) -> list[tuple[int, Part]]:
    rows = csv.DictReader(text.splitlines())
    if missing := {"start", "end", "label"} - set(rows.fieldnames or ()):
        raise AnnotationError(path, 1, f"has no column {min(missing)!r}; it needs start, end and label.")
    found = []
    for row in rows:
        if row["start"] is None or row["end"] is None:
            raise AnnotationError(path, rows.line_num, "needs start, end and label.")
        start, end = (_number(path, rows.line_num, row[name]) for name in ("start", "end"))
        found.append((rows.line_num, Part(start, end, row["label"] or "")))
    return found


def _read_cue(path: Path, text: str) -> list[tuple[int, Part]]:
    """Tracks begin at INDEX 01 (minutes, seconds, 75ths) and end where the next begins, the last with the audio."""
    found: list[tuple[int, Part]] = []
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
            if found:
                before, part = found[-1]
                found[-1] = (before, replace(part, end=start))
            found.append((line, Part(start, float("inf"), title)))
    return found
