"""What stands before the studio: who may ask, and what a browser may do with the answers."""

import hmac
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A finished medley's page holds its scripts and styles itself, and asks for the music beside it.
PAGE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; media-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets through what names this machine as its host, has the token in its address, and comes from our own page.

    The host keeps out pages that point a name of their own at this machine; the origin keeps out pages of others that
    have come to know the address.
    """

    def __init__(self, app: ASGIApp, token: str, port: int):
        self._app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with safe headers."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if refusal := self._refusal(scope, headers):
            await PlainTextResponse(refusal, 403, _HEADERS)(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                own = {"content-security-policy": POLICY, **_HEADERS}
                message["headers"] += [(k.encode(), v.encode()) for k, v in own.items() if k.encode() not in given]
            await send(message)

        await self._app(scope, receive, send_safely)

    def _refusal(self, scope: Any, headers: dict[str, str]) -> str:
        if headers.get("host") not in self._hosts:
            return "The studio answers to its own address only."
        token = scope["path"].split("/")[1]
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return "Open the address that djnet studio printed: its middle part is missing or wrong."
        origin = headers.get("origin")
        ours = {f"http://{host}" for host in self._hosts}
        if origin not in ours and (origin is not None or scope["method"] not in ("GET", "HEAD")):
            return "The studio answers to its own page only."
        return ""
