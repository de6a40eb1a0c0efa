"""Write the report: `make report`, or

    python -m experiments.report --data=data --results=results --output=results/report

One page with its sounds and pictures that opens from disk: open results/report/index.html. What is missing is said on
the page, with the command that makes it. Run again after an interruption, it goes on where it stopped.
"""

from collections.abc import Sequence
from pathlib import Path

from absl import flags

from preprocessing import job

_DATA = flags.DEFINE_string("data", "data", "Folder of records, for the puzzles.")
_RESULTS = flags.DEFINE_string("results", "results", "Folder of tables, figures and predictions.")
_OUTPUT = flags.DEFINE_string("output", "results/report", "Folder for the page.")
_MEDLEYS = flags.DEFINE_string("medleys", "results/medleys", "Folder of medleys made by djnet medley.")
_OWN = flags.DEFINE_bool(
    "own", False, "Put music on the page whose licence is not known to allow it, such as your own: for yourself only."
)
_FIXED = flags.DEFINE_string("sen_fixed", "sen-fixed", "Who plays puzzles with equal pieces: a name or a run's folder.")
_DOWNBEAT = flags.DEFINE_string("sen_downbeat", "sen-downbeat", "Who plays puzzles cut at downbeats.")
MOST_BYTES = 40_000_000


def main(argv: Sequence[str]) -> None:
    """Write the page and say where it is."""
    if len(argv) > 1:
        raise job.JobError(f"Not a flag: {argv[1]!r} (--help lists the flags).")
    job.import_quietly("tensorflow")
    from experiments.report.assembly import Places, build

    folders = (Path(flag.value).expanduser() for flag in (_DATA, _RESULTS, _OUTPUT, _MEDLEYS))
    page = build(Places(*folders), {"fixed": _FIXED.value, "downbeat": _DOWNBEAT.value}, _OWN.value)
    size = sum(path.stat().st_size for path in page.parent.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        print(f"The report is larger than {MOST_BYTES / 1e6:.0f} MB: fewer or shorter medleys make it smaller.")
    print(f"-> {page} ({size / 1e6:.1f} MB with its sounds and pictures)")


if __name__ == "__main__":
    job.run(main)
