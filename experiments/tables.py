"""The cells of the paper's tables, and how a table is written and shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from djnet.baselines import REFERENCES
from djnet.constants import JIGSAW_SIZES
from djnet.errors import UserError
from djnet.files import locked, read_csv, whole_file
from experiments.paper import reported

# What makes a row the same row: a rerun replaces it, anything else stays.
KEY = [
    "game", "segmentation", "n", "gap", "method", "protocol", "preset", "corpus", "corpus_hash", "trained_on", "seed",
    "run",
]  # fmt: skip
MEASURES = [
    "pairwise", "pairwise_low", "pairwise_high", "global", "global_low", "global_high", "pairwise_by_group",
    "global_by_group", "undecidable", "global_decidable", "kendall_tau", "longest_run", "position_error",
    "versus", "difference", "p_value", "p_mcnemar",
]  # fmt: skip
# What a number was made with.
SETTING = ("protocol", "preset", "corpus", "corpus_hash", "trained_on", "seed", "run", "commit")
_OLD_PROTOCOLS = {"isolated": "trimmed"}  # as rows of version 0.1 call it
BAR = "bar"  # a gap of a whole bar
GREEDY, LIKELIEST = "(greedy)", "(likeliest)"  # other ways from the same scores to an order
# Not of the paper: SEN that compares the spectrograms beside the embeddings, and both trained on rendered songs too.
VARIANT = "sen, two matrices"
WIDE, MEAN = f"{VARIANT}, wide", f"{VARIANT}, mean of three seeds"
RANDOM_GAP = "sen, random gap"
MORE_MUSIC = {"sen, more music": "more_music/sen", f"{VARIANT}, more music": "more_music/two_matrices"}


@dataclass(frozen=True)
class Cell:
    """One cell of a table: a game, who plays it, and the paper's result.

    `segmentation` says where clips were cut, in training and, for the jigsaw, in the game; recordings come in parts.
    """

    game: str
    segmentation: str
    n: int  # 0 for recordings, whose parts are as many as they are
    method: str  # a model, an ablation, "sen (likeliest)", or one of REFERENCES
    experiment: str = ""
    paper: tuple[float, float] | None = None
    rival: tuple[str, str] = ("sen", "fixed")  # method and segmentation that it is tested against
    gap: float | str = 0.0  # seconds removed on each side of every cut, or BAR before it
    cut: str | None = None  # where the puzzle is cut, if not as in training
    seeds: tuple[int, ...] = ()  # the mean of these seeds' scores plays; without, one run

    @property
    def group(self) -> tuple[str, str, int, float | str]:
        """Cells of one group play the same puzzles: the game, where it is cut, into how many, with which gap."""
        cut = self.segmentation if self.cut is None else self.cut
        return self.game, cut if self.game == "jigsaw" else "", self.n, self.gap


class Row(NamedTuple):
    """Who plays a group of cells: a method, where it was cut in training, its experiment, and the paper's result."""

    method: str
    segmentation: str
    experiment: str
    paper: tuple[float, float] | None = None


def _group(game: str, cut: str, n: int, rows: Iterable[Row], rival: tuple[str, str]) -> list[Cell]:
    """Cells that play the same puzzles: the references, and methods that are tested against their rival."""
    return [
        *[Cell(game, cut, n, method, rival=rival) for method in REFERENCES],
        *[
            Cell(game, segmentation, n, method, name, value, rival, seeds=(0, 1, 2) if method == MEAN else ())
            for method, segmentation, name, value in rows
        ],
    ]


def _two_matrices(cut: str) -> Row:
    return Row(VARIANT, cut, f"two_matrices/{cut}")


def _variants(cut: str) -> list[Row]:
    more = {WIDE: "wide/two_matrices", MEAN: "two_matrices/fixed", **MORE_MUSIC} if cut == "fixed" else {}
    return [_two_matrices(cut), *(Row(name, cut, run) for name, run in more.items())]


CUTS = ("fixed", "downbeat")
_RANDOM_GAPS = [Row(RANDOM_GAP, cut, f"gap/{cut}") for cut in CUTS]


