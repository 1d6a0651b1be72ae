"""The translator of the first page: the words of PyTorch, and a sentence where something is
missing.
"""

import json
import re

import pytest
import torch
from playwright.sync_api import expect

from book.sphinx_ext.assets import NEEDS_MODEL
from solutions.translator import corpus
from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS
from solutions.translator.decoding import translate_ids
from tests.browser.translating import (
    MODEL,
    SHEET,
    ask_for_a_sentence,
    serve_model,
    wait_for_the_end,
)

pytestmark = pytest.mark.xdist_group("first page")  # one model is trained for all of its tests

EXPLORER = ".explorer[data-explorer=translator]"
PROMISED = "il tuo gatto è un gatto adorabile"


@pytest.fixture(scope="module")
def run(small_translator):
    return small_translator


@pytest.fixture
def first_page(page, built_book, model_files):
    serve_model(page, model_files)
    page.goto(built_book + "book/index.html")
    page.locator(".translator-written button").first.wait_for()
    return page


def type_and_wait(page, sentence):
    with wait_for_the_end(page, "translator"):
        page.get_by_label("English", exact=True).fill(sentence)
        page.keyboard.press("Enter")


def test_a_hundred_sentences_come_out_as_in_pytorch(first_page, run):
    sentences = [english for english, _ in corpus.splits()["random"][:100]]
    found = first_page.evaluate(
        """async (sentences) => {
            const { load, asKnown, wordsOf, idsOf, translate, joined } = globalThis.translating;
            const model = await load();
            const found = [];
            for (const sentence of sentences) {
                const ids = idsOf(wordsOf(asKnown(sentence, model.ids)), model);
                const steps = await translate(model, ids);
                const whole = await translate(model, ids, { cached: false });
                const written = steps.map((step) => step.id).filter((id) => id !== 2);
                found.push({ ids, written, text: joined(written.map((id) => model.words.target[id])),
                    same: whole.every((step, i) => step.id === steps[i].id),
                    cached: steps.map((step) => step.positions),
                    uncached: whole.map((step) => step.positions) });
            }
            return found;
        }""",
        sentences,
    )
    sources = run.source.encode([run.as_known(sentence) for sentence in sentences])
    expected = [translate_ids(run.model, [ids])[0] for ids in sources]
    assert [each["ids"] for each in found] == sources
    assert [each["written"] for each in found] == expected
    assert [each["text"] for each in found] == [run.target.decode(ids) for ids in expected]
    for each in found:  # without the cache they are the same words, for n(n + 1) / 2 positions
        words = len(each["uncached"])
        assert each["same"] and each["uncached"] == [*range(1, words + 1)]
        assert each["cached"] == [1] * words


def test_the_first_sentence_is_there_before_the_model(first_page, model_files):
    asked = []
    first_page.on("request", lambda request: asked.append(request.url))
    shown = json.loads(first_page.locator(EXPLORER).get_attribute("data-state"))["translations"][0]
    assert first_page.locator(".translator-sentence").inner_text() == PROMISED
    word = first_page.get_by_role("button", name="adorabile", exact=True)
    word.focus()
    first_page.keyboard.press("Enter")
    assert word.get_attribute("aria-pressed") == "true"
    last = shown["weights"][shown["written"].index("adorabile")][-1]  # heads, source words
    weights = [
        sum(head[place] for head in last) / len(last) for place in range(len(shown["source"]))
    ]
    numbers = first_page.locator(".translator-word small").all_inner_texts()
    assert [float(number) for number in numbers] == pytest.approx(weights, abs=0.006)
    first_page.locator("summary", has_text="One head at a time").click()
    explorer = first_page.locator(EXPLORER)
    assert "(mean of the last layer’s 4 heads)" in explorer.inner_text()
    first_page.get_by_role("combobox", name="Head").select_option("0.1")
    assert "(head 2 of layer 1)" in explorer.inner_text()
    numbers = first_page.locator(".translator-word small").all_inner_texts()
    head = shown["weights"][shown["written"].index("adorabile")][0][1]
    assert [float(number) for number in numbers] == pytest.approx(head, abs=0.006)
    first_page.locator(
        "summary", has_text="One head at a time"
    ).click()  # whoever closes it gives the head up
    expect(explorer).to_contain_text("(mean of the last layer’s 4 heads)")
    # a browser asks for a page's icon when it likes
    assert [url for url in asked if not url.endswith("/favicon.svg")] == []


def test_examples_are_there_before_the_model_and_say_how_sure_it_was(first_page):
    asked = []
    first_page.on("request", lambda request: asked.append(request.url))
    state = json.loads(first_page.locator(EXPLORER).get_attribute("data-state"))
    given = next(each for each in state["translations"] if "cousin" in each["source"])
    with wait_for_the_end(first_page, "translator"):
        first_page.get_by_role("button", name="my cousin reads the book").click()
    assert [url for url in asked if "model" in url] == []
    status = first_page.locator(".translator-status").inner_text()
    assert status.startswith("Not in its vocabulary: cousin.")
    place = given["written"].index("yogurt")  # which the example shows first
    word = first_page.locator(".translator-written button").nth(place)
    assert word.get_attribute("aria-pressed") == "true"
    rows = first_page.locator(".translator-likely li").all_inner_texts()
    assert [row.split()[0] for row in rows] == [word for word, _ in given["likely"][place]]
    assert rows[0].split()[1:] == [f"{100 * given['likely'][place][0][1]:.1f}", "%"]
    assert first_page.errors_seen == []


