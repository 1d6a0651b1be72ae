"""Explorers in a notebook: the widget's own module in Chromium, with the real Python side behind a
stand-in for the kernel's messages.

These tests need no book.
"""

import math

import numpy as np
import pytest
import torch

from book.explorers import (
    explore_attention,
    explore_beam,
    explore_copying,
    explore_decoding,
    explore_heads,
    explore_layer_norm,
    explore_lookup,
    explore_masks,
    explore_positions,
    script,
)
from book.palette import colours
from book.widgets.scripts import FOLDER
from solutions.ch01_embeddings import embed, encode, one_hot
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch03_bottleneck import additive_attention
from solutions.ch04_attention import attention_scores, scaled_dot_product_attention, softmax
from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import causal_mask, decoder_mask, masked_attention, padding_mask
from solutions.ch07_layers import LayerNorm
from solutions.ch08_encoder_decoder import greedy_decode
from solutions.ch09_training import beam_search
from tests.conftest import WIDE, noted

# with the Python side's tests: the models are trained once in a process
pytestmark = pytest.mark.xdist_group("explorers in a notebook")

NOTEBOOK = """async ([module, state]) => {
    class Model {
        constructor() { this.state = state; this.changed = {}; this.listeners = {}; this.open = Promise.resolve(); }
        get(key) { return this.state[key]; }
        set(key, value) {
            if (JSON.stringify(this.state[key]) === JSON.stringify(value)) return;
            this.state[key] = this.changed[key] = value;
            this.tell(key);
        }
        tell(key) { for (const listener of this.listeners[key] ?? []) listener(); }
        on(event, listener) { (this.listeners[event.replace("change:", "")] ??= []).push(listener); }
        off(event, listener) {
            const key = event.replace("change:", "");
            this.listeners[key] = this.listeners[key].filter((other) => other !== listener);
        }
        async save_changes() {
            const sent = this.changed;
            this.changed = {};
            await this.open;
            const [echo, computed] = await kernel(sent);
            for (const [key, value] of Object.entries({ ...echo, computed })) {
                this.state[key] = value;
                this.tell(key);
            }
        }
    }
    const source = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
    const { default: explorer } = await import(source);
    globalThis.model = new Model();
    globalThis.stop = explorer.render({ model: globalThis.model, el: document.getElementById("cell") });
}"""


@pytest.fixture(scope="module")
def notebook(chromium):
    """A page of which a test gives the `kernel`: what a page has been given cannot be taken back."""
    page = chromium.new_page(viewport=WIDE)
    page.expose_function("kernel", lambda changed: page.kernel(changed))
    yield page
    page.close()


@pytest.fixture
def opened(notebook):
    """Return a function that shows a widget; the page notes in `calls` what the explorer sends to
    Python.
    """

    def show(widget):
        notebook.calls = []

        def kernel(changed):
            notebook.calls.append(changed)
            widget.set_state(changed)
            # As ipywidgets does.
            echo = {name: changed[name] for name in changed if echoed(widget, name)}
            return [echo, widget.computed]

        notebook.kernel = kernel
        notebook.set_content('<body class="jupyter-widgets"><div id="cell"></div></body>')
        notebook.add_style_tag(content=widget._css)
        state = {key: value for key, value in widget.get_state().items() if not key.startswith("_")}
        notebook.evaluate(NOTEBOOK, [widget._esm, state])
        return notebook

    notebook.goto("about:blank")
    with noted(notebook):
        yield show


def echoed(widget, name):
    return widget.has_trait(name) and widget.trait_metadata(name, "echo_update", True)


def remark(page):
    return page.locator(".explorer-remark").inner_text()


def settled(page):
    """Wait until Python has answered for the last state."""
    page.wait_for_function(
        "model.get('asked') === model.get('computed').number && !Object.keys(model.changed).length"
    )


def shown_numbers(page, selector):
    return [float(text.replace("−", "-")) for text in page.locator(selector).all_text_contents()]


def weights_shown(page):
    return shown_numbers(page, ".attention-table tbody td:last-child")


def unscaled_attention(query, key, value):
    weights = softmax(query @ key.swapaxes(-2, -1))
    return weights @ value, weights


def plane(widget):
    return np.array(widget.fixed["keys"]), np.array(widget.fixed["values"])


