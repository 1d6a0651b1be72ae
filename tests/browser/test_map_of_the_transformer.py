"""The map of the first page: by keyboard, for axe, with the translator; and the small one."""

import json
import math

import pytest
from axe_playwright_python.sync_playwright import Axe

from book.sphinx_ext.map_boxes import BOXES, STEPS
from tests.browser.translating import ask_for_a_sentence, serve_model, wait_for_the_end

pytestmark = pytest.mark.xdist_group("first page")  # its translator is trained once

MAP = "nav.transformer-map"
VIEWS = [(1280, "light"), (390, "dark"), (1280, "dark"), (390, "light")]
OVERFLOWING = """(map) => [...map.querySelectorAll("a.box")].filter((box) => {
    const edge = box.querySelector("rect").getBoundingClientRect();
    return edge.width && [...box.querySelectorAll("text")].some((text) => {
        const { left, right } = text.getBoundingClientRect();
        return left < edge.left || right > edge.right;
    });
}).length"""


@pytest.fixture
def first_page(page, built_book):
    ask_for_a_sentence(page)
    page.goto(built_book + "book/index.html")
    page.locator(".translator-written button").first.wait_for()
    return page


def boxes(page):
    return page.locator(f"{MAP} a.box:visible")


@pytest.mark.parametrize(("width", "theme"), VIEWS)
def test_axe_finds_nothing_and_labels_fit(page, built_book, width, theme):
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=theme)
    page.goto(built_book + "book/index.html")
    found = Axe().run(page, context={"include": [[MAP]]}, options={"preload": False})
    assert found.response["violations"] == []
    assert boxes(page).count() == len(BOXES)
    assert page.locator(MAP).evaluate(OVERFLOWING) == 0


def test_every_box_is_reached_by_keyboard_and_says_what_it_does(first_page):
    boxes(first_page).first.focus()
    for box in BOXES:
        assert box.does in first_page.locator(f"{MAP} .does").inner_text()
        assert box.page in first_page.evaluate("document.activeElement.getAttribute('href')")
        first_page.keyboard.press("Tab")
    assert first_page.locator(f"{MAP} .does").inner_text().startswith("Point at a box")


def test_a_sentence_is_followed_from_part_to_part_by_keyboard(first_page):
    button, line = first_page.locator(f"{MAP} .follow"), first_page.locator(f"{MAP} .does")
    button.focus()
    by_id = {box.id: box for box in BOXES}
    for number, step in enumerate(STEPS, 1):
        first_page.keyboard.press("Enter")
        lit = first_page.locator(f"{MAP} a.at-work:visible")
        assert lit.count() == 1 and by_id[step].does in lit.get_attribute("aria-label")
        assert by_id[step].does not in line.inner_text()  # but what happens to this sentence
        assert line.inner_text().startswith(f"{number} of {len(STEPS)}: {by_id[step].name}")
        assert first_page.locator(f"{MAP} [role=status]").text_content() == line.inner_text()
    first_page.keyboard.press("Enter")
    assert first_page.locator(f"{MAP} a.at-work").count() == 0
    assert "begins again" in line.inner_text() and button.inner_text() == "Follow the next word"
    first_page.keyboard.press("Enter")  # which chooses that word
    assert line.inner_text().startswith(f"1 of {len(STEPS)}")
    pressed = first_page.locator(".translator-written [aria-pressed=true]")
    assert pressed.inner_text() == "un"  # after “è”


def test_a_step_can_be_seen_again(first_page):
    button, line = first_page.locator(f"{MAP} .follow"), first_page.locator(f"{MAP} .does")
    back = first_page.locator(f"{MAP} .back")
    assert not back.is_visible()
    said = []
    for _ in range(len(STEPS) + 1):
        button.click()
        said.append(line.inner_text())
    back.focus()
    for before in said[-2::-1]:
        first_page.keyboard.press("Enter")
        assert line.inner_text() == before
    assert not back.is_visible()
    assert button.evaluate("(it) => it === document.activeElement")