def test_what_was_likely_is_what_pytorch_says(first_page, run):
    sentence = "the red cat sleeps"
    type_and_wait(first_page, sentence)
    first_page.locator(".translator-written button").first.click()
    rows = [
        row.rsplit(None, 2) for row in first_page.locator(".translator-likely li").all_inner_texts()
    ]
    [source] = run.source.encode([sentence])
    with torch.no_grad():
        logits = run.model(padded([source]), padded([[BOS]]))[0, -1]
    shares, ids = logits.softmax(dim=-1).topk(5)
    expected = [
        (run.target.token(int(number)), 100 * float(share))
        for number, share in zip(ids, shares, strict=True)
        if share >= 0.0005
    ]
    assert [word for word, *_ in rows] == [word for word, _ in expected]
    for (_, number, _), (_, share) in zip(rows, expected, strict=True):
        assert float(number.strip("<> ")) == pytest.approx(share, abs=0.11)


def test_the_page_names_the_head_that_goes_through_the_sentence_most(first_page):
    weights = [
        [[[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]], [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]] for _ in range(3)
    ]
    # [step][layer][head][source word]
    weights[1][1][0], weights[2][0][1] = (
        [0.2, 0.6, 0.2],
        [0.1, 0.2, 0.7],
    )
    found = first_page.evaluate(
        "weights => globalThis.explorers.translator.busiest(weights)", weights
    )
    # As many words as layer 0, head 1; harder.
    assert (found["layer"], found["head"], found["words"]) == (
        1,
        0,
        2,
    )
    first_page.locator("summary", has_text="One head at a time").click()
    assert "Choose layer" in first_page.locator(EXPLORER).inner_text()


def test_of_two_equal_words_the_page_says_which_and_a_screen_reader_hears_it(first_page):
    cats = first_page.locator(".translator-written button", has_text="gatto")
    spoken = first_page.locator(f"{EXPLORER} .explorer-spoken")
    for cat, nth in ((cats.nth(1), "second"), (cats.nth(0), "first")):
        cat.click()
        said = f"when it wrote the {nth} “gatto”"
        assert said in first_page.locator(EXPLORER).inner_text()
        expect(spoken).to_have_text(
            re.compile(rf"It looked at the {nth} “cat” [01]\.[09].* {said}\.")
        )
    assert spoken.get_attribute("aria-live") == "polite"


def test_nothing_asks_for_a_sentence_in_a_book_without_the_model(page, built_book):
    sheet = f"{NEEDS_MODEL} {{ display: none; }}"
    page.route(SHEET, lambda route: route.fulfill(body=sheet, content_type="text/css"))
    page.goto(built_book + "book/index.html")
    page.locator(".translator-written button").first.wait_for()
    assert not page.get_by_label("English", exact=True).is_visible()
    assert "type a sentence" not in page.locator("article").inner_text().lower()
    with wait_for_the_end(page, "translator"):
        page.get_by_role("button", name="your chair is a lovely chair").click()
    assert page.locator(".translator-sentence").inner_text() == "la tua sedia è una sedia adorabile"
    ask_for_a_sentence(page)
    page.reload()
    assert page.get_by_label("English", exact=True).is_visible()
    assert "type a sentence" in page.locator("article").inner_text().lower()


def test_without_a_network_the_page_says_so(page, built_book):
    ask_for_a_sentence(page)
    page.route(MODEL, lambda route: route.abort())
    page.goto(built_book + "book/index.html")
    type_and_wait(page, "the cat")
    status = page.locator(".translator-status").inner_text()
    assert "are you offline?" in status and "Failed to fetch" not in status


def test_a_typed_sentence_is_translated_and_unknown_words_are_named(first_page, run):
    type_and_wait(first_page, "The red cat sleeps.")
    expected = run.translate(["The red cat sleeps."])[0]
    assert first_page.locator(".translator-sentence").inner_text() == expected
    assert first_page.locator(".translator-status").inner_text() == ""
    assert "another training" in first_page.locator(".translator-origin").inner_text()
    type_and_wait(first_page, "the zyzzyva sleeps")
    assert "Not in its vocabulary" in first_page.locator(".translator-status").inner_text()
    assert "zyzzyva" in first_page.locator(".translator-status").inner_text()
    type_and_wait(first_page, "dog")
    assert "so this is a guess" in first_page.locator(".translator-status").inner_text()
    type_and_wait(first_page, "   ")
    assert first_page.locator(".translator-status").inner_text() == "Type an English sentence."
    assert first_page.errors_seen == []
    assert [url for url in first_page.requests_abroad if not url.startswith("data:")] == []


