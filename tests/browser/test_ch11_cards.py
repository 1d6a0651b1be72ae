"""The explorer of the cards that a large model needs: its arithmetic is that of the course's functions,
and it is moved with the keyboard.
"""

import math

import pytest

from book.experiments.cost.devices import H100
from solutions.ch11_efficiency import attention_flops, cache_bytes

WEIGHTS = 2 * 80 * 12 * 8192**2
LENGTHS = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch11_efficiency.html")
    page.locator(".cards .explorer-sizes").wait_for()
    return page


def computed(page, **state):
    return page.evaluate(
        """now => {
            const element = document.querySelector("[data-explorer=cards]");
            const { model, card } = JSON.parse(element.dataset.state);
            return globalThis.explorers.cards.compute({ model, card, ...now });
        }""",
        state,
    )


def said(page):
    return page.locator(".cards .explorer-verdict").inner_text()


@pytest.mark.parametrize("heads", [0, 1, 2])
@pytest.mark.parametrize("length", [0, 6, 9])
@pytest.mark.parametrize("batch", [0, 3, 7])
def test_it_calculates_with_the_course_s_functions(chapter, batch, length, heads):
    found = computed(chapter, batch=batch, length=length, heads=heads)
    texts, words, kv_heads = 2**batch, LENGTHS[length], (64, 8, 1)[heads]
    size = WEIGHTS + cache_bytes(texts, kv_heads, 128, 80, words)
    cards = math.ceil(size / H100["memory"])
    assert (found["texts"], found["words"], found["kvHeads"]) == (texts, words, kv_heads)
    assert (found["bytes"], found["cards"]) == (size, cards)
    assert found["step"] == pytest.approx(size / cards / H100["bandwidth"])
    assert found["perCard"] == pytest.approx(texts * H100["bandwidth"] / size)
    flops = WEIGHTS * words + 80 * attention_flops(1, 64, words, words, 128) / 2
    assert found["reading"] == pytest.approx(flops / H100["peak"]["bfloat16"])


def test_it_is_moved_with_the_keyboard(chapter):
    assert "8 texts of 100,000 words, 64 heads of keys: 2,226 GB, 28 cards" in said(chapter)
    chapter.locator(".cards select").select_option(label="8")
    assert "8 heads of keys: 391 GB, 5 cards" in said(chapter)
    batch = chapter.get_by_role("slider", name="Texts in a batch")
    batch.press("Home")
    assert batch.get_attribute("aria-valuetext") == "1 text"
    length = chapter.get_by_role("slider", name="Words in each text")
    length.press("Home")
    assert length.get_attribute("aria-valuetext") == "1,000 words"
    assert "1 text of 1,000 words" in said(chapter)
    assert chapter.errors_seen == []
