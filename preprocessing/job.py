"""How every job starts and ends: flags in, one clear line and an exit code out."""

import argparse
import contextlib
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from absl import app, flags

from djnet.audio import AudioError
from djnet.records import RecordsError
from preprocessing.madmom_compat import MadmomMissingError

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow reads this once, when it is imported


class JobError(ValueError):
    """Something the person at the keyboard can put right; the message says how."""


def run(main: Callable[[Sequence[str]], int | None]) -> None:
    """Parse the flags and run `main`; exit code 2 for wrong flags or input, 130 after Ctrl-C."""
    app.run(lambda argv: guarded(main, argv), flags_parser=_parse)


def _parse(argv: Sequence[str]) -> list[str]:
    try:
        return app.parse_flags_with_usage(list(argv)) if _asks_for_help(argv) else flags.FLAGS(list(argv))
    except flags.Error as error:
        fail(f"{error} (--help lists the flags)")


class Parser(argparse.ArgumentParser):
    """A command line of words and options whose mistakes are one line and exit code 2, as those of flags are."""

    def error(self, message: str) -> NoReturn:
        """End with the mistake and where to read more."""
        fail(f"{message} ({self.prog} --help explains)")


def guarded(main: Callable[[Sequence[str]], int | None], argv: Sequence[str]) -> int:
    """Run `main`: -> its exit code; what a person can put right ends the program with one line."""
    try:
        return main(argv) or 0
    except (JobError, AudioError, RecordsError, MadmomMissingError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        warnings.simplefilter("ignore")  # joblib's own remark on work that was under way
        fail("Stopped. The same command goes on from here.", code=130)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        fail(f"{error.filename or 'The disk'}: {error.strerror or error}.", code=1)


def import_quietly(name: str) -> None:
    """Import a package without the remarks that its native code writes to standard error (TensorFlow: no GPU found)."""
    with quiet():
        importlib.import_module(name)
    logging.getLogger(name).setLevel(logging.ERROR)  # nor its warnings, which are for programmers


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing is written to standard error, not even by native code; exceptions pass."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def fail(message: str, code: int = 2) -> NoReturn:
    """End the program with one line on standard error."""
    print(" ".join(message.split()), file=sys.stderr)
    sys.exit(code)


def _asks_for_help(argv: Sequence[str]) -> bool:
    return any(word.lstrip("-").startswith("help") for word in argv[1:])
