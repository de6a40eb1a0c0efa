"""What the commands print: tables, the arrangement before a medley is made, and the self-check after."""

from collections.abc import Sequence

import numpy as np

from djnet.medley.analysis import Song
from djnet.medley.arrange import Arrangement
from djnet.medley.check import PEAK_LIMIT_DB, PHASE_LIMIT_MS, STEP_LIMIT_LU, Check
from djnet.medley.transitions import Join

_MOST_NAMES = 15  # of songs in another order


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as text in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def count(number: int, word: str) -> str:
    """A number of things: 1 song, 2 songs."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    tenths = round(seconds * 10)
    return f"{tenths // 600}:{tenths % 600 / 10:04.1f}"


def arrangement_text(arrangement: Arrangement, songs: Sequence[Song]) -> str:
    """The parts in their order with joins and scores, and how good the order is."""
    rows = [("at", "song", "part of it", "bars", "tempo", "key", "join", "score")]
    joins = zip([0.0, *(join.start for join in arrangement.joins)], ["", *map(_kind, arrangement.joins)], strict=True)
    scores = ["", *(f"{score:.3f}" for score in arrangement.scores)]
    for part, (begin, join), score in zip(arrangement.parts, joins, scores, strict=True):
        song, bars = part.song, str(part.bars) if len(part.song.bars) else "-"
        span, bpm = f"{clock(part.start)}-{clock(part.end)}", f"{song.bpm:.0f}" if song.bpm else "free"
        rows.append((clock(begin), song.name[:32], span, bars, bpm, song.key, join, score))
    if not arrangement.joins:
        return f"{table(rows)}\nOne song only: there is nothing to join."
    return "\n".join([table(rows), *_order_lines(arrangement, [song.name for song in songs])])


def _kind(join: Join) -> str:
    if join.kind == "blend":
        return f"blend, {count(join.bars, 'bar')}, {100 * join.stretch:.1f}%"
    return f"{join.kind}: {join.reason}"


def _order_lines(arrangement: Arrangement, names: Sequence[str]) -> list[str]:
    """How good the order is, what the second-best order and the constraints cost, and which songs are left out."""
    solution, second = arrangement.solution, arrangement.second
    if solution.proven:
        proof = "no order and choice of parts is better (proven)"
    elif np.isfinite(solution.bound):
        proof = f"another might be at most {solution.bound - solution.value:.3f} better (not proven)"
    else:
        proof = "another might be better by an unknown amount (not proven)"
    lines = [f"Order: {sum(arrangement.scores):.3f} for {count(len(arrangement.scores), 'join')}; {proof}."]
    if second is not None:
        kind = "Second-best order" if solution.proven else "Another order"
        listed = [names[i][:20] for i in second.order[:_MOST_NAMES]] + ["..."] * (len(second.order) > _MOST_NAMES)
        lines.append(f"{kind}: loses {solution.value - second.value:.3f}: {', '.join(listed)}.")
    lines += [f"--{name.replace('_', '-')} costs {cost:.3f}." for name, cost in arrangement.costs.items()]
    if dropped := [name for i, name in enumerate(names) if i not in solution.order]:
        lines.append(f"Left out, fitting worst: {', '.join(dropped)}.")
    return lines


def check_text(checked: Check, joins: Sequence[Join], names: Sequence[str]) -> str:
    """What the self-check measured, with a warning for each value over its limit."""
    rows = [("join at", "from", "to", "how", "beat phase", "loudness step", "")]
    for i, (join, result) in enumerate(zip(joins, checked.joins, strict=True)):
        phase = "-" if result.phase_ms is None else f"{result.phase_ms:+.0f} ms"
        warning = "WARNING: " + "; ".join(result.warnings) if result.warnings else "ok"
        step = f"{result.step:+.1f} LU"
        rows.append((clock(join.middle), names[i][:24], names[i + 1][:24], join.kind, phase, step, warning))
    lines = [table(rows)] if joins else []
    lines.append(
        f"Self-check: loudness {checked.loudness:.1f} LUFS, clips within {checked.spread:.1f} LU, true peak "
        f"{checked.peak_db:.1f} dB (limit {PEAK_LIMIT_DB:g}), longest silence {checked.silence:.1f} s; "
        f"limits of a join: {PHASE_LIMIT_MS:g} ms, {STEP_LIMIT_LU:g} LU."
    )
    return "\n".join([*lines, *(f"WARNING: {warning}." for warning in checked.warnings)])
