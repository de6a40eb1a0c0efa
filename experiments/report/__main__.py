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
_CACHE = flags.DEFINE_string("cache", "~/.cache/djnet", "Folder with the downloads of make preprocess.")
_AUDIO = flags.DEFINE_string(
    "audio", None, "The folder that the records were made from, if it was your own music: puts it on the page."
)
_FIXED = flags.DEFINE_string("sen_fixed", "sen-fixed", "Who plays puzzles with equal pieces: a name or a run's folder.")
_DOWNBEAT = flags.DEFINE_string("sen_downbeat", "sen-downbeat", "Who plays puzzles cut at downbeats.")


def main(argv: Sequence[str]) -> None:
    """Write the page and say where it is."""
    if len(argv) > 1:
        raise job.JobError(f"Not a flag: {argv[1]!r} (--help lists the flags).")
    folder = Path(_AUDIO.value).expanduser() if _AUDIO.value else None
    if folder is not None and not folder.is_dir():
        raise job.JobError(f"--audio={folder}: there is no such folder.")
    job.import_quietly("tensorflow")
    from experiments.report.assembly import Places, build

    page = build(
        Places(
            data=Path(_DATA.value).expanduser(),
            results=Path(_RESULTS.value).expanduser(),
            output=Path(_OUTPUT.value).expanduser(),
            medleys=Path(_MEDLEYS.value).expanduser(),
            cache=Path(_CACHE.value).expanduser(),
            audio=folder,
        ),
        {"fixed": _FIXED.value, "downbeat": _DOWNBEAT.value},
    )
    size = sum(path.stat().st_size for path in page.parent.rglob("*") if path.is_file())
    print(f"-> {page} ({size / 1e6:.1f} MB with its sounds and pictures)")


if __name__ == "__main__":
    job.run(main)
