"""The explorer of beam search: what it shows is the reference's search, and keys move it."""

import json
import math

import numpy as np
import pytest
import torch

from solutions.ch09_training import beam_search, beam_step


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch09_translating.html")
    page.locator(".beam-box").first.wait_for()
    return page


@pytest.fixture
def beam(chapter):
    return chapter.locator(".explorer[data-explorer=beam]")


def state_of(page):
    return json.loads(page.locator(".explorer[data-explorer=beam]").get_attribute("data-state"))


def reader(rows, vocab_size):
    """Return the `step_log_probs` that the rows of an explorer's state are."""
    known = {tuple(ids): (words, log_probs) for ids, words, log_probs in rows}

    def step_log_probs(prefixes):
        table = torch.full((len(prefixes), vocab_size), -math.inf, dtype=torch.float64)
        for row, prefix in zip(table, prefixes.tolist(), strict=True):
            words, log_probs = known[tuple(prefix[1:])]
            row[words] = torch.tensor(log_probs, dtype=torch.float64)
        return table

    return step_log_probs


def search(step_log_probs, beam_size, max_len):
    """Return what the reference has alive after each step, and what has ended."""
    live, finished, levels = [([1], 0.0)], [], [[0.0]]
    while live and len(live[0][0]) < max_len:
        live, ended = beam_step(step_log_probs, live, 2, beam_size)
        levels.append([log_prob for _, log_prob in live])
        finished += ended
    return levels, finished


@pytest.mark.parametrize("sentence", range(4))
def test_each_search_is_the_references(chapter, beam, sentence):
    """Hypotheses are compared by their log-probabilities: those that are equally likely may change
    places.
    """
    state = state_of(chapter)
    rows = state["sentences"][sentence]["rows"]
    step_log_probs = reader(rows, len(state["vocabulary"]))
    for beam_size in range(1, 6):
        levels, finished = search(step_log_probs, beam_size, state["max_len"])
        for length_penalty in (tenths / 10 for tenths in range(11)):
            settings = {
                "beam_size": beam_size,
                "max_len": state["max_len"],
                "length_penalty": length_penalty,
            }
            seen = chapter.evaluate(
                "each => explorers.beam.compute(each)", {"rows": rows, **settings}
            )
            assert len(seen["levels"]) == len(levels)
            for shown, expected in zip(seen["levels"], levels, strict=True):
                assert np.allclose([each["log_prob"] for each in shown], expected, atol=1e-5)
            assert np.allclose(
                sorted(each["log_prob"] for each in seen["finished"]),
                sorted(each for _, each in finished),
                atol=1e-5,
            )
            for each in seen["finished"]:
                known = step_log_probs(torch.tensor([[1, *each["ids"][:-1]]]))[0, 2]
                assert each["ids"][-1] == 2 and known > -math.inf
                length = len(each["ids"])
                assert math.isclose(
                    each["score"], each["log_prob"] / ((5 + length) / 6) ** length_penalty
                )
            scores = [
                log_prob / ((5 + len(ids) - 1) / 6) ** length_penalty for ids, log_prob in finished
            ]
            assert math.isclose(
                seen["best"]["score"], max(scores, default=seen["best"]["score"]), abs_tol=1e-5
            )
            result = [index for index in seen["best"]["ids"] if index != 2]
            assert result == beam_search(step_log_probs, **settings)


def test_the_rows_are_enough_and_no_more(chapter, beam):
    """Each beginning that a beam asks about is there, and none that no beam asks about; no row is
    longer than needed.
    """
    state = state_of(chapter)
    assert len(json.dumps(state)) < 60_000
    for sentence in state["sentences"]:
        asked = set()
        step_log_probs = reader(sentence["rows"], len(state["vocabulary"]))

        def noted(prefixes, asked=asked, step_log_probs=step_log_probs):
            asked.update(tuple(prefix[1:]) for prefix in prefixes.tolist())
            return step_log_probs(prefixes)

        for beam_size in range(1, 6):
            beam_search(noted, beam_size=beam_size, max_len=state["max_len"])
        assert asked == {tuple(ids) for ids, _, _ in sentence["rows"]}
        assert {len(words) for _, words, _ in sentence["rows"]} == {10}


def fates(beam):
    return beam.locator(".beam-ranked tbody td:last-child").all_inner_texts()


def test_keys_walk_through_a_search(chapter, beam):
    beam.get_by_label("Beam size").fill("3")
    button = beam.get_by_role("button", name="Next step")
    button.focus()
    boxes = [beam.locator(".beam-box").count()]
    steps = int(beam.get_by_role("slider", name="Step").get_attribute("max"))
    for _ in range(steps - 1):
        assert fates(beam).count("lives") == 3
        assert len(fates(beam)) == 6
        chapter.keyboard.press("Enter")
        boxes.append(beam.locator(".beam-box").count())
    assert boxes == [1 + 3 * step for step in range(1, steps + 1)]
    assert button.is_disabled()
    assert "wins" in beam.locator(".explorer-verdict").inner_text()
    assert beam.locator(".beam-ended-list .beam-won").count() == 1
    said = beam.locator(".explorer-verdict").inner_text()
    beam.locator("[aria-live]").get_by_text(said).wait_for(state="attached")
    chapter.keyboard.press("Enter")  # the focus has moved on to the other button
    assert beam.locator(".beam-won").count() == 0
    slider = beam.get_by_role("slider", name="Step")
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext") == f"step 1 of {steps}"
    assert chapter.errors_seen == []


def test_who_is_at_the_end_stays_there(beam):
    slider = beam.get_by_role("slider", name="Step")
    beam.get_by_label("Sentence").select_option("3")
    beam.get_by_label("Beam size").fill("1")
    slider.press("End")
    steps = slider.get_attribute("max")
    beam.get_by_label("Beam size").fill("4")
    assert steps < slider.input_value() == slider.get_attribute("max")
    assert beam.locator(".beam-ended-list .beam-won").count() == 1
    beam.get_by_label("Sentence").select_option("1")
    assert slider.input_value() == "1"


@pytest.mark.parametrize("width", [390, 1280])
def test_no_tree_is_cut_off(chapter, beam, width):
    chapter.set_viewport_size({"width": width, "height": 844})
    beam.get_by_label("Beam size").fill("5")
    for sentence in range(4):
        beam.get_by_label("Sentence").select_option(str(sentence))
        beam.get_by_role("slider", name="Step").press("End")
        assert beam.evaluate("element => element.scrollWidth <= element.clientWidth")
        outside = beam.locator(".beam-tree svg").evaluate("""svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll(".beam-box")].filter((each) => {
                const box = each.getBoundingClientRect();
                return box.left < frame.left || box.right > frame.right + 1
                    || box.top < frame.top || box.bottom > frame.bottom + 1;
            }).length;
        }""")
        assert outside == 0
        room = """texts => texts.map((text) => {
            const before = [...text.parentNode.children].slice(0, [...text.parentNode.children].indexOf(text));
            return before.findLast((each) => each.matches(".beam-box, .beam-end")).getBBox().width - text.getBBox().width;
        })"""
        assert min(beam.locator(".beam-node text").evaluate_all(room)) > 0
