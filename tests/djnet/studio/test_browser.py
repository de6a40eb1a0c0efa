"""The studio in a real browser, from an empty project to an exported medley, by mouse and by keyboard."""

import json
import threading
from pathlib import Path

import pytest
import uvicorn

from djnet.cli import main
from djnet.cli.studio import listening
from djnet.studio.server import make_app
from tests.browser import serious_faults
from tests.djnet.cli.test_medley import known_song

SLOW_MS = 60_000


@pytest.fixture
def address(open_studio):
    """A studio with an empty project, at an address of this machine."""
    studio = open_studio(None)
    with listening(0) as listener:
        port = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(make_app(studio, "token", port), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{port}/token/"
        server.should_exit = True
        thread.join(10)


def _order(page) -> list[str]:
    return page.eval_on_selector_all("#clips .clip", "cards => cards.map((card) => card.dataset.song)")


def _await(page, condition: str, argument=None) -> None:
    page.wait_for_function(condition, arg=argument, timeout=SLOW_MS)


def _await_order(page, order: list[str]) -> None:
    script = "order => [...document.querySelectorAll('#clips .clip')].map((c) => c.dataset.song).join() === order"
    _await(page, script, ",".join(order))


def test_files_that_come_before_the_first_answer_of_the_server(address, watched, music):
    page = watched("about:blank")
    page.route("**/token/state", lambda route: None)  # held until unroute
    page.goto(address)
    _await(page, "() => document.readyState === 'complete'")
    page.set_input_files("#files", list(music.glob("*.flac"))[:1])
    page.unroute("**/token/state")
    page.wait_for_selector("#songs .file", timeout=SLOW_MS)


def test_from_an_empty_project_to_an_exported_medley(address, watched, music, tmp_path, monkeypatch):
    names = {path.name: path for path in music.glob("*.flac")}
    monkeypatch.setattr(  # uploads have no beats beside them
        "djnet.medley.analysis._measure", lambda path, *rest: known_song(str(names[Path(path).name]), *rest)
    )
    page = watched(address, viewport={"width": 1280, "height": 1400})
    page.set_default_timeout(SLOW_MS)
    assert page.text_content("#welcome-title") == "Add songs"
    page.set_input_files("#files", list(names.values()))
    page.click("#make:not([disabled])")
    page.wait_for_selector("#clips .clip >> nth=3")
    assert serious_faults(page) == []

    order = _order(page)  # by keyboard: the first song one place later
    page.focus(f'[data-key="move {order[0]}"]')
    page.keyboard.press("ArrowDown")
    order[:2] = order[1::-1]
    _await_order(page, order)
    assert page.evaluate("document.activeElement.dataset.key") == f"move {order[1]}"
    script = "blocks => blocks.map((block) => block.getBoundingClientRect().toJSON())"
    boxes = page.eval_on_selector_all("#strip .block", script)[::2]  # by mouse: the first behind the third
    page.mouse.move(boxes[0]["x"] + 20, boxes[0]["y"] + 20)
    page.mouse.down()
    page.mouse.move(boxes[1]["x"] + boxes[1]["width"] - 5, boxes[1]["y"] + 20, steps=6)
    page.mouse.up()
    order[:3] = [*order[1:3], order[0]]
    _await_order(page, order)

    page.click('[data-key="lock first"]')
    page.wait_for_selector('[data-key="lock first"][aria-pressed=true]')
    page.click("#order")
    page.wait_for_selector("#reasons li")
    assert _order(page)[0] == order[0] and "proven" in page.text_content("#reasons")
    order = _order(page)

    page.select_option(f'[data-key="kind {order[1]}"]', "echo")
    _await(page, "() => document.querySelector('.join-line .how').textContent.startsWith('echo')")
    page.click('[data-key="hear 1"]')
    _await(page, "() => document.body.dataset.sound === 'playing'")
    page.click('[data-key="hear 1"]')

    page.click(f'[data-key="part {order[2]}"]')
    page.focus(".song-wave")
    before = page.get_attribute(".song-wave", "aria-valuetext")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    _await(page, "text => document.querySelector('.song-wave').getAttribute('aria-valuetext') !== text", before)
    page.wait_for_load_state("networkidle")
    page.click("#undo")
    page.wait_for_selector("#redo:not([disabled])")
    assert serious_faults(page) == []
    page.reload()  # in the middle: nothing is lost
    page.wait_for_selector("#clips .clip >> nth=3")
    assert _order(page) == order
    assert page.input_value(f'[data-key="kind {order[1]}"]') == "echo"
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.click("#export:not([disabled])")
    page.fill("#name", "mine")
    page.click("#write")
    page.wait_for_selector("#outcome .good", timeout=4 * SLOW_MS)
    folder = tmp_path / "project"
    receipt = json.loads((folder / "mine.json").read_text())
    assert [clip["content"] for clip in receipt["clips"]] == order
    with pytest.raises(SystemExit) as ended:
        main.main(["medley", "--again", str(folder / "mine.json"), "-o", str(tmp_path / "again.wav"), "--no-page"])
    assert ended.value.code == 0
    assert (tmp_path / "again.wav").read_bytes() == (folder / "mine.wav").read_bytes()
    assert {path.name for path in folder.iterdir()} == {
        "project.json", "songs", *(f"mine.{ending}" for ending in ("wav", "json", "cue", "m3u8", "csv", "png", "html"))
    }  # fmt: skip
