"""The explorer of the translator's heads: with some of them off it writes what PyTorch writes with
their outputs at 0, it says where heads looked, and it is used with the keyboard.
"""

import json
import re
from collections import Counter

import numpy as np
import pytest
import torch

from book import explorers
from book.experiments import measurements
from book.sphinx_ext.assets import NEEDS_MODEL, SAYS_SO
from solutions.translator import corpus
from solutions.translator.decoding import translate_ids
from solutions.translator.measure.attention_map import cross_attention
from solutions.translator.settings import PRESETS
from tests.browser.translating import MODEL, SHEET, serve_model, wait_for_the_end

pytestmark = pytest.mark.xdist_group("first page")  # which trains the same model

KINDS = {
    "cross": "Decoder, cross-attention",
    "self": "Decoder, self-attention",
    "encoder": "Encoder",
}
PAGE = """<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>Heads</title>
<link rel="stylesheet" href="../_static/palette.css">
<link rel="stylesheet" href="../_static/explorers.css">
<script defer src="../_static/kit.js"></script><script defer src="../_static/explorers.js"></script>
</head><body>{}</body></html>"""


@pytest.fixture(scope="module")
def sentences(small_translator):
    """A few sentences of which the translator makes several words each."""
    found = [english for english, _ in corpus.splits()["random"][:40]]
    written = small_translator.translate(found)
    return [
        english for english, italian in zip(found, written, strict=True) if len(italian.split()) > 3
    ][:3]


@pytest.fixture
def heads(page, built_book, model_files, sentences):
    """A page that shows nothing but the explorer."""
    shape = ("num_heads", "num_encoder_layers", "num_decoder_layers")
    shown = explorers.show(
        "ablation",
        "Heads to switch off.",
        first=measurements.load("first_translations")["runs"][0],
        shape={name: PRESETS["small"][name] for name in shape},
        examples=sentences,
    )
    place = built_book + "book/ablation.html"
    page.route(
        place, lambda route: route.fulfill(body=PAGE.format(shown.data), content_type="text/html")
    )
    serve_model(page, model_files)
    page.goto(place)
    page.locator(".ablation-board").wait_for()
    return page


def without(run, source, *off):
    """Return the ids that the reference writes when some heads bring 0 to `w_o`.

    Args:
        off: (kind, layer, head) of each.
    """
    model = run.plain_model()
    layers = {
        "encoder": [layer.self_attention for layer in model.encoder],
        "self": [layer.self_attention for layer in model.decoder],
        "cross": [layer.cross_attention for layer in model.decoder],
    }
    for kind, layer, head in off:
        attention = layers[kind][layer]
        width = run.shape.d_model // attention.num_heads
        features = torch.arange(run.shape.d_model) // width

        def silence(module, arguments, barred=features == head):
            return arguments[0].masked_fill(barred, 0)

        attention.w_o.register_forward_pre_hook(silence)
    return translate_ids(model, [source])[0]


def every_head(run):
    layers = {"encoder": run.shape.num_encoder_layers}
    layers |= dict.fromkeys(("self", "cross"), run.shape.num_decoder_layers)
    return [
        (kind, layer, head)
        for kind in KINDS
        for layer in range(layers[kind])
        for head in range(run.shape.num_heads)
    ]


def box(page, kind, layer, head):
    return page.get_by_role("checkbox", name=f"{KINDS[kind]}, layer {layer + 1}, head {head + 1}")


def said(page):
    return page.locator(".ablation .explorer-verdict").inner_text()


def written(page, which):
    return page.locator(".ablation-sentence").nth(which).inner_text()


def choose_example(page, sentence):
    with wait_for_the_end(page, "ablation"):
        page.get_by_role("button", name=sentence, exact=True).click()


def test_each_head_alone_and_pairs_write_what_the_reference_writes(
    heads, small_translator, sentences
):
    sources = small_translator.source.encode(sentences)
    every = every_head(small_translator)
    asked = [[head] for head in every] + [[every[i], every[-1 - i]] for i in range(6)]
    found = heads.evaluate(
        """async ([sources, asked]) => {
            const { load, translate, gatesOf } = globalThis.translating;
            const model = await load();
            const found = [];
            for (const off of asked) for (const source of sources) {
                const gates = gatesOf(model.words.shape);
                for (const [kind, layer, head] of off) gates[kind][layer][head] = 0;
                const steps = await translate(model, source, { gates });
                found.push(steps.map((step) => step.id).filter((id) => id !== 2));
            }
            return found;
        }""",
        [sources, asked],
    )
    expected = [without(small_translator, source, *off) for off in asked for source in sources]
    assert found == expected
    whole = [without(small_translator, source) for source in sources] * len(asked)
    assert sum(one != other for one, other in zip(expected, whole, strict=True)) > 5


