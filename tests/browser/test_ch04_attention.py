"""The explorers of the attention chapter: one's numbers are the reference's, and hands and keys
move it; the other's steps are those that PyTorch takes.
"""

import math
import re

import numpy as np
import pytest
import torch

from solutions.ch04_attention import scaled_dot_product_attention, softmax


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch04_attention.html")
    page.locator(".attention-table").wait_for()
    return page


def compute(page, **state):
    return page.evaluate("state => globalThis.explorers.attention.compute(state)", state)


def query_of(page):
    """Return the direction and length that the sliders say."""
    values = page.locator(".attention .explorer-number").all_inner_texts()
    return float(values[0].replace("−", "-").rstrip("°")), float(values[1])


def weights_of(page):
    return {
        row.locator("th").inner_text(): float(row.locator("td").last.inner_text())
        for row in page.locator(".attention-table tbody tr").all()
    }


def random_state(rng):
    keys = int(rng.integers(2, 7))
    return {
        "query": (3 * rng.standard_normal(2)).tolist(),
        "keys": (2 * rng.standard_normal((keys, 2))).tolist(),
        "values": rng.standard_normal((keys, 2)).tolist(),
        "d_k": int(2 ** rng.integers(1, 10)),
        "scaled": bool(rng.integers(2)),
    }


def widen(vectors, d_k):
    """Stretch vectors of the plane so that dot products grow by sqrt(d_k / 2), and fill them up to
    d_k components.
    """
    vectors = (d_k / 2) ** 0.25 * np.array(vectors)
    return np.pad(vectors, [(0, 0), (0, d_k - 2)])


def test_numbers_equal_the_reference(chapter):
    rng = np.random.default_rng(0)
    for _ in range(30):
        state = random_state(rng)
        query, key = widen([state["query"]], state["d_k"]), widen(state["keys"], state["d_k"])
        if not state["scaled"]:
            query = query * math.sqrt(state["d_k"])  # takes back the division
        output, weights = scaled_dot_product_attention(query, key, np.array(state["values"]))
        slopes = np.diag(weights[0]) - np.outer(weights[0], weights[0])

        result = compute(chapter, **state)
        assert np.allclose(result["weights"], weights[0], rtol=1e-9, atol=1e-12)
        assert np.allclose(result["output"], output[0], rtol=1e-9, atol=1e-12)
        assert np.allclose(
            result["weights"], softmax(np.array(result["scores"])), rtol=1e-9, atol=1e-12
        )
        # A difference near 0.
        assert np.isclose(result["jacobian"], np.linalg.norm(slopes), rtol=1e-6, atol=1e-7)


def test_scores_of_any_size_stay_finite(chapter):
    state = {
        "query": [1e4, 0],
        "keys": [[1e4, 0], [0, 1]],
        "values": [[1, 0], [0, 1]],
        "d_k": 512,
        "scaled": False,
    }
    assert compute(chapter, **state)["weights"] == [1, 0]


def test_keys_turn_and_stretch_the_query(chapter):
    direction, length = (
        chapter.get_by_label("Direction of the query"),
        chapter.get_by_label("Length of the query"),
    )
    before, size = query_of(chapter)
    direction.focus()
    for _ in range(10):
        direction.press("ArrowRight")
    assert query_of(chapter) == (before + 10, size)
    direction.fill("35")  # towards "cat"
    shared = weights_of(chapter)["cat"]
    length.focus()
    length.press("End")
    assert query_of(chapter)[1] > size
    assert weights_of(chapter)["cat"] > max(0.9, shared)
    length.press("Home")
    assert set(weights_of(chapter).values()) == {0.2}  # a query of length 0: the plain average
    assert query_of(chapter)[0] == 35  # and it remembers where it pointed
    assert chapter.errors_seen == []


def test_a_query_of_length_0_can_be_turned(chapter):
    direction, length = (
        chapter.get_by_label("Direction of the query"),
        chapter.get_by_label("Length of the query"),
    )
    length.fill("0")
    direction.fill("100")
    assert query_of(chapter) == (100, 0)
    length.fill("2")
    assert query_of(chapter) == (100, 2)


def test_along_a_key_at_full_length_its_bar_takes_most(chapter):
    chapter.get_by_label("Length of the query").press("End")
    for word, degrees in {"The": 161, "cat": 35, "sat": 100, "on": -125, "mat": -35}.items():
        chapter.get_by_label("Direction of the query").fill(str(degrees))
        assert weights_of(chapter)[word] > 0.8


def test_the_query_and_its_name_stay_in_the_plane_and_apart(chapter):
    chapter.get_by_label("Length of the query").press("End")
    plane = chapter.locator(".attention-plane").first
    for degrees in range(-180, 181, 15):
        chapter.get_by_label("Direction of the query").fill(str(degrees))
        knob, name = (
            plane.evaluate("""svg => [".attention-knob", ".attention-query-name"].map((part) => {
            const { x, y, width, height } = svg.querySelector(part).getBBox();
            return [x, y, x + width, y + height];
        })""")
        )
        for left, top, right, bottom in (knob, name):
            assert min(left, top) >= 0 and max(right, bottom) <= 320, degrees
        # the box of the name has room above and below its letters, and that of the knob has empty
        # corners
        apart = max(name[0] - knob[2], knob[0] - name[2], name[1] - knob[3], knob[1] - name[3])
        assert apart > -6, degrees


def test_width_matters_only_without_the_scale(chapter):
    before = weights_of(chapter)
    explorer = chapter.locator(".explorer[data-explorer=attention]")
    explorer.get_by_label("Width").press("End")
    assert weights_of(chapter) == before
    explorer.get_by_label("Divide by").press("Space")
    assert max(weights_of(chapter).values()) > 0.99
    spoken = explorer.locator("[aria-live]")
    spoken.get_by_text("saturated").wait_for(state="attached")


