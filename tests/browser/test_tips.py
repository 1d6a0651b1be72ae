"""What a link leads to shows itself beside the link: under the pointer, by keyboard and on touch."""

import pytest
from axe_playwright_python.sync_playwright import Axe

TERM = 'article a[href="glossary.html#term-dot-product"]'
SOURCE = 'article a[href^="references.html#id"]'
TIP = "[data-tippy-root]"


@pytest.fixture
def chapter(page, built_book):
    page.goto(built_book + "book/ch04_attention.html", wait_until="load")
    return page


def test_a_term_is_explained_under_the_pointer_and_escape_takes_it_away(chapter):
    chapter.locator(TERM).first.hover()
    tip = chapter.locator(TIP)
    tip.wait_for()
    assert "Multiply two vectors entry by entry" in tip.inner_text()
    tip.locator("mjx-container").first.wait_for()  # its formula is typeset
    found = Axe().run(chapter, context={"include": [[TIP]]}, options={"preload": False})
    assert found.response["violations"] == []
    chapter.keyboard.press("Escape")
    tip.wait_for(state="detached")
    assert chapter.errors_seen == []


def test_by_keyboard_a_source_shows_itself_and_belongs_to_its_link(chapter):
    link = chapter.locator(SOURCE).first
    link.focus()
    tip = chapter.locator(f"{TIP} [role=tooltip]")
    tip.wait_for()
    assert "http" in tip.inner_text()
    assert link.get_attribute("aria-describedby") == chapter.locator(TIP).get_attribute("id")


def test_a_section_shows_its_beginning_and_a_whole_page_nothing(chapter):
    chapter.locator('article a[href="#why-the-scale"]').first.hover()
    chapter.locator(TIP).wait_for()
    assert "Why divide" in chapter.locator(TIP).inner_text()
    tipped = chapter.evaluate(
        "[...document.links].filter((link) => link._tippy).map((l) => l.getAttribute('href'))"
    )
    assert tipped and all("#" in href and not href.endswith("#") for href in tipped)


def test_on_touch_the_first_tap_shows_and_the_second_follows(chromium, built_book):
    with chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    ) as context:
        phone = context.new_page()
        phone.goto(built_book + "book/ch04_attention.html", wait_until="load")
        link = phone.locator(TERM).first
        link.tap()
        tip = phone.locator(TIP)
        tip.wait_for()
        box = tip.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert phone.url.endswith("ch04_attention.html")
        link.tap()
        phone.wait_for_url("**/glossary.html#term-dot-product")
