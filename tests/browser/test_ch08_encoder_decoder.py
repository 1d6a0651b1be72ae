"""The explorer of decoding: its choices are those of a softmax over the model's logits, and keys
move it.
"""

import json

import numpy as np
import pytest

from book.experiments.toy_translation import KEPT_BACK
from solutions.ch04_attention import softmax


@pytest.fixture
def chapter(page, built_book):
    page.goto(built_book + "book/ch08_encoder_decoder.html")
    page.locator(".decoding-best").wait_for()
    return page


def compute(page, **state):
    return page.evaluate("state => globalThis.explorers.decoding.compute(state)", state)


def state_of(page):
    return json.loads(page.locator(".explorer[data-explorer=decoding]").get_attribute("data-state"))


def likeliest(page):
    return page.locator(".decoding-best th").inner_text()


def test_numbers_equal_the_reference(chapter):
    rng = np.random.default_rng(0)
    for _ in range(30):
        logits = (rng.choice([1, 10, 500]) * rng.standard_normal(int(rng.integers(2, 40)))).tolist()
        result = compute(chapter, logits=logits)
        assert np.allclose(
            result["probabilities"], softmax(np.array(logits)), rtol=1e-9, atol=1e-15
        )
        assert result["next"] == int(np.argmax(logits))
        assert result["order"] == np.argsort(logits)[::-1].tolist()


def test_the_model_of_the_page_writes_the_right_translations(chapter):
    """The logits that the explorer holds lead, word by word, to the sentences that greedy decoding
    should write.
    """
    state = state_of(chapter)
    vocabulary = state["vocabulary"]
    for sentence, (english, italian) in zip(state["sentences"], KEPT_BACK.items(), strict=True):
        chosen = [compute(chapter, logits=step["logits"])["next"] for step in sentence["steps"]]
        assert chosen == sentence["chosen"]
        assert [vocabulary[index] for index in chosen] == [*italian.split(), "<eos>"]
        assert sentence["source"] == english.split()
        for step in sentence["steps"]:
            attention = np.array(step["attention"])  # (heads, src_len)
            assert attention.shape == (4, len(sentence["source"]))
            assert np.allclose(attention.sum(axis=1), 1, atol=5e-3)  # rounded to three decimals


def test_the_keyboard_writes_a_sentence(chapter):
    written = ["il", "tuo", "gatto", "è", "un", "gatto", "adorabile", "<eos>"]
    button = chapter.get_by_role("button", name="Write the next word")
    button.focus()
    for word in written[:-1]:
        assert likeliest(chapter) == word
        chapter.keyboard.press("Enter")
    assert likeliest(chapter) == "<eos>"
    assert "ends here" in chapter.locator(".decoding .explorer-verdict").inner_text()
    assert button.is_disabled()
    chapter.keyboard.press("Enter")  # the focus has moved on to the other button
    assert likeliest(chapter) == "adorabile"
    assert chapter.locator(".decoding-written").inner_text().split() == ["<bos>", *written[:-1]]
    assert chapter.errors_seen == []


def test_the_slider_and_the_list_of_sentences(chapter):
    slider = chapter.get_by_role("slider", name="Step")
    slider.focus()
    slider.press("End")
    assert likeliest(chapter) == "<eos>"
    assert slider.get_attribute("aria-valuetext") == "step 8 of 8"
    chapter.get_by_role("combobox", name="Sentence").select_option(label="a lovely fox runs")
    assert likeliest(chapter) == "una"
    assert chapter.locator(".decoding-looks tbody th").all_inner_texts() == [
        "a",
        "lovely",
        "fox",
        "runs",
    ]
    slider.press("ArrowRight")
    assert likeliest(chapter) == "volpe"
    spoken = chapter.locator(".decoding [aria-live]")
    spoken.get_by_text("comes “volpe”").wait_for(state="attached")
    means = [
        float(row.locator("td").last.inner_text())
        for row in chapter.locator(".decoding-looks tbody tr").all()
    ]
    assert int(np.argmax(means)) == 2  # volpe looks at fox
