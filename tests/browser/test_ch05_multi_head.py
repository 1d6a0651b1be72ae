"""The explorer of heads: its numbers are those of a model, and sliders, words and the switch move
them.
"""

import numpy as np
import pytest
import torch

from book.experiments import four_questions
from book.experiments.four_questions import QUESTIONS, Reader, base, ids_of, mixed, offers, places


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch05_multi_head.html")
    page.locator(".heads-maps td").first.wait_for()
    return page


def compute(page, **state):
    return page.evaluate("state => globalThis.explorers.heads.compute(state)", state)


def answers_of(page):
    """Return the marks of the four answers, by question."""
    return dict(zip(QUESTIONS, page.locator(".heads-mark").all_inner_texts(), strict=True))


def gate(page, head):
    return page.get_by_role("slider", name=f"Head {head}")


def jobs_of(page):
    """Return the head that looks most at the place of each answer, for the word "is" of the page's
    first sentence.
    """
    maps = np.array(
        [
            [float(cell) for cell in row.locator("td").all_inner_texts()]
            for row in page.locator(".heads-maps tbody tr").all()
        ]
    )
    return {
        question: int(maps[:, place].argmax())
        for question, place in zip(QUESTIONS, (1, 3, 2, 0), strict=True)
    }


def test_numbers_equal_a_models(chapter):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    token_ids = ids_of("your cat is a lovely cat")
    for heads in (1, 2, 4):
        model = Reader(heads).double().requires_grad_(False)
        logits, weights = model(token_ids)
        state = {
            "weights": weights[0].tolist(),
            "offers": offers(model, token_ids)[0].tolist(),
            "base": base(model).tolist(),
        }
        for averaged in (False, True):
            gates, query = torch.from_numpy(rng.random(heads)), int(rng.integers(6))
            used = weights.mean(1, keepdim=True).expand_as(weights) if averaged else weights
            wanted = mixed(model, token_ids, used, gates)[0, query]
            result = compute(chapter, **state, gates=gates.tolist(), averaged=averaged, query=query)
            assert np.allclose(result["maps"], used[0, :, query], rtol=0, atol=1e-12)
            assert np.allclose(result["logits"], wanted, rtol=0, atol=1e-9)
            assert np.allclose(result["probabilities"], wanted.softmax(-1), rtol=0, atol=1e-9)
            assert result["best"] == wanted.argmax(-1).tolist()
        whole = compute(chapter, **state, gates=[1] * heads, averaged=False, query=2)
        assert np.allclose(whole["logits"], logits[0, 2], rtol=0, atol=1e-9)


def test_places_and_answers_are_what_they_say():
    token_ids = ids_of("your cat is a lovely cat")
    assert places(token_ids)[0, 2].tolist() == [1, 3, 2, 0]
    assert places(token_ids)[0, 0, 0] == places(token_ids)[0, 5, 1] == four_questions.NOWHERE
    words = [four_questions.WORDS[i] for i in four_questions.answers(token_ids)[0, 3].tolist()]
    assert words == ["is", "lovely", "is", "your"]


def test_at_first_all_answers_are_right(chapter):
    for word in chapter.locator(".heads-chips input").all():
        word.check(force=True)
        assert not [mark for mark in answers_of(chapter).values() if "✗" in mark]
    assert answers_of(chapter)["after"] == "no such word"
    chapter.locator(".explorer").get_by_label("Sentence").select_option(index=1)
    assert chapter.locator(".heads-chips input").count() == 7
    assert not [mark for mark in answers_of(chapter).values() if "✗" in mark]
    assert chapter.errors_seen == []


def test_without_its_head_a_question_is_lost(chapter):
    jobs = jobs_of(chapter)
    assert sorted(jobs.values()) == [0, 1, 2, 3]
    slider = gate(chapter, jobs["first"])
    slider.focus()
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext") == f"0 percent of head {jobs['first']}"
    assert "✗ it is your" in answers_of(chapter)["first"]
    assert [question for question, mark in answers_of(chapter).items() if "✗" in mark] == ["first"]
    chapter.locator(".heads [aria-live]").get_by_text("3 of 4 answers are right").wait_for(
        state="attached"
    )
    slider.press("End")
    assert "✗" not in "".join(answers_of(chapter).values())


def test_one_average_loses_answers(chapter):
    chapter.locator(".explorer").get_by_label("One average").press("Space")
    rows = [
        row.locator("td").all_inner_texts() for row in chapter.locator(".heads-maps tbody tr").all()
    ]
    assert rows[0] == rows[1] == rows[2] == rows[3]
    assert any("✗" in mark for mark in answers_of(chapter).values())


def test_words_are_chosen_with_arrow_keys(chapter):
    chosen = chapter.locator(".heads-chips input:checked")
    assert chosen.get_attribute("value") == "2"
    chosen.focus()
    chapter.keyboard.press("ArrowRight")
    assert chosen.get_attribute("value") == "3"
    assert "✓" in answers_of(chapter)["before"]
