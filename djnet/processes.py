"""Processes that end with the one that started them, even if that one is killed."""

import ctypes
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

_WATCH_SECONDS = 1.0
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@functools.cache
def end_with(parent: int) -> None:
    """In a worker: end when its parent is gone, whatever is under way; in the parent itself: nothing."""
    if parent != os.getpid():
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run another program to its end, and keep what it prints; on Linux the system ends it with this process."""
    before = _die_with_parent if _LIBC is not None else None
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, preexec_fn=before)


def _die_with_parent() -> None:
    """In a process that was just started, before its program."""
    _LIBC.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)  # type: ignore[union-attr]
