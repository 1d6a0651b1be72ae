"""Chapter 13's explorers: the probe shows what PyTorch measured and what the masks let through; the
tiny models in the page answer as PyTorch does, are sampled as `next_word_distribution` says, and can
be used with the keyboard.
"""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from book.experiments.family import dependencies, gap_model, in_the_page
from solutions.ch06_masking import decoder_mask, padding_mask
from solutions.ch13_family import next_word_distribution
from tests.browser.translating import wait_for_the_end

pytestmark = pytest.mark.xdist_group("family explorers")

PROMPTS = ["A", "Alice was beginning to ", "'Oh dear! ", "x" * 40 + " the Queen said, " * 9]
SENTENCES = [("the cat is tired", 1), ("why do the dogs follow him ?", 5), ("she sleeps", 0)]


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch13_family.html")
    page.locator(".gap-table tbody tr").first.wait_for()
    return page


def explorer(page, name):
    return page.locator(f".explorer[data-explorer={name}]")


def said(page, name):
    return explorer(page, name).locator(".explorer-verdict").inner_text()


def state(page, name):
    """Return what the page gave an explorer."""
    return json.loads(explorer(page, name).get_attribute("data-state"))


def is_seen(page, name):
    """Bring an explorer to where a reader has it."""
    explorer(page, name).scroll_into_view_if_needed()
    return explorer(page, name)


# --- the probe ---


def test_masks_and_what_they_let_through_are_pytorchs(chapter):
    probed = dependencies.probed()
    assert state(chapter, "family")["models"] == probed
    found = chapter.evaluate(
        """(models) => models.map((model) => {
            const { maskOf, reached } = globalThis.explorers.family;
            const mask = maskOf(model), skipped = model.outputs.length - model.inputs.length;
            return [mask, model.inputs.map((_, input) => reached(mask, input + skipped))];
        })""",
        probed,
    )
    for model, (mask, reached) in zip(probed, found, strict=True):
        ids = torch.arange(1, 1 + len(model["outputs"]))[None]
        words, sources = len(model["outputs"]), model["sources"]
        expected = padding_mask(ids).expand(1, 1, words, words).clone()
        if model["name"] == "GPT":
            expected = decoder_mask(ids)
        elif model["name"] == "T5":
            expected[..., :sources, sources:] = False  # the encoder does not look at the decoder
            expected[..., sources:, sources:] = decoder_mask(ids[:, sources:])
        assert mask == expected[0, 0].tolist()
        assert reached == (np.array(model["moved"]) > 0).tolist()