def test_the_sentence_that_is_followed_is_the_translators(first_page):
    button, line = first_page.locator(f"{MAP} .follow"), first_page.locator(f"{MAP} .does")
    said = []
    with wait_for_the_end(first_page, "translator"):
        first_page.get_by_role("button", name="my cousin reads the book").click()
    first_page.locator(".translator-written button", has_text="yogurt").click()
    weights = first_page.locator(".translator-word small").all_inner_texts()
    for _ in range(len(STEPS) + 1):
        button.click()
        said.append(line.inner_text())
    assert "“my cousin reads the book”" in said[0] and "“i miei”" in said[4]
    assert f"“cousin”, with {weights[1]} of its attention" in said[7]
    share = first_page.locator(".translator-likely li small").first.inner_text()
    assert f"“yogurt” gets {share}" in said[11] and said[12].startswith("“yogurt” goes back")
    assert line.locator("[lang=it]").count() == 1
    notes = first_page.locator(f"{MAP} svg.wide .words").all_text_contents()
    assert notes == ["my cousin reads the book", "i miei yogurt"]
    first_page.locator(".translator-written button").first.click()
    for _ in range(5):
        button.click()
    assert "Nothing is written yet" in line.inner_text()
    first_page.locator(".translator-written button").last.click()  # which begins again
    for _ in range(len(STEPS) + 1):
        button.click()
    assert line.inner_text().startswith("So the translation is complete")
    assert first_page.errors_seen == []


def test_on_a_phone_each_step_shows_its_box_and_the_next_button(first_page):
    first_page.set_viewport_size({"width": 390, "height": 700})
    button = first_page.locator(f"{MAP} .follow")
    button.focus()
    for _ in STEPS:
        first_page.keyboard.press("Enter")
        lit = first_page.locator(f"{MAP} a.at-work:visible").bounding_box()
        below, line = button.bounding_box(), first_page.locator(f"{MAP} .does").bounding_box()
        assert lit["y"] >= 60 and lit["y"] + lit["height"] <= line["y"]
        assert line["y"] + line["height"] <= below["y"]
        assert below["y"] + below["height"] <= 700


@pytest.mark.parametrize("width", [390, 1280])
def test_no_box_that_has_the_focus_is_covered_by_what_is_said_of_it(first_page, width):
    first_page.set_viewport_size({"width": width, "height": 844})
    first_page.locator(f"{MAP} .follow").focus()
    for _ in range(3):  # its words and numbers are there, so it is as high as it gets
        first_page.keyboard.press("Enter")
    for _ in BOXES:
        first_page.keyboard.press("Tab")
        box = first_page.evaluate(
            "(({ top, bottom }) => [top, bottom])(document.activeElement.getBoundingClientRect())"
        )
        assert box[0] >= 48 and box[1] <= first_page.locator(f"{MAP} .does").bounding_box()["y"]


