"""Write the tables of README.md and docs/ from results/*.csv, between their marks: `make docs-tables`."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from djnet.cli import job
from djnet.errors import UserError
from djnet.files import whole_file
from experiments import model_card
from experiments.claims import CLAIMS, judge
from experiments.tables import BAR, read

ROOT = Path(__file__).parents[1]
PROTOCOLS = ("centred", "trimmed", "overlapping")  # the first two: fragments that share no samples
Row = dict[str, str]


def summary_table(rows: list[Row]) -> list[str]:
    """SEN in the three games beside the paper's numbers and continuity: a line a game and cut, from table 4."""
    played = sorted(_played(rows), key=lambda row: (PROTOCOLS.index(row["protocol"]), row["seed"] or "0"))

    def first(**values: str) -> Row | None:
        """The first row with these values: of the first protocol and seed, of a run without changes."""
        return next((row for row in played if row | values == row and not row.get("differs")), None)

    cells, protocols = [], set()
    for game in ("jigsaw", "sequencing", "medley"):
        for cut, name in (("fixed", "equal cuts"), ("downbeat", "cuts at downbeats")):
            if sen := first(game=game, segmentation=cut, method="sen"):
                setting = {column: sen[column] for column in ("game", "corpus_hash", "protocol")}
                continuity = first(**setting, segmentation=cut if game == "jigsaw" else "", method="continuity")
                cells.append([game, sen["n"], name, _ours(sen), _ours(continuity), _paper(sen)])
                protocols.add(f"`{sen['protocol']}`")
    if not cells:
        return ["Not played yet: `make evaluate`."]
    heads = ["game", "pieces", "SEN trained with", "SEN", "continuity", "paper's SEN"]
    return ["", f"Protocol {', '.join(sorted(protocols))}:", *_table(heads, cells)]


def results_table(rows: list[Row]) -> list[str]:
    """A table of the paper: ours with its interval beside the paper's; rows of one setting under one heading.

    The interval is that of the global accuracy in jigsaws, of the pairwise one in the other games.
    Rows that differ only in their seed are one line: the first one's numbers, and what the others reach.
    """
    lines = []
    for setting, here in _grouped(_played(rows), _setting).items():
        here.sort(key=lambda row: row["seed"] or "0")
        heads = ["game", "cut", "n", "method", "ours", "95%", "puzzles", "paper"]
        cells = []
        for row, *others in _by_seed(here):
            measure = "global" if row["game"] == "jigsaw" else "pairwise"  # hardly a medley is all in order
            interval = f"{float(row[f'{measure}_low']):.3f} to {float(row[f'{measure}_high']):.3f}"
            line = [row["game"], row["segmentation"], row["n"], _method(row), _ours(row), interval, row["puzzles"]]
            cells.append([*line, _paper(row), ", ".join(map(_ours, others))])
        if any(line[-1] for line in cells):
            heads.append("other seeds")
        lines += ["", f"{setting}:", *_table(heads, [line[: len(heads)] for line in cells])[:-1]]
    return [*lines, ""] if lines else ["Not played yet: `make evaluate`."]


def _by_seed(rows: list[Row]) -> list[list[Row]]:
    """Rows that differ in their seed only, together; a second run with the same seed is a line of its own."""
    lines: list[list[Row]] = []
    for same in _grouped(rows, lambda row: (row["game"], row["segmentation"], row["n"], _method(row))).values():
        while same:
            by_seed = _grouped(same, lambda row: row["seed"] or "0")
            lines.append([first for first, *_ in by_seed.values()])
            same = [row for _, *others in by_seed.values() for row in others]
    return lines


def shipped_table(rows: list[Row]) -> list[str]:
    """What the shipped networks reach where fragments share no samples, beside what needs no network."""
    shipped = [row for row in rows if row["method"] in ("continuity", "sen")]
    return results_table([row for row in shipped if row["protocol"] != "overlapping"])


def boundary_table(rows: list[Row]) -> list[str]:
    """Music taken away at the cuts: a row a method, a column a gap."""
    played = _played(rows)
    gaps = sorted({row["gap"] or "0" for row in played}, key=lambda gap: (gap == BAR, gap))
    lines = []
    for setting, here in _grouped(played, _setting).items():
        cells = []
        kinds = _grouped(here, lambda row: (_trained(row), row["seed"], row.get("run")))
        for (method, seed, _), same in kinds.items():
            by_gap = {row["gap"] or "0": row for row in same}
            name = method if seed in ("", "0") else f"{method}, seed {seed}"
            cells.append([name, *(_ours(by_gap.get(gap)) for gap in gaps)])
        lines += [
            "",
            f"{setting}:",
            *_table(["method", *(gap if gap == BAR else f"{float(gap):g} s" for gap in gaps)], cells)[:-1],
        ]
    return [*lines, ""] if lines else ["Not played yet: `make reproduce`."]


def study_table(rows: list[Row]) -> list[str]:
    """Ways to train, the longest trained and then the best first; the last columns are other music."""
    columns = list(rows[0]) if rows else ["valid_global_6"]
    other = columns[columns.index("valid_global_6") + 1 :]
    heads = ["changed", "epochs", "n = 3", "best after", "n = 6", *(f"{name}, n = 3" for name in other)]
    cells = []
    for row in sorted(rows, key=lambda row: (-int(row["epochs"]), -float(row["valid_global"]))):
        accuracies = [f"{float(row[name]):.3f}" if row[name] else "" for name in ("valid_global_6", *other)]
        cells.append([row["variant"], row["epochs"], _ours(row, "valid_"), row["best_epoch"], *accuracies])
    return _table(heads, cells)


