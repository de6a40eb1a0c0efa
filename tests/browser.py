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
