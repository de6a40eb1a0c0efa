"""The studio on the web of this machine: pages, songs, joins and exports at 127.0.0.1, behind a token."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from djnet.audio import AudioError
from djnet.errors import UserError, shown
from djnet.files import whole_file
from djnet.studio.export import FILES
from djnet.studio.guard import PAGE_POLICY, Guard
from djnet.studio.project import ConflictError
from djnet.studio.studio import Studio

MOST_UPLOAD_BYTES = 512 << 20
_MOST_BODY_BYTES = 8 << 20
_PAGES = Path(__file__).parents[1] / "pages"
_STATIC = {
    "page.css", "studio.css", "dom.js", "wave.js", "studio.js", "timeline.js", "picker.js", "server.js", "listen.js",
    "files.js", "export.js",
}  # fmt: skip


def make_app(studio: Studio, token: str, port: int) -> Guard:
    """The application; it answers below /TOKEN/ only."""
    routes = [
        Route("/{token}/", _page),
        Route("/{token}/static/{name}", _static),
        Route("/{token}/state", _state),
        Route("/{token}/songs/{content}", _song),
        Route("/{token}/songs", _upload, methods=["POST"]),
        Route("/{token}/joins/{number:int}", _join),
        Route("/{token}/part", _part),
        Route("/{token}/receipt", _receipt, methods=["POST"]),
        Route("/{token}/files/{name}", _file),
        Route("/{token}/do/{action}", _do, methods=["POST"]),
    ]
    handlers: Any = {
        UserError: _refused(400),
        AudioError: _refused(400),
        OSError: _refused(507),
        ConflictError: _conflict,
        HTTPException: _http,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.studio = studio
    return Guard(app, token, port)


def _refused(status: int) -> Callable[[Request, Exception], Response]:
    """One sentence instead of what was asked for."""

    def answer(_: Request, error: Exception) -> Response:
        if isinstance(error, OSError):
            return JSONResponse({"error": shown(f"{error.filename or 'The disk'}: {error.strerror or error}.")}, status)
        return JSONResponse({"error": shown(str(error))}, status)

    return answer


def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


async def _conflict(request: Request, _: Exception) -> Response:
    """Another tab was faster: the page shows its state, and what was asked is not done."""
    state = await anyio.to_thread.run_sync(_studio(request).state)
    return JSONResponse(state | {"error": "The project was changed in another window; this is its state now."}, 409)


def _studio(request: Request) -> Studio:
    return request.app.state.studio


def _page(request: Request) -> Response:
    environment = Environment(loader=FileSystemLoader(_PAGES / "templates"), autoescape=True)
    return HTMLResponse(environment.get_template("studio.html.jinja").render(megabytes=MOST_UPLOAD_BYTES >> 20))


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404, "There is no such file.")
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    return FileResponse(_PAGES / "static" / name, media_type=kind)


def _state(request: Request) -> Response:
    return JSONResponse(_studio(request).state())


def _song(request: Request) -> Response:
    return JSONResponse(_studio(request).songs.describe(request.path_params["content"]))


def _join(request: Request) -> Response:
    return Response(_studio(request).hear_join(request.path_params["number"]), media_type="audio/wav")


def _part(request: Request) -> Response:
    asked = request.query_params
    start, end = (_number(asked.get(name)) for name in ("start", "end"))
    return Response(_studio(request).hear_part(asked.get("song", ""), start, end), media_type="audio/wav")


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{value!r} is not a number.")
    return number


def _file(request: Request) -> Response:
    """A file of a finished export, and no other."""
    studio, name = _studio(request), request.path_params["name"]
    if name not in studio.export.state().get("files", []):
        raise HTTPException(404, "There is no such file.")
    page = name.endswith(".html")
    headers = {"content-security-policy": PAGE_POLICY} if page else {}
    kind = "attachment" if name.endswith(FILES) and not page else "inline"
    return FileResponse(studio.folder / name, headers=headers, filename=name, content_disposition_type=kind)


async def _upload(request: Request) -> Response:
    """A song as the body; its size is refused before and while it arrives."""
    studio = _studio(request)
    path = studio.upload(request.query_params.get("name", ""))
    too_large = HTTPException(413, f"{shown(path.name)}: songs may have up to {MOST_UPLOAD_BYTES >> 20} MB.")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > MOST_UPLOAD_BYTES:
        raise too_large
    if length.isdigit() and int(length) > shutil.disk_usage(path.parent).free:
        raise HTTPException(507, f"{shown(path.name)}: there is no room for it on the disk.")
    size = 0
    try:
        with whole_file(path) as partial, open(partial, "wb") as file:
            async for piece in request.stream():
                size += len(piece)
                if size > MOST_UPLOAD_BYTES:
                    raise too_large
                file.write(piece)
    except ClientDisconnect:
        return Response(status_code=400)
    studio.songs.add(str(path))
    return JSONResponse(studio.state())


async def _receipt(request: Request) -> Response:
    studio, content = _studio(request), await _body(request)
    revision = int(_number(request.query_params.get("revision")))
    await anyio.to_thread.run_sync(studio.open_receipt, content, revision)
    return JSONResponse(await anyio.to_thread.run_sync(studio.state))


async def _do(request: Request) -> Response:
    """Change the project: {"revision": the one that was seen, ...}."""
    try:
        given = json.loads(await _body(request))
        revision = int(given["revision"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise HTTPException(400, "That is not a request of the studio.") from error
    return JSONResponse(await anyio.to_thread.run_sync(_done, _studio(request), request, given, revision))


def _done(studio: Studio, request: Request, given: dict[str, Any], revision: int) -> dict[str, Any]:
    reasons: list[str] = []
    match request.path_params["action"]:
        case "plan":
            studio.project.change(given.get("plan"), revision)
        case "undo":
            studio.project.step(-1, revision)
        case "redo":
            studio.project.step(1, revision)
        case "make":
            studio.make(min(max(_number(given.get("length")), 4.0), 600.0), revision)
        case "order":
            reasons = studio.best_order(revision)
        case "export":
            studio.start_export(str(given.get("name", "")), str(given.get("format", "")))
        case _:
            raise HTTPException(404, "The studio cannot do that.")
    return studio.state() | {"reasons": reasons}


async def _body(request: Request) -> bytes:
    """A small body."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BODY_BYTES:
            raise HTTPException(413, f"That is more than {_MOST_BODY_BYTES >> 20} MB.")
    return body