def test_attention_shows_what_the_right_function_returns(opened):
    widget = explore_attention(scaled_dot_product_attention)
    page = opened(widget)
    page.get_by_label("Direction of the query").fill("100")
    settled(page)
    length = math.hypot(1.6, 0.4)
    query = length * np.array([[math.cos(math.radians(100)), math.sin(math.radians(100))]])
    output, weights = scaled_dot_product_attention(query, *plane(widget))
    assert np.allclose(weights_shown(page), weights[0], atol=6e-4)
    x, y = (f"{number:.2f}".replace("-", "−") for number in output[0])
    assert f"Output: ({x}, {y})" in page.locator(".explorer-verdict").inner_text()
    assert remark(page) == "Shown is what your scaled_dot_product_attention returns."
    assert page.errors_seen == []


def test_attention_shows_what_a_wrong_function_returns_and_says_where_it_differs(opened):
    widget = explore_attention(unscaled_attention)
    page = opened(widget)
    _, wrong = unscaled_attention(np.array([[1.6, 0.4]]), *plane(widget))
    assert np.allclose(weights_shown(page), wrong[0], atol=6e-4)
    assert (
        remark(page)
        == "Shown is what your unscaled_attention returns. Your weights differ from the formula’s,"
        " first for the key “The”."
    )
    page.get_by_label("Width").fill("9")
    settled(page)
    assert max(weights_shown(page)) > 0.999  # as dot products of 512 components do, undivided
    page.get_by_label("Width").fill("1")
    # All scores are 0: here there is nothing to divide.
    page.get_by_label("Length of the query").fill("0")
    settled(page)
    assert remark(page) == "Shown is what your unscaled_attention returns."
    assert page.get_by_text("Divide by").count() == 0  # the learner's function does, or does not


def test_scores_are_the_learners_too(opened):
    def undivided(query, key):
        return query @ key.T

    widget = explore_attention(scaled_dot_product_attention, undivided)
    page = opened(widget)
    keys, _ = plane(widget)
    shown = shown_numbers(page, ".attention-table tbody td:nth-child(3)")
    assert np.allclose(shown, np.array([1.6, 0.4]) @ keys.T, atol=0.0051)
    assert "Your scores differ from the formula’s, first for the key “The”." in remark(page)


def test_an_error_is_said_as_text_and_hides_the_results_until_the_function_answers_again(opened):
    def moody(query, key, value):
        if query[0, 1] > 0:
            raise ValueError("<b>no</b> & never")
        return scaled_dot_product_attention(query, key, value)

    page = opened(explore_attention(moody))
    assert remark(page) == "Your moody stopped with ValueError: <b>no</b> & never"
    assert page.locator(".explorer-remark b").count() == 0
    for results in (
        ".attention-table",
        ".attention-values",
        ".explorer-verdict",
        ".explorer-spoken",
    ):
        assert not page.locator(results).is_visible()
    assert page.get_by_label("Direction of the query").is_visible()
    page.get_by_label("Direction of the query").fill("-90")
    settled(page)
    assert remark(page) == "Shown is what your moody returns."
    assert page.locator(".attention-table").is_visible()


def test_one_question_at_a_time_and_the_last_state_wins(opened):
    page = opened(explore_attention(scaled_dot_product_attention))
    page.evaluate("void (model.open = new Promise((resolve) => { globalThis.openUp = resolve; }))")
    direction = page.get_by_label("Direction of the query")
    for degrees in range(20, 80, 10):
        direction.fill(str(degrees))
    page.get_by_text("Waiting for your function").wait_for()
    assert page.calls == []  # the first question is on its way
    page.evaluate("globalThis.moves = 0; model.on('change:query', () => { moves += 1; })")
    page.evaluate("openUp()")
    settled(page)
    assert [call["asked"] for call in page.calls] == [1, 2]
    angles = [math.degrees(math.atan2(*reversed(call["query"]))) for call in page.calls]
    assert np.allclose(angles, [20, 70])
    assert page.evaluate("model.get('computed').inputs.query") == page.calls[1]["query"]
    # An answer does not take the query back to where it was when it was asked.
    assert page.evaluate("moves") == 0
    assert remark(page) == "Shown is what your scaled_dot_product_attention returns."


