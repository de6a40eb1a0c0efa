"""Tables that `make stress` and `make mutants` write, also several of them at once: a row replaces its older self."""

import csv
from pathlib import Path
from typing import Any

from djnet.files import locked, read_csv, whole_file


def replace_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows into a table, in place of those with the same first column; all have the same columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name, *_ = rows[0]
    with locked(path, wait=True):
        table: dict[str, dict[str, Any]] = {row[name]: row for row in read_csv(path)} if path.exists() else {}
        table |= {row[name]: row for row in rows}
        with whole_file(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table[key] for key in sorted(table))
