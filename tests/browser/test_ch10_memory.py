"""The explorers of a training's budget and of a model's cut: their arithmetic is the page's, and the
first one checks an estimate.
"""

import json

import pytest

from book.experiments.cost import budgets, cuts
from book.experiments.cost.devices import SHEETS
from solutions.translator.measure import memory
from solutions.translator.settings import Settings

PRECISIONS = ("float32", "tf32", "bfloat16")


@pytest.fixture
def chapter(page, bare_book):
    page.goto(bare_book + "book/ch10_memory.html")
    page.locator(".budget .explorer-verdict").wait_for()
    return page


def computed(page, name="budget", **state):
    return page.evaluate(
        """([name, state]) => {
            const element = document.querySelector(`[data-explorer=${name}]`);
            const given = JSON.parse(element.dataset.state);
            return globalThis.explorers[name].compute({ ...given, ...state });
        }""",
        [name, state],
    )


def said(page):
    return page.locator(".budget .explorer-verdict").inner_text()


def show_the_answer(page):
    page.get_by_role("checkbox", name="hide the answer until I check").press("Space")


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("width", "batch"), [(64, 16), (512, 256), (2048, 512)])
def test_memory_and_time_are_those_of_the_course_s_arithmetic(
    chapter, width, batch, precision, graph
):
    place = {"width": budgets.WIDTHS.index(width), "batch": budgets.BATCHES.index(batch)}
    shape, words = budgets.shape_of(width), 32 * batch
    for device in (0, 3):
        sheet = SHEETS[device]
        number = PRECISIONS.index(precision)
        found = computed(chapter, **place, precision=number, device=device, graph=graph)
        kind = "float32" if precision == "tf32" else precision
        settings = Settings(precision=kind, tokens=words, recorded=graph)
        needed = memory.needed(shape, budgets.VOCABULARY, settings, kind="cuda")
        assert found["bytes"] == pytest.approx(needed)
        assert found["fits"] == (needed <= 0.9 * sheet["memory"])
        parts = budgets.seconds(shape, budgets.VOCABULARY, precision, words, sheet, graph)
        assert found["spans"] == pytest.approx(list(parts.values()))


def test_what_was_measured_is_shown_where_it_was_measured(chapter):
    of_256 = {"width": 3, "batch": 8, "precision": 2, "device": 0}
    recorded, launched = (computed(chapter, **of_256, graph=graph) for graph in (True, False))
    assert recorded["here"]["seconds"] == pytest.approx(0.029, rel=0.01)
    assert launched["here"]["peak"] == pytest.approx(5.69e9, rel=0.01)
    assert len(recorded["seen"]) == len(launched["seen"]) == 8
    for elsewhere in ({"width": 4}, {"device": 1}):
        assert computed(chapter, **of_256 | elsewhere, graph=True)["seen"] == []
    show_the_answer(chapter)
    assert chapter.locator(".budget-measured").count() == 8 and "An H100 took 38 ms" in said(
        chapter
    )
    chapter.get_by_role("combobox", name="Device").select_option(index=1)
    assert chapter.locator(".budget-measured").count() == 0 and "An H100" not in said(chapter)


def test_tf32_is_as_fast_as_the_data_sheet_says_and_takes_the_memory_of_float32(chapter):
    plain, rounded = (computed(chapter, width=3, batch=9, precision=n, device=0) for n in (0, 1))
    assert rounded["bytes"] == plain["bytes"] and rounded["kind"] == "TF32"
    assert plain["spans"][0] / rounded["spans"][0] == pytest.approx(495 / 67)
    on_a_t4 = computed(chapter, width=3, batch=9, precision=1, device=3)
    assert on_a_t4["kind"] == "float32 (no TF32 here)"


def test_an_estimate_is_checked_when_the_reader_asks(chapter):
    assert "Your estimate" not in said(chapter)
    state = json.loads(chapter.locator("[data-explorer=budget]").get_attribute("data-state"))
    found = computed(chapter, width=3, batch=5, precision=2, device=0)
    assert len(state["devices"]) == 4 and found["fits"]
    memory = chapter.get_by_role("slider", name="Your estimate: memory")
    chapter.get_by_role("button", name="Check my estimate").click()
    assert "times too little" in said(chapter)
    for _ in range(60):
        guess = 10 ** (7 + int(memory.input_value()) / 10)
        if guess * 1.2 >= found["here"]["peak"]:
            break
        memory.press("ArrowRight")
    assert "Your estimate" not in said(chapter)  # a new guess is not judged yet
    chapter.get_by_role("button", name="Check my estimate").press("Enter")
    assert "memory close" in said(chapter)
    assert chapter.errors_seen == []


def test_a_card_without_bfloat16_multiplies_in_float16(chapter):
    devices = json.loads(chapter.locator("[data-explorer=budget]").get_attribute("data-state"))[
        "devices"
    ]
    place = next(n for n, device in enumerate(devices) if "float16" in device["peak"])
    found = computed(chapter, width=3, batch=5, precision=2, device=place)
    assert found["kind"] == "float16"
    assert found["atThePeak"] == found["flops"] / devices[place]["peak"]["float16"]
    other = computed(chapter, width=3, batch=5, precision=2, device=0)
    assert other["kind"] == "bfloat16" and other["parts"] == found["parts"]
    chapter.get_by_role("combobox", name="Device").select_option(index=place)
    chapter.get_by_role("combobox", name="Precision").select_option(index=2)
    assert "float16" in said(chapter)


