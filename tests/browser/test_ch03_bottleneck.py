"""The explorer of copying: its numbers are the reference's and the page's own, and keys move it."""

import itertools

import numpy as np
import pytest

from book.experiments import measurements
from book.experiments.copying import copy_task
from solutions.ch03_bottleneck import additive_attention

LENGTH, SIZE, WORD = "Words read", "Numbers in the one vector", "Word to look at"
BUDGET = "Steps of training"


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch03_bottleneck.html")
    page.locator(".copying-cell").first.wait_for()
    return page


def state_of(page):
    return page.locator(".explorer[data-explorer=copying]").evaluate(
        "element => JSON.parse(element.dataset.state)"
    )


def compute(page, state, changes):
    """Return what the explorer computes of a state with each of many changes."""
    return page.evaluate(
        """([state, changes]) =>
            changes.map((each) => globalThis.explorers.copying.compute({ ...state, ...each }))""",
        [state, changes],
    )


def verdict_of(page):
    return page.locator(".copying .explorer-verdict").inner_text()


def reference_weights(queries, keys, v):
    """Attend with the reference; queries and keys have been projected already."""
    same = np.eye(len(v))
    return [additive_attention(query, keys, same, same, v)[1] for query in queries]


def test_numbers_equal_the_reference(chapter):
    state = state_of(chapter)
    sizes, budgets = len(state["sizes"]), len(state["budgets"])
    lengths = range(1, len(state["sentences"][0]) + 1)
    forms = itertools.product(range(budgets), range(sizes), range(len(state["sentences"])))
    for budget, size, sentence in forms:
        at = {"vector": budget * sizes + size, "attention": budget}
        machine = state["attention"][budget][sentence]
        chosen = {"size": size, "budget": budget, "sentence": sentence}
        asked = [{"seq_len": seq_len, **chosen} for seq_len in lengths]
        for seq_len, result in zip(lengths, compute(chapter, state, asked), strict=True):
            queries, keys = (
                np.array(machine[name][place])
                for name, place in (("queries", seq_len - 1), ("keys", slice(seq_len)))
            )
            expected = reference_weights(queries, keys, np.array(machine["v"]))
            assert np.allclose(result["weights"], expected, rtol=1e-9, atol=1e-12)
            read = state["sentences"][sentence][:seq_len]
            for kind in ("vector", "attention"):
                written = state[kind][at[kind]][sentence]["written"][seq_len - 1]
                assert result["right"][kind] == [
                    one == other for one, other in zip(written, read, strict=True)
                ]
                shares = np.array(state["curves"][kind][at[kind]])[:, seq_len - 1]
                expected = {"mean": shares.mean(), "low": shares.min(), "high": shares.max()}
                assert result["shares"][kind] == pytest.approx(expected)


def test_scores_of_any_size_stay_finite(chapter):
    rng = np.random.default_rng(0)
    state = state_of(chapter)
    queries, keys, v = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), 1e4 * rng.normal(size=3)
    written = [[0], [0, 0]]
    machine = {
        "queries": [[], queries.tolist()],
        "keys": keys.tolist(),
        "v": v.tolist(),
        "written": written,
    }
    asked = {"attention": [[machine]], "seq_len": 2, "size": 0, "sentence": 0}
    (result,) = compute(chapter, state, [asked])
    assert np.allclose(result["weights"], reference_weights(queries, keys, v), atol=1e-12)


def test_the_page_shows_what_was_recorded(chapter):
    state = state_of(chapter)
    sentence = [state["words"][token] for token in state["sentences"][0]]
    assert sentence == copy_task.SENTENCE.split()
    assert state["trained"] == copy_task.LONGEST_TRAINED
    runs = measurements.load("copy_task")["runs"]
    for kind, name in copy_task.KINDS.items():
        sizes = state["sizes"] if kind == "vector" else [state["attention_size"]]
        forms = itertools.product(state["budgets"], sizes)
        for (budget, size), curves in zip(forms, state["curves"][kind], strict=True):
            recorded = copy_task.shares(runs, name, budget)[size]  # (seeds, lengths)
            assert len(recorded) >= 3
            assert np.allclose(curves, recorded, atol=6e-4)