def test_a_head_is_switched_off_and_on_with_the_keyboard(heads, small_translator, sentences):
    (source,) = small_translator.source.encode(sentences[:1])
    choose_example(heads, sentences[0])
    target = small_translator.target
    assert written(heads, 0) == target.decode(without(small_translator, source))
    assert "All 24 heads are on." in said(heads)
    seen = set()
    for off in (("cross", 0, 1), ("encoder", 1, 0), ("self", 0, 2), ("cross", 1, 3)):
        with wait_for_the_end(heads, "ablation"):
            box(heads, *off).press("Space")
        expected = target.decode(without(small_translator, source, off))
        assert written(heads, 1) == expected
        assert "1 of 24 heads is off." in said(heads)
        same = expected == written(heads, 0)
        assert ("The sentence stays as it is." in said(heads)) == same
        assert (
            heads.locator(".ablation-switched .explorer-wrong").count() > 0
            or same
            or ("missing" in said(heads))
        )
        seen.add(same)
        with wait_for_the_end(heads, "ablation"):
            box(heads, *off).press("Space")
        assert written(heads, 1) == written(heads, 0)
    assert False in seen
    assert heads.errors_seen == []


def test_all_heads_are_put_on_again_and_the_keyboard_stays(heads, sentences):
    choose_example(heads, sentences[0])
    for off in (("cross", 0, 0), ("cross", 1, 1)):
        with wait_for_the_end(heads, "ablation"):
            box(heads, *off).press("Space")
        assert heads.evaluate("document.activeElement.type") == "checkbox"
    assert "2 of 24 heads are off." in said(heads)
    heads.get_by_role("button", name="All heads on").click()
    assert "All 24 heads are on." in said(heads)
    assert heads.locator(".ablation-board input:not(:checked)").count() == 0
    assert written(heads, 1) == written(heads, 0)


def test_each_head_alone_is_tried_and_those_that_change_the_sentence_are_listed(
    heads, small_translator, sentences
):
    (source,) = small_translator.source.encode(sentences[1:2])
    choose_example(heads, sentences[1])
    with wait_for_the_end(heads, "ablation"):
        heads.get_by_role("button", name="Try each head alone").click()
    whole = without(small_translator, source)
    expected = [
        (f"{KINDS[kind].lower()}, layer {layer + 1}, head {head + 1}", ids)
        for kind, layer, head in every_head(small_translator)
        if (ids := without(small_translator, source, (kind, layer, head))) != whole
    ]
    listed = heads.locator(".ablation-results button")
    assert listed.all_inner_texts() == [name for name, _ in expected]
    assert heads.locator(".ablation-results span").all_inner_texts() == [
        small_translator.target.decode(ids) for _, ids in expected
    ]
    status = heads.locator(".translator-status").inner_text()
    assert f"Of 24 heads, each switched off alone, {len(expected)} change" in status
    listed.first.focus()
    heads.keyboard.press("Enter")
    assert written(heads, 1) == small_translator.target.decode(expected[0][1])
    assert heads.locator(".ablation-board input:not(:checked)").count() == 1


def test_it_says_where_the_heads_looked(heads, small_translator, sentences):
    first = json.loads(heads.locator(".explorer").get_attribute("data-state"))["first"]
    assert looks(heads) == hardest(
        first["weights"][0], first["source"]
    )  # before the model is there
    (source,) = small_translator.source.encode(sentences[:1])
    choose_example(heads, sentences[0])
    ids = without(small_translator, source)
    weights = cross_attention(small_translator.plain_model(), source, ids)
    words = small_translator.source.tokens(sentences[0])
    heads.locator(".ablation .explorer-chip input").first.press("ArrowRight")
    step = weights[:, :, 1]  # of the second word
    assert looks(heads) == hardest(step, words)
    counts = Counter(word for word, _ in hardest(step, words))
    (told,) = re.findall(r"the 8 heads of the cross-attention looked hardest: (.+)\.", said(heads))
    pairs = [(int(count), word) for count, word in re.findall(r"(\d) at “(\S+)”", told)]
    assert pairs == sorted(pairs, key=lambda pair: -pair[0])
    assert Counter(word for count, word in pairs for _ in range(count)) == counts


def looks(page):
    shown = page.locator(".ablation-cross small").all_inner_texts()
    return [text.split() for text in shown]


def hardest(weights, words):
    return [[words[int(np.argmax(row))], f"{max(row):.2f}"] for layer in weights for row in layer]


