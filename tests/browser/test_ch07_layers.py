"""The explorers of layer norm and of depth: their numbers are the reference's, and keys move
them.
"""

import re

import numpy as np
import pytest
import torch

from book.experiments.depth import backwards, deep_stacks
from solutions.ch07_layers import LayerNorm


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch07_layers.html")
    page.locator(".depth-dot").first.wait_for()
    return page


def normalised(page, **state):
    return page.evaluate("state => globalThis.explorers.layernorm.compute(state)", state)


def trained(page, letters, steps, **state):
    """Let the explorer draw a stack and train it on some words, again and again the same.

    Returns:
        the numbers of its tensors as drawn, and for each step what the plots show.
    """
    return page.evaluate(
        """([letters, steps, state]) => {
            const { make, look, advance } = globalThis.explorers.depth;
            const stack = make(state);
            const drawn = stack.tensors.map(({ now }) => [...now]);
            const seen = [look(stack, letters)];
            for (let step = 0; step < steps; step += 1) {
                advance(stack);
                seen.push(look(stack, letters));
            }
            return [drawn, seen];
        }""",
        [letters.flatten().tolist(), steps, state],
    )


def reverser(drawn, depth, norm, residual):
    """Return the course's model with the numbers that the explorer has drawn."""
    model = backwards.Reverser(depth, None if norm == "none" else norm, residual).double()
    numbers = iter(torch.tensor(each, dtype=torch.float64) for each in drawn)

    def fill(linear):
        linear.weight.data = next(numbers).reshape(linear.in_features, -1).T.clone()
        linear.bias.data = next(numbers)

    model.embedding.weight.data = next(numbers).reshape(backwards.LETTERS, -1)
    for layer in model.layers:
        attention, network = layer.self_attention, layer.feed_forward
        for linear in (attention.w_q, attention.w_k, attention.w_v, attention.w_o):
            fill(linear)
        for linear in (network.linear_1, network.linear_2):
            fill(linear)
        for each in (layer.norm_1, layer.norm_2):
            each.weight.data, each.bias.data = next(numbers), next(numbers)
    fill(model.generator)
    return model


def values_of(page, side):
    plot = page.locator(".layernorm .explorer-plot").nth(side)
    return [
        float(text.text_content().replace("−", "-"))
        for text in plot.locator(".layernorm-value").all()
    ]


def text_of(page, kind):
    return page.locator(f".{kind} .explorer-verdict").inner_text()


def test_numbers_equal_the_reference(chapter):
    rng = np.random.default_rng(0)
    for _ in range(30):
        x, weight, bias = (rng.normal(size=4).round(2) * scale for scale in (5, 1, 1))
        eps = float(10.0 ** rng.integers(-5, 2))
        norm = LayerNorm(4, eps).double()
        norm.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        result = normalised(
            chapter, x=x.tolist(), eps=eps, weight=weight.tolist(), bias=bias.tolist()
        )
        assert np.allclose(result["result"], norm(torch.tensor(x)).detach(), rtol=0, atol=1e-12)
        assert np.isclose(result["mean"], x.mean())
        assert np.isclose(result["variance"], x.var())


def test_halving_changes_nothing_and_equal_features_leave_the_bias(chapter):
    before = values_of(chapter, 1)
    assert before == [-1.67, 1.0, 0.33, 0.33]
    chapter.get_by_role("button", name="Halve all four").click()
    assert values_of(chapter, 0) == [0.5, 4.5, 3.5, 3.5]
    assert values_of(chapter, 1) == before
    chapter.get_by_role("slider", name="Bias").fill("1.5")
    chapter.get_by_role("button", name="Make them equal").click()
    assert values_of(chapter, 1) == [1.5] * 4
    assert "variance 0.00, divided by 0.003" in text_of(chapter, "layernorm")
    assert chapter.errors_seen == []