def test_jupyterlab_is_asked_to_leave_the_keys_to_what_has_the_focus(opened):
    page = opened(explore_masks(masked_attention))
    for control in (page.locator("[data-cell='0,0']"), page.get_by_role("radio", name="causal")):
        control.focus()
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_a_closed_explorer_asks_and_draws_no_more(opened):
    page = opened(explore_attention(scaled_dot_product_attention))
    page.evaluate("stop()")
    assert page.evaluate("Object.values(model.listeners).flat().length") == 0


def test_positions(opened):
    page = opened(explore_positions(sinusoidal_encoding))
    page.get_by_role("slider", name="Columns").fill("4")  # 16
    page.get_by_role("slider", name="Position").fill("40")
    page.get_by_role("slider", name="Offset").fill("7")
    settled(page)
    encoding = sinusoidal_encoding(48, 16)
    assert f"{encoding[40] @ encoding[47] / 8:.3f}" in page.locator(
        ".explorer-verdict"
    ).inner_text().replace("−", "-")
    hands = page.locator(".positions-hand.positions-second")
    tips = [[float(hand.get_attribute(name)) for name in ("x2", "y2")] for hand in hands.all()]
    assert np.allclose(tips, 38 * encoding[47].reshape(-1, 2) * [1, -1])
    assert remark(page) == "Shown is what your sinusoidal_encoding returns."
    assert page.errors_seen == []


def test_positions_of_a_wrong_function(opened):
    def swapped(seq_len, d_model):
        return (
            sinusoidal_encoding(seq_len, d_model)
            .reshape(seq_len, -1, 2)[..., ::-1]
            .reshape(seq_len, d_model)
        )

    page = opened(explore_positions(swapped))
    hands = page.locator(".positions-hand.positions-first")
    tips = [[float(hand.get_attribute(name)) for name in ("x2", "y2")] for hand in hands.all()]
    assert np.allclose(tips[0], 27 * swapped(6, 64)[5, :2] * [1, -1])
    assert "Your encoding of position 5 differs from the formula’s, first in column 0." in remark(
        page
    )


def test_heads(opened):
    widget = explore_heads(MultiHeadAttention)
    page = opened(widget)
    page.get_by_label("Sentence").select_option("1")
    page.get_by_label("Head 1").fill("0.5")
    page.get_by_role("radio", name="bird").check()
    settled(page)
    shown = np.reshape(shown_numbers(page, ".heads-maps tbody td"), (4, 7))
    assert np.abs(shown - 100 * np.array(widget.computed["numbers"]["maps"])).max() < 0.5001
    assert widget.computed["inputs"] == {"sentence": 1, "query": 5, "gates": [1, 0.5, 1, 1]}
    # With a gate half open, too.
    assert remark(page) == "Shown is what your MultiHeadAttention returns."
    assert page.get_by_text("One average").count() == 0
    assert page.errors_seen == []


def test_heads_that_look_the_wrong_way(opened):
    class Mirrored(MultiHeadAttention):
        def forward(self, query, key, value):
            output, weights = super().forward(query, key, value)
            return output, weights.flip(-1)

    widget = explore_heads(Mirrored)
    right = explore_heads(MultiHeadAttention).computed["numbers"]["maps"]
    page = opened(widget)
    shown = np.reshape(shown_numbers(page, ".heads-maps tbody td"), (4, 6))
    assert np.abs(shown - 100 * np.array(right)[:, ::-1]).max() < 0.5001
    assert "Your weights differ from the formula’s, first in head 0, for “your”." in remark(page)


def test_masks(opened):
    page = opened(explore_masks(masked_attention, causal_mask, padding_mask, decoder_mask))
    for preset in ("causal", "padding", "both", "empty row", "none", "causal"):
        page.get_by_role("radio", name=preset, exact=True).check()
        settled(page)
        assert remark(page) == "Shown is what your masked_attention returns."
    page.locator("[data-cell='1,2']").click()
    settled(page)
    assert page.calls[-1]["mask"][1] == [True, True, True, False, False]
    assert page.calls[-1]["preset"] == "own"
    assert "Rows that do not sum to 1" not in page.locator(".explorer-verdict").inner_text()
    weights = np.array(page.evaluate("model.get('computed').numbers.weights"))
    shown = page.locator(".masking-weights tbody td:not(.masking-sum)").all_text_contents()
    assert np.allclose(
        [float(text.replace("<.01", "0.005")) for text in shown], weights.flatten(), atol=0.0051
    )
    assert remark(page) == "Shown is what your masked_attention returns."
    assert page.errors_seen == []


