"""The back matter: its pages open, fit a phone, and say the numbers that they computed."""

import pytest

from autograder.authoring.loading import load_exercises, solution_sources
from autograder.course import chapters
from autograder.shared.tolerances import TOLERANCES
from tests.conftest import settled

KNOWN = {
    "worked_examples": (
        "(0.731, 0.269)",
        "(0.4223, 0.5777, 0.8446, 0.1554)",
        "28 of 64",
        "64, with 8 heads",
    ),
    "notation": ("“may attend”", "“may not attend”", "512", "exp up to 709.8"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_page_opens_without_errors_fits_a_phone_and_says_what_it_computed(built_book, page, name):
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.goto(f"{built_book}book/{name}.html").ok
    settled(page)
    assert page.errors_seen == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    text = page.locator("article").inner_text()
    for fact in KNOWN[name]:
        assert fact in text


def test_the_wrong_answers_are_told_and_no_answer_is_shown(built_book, page):
    page.goto(built_book + "book/tests_of_tests.html")
    text = page.locator("article").text_content()
    for stem in chapters():
        for name, exercise in load_exercises(stem).items():
            assert f"{name}: {len(exercise.misconceptions)} wrong answers" in text
            assert all(wrong.belief.replace("`", "") in text for wrong in exercise.misconceptions)
            lines = [line.strip() for line in solution_sources(stem)[name].split("\n")]
            code = [line for line in lines if line.startswith(("return ", "def ")) or " = " in line]
            assert not [line for line in code if len(line) > 15 and line in text]


def test_every_example_of_the_table_leads_to_its_section(built_book, page):
    page.goto(built_book + "book/worked_examples.html")
    links = page.locator("table").first.locator("tbody a").all()
    sections = page.locator("article h3").all_inner_texts()
    assert len(links) == len(sections) >= 18
    for link, section in zip(links, sections, strict=True):
        assert section.startswith(link.inner_text())
        target = link.get_attribute("href").removeprefix("#")
        assert (
            page.locator(f'[id="{target}"]')
            .locator("xpath=ancestor-or-self::section[1]")
            .locator("h3")
            .count()
            == 1
        )


def test_every_example_says_what_was_printed_what_is_right_and_why(built_book, page):
    page.goto(built_book + "book/worked_examples.html")
    for section in page.locator("article section:has(> h3)").all():
        assert section.locator("p > strong:first-child").all_text_contents()[:3] == [
            "Printed.",
            "Right.",
            "Why.",
        ]


def test_what_is_right_is_folded_until_a_reader_has_guessed(built_book, page):
    page.goto(built_book + "book/worked_examples.html")
    section = page.locator("article section:has(> h3)").first
    right = section.get_by_text("Right.", exact=True)
    assert not right.is_visible()
    section.get_by_text("Before you look").click()
    right.wait_for(state="visible")


def test_figures_have_alt_text_and_a_caption(built_book, page):
    page.goto(built_book + "book/worked_examples.html")
    figures = page.locator("article figure").all()
    assert len(figures) == 2
    for figure in figures:
        assert len(figure.locator("img").get_attribute("alt")) > 30
        assert figure.locator("figcaption").inner_text()


def test_the_tolerances_in_words_are_those_of_the_checks(built_book, page):
    page.goto(built_book + "book/notation.html")
    text = page.locator("article").inner_text()
    parts = {
        "float64": ("1 part in a billion", 1e-9),
        "float32": ("by 1 in 10,000", 1e-4),
        "float16": ("by 1 in 100,", 1e-2),
        "bfloat16": ("by 1 in 25.", 4e-2),
    }
    assert parts.keys() == TOLERANCES.keys()
    for dtype, (words, size) in parts.items():
        assert words in text
        relative, absolute = TOLERANCES[dtype]
        assert relative == size
        if dtype in ("float16", "bfloat16"):
            assert absolute < relative < 3 * absolute
        else:
            assert round(relative / absolute) == 100