def test_only_what_a_gradient_reaches_moves():
    """The same by another way: which embeddings have a gradient of each output."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        for causal, name in ((False, "BERT"), (True, "GPT")):
            (probe,) = [each for each in dependencies.probed() if each["name"] == name]
            words = len(probe["inputs"])
            model = dependencies.LanguageModel(
                words + 1, words, **dependencies.SIZES, causal=causal
            ).double()
            gradients = []
            embedding = torch.nn.functional.embedding
            looked_up = embedding(torch.arange(1, 1 + words), model.token_embedding.weight.detach())
            x = looked_up.requires_grad_()
            model.token_embedding.register_forward_hook(lambda *_, x=x: x[None])
            logits = model(torch.arange(1, 1 + words)[None])[0]
            for row in logits:
                (gradient,) = torch.autograd.grad(row.square().sum(), x, retain_graph=True)
                gradients.append((gradient != 0).any(dim=-1).tolist())
            assert np.array(gradients).T.tolist() == (np.array(probe["moved"]) > 0).tolist()


@pytest.mark.parametrize("number", range(4), ids=["BERT", "GPT", "T5", "ViT"])
def test_the_reader_predicts_and_then_sees(chapter, number):
    box = is_seen(chapter, "family")
    model = dependencies.probed()[number]
    box.get_by_role("radio", name=model["name"], exact=True).check()
    for place in (0, len(model["inputs"]) - 1):
        box.locator(".family-inputs input").nth(place).check()
        rows = box.locator(".family-outputs tbody tr")
        assert rows.count() == len(model["outputs"])
        assert rows.locator("td:last-child").all_inner_texts() == [""] * rows.count()
        assert "Which outputs will move?" in said(chapter, "family")
        rows.nth(1).get_by_role("checkbox").press("Space")
        assert f"Marked so far: 1 of {rows.count()}" in said(chapter, "family")
        box.get_by_role("button", name="See what moves").press("Enter")
        far = model["moved"][place]
        for output, (row, size) in enumerate(zip(rows.all(), far, strict=True)):
            shown = row.locator("td").last.inner_text()
            right = (size > 0) == (output == 1)
            # hidden words are part of the text that is read
            assert shown.split()[-1] == (f"{size:.2f}" if size else "0")
            assert ("✓" if right else "✗") in shown
        moving = sum(size > 0 for size in far)
        verdict = said(chapter, "family")
        assert ("every output" if moving == len(far) else f"{moving} output") in verdict
        assert chapter.evaluate("document.activeElement.textContent") == "Predict again"
        chapter.keyboard.press("Enter")
        assert chapter.evaluate("document.activeElement.textContent") == "See what moves"
        assert rows.locator("input:checked").count() == 0
    assert chapter.errors_seen == []


def test_a_right_prediction_is_said_to_be_right(chapter):
    box = is_seen(chapter, "family")
    box.get_by_role("radio", name="GPT", exact=True).check()
    box.locator(".family-inputs input").nth(3).check()
    for place in (3, 4):
        box.locator(".family-outputs input").nth(place).check()
    box.get_by_role("button", name="See what moves").click()
    assert "That is what you expected." in said(chapter, "family")
    box.get_by_role("radio", name="T5", exact=True).check()
    words = box.locator(".family-outputs [lang=it]").all_inner_texts()
    assert words == [word for word in dependencies.TARGET if word != "<bos>"]


def test_who_has_marked_nothing_is_asked_once(chapter):
    box = is_seen(chapter, "family")
    box.get_by_role("radio", name="GPT", exact=True).check()
    see = box.get_by_role("button", name="See what moves")
    see.click()
    assert "At least one output will move." in said(chapter, "family")
    see.click()
    assert "You had marked none" in said(chapter, "family")


# --- sampling ---


def sampled(page, logits, **settings):
    return page.evaluate(
        "([logits, settings]) => globalThis.explorers.sampler.distribution(logits, settings)",
        [logits, settings],
    )


LOGITS = {
    "one after the other": [2.0, 1.0, 0.5, 0.0, -1.0, -3.0],
    "ties": [1.0, 2.0, 2.0, 0.0, 2.0, 1.0],
    "all equal": [0.0] * 8,
    "far apart": [900.0, 0.0, -900.0, 899.5],
    "at the crossing": np.log([0.5, 0.25, 0.125, 0.125]).tolist(),
}
SETTINGS = [
    {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    for temperature in (0, 0.1, 0.7, 1, 2)
    for top_k in (0, 1, 2, 3, 50)
    for top_p in (0.05, 0.5, 0.75, 0.9, 1)
]


@pytest.mark.parametrize("name", LOGITS)
def test_settings_do_what_the_reference_does(chapter, name):
    found = chapter.evaluate(
        """([logits, all]) => all.map((settings) =>
            globalThis.explorers.sampler.distribution(logits, settings))""",
        [LOGITS[name], SETTINGS],
    )
    logits = torch.tensor([LOGITS[name]], dtype=torch.float64)
    for settings, probabilities in zip(SETTINGS, found, strict=True):
        all_kept = {"top_k": 0, "top_p": 1}  # as the sliders say it
        changed = {
            key: None if all_kept.get(key) == each else each for key, each in settings.items()
        }
        expected = next_word_distribution(logits, **changed)[0].numpy()
        np.testing.assert_allclose(probabilities, expected, atol=1e-12, err_msg=str(settings))
        assert [each > 0 for each in probabilities] == (expected > 0).tolist(), settings


def test_the_one_that_crosses_is_kept_and_of_equals_the_first(chapter):
    shares = sampled(chapter, LOGITS["at the crossing"], top_p=0.6)
    assert np.flatnonzero(shares).tolist() == [0, 1]
    assert np.flatnonzero(sampled(chapter, LOGITS["ties"], top_k=2)).tolist() == [1, 2]
    assert sampled(chapter, LOGITS["ties"], temperature=0) == [0, 1, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def gpt():
    model, words, pad_id = in_the_page.model("gpt")

    @torch.no_grad()
    def score(text):
        ids = torch.tensor([[words.index(each) for each in text]])
        longest = model.position_embedding.num_embeddings
        return model(ids[:, -longest:], pad_id)[0].double()

    return SimpleNamespace(score=score, words=words)


def in_page_logits(page, name, ids):
    return page.evaluate(
        """async ([name, ids]) => {
            globalThis.tried ??= {};
            const load = (globalThis.tried[name] ??= globalThis.running.languageModel(name));
            const { score, longest } = await load();
            return score(ids.slice(-longest));
        }""",
        [name, ids],
    )


def test_the_gpt_in_the_page_scores_as_pytorch_does(chapter, gpt):
    for prompt in PROMPTS:
        found = in_page_logits(chapter, "gpt", [gpt.words.index(each) for each in prompt])
        expected = gpt.score(prompt)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        for settings in ({}, {"temperature": 0.7}, {"top_k": 5}, {"top_p": 0.8}):
            shares = sampled(chapter, found[-1], **settings)
            reference = next_word_distribution(expected[-1:], **settings)[0]
            np.testing.assert_allclose(shares, reference, atol=1e-4)


def test_the_first_distribution_comes_with_the_page(chapter, gpt):
    asked = []
    chapter.on("request", lambda request: asked.append(request.url))
    first = state(chapter, "sampler")["first"]
    np.testing.assert_allclose(first["logits"], gpt.score(first["prompt"])[-1], atol=1e-5)
    box = is_seen(chapter, "sampler")
    sliders = box.locator("input[type=range]")
    sliders.nth(0).fill("0.5")
    sliders.nth(1).fill("3")
    logits = torch.tensor([first["logits"]], dtype=torch.float64)
    before = logits.softmax(dim=-1)[0]
    after = next_word_distribution(logits, temperature=0.5, top_k=3)[0]
    order = before.argsort(descending=True, stable=True)[:10].tolist()
    rows = box.locator(".sampler-table tbody tr")
    cells = rows.locator("td:not(.explorer-track)").all_inner_texts()
    shown = [f"{100 * before[at]:.1f}%" for at in order]
    assert [text for text in cells[0:20:2] if text != "<0.1%"] == [
        text for text, at in zip(shown, order, strict=True) if before[at] >= 0.001
    ]
    assert cells[1:20:2] == [f"{100 * after[at]:.1f}%" for at in order[:3]] + ["dropped"] * 7
    assert cells[-1] == "dropped"
    assert "3 of 68 characters can still be drawn." in said(chapter, "sampler")
    assert asked == []


def expected_text(page, gpt, prompt, count, seed, **settings):
    """Write as the page says that it does, with PyTorch's numbers."""
    text = prompt
    for place in range(count):
        shares = next_word_distribution(gpt.score(text)[-1:], **settings)[0].numpy()
        number = page.evaluate(
            "([seed, place]) => globalThis.explorers.sampler.uniform(seed, place)", [seed, place]
        )
        text += gpt.words[int(np.searchsorted(shares.cumsum(), number, side="right"))]
    return text