def test_masks_of_wrong_functions(opened):
    def backward(seq_len):
        return causal_mask(seq_len).mT

    def late(query, key, value, mask):
        _, weights = masked_attention(query, key, value)
        weights = weights * mask
        return weights @ value, weights

    page = opened(explore_masks(late, backward))
    page.get_by_role("radio", name="causal").check()
    settled(page)
    assert (
        "Your mask “causal” differs from the book’s, first at query “<bos>”, key “il”."
        in remark(page)
    )
    pressed = [
        button.get_attribute("aria-pressed") == "true"
        for button in page.locator("[data-cell]").all()
    ]
    assert pressed == backward(5).flatten().tolist()
    page.locator("[data-cell='1,0']").click()  # goes on from the mask that is seen
    settled(page)
    expected = backward(5)[0, 0]
    expected[1, 0] = True
    assert page.calls[-1]["mask"] == expected.tolist()
    assert "Your weights differ from the formula’s, first at query “gatto”, key “gatto”." in remark(
        page
    )
    assert "Rows that do not sum to 1: 3." in page.locator(".explorer-verdict").inner_text()


def test_layer_norm(opened):
    page = opened(explore_layer_norm(LayerNorm))
    page.get_by_label("Feature 1").fill("-4")
    page.get_by_label("eps").fill("1")
    page.get_by_label("Gain").fill("-1.5")
    page.get_by_label("Bias").fill("0.5")
    settled(page)
    norm = LayerNorm(4, eps=10.0)
    torch.nn.init.constant_(norm.weight, -1.5)
    torch.nn.init.constant_(norm.bias, 0.5)
    expected = norm(torch.tensor([-4.0, 9, 7, 7])).tolist()
    assert np.allclose(shown_numbers(page, ".layernorm-value")[4:], expected, atol=0.0051)
    assert remark(page) == "Shown is what your LayerNorm returns."
    assert page.errors_seen == []


def test_a_layer_norm_with_the_wrong_variance(opened):
    class Unbiased(LayerNorm):
        def forward(self, x):
            return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()

    page = opened(explore_layer_norm(Unbiased))
    expected = Unbiased(4)(torch.tensor([1.0, 9, 7, 7])).tolist()
    assert np.allclose(shown_numbers(page, ".layernorm-value")[4:], expected, atol=0.0051)
    assert "Your result differs from the formula’s, first at feature 1." in remark(page)
    assert "Afterwards: mean 0.00, variance 0.75." in page.locator(".explorer-verdict").inner_text()


def test_lookup_shows_the_learners_ids_vectors_and_rows(opened):
    page = opened(explore_lookup(embed, one_hot, encode))
    page.get_by_label("Sentence").fill("dogs like dragons")
    settled(page)
    chips = [text.split() for text in page.locator(".explorer-chip").all_inner_texts()]
    assert chips == [["dogs", "6"], ["like", "5"], ["dragons", "→", "<unk>", "3"]]
    table = page.evaluate("model.get('table')")
    rows = page.locator(".lookup-out tbody tr").all()
    assert [
        [float(text.replace("−", "-")) for text in row.locator("td").all_inner_texts()]
        for row in rows
    ] == [table[row] for row in (6, 5, 3)]
    assert remark(page) == "Shown is what your embed returns."
    page.locator("[data-entry='5,1']").click()
    page.get_by_label("Row “like”, column 1").fill("1.7")
    settled(page)
    assert rows[1].locator("td").nth(1).inner_text() == "1.7"
    assert page.errors_seen == []


def doubled(token_ids, table):
    return 2 * embed(token_ids, table)


