"""Attacks on a studio that runs: strangers, wrong addresses, wrong bodies, hostile uploads; and its sudden end."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.faults.bench import Bench, content
from tests.faults.faults import group_ends
from tests.faults.fuzz import damaged, misspelt

AT_ONCE = 250
SECONDS_AN_ANSWER = 60
_CLIP = {"song": "a", "start": 0.0, "end": 9.0, "transition": None, "bars": None, "tied": False}
_PLAN = {"title": "medley", "bars": 2, "first": False, "last": False, "clips": [_CLIP]}
_BODIES = (
    {"revision": 0, "plan": _PLAN},
    {"revision": 0, "length": 20.0},
    {"revision": 0, "name": "medley", "format": "flac"},
)
_ACTIONS = ("plan", "undo", "redo", "make", "order", "nothing", "../plan")
_NAMES = (
    "../../out.wav",
    "/etc/out.wav",
    "..\\out.wav",
    ".out.wav",
    "out.wav\0.mp3",
    "\x1b[2J.wav",
    "a" * 300 + ".wav",
)
_PATHS = (
    "../" * 6 + "etc/passwd",
    "..%2f" * 6 + "etc/passwd",
    "%2e%2e/project.json",
    ".lock",
    "project.json",
    "\\..\\x",
)


@dataclass
class Request:
    """A request, and the codes that may answer it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    allowed: range | tuple[int, ...]


def attack(bench: Bench, rng: np.random.Generator) -> Iterator[str]:
    """Some hundred requests; the studio stands, its project is what it was, and nothing lies outside of it."""
    folder = bench.fresh("inside") / "studio"
    folder.mkdir(parents=True)
    with _opened(bench, folder) as (process, address):
        before = content(folder)
        for _ in range(AT_ONCE):
            yield _verdict(address, _request(address, rng), rng)
        still_there = _answer(address, Request("GET", address.path, {"Host": address.netloc}, b"", (200,))) == 200
        is_same = content(folder) == before and {path.name for path in folder.parent.iterdir()} == {"studio"}
        yield "survived" if still_there and is_same else "lost"
        process.send_signal((signal.SIGKILL, signal.SIGINT)[rng.integers(2)])
        _, said = process.communicate(timeout=SECONDS_AN_ANSWER)
        yield "traceback" if "Traceback" in said else "survived" if group_ends(process.pid) else "orphan"


@contextlib.contextmanager
def _opened(bench: Bench, folder: Path) -> Iterator[tuple[subprocess.Popen[str], urllib.parse.SplitResult]]:
    """A studio without songs, and its address."""
    words = ["studio", f"--project={folder}", "--no-browser", "--port=0", f"--cache={bench.cache}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "djnet.cli.main", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bench.environment, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield process, urllib.parse.urlsplit(line.split()[-1])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _request(address: urllib.parse.SplitResult, rng: np.random.Generator) -> Request:
    """One attack of five kinds, none of which may change the project."""
    own = {"Host": address.netloc, "Origin": f"http://{address.netloc}"}
    body = json.dumps(_BODIES[rng.integers(len(_BODIES))]).encode()
    action = f"{address.path}do/{_ACTIONS[rng.integers(len(_ACTIONS))]}"
    match rng.integers(5):
        case 0:  # a page of somebody else, or one that points its own name at this machine
            name = ("Host", "Origin")[rng.integers(2)]
            return Request("POST", action, own | {name: "http://example.org"}, body, (400, 403))
        case 1:  # somebody who guesses
            token = address.path.strip("/")
            guess = (token[:-1], token + "x", "", token.swapcase(), "%00")[rng.integers(5)]
            return Request("POST", action.replace(token, guess), own, body, (400, 403))
        case 2:  # a path that leads out
            place = ("files", "static", "songs", "joins")[rng.integers(4)]
            return Request(
                "GET", f"{address.path}{place}/{_PATHS[rng.integers(len(_PATHS))]}", own, b"", (400, 403, 404)
            )
        case 3:  # a body of another shape
            wrong = (damaged if rng.integers(2) else misspelt)(body.replace(b'"revision": 0', b'"revision": 7'), rng)
            return Request("POST", action, own, wrong, (400, 404, 409, 413, 200))
        case _:  # a song that is none, under a name that leads out
            name = urllib.parse.quote(_NAMES[rng.integers(len(_NAMES))])
            headers = own | {"Content-Length": str(10 ** rng.integers(9, 30))}
            return Request("POST", f"{address.path}songs?name={name}", headers, rng.bytes(100), (400, 413, 507))


def _verdict(address: urllib.parse.SplitResult, request: Request, rng: np.random.Generator) -> str:
    """What became of a request; now and then bytes that are none come before it."""
    if rng.integers(10) == 0:
        with contextlib.suppress(OSError), _connected(address) as raw:
            raw.sendall(damaged(f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode(), rng))
    status = _answer(address, request)
    if status in request.allowed:
        return "survived"
    print(f"studio: {status} for {request}"[:300])
    return "traceback" if status == 500 else "lost"


def _answer(address: urllib.parse.SplitResult, request: Request) -> int:
    """The code of the answer; 0 if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=SECONDS_AN_ANSWER)
    try:
        connection.putrequest(request.method, request.path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Content-Length": str(len(request.body)), **request.headers}.items():
            connection.putheader(name, value)
        connection.endheaders(request.body)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def _connected(address: urllib.parse.SplitResult) -> socket.socket:
    return socket.create_connection(("127.0.0.1", address.port or 0), timeout=SECONDS_AN_ANSWER)
