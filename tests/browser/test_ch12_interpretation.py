"""Chapter 12: the numbers that a reader sees are those of the records, and the page's own small
experiments come out as the text says.
"""

import re

import pytest

from book.experiments import measurements


@pytest.fixture
def chapter(without_scripts, built_book):
    without_scripts.goto(built_book + "book/ch12_interpretation.html")
    return without_scripts


def runs(name, **wanted):
    found = measurements.load(name)["runs"]
    return [run for run in found if all(run.get(key) == value for key, value in wanted.items())]


def shown(numbers):
    """Write numbers as the page does, as percentages: "8 to 18"."""
    low, high = (f"{100 * number:.0f}" for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


def text(page):
    return re.sub(r"\s+", " ", page.locator("article").inner_text())


def test_the_alignments_are_those_that_were_measured(chapter):
    means = runs("alignments", kind="head", head="mean", layer=1)
    now, later = (shown([run["error_rate"][shift] for run in means]) for shift in (0, 1))
    told = f"an error rate of {now} %, and one row later of {later} %"
    assert told in text(chapter)


def test_articles_without_the_heads_that_look_at_the_noun(chapter):
    for run in runs("ablations", group="noun heads"):
        others = runs("ablations", group="others", seed=run["seed"])
        worst = max(other["zero"]["articles"] for other in others)
        numbers = len(run["heads"]), run["zero"]["articles"], worst
        row = " ".join(map(str, numbers))
        assert re.search(rf"{run['seed']}(, ours)? {row} ", text(chapter))


def test_what_carries_a_gender_is_what_was_patched(chapter):
    noun, the = (runs("patching", places=[place]) for place in ("noun", "determiner"))
    told = "Copied alone, the noun’s state moves the logits by {} %, that of “the” by {} %"
    moved = [shown([run["moved"] for run in patched]) for patched in (noun, the)]
    assert told.format(*moved) in text(chapter)


@pytest.mark.parametrize(
    ("row", "method"),
    [
        ("attention, last layer", "attention, last layer"),
        ("with rollout through the encoder", "last layer and rollout"),
        ("gradient, its length", "gradient"),
        ("gradient times input", "gradient times input"),
        ("erasure", "erasure"),
        ("chance", "chance"),
    ],
)
def test_the_table_of_methods_is_the_record(chapter, row, method):
    cells = chapter.get_by_role("row").filter(has=chapter.get_by_role("cell", name=row, exact=True))
    found = runs("explanations", method=method)
    wanted = [shown([run[key] for run in found]) for key in ("linked", "noun", "top")]
    assert cells.get_by_role("cell").all_inner_texts() == [row, *wanted]


def test_without_its_previous_token_head_a_model_is_lost(chapter):
    """The table of what is switched off is the record of the trainings that came out well."""
    found = [run for run in runs("induction", kind="model") if run["induction"]]
    assert len(found) == 9
    for row, name in (
        ("the head of layer 1 that looks one place back", "the previous-token head"),
        ("both heads of layer 2", "all induction heads"),
    ):
        cell = chapter.get_by_role("cell", name=row, exact=True)
        cells = chapter.get_by_role("row").filter(has=cell).get_by_role("cell")
        assert cells.nth(1).inner_text() == shown([run["without"][name] for run in found])


def test_a_message_is_read_as_a_key(chapter):
    printed = chapter.locator(".output").filter(has_text="copied into the").inner_text()
    right = dict(re.findall(r"into the (\w+): ([\d.]+) right", printed))
    assert (
        float(right["keys"]) < 0.3 and min(float(right["queries"]), float(right["values"])) > 0.98
    )


def test_two_attentions_with_one_output(chapter):
    printed = chapter.locator(".output").filter(has_text="->").inner_text().strip().splitlines()
    (one, output), (other, same) = (line.split("->") for line in printed)
    assert one != other and output == same
    for weights in (one, other):
        assert sum(map(float, weights.split())) == pytest.approx(1, abs=0.004)


def test_the_induction_head_goes_on_with_the_text(chapter):
    printed = chapter.locator(".output").filter(has_text="induction scores").inner_text()
    both, no_first, _ = printed.strip().split("\n")
    assert both == "first head on says: - - - - - cat sleeps"
    assert no_first == "first head off says: - - - - - - -"


def test_nothing_on_the_page_is_no_number(chapter):
    assert not re.search(r"(?<![\w·])nan(?!\w)", re.sub(r"is (still )?nan", "", text(chapter)))
