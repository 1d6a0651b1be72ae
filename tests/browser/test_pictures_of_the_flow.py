"""Pictures of the flow in a browser: words that can be read and do not cover each other, on a wide
page and on a phone, in both themes.
"""

import pytest

from autograder.course import pages

CHAPTERS = [page for page in pages() if page.startswith("book/ch")]
SMALLEST = 11  # pixels
SEEN = """(pictures) => pictures.map((picture) => {
    const drawn = [...picture.querySelectorAll("svg")].filter((svg) => svg.checkVisibility());
    const edge = drawn[0].getBoundingClientRect();
    const scale = edge.width / drawn[0].viewBox.baseVal.width;
    const words = [...drawn[0].querySelectorAll("text")].map((each) => ({
        said: each.textContent, ...each.getBoundingClientRect().toJSON(),
        size: scale * parseFloat(getComputedStyle(each).fontSize),
    }));
    const inner = (each) => ({ // letters without the room above and below them
        left: each.left + 1, right: each.right - 1,
        top: each.top + each.height / 5, bottom: each.bottom - each.height / 5,
    });
    const meet = (one, other) => one.left < other.right && other.left < one.right
        && one.top < other.bottom && other.top < one.bottom;
    return {
        drawn: drawn.length, wide: edge.width, label: picture.getAttribute("aria-label"),
        smallest: Math.min(...words.map(({ size }) => size)),
        outside: words.filter(({ left, right }) => left < edge.left - 1 || right > edge.right + 1)
            .map(({ said }) => said),
        covered: words.flatMap((one, place) => words.slice(0, place)
            .filter((other) => meet(inner(one), inner(other)))
            .map((other) => `${one.said} and ${other.said}`)),
    };
})"""


@pytest.mark.parametrize("name", CHAPTERS)
def test_pictures_can_be_read(bare_book, page, name):
    page.goto(f"{bare_book}{name}.html")
    for width, theme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=theme)
        pictures = page.locator("figure .flow")
        seen = pictures.evaluate_all(SEEN)
        assert len(seen) >= 2
        for picture in seen:
            assert picture["drawn"] == 1 and picture["smallest"] >= SMALLEST, picture
            assert picture["outside"] == picture["covered"] == [], picture
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = "(each) => getComputedStyle(each.closest('.text_html')).backgroundColor"
    assert set(pictures.evaluate_all(f"(all) => all.map({ground})")) == {"rgba(0, 0, 0, 0)"}


@pytest.fixture
def player(page, bare_book):
    """The buttons below chapter 4's example, with a clock that the test moves."""
    page.clock.install(time=0)
    page.goto(f"{bare_book}book/ch04_attention.html")
    page.clock.pause_at(3_600_000)  # it would go on while a busy machine takes seconds for a key
    yield page.locator(".flow-player")
    page.clock.resume()  # the tab is shared


def hidden(page):
    """Return the steps that are not shown yet, in the drawing that a reader sees."""
    parts = page.locator(".flow[data-steps] svg:visible [data-step].later").all()
    return sorted({part.get_attribute("data-step") for part in parts})


def test_a_picture_plays_steps_and_stops(page, player):
    assert hidden(page) == [] and player.get_by_role("button", name="Next").is_disabled()
    play = player.get_by_role("button", name="Play")
    play.focus()
    page.keyboard.press("Enter")
    assert hidden(page) == ["2", "3"]
    assert "1, 3 and 2" in player.locator("p").inner_text()
    page.clock.run_for(1800)
    assert hidden(page) == ["3"]
    player.get_by_role("button", name="Stop").click()
    page.clock.run_for(10_000)
    assert hidden(page) == ["3"]
    player.get_by_role("button", name="Back").click()
    assert hidden(page) == ["2", "3"]
    for _ in range(2):
        player.get_by_role("button", name="Next").click()
    assert hidden(page) == []
    play.click()
    page.clock.run_for(10_000)
    assert hidden(page) == [] and play.inner_text() == "Play"
    assert page.errors_seen == []


def test_nothing_plays_by_itself_for_a_reader_who_wants_no_motion(page, bare_book):
    page.emulate_media(reduced_motion="reduce")
    page.clock.install()
    page.goto(f"{bare_book}book/ch04_attention.html")
    page.get_by_role("button", name="From the start").click()
    page.clock.run_for(10_000)
    assert hidden(page) == ["2", "3"]
