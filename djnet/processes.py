"""Worker processes that end with the process that started them, even if that one is killed."""

import functools
import os
import threading
import time

_WATCH_SECONDS = 1.0


@functools.cache
def end_with(parent: int) -> None:
    """In a worker: end when its parent is gone, whatever is under way; in the parent itself: nothing."""
    if parent != os.getpid():
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)
