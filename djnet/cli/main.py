"""The `djnet` command."""

import argparse
import importlib
import sys

import djnet
from djnet.cli import job

# Each is a module djnet.cli.NAME with `main(arguments)`, imported when it is used.
COMMANDS = {
    "medley": "one piece of music out of a folder of songs",
    "order": "the order in which songs or clips follow each other best, and the scores",
    "puzzle": "a song as a puzzle to play in a browser",
}


def main(arguments: list[str] | None = None) -> None:
    """Hand the words behind a command to it."""
    listed = "\n".join(f"  {name:8}{line}" for name, line in COMMANDS.items())
    parser = job.Parser(
        prog="djnet",
        description="Puts pieces of music in order.",
        epilog=f"commands:\n{listed}\n\n`djnet COMMAND --help` explains one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="djnet [--version] COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"djnet {djnet.__version__}")
    parser.add_argument("command", nargs="?", choices=COMMANDS, metavar="COMMAND", help="what to do, see below")
    words = sys.argv[1:] if arguments is None else arguments
    command = parser.parse_args(words[:1]).command
    if command is None:
        parser.print_help()
        return
    sys.exit(job.guarded(importlib.import_module(f"djnet.cli.{command}").main, words[1:]))


if __name__ == "__main__":
    main()
