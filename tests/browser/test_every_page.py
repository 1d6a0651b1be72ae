"""What holds on every page, wide and on a phone, in light and dark: nothing missing, nothing from
abroad, accessible, and light enough.
"""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe

from autograder.course import chapters, pages, pages_of
from tests.conftest import settled

PAGES = [*pages(), "search", "genindex"]
VIEWS = [(1280, "light"), (390, "dark"), (1280, "dark"), (390, "light")]
MOST_BYTES = {PAGES[0]: 1_000_000}  # before the translator is asked for
MOST_BYTES_ELSEWHERE = 2_500_000
ABROAD = ("data:", "blob:", "http://127.0.0.1")


def page_and_view(place, name, view):
    """Return one test's parameters: `make test` looks at a page wide and light, or small and dark;
    `make test-long` in all ways.
    """
    marks = [] if view == VIEWS[place % 2] else [pytest.mark.long]
    return pytest.param(name, *view, marks=marks, id=f"{name}-{view[0]}-{view[1]}")


@pytest.fixture
def answers(page):
    """The answers that a page gets, all from the server: the browser's cache does not keep those that
    it answered itself.
    """
    cache = page.context.new_cdp_session(page)
    cache.send("Network.enable")
    cache.send("Network.setCacheDisabled", {"cacheDisabled": True})
    found = []

    def answered(answer):
        found.append(answer)

    page.on("response", answered)
    yield found
    page.remove_listener("response", answered)
    cache.detach()


# Of the words of a page, one of each colour, size and weight on each ground is marked, to be looked
# at for its contrast; of the formulas in its lines, which are all drawn alike, the first stays.
ONE_OF_ITS_KIND = "data-one-of-its-kind"
MARK_ONE_OF_EACH_KIND = """(mark) => {
    const grounds = new Map([[null, ""]]);
    const groundOf = (at) => {
        if (!grounds.has(at)) {
            const { backgroundColor, backgroundImage, opacity } = getComputedStyle(at);
            const above = groundOf(at.parentElement);
            grounds.set(at, above + backgroundColor + backgroundImage + opacity);
        }
        return grounds.get(at);
    };
    const [, ...formulas] = document.querySelectorAll("mjx-container:not([display])");
    for (const formula of formulas) formula.replaceWith("x");
    const seen = new Set();
    for (const each of document.body.querySelectorAll("*")) {
        const says = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!(says || each.value) || !each.checkVisibility()) continue;
        const { color, fontSize, fontWeight } = getComputedStyle(each);
        const kind = [color, fontSize, fontWeight, groundOf(each)].join();
        if (!seen.has(kind)) each.setAttribute(mark, "");
        seen.add(kind);
    }
}"""

# What sticks out to the right of its place can be scrolled to, and what sticks out to the left cannot.
FORMULAS_CUT_ON_THE_LEFT = """() => {
    const left = (each) => each.getBoundingClientRect().left;
    const formulas = [...document.querySelectorAll("div.math mjx-container")];
    return formulas.filter((each) => left(each) < left(each.parentElement) - 1).map((each) => each.outerHTML);
}"""


def violations(page):
    """Return what axe has to say against a page: the rule, and the first place."""
    of_one_kind = f"[{{id: 'color-contrast', selector: '[{ONE_OF_ITS_KIND}]'}}]"
    axe = Axe(f"{AXE_SCRIPT}\naxe.configure({{rules: {of_one_kind}}})")
    found = axe.run(page, options={"preload": False, "resultTypes": ["violations"]})
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found.response["violations"]]


@pytest.mark.parametrize(
    ("name", "width", "theme"),
    [page_and_view(place, name, view) for place, name in enumerate(PAGES, 1) for view in VIEWS],
)
def test_a_page_is_whole_light_and_accessible(built_book, page, answers, name, width, theme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    assert page.goto(f"{built_book}{name}.html").ok
    settled(page)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert page.errors_seen == []
    assert [
        answer.url for answer in answers if not answer.ok or not answer.url.startswith(ABROAD)
    ] == []
    assert sum(len(answer.body()) for answer in answers) < MOST_BYTES.get(
        name, MOST_BYTES_ELSEWHERE
    )
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    assert page.evaluate(FORMULAS_CUT_ON_THE_LEFT) == []
    assert page.locator("h1").count() >= 1
    assert page.locator("mjx-merror").count() == 0
    page.evaluate(MARK_ONE_OF_EACH_KIND, ONE_OF_ITS_KIND)
    assert violations(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_the_text_is_there_before_any_script_runs(built_book, without_scripts, name):
    page = without_scripts
    page.goto(f"{built_book}{name}.html")
    assert page.locator("article h1, #main-content h1:visible").first.is_visible()
    if name.startswith("book/ch"):
        assert len(page.locator("article").inner_text()) > 10_000


def test_nothing_moves_where_the_reader_asked_for_rest(built_book, page):
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{built_book}book/ch04_attention.html")
    settled(page)
    moving = (
        "[...document.querySelectorAll('*')].filter((each) => { const style ="
        " getComputedStyle(each);"
    )
    moving += (
        " return style.transitionDuration !== '0s' || style.animationName !== 'none'; }).length"
    )
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) > 0  # the measure sees motion where there is some


def test_a_reader_s_progress_is_kept_in_this_browser(built_book, page):
    page.goto(f"{built_book}book/ch01_embeddings.html")
    button = page.get_by_role("button", name="Mark this chapter as read")
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator(".chapter-read").get_attribute("aria-pressed") == "true"
    page.goto(f"{built_book}{PAGES[0]}.html")
    line = page.locator(".chapter-progress")
    assert f"You have read 1 of {len(chapters())} chapters." in line.inner_text()
    assert line.get_by_role("link").get_attribute("href").endswith("ch02_positional_encoding.html")
    assert page.locator(".bd-docs-nav .chapter-tick").count() == 1
    assert page.locator("article .chapter-tick").count() == 1
    page.goto(f"{built_book}book/ch01_embeddings.html")
    page.locator(".chapter-read").click()
    assert page.locator(".chapter-read").get_attribute("aria-pressed") == "false"
    assert page.locator(".chapter-tick").count() == 0


def test_a_chapter_of_two_pages_is_read_when_both_are(built_book, page):
    first, second = (f"{built_book}book/{each}.html" for each in pages_of("ch09_training"))
    for place, count in ((first, 0), (second, 1)):
        page.goto(place)
        page.get_by_role("button", name="Mark this page as read").click()
        page.goto(f"{built_book}{PAGES[0]}.html")
        said = page.locator(".chapter-progress").inner_text()
        assert f"You have read {count} of {len(chapters())} chapters." in said
    for place in (first, second):
        page.goto(place)
        page.get_by_role("button", name="You have read this page").click()


def test_a_printed_chapter_shows_what_was_folded_and_no_buttons(built_book, page):
    page.goto(f"{built_book}book/ch04_attention.html")
    settled(page)
    page.emulate_media(media="print")
    assert not page.locator(".chapter-read").is_visible()
    assert not page.locator(".copybtn").first.is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    folded = page.locator(".admonition.dropdown")
    assert folded.count() >= 3
    assert all(each.locator("p").last.is_visible() for each in folded.all())
