"""The page on training: its explorer shows the recorded run, keys move it, and links to what is on
the next page now lead there.
"""

import json

import pytest

from book.experiments import measurements
from solutions.translator import corpus

MOVED = ("how-good-is-it", "keep-several-beginnings", "longer-runs", "ch09-long-runs")


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch09_training.html")
    page.locator(".training-dot").wait_for()
    return page


def state_of(page):
    return json.loads(page.locator(".explorer[data-explorer=training]").get_attribute("data-state"))


def step_of(page):
    return page.locator(".training").get_by_role("slider", name="Step")


def compute(page, frame):
    return page.evaluate(
        "([state, frame]) => globalThis.explorers.training.compute({ ...state, frame })",
        [state_of(page), frame],
    )


def in_order(words, reference):
    """Return those of some words that can be found in the reference one after the other."""
    rest = iter(reference)
    return [word for word in words if word in rest]


def longest_shared(written, wanted):
    """Return how many words two sentences share in the same order, at most."""
    lengths = [0] * (len(wanted) + 1)
    for word in written:
        before = lengths[:]
        for place, other in enumerate(wanted, 1):
            found = before[place - 1] + 1 if word == other else before[place]
            lengths[place] = max(found, lengths[place - 1])
    return lengths[-1]


def test_each_look_is_compared_word_by_word(chapter):
    state = state_of(chapter)
    looks = measurements.load("translator_run")["runs"][0]["looks"]
    shown = [(each["step"], each["loss"], each["translations"]) for each in state["frames"]]
    assert shown == [
        (each["step"], each["validation_loss"], each["translations"])
        for each in looks
        if each["step"] <= 300
    ]
    assert len(shown) == 12
    assert {each["translations"][1] for each in looks[9:]} == {shown[-1][2][1]}  # nothing new
    for number, frame in enumerate(state["frames"]):
        seen = compute(chapter, number)
        assert (seen["step"], seen["loss"]) == (frame["step"], frame["loss"])
        references = [sentence["reference"] for sentence in state["sentences"]]
        right = [
            said == reference
            for said, reference in zip(frame["translations"], references, strict=True)
        ]
        assert seen["right"] == sum(right)
        for compared, said, reference, whole in zip(
            seen["compared"], frame["translations"], references, right, strict=True
        ):
            assert compared["right"] == whole
            assert [each["word"] for each in compared["words"]] == corpus.words(said)
            fits = [each["right"] for each in compared["words"]]
            kept = [word for word, fit in zip(corpus.words(said), fits, strict=True) if fit]
            assert kept == in_order(kept, corpus.words(reference))
            assert len(kept) == longest_shared(corpus.words(said), corpus.words(reference))


def test_the_last_look_has_the_sentence_of_the_course(chapter):
    slider = step_of(chapter)
    slider.focus()
    slider.press("End")
    assert chapter.locator(".training-source").first.inner_text() == corpus.PROMISE
    written = chapter.locator(".training-written").first
    assert written.inner_text().split() == [
        "il",
        "tuo",
        "gatto",
        "è",
        "un",
        "gatto",
        "adorabile",
        "✓",
        "right",
    ]
    assert written.locator(".explorer-wrong").count() == 0
    assert slider.get_attribute("aria-valuetext").startswith("step 300, loss 0.")
    spoken = chapter.locator(".training [aria-live]")
    spoken.get_by_text("Step 300").wait_for(state="attached")
    assert chapter.errors_seen == []


def test_the_keyboard_goes_back_and_forth(chapter):
    slider = step_of(chapter)
    slider.focus()
    places = []
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowLeft"):
        slider.press(key)
        places.append(chapter.locator(".training .explorer-number").inner_text())
    assert places == ["25", "50", "75", "50"]
    heights = []
    for key in ("Home", "End"):
        slider.press(key)
        heights.append(float(chapter.locator(".training-dot").get_attribute("cy")))
    assert heights[0] < heights[1]  # the loss has fallen, and SVG counts downwards


def test_the_page_ends_with_the_promise(without_scripts, built_book):
    without_scripts.goto(built_book + "book/ch09_training.html")
    last = without_scripts.locator(".cell_output").last
    assert last.inner_text().strip() == "il tuo gatto è un gatto adorabile"


@pytest.mark.parametrize("anchor", MOVED)
def test_a_link_to_what_has_moved_leads_to_where_the_page_says_so(
    without_scripts, built_book, anchor
):
    without_scripts.goto(f"{built_book}book/ch09_training.html#{anchor}")
    onward = without_scripts.locator("article a[href$='ch09_translating.html']").last
    below = without_scripts.evaluate(
        "([id, link]) => document.getElementById(id).getBoundingClientRect().top"
        " - link.getBoundingClientRect().top",
        [anchor, onward.element_handle()],
    )
    assert abs(below) < 200  # pixels