def claims_table(rows: list[Row]) -> list[str]:
    """What of the paper holds here, from tables 2 to 5."""
    heads = ["claim of the paper", "here", "ours", "paper", "95%", "how it stands"]
    return _table(heads, [judge(claim, rows) for claim in CLAIMS])


def claims_summary(rows: list[Row]) -> list[str]:
    """The same in short."""
    return _table(["claim of the paper", "here", "ours", "paper"], [judge(claim, rows)[:4] for claim in CLAIMS])


def speed_table(rows: list[Row]) -> list[str]:
    """What `make bench` measured."""
    cells = [[row["what"], f"{row['measured']} {row['unit']}", row["goal"], row["detail"]] for row in rows]
    return _table(["what", "measured", "goal", "in that run"], cells)


def counts_table(rows: list[Row]) -> list[str]:
    """What `make stress` or `make mutants` counted: a row each, and their sum."""
    heads = [name for name in rows[0] if name not in ("table", "minutes", "python", "commit")]
    cells = [[row[name] for name in heads] for row in rows]
    sums = [str(sum(int(row[name]) for row in rows)) for name in heads[1:]]
    return _table(heads, [*cells, ["all", *sums]])


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table, with an empty one before and after."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return ["", lines[0], "|" + "---|" * len(heads), *lines[1:], ""]


def _grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Rows by what they have in common, in the order in which it is first seen."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _trained(row: Row) -> str:
    """A method, and where it was cut in training if not at equal cuts."""
    return _method(row) + (", at downbeats" if row["segmentation"] == "downbeat" and row["seed"] else "")


def _played(rows: Iterable[Row]) -> list[Row]:
    """The rows with a result, those of the protocol `centred` first."""
    return sorted((row for row in rows if row["global"]), key=lambda row: PROTOCOLS.index(row["protocol"]))


def _ours(row: Row | None, prefix: str = "") -> str:
    """Pairwise (global) accuracy; nothing where there is no row."""
    return f"{float(row[f'{prefix}pairwise']):.3f} ({float(row[f'{prefix}global']):.3f})" if row else ""


def _paper(row: Row) -> str:
    return _ours(row, "paper_") if row.get("paper_global") else ""


def _method(row: Row) -> str:
    """The method, and in what its run differs from the published ones."""
    return f"{row['method']}, {row['differs']}" if row.get("differs") else row["method"]


def _setting(row: Row) -> str:
    return f"{row['corpus']} ({row['corpus_hash']}), {row['protocol']}"


CARD = "djnet/weights/README.md"
TABLES = ("table2", "table3", "table4", "table5", "transfer", "leak_control")
_PAPER = "table2.csv table3.csv table4.csv table5.csv"
# By document and mark: the table in results/ and how to write it; of several tables each row says its `table`.
DOCUMENTS: dict[str, dict[str, tuple[str, Callable[[list[Row]], list[str]]]]] = {
    "README.md": {"summary": ("table4.csv", summary_table), "claims": (_PAPER, claims_summary)},
    "docs/results.md": {
        "claims": (_PAPER, claims_table),
        **{name: (f"{name}.csv", results_table) for name in TABLES},
        "boundary": ("boundary.csv", boundary_table),
    },
    "docs/study.md": {"study": ("study.csv", study_table)},
    "docs/speed.md": {"speed": ("speed.csv", speed_table)},
    "docs/reliability.md": {"stress": ("stress.csv", counts_table), "mutants": ("mutants.csv", counts_table)},
    CARD: {"jigsaw": ("table3.csv", shipped_table), "transfer": ("transfer.csv", shipped_table)},
}


def filled(text: str, folder: Path, document: str = "README.md") -> str:
    """A document's text with every table written anew; a missing table is said in its place."""
    for mark, (name, write) in DOCUMENTS[document].items():
        begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
        if begin not in text or end not in text:
            raise UserError(f"{document} has no marks {begin} and {end} for the table of {name}.")
        before, rest = text.split(begin, 1)
        lines = [f"results/{name} is missing."]
        if paths := [path for one in name.split() if (path := folder / one).exists()]:
            lines = write(_rows(paths))
        text = "\n".join([before + begin, *lines, end + rest.split(end, 1)[1]])
    return text


def _rows(paths: Iterable[Path]) -> list[Row]:
    """The rows of some tables, each with the name of its `table`."""
    return [{"table": path.stem} | row for path in paths for row in read(path).to_dict("records")]


def written(text: str, root: Path, document: str) -> str:
    """A document's text from what a copy of the repository holds: its tables, and the header of the model card."""
    text = filled(text, root / "results", document)
    if document == CARD:
        rows = _rows([root / "results" / name for name in ("table3.csv", "table4.csv")])
        text = model_card.with_header(text, (root / CARD).parent, rows)
    return text


def main(given: Any) -> None:
    """Rewrite the documents."""
    del given
    for name in DOCUMENTS:
        path = ROOT / name
        text = written(path.read_text(encoding="utf-8"), ROOT, name)
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    job.run(main, lambda: None)