def touched_and_back(chapter):
    """Return the table's numbers before and after both sliders went a step on and back."""
    before = chapter.locator(".attention-table tbody").inner_text()
    for name in ("Direction of the query", "Length of the query"):
        slider = chapter.get_by_label(name)
        slider.press("ArrowLeft")
        slider.press("ArrowRight")
    return before, chapter.locator(".attention-table tbody").inner_text()


def test_dragging_moves_the_query_and_its_weights(chapter):
    chapter.locator(".attention").scroll_into_view_if_needed()
    plane = chapter.locator(".attention-plane").first
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    grip = chapter.locator(".attention-grip").bounding_box()
    chapter.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
    chapter.mouse.down()
    chapter.mouse.move(box["x"] + 0.26 * box["width"], box["y"] + 0.84 * box["height"], steps=5)
    chapter.mouse.up()
    weights = weights_of(chapter)
    assert max(weights, key=weights.get) == "on"
    before, after = touched_and_back(chapter)
    assert before == after


def test_the_sliders_say_where_the_query_starts(chapter):
    before, after = touched_and_back(chapter)
    assert before == after
    weights = weights_of(chapter)
    assert weights["cat"] > weights["mat"] > 0.25
    assert weights["cat"] + weights["mat"] > 0.9


def test_on_a_phone_the_bars_come_right_below_the_query(chapter):
    chapter.set_viewport_size({"width": 390, "height": 800})
    query, table, values = (
        chapter.locator(each).bounding_box()
        for each in (".attention-query", ".attention-table", ".attention-values")
    )
    assert table["y"] + table["height"] - query["y"] < 700 and values["y"] > table["y"]


def test_a_map_that_forms_takes_the_steps_of_the_page(chapter):
    rng = np.random.default_rng(0)
    answers, rate, divisor = [2, 2, 1, 2, 5, 4], 0.7, 1.6
    sentences = rng.integers(3, size=(20, 6)) + 3 * np.arange(6)
    w = [rng.normal(size=(18, width)) for width in (4, 4, 18)]
    trained, found = chapter.evaluate(
        """({ w, sentences, answers, divisor, rate }) => {
            const run = { sentences, answers, divisor, rate,
                w: w.map((rows) => rows.map((row) => Float64Array.from(row))) };
            for (let step = 0; step < 3; step += 1) globalThis.explorers.forming.advance(run);
            return [run.w.map((rows) => rows.map((row) => Array.from(row))),
                globalThis.explorers.forming.test(run)];
        }""",
        {
            "w": [each.tolist() for each in w],
            "sentences": sentences.tolist(),
            "answers": answers,
            "divisor": divisor,
            "rate": rate,
        },
    )
    ids, wanted = torch.from_numpy(sentences), torch.from_numpy(sentences[:, answers])
    ours = [torch.tensor(each, requires_grad=True) for each in w]

    def attend():
        query, key, value = (each[ids] for each in ours)
        weights = torch.softmax(query @ key.mT / divisor, dim=-1)
        return weights, weights @ value

    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(attend()[1].flatten(0, 1), wanted.flatten())
        grads = torch.autograd.grad(loss, ours)
        with torch.no_grad():
            for each, grad, its_rate in zip(ours, grads, (rate, rate, 5), strict=True):
                each -= its_rate * grad
    for theirs, each in zip(trained, ours, strict=True):
        assert np.allclose(theirs, each.detach(), rtol=1e-9, atol=1e-12)
    weights, logits = attend()
    right = logits.argmax(dim=-1) == wanted
    assert found["right"] == pytest.approx(right.double().mean().item())
    w_right = weights[:, range(6), answers][~right].detach()
    slopes = np.sort((w_right * (1 - w_right)).numpy())
    assert found["slope"] == pytest.approx(slopes[len(slopes) // 2])


def right_of(forming):
    """Return the share of right answers, in percent, that the explorer of the map says."""
    said = forming.locator(".explorer-verdict").inner_text()
    return float(re.search(r"(\d+) % of the answers", said)[1])


def test_a_map_forms_unless_the_softmax_starts_saturated(chapter):
    forming = chapter.locator(".explorer[data-explorer=forming]")
    train = forming.get_by_role("button", name="Train 300 steps")
    ended = {"timeout": 240_000}  # beside other tests
    train.click()
    forming.get_by_text("After 300 steps").first.wait_for(**ended)
    assert right_of(forming) == 100
    assert forming.locator(".forming-map .explorer-wrong").count() == 0
    forming.get_by_label("Width").fill("4")  # 64
    forming.get_by_label("Spread").fill("5")  # 1
    assert right_of(forming) < 20  # a new start
    forming.get_by_label("Divide by").press("Space")
    train.click()
    forming.get_by_text("After 300 steps").first.wait_for(**ended)
    assert right_of(forming) < 85
    assert "In the typical wrong row" in forming.locator(".explorer-verdict").inner_text()
    assert chapter.errors_seen == []


def test_a_map_goes_by_single_steps_and_back_to_its_start(chapter):
    forming = chapter.locator(".explorer[data-explorer=forming]")
    shown = forming.locator(".forming-map")
    before = shown.inner_text()
    forming.get_by_role("button", name="One step").click()
    assert "After 1 step," in forming.locator(".explorer-verdict").inner_text()
    forming.get_by_role("button", name="Start again").click()
    assert shown.inner_text() == before
    forming.get_by_role("button", name="Other sentence").click()
    assert shown.locator("thead").inner_text() not in before
    forming.get_by_role("button", name="Other random numbers").click()
    assert "Before training" in forming.locator(".explorer-verdict").inner_text()
