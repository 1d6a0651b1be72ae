"""Chapter 13: the numbers that a reader sees are those of the records, and the page's own small
examples come out as the text says.
"""

import json
import re

import numpy as np
import pytest

from autograder.course import ROOT, pages_of
from book.experiments import measurements
from book.experiments.after_2017 import lora


@pytest.fixture
def chapter(without_scripts, built_book):
    without_scripts.goto(built_book + "book/ch13_family.html")
    return without_scripts


@pytest.fixture
def since(without_scripts, built_book):
    without_scripts.goto(built_book + "book/ch13_since_2017.html")
    return without_scripts


@pytest.fixture
def ranks(page, bare_book):
    page.goto(bare_book + "book/ch13_since_2017.html")
    return page


def runs(name, **wanted):
    found = measurements.load(name)["runs"]
    return [run for run in found if all(run.get(key) == value for key, value in wanted.items())]


def shown(numbers, factor=100, digits=0):
    """Write numbers as the page does: "8 to 18"."""
    low, high = (f"{factor * number:.{digits}f}" for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def text(page):
    return re.sub(r"\s+", " ", page.locator("article").inner_text())


def output(page, word):
    """Return the lines of the first output that has a word."""
    return (
        page.locator(".cell_output .output").filter(has_text=word).first.inner_text().splitlines()
    )


def test_the_gaps_are_those_that_were_measured(chapter):
    rows = {
        "model": "the model",
        "both": "the word seen most often between both neighbours",
        "left": "the word that most often follows the one to the left",
        "nothing": "always the most frequent word",
    }
    for key, name in rows.items():
        row = chapter.get_by_role("row").filter(has_text=re.compile(f"^\\s*{name}\\s"))
        found = shown([run[key] for run in runs("gap_model")])
        assert row.get_by_role("cell").all_inner_texts() == [name, found]


def test_the_answer_follows_the_examples_in_the_prompt(chapter):
    lines = [line.split()[-3:] for line in output(chapter, "a>f b>c a>f d>h b>")]
    letters = [letter for letter, _, _ in lines]
    assert letters[:2] == ["c", "e"] and letters[3] == "h" and letters[4] != "e"
    sure = [float(share.strip("(%")) for _, share, _ in lines]
    assert min(sure[:2]) > 50 > max(sure[2:])


def test_what_the_prompt_teaches_is_the_record(chapter):
    rest = [(run["right"][-1], run["shown"][-1]) for run in runs("in_context", texts="mappings")]
    found = shown([(right - (1 - seen) / 10) / seen for right, seen in rest])
    assert f"after seven the models find {found} %" in text(chapter)
    longest = shown([run["looked_up"] for run in runs("in_context_longer", steps=12_800)], 100, 1)
    assert f"with 12,800 they find {longest} % of all that was shown" in text(chapter)


def test_two_heads_look_at_one_place_each(page, built_book):
    page.goto(built_book + "book/ch13_family.html")
    page.get_by_text("Show how much of its attention each head").click()
    lines = [line for line in output(page, "head 4:") if line.startswith("head")]
    shares = [[int(share.rstrip("%")) for share in line.split()[2:]] for line in lines]
    assert len(shares) == 4 and shares[3][0] > 95 and shares[2][1] > 90
    assert max(shares[0] + shares[1]) < 20


def test_a_causal_model_fills_gaps_by_trying(chapter):
    one, tried = (int(line.split()[-1].rstrip("%")) for line in output(chapter, "gap: 68"))
    assert one + 15 < tried


def test_what_few_images_teach_is_the_record(chapter):
    few, longer, many = (
        [*runs("few_digits", images=count, steps=steps)]
        for count, steps in ((75, 600), (75, 2400), (1200, 600))
    )
    found = [
        shown([run[key] for run in part])
        for part in (few, many, longer)
        for key in ("vit", "convolution")
    ]
    said = text(chapter)
    assert (
        f"From 75 digits a ViT learns to read {found[0]} %, and a small convolution {found[1]} %;"
        f" from 1,200 it is {found[2]} and {found[3]} %"
    ) in said
    assert f"with four times as many, it is {found[4]} and {found[5]} % from 75" in said
    behind = [
        shown([sum(run["convolution"] - run["vit"] for run in part) / len(part)])
        for part in (longer, few)
    ]
    assert f"by {behind[0]} points on average instead of {behind[1]}" in said


def test_the_loop_on_the_page_learns_letters_before_words(chapter):
    lines = output(chapter, "100 steps:")
    assert [int(line.split()[0]) for line in lines] == [0, 100, 300]
    spaces = [line.split("[", 1)[1].count(" ") for line in lines]
    assert spaces[0] < spaces[2]


def test_the_probe_tells_the_future_from_the_past(chapter):
    assert [line.split("moves ")[1] for line in output(chapter, "the third word moves")] == [
        "[1, 2, 3, 4, 5]",
        "[3, 4, 5]",
    ]


def test_the_word_that_crosses_top_p_is_kept(chapter):
    (line,) = [line for line in output(chapter, "top-p 0.75") if line.startswith("top-p")]
    shares = [float(share) for share in line.split()[2:]]
    assert [share > 0 for share in shares] == [True, True, True, False, False]
    assert sum(shares) == pytest.approx(1, abs=0.002)


def test_products_of_turned_vectors_depend_on_the_distance_alone(since):
    first, far, nearer = (line.split(":")[1] for line in output(since, "query at 1005"))
    assert first == far != nearer


def test_what_lora_learns_and_forgets_is_the_record(since):
    (counted,) = runs("lora", way="counts")
    row = since.get_by_role("row").filter(has_text="counting letters")
    assert row.get_by_role("cell").all_inner_texts()[3] == f"{counted['test']:.2f}"
    for way in lora.WAYS:
        best = lora.at_the_best_rate(runs("lora"), way)
        row = since.get_by_role("row").filter(has=since.get_by_role("cell", name=way, exact=True))
        wanted = [shown([run[key] for run in best], 1, 2) for key in ("test", "old")]
        assert row.get_by_role("cell").all_inner_texts()[3:] == wanted


@pytest.mark.parametrize("beta", [0.1, 0.3, 1.0, 3.0])
def test_what_preferences_change_is_the_record(since, beta):
    found = runs("preferences", beta=beta)
    rows = since.get_by_role("row").filter(
        has=since.get_by_role("cell", name=f"{beta:g}", exact=True)
    )
    wanted = [shown([run["wins"] for run in found]), shown([run["kl"] for run in found], 1, 1)]
    assert wanted in [row.get_by_role("cell").all_inner_texts()[1:3] for row in rows.all()]


def test_a_preference_that_is_not_learned_yet_costs_a_bit(since):
    first, *others = (float(line.split()[-1]) for line in output(since, "winner -40"))
    assert first == pytest.approx(0.693) and first > others[0] > others[1]


def test_the_exercises_come_in_the_notebooks_order(without_scripts, built_book):
    source = (ROOT / "solutions" / "ch13_family.py").read_text(encoding="utf-8")
    names, found = re.findall(r'^# %% exercise="(\w+)"', source, re.MULTILINE), []
    for stem in pages_of("ch13_family"):
        without_scripts.goto(f"{built_book}book/{stem}.html")
        found += re.findall(r"Exercise \d+: (\w+)\.", text(without_scripts))
    assert found == names


@pytest.mark.parametrize("stem", pages_of("ch13_family"))
def test_nothing_on_the_page_is_no_number(page, built_book, stem):
    page.goto(f"{built_book}book/{stem}.html")
    assert not re.search(r"(?<![\w·])nan(?!\w)", text(page))


def test_what_few_answers_teach_is_the_record(chapter):
    found = runs("few_answers", task="question", labelled=50)
    pretrained, scratch = (
        shown([run[key] for run in found]) for key in ("pretrained", "from_scratch")
    )
    said = text(chapter)
    assert f"finds both ends of {pretrained} % of the answers" in said
    assert f"without pretraining it finds {scratch} %" in said


def test_what_rotary_positions_buy_is_the_record(since):
    old, new = (
        shown([run["validation"] for run in runs("since_2017", variant=variant, steps=1000)], 1, 3)
        for variant in ("as in GPT", "rotary positions")
    )
    assert f"has to be learned first: {new} nats instead of {old}" in text(since)


def test_what_text_to_text_learns_is_the_record_beside_what_takes_no_model(chapter):
    for name, task in (
        ("kind", "kind"),
        ("entities", "entities"),
        ("question", "question"),
        ("roles", "roles"),
        ("summary", "summary"),
        ("translation", "translate"),
    ):
        found = runs("text_to_text", task=task)
        row = chapter.get_by_role("row").filter(
            has=chapter.get_by_role("cell", name=name, exact=True)
        )
        _, right, simple = row.get_by_role("cell").all_inner_texts()
        assert right == shown([run["right"] for run in found])
        assert simple.split()[0] == shown([max(run["copy"], run["majority"]) for run in found])
    scratch = shown([run["from_scratch"] for run in runs("few_answers", labelled=200)])
    assert f"had {scratch} % of the same questions right after 200 sentences" in text(chapter)


def at_rank(page, rank):
    return page.evaluate(
        """rank => {
            const element = document.querySelector("[data-explorer=rank]");
            const state = JSON.parse(element.dataset.state);
            return globalThis.explorers.rank.compute({ ...state, rank });
        }""",
        rank,
    )


@pytest.mark.parametrize("rank", [0, 1, 5, 32])
def test_a_change_is_cut_to_a_rank_as_numpy_cuts_it(ranks, rank):
    state = json.loads(ranks.locator("[data-explorer=rank]").get_attribute("data-state"))
    whole = np.array(state["whole"])
    left, sizes, right = np.linalg.svd(whole)
    cut = left[:, :rank] * sizes[:rank] @ right[:rank]
    found = at_rank(ranks, rank)
    assert np.allclose(found["product"], cut, atol=1e-3)
    assert found["kept"] == pytest.approx((cut**2).sum() / (whole**2).sum(), abs=5e-3)
    assert found["numbers"] == rank * 2 * len(whole)


def test_the_explorer_of_ranks_says_what_was_measured(ranks):
    cut = [run["test"] for run in runs("low_rank", steps=200, rate=0.001)]
    slider = ranks.locator(".rank input[type=range]")
    verdict = ranks.locator(".rank .explorer-verdict")
    for _ in range(6):
        slider.press("ArrowRight")
    learned = lora.at_the_best_rate(runs("lora"), "LoRA of rank 8")
    trained = shown([run["test"] for run in learned], 1, 2)
    loss = sum(each[8] for each in cut) / len(cut)
    assert "Rank 8: B and A have 1,024 numbers" in verdict.inner_text()
    assert f"the loss is {loss:.2f}. LoRA of this rank reaches {trained}" in verdict.inner_text()
    slider.press("End")
    assert "4,096 numbers, as many as the matrix itself" in verdict.inner_text()
    slider.press("Home")
    assert "Rank 0: nothing is changed" in verdict.inner_text()
