"""The pages in a real browser: Chromium without a window, opened from disk."""

import json

import pytest

from djnet.cli import puzzle
from experiments import listening
from tests.browser import Finger, await_sound, serious_faults
from tests.firefox import firefox
from tests.make_report import TITLE


def _order(page) -> list[str]:
    return page.eval_on_selector_all(".board .card", "cards => cards.map((card) => card.dataset.piece)")


def _truth(page) -> list[str]:
    play = json.loads(page.text_content("#data"))["play"]
    size, cut = page.input_value('[data-game="size"]'), page.input_value('[data-game="cut"]')
    return [str(p) for one in play if (str(one["n"]), one["cut"]) == (size, cut) for p in one["truth"]]


def _put_in_order(page, truth: list[str]) -> None:
    """With the keyboard: each piece in turn to the front, the last one first."""
    for piece in reversed(truth):
        page.focus(f'.card[data-piece="{piece}"] .listen')
        page.keyboard.press("Home")


@pytest.fixture(scope="module")
def puzzle_page(songs, tmp_path_factory):
    path = tmp_path_factory.mktemp("puzzle") / "puzzle.html"
    puzzle.main([songs.tracks[0].path, "-n", "3", "--start", "0", "-o", str(path)])
    return path


def test_a_puzzle_page_is_played(puzzle_page, watched):
    page = watched(puzzle_page)
    page.click('.card[data-piece="2"] .listen')
    await_sound(page)
    _put_in_order(page, _truth(page))
    page.click('[data-game="check"]')
    verdict = page.text_content('[data-game="verdict"]')
    assert verdict.startswith("Right, every join! This first answer counts. Your time:")
    page.click('[data-game="check"]')
    assert "your best: 0:" in page.text_content('[data-game="verdict"]')
    page.reload()
    assert page.text_content('[data-game="verdict"]').startswith("Your best time: 0:")  # to be beaten
    page.click('[data-game="reveal"]')
    assert page.locator('[data-game="answer"] .answer').count() == 2


def test_levels_get_harder_and_each_piece_is_where_it_should_be(puzzle_page, watched):
    page = watched(puzzle_page)
    levels = page.eval_on_selector_all('[data-game="cut"] option', "options => options.map((o) => o.value)")
    assert levels == ["fixed", "downbeat", "bar"] and page.input_value('[data-game="cut"]') == "downbeat"
    assert page.locator('[data-game="size"]').is_hidden() and page.locator('[data-game="next"]').is_hidden()
    page.select_option('[data-game="cut"]', "bar")
    page.click('[data-game="listen"]')
    await_sound(page)
    (play,) = [one for one in json.loads(page.text_content("#data"))["play"] if one["cut"] == "bar"]
    seconds = sum(end - start for start, end in play["spans"])
    assert page.evaluate("document.querySelector('#player audio').duration") == pytest.approx(seconds, abs=0.1)


def test_a_result_is_shared_without_giving_the_answer_away(puzzle_page, watched):
    page = watched(puzzle_page)
    clipboard = "{ writeText: async (text) => { if (window.copied) throw new Error('no'); window.copied = text; } }"
    page.evaluate(f"Object.defineProperty(navigator, 'clipboard', {{ value: {clipboard} }})")
    _put_in_order(page, _truth(page)[::-1])
    assert page.locator('[data-game="share"]').is_hidden()
    page.click('[data-game="check"]')
    page.click('[data-game="share"]')
    page.wait_for_function("window.copied")
    title, mine, network = page.evaluate("window.copied").splitlines()
    assert title.startswith("Music puzzle: ") and title.endswith(", 3 pieces, cut where a bar begins")
    assert mine == "Me 🟥🟥" and network.startswith("The network ")
    page.click('[data-game="share"]')
    page.wait_for_selector('[data-game="share-text"]')
    assert page.input_value('[data-game="share-text"]').startswith(title)  # to be copied by hand


def test_a_page_works_where_nothing_can_be_kept(puzzle_page, watched):
    page = watched(puzzle_page)
    private = "() => { throw new Error('private'); }"
    page.evaluate(f"() => {{ Storage.prototype.setItem = Storage.prototype.getItem = {private}; }}")
    _put_in_order(page, _truth(page))
    page.click('[data-game="check"]')
    assert page.text_content('[data-game="verdict"]').startswith("Right, every join!")