def written(page):
    return explorer(page, "sampler").locator(".sampler-text").evaluate("text => text.textContent")


def write(page, button):
    with wait_for_the_end(page, "sampler"):
        explorer(page, "sampler").get_by_role("button", name=button).press("Enter")


def test_what_it_writes_is_drawn_from_that_distribution_and_a_seed_repeats_it(chapter, gpt):
    chapter.emulate_media(reduced_motion="reduce")
    box = is_seen(chapter, "sampler")
    prompt = state(chapter, "sampler")["first"]["prompt"]
    sliders = box.locator("input[type=range]")
    sliders.nth(0).fill("0.9")
    sliders.nth(2).fill("0.8")
    assert written(chapter) == prompt
    expected = expected_text(chapter, gpt, prompt, 81, 1, temperature=0.9, top_p=0.8)
    write(chapter, "Write one character")
    assert written(chapter) == expected[: len(prompt) + 1]
    write(chapter, "Write 80 more")
    assert written(chapter) == expected
    write(chapter, "Start over")
    assert written(chapter) == prompt
    write(chapter, "Write 80 more")
    assert written(chapter) == expected[:-1]
    box.get_by_label("Seed").fill("7")
    write(chapter, "Start over")
    write(chapter, "Write 80 more")
    assert written(chapter) == expected_text(
        chapter, gpt, prompt, 80, 7, temperature=0.9, top_p=0.8
    )
    assert written(chapter) != expected[:-1]
    assert chapter.errors_seen == []