def _other_rules(cut: str, run: str) -> list[Row]:
    return [Row(f"sen {rule}", cut, run) for rule in (GREEDY, LIKELIEST)]


def _table2() -> list[Cell]:
    rows = [Row(model, "fixed", f"table2/{model}", values) for model, values in reported(table="2").items()]
    rows += [*_other_rules("fixed", "table2/sen"), *_variants("fixed")]
    return _group("jigsaw", "fixed", 3, rows, ("sen", "fixed"))


def _table3(cut: str, n: int) -> list[Cell]:
    theirs = reported(table="3", segmentation=cut, n=str(n))
    rows = [Row(model, cut, f"table3/{cut}/{model}", values) for model, values in theirs.items()]
    rows += [*_other_rules(cut, f"table3/{cut}/sen"), *_variants(cut)]
    return _group("jigsaw", cut, n, rows, ("sen", cut))


def _table4(game: str) -> list[Cell]:
    theirs = {cut: reported(table="4", game=game, segmentation=cut)["sen"] for cut in CUTS}
    rows = [Row("sen", cut, f"table4/{cut}", values) for cut, values in theirs.items()]
    if game == "jigsaw":  # each on puzzles cut as in its training
        own = {row.segmentation: [row, *_variants(row.segmentation)] for row in rows}
        return [cell for cut in CUTS for cell in _group(game, cut, 8, own[cut], ("sen", cut))]
    rows += [*_other_rules("downbeat", "table4/downbeat"), *_variants("fixed"), *_variants("downbeat"), *_RANDOM_GAPS]
    rows += [Row(model, "downbeat", f"table3/downbeat/{model}") for model in ("sn", "cin")]
    return _group(game, "", 0, rows, ("sen", "downbeat"))


def _table5(game: str) -> list[Cell]:
    theirs = reported(table="5", game=game)
    rows = [Row(name, "downbeat", f"table5/{name}", values) for name, values in theirs.items()]
    cut, n = ("downbeat", 8) if game == "jigsaw" else ("", 0)
    return _group(game, cut, n, rows, ("all", "downbeat"))


def _boundary(gap: float | str) -> list[Cell]:
    """Does the join alone decide? Music removed at it, and networks that were trained so."""
    rows = [
        Row("sen", "fixed", "table2/sen"),
        Row("sen", "downbeat", "table4/downbeat"),
        Row("ccsn", "fixed", "table2/ccsn"),
        Row("sen, gap 0.5 s", "fixed", "boundary/sen"),
        *_RANDOM_GAPS,
        _two_matrices("fixed"),
    ]
    cells = _group("jigsaw", "fixed", 3, rows, ("sen", "fixed"))
    return [replace(cell, gap=gap, cut="downbeat" if gap == BAR else "fixed") for cell in cells]


def _transfer(n: int) -> list[Cell]:
    """Music of another kind: the networks that a medley may be made with, on the same puzzles."""
    rows = [Row("sen", cut, f"table4/{cut}") for cut in CUTS]
    rows += [*_variants("fixed"), *_variants("downbeat"), *_RANDOM_GAPS]
    return [replace(cell, cut="fixed") for cell in _group("jigsaw", "fixed", n, rows, ("continuity", "fixed"))]


GAMES = ("jigsaw", "sequencing", "medley")
GAPS = (0.0, 0.25, 0.5, 1.0, 2.0)
CELLS: dict[str, list[Cell]] = {
    "2": _table2(),
    "3": [cell for cut in CUTS for n in JIGSAW_SIZES for cell in _table3(cut, n)],
    "4": [cell for game in GAMES for cell in _table4(game)],
    "5": [cell for game in GAMES for cell in _table5(game)],
    "boundary": [cell for gap in (*GAPS, BAR) for cell in _boundary(gap)],
    "transfer": [cell for n in (3, 6, 8) for cell in _transfer(n)],
}


def with_network(cells: Sequence[Cell], name: str) -> list[Cell]:
    """The cells of a table, and one more in every group: a network that is no row of the paper, by its name."""
    firsts = {cell.group: cell for cell in reversed(cells)}
    return [*cells, *(replace(cell, method=name, experiment=name, paper=None, seeds=()) for cell in firsts.values())]


