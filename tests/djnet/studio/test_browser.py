"""The studio in a real browser, from an empty project to an exported medley, by mouse and by keyboard."""

import contextlib
import json
import shlex
import sys
import threading
from pathlib import Path

import pytest
import uvicorn

from djnet.cli import main
from djnet.cli.studio import listening
from djnet.studio.server import make_app
from tests.browser import Finger, await_sound, serious_faults
from tests.djnet.cli.test_medley import known_song
from tests.faults.faults import on_a_small_disk, small_disks_work
from tests.firefox import firefox

SLOW_MS = 60_000
SECONDS_OF = """async (address) => {
    const content = await (await fetch(address)).arrayBuffer();
    return (await new OfflineAudioContext(2, 1, 44100).decodeAudioData(content)).duration;
}"""


@contextlib.contextmanager
def served(studio):
    """A studio at an address of this machine."""
    with listening(0) as listener:
        port = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(make_app(studio, "token", port), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{port}/token/"
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def address(open_studio):
    """A studio with an empty project."""
    with served(open_studio(None)) as where:
        yield where


@pytest.fixture
def made(open_studio, music):
    """A studio with a medley of four songs."""
    studio = open_studio(music)
    studio.make(8.0, 0)
    with served(studio) as where:
        yield where


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
    _await_medley(page)
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
    _await_medley(page)
    assert _order(page) == order
    assert page.input_value(f'[data-key="kind {order[1]}"]') == "echo"
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.click("#export:not([disabled])")
    page.fill("#name", "mine")
    page.evaluate("window.kept = document.querySelector('#clips select')")
    page.click("#write")
    page.wait_for_selector("#outcome .good", timeout=4 * SLOW_MS)
    assert page.evaluate("window.kept.isConnected")  # progress closes no list that is open
    folder = tmp_path / "project"
    receipt = json.loads((folder / "mine.json").read_text())
    assert [clip["content"] for clip in receipt["clips"]] == order
    _is_what_the_command_line_renders(tmp_path, "mine.wav")
    assert {path.name for path in folder.iterdir()} == {
        "project.json", "songs", *(f"mine.{ending}" for ending in ("wav", "json", "cue", "m3u8", "csv", "png", "html"))
    }  # fmt: skip


def _tab_to(page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(150):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never comes to {selector}")


def _press(page, selector: str, *keys: str) -> None:
    _tab_to(page, selector)
    for key in keys:
        page.keyboard.press(key)


def test_a_medley_by_keyboard_alone_in_the_dark(open_studio, watched, music, tmp_path):
    with served(open_studio(music)) as where:
        page = watched(where, color_scheme="dark")
        page.set_default_timeout(SLOW_MS)
        page.wait_for_selector("#make:not([disabled])")
        with page.expect_file_chooser():
            _press(page, '[data-add="files"]', "Enter")
        _press(page, "#make", "Enter")
        _await_medley(page)
        order = _order(page)
        _press(page, f'[data-key="block {order[0]}"]', "ArrowRight")  # on the time line
        order[:2] = order[1::-1]
        _await_order(page, order)
        _press(page, '[data-key="lock first"]', "Space")
        page.wait_for_selector('[data-key="lock first"][aria-pressed=true]')
        _press(page, "#order", "Enter")
        page.wait_for_selector("#reasons li")
        order = _order(page)
        _press(page, f'[data-key="kind {order[2]}"]', *"sweep")
        _await(page, "() => document.querySelectorAll('.how')[1].textContent.startsWith('sweep')")
        _press(page, '[data-key="hear 2"]', "Enter")
        _await(page, "() => document.body.dataset.sound === 'playing'")
        _press(page, f'[data-key="part {order[3]}"]', "Enter")
        page.wait_for_selector(".song-wave")
        assert serious_faults(page) == []
        _press(page, ".song-wave", "Shift+ArrowLeft", "ArrowRight")
        page.wait_for_load_state("networkidle")
        bars = page.text_content(".clip >> nth=3")
        page.keyboard.press("Control+z")
        _await(page, "bars => [...document.querySelectorAll('.clip')][3].textContent !== bars", bars)
        _press(page, "#export", "Enter")
        page.keyboard.type("by keys")  # its name is chosen already
        _press(page, "#format", *"flac")
        _press(page, "#write", "Enter")
        page.wait_for_selector("#outcome .good", timeout=4 * SLOW_MS)
        assert serious_faults(page) == []
        page.keyboard.press("Escape")
        page.wait_for_selector("#dialog", state="hidden")
        played = watched(f"{where}files/by%20keys.html")  # the page beside it, as the studio serves it
        played.click("[data-medley=play]")
        await_sound(played, "[data-medley=audio]")
        page.close()  # before its server
    _is_what_the_command_line_renders(tmp_path, "by keys.flac")


@pytest.mark.verify
def test_the_same_in_firefox(open_studio, music, tmp_path):
    studio = open_studio(music)
    (tmp_path / "profile").mkdir()
    order = "() => [...document.querySelectorAll('#clips .clip')].map((card) => card.dataset.song)"
    with served(studio) as where, firefox(tmp_path / "profile") as page:
        page.goto(where)
        page.click("#make")
        page.wait("() => document.querySelectorAll('#clips .clip').length === 4")
        first, second, third, fourth = page.evaluate(order)
        page.press(f'[data-key="move {first}"]', "ArrowDown")
        await_order = f"(...wanted) => String(({order})()) === String(wanted)"
        page.wait(await_order, second, first, third, fourth)
        page.drag("#strip li:nth-child(1)", "#strip li:nth-child(3)")
        page.wait(await_order, first, third, second, fourth)
        page.click('[data-key="lock first"]')
        page.click("#order")
        page.wait("() => document.querySelectorAll('#reasons li').length > 0")
        songs = page.evaluate(order)
        page.press(f'[data-key="kind {songs[1]}"]', "echo")
        page.wait("() => document.querySelector('.join-line .how').textContent.startsWith('echo')")
        # On a machine without a loudspeaker it plays nothing by Web Audio: what it hears is measured.
        assert page.evaluate(SECONDS_OF, "joins/0") > 5
        page.click(f'[data-key="part {songs[2]}"]')
        page.wait("() => document.querySelector('.song-wave')")
        page.press(".song-wave", "ArrowRight")
        page.click("#undo")
        page.goto(where)  # again: nothing is lost
        page.wait(await_order, *songs)
        page.click("#export")
        page.press("#format", "mp3")
        page.click("#write")
        page.wait("() => document.querySelector('#outcome .good')")
        page.goto(f"{where}files/medley.html")
        page.click("[data-medley=play]")
        page.wait("() => document.querySelector('audio').readyState >= HTMLMediaElement.HAVE_CURRENT_DATA")
        assert page.wrong() == []
    _is_what_the_command_line_renders(tmp_path, "medley.mp3")


def _is_what_the_command_line_renders(folder: Path, name: str) -> None:
    """What was exported is what the command line renders of its receipt, to the byte."""
    again, exported = folder / f"again-{name}", folder / "project" / name
    with pytest.raises(SystemExit) as ended:
        main.main(["medley", "--again", str(exported.with_suffix(".json")), "-o", str(again), "--no-page"])
    assert ended.value.code == 0
    assert again.read_bytes() == exported.read_bytes()


def _middle(page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _await_medley(page) -> None:
    """Wait until all four songs are there with their names: it is not drawn again after that."""
    _await(
        page,
        """() => {
        const names = [...document.querySelectorAll('.clip strong')].map((name) => name.textContent);
        return names.length === 4 && !names.includes('A song that is not there');
    }""",
    )


def test_songs_are_dragged_by_finger_and_elsewhere_a_finger_scrolls(made, watched):
    page = watched(made, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    _await_medley(page)
    finger, order = Finger(page), _order(page)
    x, y = _middle(page, "#strip .block >> nth=2")
    finger.drag(_middle(page, "#strip .block >> nth=0"), (x + 9, y))  # on the time line
    order[:3] = [*order[1:3], order[0]]
    _await_order(page, order)
    page.locator("#clips .clip >> nth=0").scroll_into_view_if_needed()
    x, y = _middle(page, "#clips .handle >> nth=0")
    finger.drag((x, y), (x, _middle(page, "#clips .clip >> nth=1")[1] + 9))  # in the list
    order[:2] = order[1::-1]
    _await_order(page, order)
    before = page.evaluate("scrollY")
    x, y = _middle(page, "#clips .clip-text >> nth=1")
    finger.drag((x, y), (x, y - 200))
    _await(page, "before => scrollY > before + 50", before)
    assert _order(page) == order


REFUSED = "Failed to load resource: the server responded with a status of"  # what the browser says of it besides


def test_what_goes_wrong_is_one_sentence_and_nothing_is_lost(made, watched, music):
    page = watched(made, allowed=REFUSED)
    _await_medley(page)
    order, songs = _order(page), list(music.glob("*.flac"))
    for song in songs:
        song.rename(song.with_suffix(".away"))
    page.click('[data-key="hear 1"]')
    _await_message(page, "its file is not there any more; put it back.")
    for song in songs:
        song.with_suffix(".away").rename(song)
    page.click('[data-key="hear 1"]')
    _await(page, "() => document.body.dataset.sound === 'playing'")

    page.route(
        "**/do/plan", lambda route: route.fulfill(status=507, json={"error": "The disk: No space left on device."})
    )
    page.select_option(f'[data-key="kind {order[1]}"]', "echo")
    _await_message(page, "The disk: No space left on device.")
    assert page.input_value(f'[data-key="kind {order[1]}"]') == ""  # what was not saved is not shown
    page.unroute("**/do/plan")

    late = watched(made, allowed=REFUSED)
    _await_medley(late)
    for tab in (late, page):
        tab.route("**/token/state", lambda route: None)  # neither hears of the other's change
    page.select_option(f'[data-key="kind {order[1]}"]', "echo")
    _await(page, "() => document.querySelector('.join-line .how').textContent.startsWith('echo')")
    late.select_option(f'[data-key="kind {order[2]}"]', "cut")
    _await_message(late, "The project was changed in another window; this is its state now.")
    kinds = [late.input_value(f'[data-key="kind {song}"]') for song in order[1:3]]
    assert kinds == ["echo", ""] and _order(late) == order


def _await_message(page, text: str) -> None:
    _await(page, "text => document.querySelector('#message:not([hidden]) p')?.textContent.includes(text)", text)


def test_what_is_dropped_on_the_page_is_added_or_refused(address, watched):
    page = watched(address, allowed=REFUSED)
    page.wait_for_selector("#welcome:not([hidden])")
    page.evaluate("""() => {
        const data = new DataTransfer();
        data.items.add(new File(["x"], "notes.txt"));
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
    }""")
    _await_message(page, "notes.txt: is no music file that can be read here")


def test_a_damaged_project_is_said_until_the_message_is_closed(open_studio, watched, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "project.json").write_text('{"studio": 1, "revision": 3')
    with served(open_studio(None)) as where:
        page = watched(where)
        _await_message(page, "It is kept as project.damaged.json; this is a new project.")
        page.click("#message button")
        page.wait_for_selector("#message", state="hidden")
        page.close()  # before its server


def test_a_disk_that_is_full_is_one_sentence_and_leaves_nothing_half(made, watched, tmp_path, monkeypatch):
    if not small_disks_work(tmp_path / "try"):
        pytest.skip("this system lets nobody mount a small disk")
    project, saved = tmp_path / "project", tmp_path / "receipt"
    # The export writes to a disk of 1 MB: only its receipt comes along.
    inside = ["sh", "-c", f'cp {saved} "$5" && exec {sys.executable} "$@"', "sh"]
    on_disk = shlex.join(on_a_small_disk(project, 1 << 20, inside, tmp_path / "left"))
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\ncp "$5" {saved} && exec {on_disk} "$@"\n')
    program.chmod(0o755)
    before = (project / "project.json").read_bytes()
    monkeypatch.setattr(sys, "executable", str(program))
    page = watched(made)
    page.click("#export:not([disabled])")
    page.click("#write")
    page.wait_for_selector("#outcome .bad", timeout=4 * SLOW_MS)
    said = page.text_content("#outcome")
    assert "No space left on device" in said and said.count("\n") == 0 and said.endswith(".")
    assert (project / "project.json").read_bytes() == before
    assert sorted(path.name for path in project.iterdir()) == ["project.json", "songs"]
    assert [path.name for path in (tmp_path / "left").iterdir() if ".receipt" not in path.name] == []