def test_hints_suit_fingers_and_mice(puzzle_page, watched):
    touch = watched(puzzle_page, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    assert touch.locator(".by-touch").is_visible() and touch.locator(".by-mouse").is_hidden()
    mouse = watched(puzzle_page)
    assert mouse.locator(".by-mouse").is_visible() and mouse.locator(".by-touch").is_hidden()


@pytest.fixture(scope="module")
def results_page(report):
    return report.with_name("results.html")


PAGES = ["report", "results_page", "puzzle_page"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", PAGES)
def test_pages_have_no_serious_barriers(which, scheme, watched, request):
    page = watched(request.getfixturevalue(which), color_scheme=scheme)
    for opened in ('[data-game="check"]', '[data-game="reveal"]', "#answered summary >> nth=0"):
        if page.locator(opened).count():
            page.click(opened)
    assert serious_faults(page) == []


@pytest.mark.verify
def test_the_pages_in_firefox(report, results_page, puzzle_page, tmp_path):
    with firefox(tmp_path) as page:
        page.goto(puzzle_page.as_uri())
        data = json.loads(page.evaluate("() => document.getElementById('data').textContent"))
        (truth,) = [play["truth"] for play in data["play"] if play["cut"] == data["level"]]
        for piece in reversed(truth):
            page.press(f'.card[data-piece="{piece}"] .listen', "Home")
        page.click('[data-game="check"]')
        page.wait("() => document.querySelector('[data-game=verdict]').textContent.startsWith('Right, every join!')")
        page.goto(report.as_uri())
        page.drag('.card[data-piece="0"]', '.card[data-piece="1"]')
        page.wait("() => document.querySelector('.card').dataset.piece === '1'")
        page.click('[data-game="listen"]')
        page.wait("() => document.querySelector('#player audio').currentTime > 0")
        page.goto(results_page.as_uri())
        page.click("#table-table2 thead button")
        page.wait("() => document.querySelector('#table-table2 [aria-sort]')")
        assert page.wrong() == []


@pytest.mark.parametrize("which", PAGES)
def test_a_page_may_load_nothing_from_other_hosts(which, browser, request):
    page = browser.new_page()
    page.goto(request.getfixturevalue(which).as_uri())
    load = """tag => new Promise((done) => {
        document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective), { once: true });
        document.body.append(Object.assign(document.createElement(tag), { src: "https://other.invalid/x" }));
    })"""
    blocked = [page.evaluate(load, tag) for tag in ("img", "script", "audio", "iframe")]
    assert blocked == ["img-src", "script-src-elem", "media-src", "frame-src"]
    page.close()


def test_the_page_loads_and_shows_titles_as_they_are(report, watched):
    page = watched(report)
    assert page.title() == "djnet: music puzzles"
    assert TITLE in page.text_content('[data-game="credit"]')
    assert TITLE in page.text_content("#credits")
    assert TITLE in page.text_content(".medley")
    assert page.evaluate("window.hacked === undefined")


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1200, "light")])
def test_nothing_sticks_out_of_a_phone_or_a_screen(report, results_page, watched, width, scheme):
    size = {"width": width, "height": 800}
    page = watched(results_page, color_scheme=scheme, viewport=size)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page = watched(report, color_scheme=scheme, viewport=size)
    page.select_option('[data-game="cut"]', "downbeat")
    page.click('[data-game="check"]')
    page.click('[data-game="reveal"]')
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    score = page.locator('[data-game="score"] .scroll')
    assert score.evaluate("box => box.scrollWidth") <= score.evaluate("box => box.clientWidth")


def test_pieces_and_orders_play(report, watched):
    page = watched(report)
    page.click('.card[data-piece="1"] .listen')
    await_sound(page)
    assert page.text_content("#player .label") == "Piece B"
    page.click('[data-game="listen"]')
    page.wait_for_selector(".card.lit")
    await_sound(page)
    seconds = page.evaluate("document.querySelector('#player audio').duration")
    assert seconds == pytest.approx(24.0, abs=0.1)  # three equal pieces of a clip, nothing lost between them


def test_a_piece_is_dragged_by_mouse(report, watched):
    page = watched(report)
    page.select_option('[data-game="size"]', "5")
    assert _order(page) == ["0", "1", "2", "3", "4"]
    source, target = (page.locator(f'.card[data-piece="{piece}"]').bounding_box() for piece in (0, 2))
    page.mouse.move(source["x"] + 40, source["y"] + 40)
    page.mouse.down()
    page.mouse.move(target["x"] + 60, target["y"] + 40, steps=8)
    page.mouse.up()
    assert _order(page) == ["1", "2", "0", "3", "4"]
    assert page.locator("#player").is_hidden()  # a drag is not a click


def test_a_piece_is_dragged_by_finger(report, watched):
    page = watched(report, has_touch=True)
    page.locator("#game").scroll_into_view_if_needed()
    grip, target = (page.locator(f'.card[data-piece="{piece}"] .grip').bounding_box() for piece in (2, 0))
    Finger(page).drag((grip["x"] + 9, grip["y"] + 20), (target["x"] + 9, target["y"] + 20))
    assert _order(page) == ["2", "0", "1"]


def test_a_piece_is_moved_by_keyboard_and_that_is_announced(report, watched):
    page = watched(report)
    page.focus('.card[data-piece="0"] .listen')
    page.keyboard.press("ArrowRight")
    assert _order(page) == ["1", "0", "2"]
    page.wait_for_function("document.getElementById('announcements').textContent === 'Piece A at place 2 of 3.'")
    assert page.evaluate("document.activeElement.closest('.card').dataset.piece") == "0"
    page.keyboard.press("End")
    assert _order(page) == ["1", "2", "0"]
    page.click('.card[data-piece="0"] .earlier')
    assert _order(page) == ["1", "0", "2"]


