"""A medley by hand and ear, in the browser: `djnet studio songs/`."""

import contextlib
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from djnet.cli import options
from djnet.errors import UserError, shown
from djnet.files import locked

PROJECT = "djnet-studio"  # the folder of a project, beside or below the songs


def main(arguments: Sequence[str]) -> int:
    """Serve the studio until Ctrl-C."""
    given = options.studio().parse_args(arguments)
    music = Path(given.songs).expanduser() if given.songs else None
    if music is not None and not music.is_dir():
        raise UserError(f"{given.songs}: there is no such folder.")
    folder = Path(given.project).expanduser() if given.project else (music or Path()) / PROJECT
    os.environ["TQDM_DISABLE"] = "1"  # progress is on the page
    try:
        import uvicorn

        from djnet.studio.server import make_app
    except ModuleNotFoundError as error:
        raise UserError(f"The studio needs {error.name}: pip install 'djnet[studio]', or make install") from error
    from djnet.cli.medley import load_network
    from djnet.studio.studio import Studio

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; name a folder that can be written to with --project.") from error
    if not os.access(folder, os.W_OK):
        raise UserError(f"{folder}: cannot be written to; name another folder with --project.")
    with locked(folder), listening(given.port) as listener:
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(16)
        scorer = load_network(given.network)
        studio = Studio(folder.resolve(), music, Path(given.cache).expanduser(), scorer, given.network, given.workers)
        address = f"http://127.0.0.1:{port}/{token}/"
        print(f"The studio is open at {address}")
        print(shown(f"Project: {folder}. Ctrl-C ends it; nothing is lost."), flush=True)
        if not given.no_browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(make_app(studio, token, port), log_level="error", timeout_graceful_shutdown=2)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            studio.songs.close()
    return 0


def listening(port: int) -> socket.socket:
    """A socket that only this machine can reach."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()  # before the address is printed: whoever is quick waits and is not refused
    except (OSError, OverflowError) as error:
        raise UserError(f"--port={port}: {getattr(error, 'strerror', None) or error}; choose another.") from error
    return listener
