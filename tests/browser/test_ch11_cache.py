"""The explorer of the translator's cache: both ways write what PyTorch writes, and the work that it
counts is what the graphs were given and what the course's own functions count.
"""

import json

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from solutions.ch08_encoder_decoder import Transformer
from solutions.translator import corpus
from solutions.translator.export_onnx import Step
from tests.browser.translating import MODEL, serve_model, wait_for_the_end

pytestmark = pytest.mark.xdist_group("first page")  # which trains the same model

# Keeps how many rows the table had, one number after the other, while a sentence is written.
NOTE_ROWS = """() => {
    globalThis.seen = [];
    const body = document.querySelector(".cache-table tbody");
    new MutationObserver(() => seen.push(body.children.length)).observe(body, { childList: true });
}"""


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch11_efficiency.html")
    page.locator(".cache-table").wait_for()
    return page


def said(page):
    return page.locator(".cache .explorer-verdict").inner_text()


def rows(page, part="tbody"):
    return [
        row.locator("td").all_inner_texts() for row in page.locator(f".cache-table {part} tr").all()
    ]


def state_of(page):
    return json.loads(page.locator("[data-explorer=cache]").get_attribute("data-state"))


def counted(shape, src_len, new, length):
    """Return the multiplications in the decoder's layers, as PyTorch counts them."""
    layers, width = shape["num_decoder_layers"], shape["d_model"]
    model = Transformer(9, 9, width, 4, 1, layers, shape["d_ff"], norm_first=True).eval()
    before = torch.zeros(layers, 4, length - new, width // 4)
    memory, gates = torch.zeros(layers, 4, src_len, width // 4), torch.ones(layers, 4)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        Step(model)(torch.ones(1, new).long(), before, before, memory, memory, gates, gates)
    return (counter.get_total_flops() - 2 * 9 * width) // 2  # without the generator


def test_it_counts_the_multiplications_that_pytorch_counts(chapter):
    state = state_of(chapter)
    positions = [{"with": 1, "without": number} for number in range(1, 7)]
    found = chapter.evaluate(
        "given => globalThis.explorers.cache.compute(given)",
        {"shape": state["shape"], "source": 5, "positions": positions},
    )
    for number, row in enumerate(found, 1):
        for way, new in (("with", 1), ("without", number)):
            assert row[way]["multiplications"] == counted(state["shape"], 5, new, number)
    assert found[-1]["so_far"]["with"]["positions"] == 6
    assert found[-1]["so_far"]["without"]["positions"] == 6 * 7 // 2
    total = sum(row["without"]["multiplications"] for row in found)
    assert found[-1]["so_far"]["without"]["multiplications"] == total


def test_the_first_sentence_is_counted_before_the_model_is_there(chapter):
    words = len(state_of(chapter)["first"]["written"])
    assert [row[:2] for row in rows(chapter)] == [["1", "1"]]
    chapter.get_by_role("slider", name="Words written").press("End")
    assert [row[:2] for row in rows(chapter)] == [["1", str(n)] for n in range(1, words + 1)]
    assert rows(chapter, "tfoot")[0][:2] == [str(words), str(words * (words + 1) // 2)]


def test_it_is_gone_through_with_the_keyboard(chapter):
    slider = chapter.get_by_role("slider", name="Words written")
    slider.press("Home")
    assert "computes 1 position for “il”" in said(chapter)
    assert "Without it, 1 position would" in said(chapter)
    assert slider.get_attribute("aria-valuetext") == "1 word"
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert "computes 1 position for “gatto”" in said(chapter)
    assert "Without it, 3 positions would" in said(chapter)
    assert "3 positions, and without the cache it would have computed 6" in said(chapter)
    assert len(rows(chapter)) == 3
    slider.press("End")
    assert "for the end, which" in said(chapter)
    assert chapter.errors_seen == []


def test_a_typed_sentence_is_written_in_both_ways_and_counted_as_it_comes(
    page, built_book, model_files, small_translator
):
    sentences = [english for english, _ in corpus.splits()["random"][:30]]
    written = small_translator.translate(sentences)
    sentence, expected = max(zip(sentences, written, strict=True), key=lambda pair: len(pair[1]))
    serve_model(page, model_files)
    page.goto(built_book + "book/ch11_efficiency.html")
    box = page.locator("[data-explorer=cache]")
    status = box.locator(".translator-status")
    page.evaluate(NOTE_ROWS)
    with wait_for_the_end(page, "cache"):
        box.get_by_label("English", exact=True).fill(sentence)
        page.keyboard.press("Enter")
    assert box.locator(".cache-sentence").inner_text() == expected
    assert status.inner_text() == "Both ways wrote the same words."
    words = len(rows(page))
    assert words > 3
    assert page.evaluate("seen") == [*range(1, words + 1)]  # one after the other
    assert rows(page, "tfoot")[0][:2] == [str(words), str(words * (words + 1) // 2)]
    shape = {name: getattr(small_translator.shape, name) for name in state_of(page)["shape"]}
    for number, row in enumerate(rows(page), 1):
        assert row[:2] == ["1", str(number)]
        for text, new in zip(row[2:], (1, number), strict=True):
            exact = counted(shape, len(small_translator.source.encode([sentence])[0]), new, number)
            assert float(text) == pytest.approx(exact / 1e6, abs=0.00051)
    with wait_for_the_end(page, "cache"):
        box.get_by_label("English", exact=True).fill("zyzzyva")
        page.keyboard.press("Enter")
    assert "Not in its vocabulary" in status.inner_text()
    assert said(page) == "Nothing is written." and rows(page) == []
    assert page.errors_seen == []


def test_where_the_model_is_missing_the_first_sentence_stays(chapter):
    chapter.route(MODEL, lambda route: route.fulfill(status=404))
    box = chapter.locator("[data-explorer=cache]")
    with wait_for_the_end(chapter, "cache"):
        box.get_by_role("button", name="Translate").click()
    assert "without the model. Shown is still" in box.locator(".translator-status").inner_text()
    chapter.get_by_role("slider", name="Words written").press("End")
    assert len(rows(chapter)) == len(state_of(chapter)["first"]["written"])
