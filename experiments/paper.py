"""What the paper reports, to stand beside ours; paper.csv has a line for each row of its tables 2 to 5."""

from pathlib import Path

from djnet.files import read_csv

_ROWS = read_csv(Path(__file__).with_name("paper.csv"))


def reported(**values: str) -> dict[str, tuple[float, float]]:
    """Pairwise and global accuracy by method, of all rows with these values: reported(table="4", game="medley")."""
    rows = [row for row in _ROWS if row | values == row]
    return {row["method"]: (float(row["pairwise"]), float(row["global"])) for row in rows}