def test_a_batch_that_is_too_large_does_not_fit(chapter):
    show_the_answer(chapter)
    assert chapter.locator(".budget .explorer-over").count() == 0
    chapter.get_by_role("slider", name="Sentences in a batch").press("End")
    chapter.get_by_role("slider", name="Width d_model").press("End")
    assert "It does not fit" in said(chapter)
    assert chapter.locator(".budget .explorer-over .explorer-limit").is_visible()
    assert not chapter.locator(".budget-dot").is_visible()
    chapter.get_by_role("button", name="Check my estimate").click()
    assert "Your estimate: memory" in said(chapter) and ", time" not in said(chapter)
    chapter.get_by_role("slider", name="Sentences in a batch").press("Home")
    assert "It fits" in said(chapter) and " 1 sentence of 32 words" in said(chapter)


def test_the_answer_is_hidden_until_the_estimate_is_checked(chapter):
    assert "How much memory" in said(chapter) and "It fits" not in said(chapter)
    assert not chapter.locator(".budget .explorer-stack").first.is_visible()
    chapter.get_by_role("button", name="Check my estimate").click()
    assert "It fits" in said(chapter) and "Your estimate" in said(chapter)
    assert chapter.locator(".budget .explorer-stack").first.is_visible()
    chapter.get_by_role("slider", name="Width d_model").press("Home")
    assert not chapter.locator(".budget .explorer-stack").first.is_visible()
    show_the_answer(chapter)
    waiting = chapter.locator(".budget .explorer-sizes tr", has_text="waiting").locator("td")
    assert "It fits" in said(chapter) and waiting.inner_text() == "42 ms"
    chapter.get_by_role("checkbox", name="CUDA graph").press("Space")
    assert waiting.inner_text() == "0 ms"


CUTS = (
    {"model": 1, "devices": 3, "sentences": 1},
    {"model": 1, "devices": 3, "tensor": 2, "stage": 3, "sentences": 1, "keeps": 1},
    {"model": 0, "devices": 0, "stage": 2, "sentences": 1, "keeps": 2},
    {"model": 2, "devices": 11, "tensor": 3, "pipeline": 4, "stage": 1, "sentences": 4, "keeps": 1,
     "interleaved": True},
    {"model": 2, "devices": 10, "tensor": 1, "pipeline": 3, "stage": 3, "sentences": 4, "keeps": 2},
    {"model": 1, "devices": 6, "tensor": 3, "pipeline": 1, "stage": 2, "sentences": 3},
)  # fmt: skip
UNCUT = {"tensor": 0, "pipeline": 0, "stage": 0, "keeps": 0, "interleaved": False}


@pytest.mark.parametrize("state", CUTS, ids=str)
def test_a_cut_has_the_memory_and_time_of_the_course_s_arithmetic(chapter, state):
    state = UNCUT | state
    found = computed(chapter, "cut", **state)
    expected = cuts.cut(
        cuts.MODELS[state["model"]],
        2 ** (3 + state["devices"]),
        2 ** state["tensor"],
        2 ** state["pipeline"],
        state["stage"],
        2 ** (7 + state["sentences"]),
        state["keeps"],
        state["interleaved"],
    )
    assert found["works"] and found["copies"] == expected["copies"]
    for name in ("bytes", "spans", "utilization"):
        assert found[name] == pytest.approx(expected[name])
    assert (found["reported"] is not None) == (state == UNCUT | CUTS[3])


def test_a_cut_says_whether_it_fits_and_what_meta_s_reached(chapter):
    explorer = chapter.locator("[data-explorer=cut]")
    says = explorer.locator(".explorer-verdict")
    figures = explorer.locator("figure")
    assert "64 copies" in says.inner_text() and "does not fit" in says.inner_text()
    assert figures.first.is_visible() and not figures.last.is_visible()
    chapter.get_by_role("slider", name="H100s, eight in a machine").press("End")
    assert "some would have none" in says.inner_text() and not figures.first.is_visible()
    chapter.get_by_role("combobox", name="Model").select_option(index=2)
    for name in ("Each matrix", "The layers", "Sentences in the batch"):
        chapter.get_by_role("slider", name=name).press("End")
    explorer.get_by_role("slider", name="Sentences in the batch").press("ArrowLeft")
    chapter.get_by_role("combobox", name="ZeRO").select_option(index=1)
    chapter.get_by_role("combobox", name="A layer keeps").select_option(index=1)
    assert "It fits" in says.inner_text() and "reports" not in says.inner_text()
    chapter.get_by_role("checkbox", name="interleave").press("Space")
    assert "128 copies" in says.inner_text() and "reports 41 %" in says.inner_text()
    assert figures.last.is_visible()
