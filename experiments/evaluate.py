"""Play the games on the test split and write the paper's tables: `make evaluate`, or

    python -m experiments.evaluate --data=data --runs=runs --table=2

Finds the runs that a table needs, plays, and writes table2.csv ... to --output with ours beside the paper's, and every
puzzle's scores and order to predictions/ in it. A rerun replaces its own rows only. A cell that cannot be played is
empty and says what to do. Published tables are those in results/, which `make reproduce` writes.

Sequencing and medleys are played on folders of recordings with annotations beside them (song.wav and song.csv, .cue or
AIST's .txt): by default sequencing/ and medleys/ below --data, which `make rwc` and `make mixes` fill.
"""

from pathlib import Path
from typing import Any

from absl import flags

from djnet.cli import job
from djnet.cuts import PROTOCOLS
from djnet.errors import UserError
from djnet.networks.config import PRESETS
from djnet.puzzles import GAME_FOLDERS
from djnet.records import Manifest

PUBLISHED = Path(__file__).parents[1] / "results"


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("data", "data", "Folder of records.")
    flags.DEFINE_string("runs", "runs", "Folder of runs.")
    flags.DEFINE_string("output", "results/local", "Folder for the tables.")
    flags.DEFINE_enum(
        "table",
        "all",
        ["2", "3", "4", "5", "all", "boundary", "transfer"],
        "A table of the paper, or all; boundary: music removed at the cuts; transfer: SEN on other music (--test_data)",
    )
    flags.DEFINE_string("network", None, "One more player: a network's name, a run's folder or that of a checkpoint.")
    flags.DEFINE_string("test_data", None, "Folder of other records whose test split is played.")
    flags.DEFINE_integer("puzzles", 1000, "At most that many puzzles a game.", lower_bound=1)
    flags.DEFINE_enum("preset", "compact", list(PRESETS), "Runs of which preset.")
    flags.DEFINE_enum("protocol", "centred", PROTOCOLS, "What frames next to a cut see, in training and here.")
    flags.DEFINE_integer("seed", 0, "Runs of which seed.")
    flags.DEFINE_string("sequencing", None, "Folder of songs with their sections annotated.")
    flags.DEFINE_string("medleys", None, "Folder of medleys with their clips annotated.")
    flags.DEFINE_bool("recompute", False, "Take the answers from predictions/ instead of the networks.")


def main(given: Any) -> None:
    """Play, write, print."""
    job.import_quietly("tensorflow")
    from experiments import error_analysis, tables
    from experiments.evaluation import Evaluation

    data, output = Path(given.data).expanduser(), Path(given.output).expanduser()
    manifest = Manifest.read(data)
    evaluation = Evaluation(
        manifest,
        Path(given.runs).expanduser(),
        given.preset,
        given.protocol,
        given.seed,
        given.puzzles,
        {game: _folder(given, name, data) for game, name in GAME_FOLDERS.items()},
        output / "predictions",
        given.recompute,
        None if given.test_data is None else Manifest.read(Path(given.test_data).expanduser()),
    )
    output.mkdir(parents=True, exist_ok=True)
    try:
        other = None if given.network is None else evaluation.add_network(given.network)
    except (OSError, ValueError) as error:
        raise UserError(f"--network={given.network}: {error}") from error
    is_main = (given.seed, given.test_data) == (0, None)
    for table in ("2", "3", "4", "5") if given.table == "all" else (given.table,):
        cells = tables.CELLS[table]
        try:
            rows = evaluation.play(cells if other is None else tables.with_network(cells, other))
        except ValueError as error:  # an annotation or predictions that cannot be used: the message says where
            raise UserError(str(error)) from error
        of_table = rows[: len(cells)]  # without the other network
        path = output / tables.file_name(table)
        is_published = path.resolve() == (PUBLISHED / path.name).resolve()
        print(tables.shown(table, rows, [] if is_published else tables.published(PUBLISHED, table, rows)))
        # Few rows are trained with another seed: the others are shown, but leave no gaps in the table. What needs no
        # training stands there already, compared with the first seed.
        kept = [row for row in rows if given.seed == 0 or (row["preset"] and not row["reason"])]
        if kept:
            tables.write(path, kept)
            print(f"-> {path}\n")
        if table == "3" and (errors := error_analysis.jigsaw_errors(evaluation, of_table)):
            tables.write(output / "jigsaw_errors.csv", errors)
            print(f"Errors of jigsaws -> {output / 'jigsaw_errors.csv'}\n")
        if table == "3" and is_main and (written := error_analysis.write_packages(output, evaluation, of_table)):
            print(f"Accuracy by package -> {written}\n")
        if table == "4" and is_main:
            written = error_analysis.write_sequencing(output, evaluation, cells, of_table)
            print(f"Errors of sequencing -> {written}\n" if written else "")
        evaluation.played.clear()


def _folder(given: Any, flag: str, data: Path) -> Path:
    """The folder that a flag names, or the one that belongs to the records."""
    if given[flag].value is None:
        return data / flag
    folder = Path(given[flag].value).expanduser()
    if not folder.is_dir():
        raise UserError(f"--{flag}={folder}: there is no such folder.")
    return folder


if __name__ == "__main__":
    job.run(main, define_flags)