def late_one_hot(token_ids, vocab_size):
    return np.roll(one_hot(token_ids, vocab_size), 1, axis=-1)


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        (
            (doubled, one_hot, encode),
            "Your embeddings differ from the rows of the table, first at position 0, column 0.",
        ),
        (
            (doubled, late_one_hot),
            "Your one-hot vectors differ from those of these ids, first at position 0.",
        ),
        (
            (doubled, late_one_hot, lambda *_: [4, 5, 6, 4]),
            "Your ids differ from the vocabulary’s, first at word 3.",
        ),
    ],
)
def test_lookup_says_which_of_three_functions_differs_first(opened, functions, said):
    page = opened(explore_lookup(*functions))
    assert said in remark(page)
    numbers = page.evaluate("model.get('computed').numbers.product[0]")
    shown = (
        page.locator(".explorer-verdict")
        .inner_text()
        .rsplit("your function returned ", 1)[1]
        .rstrip(".")
        .replace("−", "-")
    )
    assert [float(text) for text in shown.split(", ")] == pytest.approx(numbers)


def test_copying_looks_back_through_the_learners_attention(opened):
    page = opened(explore_copying(additive_attention))
    assert remark(page) == "Shown is what your additive_attention returns."
    assert page.get_by_label("Numbers in the one vector").count() == 0  # there is one size here
    page.get_by_label("Words read").fill("10")
    settled(page)
    assert "Of 10 words" in page.locator(".explorer-verdict").inner_text()
    assert remark(page) == "Shown is what your additive_attention returns."
    assert page.locator(".copying-cell").count() == 100
    assert page.errors_seen == []


def deaf(query, keys, w_query, w_key, v):
    return additive_attention(0 * query, keys, w_query, w_key, v)


def upside_down(*arguments):
    context, weights = additive_attention(*arguments)
    return -context, weights


@pytest.mark.parametrize(
    ("function", "said"),
    [(deaf, "first at written word 1"), (upside_down, "first at written word 2")],
)
def test_copying_with_a_wrong_attention(opened, function, said):
    page = opened(explore_copying(function))
    assert f"Your weights differ from the formula’s, {said}" in remark(page)
    assert "attention 6" not in page.locator(".explorer-verdict").inner_text()


def test_decoding(opened):
    asked = []

    def noted(model, src, max_len):
        asked.append(src.tolist())
        return greedy_decode(model, src, max_len)

    page = opened(explore_decoding(noted))
    page.get_by_label("Sentence").select_option("4")
    settled(page)
    for _ in range(4):
        page.get_by_role("button", name="Write the next word").click()
    assert page.locator(".decoding-written").inner_text() == "<bos> una volpe adorabile corre <eos>"
    assert remark(page) == "Shown is what your noted returns."
    settled(page)
    assert len(asked) == 2  # once for each sentence; a step is no new question
    assert page.errors_seen == []


def test_decoding_of_a_function_that_forgets_the_last_word(opened):
    def forgetful(model, src, max_len=64):
        ids = greedy_decode(model, src, max_len)
        return torch.cat([ids[:, :3], ids[:, 2:-1]], dim=1)

    page = opened(explore_decoding(forgetful))
    assert "What your function writes parts from greedy decoding at step 3." in remark(page)
    for _ in range(2):
        page.get_by_role("button", name="Write the next word").click()
    assert page.locator(".decoding-written").inner_text() == "<bos> il tuo tuo"


def test_beams_of_the_right_function(opened):
    page = opened(explore_beam(beam_search))
    for sentence in range(4):
        page.get_by_label("Sentence").select_option(str(sentence))
        for size in (1, 2, 5):
            page.get_by_label("Beam size").fill(str(size))
            for penalty in ("0", "0.6", "1"):
                page.get_by_label("Length penalty").fill(penalty)
                settled(page)
                assert remark(page) == "Shown is what your beam_search returns."
    step = page.get_by_role("slider", name="Step")
    step.press("End")
    found = page.evaluate("model.get('computed').numbers")
    words = [page.evaluate("model.get('fixed').vocabulary")[index] for index in found["result"]]
    assert (
        f"your function returns “{' '.join(words)}”"
        in page.locator(".explorer-verdict").inner_text()
    )
    assert page.locator(".beam-box").count() == sum(len(level) for level in found["levels"])
    step.press("Home")
    assert page.locator(".beam-box").count() == 1 + len(found["levels"][1])
    assert page.locator(".beam-ended-list").is_hidden()
    assert page.errors_seen == []


