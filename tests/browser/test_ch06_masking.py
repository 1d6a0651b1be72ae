"""The explorer of masks: its numbers are the reference's, and hands and keys paint it."""

import numpy as np
import pytest
import torch

from solutions.ch06_masking import causal_mask, masked_attention


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch06_masking.html")
    page.locator(".masking-gradients").wait_for()
    return page


def compute(page, **state):
    return page.evaluate("state => globalThis.explorers.masking.compute(state)", state)


def random_state(rng):
    length = int(rng.integers(2, 7))
    mask = rng.random((length, length)) < 0.6
    mask[rng.integers(length)] = rng.random() < 0.5  # a row that is empty or full
    matrices = {name: rng.standard_normal((3, 2)).tolist() for name in ("w_q", "w_k", "w_v")}
    x = (2 * rng.standard_normal((length, 3))).tolist()
    return {"x": x, **matrices, "mask": mask.tolist(), "late": bool(rng.integers(2))}


def attention_of(state):
    """Return a function from x to (output, weights), as the state describes it."""
    w_q, w_k, w_v = (
        torch.tensor(state[name], dtype=torch.float64) for name in ("w_q", "w_k", "w_v")
    )
    mask = torch.tensor(state["mask"])

    def attention(x):
        if not state["late"]:
            return masked_attention(x @ w_q, x @ w_k, x @ w_v, mask)
        _, weights = masked_attention(x @ w_q, x @ w_k, x @ w_v)
        return weights * mask @ (x @ w_v), weights * mask

    return attention


def mask_of(page):
    pressed = [
        button.get_attribute("aria-pressed") == "true"
        for button in page.locator("[data-cell]").all()
    ]
    return np.array(pressed).reshape(5, 5)


def numbers_of(page, table):
    rows = page.locator(f".masking-{table} tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("td").all()] for row in rows]


def cell(page, row, column):
    return page.locator(f"[data-cell='{row},{column}']")


def choose(page, preset):
    page.get_by_role("radio", name=preset, exact=True).check(force=True)


def test_numbers_equal_the_reference(chapter):
    rng = np.random.default_rng(0)
    for _ in range(40):
        state = random_state(rng)
        attention, x = attention_of(state), torch.tensor(state["x"], dtype=torch.float64)
        output, weights = attention(x)
        jacobian = torch.autograd.functional.jacobian(
            lambda x, attention=attention: attention(x)[0], x
        )
        sizes = (
            jacobian.square().sum(dim=(1, 3)).sqrt()
        )  # (outputs, d_v, inputs, d_model) -> (outputs, inputs)
        result = compute(chapter, **state)
        assert np.allclose(result["weights"], weights, rtol=1e-9, atol=1e-12)
        assert np.allclose(result["output"], output, rtol=1e-9, atol=1e-12)
        assert np.allclose(result["gradients"], sizes, rtol=1e-8, atol=1e-9)
        assert not np.array(result["weights"])[~np.array(state["mask"])].any()


def test_presets_are_the_masks_of_the_chapter(chapter):
    causal = causal_mask(5)[0, 0].numpy()
    words = np.array([[True, True, True, True, False]])
    expected = {
        "none": causal | True,
        "causal": causal,
        "padding": words.repeat(5, axis=0),
        "both": causal & words,
    }
    for preset, mask in expected.items():
        choose(chapter, preset)
        assert np.array_equal(mask_of(chapter), mask), preset
    choose(chapter, "empty row")
    assert mask_of(chapter).any(axis=1).tolist() == [True, True, False, True, True]
    assert (
        set(numbers_of(chapter, "weights")[2]) == set(numbers_of(chapter, "gradients")[2]) == {"0"}
    )
    assert (
        "“gatto” may attend to nothing"
        in chapter.locator(".masking .explorer-verdict").inner_text()
    )
    assert chapter.errors_seen == []


def test_after_the_softmax_the_weights_are_0_and_the_future_still_leaks(chapter):
    choose(chapter, "causal")
    verdict, leaks = chapter.locator(".masking .explorer-verdict"), chapter.locator(".masking-leak")
    assert "No output is moved by a later word" in verdict.inner_text()
    assert leaks.count() == 0
    weights = numbers_of(chapter, "weights")
    chapter.get_by_label("Mask after the softmax").check()
    late = numbers_of(chapter, "weights")
    assert [cell == "0" for row in weights for cell in row] == [
        cell == "0" for row in late for cell in row
    ]
    assert [row[5] for row in weights] == ["1.00"] * 5
    assert all(float(row[5]) < 1 for row in late[:4])
    assert leaks.count() == 10
    assert "A leak" in verdict.inner_text()
    spoken = chapter.locator(".masking [aria-live]")
    spoken.get_by_text("A leak").wait_for(state="attached")


def test_keys_walk_and_toggle(chapter):
    choose(chapter, "causal")
    assert chapter.locator("[data-cell][tabindex='0']").count() == 1
    cell(chapter, 0, 0).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        chapter.keyboard.press(key)
    assert chapter.evaluate("document.activeElement.dataset.cell") == "1,2"
    chapter.keyboard.press("Space")
    assert mask_of(chapter)[1, 2]
    assert chapter.locator(".masking-presets input:checked").count() == 0  # a mask of one's own
    assert (
        "“gatto” moves the output of “il”"
        in chapter.locator(".masking .explorer-verdict").inner_text()
    )
    chapter.keyboard.press("Enter")
    assert not mask_of(chapter)[1, 2]
    for keys, place in (
        ("End", "1,4"),
        ("Home", "1,0"),
        ("Control+End", "4,4"),
        ("Control+Home", "0,0"),
        ("ArrowUp", "0,0"),
    ):
        chapter.keyboard.press(keys)
        assert chapter.evaluate("document.activeElement.dataset.cell") == place
    assert chapter.errors_seen == []


def test_the_mouse_toggles_and_paints(chapter):
    choose(chapter, "none")
    cell(chapter, 3, 1).click()
    assert not mask_of(chapter)[3, 1]
    cell(chapter, 3, 1).click()
    assert mask_of(chapter).all()
    cell(chapter, 1, 0).scroll_into_view_if_needed()
    cell(chapter, 1, 0).hover()
    chapter.mouse.down()
    for column in range(1, 5):
        cell(chapter, 1, column).hover()
    chapter.mouse.up()
    cell(chapter, 2, 0).hover()  # the mouse is up again: nothing is painted
    assert mask_of(chapter).sum(axis=1).tolist() == [5, 0, 5, 5, 5]


def test_a_finger_taps(chapter):
    context = chapter.context.browser.new_context(
        has_touch=True, viewport={"width": 390, "height": 844}
    )
    phone = context.new_page()
    phone.goto(chapter.url)
    cell(phone, 2, 4).tap()
    assert np.argwhere(~mask_of(phone)).tolist() == [[2, 4]]
    cell(phone, 2, 4).tap()
    assert mask_of(phone).all()
    context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_tables_are_equally_wide(chapter, width):
    chapter.set_viewport_size({"width": width, "height": 844})
    tables = [table.bounding_box() for table in chapter.locator(".masking-table").all()]
    assert len({round(table["width"]) for table in tables}) == 1
