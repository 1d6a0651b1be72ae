"""The explorer of what limits a product on a GPU: its arithmetic is the page's, its answer waits for
the reader's, and what an H100 did is drawn where it was measured.
"""

import pytest

from book.experiments import measurements
from book.experiments.cost import devices

PRECISIONS = ("float32", "tf32", "bfloat16")
LAUNCH = measurements.load("gpu")["claims"]["a launch, µs"] / 1e6


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch10_gpu.html")
    page.locator(".roof .explorer-verdict").wait_for()
    return page


def place(words, width):
    return {
        "words": devices.WORDS.index(words),
        "width": devices.WIDTHS.index(width),
    }


def computed(page, **state):
    return page.evaluate(
        """state => {
            const element = document.querySelector("[data-explorer=roof]");
            const given = JSON.parse(element.dataset.state);
            return globalThis.explorers.roof.compute({ ...given, ...state });
        }""",
        state,
    )


def said(page):
    return page.locator(".roof .explorer-verdict").inner_text()


def limits(page):
    return page.locator(".roof .explorer-table")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("words", "width"), [(1, 8192), (256, 8192), (2048, 512), (96, 2048)])
def test_the_limits_are_those_of_the_course_s_arithmetic(chapter, words, width, precision):
    number = PRECISIONS.index(precision)
    for device, sheet in enumerate(devices.SHEETS):
        found = computed(chapter, **place(words, width), precision=number, device=device)
        expected = devices.product_limits(words, width, precision, sheet, LAUNCH)
        assert found["times"] == pytest.approx(list(expected.values()))
        assert found["seconds"] == pytest.approx(max(expected.values()))
        assert list(expected)[found["limit"]] == max(expected, key=expected.get)
        tiles, busy = devices.product_in_tiles(words, width, precision, sheet)
        assert (found["tiles"], found["inTiles"]) == (tiles, pytest.approx(busy))


def test_doubling_tells_the_limits_apart_as_the_page_s_table_does(chapter):
    state = {"precision": 2, "device": 0}
    for words, width, doubled in ((4, 8192, (1, 4)), (4096, 8192, (2, 4)), (32, 512, (1, 1))):
        found = computed(chapter, **place(words, width), **state)
        assert (found["moreWords"], found["moreWidth"]) == pytest.approx(doubled, rel=0.01)


def test_the_answer_waits_for_the_reader_s(chapter):
    dot = chapter.locator(".roof .explorer-dot")
    assert said(chapter).endswith("what limits it?")
    assert not limits(chapter).is_visible() and not dot.is_visible()
    chapter.get_by_role("radio", name="arithmetic").check()
    assert said(chapter).startswith("Not quite.") and "Memory limits it" in said(chapter)
    assert limits(chapter).is_visible() and dot.is_visible()
    chapter.get_by_role("radio", name="memory").check()
    assert said(chapter).startswith("Yes.")
    chapter.locator(".roof").get_by_role("slider", name="Words").press("End")
    assert not limits(chapter).is_visible() and not dot.is_visible()
    chapter.get_by_role("checkbox", name="show the answer at once").press("Space")
    assert limits(chapter).is_visible() and "Arithmetic limits it" in said(chapter)
    assert chapter.errors_seen == []


def test_what_an_h100_did_is_shown_where_it_was_measured(chapter):
    here = {"precision": 2, "device": 0, **place(256, 8192)}
    assert computed(chapter, **here)["took"] == pytest.approx(63e-6, rel=0.01)
    for elsewhere in ({"width": 4}, {"device": 1}, {"words": 16}):
        assert computed(chapter, **here | elsewhere)["took"] is None
    squares = chapter.locator(".roof-measured")
    assert squares.count() == 14
    chapter.locator(".roof").get_by_role("combobox", name="Card").select_option(index=3)
    assert squares.count() == 0


def test_idle_multiprocessors_are_told_of(chapter):
    chapter.get_by_role("checkbox", name="show the answer at once").press("Space")
    assert "multiprocessors" not in said(chapter)
    chapter.locator(".roof").get_by_role("slider", name="Width").press("ArrowLeft")
    assert "only 64 of 132 multiprocessors would have one" in said(chapter)
