"""The explorer of decoding: it runs the decoder as the reference does, it goes on from whatever word
a reader writes, it hides words of the source, and keys move it.
"""

import json

import numpy as np
import pytest
import torch

from book.experiments.little.toy_translation import KEPT_BACK, cross_attention, packed_decoder
from solutions.ch04_attention import softmax
from solutions.ch08_encoder_decoder import Transformer

WRITE = """([state, inputs]) => globalThis.explorers.decoding.outcome(
    { get: (key) => state[key] }, inputs).chosen"""
DECODE = """([packed, ids, hidden]) =>
    globalThis.explorers.decoding.decode(packed, 0, ids, hidden)"""


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch08_encoder_decoder.html")
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


@pytest.mark.parametrize("hidden", [[], [1], [0, 2]])
def test_the_decoder_is_that_of_the_reference(chapter, hidden):
    torch.manual_seed(0)
    model = Transformer(9, 11, 8, 2, 1, 1, 16).eval()
    for parameter in model.decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    src, ids = torch.tensor([[4, 8, 6]]), torch.tensor([[1, 4, 10, 10, 5]])
    found = chapter.evaluate(DECODE, [packed_decoder(model, [src]), ids[0].tolist(), hidden])
    seen = src.clone()
    seen[:, hidden] = 0  # what the decoder takes for padding
    with torch.no_grad():
        memory = model.encode(src)
        logits = model.generator(model.decode(ids, memory, seen))[0]
    # the page has its numbers in 16 bits
    assert np.allclose(found["logits"], logits, atol=1e-2)
    weights = np.array(found["weights"])
    assert np.allclose(weights.sum(axis=-1), 1) and (weights[..., hidden] == 0).all()
    if not hidden:
        assert np.allclose(weights, cross_attention(model, src, ids)[0, 0], atol=1e-2)


def test_the_model_of_the_page_writes_the_right_translations(chapter):
    state = state_of(chapter)
    vocabulary = state["vocabulary"]
    for place, (english, italian) in enumerate(KEPT_BACK.items()):
        chosen = chapter.evaluate(WRITE, [state, {"sentence": place}])
        assert [vocabulary[index] for index in chosen] == [*italian.split(), "<eos>"]
        assert state["sentences"][place]["source"] == english.split()


@pytest.mark.parametrize("decoder", [0, 1])
def test_the_model_goes_on_from_the_word_that_a_reader_writes(chapter, decoder):
    state = state_of(chapter)
    vocabulary = state["vocabulary"]
    chapter.get_by_role("combobox", name="Model").select_option(index=decoder)
    chapter.get_by_role("button", name="Write the next word").click()
    other = chapter.locator(".decoding-word").nth(1)
    written = [*chapter.locator(".decoding-written").inner_text().split()[1:-1], other.inner_text()]
    other.focus()
    chapter.keyboard.press("Enter")
    begun = [vocabulary.index(word) for word in written]
    chosen = chapter.evaluate(WRITE, [state, {"sentence": 0, "decoder": decoder, "begun": begun}])
    words = [vocabulary[index] for index in chosen]
    assert words[:2] == written and chapter.locator(".decoding-own").inner_text() == written[1]
    assert chapter.locator(".decoding-written").inner_text().split() == ["<bos>", *words[:3]]
    chapter.locator(".decoding").get_by_role("button", name="Back").click()
    said = chapter.locator(".decoding .explorer-verdict").inner_text()
    assert "The likeliest was" in said
    chapter.locator(".decoding-word").first.click()  # back to what the model would write
    assert chapter.locator(".decoding-own").count() == 0
    assert chapter.errors_seen == []


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


def test_a_hidden_word_of_the_source_changes_what_is_written(chapter):
    state, looks = state_of(chapter), chapter.locator(".decoding-looks")
    vocabulary = state["vocabulary"]
    chapter.get_by_role("combobox", name="Sentence").select_option(label="a lovely fox runs")
    fox = looks.get_by_role("button", name="fox")
    fox.focus()
    chapter.keyboard.press("Enter")
    assert fox.get_attribute("aria-pressed") == "true"
    assert fox.evaluate("button => button === document.activeElement")
    said = chapter.locator(".decoding .explorer-verdict").inner_text()
    assert said.startswith("Hidden: “fox”. After")
    last = looks.locator("tbody tr", has_text="fox").locator("td").last
    assert last.inner_text() == "0.00"
    hidden = {"sentence": 4, "hidden": [2]}
    words = [vocabulary[index] for index in chapter.evaluate(WRITE, [state, hidden])]
    assert "volpe" not in words
    chapter.get_by_role("slider", name="Step").press("End")
    assert chapter.locator(".decoding-written").inner_text().split() == ["<bos>", *words]
    for word in ("lovely", "runs"):
        looks.get_by_role("button", name=word).click()
    assert looks.get_by_role("button", name="a", exact=True).is_disabled()  # one stays in sight
    chapter.get_by_role("combobox", name="Sentence").select_option(index=0)
    assert looks.locator("[aria-pressed=true]").count() == 0
    assert chapter.errors_seen == []