def test_a_feature_moves_with_arrow_keys(chapter):
    feature = chapter.get_by_role("slider", name="Feature 2")
    feature.focus()
    for _ in range(4):
        feature.press("ArrowLeft")
    assert values_of(chapter, 0) == [1, 7, 7, 7]
    assert values_of(chapter, 1) == [-1.73, 0.58, 0.58, 0.58]
    chapter.locator(".layernorm [aria-live]").get_by_text("Mean 5.50").wait_for(state="attached")


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("norm", ["none", "post", "pre"])
def test_a_stack_learns_in_the_page_as_it_does_in_pytorch(chapter, norm, residual):
    steps, shape = 3, (backwards.BATCH, backwards.WORD_LEN)
    words = torch.randint(backwards.LETTERS, shape, generator=torch.Generator().manual_seed(0))
    kind = {"depth": 3, "norm": norm, "residual": residual}
    drawn, seen = trained(chapter, words, steps, **kind, factor=0.5, rate=backwards.RATE, seed=1)
    model = reverser(drawn, **kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=backwards.RATE)
    for found in seen:
        logits = model(words)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), words.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        x, own = model.embedding(words) + model.positions, []
        for layer in model.layers:
            x = layer(x)
            own.append(deep_stacks.own_share(deep_stacks.likeness(x)))
        gradients = [deep_stacks.gradient_norm(layer) for layer in model.layers]
        # the page computes in 32 bits, the reference in 64
        assert np.isclose(found["loss"], loss.item(), rtol=1e-3)
        assert np.allclose(found["own"], own, rtol=0.01, atol=1e-5)
        assert np.allclose(found["gradients"], gradients, rtol=0.01)
        optimizer.step()


def test_a_new_stack_is_drawn_by_glorots_rule_times_the_factor(chapter):
    words = torch.zeros(backwards.BATCH, backwards.WORD_LEN, dtype=torch.int64)
    state = {"depth": 2, "norm": "post", "residual": True, "rate": 0.003, "seed": 5}
    drawn, _ = trained(chapter, words, 0, **state, factor=0.2)
    layer = reverser(drawn, 2, "post", True).layers[0]
    square = (6 / 64) ** 0.5
    assert 0.98 * square < layer.self_attention.w_v.weight.abs().max() <= square
    assert 0.19 * square < layer.self_attention.w_o.weight.abs().max() <= 0.2 * square
    assert layer.feed_forward.linear_2.weight.abs().max() <= 0.2 * (6 / 96) ** 0.5


def test_depth_and_kind_are_chosen_by_keyboard(chapter):
    assert "12 layers, post-norm" in text_of(chapter, "depth")
    layers = chapter.get_by_role("slider", name="Layers")
    layers.focus()
    layers.press("Home")
    assert "1 layer, post-norm" in text_of(chapter, "depth")
    layers.press("ArrowRight")
    assert layers.get_attribute("aria-valuetext") == "2 layers"
    chapter.get_by_role("radio", name="post-norm").focus()
    chapter.keyboard.press("ArrowRight")
    assert "2 layers, pre-norm, WO and W2 times 1." in text_of(chapter, "depth")
    dashed = "Dashed: before, 2 layers, post-norm, WO and W2 times 1."
    assert chapter.locator(".depth-note").inner_text() == dashed
    chapter.get_by_role("checkbox", name="residual connections").press("Space")
    assert "no residuals" in text_of(chapter, "depth")
    assert chapter.errors_seen == []


def test_the_first_steps_of_the_page_s_stack_lose_its_positions(chapter):
    """What the page asks its readers to try."""
    step, other = (
        chapter.get_by_role("button", name=name) for name in ("One step", "Before training")
    )
    assert "Before training" in text_of(chapter, "depth")
    for _ in range(20):
        step.click()
    told = text_of(chapter, "depth")
    assert "After 20 steps" in told
    assert chapter.locator(".depth-note").inner_text() == "Dashed: before training."
    assert "own share lost" in told or "10⁻" in told.split("own share")[1][:8]
    other.click()
    assert "Before training" in text_of(chapter, "depth")


def test_training_runs_until_it_is_stopped(chapter):
    chapter.get_by_role("slider", name="Layers").press("Home")
    chapter.get_by_role("button", name="Train", exact=True).click()
    chapter.locator(".depth .explorer-verdict").get_by_text(re.compile("After [3-9]\\d")).wait_for()
    chapter.get_by_role("button", name="Stop").click()
    told = text_of(chapter, "depth")
    chapter.wait_for_timeout(200)
    assert text_of(chapter, "depth") == told
    assert chapter.errors_seen == []