def test_at_temperature_0_it_writes_the_likeliest_for_any_seed(chapter, gpt):
    chapter.emulate_media(reduced_motion="reduce")
    box = is_seen(chapter, "sampler")
    box.locator("input[type=range]").nth(0).press("Home")
    box.get_by_label("Prompt").fill("The Queen ")
    texts = []
    for seed in ("3", "4"):
        box.get_by_label("Seed").fill(seed)
        write(chapter, "Start over")
        for _ in range(5):
            write(chapter, "Write one character")
        texts.append(written(chapter))
    assert texts[0] == texts[1] == expected_text(chapter, gpt, "The Queen ", 5, 3, temperature=0)


def test_writing_can_be_stopped_and_unknown_characters_are_left_out(chapter):
    box = is_seen(chapter, "sampler")
    write(chapter, "Write one character")
    box.get_by_role("button", name="Write 80 more").click()
    box.get_by_role("button", name="Stop").click()
    length = len(written(chapter))
    assert length < len(state(chapter, "sampler")["first"]["prompt"]) + 80
    chapter.wait_for_timeout(200)
    assert len(written(chapter)) == length
    box.get_by_label("Prompt").fill("Ça va, Alice")
    write(chapter, "Read it")
    assert written(chapter) == "a va, Alice"
    assert "never seen them: Ç" in box.get_by_role("status").inner_text()
    for more in (1, 2):
        write(chapter, "Write one character")
        assert len(written(chapter)) == len("a va, Alice") + more
    read = written(chapter)
    box.get_by_label("Prompt").fill("日本")
    write(chapter, "Read it")
    assert "at least one character" in box.get_by_role("status").inner_text()
    assert written(chapter) == read


# --- the gap ---


@pytest.fixture(scope="module")
def filler():
    model, words, pad_id = in_the_page.model("gap")

    @torch.no_grad()
    def shares(sentence, gap):
        ids = gap_model.encoded([sentence], words)
        ids[0, gap] = gap_model.MASK
        return model(ids, pad_id)[0, gap].double().softmax(dim=-1).numpy()

    return SimpleNamespace(shares=shares, words=words)


def test_the_model_in_the_page_fills_gaps_as_pytorch_does(chapter, filler):
    for sentence, gap in SENTENCES:
        words = sentence.split()
        ids = gap_model.encoded([words], filler.words)[0]
        ids[gap] = gap_model.MASK
        logits = in_page_logits(chapter, "gap", ids.tolist())
        found = torch.tensor(logits[gap], dtype=torch.float64).softmax(dim=-1)
        np.testing.assert_allclose(found, filler.shares(words, gap), atol=1e-5)


def table(page):
    """Return dict: word -> what the table says of it, before and after."""
    rows = explorer(page, "gap").locator(".gap-table tbody tr").all()
    return {
        row.locator("th").inner_text().removesuffix(" (hidden)"): row.locator(
            "td:not(.explorer-track)"
        ).all_inner_texts()
        for row in rows
    }


def percent(share):
    return "<0.1%" if share < 0.001 else f"{100 * share:.1f}%"


def expected_table(filler, words, gap, changed=None):
    before = filler.shares(words, gap)
    after = filler.shares(changed or words, gap)
    best = [shares.argsort(kind="stable")[::-1][:5] for shares in (before, after)]
    return {
        filler.words[at]: [percent(before[at]), percent(after[at]) if changed else ""]
        for at in dict.fromkeys(np.concatenate(best).tolist())
    }


def test_the_first_gap_comes_with_the_page(chapter, filler):
    asked = []
    chapter.on("request", lambda request: asked.append(request.url))
    first = state(chapter, "gap")["first"]
    changed = [*first["words"]]
    changed[first["place"]] = first["other"]
    assert table(chapter) == expected_table(filler, first["words"], first["gap"], changed)
    assert "a GPT could not see it" in said(chapter, "gap")
    assert asked == []


