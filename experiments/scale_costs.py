"""What larger corpora would cost, from the unit costs that `make bench` measured: the tables of docs/scale.md."""

import re
from collections.abc import Callable

from djnet import spec
from preprocessing.job import JobError

CORES = 2  # of the machine that results/speed.csv was measured on
CLIPS_A_TRACK = 10
STORED_SECONDS = 30.0  # a clip of 24 s with three on each side
EPOCHS = 40
PAIRS_A_CLIP = 6
GPU_FLOPS = 10e12  # assumed to be sustained; no GPU was measured
VECTOR_BYTES = 2 * 256 * 4  # of a track in the index: its end and its beginning, 256 numbers of four bytes each
SHORT_LIST = 100

CORPORA = {
    "the paper's clips": (31_377, 31_377),  # tracks, clips
    "1 million tracks": (1_000_000, CLIPS_A_TRACK * 1_000_000),
    "100 million tracks": (100_000_000, CLIPS_A_TRACK * 100_000_000),
}

_UNITS = {"MB": 1e6, "GB": 1e9, "TB": 1e12}

Rows = list[dict[str, str]]


def cost_table(rows: Rows) -> list[str]:
    """Preprocessing, storage and training of every corpus."""
    clips_a_second = _number(rows, "preprocessing with two workers: times one", r"([\d.]+) clips a second")
    pairs_a_second = _number(rows, "SEN training: times a plain Keras fit, pair by pair", r"([\d.]+) against")
    lines = [
        "| corpus | clips | preprocessing, CPU hours | records | training, CPU hours | training, GPU hours |",
        "|---|---|---|---|---|---|",
    ]
    for name, (_, clips) in CORPORA.items():
        pairs = clips * 0.62 * PAIRS_A_CLIP * EPOCHS
        cells = [
            f"{clips:,}",
            _hours(CORES * clips / clips_a_second),
            _bytes(clips * STORED_SECONDS * spec.HOPS_PER_SECOND * spec.MEL_BINS * 2),
            _hours(CORES * pairs / pairs_a_second),
            _hours(pairs * _flops_a_pair(rows) / GPU_FLOPS),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def order_table(rows: Rows) -> list[str]:
    """Neighbours for every track: all pairs against an index and a short list."""
    milliseconds = _number(rows, "scoring a puzzle of 8: times the compiled network on 56 pairs", r"([\d.]+) against")
    pair_seconds = CORES * milliseconds / 1e3 / 56
    lines = [
        "| corpus | all pairs, CPU hours | index | short lists, CPU hours |",
        "|---|---|---|---|",
    ]
    for name, (tracks, _) in CORPORA.items():
        cells = [
            _hours(tracks * (tracks - 1) * pair_seconds),
            _bytes(tracks * VECTOR_BYTES),
            _hours(tracks * SHORT_LIST * pair_seconds),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def index_table(rows: Rows) -> list[str]:
    """What `python -m benchmarks.index_recall` measured."""
    lines = ["| method | places | queries | true next in the top 100 | median rank |", "|---|---|---|---|---|"]
    return lines + [
        f"| {row['method']} | {int(row['places']):,} | {row['queries']} | {row['recall in the top 100']} "
        f"| {row['median rank']} |"
        for row in rows
    ]


# By mark in docs/scale.md: the table in results/ and how to write it.
TABLES: dict[str, tuple[str, Callable[[Rows], list[str]]]] = {
    "costs": ("speed.csv", cost_table),
    "orders": ("speed.csv", order_table),
    "index": ("index.csv", index_table),
}


def _number(rows: Rows, what: str, pattern: str) -> float:
    """A number out of the detail of a measurement."""
    for row in rows:
        if row["what"] == what and (found := re.search(pattern, row["detail"])):
            return float(found[1])
    raise JobError(f"results/speed.csv has no measurement {what!r}: make bench writes it.")


def _flops_a_pair(rows: Rows) -> float:
    """Arithmetic of a training pair, by its rate and the share of the machine's peak that it reached."""
    share = next(row for row in rows if row["what"] == "the same: share of the machine's matrix-product peak")
    peak = _number(rows, share["what"], r"([\d.]+) GFLOP/s") * 1e9
    rate = _number(rows, "SEN training: times a plain Keras fit, pair by pair", r"([\d.]+) against")
    return float(share["measured"]) / 100 * peak / rate


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _bytes(count: float) -> str:
    unit = next(unit for unit in ("MB", "GB", "TB") if count < 1000 * _UNITS[unit] or unit == "TB")
    count /= _UNITS[unit]
    return f"{count:,.0f} {unit}" if count >= 10 else f"{count:.1f} {unit}"