def test_what_passes_is_what_was_measured(first_page):
    inside = json.loads(
        first_page.locator("[data-explorer=translator]").get_attribute("data-state")
    )
    given = inside["translations"][0]
    inside = given["inside"]
    first_page.locator(".translator-written button", has_text="gatto").nth(1).click()
    button, chips = first_page.locator(f"{MAP} .follow"), first_page.locator(f"{MAP} .chip")
    line = first_page.locator(f"{MAP} .does")
    button.click()
    assert chips.locator("small").all_inner_texts() == [
        str(each) for each in inside["source"]["ids"]
    ]
    strips = [chip.locator(".strip").inner_html() for chip in chips.all()]
    assert strips[1] == strips[5] and len(set(strips)) == 5  # the two cats, before positions
    assert ", ".join(f"{x:.2f}" for x in inside["source"]["rows"][1][:1]) in line.inner_text()
    wrote = first_page.locator(f"{MAP} svg.wide .words").last
    assert wrote.text_content() == "il tuo gatto è un …"
    button.click()
    strips = [chip.locator(".strip").inner_html() for chip in chips.all()]
    assert len(set(strips)) == 6
    shares = {2: inside["looks"][0], 6: inside["back"][5]}  # “your” takes in most of another
    for step in range(2, 8):
        button.click()
        if step in shares:
            assert chips.locator("small").all_inner_texts() == [f"{x:.2f}" for x in shares[step]]
    assert "the second “cat”, with 0.9" in line.inner_text()
    weights = first_page.locator(".translator-word small").all_inner_texts()
    assert chips.locator("small").all_inner_texts() == weights
    button.click()
    scores = inside["asks"]["scores"][5]
    powers = [math.exp(score) for score in scores]
    head = given["weights"][5][-1][inside["asks"]["heads"][5]]
    found = [note.split(" → ") for note in chips.locator("small").all_inner_texts()[1:]]
    assert [float(score.replace("−", "-")) for score, _ in found] == scores
    for (_, share), power, weight in zip(found, powers, head, strict=True):
        assert float(share) == pytest.approx(power / sum(powers), abs=0.006)
        assert float(share) == pytest.approx(weight, abs=0.01)  # scores have two decimals
    button.click()
    values = inside["asks"]["values"][inside["asks"]["heads"][5]]
    mix = sum(power / sum(powers) * value[0] for power, value in zip(powers, values, strict=True))
    assert f": {mix:.2f},".replace("-", "−") in line.inner_text()
    assert chips.count() == 7 and chips.last.inner_text().split() == ["mix", "sum"]
    button.click()
    assert chips.count() == 1
    button.click()
    assert chips.count() == 5 and "The second “gatto” gets" in line.inner_text()
    assert wrote.text_content() == "il tuo gatto è un gatto"
    first_page.locator(".translator-written button").first.click()  # another word: from the start
    assert button.inner_text() == "Follow a sentence" and chips.count() == 0
    assert first_page.errors_seen == []


def test_a_finger_asks_first_and_opens_with_the_second_tap(chromium, built_book):
    with chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    ) as phone:
        page = phone.new_page()
        page.goto(built_book + "book/index.html")
        box = boxes(page).nth(2)
        box.tap()
        assert BOXES[2].does in page.locator(f"{MAP} .does").inner_text()
        assert page.url.endswith("index.html")
        box.tap()
        page.wait_for_url("**/ch05_multi_head.html", wait_until="commit")


def test_the_map_follows_the_translator(first_page, model_files):
    serve_model(first_page, model_files)
    first_page.evaluate(
        """() => {
            globalThis.lit = [];
            document.addEventListener("translator", ({ detail }) => lit.push([detail.phase,
                document.querySelectorAll("nav svg.wide a.at-work").length]));
        }"""
    )
    with wait_for_the_end(first_page, "translator"):
        first_page.get_by_label("English", exact=True).fill("the red cat sleeps")
        first_page.keyboard.press("Enter")
    (read, *written, rest) = first_page.evaluate("lit")
    count = {phase: sum(phase in box.phase.split() for box in BOXES) for phase in ("read", "write")}
    assert read == ["read", count["read"]] and rest == ["rest", 0]
    assert written and all(each == ["write", count["write"]] for each in written)
    assert first_page.errors_seen == []


def test_a_chapter_has_the_small_map_on_a_wide_screen_and_a_line_on_a_phone(page, built_book):
    page.goto(built_book + "book/ch04_attention.html")
    small, line = page.locator("svg.small"), page.locator(".at-the-top p")
    assert 90 <= small.bounding_box()["height"] <= 140
    assert page.locator(".at-the-top a").count() == 1
    page.set_viewport_size({"width": 390, "height": 844})
    assert not small.is_visible() and "You are here" in line.inner_text()
    assert page.locator(".at-the-top").bounding_box()["height"] < 60
