"""What a medley prints: the plan before, the self-check after."""

from collections.abc import Sequence

import numpy as np

from djnet.medley.analysis import Song
from djnet.medley.arrange import Plan
from djnet.medley.check import PEAK_LIMIT_DB, PHASE_LIMIT_MS, STEP_LIMIT_LU, Check
from djnet.medley.mix import Join, Mix

_NAMED = 15  # songs of another order that are listed


def plan_table(plan: Plan, found: Sequence[Song], joins: Sequence[Join]) -> str:
    """The clips in their order with joins and scores, and how sure the order is."""
    begins = [0.0, *(join.start for join in joins)]
    rows = [("at", "song", "part of it", "bars", "tempo", "key", "join", "score")]
    for i, (clip, begin) in enumerate(zip(plan.clips, begins, strict=True)):
        song, span = clip.song, clip.span
        rows.append((
            clock(begin), song.name[:32], f"{clock(span.start)}-{clock(span.end)}",
            str(span.bars) if len(song.bars) else "-", f"{song.bpm:.0f}" if song.bpm else "free", song.key,
            _join(joins[i - 1]) if i else "", f"{plan.scores[i - 1]:.3f}" if i else "",
        ))  # fmt: skip
    lines = [table(rows)]
    if not joins:
        return "\n".join([*lines, "One song only: there is nothing to join."])
    return "\n".join([*lines, *_order_lines(plan, found)])


def _order_lines(plan: Plan, found: Sequence[Song]) -> list[str]:
    choice = plan.choice
    proof = "no order and choice of parts is better (proven)"
    if not choice.proven:
        gap = (
            f"at most {choice.bound - choice.value:.3f} better"
            if np.isfinite(choice.bound)
            else "better by an unknown amount"
        )
        proof = f"another might be {gap} (not proven)"
    lines = [f"Order: {sum(plan.scores):.3f} for {number_of(len(plan.scores), 'join')}; {proof}."]
    if plan.other is not None:
        kind = "Second-best order" if choice.proven else "Another order"
        names = ", ".join(found[i].name[:20] for i in plan.other.order[:_NAMED])
        names += ", ..." if len(plan.other.order) > _NAMED else ""
        lines.append(f"{kind}: loses {choice.value - plan.other.value:.3f}: {names}.")
    lines += [f"{wish} costs {cost:.3f}." for wish, cost in plan.costs.items()]
    left = sorted(set(range(len(found))) - set(choice.order))
    if left:
        lines.append(f"Left out, fitting worst: {', '.join(found[i].name for i in left)}.")
    return lines


def check_table(checked: Check, made: Mix, names: Sequence[str]) -> str:
    """What the self-check measured, with a warning for each join over a limit."""
    rows = [("join at", "from", "to", "how", "beat phase", "loudness step", "")]
    for i, (join, result) in enumerate(zip(made.joins, checked.joins, strict=True)):
        phase = "-" if result.phase_ms is None else f"{result.phase_ms:+.0f} ms"
        warning = "WARNING: " + "; ".join(result.warnings) if result.warnings else "ok"
        rows.append(
            (clock(join.middle), names[i][:24], names[i + 1][:24], join.kind, phase, f"{result.step:+.1f} LU", warning)
        )
    lines = [table(rows)] if made.joins else []
    lines.append(
        f"Self-check: loudness {checked.loudness:.1f} LUFS, clips within {checked.spread:.1f} LU, true peak "
        f"{checked.peak_db:.1f} dB (limit {PEAK_LIMIT_DB:g}), longest silence {checked.silence:.1f} s; "
        f"limits of a join: {PHASE_LIMIT_MS:g} ms, {STEP_LIMIT_LU:g} LU."
    )
    return "\n".join([*lines, *(f"WARNING: {warning}." for warning in checked.warnings)])


def _join(join: Join) -> str:
    if join.kind == "blend":
        return f"blend, {number_of(join.bars, 'bar')}, {100 * join.stretch:.1f}%"
    return f"{join.kind}: {join.reason}"


def number_of(count: int, word: str) -> str:
    """A number of things in words: 1 song, 2 songs."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    tenths = round(seconds * 10)
    return f"{tenths // 600}:{tenths % 600 / 10:04.1f}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of words in columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
