"""How every command starts and ends: flags or words in, one clear line and an exit code out."""

import argparse
import contextlib
import importlib
import importlib.util
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from djnet.errors import UserError, shown
from djnet.files import own_temporary_files

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow reads this once, when it is imported


def run(main: Callable[..., int | None], define_flags: Callable[[], object], words: str = "") -> None:
    """Start a job of preprocessing/ or experiments/ with absl flags: `main(flags, *words)`.

    Flags are defined here and not on import, so that a job's module can be imported beside any other. `words` names
    what the job takes besides flags, such as "SONG", or "FILE..." for any number. Exit code 2 for wrong flags or
    input, 130 after Ctrl-C.
    """
    from absl import app, flags

    def parse(argv: list[str]) -> list[str]:
        try:
            asks_for_help = any(word.lstrip("-").startswith("help") for word in argv[1:])
            return app.parse_flags_with_usage(list(argv)) if asks_for_help else flags.FLAGS(list(argv))
        except flags.Error as error:
            fail(f"{error} (--help lists the flags)")

    def start(argv: list[str]) -> int:
        module = sys.modules["__main__"].__spec__
        command = f"python -m {module.name.removesuffix('.__main__')}" if module else argv[0]
        if not words and len(argv) > 1:
            fail(f"Not a flag: {argv[1]!r} (--help lists the flags)")
        if not words.endswith("...") and len(argv) - 1 != len(words.split()):
            fail(f"Give what is missing, nothing more: {command} {words}")
        return guarded(main, flags.FLAGS, *argv[1:])

    define_flags()
    app.run(start, flags_parser=parse)


def require_training() -> None:
    """End with one line where the jobs' packages are not installed."""
    missing = [name for name in ("absl", "pandas", "tensorflow") if importlib.util.find_spec(name) is None]
    if missing:
        fail(f"The jobs need {', '.join(missing)}, which the app does without: pip install '.[train]', or make install")


class Parser(argparse.ArgumentParser):
    """A command line of words and options whose mistakes are one line and exit code 2, as those of flags are."""

    def error(self, message: str) -> NoReturn:
        """End with the mistake and where to read more."""
        fail(f"{message} ({self.prog} --help explains)")


def guarded(main: Callable[..., int | None], *arguments: Any) -> int:
    """Run `main`: -> its exit code; what a person can put right ends the program with one line."""
    try:
        with own_temporary_files():
            return main(*arguments) or 0
    except UserError as error:
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
    print(shown(" ".join(message.split())), file=sys.stderr)
    sys.exit(code)