def test_a_reader_hides_a_word_and_changes_another_with_the_keyboard(chapter, filler):
    box = is_seen(chapter, "gap")
    with wait_for_the_end(chapter, "gap"):
        box.get_by_role("button", name="my brother reads the old newspaper").press("Enter")
    words = ["my", "brother", "reads", "the", "old", "newspaper"]
    assert table(chapter) == expected_table(filler, words, 1)
    with wait_for_the_end(chapter, "gap"):
        box.get_by_role("radio", name="brother").press("ArrowRight")
    assert chapter.evaluate("document.activeElement.type") == "radio"
    assert table(chapter) == expected_table(filler, words, 2)
    with wait_for_the_end(chapter, "gap"):
        box.get_by_label("Change a word").select_option(label="newspaper (right of the gap)")
    with wait_for_the_end(chapter, "gap"):
        box.get_by_label("into").select_option(label="bread")
    assert table(chapter) == expected_table(filler, words, 2, [*words[:-1], "bread"])
    verdict = said(chapter, "gap")
    before, after = (filler.shares(each, 2) for each in (words, [*words[:-1], "bread"]))
    assert f"{percent(abs(before - after).sum() / 2)} of the probability" in verdict
    assert "a GPT could not see it" in verdict
    with wait_for_the_end(chapter, "gap"):
        box.get_by_label("Change a word").select_option(label="my (left of it)")
    with wait_for_the_end(chapter, "gap"):
        box.get_by_label("into").select_option(label="your")
    assert "a GPT could see it as well" in said(chapter, "gap")
    assert chapter.errors_seen == []


def test_a_sentence_of_ones_own_and_words_that_it_does_not_know(chapter, filler):
    box = is_seen(chapter, "gap")
    field = box.get_by_role("textbox", name="English")
    field.fill("The wombat isn't tired.")
    with wait_for_the_end(chapter, "gap"):
        field.press("Enter")
    status = box.get_by_role("status")
    assert "Not in its vocabulary: wombat" in status.inner_text()
    assert box.locator(".gap-choice input").count() == 5
    assert "is a word that the model cannot say" in said(chapter, "gap")
    words = ["the", "wombat", "is", "not", "tired"]
    assert table(chapter) == expected_table(filler, words, 1)
    field.fill("one")
    field.press("Enter")
    assert "at least two words" in status.inner_text()
    field.fill("the cat " * 9)
    field.press("Enter")
    assert f"no more than {gap_model.SHAPE['max_len']} words" in status.inner_text()


def test_the_page_takes_sentences_apart_as_the_corpus_does(chapter):
    sentences = [
        "luca's grandfather says that i dance",
        "why does he sleep?",
        "the cat is here",
    ]
    found = chapter.evaluate(
        """(sentences) => sentences.map((text) => {
            const { wordsOf, joined } = globalThis.explorers.gap;
            return [wordsOf(text), joined(wordsOf(text))];
        })""",
        sentences,
    )
    assert found == [[gap_model.corpus.words(each), each] for each in sentences]


# --- all three ---


@pytest.mark.parametrize("name", ["sampler", "gap"])
def test_where_the_model_is_missing_the_page_says_so(chapter, name):
    chapter.route("**/family-models/*", lambda route: route.fulfill(status=404))
    box = is_seen(chapter, name)
    with wait_for_the_end(chapter, name):
        box.locator("button[type=submit]").click()
    assert "was built without the model" in box.get_by_role("status").inner_text()


@pytest.mark.parametrize(
    ("width", "theme"),
    [(1280, "light"), (390, "dark"), pytest.param(390, "light", marks=pytest.mark.long)],
)
def test_axe_finds_nothing_after_use(chapter, width, theme):
    chapter.set_viewport_size({"width": width, "height": 844})
    chapter.emulate_media(reduced_motion="reduce")
    chapter.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    probe = is_seen(chapter, "family")
    probe.get_by_role("radio", name="T5", exact=True).check()
    probe.locator(".family-outputs input").nth(1).check()
    probe.get_by_role("button", name="See what moves").click()
    is_seen(chapter, "sampler").locator("input[type=range]").nth(1).fill("4")
    write(chapter, "Write 80 more")
    with wait_for_the_end(chapter, "gap"):
        is_seen(chapter, "gap").get_by_role("radio").nth(0).check()
    results = Axe().run(chapter, context=".explorer")
    assert results.violations_count == 0, results.generate_report()
