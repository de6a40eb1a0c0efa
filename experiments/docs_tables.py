"""Write the tables in README.md and other documents from results/*.csv, between their marks: `make readme-tables`."""

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from djnet.cli import job
from djnet.errors import UserError
from djnet.files import whole_file

ROOT = Path(__file__).parents[1]
CARD = ("continuity", "sen")


def speed_table(rows: list[dict[str, str]]) -> list[str]:
    """What `make bench` measured."""
    lines = ["| what | measured | goal | in that run |", "|---|---|---|---|"]
    return lines + [
        f"| {row['what']} | {row['measured']} {row['unit']} | {row['goal']} | {row['detail']} |" for row in rows
    ]


def results_table(rows: list[dict[str, str]]) -> list[str]:
    """A table of the paper: ours with its interval beside the paper's; rows of one setting under one heading.

    The interval is that of the global accuracy in jigsaws, of the pairwise one in the other games.
    Rows that differ only in their seed are one line: the first one's numbers, and what the others reach.
    """
    lines = []
    for setting, here in _grouped([row for row in rows if row["global"]], _setting).items():
        here.sort(key=lambda row: int(row["seed"] or 0))
        same = list(_grouped(here, lambda row: (row["game"], row["segmentation"], row["n"], row["method"])).values())
        heads = ["game", "cut", "n", "method", "ours", "95%", "puzzles", "paper"]
        heads += ["other seeds"] if any(len(seeds) > 1 for seeds in same) else []
        lines += ["", f"{setting}:", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        for row, *others in same:
            paper = (
                f"{float(row['paper_pairwise']):.3f} ({float(row['paper_global']):.3f})" if row["paper_global"] else ""
            )
            measure = "global" if row["game"] == "jigsaw" else "pairwise"  # hardly a medley is all in order
            spread = f"{float(row[f'{measure}_low']):.3f} to {float(row[f'{measure}_high']):.3f}"
            cells = [row[name] for name in ("game", "segmentation", "n", "method")]
            cells += [_ours(row), spread, row["puzzles"], paper, ", ".join(map(_ours, others))]
            lines.append(f"| {' | '.join(cells[: len(heads)])} |")
    return [*lines, ""] if lines else ["Not played yet: `make evaluate`."]


def card_table(rows: list[dict[str, str]]) -> list[str]:
    """What the shipped networks reach, beside what needs no network."""
    return results_table([row for row in rows if row["method"] in CARD and row["protocol"] == "isolated"])


def boundary_table(rows: list[dict[str, str]]) -> list[str]:
    """Music taken away at the cuts: a row a method, a column a gap."""
    played = [row for row in rows if row["global"]]
    gaps = sorted({float(row["gap"] or 0) for row in played})
    lines = []
    for setting, here in _grouped(played, _setting).items():
        heads = ["method", *(f"{gap:g} s" for gap in gaps)]
        lines += ["", f"{setting}:", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        for method, same in _grouped(here, lambda row: row["method"]).items():
            found = {float(row["gap"] or 0): row for row in same}
            lines.append(f"| {' | '.join([method, *(_ours(found[gap]) if gap in found else '' for gap in gaps)])} |")
    return [*lines, ""] if lines else ["Not played yet: `make reproduce`."]


def study_table(rows: list[dict[str, str]]) -> list[str]:
    """Ways to train, the longest trained and then the best first; the last columns are other music."""
    other = list(rows[0])[list(rows[0]).index("valid_global_6") + 1 :] if rows else []
    heads = ["changed", "passes", "n = 3", "best after", "n = 6", *(f"{name}, n = 3" for name in other)]
    lines = ["", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for row in sorted(rows, key=lambda row: (-int(row["epochs"]), -float(row["valid_global"]))):
        cells = [
            row["variant"],
            row["epochs"],
            f"{float(row['valid_pairwise']):.3f} ({float(row['valid_global']):.3f})",
        ]
        cells += [
            row["best_epoch"],
            *(f"{float(row[name]):.3f}" if row[name] else "" for name in ("valid_global_6", *other)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _grouped(rows: Iterable[dict[str, str]], key: Callable[[dict[str, str]], Any]) -> dict[Any, list[dict[str, str]]]:
    """Rows by what they have in common, in the order in which it is first seen."""
    found: dict[Any, list[dict[str, str]]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _ours(row: dict[str, str]) -> str:
    return f"{float(row['pairwise']):.3f} ({float(row['global']):.3f})"


def _setting(row: dict[str, str]) -> str:
    return f"{row['corpus']} ({row['corpus_hash']}), {row['protocol']}"


Tables = dict[str, tuple[str, Callable[[list[dict[str, str]]], list[str]]]]

# By mark in the README: the table in results/ and how to write it.
TABLES: Tables = {
    "table2": ("table2.csv", results_table),
    "boundary": ("boundary.csv", boundary_table),
    "table4": ("table4.csv", results_table),
    "transfer": ("transfer.csv", results_table),
    "study": ("study.csv", study_table),
    "speed": ("speed.csv", speed_table),
}
DOCUMENTS: dict[str, Tables] = {
    "README.md": TABLES,
    "djnet/weights/README.md": {"jigsaw": ("table3.csv", card_table), "transfer": ("transfer.csv", card_table)},
}


def filled(text: str, folder: Path, document: str = "README.md") -> str:
    """A document's text with every table written anew; a missing table is said in its place."""
    for mark, (name, write) in DOCUMENTS[document].items():
        begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
        if begin not in text or end not in text:
            raise UserError(f"{document} has no marks {begin} and {end} for the table of {name}.")
        before, rest = text.split(begin, 1)
        _, after = rest.split(end, 1)
        path = folder / name
        lines = [f"results/{name} is missing."]
        if path.exists():
            with open(path, newline="", encoding="utf-8") as file:
                lines = write(list(csv.DictReader(file)))
        text = "\n".join([before + begin, *lines, end + after])
    return text


def main(given: Any) -> None:
    """Rewrite the documents."""
    del given
    for name in DOCUMENTS:
        path = ROOT / name
        text = filled(path.read_text(encoding="utf-8"), ROOT / "results", name)
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    job.run(main, lambda: None)
