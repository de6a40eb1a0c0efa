"""A real browser for the tests of pages: Chromium without a window, and axe-core, which looks for barriers."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
# Pages ask for nothing; these keep the browser itself quiet, and let it run as root.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HERE = ("file:", "data:", "blob:", "http://127.0.0.1:")


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium; without it the test is skipped."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine: make browser installs it")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


def await_sound(page: Any, selector: str = "#player audio") -> None:
    """Wait until a sound really plays."""
    script = "selector => { const a = document.querySelector(selector); return !a.paused && a.currentTime > 0; }"
    page.wait_for_function(script, arg=selector, timeout=20_000)


class Finger:
    """A finger on a page that was opened with has_touch=True."""

    def __init__(self, page: Any):
        self._touch = page.context.new_cdp_session(page)

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Put it down, move it, lift it."""
        for share in (0.0, 0.1, 0.3, 0.6, 1.0):
            x, y = (a + share * (b - a) for a, b in zip(begin, end, strict=True))
            self._send("touchMove" if share else "touchStart", [{"x": x, "y": y}])
        self._send("touchEnd", [])

    def _send(self, kind: str, points: list[dict[str, float]]) -> None:
        self._touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def serious_faults(page: Any) -> list[str]:
    """What axe-core calls a serious or critical barrier on a page as it is now; skipped without axe-core."""
    if not AXE.is_file():
        pytest.skip("axe-core is not here: make browser installs it (with npm)")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    results = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{fault['id']}: {node['html'][:160]} {node['any'][0]['message'] if node['any'] else ''}"
        for fault in results["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
