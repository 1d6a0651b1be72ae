"""The explorer of a training's budget: its arithmetic is the page's, and it checks an estimate."""

import json

import pytest

from book.experiments.cost import training_cost
from book.experiments.cost.training_cost import Run
from solutions.ch08_encoder_decoder import Transformer
from solutions.ch10_gpu import training_bytes

WIDTHS = (64, 128, 256, 512, 1024, 2048)
VOCABULARY, LENGTH, LAYERS = 32_000, 32, 6
PRECISIONS = ("float32", "tf32", "bfloat16")


@pytest.fixture
def chapter(page, built_book):
    page.goto(built_book + "book/ch10_memory.html")
    page.locator(".budget .explorer-verdict").wait_for()
    return page


def computed(page, **state):
    return page.evaluate(
        """state => {
            const element = document.querySelector("[data-explorer=budget]");
            const given = JSON.parse(element.dataset.state);
            return globalThis.explorers.budget.compute({ ...given, ...state });
        }""",
        state,
    )


def said(page):
    return page.locator(".budget .explorer-verdict").inner_text()


def show_the_answer(page):
    page.get_by_role("checkbox", name="hide the answer until I check").press("Space")


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_memory_and_flops_are_those_of_the_course_s_arithmetic(chapter, width, precision):
    d_model = WIDTHS[width]
    run = Run(d_model, LAYERS, 4 * d_model, VOCABULARY, 16, LENGTH)
    found = computed(chapter, width=width, batch=4, precision=PRECISIONS.index(precision), device=0)
    model = Transformer(VOCABULARY, VOCABULARY, d_model, 4, LAYERS, LAYERS, 4 * d_model)
    assert sum(found["parts"][:3]) == training_bytes(model)
    kept = "bfloat16" if precision == "bfloat16" else "float32"
    assert found["parts"][3] == training_cost.activation_bytes(run, kept)
    assert found["flops"] == training_cost.step_flops(run)
    assert found["wordsPerSecond"] == pytest.approx(run.words / found["seconds"])


def test_time_is_what_the_slowest_of_memory_arithmetic_and_launches_takes(chapter):
    small, large = (
        computed(chapter, width=3, batch=b, precision=2, device=0, graph=True) for b in (0, 12)
    )
    assert small["byMemory"] > small["byArithmetic"] and small["seconds"] == small["byMemory"]
    assert large["intensity"] > 10 * small["intensity"]
    assert large["seconds"] == large["byArithmetic"]
    assert small["fits"] and not large["fits"] and large["bytes"] > large["room"]
    launched = computed(chapter, width=3, batch=0, precision=2, device=0, graph=False)
    assert launched["seconds"] == launched["byLaunches"] > 1000 * small["byLaunches"]
    here = computed(chapter, width=3, batch=0, precision=0, device=4, graph=False)
    assert here["byLaunches"] == 0  # no launches on a CPU


def test_tf32_is_as_fast_as_the_data_sheet_says_and_takes_the_memory_of_float32(chapter):
    plain, rounded = (computed(chapter, width=3, batch=9, precision=n, device=0) for n in (0, 1))
    assert rounded["bytes"] == plain["bytes"] and rounded["kind"] == "TF32"
    assert plain["byArithmetic"] / rounded["byArithmetic"] == pytest.approx(495 / 67)
    on_a_t4 = computed(chapter, width=3, batch=9, precision=1, device=3)
    assert on_a_t4["kind"] == "float32 (no TF32 here)"


def test_an_estimate_is_checked_when_the_reader_asks(chapter):
    assert "Your estimate" not in said(chapter)
    state = json.loads(chapter.locator("[data-explorer=budget]").get_attribute("data-state"))
    found = computed(chapter, width=3, batch=5, precision=2, device=0)
    assert len(state["devices"]) == 5 and found["fits"]
    memory = chapter.get_by_role("slider", name="Your estimate: memory")
    chapter.get_by_role("button", name="Check my estimate").click()
    assert "times too little" in said(chapter)
    for _ in range(60):
        guess = 10 ** (7 + int(memory.input_value()) / 10)
        if guess * 1.2 >= found["bytes"]:
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
    assert found["kind"] == "float16" and found["peak"] == devices[place]["peak"]["float16"]
    other = computed(chapter, width=3, batch=5, precision=2, device=0)
    assert other["kind"] == "bfloat16" and other["parts"] == found["parts"]
    chapter.get_by_role("combobox", name="Device").select_option(index=place)
    chapter.get_by_role("combobox", name="Precision").select_option(index=2)
    assert "float16" in said(chapter)


def test_a_batch_that_is_too_large_does_not_fit(chapter):
    show_the_answer(chapter)
    assert chapter.locator(".budget-over").count() == 0
    chapter.get_by_role("slider", name="Sentences in a batch").press("End")
    chapter.get_by_role("slider", name="Width d_model").press("End")
    assert "It does not fit" in said(chapter)
    assert chapter.locator(".budget-over .budget-limit").is_visible()
    chapter.get_by_role("button", name="Check my estimate").click()
    assert "Your estimate: memory" in said(chapter) and ", time" not in said(chapter)
    chapter.get_by_role("slider", name="Sentences in a batch").press("Home")
    assert "It fits" in said(chapter) and " 1 sentence of 32 words" in said(chapter)


def test_the_answer_is_hidden_until_the_estimate_is_checked(chapter):
    assert "How much memory" in said(chapter) and "It fits" not in said(chapter)
    assert not chapter.locator(".budget-bar").is_visible()
    chapter.get_by_role("button", name="Check my estimate").click()
    assert "It fits" in said(chapter) and "Your estimate" in said(chapter)
    assert chapter.locator(".budget-bar").is_visible()
    chapter.get_by_role("slider", name="Width d_model").press("Home")
    assert not chapter.locator(".budget-bar").is_visible()
    show_the_answer(chapter)
    assert "It fits" in said(chapter) and "limit: launches" in said(chapter)
    chapter.get_by_role("checkbox", name="CUDA graph").press("Space")
    assert "limit: memory" in said(chapter)