def of_one_word(step_log_probs, beam_size, **settings):
    """Looks at the last word alone."""
    return beam_search(
        lambda prefixes: step_log_probs(
            prefixes[:, [0, -1]] if prefixes.shape[1] > 1 else prefixes
        ),
        beam_size=beam_size,
        **settings,
    )


def of_one_end(step_log_probs, beam_size, max_len, **settings):
    return beam_search(step_log_probs, beam_size=beam_size, max_len=max_len - 2, **settings)


def of_copies(step_log_probs, beam_size, **settings):
    step_log_probs(torch.tensor([[1]] * beam_size))
    return beam_search(step_log_probs, beam_size=beam_size, **settings)


def of_greedy(step_log_probs, beam_size, **settings):
    return beam_search(step_log_probs, beam_size=1, **settings)


def of_another_result(step_log_probs, **settings):
    return beam_search(step_log_probs, **settings)[:1]


def summed(query, key, value):
    weights = softmax(attention_scores(query, key))
    return weights @ value[::-1], weights


class Interleaved(MultiHeadAttention):
    def forward(self, query, key, value):
        self.w_o, layer = torch.nn.Identity(), self.w_o
        found, weights = super().forward(query, key, value)
        return layer(found.unflatten(-1, (4, -1)).mT.flatten(-2)), weights


AGREES = "Your weights agree with the formula’s. "
ALIVE = "What your search keeps alive differs from the book’s, first after step"


@pytest.mark.parametrize(
    ("explore", "said"),
    [
        (lambda: explore_attention(summed), AGREES + "Your output is not"),
        (
            lambda: explore_heads(Interleaved),
            AGREES + "What your heads return together does not.",
        ),
        (
            lambda: explore_beam(of_copies, beam_size=3),
            "Your search does not begin with <bos> alone, once.",
        ),
        (lambda: explore_beam(of_greedy, beam_size=3), f"{ALIVE} 1."),
        (lambda: explore_beam(of_one_word, beam_size=3), ALIVE),
        (
            lambda: explore_beam(of_one_end, beam_size=3),
            "Your search takes another number of steps than the book’s.",
        ),
        (
            lambda: explore_beam(of_another_result, beam_size=3),
            "Your search keeps alive what the book’s does. What it returns is not the sentence with"
            " the highest score.",
        ),
    ],
)
def test_it_is_told_where_a_wrong_function_differs(opened, explore, said):
    page = opened(explore())
    assert said in remark(page)
    assert page.errors_seen == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_roles_have_the_colours_of_jupyterlabs_theme(opened, theme):
    page = opened(explore_layer_norm(LayerNorm))
    page.evaluate("light => { document.body.dataset.jpThemeLight = light; }", theme == "light")
    shown = page.locator(".explorer").evaluate(
        """(box, names) => Object.fromEntries(names.map((name) =>
            [name, getComputedStyle(box).getPropertyValue(`--${name}`).trim()]))""",
        list(colours(theme)),
    )
    assert shown == colours(theme)


def test_a_notebook_is_silent_until_the_reader_does_something(opened):
    page = opened(explore_masks(masked_attention, causal_mask))
    assert remark(page) == "Shown is what your masked_attention returns."
    assert page.locator("[aria-live], [role=status]").count() == 0
    page.get_by_role("radio", name="causal", exact=True).check()
    assert page.locator("[aria-live], [role=status]").count() == 2


@pytest.mark.parametrize(
    ("name", "explore"),
    [
        ("attention", lambda: explore_attention(scaled_dot_product_attention)),
        ("masking", lambda: explore_masks(masked_attention)),
        ("positions", lambda: explore_positions(sinusoidal_encoding)),
        ("layernorm", lambda: explore_layer_norm(LayerNorm)),
    ],
)
def test_a_notebook_starts_from_what_the_script_starts_from(page, name, explore):
    widget = explore()
    for path in (FOLDER / "kit.js", script(name)):
        page.evaluate("source => { (0, eval)(source); }", path.read_text(encoding="utf-8"))
    start = page.evaluate(
        """name => {
            const state = {};
            const model = { get: (key) => state[key], set: (key, value) => { state[key] = value; }, on() {}, off() {} };
            globalThis.explorers[name].render({ model, el: document.createElement("div") });
            return state;
        }""",
        name,
    )
    given = {**widget.fixed, **widget.computed["inputs"]}
    assert {key: start[key] for key in given} == given
