"""Debian's Firefox without a window, by its own protocol, Marionette: a length and JSON over a socket of this machine.

Playwright drives Chromium (`tests.browser`); of Firefox it drives its own build only, which is not in Debian.
"""

import itertools
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECONDS = 120
_KEYS = {"Home": "\ue011", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}
# What is wrong with pages; other entries are of Firefox itself, or of a machine without a loudspeaker.
_WRONG = """return Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError)
    .filter((one) => /^(file|http):/.test(one.sourceName) || /CSP|Security/.test(one.category))
    .filter((one) => !/could not be decoded/.test(one.errorMessage))
    .map((one) => `${one.sourceName}: ${one.errorMessage}`);"""


class Firefox:
    """A window, with the few words of Playwright that the tests use."""

    def __init__(self, port: int):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self._answers, self._numbers = self._socket.makefile("rb"), itertools.count()
        self._read()  # its greeting
        self._ask("WebDriver:NewSession", capabilities={"unhandledPromptBehavior": "dismiss"})

    def goto(self, address: str) -> None:
        """Open a page and wait until it is there."""
        self._ask("WebDriver:Navigate", url=address)

    def evaluate(self, script: str, *words: Any) -> Any:
        """What a function, as text, gives for some words in the page."""
        body = (
            f"const [...words] = arguments; const done = words.pop(); Promise.resolve(({script})(...words)).then(done);"
        )
        return self._ask("WebDriver:ExecuteAsyncScript", script=body, args=[*words])["value"]

    def wait(self, script: str, *words: Any) -> None:
        """Wait until a function gives something true."""
        for _ in range(10 * SECONDS):
            if self.evaluate(script, *words):
                return
            time.sleep(0.1)
        raise AssertionError(f"Never true: {script} {words}; the page says {self.evaluate(_SAID)!r}")

    def click(self, selector: str) -> None:
        """Press an element as a person would, as soon as it is there and can be pressed."""
        self.wait(
            "(one) => { const e = document.querySelector(one); return e && !e.disabled && e.checkVisibility(); }",
            selector,
        )
        self._ask("WebDriver:ElementClick", id=self._find(selector))

    def press(self, selector: str, key: str) -> None:
        """Press a key on an element, or choose from a list by typing."""
        self._ask("WebDriver:ElementSendKeys", id=self._find(selector), text=_KEYS.get(key, key))

    def drag(self, begin: str, end: str) -> None:
        """Drag from the middle of an element to that of another one, and a little further."""
        places = self.evaluate(_MIDDLES, begin, end)
        moves = [{"type": "pointerMove", "x": x, "y": y, "duration": 100} for x, y in places]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, moves[1], {"type": "pointerUp", "button": 0}]
        self._ask("WebDriver:PerformActions", actions=[{"type": "pointer", "id": "mouse", "actions": actions}])

    def wrong(self) -> list[str]:
        """Errors and warnings of pages so far."""
        self._ask("Marionette:SetContext", value="chrome")
        said = self._ask("WebDriver:ExecuteScript", script=_WRONG, args=[])["value"]
        self._ask("Marionette:SetContext", value="content")
        return said

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _find(self, selector: str) -> str:
        (element,) = self._ask("WebDriver:FindElement", using="css selector", value=selector)["value"].values()
        return element

    def _ask(self, command: str, **words: Any) -> Any:
        message = json.dumps([0, next(self._numbers), command, words]).encode()
        self._socket.sendall(b"%d:" % len(message) + message)
        _, _, error, answer = self._read()
        if error:
            raise AssertionError(f"{command} {words}: {error['message']}")
        return answer

    def _read(self) -> Any:
        length = b"".join(iter(lambda: self._answers.read(1), b":"))
        return json.loads(self._answers.read(int(length)))


_SAID = "() => document.querySelector('#message p')?.textContent"
_MIDDLES = """(...ones) => ones.map((one, i) => {
    if (i === 0) document.querySelector(one).scrollIntoView({ block: "center", behavior: "instant" });
    const box = document.querySelector(one).getBoundingClientRect();
    return [Math.round(box.left + box.width / 2) + 9 * i, Math.round(box.top + box.height / 2)];
})"""


@contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """Firefox with a profile in a folder; without it the test is skipped."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("no Firefox on this machine: make browser installs it")
    (folder / "user.js").write_text('user_pref("marionette.port", 0);\nuser_pref("app.update.enabled", false);\n')
    words = ["--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", str(folder)]
    with subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            port = folder / "MarionetteActivePort"
            deadline = time.monotonic() + SECONDS
            while not (port.exists() and port.read_text()) and time.monotonic() < deadline:
                time.sleep(0.1)
            window = Firefox(int(port.read_text()))
            yield window
            window.close()
        finally:
            process.terminate()
