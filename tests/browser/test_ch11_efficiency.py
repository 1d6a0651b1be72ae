"""The explorer of tiles: what it knows of the keys is what the course's own functions know, and it is
stepped through with the keyboard.
"""

import json
import math

import numpy as np
import pytest
import torch

from solutions.ch11_efficiency import tiled_attention


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch11_efficiency.html")
    page.locator(".tiles-scores").wait_for()
    return page


def state_of(page):
    return json.loads(page.locator("[data-explorer=tiles]").get_attribute("data-state"))


def computed(page, **state):
    return page.evaluate(
        """state => {
            const element = document.querySelector("[data-explorer=tiles]");
            const { scores, values } = JSON.parse(element.dataset.state);
            const found = globalThis.explorers.tiles.compute({ scores, values, ...state });
            // JSON knows no infinity
            return { ...found, running: found.running.map(({ maximum, total, average }) =>
                [maximum === -Infinity ? "none" : maximum, total, average]) };
        }""",
        state,
    )


def said(page):
    return page.locator(".tiles .explorer-verdict").inner_text()


def by_the_course(scores, values, block, keys, causal):
    """Return what the course's attention in tiles makes of the first keys of a table of scores.

    Scores are had from queries that are rows of the table, and keys that are unit vectors.
    """
    scores, values = np.array(scores), np.array(values)
    width = scores.shape[1]
    query = torch.from_numpy(scores) * math.sqrt(width)
    key, value = torch.eye(width, dtype=torch.float64), torch.from_numpy(values)[:, None]
    if not causal:
        output, sums = tiled_attention(query, key[:keys], value[:keys], block)
    else:
        output, sums = tiled_attention(query, key, value, block, causal=True)
    return output[:, 0].numpy(), sums.numpy()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("block", [1, 3, 8])
def test_the_last_step_is_the_output_of_the_course_s_attention(chapter, block, causal):
    state = state_of(chapter)
    found = computed(chapter, block=block, step=99, causal=causal)
    assert found["done"] and found["blocks"] == math.ceil(8 / block)
    maximum, total, average = map(np.array, zip(*found["running"], strict=True))
    output, sums = by_the_course(state["scores"], state["values"], block, 8, causal)
    assert average == pytest.approx(output, abs=1e-9)
    assert maximum + np.log(total) == pytest.approx(sums, abs=1e-9)


def test_a_step_on_the_way_knows_the_keys_so_far(chapter):
    state = state_of(chapter)
    found = computed(chapter, block=3, step=2, causal=False)
    maximum, total, average = map(np.array, zip(*found["running"], strict=True))
    output, sums = by_the_course(state["scores"], state["values"], 2, 6, causal=False)
    assert average == pytest.approx(output, abs=1e-9)
    assert maximum + np.log(total) == pytest.approx(sums, abs=1e-9)
    assert maximum == pytest.approx(np.array(state["scores"])[:, :6].max(axis=1))
    assert (found["tile"], found["table"]) == (12, 32)


def test_it_is_stepped_through_with_the_keyboard(chapter):
    onward = chapter.get_by_role("button", name="Next block")
    assert "Block 1 of 3" in said(chapter)
    onward.focus()
    for number in (2, 3):
        chapter.keyboard.press("Enter")
        assert f"Block {number} of 3" in said(chapter)
    assert "the averages are the output" in said(chapter)
    # the button that can do no more hands the keyboard to the other one
    assert chapter.evaluate("document.activeElement.textContent") == "Back"
    chapter.keyboard.press("Enter")
    assert "Block 2 of 3" in said(chapter)
    assert chapter.errors_seen == []


def test_a_tile_that_has_gone_by_is_no_longer_shown(chapter):
    now, gone, later = (
        chapter.locator(f".tiles-scores .tiles-{name}") for name in ("now", "gone", "later")
    )
    assert (now.count(), gone.count(), later.count()) == (12, 0, 20)
    chapter.get_by_role("button", name="Next block").click()
    assert (now.count(), gone.count(), later.count()) == (12, 12, 8)
    assert set(gone.all_inner_texts()) == {"·"}


def described(pairs):
    """Return maximum, total and average of pairs of a score and a value."""
    maximum = max(score for score, _ in pairs)
    shares = [math.exp(score - maximum) for score, _ in pairs]
    average = sum(share * value for share, (_, value) in zip(shares, pairs, strict=True))
    return maximum, sum(shares), average / sum(shares)


def test_the_merge_of_a_step_is_shown_in_full(chapter):
    state = state_of(chapter)
    chapter.get_by_label("Merge shown for the query").select_option("and")
    merged = chapter.locator(".tiles-merge tbody tr")

    def cells(row):
        return [
            float(text.replace("−", "-"))
            for text in merged.nth(row).locator("td").all_inner_texts()
            if text
        ]

    assert merged.first.locator("td").all_inner_texts() == ["−∞", "0.00", "0.00", "–"]
    chapter.get_by_role("button", name="Next block").click()
    pairs = list(zip(state["scores"][2], state["values"], strict=True))
    both = described(pairs[:6])
    for row, part in enumerate((pairs[:3], pairs[3:6])):
        maximum, total, average = described(part)
        left = math.exp(maximum - both[0]) * total
        assert cells(row) == pytest.approx([maximum, total, left, average], abs=0.0051)
    assert cells(2) == pytest.approx(both, abs=0.0051)
    lefts = [cells(row)[2] for row in (0, 1)]
    assert sum(lefts) == pytest.approx(both[1], abs=0.011)


def test_a_block_of_which_a_query_sees_nothing_changes_nothing(chapter):
    blocks = chapter.get_by_role("slider", name="Keys in a block")
    blocks.press("Home")
    blocks.press("ArrowRight")
    chapter.get_by_role("checkbox", name="causal: no query sees a later word").press("Space")
    for _ in range(3):
        chapter.get_by_role("button", name="Next block").click()
    before, fresh, both = (
        row.locator("td").all_inner_texts()
        for row in chapter.locator(".tiles-merge tbody tr").all()
    )
    assert fresh == ["−∞", "0.00", "0.00", "–"]
    assert both == [*before[:2], "", before[3]] and before[1] == before[2]


def test_another_block_size_begins_again(chapter):
    chapter.get_by_role("button", name="Next block").click()
    chapter.get_by_role("slider", name="Keys in a block").press("End")
    assert "Block 1 of 1. 32 scores are in memory" in said(chapter)
    chapter.get_by_role("checkbox", name="causal: no query sees a later word").press("Space")
    assert chapter.locator(".tiles-scores .tiles-now").filter(has_text="−∞").count() == 6