def test_words_that_are_new_are_found_in_their_order(heads):
    def changed(before, after):
        return heads.evaluate(
            "([before, after]) => globalThis.explorers.ablation.changed(before, after)",
            [before.split(), after.split()],
        )

    assert changed("il gatto dorme", "il gatto dorme") == [False] * 3
    assert changed("il gatto dorme", "la gatto dorme") == [True, False, False]
    assert changed("il gatto dorme", "il gatto nero dorme") == [False, False, True, False]
    assert changed("il gatto nero dorme", "il gatto dorme") == [False] * 3
    assert changed("il gatto dorme", "gatto il dorme").count(True) == 1
    assert changed("il gatto", "il il gatto gatto").count(True) == 2
    assert changed("", "il gatto") == [True, True]


@pytest.fixture
def without_the_model(page, built_book):
    """The chapter's explorer, in a book that was built without the translator."""
    sheet = f"{NEEDS_MODEL} {{ display: none; }} {SAYS_SO} {{ display: block; }}"
    page.route(SHEET, lambda route: route.fulfill(body=sheet, content_type="text/css"))
    page.route(MODEL, lambda route: route.fulfill(status=404))
    page.goto(built_book + "book/ch12_interpretation.html")
    page.locator(".ablation-board").wait_for()
    return page


def difference(page):
    return page.locator(".ablation-difference").inner_text()


def test_without_the_model_a_book_says_so_and_shows_what_was_recorded(without_the_model):
    page = without_the_model
    assert "built without the trained translator" in page.locator(".ablation").inner_text()
    assert not page.locator(".ablation .translator-form").is_visible()
    assert not page.locator(".ablation .translator-examples").is_visible()
    state = json.loads(page.locator("[data-explorer=ablation]").get_attribute("data-state"))
    leads = {off: (sentence, first) for off, sentence, first, *_ in state["without"]}
    minus = lambda number: f"{round(number, 1) + 0:.1f}".replace("-", "\N{MINUS SIGN}")  # noqa: E731
    assert difference(page) == f"logit of la minus il: {minus(leads[0][1])}"
    for i, off in enumerate((("cross", 1, 1), ("cross", 0, 1))):
        with wait_for_the_end(page, "ablation"):
            box(page, *off).press("Space")
        (mask, lead) = [(32, leads[32][1]), (34, leads[34][1])][i]
        assert written(page, 1) == " ".join(state["sentences"][leads[mask][0]][:-1])
        assert f"il: {minus(lead)} (with all heads {minus(leads[0][1])})" in difference(page)
    with wait_for_the_end(page, "ablation"):
        box(page, "encoder", 0, 0).press("Space")  # of which with the others there is no record
    status = page.locator(".ablation .translator-status").inner_text()
    assert "built without the model" in status and "one other head" in status
    assert written(page, 1) == "" and difference(page) == "Not yet known for these heads."
    with wait_for_the_end(page, "ablation"):
        page.get_by_role("button", name="All heads on").click()
        page.get_by_role("button", name="Try each head alone").click()
    alone = page.locator(".ablation-alone").all_inner_texts()
    gained = [leads[1 << head][1] - leads[0][1] for head in range(24)]
    signs = ["+" if round(change, 1) > 0 else "" for change in gained]
    said = [f"alone off: {s}{minus(change)}" for s, change in zip(signs, gained, strict=True)]
    assert alone == said
    assert max(gained) > 4 and min(gained) < 0
    assert "Of 24 heads" in page.locator(".ablation .translator-status").inner_text()
    assert all("404" in error for error in page.errors_seen)


def test_the_difference_is_that_of_the_reference(heads, small_translator, sentences):
    (source,) = small_translator.source.encode(sentences[:1])
    choose_example(heads, sentences[0])
    model, target = small_translator.plain_model(), small_translator.target
    src, start = torch.tensor([source]), torch.tensor([[1]])
    heads.locator(".ablation .explorer-chip input").first.check()
    rival, word, shown = re.fullmatch(
        r"logit of (\S+) minus (\S+): (\S+)", difference(heads)
    ).groups()
    with torch.no_grad():
        logits = model(src, start)[0, 0]
    (first,) = target.encode([word])
    (other,) = target.encode([rival])
    assert float(shown.replace("\N{MINUS SIGN}", "-")) == pytest.approx(
        float(logits[other[0]] - logits[first[0]]), abs=0.06
    )


def test_where_the_model_is_missing_the_first_sentence_stays(heads):
    heads.unroute(MODEL)
    heads.route(MODEL, lambda route: route.fulfill(status=404))
    before = written(heads, 0)
    with wait_for_the_end(heads, "ablation"):
        box(heads, "cross", 0, 0).press("Space")
    assert "without the model. Shown is still" in heads.locator(".translator-status").inner_text()
    assert written(heads, 0) == before
    assert written(heads, 1) == ""
