"""Write the report: `make report`, or

    python -m experiments.report --data=data --results=results --output=results/report

Two pages with their sounds and pictures that open from disk: index.html for visitors, results.html with all numbers.
What is missing is said there, with the command that makes it. Run again after an interruption, it goes on where it
stopped.
"""

from pathlib import Path
from typing import Any

from absl import flags

from djnet.cli import job
from djnet.errors import UserError

MOST_BYTES = 40_000_000


def define_flags() -> None:
    """The flags of the command."""
    flags.DEFINE_string("data", "data", "Folder of records, for the puzzles.")
    flags.DEFINE_string("results", "results", "Folder of tables, figures and predictions.")
    flags.DEFINE_string("output", "results/report", "Folder for the pages.")
    flags.DEFINE_string("medleys", "results/medleys", "Folder of medleys made by djnet medley.")
    flags.DEFINE_string("cache", "~/.cache/djnet", "Folder of analysed songs, for the listening test.")
    flags.DEFINE_bool("own", False, "Also use music that may not be passed on, such as your own: for yourself only.")
    flags.DEFINE_string("address", "", "Where the folder will be published: previews of links then show a picture.")
    flags.DEFINE_string("sen_fixed", "sen-fixed", "Network for puzzles of equal pieces: a name or a run's folder.")
    flags.DEFINE_string("sen_downbeat", "sen-downbeat", "Network for puzzles cut at downbeats.")
    flags.DEFINE_string("sen_medley", "sen-medley", "Network for puzzles without the bars between, and for medleys.")


def main(given: Any) -> None:
    """Write the pages and say where they are."""
    if given.address and not given.address.startswith(("https://", "http://")):
        raise UserError(f"--address={given.address}: give the whole address, with https:// in front.")
    job.import_quietly("tensorflow")
    from experiments.report.build import Folders, build

    paths = (Path(name).expanduser() for name in (given.data, given.results, given.output, given.medleys, given.cache))
    networks = {"fixed": given.sen_fixed, "downbeat": given.sen_downbeat, "medley": given.sen_medley}
    page = build(Folders(*paths), networks, private=given.own, address=given.address)
    size = sum(path.stat().st_size for path in page.parent.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        print(f"The report is larger than {MOST_BYTES / 1e6:.0f} MB: fewer or shorter medleys make it smaller.")
    print(f"-> {page} ({size / 1e6:.1f} MB with its sounds and pictures)")


if __name__ == "__main__":
    job.run(main, define_flags)