def test_what_people_type_is_read_as_in_python(first_page, run):
    typed = [
        "I don't eat the apple.",
        "It's cold, isn't it?",
        "You can’t sleep",
        "we won't go, they're tired!",
        "THE CAT",
    ]
    typed += ["Where's my dog?", "my brother's dog sleeps", "I'm here", "wait, what", ",", "n't"]
    found = first_page.evaluate(
        """async (sentences) => {
            const { load, asKnown } = globalThis.translating;
            const { ids } = await load();
            return sentences.map((sentence) => asKnown(sentence, ids));
        }""",
        typed,
    )
    assert found == [run.as_known(sentence) for sentence in typed]
    assert found[0] == "i do not eat the apple"


def test_a_new_sentence_takes_over_while_one_is_being_written(first_page, run):
    first_page.get_by_label("English", exact=True).fill("the old women do not read the new book")
    first_page.keyboard.press("Enter")
    first_page.locator(".translator-written button").nth(1).wait_for()
    type_and_wait(first_page, "the red cat sleeps")
    assert (
        first_page.locator(".translator-sentence").inner_text()
        == run.translate(["the red cat sleeps"])[0]
    )


def test_a_word_that_says_something_is_chosen_unless_the_reader_chose_another(first_page, run):
    chosen = first_page.locator(".translator-written [aria-pressed=true]")
    assert chosen.inner_text() == "è"  # the page asks for the cats and for adorabile
    assert "wrote “è”: its attention weights" in first_page.locator(EXPLORER).inner_text()
    assert "recorded training" in first_page.locator(".translator-origin").inner_text()
    type_and_wait(first_page, "the red cat sleeps")
    written = run.translate(["the red cat sleeps"])[0].split()
    assert chosen.inner_text() == written[-1]
    with wait_for_the_end(first_page, "translator"):
        first_page.get_by_label("English", exact=True).fill(
            "the old women do not read the new book"
        )
        first_page.keyboard.press("Enter")
        first_page.locator(".translator-written button").nth(1).wait_for()
        first_page.locator(".translator-written button").first.click()
    assert (
        first_page.locator(".translator-written button").first.get_attribute("aria-pressed")
        == "true"
    )


def test_words_of_which_none_is_known_are_not_translated(first_page):
    type_and_wait(first_page, "zyzzyva qwerty")
    assert (
        "nothing that it could translate" in first_page.locator(".translator-status").inner_text()
    )
    assert first_page.locator(".translator-sentence").inner_text() == ""
    assert first_page.locator(".translator-written button").count() == 0


def test_where_the_model_is_missing_the_page_says_so_and_goes_on(page, built_book):
    ask_for_a_sentence(page)
    page.route(MODEL, lambda route: route.fulfill(status=404))
    page.goto(built_book + "book/index.html")
    type_and_wait(page, "the cat")
    assert "without the model" in page.locator(".translator-status").inner_text()
    assert page.locator(".translator-sentence").inner_text() == PROMISED


def test_where_webassembly_is_off_the_page_says_so(own_page, built_book):
    own_page.add_init_script("delete globalThis.WebAssembly")
    ask_for_a_sentence(own_page)
    own_page.goto(built_book + "book/index.html")
    type_and_wait(own_page, "the cat")
    assert "no WebAssembly" in own_page.locator(".translator-status").inner_text()
    assert own_page.errors_seen == []


def test_an_exchange_of_vectors_says_what_the_decoder_writes_then(first_page):
    exchange = first_page.locator(".explorer[data-explorer=exchange]")
    state = json.loads(exchange.get_attribute("data-state"))
    words, percents = exchange.locator(".exchange-word > span"), exchange.locator("small")
    assert words.all_inner_texts() == PROMISED.split()
    exchange.locator(".exchange-column").first.get_by_role("radio").first.focus()
    first_page.keyboard.press("ArrowDown")  # the vector of “your”
    assert words.all_inner_texts() == ["la", "tua", "gatto", "è", "un", "gatto", "adorabile"]
    assert percents.first.inner_text() == f"{state['outcomes'][1]['percents'][0]:.1f} %"
    assert exchange.locator(".exchange-word.exchange-second").count() == 2
    assert exchange.locator(".exchange-word.exchange-first").count() == 3
    expect(exchange.locator(".explorer-spoken")).to_have_text(
        "“your” of the chair’s sentence: the decoder writes “la tua gatto è un gatto adorabile”."
    )
    exchange.get_by_role("button", name="all of the chair’s").click()
    assert words.all_inner_texts() == ["la", "tua", "sedia", "è", "una", "sedia", "adorabile"]
    exchange.locator(".exchange-column").nth(1).locator("label").first.click()
    assert words.all_inner_texts() == state["outcomes"][0b111101]["words"]
    exchange.get_by_role("button", name="all of the cat’s").click()
    exchange.locator(".exchange-column").nth(1).locator("label").last.click()
    assert words.all_inner_texts() == state["outcomes"][0b10]["words"]
    verdict = exchange.locator(".explorer-verdict").inner_text()
    assert verdict.startswith("The first “chair” of the chair’s sentence: the decoder writes")
    assert first_page.errors_seen == []
