"""The page beside a medley in a real browser, opened from disk."""

from pathlib import Path

import numpy as np
import pytest

from djnet import audio
from djnet.medley.mix import Mix
from djnet.medley.transitions import RATE_HZ, Join
from djnet.pages.medley import write_medley
from tests.browser import serious_faults

HOSTILE = '</script><script>window.hacked = 1</script>\\x1b & "more"'
SECONDS = 30


@pytest.fixture(params=[False, True], ids=["beside", "embedded"])
def page_path(request, tmp_path, rng) -> Path:
    """The page of a medley of three songs with a hostile name; its music lies beside it or is inside."""
    samples = (0.1 * rng.standard_normal((SECONDS * RATE_HZ, 2))).astype(np.float32)
    times = np.arange(0, 10, 0.5)
    beats = [np.stack([10 * i + times, np.arange(len(times)) % 4 + 1], axis=1) for i in range(3)]
    joins = [Join("blend", 9, 10, 11, 2, 0.02, ""), Join("echo", 20, 20, 21, 0, 0.0, "tempos differ by 40%")]
    names = [HOSTILE, "Second", "Third"]
    clips = [{"song": name, "name": name, "start": 5.0, "end": 15.0, "bpm": 120.0, "key": "C"} for name in names]
    receipt = {
        "title": HOSTILE, "clips": clips, "scores": [0.9, 0.3], "terms": [{"tempo": 1.0}, {"tempo": 0.1}],
        "value": 1.2, "second": {"songs": [HOSTILE, "Third", "Second"], "value": 1.1},
    }  # fmt: skip
    music = tmp_path / '50% "of" it #1?.wav'
    if not request.param:
        audio.write(music, samples, RATE_HZ, "title", "comment")
    path = tmp_path / "medley.html"
    write_medley(path, music, Mix(samples, beats, joins), receipt, embed=request.param)
    return path


def _time(page) -> float:
    return page.evaluate("document.querySelector('[data-medley=audio]').currentTime")


def _await_time(page, condition: str) -> None:
    page.wait_for_function(f"() => {{ const t = document.querySelector('[data-medley=audio]'); return {condition}; }}")


def test_a_medley_plays_jumps_and_loops_by_mouse_and_by_keyboard(page_path, watched):
    page = watched(page_path)
    _await_time(page, f"Math.abs(t.duration - {SECONDS}) < 0.2")
    assert page.evaluate("window.hacked === undefined") and page.title().startswith("</script>")
    page.click("[data-medley=play]")
    _await_time(page, "!t.paused && t.currentTime > 0")
    page.click(".song-row >> nth=2")
    _await_time(page, "t.currentTime >= 20")
    page.click('[aria-label="Loop the join at 0:10"]')
    _await_time(page, "t.currentTime >= 5 && t.currentTime < 9 && !t.seeking")
    page.evaluate("document.querySelector('[data-medley=audio]').currentTime = 14.95")
    _await_time(page, "t.currentTime < 9 && t.currentTime >= 5")  # round again
    assert page.locator(".join-row.lit, .song.lit").count() >= 1
    page.keyboard.press("l")
    page.keyboard.press("n")
    _await_time(page, "t.currentTime >= 16 && !t.seeking")
    page.focus("[data-medley=slider]")
    page.keyboard.press(" ")
    _await_time(page, "t.paused")
    before = _time(page)
    page.keyboard.press("ArrowLeft")
    assert _time(page) == pytest.approx(before - 5, abs=0.1)
    page.keyboard.press("Home")
    assert page.get_attribute("[data-medley=slider]", "aria-valuetext").startswith("0:00, </script>")


def test_a_medley_page_says_how_and_why_and_what_else(page_path, watched):
    page = watched(page_path)
    first, second = page.locator(".join-row").all_text_contents()
    assert "blend: both songs in step, over 2 bars" in first and "beats go together · score 0.90 of 1" in first
    assert "Second choice: Third follows here." in first
    assert "tempos differ by 40%" in second and "Second choice: the medley ends here." in second
    assert "0.10 lower" in page.text_content("main")


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_nothing_sticks_out(page_path, watched, width, scheme):
    page = watched(page_path, color_scheme=scheme, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(page_path, watched, scheme):
    assert serious_faults(watched(page_path, color_scheme=scheme)) == []
