"""The page that asks all quizzes again: what is asked when, what is kept, and the deck for Anki."""

import datetime
import json
import sqlite3
import zipfile

import pytest
from axe_playwright_python.sync_playwright import Axe

from autograder.course import ROOT
from book.sphinx_ext.review import DECK

KEY = "attention-built-by-hand.review"
FIRST_DAY = datetime.datetime(2027, 3, 27, 12)  # clocks change on the next day in Europe
QUIZZES = sum(
    path.read_text(encoding="utf-8").count("{quiz}") for path in (ROOT / "book").glob("ch??_*.md")
)


@pytest.fixture
def review(page, built_book):
    """Return a function that opens the page, so many days after the first."""
    page.clock.install(time=FIRST_DAY)

    def opened(days=0):
        page.clock.set_system_time(FIRST_DAY + datetime.timedelta(days=days))
        page.goto(built_book + "book/review.html")
        return page

    page.goto(built_book + "book/review.html")
    page.evaluate("localStorage.clear()")
    yield opened
    page.evaluate("localStorage.clear()")


def said(page):
    return page.locator(".review-panel [role=status]").inner_text()


def answer(page, right=True):
    """Open an option of the one question that is shown; return what is said of it."""
    (quiz,) = page.locator(".quiz:visible").all()
    quiz.locator(f".quiz-{'right' if right else 'wrong'} summary").first.click()
    page.locator(".review-after").wait_for()
    return page.locator(".review-after [role=status]").inner_text()


def press(page, name):
    page.get_by_role("button", name=name).click()


def test_ten_new_questions_a_day_one_at_a_time_and_no_more(review):
    page = review()
    assert page.locator(".quiz:visible").count() == 0
    assert said(page) == "10 questions today: 0 to see again, 10 new."
    press(page, "Begin")
    for left in range(9, -1, -1):
        assert answer(page) == "This question comes again tomorrow."
        press(page, f"Next ({left} left)" if left else "Finish")
    assert said(page) == "Done for today. 10 questions to come, the next tomorrow."
    assert said(review(1)) == "20 questions today: 10 to see again, 10 new."
    assert page.errors_seen == []


def test_new_questions_are_of_the_chapters_that_are_marked_as_read(review):
    page = review()
    page.evaluate("localStorage['attention-built-by-hand.read'] = '[\"ch02_positional_encoding\"]'")
    page = review()
    count = page.locator("#review-ch02_positional_encoding .quiz").count()
    assert said(page) == f"{count} questions today: 0 to see again, {count} new."
    press(page, "Begin")
    assert page.locator("section.review:visible h2").inner_text().startswith("Where a word stands")


def test_a_right_answer_comes_later_each_time_and_a_wrong_one_tomorrow(review):
    page = review()
    page.evaluate(  # all others are far away
        """(key) => {
            const [, ...others] = document.querySelectorAll("[data-card]");
            const far = others.map((each) => [each.dataset.card, { right: 1, due: 1e9, begun: 0 }]);
            localStorage[key] = JSON.stringify(Object.fromEntries(far));
        }""",
        KEY,
    )
    day = 0
    for days in (1, 3, 7, 21, 60, 60):
        page = review(day)
        assert said(page).startswith("1 question today")
        press(page, "Begin")
        when = "tomorrow" if days == 1 else f"in {days} days"
        assert answer(page) == f"This question comes again {when}."
        answer(page, right=False)  # the first answer counts
        day += days
        if days > 1:
            assert said(review(day - 1)).startswith("Done for today")
    page = review(day)
    press(page, "Begin")
    assert answer(page, right=False) == "This question comes again tomorrow."


def test_a_reader_by_keyboard_sees_all_and_forgets(review):
    page = review()
    page.get_by_role("button", name="Begin").focus()
    page.keyboard.press("Enter")
    focused = page.evaluate("document.activeElement.className")
    assert focused == "quiz-question"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".review-after").wait_for()
    page = review()
    press(page, "Show all questions")
    assert page.locator(".quiz:visible").count() == QUIZZES > 30
    press(page, "Forget my answers")
    assert page.evaluate("(key) => Object.keys(JSON.parse(localStorage[key])).length", KEY) == 1
    press(page, "Really forget all answers")
    assert page.evaluate("(key) => localStorage[key]", KEY) == "{}"


@pytest.mark.parametrize("stored", ["nonsense", "[1]", "null", json.dumps({"gone": {"due": 1}})])
def test_what_is_stored_may_be_anything(review, stored):
    page = review()
    page.evaluate("([key, stored]) => { localStorage[key] = stored; }", [KEY, stored])
    page = review()
    press(page, "Begin")
    assert "tomorrow" in answer(page)
    assert page.errors_seen == []


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_while_a_question_is_asked(review, width, theme):
    page = review()
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=theme)
    press(page, "Begin")
    answer(page)
    found = Axe().run(page, context="article", options={"preload": False})
    assert found.response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_deck_holds_every_quiz_with_both_sides(book_folder, tmp_path):
    with zipfile.ZipFile(book_folder / "_static" / DECK) as archive:
        archive.extract("collection.anki2", tmp_path)
    with sqlite3.connect(tmp_path / "collection.anki2") as deck:
        notes = [fields.split("\x1f") for (fields,) in deck.execute("select flds from notes")]
        guids = {guid for (guid,) in deck.execute("select guid from notes")}
    assert len(notes) == len(guids) == QUIZZES
    for question, answered, chapter in notes:
        assert question.count("<li>") >= 3 and "Right." not in question
        assert answered.index("Right.") < answered.index("Not quite.")
        assert chapter and "href" not in question + answered