def test_check_marks_joins_and_the_first_answer_counts(report, watched):
    page = watched(report)
    page.select_option('[data-game="cut"]', "downbeat")
    page.select_option('[data-game="size"]', "4")
    truth = _truth(page)
    _put_in_order(page, [truth[1], truth[0], *truth[2:]])
    page.click('[data-game="check"]')
    assert page.text_content('[data-game="verdict"]').startswith("1 of 3 joins right. This first answer counts")
    assert page.eval_on_selector_all(".card .join", "marks => marks.map((m) => m.textContent)") == ["", "✗", "✗", "✓"]
    _put_in_order(page, truth)
    page.click('[data-game="check"]')
    assert page.text_content('[data-game="verdict"]').startswith("Right, every join! Only the first answer")
    assert page.locator(".card.right").count() == 3
    page.click('[data-game="reveal"]')
    assert "SEN" in page.text_content('[data-game="answer"]') and page.locator(".scores .true").count() == 3
    page.reload()
    assert "33% (0)" in page.text_content('[data-game="score"]')
    page.click('[data-game="forget"]')
    assert page.locator('[data-game="score"]').is_hidden()


def test_answers_to_a_puzzle_can_be_heard_with_their_joins(report, watched):
    page = watched(report)
    page.select_option("#answered select", label="A clip of 24 seconds, 4 pieces, cut where a bar begins")
    assert page.locator("#answered details").count() == 2
    first = page.locator("#answered details").first
    first.locator("summary").click()
    first.locator(".answer").first.wait_for()  # browsers tell of an opened part a little later
    assert first.locator(".answer").count() == 4
    assert first.locator(".answer").nth(0).locator(".mark.right .matrix").count() == 3
    assert first.locator(".answer").nth(1).locator(".mark.wrong").count() == 3
    first.locator(".answer .play").nth(1).click()
    await_sound(page)
    assert page.text_content("#player .label").startswith("CIN: ")
    image = "url => new Promise((done) => { const i = new Image(); i.onload = () => done(i.width); i.src = url; })"
    style = first.locator(".matrix").first.get_attribute("style")
    assert page.evaluate(image, style.split('"')[1]) == 4 * 48


def test_listening_answers_download_as_a_csv_that_the_command_reads(report, watched, tmp_path):
    page = watched(report)
    choice = page.locator('[data-choice="a"]')
    assert choice.is_disabled()
    for side in ("a", "b"):
        page.click(f'[data-test="play-{side}"]')
        await_sound(page)
    choice.click()
    assert page.text_content('[data-test="progress"]').startswith("Pair 2 of")
    page.reload()
    assert page.text_content('[data-test="progress"]').startswith("Pair 2 of")
    with page.expect_download() as download:
        page.click('[data-test="download"]')
    download.value.save_as(tmp_path / "answers.csv")
    (answer,) = listening.read(tmp_path / "answers.csv").itertuples()
    assert (answer.first, answer.second) in (("mix", "sen"), ("tempo and key", "random"))
    assert answer.share in (0.0, 1.0)


def test_tables_sort_filter_and_show_ten_rows_first(results_page, watched, tmp_path):
    page = watched(results_page)
    methods = "#table-table2 tbody th"
    page.click("#table-table2 thead button >> text=global")
    assert page.locator(methods).all_text_contents()[:3] == ["continuity", "sen", "sen"]
    page.click("#table-table2 thead button >> text=global")
    assert page.locator(methods).all_text_contents()[-2:] == ["continuity", "cin"]
    tools, rows = page.locator('[data-show="table-table2"]'), page.locator(f"{methods}:visible")
    assert rows.count() == 10
    tools.locator("button").click()
    assert rows.count() == 14
    tools.locator("button").click()
    tools.locator("input").fill("continuity centred")
    assert rows.all_text_contents() == ["continuity"]
    with page.expect_download() as download:
        page.click("#downloads a >> text=table2.csv")
    download.value.save_as(tmp_path / "table2.csv")
    assert (tmp_path / "table2.csv").read_text().startswith("game,")


@pytest.mark.parametrize("which", ["report", "results_page"])
def test_no_page_is_very_tall_before_anything_is_opened(which, watched, request):
    page = watched(request.getfixturevalue(which), viewport={"width": 1280, "height": 800})
    assert page.evaluate("document.documentElement.scrollHeight") <= 12_000


def test_medleys_jump(report, watched):
    page = watched(report)
    page.click(".medley .line button >> nth=1")
    await_sound(page, ".medley audio")
    assert page.evaluate("document.querySelector('.medley audio').currentTime") >= 4.0
    assert "Second-best order" in page.text_content(".medley")