def file_name(table: str) -> str:
    """table2.csv, or boundary.csv."""
    return f"table{table}.csv" if table.isdigit() else f"{table}.csv"


def key_of(row: dict[str, Any]) -> dict[str, Any]:
    """What makes a row this row."""
    return {name: row[name] for name in KEY}


def read(path: Path) -> pd.DataFrame:
    """A table as it was written, every value a string; rows of version 0.1 get the names of today."""
    table = pd.DataFrame(read_csv(path)).rename(columns={"passes": "epochs"})
    if "method" in table and "run" not in table:
        table["run"] = ""
    return table.replace({"protocol": _OLD_PROTOCOLS})


def read_numbers(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """A table with numbers as such and at least these columns; a hash is text, also one of digits only."""
    read_csv(path, columns)  # says what is wrong with it
    try:
        return pd.read_csv(path, dtype={"records": str}).replace({"protocol": _OLD_PROTOCOLS})
    except (ValueError, OverflowError) as error:
        raise UserError(f"{path} is damaged ({error}).") from error


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows in place of their older selves; those of other runs, presets or corpora stay.

    A row that could not be played does not replace one that was: a run that is gone does not undo its result.
    """
    with locked(path, wait=True):  # what another evaluation writes meanwhile stays
        old = read(path).to_dict("records") if path.exists() else []
        table = {tuple(str(row.get(name, "")) for name in KEY): row for row in old}
        for row in rows:
            key = tuple(map(str, key_of(row).values()))
            if not row.get("reason") or key not in table or table[key].get("reason"):
                table[key] = row
        columns = dict.fromkeys(name for row in (*rows, *old) for name in row)
        save(path, pd.DataFrame(table.values(), columns=list(columns)))


def save(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV, whole or not at all."""
    with whole_file(path) as partial:
        table.to_csv(partial, index=False)


def published(folder: Path, table: str, rows: Iterable[dict[str, Any]]) -> list[str]:
    """The published result of each row as text, from the tables of a folder; empty where there is none."""
    path = folder / file_name(table)
    same = ["game", "segmentation", "n", "gap", "method", "protocol"]
    known: dict[tuple[str, ...], str] = {}
    if path.is_file():
        for row in read(path).to_dict("records"):
            try:
                if row["global"]:
                    text = f"{float(row['pairwise']):.3f} ({float(row['global']):.3f}) {row['corpus']}"
                    known.setdefault(tuple(row[name] for name in same), text)
            except (KeyError, ValueError) as error:
                raise UserError(f"{path} is not a table of results ({error}).") from error
    return [known.get(tuple(str(row[name]) for name in same), "") for row in rows]


def shown(table: str, rows: Sequence[dict[str, Any]], others: Sequence[str] = ()) -> str:
    """A table for people: ours with its interval, the paper's and the published one beside it."""
    title = f"Table {table}" if table.isdigit() else table.capitalize()
    lines = [f"{title}: pairwise (global) accuracy, 95% interval of the global one, puzzles | the paper's | published"]
    for row, other in zip(rows, others or [""] * len(rows), strict=True):
        gap = f"gap {row['gap']}{'' if row['gap'] == BAR else ' s'} " if row["gap"] else ""
        name = f"{row['game']:10s} {row['segmentation']:9s}{'n=' + str(row['n']):7s} {gap}{row['method']:17s}"
        if row["reason"]:
            lines.append(f"{name} -- {row['reason']}")
            continue
        spread = f"[{row['global_low']:.3f}, {row['global_high']:.3f}]"
        ours = f"{row['pairwise']:.3f} ({row['global']:.3f})  {spread}  {row['puzzles']:4d}"
        theirs = f"{row['paper_pairwise']:.3f} ({row['paper_global']:.3f})" if row["paper_pairwise"] else ""
        lines.append(f"{name} {ours} | {theirs:13s} | {other}{'  *' + row['differs'] if row['differs'] else ''}")
    return "\n".join(lines)