def test_it_begins_where_attention_copies_what_one_vector_does_not(chapter):
    said = verdict_of(chapter)
    assert said.startswith("Of 10 words, one vector copies 5, and attention with 16 numbers 10.")
    wrong = chapter.locator(".copying-chips .copying-wrong")
    assert wrong.count() == 5


def test_after_a_word_that_came_twice_attention_goes_on_at_the_other_place(chapter):
    """As the page says: at twenty words it copies what follows the first "a" once more."""
    chapter.get_by_role("slider", name=LENGTH).fill("20")
    read = words_of_copying(chapter)
    written = chapter.locator(".copying-chips").last.locator("> *").all_inner_texts()
    assert written[:10] == read[:10] and written[10:12] == ["a", "a"]
    assert written[11:18] == read[3:10] == ["a", "dog", "is", "on", "sat", "saw", "is"]
    chapter.get_by_role("slider", name=WORD).fill("12")
    assert "To write word 12, attention looks most at word 5, “dog”" in verdict_of(chapter)


def test_keys_lengthen_the_sentence_and_both_copies(chapter):
    length = chapter.get_by_role("slider", name=LENGTH)
    length.focus()
    length.press("End")
    rows = chapter.locator(".copying-chips").all()
    assert [row.locator("> *").count() for row in rows] == [20, 20, 20]
    assert rows[1].locator(".copying-wrong").count() > rows[2].locator(".copying-wrong").count()
    assert chapter.locator(".copying-cell").count() == 400
    assert verdict_of(chapter).startswith("Of 20 words")
    assert "attention with 16 numbers" in verdict_of(chapter)
    length.press("Home")
    assert chapter.locator(".copying-cell").count() == 1
    assert "with 100% of the weight" in verdict_of(chapter)
    spoken = chapter.locator(".copying [aria-live]")
    spoken.get_by_text("Of 1 word,").wait_for(state="attached")
    assert chapter.errors_seen == []


def test_the_word_looked_at_stays_within_the_sentence(chapter):
    word = chapter.get_by_role("slider", name=WORD)
    word.focus()
    word.press("End")
    assert word.get_attribute("aria-valuetext") == "word 10 of 10"
    assert "To write word 10" in verdict_of(chapter)
    chapter.get_by_role("slider", name=LENGTH).fill("3")
    assert word.get_attribute("aria-valuetext") == "word 3 of 3"
    assert chosen_in(chapter) == ["mat"]


def chosen_in(page):
    """Return the words of attention's copy that are marked."""
    marked = page.locator(".copying-chips").last.locator(".copying-chosen").all()
    return [word.inner_text() for word in marked]


def test_pointing_at_a_written_word_shows_where_attention_looked(chapter):
    written = chapter.locator(".copying-chips").last.locator("> *")
    read = chapter.locator(".copying-chips").first.locator("> *")
    for place in (1, 5):
        written.nth(place).hover()
        assert f"To write word {place + 1}," in verdict_of(chapter)
        assert chosen_in(chapter) == [written.nth(place).inner_text()]
        shares = read.evaluate_all(
            "words => words.map((word) => Number(word.style.getPropertyValue('--share')))"
        )
        assert sum(shares) == pytest.approx(1, abs=0.01)
        said = words_of_copying(chapter)[int(np.argmax(shares))]
        assert f"“{said}”" in verdict_of(chapter)
    chapter.locator(".copying-cell[data-row='2']").first.click()
    assert "To write word 3," in verdict_of(chapter)
    assert (
        chapter.get_by_role("slider", name=WORD).get_attribute("aria-valuetext") == "word 3 of 10"
    )
    assert chapter.errors_seen == []


def words_of_copying(page):
    return page.locator(".copying-chips").first.locator("> *").all_inner_texts()


def test_another_sentence_comes_and_in_the_end_the_first_one_again(chapter):
    first, count = words_of_copying(chapter), len(state_of(chapter)["sentences"])
    seen = []
    for _ in range(count):
        chapter.get_by_role("button", name="Another sentence").click()
        seen.append(words_of_copying(chapter))
    assert seen[-1] == first and len({" ".join(each) for each in seen}) == count
    assert chapter.errors_seen == []


