"""The explorer of positions: its numbers are the reference's, and keys move it."""

import numpy as np
import pytest

from solutions.ch02_positional_encoding import offset_matrix, sinusoidal_encoding


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch02_positional_encoding.html")
    page.locator(".positions-clock").first.wait_for()
    return page


def compute(page, **state):
    return page.evaluate("state => globalThis.explorers.positions.compute(state)", state)


def similarity_of(page):
    return page.locator(".positions .explorer-verdict").inner_text().split(": ")[-1]


def hands_of(page):
    return [
        [line.get_attribute(name) for name in ("x2", "y2")]
        for line in page.locator(".positions-hand.positions-first").all()
    ]


def test_numbers_equal_the_reference(chapter):
    rng = np.random.default_rng(0)
    for _ in range(30):
        position, offset, d_model = (
            int(rng.integers(129)),
            int(rng.integers(65)),
            int(2 ** rng.integers(2, 10)),
        )
        encoding = sinusoidal_encoding(position + offset + 1, d_model)
        result = compute(chapter, position=position, offset=offset, d_model=d_model)
        assert np.allclose(result["first"], encoding[position], rtol=0, atol=1e-12)
        assert np.allclose(result["second"], encoding[position + offset], rtol=0, atol=1e-12)
        similarity = encoding[position] @ encoding[position + offset] / (d_model / 2)
        assert np.isclose(result["similarity"], similarity, rtol=0, atol=1e-12)
        assert np.isclose(result["curve"][64 + offset], similarity, rtol=0, atol=1e-12)
        assert np.isclose(result["curve"][64 - offset], similarity, rtol=0, atol=1e-12)
        blocks = np.arccos(np.diagonal(offset_matrix(1, d_model))[::2])
        # The arc cosine loses digits near 1.
        assert np.allclose(result["rates"], blocks, rtol=1e-5, atol=1e-7)
        assert np.allclose(np.multiply(result["rates"], result["wavelengths"]), 2 * np.pi)


def test_moving_both_positions_turns_the_hands_and_keeps_the_similarity(chapter):
    before, hands = similarity_of(chapter), hands_of(chapter)
    position = chapter.get_by_role("slider", name="Position")
    position.focus()
    for _ in range(7):
        position.press("ArrowRight")
    assert similarity_of(chapter) == before
    assert hands_of(chapter) != hands
    assert "position 12" in chapter.locator(".positions-key").inner_text()
    spoken = chapter.locator(".positions [aria-live]")
    spoken.get_by_text("positions 12 and 15").wait_for(state="attached")
    assert chapter.errors_seen == []


def test_the_offset_decides_and_four_columns_come_round(chapter):
    offset = chapter.get_by_role("slider", name="Offset")
    offset.focus()
    offset.press("Home")
    assert similarity_of(chapter) == "1.000."
    columns = chapter.get_by_role("slider", name="Columns")
    columns.focus()
    columns.press("Home")
    assert chapter.locator(".positions-clock").count() == 2
    offset.fill("6")
    assert float(similarity_of(chapter).rstrip(".")) > 0.97
    offset.fill("3")
    assert float(similarity_of(chapter).rstrip(".")) < 0.1


def test_pairs_are_chosen_with_arrow_keys(chapter):
    pair = chapter.get_by_role("slider", name="Pair")
    pair.focus()
    pair.press("Home")
    assert chapter.locator(".positions-chosen").inner_text() == "pair 0"
    assert "once round in 6.28" in chapter.locator(".positions .explorer-verdict").inner_text()
    pair.press("End")
    assert chapter.locator(".positions-chosen").inner_text() == "pair 31"
    assert pair.get_attribute("aria-valuetext") == "pair 31, columns 62 and 63"
    key = chapter.locator(".positions-key")
    assert "8 of the 32 pairs have a clock here" in key.inner_text()
    # Fewer clocks than that: the last one stays chosen.
    chapter.get_by_role("slider", name="Columns").press("Home")
    assert chapter.locator(".positions-chosen").inner_text() == "pair 1"
    assert "have a clock here" not in key.inner_text()
    assert chapter.errors_seen == []
