"""The explorers of chapter 1: the arithmetic of the lookup equals the reference, neighbours are the
nearest rows, and a keyboard is enough to use both.
"""

import json

import numpy as np
import pytest

from book.explorers import explore_lookup
from solutions.ch01_embeddings import build_vocabulary, embed, encode, one_hot

SENTENCE = "cats like other cats"


@pytest.fixture
def explorer(page, bare_book):
    page.goto(f"{bare_book}book/ch01_embeddings.html")
    box = page.locator(".explorer[data-explorer=lookup]")
    box.scroll_into_view_if_needed()
    return box


def output_rows(explorer):
    return [
        row.locator("td").all_inner_texts()
        for row in explorer.locator(".lookup-out tbody tr").all()
    ]


def test_a_notebook_starts_from_the_same_table(explorer):
    widget = explore_lookup(embed)
    given = {**widget.fixed, **widget.computed["inputs"]}
    assert given == json.loads(explorer.get_attribute("data-state"))


@pytest.mark.parametrize("seed", range(6))
def test_compute_equals_the_reference(page, explorer, seed):
    rng = np.random.default_rng(seed)
    words = ["cats", "like", "dogs", "constructor", "the"]
    vocabulary = build_vocabulary([" ".join(words)])
    sentence = " ".join(rng.choice([*words, "birds", "toString"], size=rng.integers(0, 9)))
    table = rng.normal(size=(len(vocabulary), rng.integers(1, 5)))
    state = {"sentence": f"  {sentence} ", "vocabulary": vocabulary, "table": table.tolist()}
    seen = page.evaluate("state => globalThis.explorers.lookup.compute(state)", state)

    ids = encode(sentence, vocabulary)
    vectors = embed(ids, table)
    assert seen["ids"] == ids.tolist()
    assert seen["oneHot"] == one_hot(ids, len(vocabulary)).tolist()
    assert seen["lookup"] == vectors.tolist()
    assert seen["product"] == vectors.tolist()  # exact: every other term of the sum is 0
    assert seen["multiplications"] == one_hot(ids, len(vocabulary)).size * table.shape[1]
    assert seen["multiplicationsByZero"] == seen["multiplications"] - vectors.size
    assert seen["copied"] == vectors.size


def test_an_entry_moves_every_place_where_its_word_stands(page, explorer):
    entry = explorer.locator("[data-entry='4,0']")
    entry.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.entry") == "4,1"
    before = output_rows(explorer)
    explorer.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    after = output_rows(explorer)

    moved = [
        (place, column)
        for place, (old, new) in enumerate(zip(before, after, strict=True))
        for column in range(len(old))
        if old[column] != new[column]
    ]
    assert moved == [(0, 1), (3, 1)]
    assert (
        "positions 0 and 3 and nowhere else" in explorer.locator(".explorer-verdict").inner_text()
    )

    explorer.get_by_role("button", name="Reset the table").press("Enter")
    assert output_rows(explorer) == before
    assert page.errors_seen == []


def test_unknown_and_unwritten_words(page, explorer):
    sentence = explorer.get_by_label("Sentence")
    assert sentence.input_value() == SENTENCE
    sentence.fill("cats like birds")
    radio = explorer.get_by_role("radio").nth(2)
    assert radio.locator("xpath=..").inner_text().split() == ["birds", "→", "<unk>", "3"]
    assert radio.is_checked()  # the word that was typed last
    assert (
        "Position 2 is “birds”, an unknown word that is read as <unk>"
        in explorer.locator(".explorer-verdict").inner_text()
    )
    sentence.fill("")
    assert output_rows(explorer) == []
    explorer.get_by_role("button", name="dogs", exact=True).press("Enter")
    assert sentence.input_value() == "dogs"
    assert len(output_rows(explorer)) == 1


def test_positions_are_followed_with_arrow_keys(page, explorer):
    explorer.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowRight")
    said = explorer.locator(".explorer-verdict").inner_text()
    assert "Position 1 is “like”" in said and "row 5 of the table" in said
    assert explorer.locator(".lookup-table tbody tr.lookup-on th").inner_text().split() == [
        "5",
        "like",
    ]


def test_home_and_end_move_in_the_table(page, explorer):
    explorer.locator("[data-entry='4,0']").focus()
    seen = []
    for keys in ("End", "Home", "Control+End", "Control+Home"):
        page.keyboard.press(keys)
        seen.append(page.evaluate("document.activeElement.dataset.entry"))
    assert seen == ["4,2", "4,0", "8,2", "0,0"]


def test_a_long_word_leaves_the_layout_alone(page, explorer):
    explorer.get_by_role("textbox", name="Sentence").fill("cats " + 60 * "m")
    explorer.get_by_role("radio").nth(1).check(force=True)
    hot, entries = (explorer.locator(f".lookup-{name}").bounding_box() for name in ("hot", "table"))
    assert hot["x"] + hot["width"] < entries["x"]
    assert explorer.locator(".lookup-way path").get_attribute("d").count("M") == 2
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert explorer.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_an_entry_says_where_its_row_is_looked_up(page, explorer):
    explorer.locator("[data-entry='4,2']").click()
    verdict = explorer.locator(".explorer-verdict")
    assert "Row “cats” is looked up at positions 0 and 3" in verdict.inner_text()
    explorer.locator("[data-entry='6,1']").click()
    assert "Row “dogs” is not looked up now" in verdict.inner_text()
    explorer.get_by_role("radio").nth(1).check(force=True)
    assert "Position 1 is “like”" in verdict.inner_text()


def test_on_a_phone_the_path_leads_around_the_numbers(page, explorer):
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(
        "document.querySelector('.lookup-way path').getAttribute('d').includes('V')"
    )
    hot, entries = (explorer.locator(f".lookup-{name} tbody") for name in ("hot", "table"))
    path = explorer.locator(".lookup-way path").bounding_box()
    assert path["x"] < entries.bounding_box()["x"]
    inside = hot.bounding_box()
    assert path["x"] + path["width"] > inside["x"] + inside["width"]
    assert explorer.locator(".lookup-sign").first.is_visible()


@pytest.fixture
def neighbours(page, bare_book):
    page.goto(f"{bare_book}book/ch01_embeddings.html")
    box = page.locator(".explorer[data-explorer=neighbours]")
    box.scroll_into_view_if_needed()
    return box


def test_neighbours_are_the_nearest_rows(page, neighbours):
    state = json.loads(neighbours.get_attribute("data-state"))
    for training, word in ((0, 3), (1, 200)):
        table = np.array(state["tables"][training], dtype=float)
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        cosines = np.delete(unit @ unit[word], word)
        seen = page.evaluate(
            "state => globalThis.explorers.neighbours.compute(state)",
            {"tables": state["tables"], "word": word, "training": training},
        )
        assert np.allclose([each["cosine"] for each in seen], np.sort(cosines)[::-1])
        assert word not in [each["id"] for each in seen]


def test_one_goes_on_from_a_neighbour(page, neighbours):
    assert neighbours.locator("tbody th").first.inner_text() == "king"
    second = neighbours.get_by_role("button").nth(1)
    name = second.inner_text()
    second.press("Enter")
    assert neighbours.locator("tbody th").first.inner_text() == name
    assert neighbours.locator("select option:checked").inner_text() == name
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"
    before = neighbours.locator("tbody").inner_text()
    neighbours.get_by_role("radio").nth(1).check(force=True)
    assert neighbours.locator("tbody").inner_text() != before
    assert page.errors_seen == []
