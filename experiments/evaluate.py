"""Play the jigsaw games on the test split and write the paper's tables: `make evaluate`, or

    python -m experiments.evaluate --data=data --runs=runs --table=2

Finds the runs that a table needs, plays, and writes results/table2.csv ... with ours beside the paper's. A rerun
replaces its own rows only. A cell whose run is missing is empty and says which command trains it.
"""

from collections.abc import Sequence
from pathlib import Path

from absl import flags

from djnet.fragments import PROTOCOLS
from djnet.records import Manifest
from preprocessing import job

_DATA = flags.DEFINE_string("data", "data", "Folder of records.")
_RUNS = flags.DEFINE_string("runs", "runs", "Folder of runs.")
_OUTPUT = flags.DEFINE_string("output", "results", "Folder for the tables.")
_TABLE = flags.DEFINE_enum("table", "all", ["2", "3", "5", "all"], "Which table of the paper.")
_PUZZLES = flags.DEFINE_integer("puzzles", 1000, "At most that many puzzles a game.", lower_bound=1)
_PRESET = flags.DEFINE_enum("preset", "compact", ["compact", "paper"], "Runs of which preset.")
_PROTOCOL = flags.DEFINE_enum("protocol", "isolated", PROTOCOLS, "How fragments are cut, in training and here.")
_SEED = flags.DEFINE_integer("seed", 0, "Runs of which seed.")


def main(argv: Sequence[str]) -> None:
    """Play, write, print."""
    job.import_quietly("tensorflow")
    from experiments import tables

    if len(argv) > 1:
        raise job.JobError(f"Not a flag: {argv[1]!r} (--help lists the flags).")
    manifest = Manifest.read(Path(_DATA.value).expanduser())
    wanted = ("2", "3", "5") if _TABLE.value == "all" else (_TABLE.value,)
    arena = tables.Arena(
        manifest, Path(_RUNS.value).expanduser(), _PRESET.value, _PROTOCOL.value, _SEED.value, _PUZZLES.value
    )
    output = Path(_OUTPUT.value).expanduser()
    output.mkdir(parents=True, exist_ok=True)
    for table in wanted:
        rows = arena.play(tables.CELLS[table])
        path = output / f"table{table}.csv"
        tables.write(path, rows)
        print(tables.shown(table, rows))
        print(f"-> {path}\n")


if __name__ == "__main__":
    job.run(main)
