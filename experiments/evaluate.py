"""Play the games on the test split and write the paper's tables: `make evaluate`, or

    python -m experiments.evaluate --data=data --runs=runs --table=2

Finds the runs that a table needs, plays, and writes results/table2.csv ... with ours beside the paper's, and every
puzzle's scores and order to results/predictions/. A rerun replaces its own rows only. A cell that cannot be played is
empty and says what to do.

Sequencing and medleys are played on folders of recordings with annotations beside them (song.wav and song.csv, .cue or
AIST's .txt): by default sequencing/ and medleys/ below --data, which `make rwc` and `make mixes` fill.
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
_TABLE = flags.DEFINE_enum(
    "table",
    "all",
    ["2", "3", "4", "5", "all", "boundary", "transfer"],
    "A table of the paper, or all; boundary: music taken away at the cuts; transfer: SEN on other music (--test_data).",
)
_TEST_DATA = flags.DEFINE_string("test_data", None, "Folder of other records whose test split is played.")
_PUZZLES = flags.DEFINE_integer("puzzles", 1000, "At most that many puzzles a game.", lower_bound=1)
_PRESET = flags.DEFINE_enum("preset", "compact", ["compact", "paper"], "Runs of which preset.")
_PROTOCOL = flags.DEFINE_enum("protocol", "isolated", PROTOCOLS, "How fragments are cut, in training and here.")
_SEED = flags.DEFINE_integer("seed", 0, "Runs of which seed.")
_SEQUENCING = flags.DEFINE_string("sequencing", None, "Folder of songs with their sections annotated.")
_MEDLEYS = flags.DEFINE_string("medleys", None, "Folder of medleys with their clips annotated.")
_RECOMPUTE = flags.DEFINE_bool("recompute", False, "Take the answers from predictions/ instead of the networks.")


def main(argv: Sequence[str]) -> None:
    """Play, write, print."""
    job.import_quietly("tensorflow")
    from experiments import errors, jigsaw_errors, packages, tables
    from experiments.arena import Arena

    if len(argv) > 1:
        raise job.JobError(f"Not a flag: {argv[1]!r} (--help lists the flags).")
    data, output = Path(_DATA.value).expanduser(), Path(_OUTPUT.value).expanduser()
    manifest = Manifest.read(data)
    arena = Arena(
        manifest,
        Path(_RUNS.value).expanduser(),
        _PRESET.value,
        _PROTOCOL.value,
        _SEED.value,
        _PUZZLES.value,
        {"sequencing": _folder(_SEQUENCING, data), "medley": _folder(_MEDLEYS, data)},
        output / "predictions",
        _RECOMPUTE.value,
        None if _TEST_DATA.value is None else Manifest.read(Path(_TEST_DATA.value).expanduser()),
    )
    output.mkdir(parents=True, exist_ok=True)
    for table in ("2", "3", "4", "5") if _TABLE.value == "all" else (_TABLE.value,):
        try:
            rows = arena.play(tables.CELLS[table])
        except ValueError as error:  # an annotation or predictions that cannot be used: the message says where
            raise job.JobError(str(error)) from error
        path = output / tables.file_name(table)
        # Few rows are trained with another seed: the others are shown, but leave no gaps in the table. What needs no
        # training stands there already, compared with the first seed.
        kept = [row for row in rows if _SEED.value == 0 or (row["preset"] and not row["reason"])]
        print(tables.shown(table, rows))
        if kept:
            tables.write(path, kept)
            print(f"-> {path}\n")
        is_main = (_PROTOCOL.value, _SEED.value, _TEST_DATA.value) == ("isolated", 0, None)
        if table == "3" and is_main and (found := packages.by_package(arena, rows, manifest)) is not None:
            print(f"Accuracy by package -> {packages.write(output, found)}\n")
        if table == "3" and (summary := jigsaw_errors.summary(arena, rows)):
            tables.write(output / "jigsaw_errors.csv", summary)
            print(f"Errors of jigsaws -> {output / 'jigsaw_errors.csv'}\n")
        if table == "4" and is_main and (analysis := errors.analyse(arena, tables.CELLS[table], rows)) is not None:
            print(f"Errors of sequencing -> {errors.write(output, analysis)}\n")


def _folder(flag: flags.FlagHolder, data: Path) -> Path:
    """The folder that a flag names, or the one that belongs to the records."""
    if flag.value is None:
        return data / flag.name
    folder = Path(flag.value).expanduser()
    if not folder.is_dir():
        raise job.JobError(f"--{flag.name}={flag.value}: there is no such folder.")
    return folder


if __name__ == "__main__":
    job.run(main)
