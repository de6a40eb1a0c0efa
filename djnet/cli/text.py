"""What the commands print: tables, the arrangement before a medley is made, and the self-check after."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from djnet.errors import shown
from djnet.medley.analysis import Song
from djnet.medley.arrange import Arrangement
from djnet.medley.check import (
    KEY_LIMIT,
    PEAK_LIMIT_DB,
    PHASE_LIMIT_MS,
    STEP_LIMIT_LU,
    TEMPO_LIMIT,
    VOICES_LIMIT_SECONDS,
    Check,
    summary,
)
from djnet.medley.transitions import BLENDS, Join

_TERMS = ("tempo", "harmony", "energy", "voices")  # of a score, that are shown
_MOST_NAMES = 15  # of songs in another order


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as text in columns."""
    rows = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def count(number: int, word: str) -> str:
    """A number of things: 1 song, 2 songs."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def short(name: str, most: int) -> str:
    """A name without its middle if it is long: titles often differ at the end only."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most - most // 2) :]}"


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    tenths = round(seconds * 10)
    return f"{tenths // 600}:{tenths % 600 / 10:04.1f}"


def arrangement_text(arrangement: Arrangement, songs: Sequence[Song]) -> str:
    """The parts in their order, each with its join to the one before and its score, and how good the order is."""
    rows: list[tuple[str, ...]] = [("at", "song", "part of it", "bars", "bpm", "key", "join", "score", *_TERMS, "SEN")]
    begins = [0.0, *(join.start for join in arrangement.joins)]
    for part, begin, joined in zip(arrangement.parts, begins, [[""] * 7, *_join_cells(arrangement)], strict=True):
        song, bars = part.song, str(part.bars) if len(part.song.bars) else "-"
        span, bpm = f"{clock(part.start)}-{clock(part.end)}", f"{song.bpm:.0f}" if song.bpm else "-"
        key = f"{part.key} ({part.transpose:+d})" if part.transpose else part.key
        rows.append((clock(begin), short(song.name, 32), span, bars, bpm, key, *joined))
    if not arrangement.joins:
        return f"{table([row[:6] for row in rows])}\nOne song only: there is nothing to join."
    return "\n".join([table(rows), *_order_lines(arrangement, [song.name for song in songs])])


def _join_cells(arrangement: Arrangement) -> Iterator[list[str]]:
    """For every join: its kind, its score, four terms of it, and the network's percentile."""
    for join, score, terms, percentile in zip(
        arrangement.joins, arrangement.scores, arrangement.terms, arrangement.percentiles, strict=True
    ):
        named = [f"{terms[name]:.2f}" for name in _TERMS]
        yield [_kind(join), f"{score:.2f}", *named, f"{percentile:.0f}%"]


def _kind(join: Join) -> str:
    if join.kind in BLENDS:
        against = f", {join.reason}" if join.reason else ""
        return f"{join.kind}, {count(join.bars, 'bar')}, stretched {100 * join.stretch:.1f}%{against}"
    return f"{join.kind}: {join.reason}"


def _order_lines(arrangement: Arrangement, names: Sequence[str]) -> list[str]:
    """How good the order is, what the second-best order and the constraints cost, and which songs are left out."""
    solution, second = arrangement.solution, arrangement.second
    if solution.proven:
        proof = "no order and choice of parts has a higher score (proven)"
    elif np.isfinite(solution.bound):
        proof = f"another might score at most {solution.bound - solution.value:.2f} more in all (not proven)"
    else:
        proof = "another might score more, it is not known how much (not proven)"
    kinds = Counter(join.kind for join in arrangement.joins)
    listed = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    mean = sum(arrangement.scores) / len(arrangement.scores)
    lines = [
        "A join leads from the song above it; its score, from 0 to 1, is made of the terms to its right.",
        "SEN: the share of all joins between different songs that the network finds worse.",
        f"Joins: {listed}; they score {mean:.2f} on average; {proof}.",
    ]
    if second is not None:
        kind = "Second-best order" if solution.proven else "Another order"
        songs = [short(names[i], 20) for i in second.order[:_MOST_NAMES]] + ["..."] * (len(second.order) > _MOST_NAMES)
        lines.append(f"{kind}: scores {solution.value - second.value:.2f} less in all: {', '.join(songs)}.")
    if arrangement.energies:
        lines.append(f"Energy from song to song: {', '.join(f'{one:.2f}' for one in arrangement.energies)}.")
    for name, cost in arrangement.costs.items():
        wish = "[[join]] in the settings" if name == "join" else f"--{name.replace('_', '-')}"
        lines.append(f"{wish} costs {cost:.2f} of the score.")
    if dropped := [name for i, name in enumerate(names) if i not in solution.order]:
        lines.append(f"Left out, fitting worst: {', '.join(dropped)}.")
    return lines


def check_text(checked: Check, joins: Sequence[Join], names: Sequence[str]) -> str:
    """What the self-check measured, with a warning for each value over its limit."""
    rows = [("join at", "from", "to", "how", "beat phase", "tempo", "keys", "voices", "loudness step", "")]
    for i, (join, result) in enumerate(zip(joins, checked.joins, strict=True)):
        phase = "-" if result.phase_ms is None else f"{result.phase_ms:+.0f} ms"
        warning = "WARNING: " + "; ".join(result.warnings) if result.warnings else "smooth"
        keys = "-" if result.keys is None else f"{result.keys:.2f}"
        both = "-" if result.voices is None else f"{result.voices:.1f} s"
        values = phase, f"{100 * result.tempo_jump:.0f}%", keys, both, f"{result.step:+.1f} LU"
        rows.append((clock(join.middle), short(names[i], 24), short(names[i + 1], 24), join.kind, *values, warning))
    lines = [table(rows), f"Joins: {summary(checked.joins, names)}."] if joins else []
    lines.append(
        f"Self-check: loudness {checked.loudness:.1f} LUFS, all songs within {checked.spread:.1f} LU, true peak "
        f"{checked.peak_db:.1f} dB (limit {PEAK_LIMIT_DB:g}), peaks lowered by up to {checked.limited_db:.1f} dB, "
        f"longest silence {checked.silence:.1f} s; "
        f"a join is smooth up to {PHASE_LIMIT_MS:g} ms of beat phase, {100 * TEMPO_LIMIT:g}% of tempo, "
        f"{VOICES_LIMIT_SECONDS:g} s of two voices and {STEP_LIMIT_LU:g} LU, keys from {KEY_LIMIT:g} to 1 (the same)."
    )
    return "\n".join([*lines, *(f"WARNING: {warning}." for warning in checked.warnings)])