def test_a_larger_state_raises_the_curve_of_one_vector(chapter):
    chapter.get_by_role("slider", name=LENGTH).fill("8")
    size = chapter.get_by_role("slider", name=SIZE)
    dot = chapter.locator(".copying-dot.copying-vector")
    size.fill("0")
    small = float(dot.get_attribute("cy"))
    size.fill("2")
    assert size.get_attribute("aria-valuetext") == "64 numbers"
    assert float(dot.get_attribute("cy")) < small


def test_more_steps_raise_both_curves(chapter):
    chapter.get_by_role("slider", name=LENGTH).fill("10")
    budget = chapter.get_by_role("slider", name=BUDGET)
    heights = {}
    for place, said in enumerate(("400 steps", "4,000 steps", "20,000 steps")):
        budget.fill(str(place))
        assert budget.get_attribute("aria-valuetext") == said
        assert f"after {said}" in verdict_of(chapter)
        for kind in ("vector", "attention"):
            dot = chapter.locator(f".copying-dot.copying-{kind}")
            heights.setdefault(kind, []).append(float(dot.get_attribute("cy")))
    for up in heights.values():  # the y axis of an SVG points down
        assert up[0] > up[1] >= up[2]
    assert chapter.errors_seen == []


@pytest.mark.parametrize("width", [390, 1280])
def test_no_word_leaves_its_picture(chapter, width):
    chapter.set_viewport_size({"width": width, "height": 844})
    chapter.get_by_role("slider", name=LENGTH).fill("20")
    for svg in chapter.locator(".explorer[data-explorer=copying] svg").all():
        outside = svg.evaluate("""svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll("text")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.left < frame.left - 1 || box.right > frame.right + 1
                    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
            }).map((text) => text.textContent);
        }""")
        assert outside == []


@pytest.fixture
def bend(page, bare_book):
    page.goto(bare_book + "book/ch03_bottleneck.html")
    page.locator(".bend-mark").first.wait_for()
    return page


def test_the_bend_computes_what_the_reference_does(bend):
    explorer = bend.locator(".explorer[data-explorer=bend]")
    state = explorer.evaluate("element => JSON.parse(element.dataset.state)")
    keys, w_query, v = (np.array(state[name], float) for name in ("keys", "w_query", "v"))
    queries = np.random.default_rng(0).uniform(-1, 1, (5, 2)).tolist()
    found = bend.evaluate(
        """([state, queries]) => queries.map((query) =>
            globalThis.explorers.bend.compute({ ...state, query, straight: false }))""",
        [state, queries],
    )
    for query, result in zip(queries, found, strict=True):
        context, weights = additive_attention(np.array(query), keys, w_query, np.eye(2), v)
        assert np.allclose(result["weights"], weights) and np.allclose(result["context"], context)


def test_the_query_decides_only_with_the_tanh(bend):
    """As the page says of four queries: the opposite of a query looks at the same word."""
    first, second = (
        bend.get_by_role("slider", name=f"Query, {which} number") for which in ("first", "second")
    )
    verdict = bend.locator(".bend .explorer-verdict")
    queries = (0, 10), (10, 0), (-10, 0), (0, 0)
    cat, your, again = (
        "“cat” gets the most: 0.68",
        "“your” gets the most: 0.68",
        "“your” gets the most: 0.67",
    )
    for without, seen in (
        (False, [cat, your, again, "share"]),
        (True, ["“your” and “cat” share the first place: 0.49"] * 4),
    ):
        box = bend.get_by_role("checkbox", name="without the tanh")
        box.set_checked(without)
        for query, said in zip(queries, seen, strict=True):
            first.fill(str(query[0]))
            second.fill(str(query[1]))
            assert said in verdict.inner_text()
            apart = [float(x) for x in bend.locator(".bend figcaption span").all_inner_texts()]
            assert (apart == [2, 2]) == without
    assert bend.errors_seen == []
