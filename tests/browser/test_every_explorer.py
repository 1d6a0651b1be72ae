"""What holds for every explorer of the book: nothing is cut off, it speaks only to a reader who has
touched it, its Italian is called Italian, and its bars outlive the colours of the reader's system.
"""

import functools
import re

import pytest
from playwright.sync_api import expect

from book.palette import ROLES, colours
from book.widgets.scripts import names
from solutions.translator import corpus
from tests.browser.translating import ask_for_a_sentence

PAGES = {
    "neighbours": "ch01_embeddings",
    "lookup": "ch01_embeddings",
    "positions": "ch02_positional_encoding",
    "bend": "ch03_bottleneck",
    "copying": "ch03_bottleneck",
    "attention": "ch04_attention",
    "forming": "ch04_attention",
    "heads": "ch05_multi_head",
    "masking": "ch06_masking",
    "layernorm": "ch07_layers",
    "depth": "ch07_layers",
    "decoding": "ch08_encoder_decoder",
    "training": "ch09_training",
    "beam": "ch09_translating",
    "roof": "ch10_gpu",
    "budget": "ch10_memory",
    "cut": "ch10_memory",
    "tiles": "ch11_efficiency",
    "cache": "ch11_efficiency",
    "cards": "ch11_efficiency",
    "ablation": "ch12_interpretation",
    "family": "ch13_family",
    "sampler": "ch13_family",
    "gap": "ch13_family",
    "rank": "ch13_since_2017",
    "translator": "index",
    "exchange": "index",
}
WITH_ITALIAN = (
    "masking",
    "decoding",
    "training",
    "beam",
    "cache",
    "ablation",
    "translator",
    "exchange",
)
WITH_BARS = ("bend", "attention", "heads", "decoding", "sampler", "gap", "roof")
CONTROLS = (
    "input[type=range], input[type=text], input[type=number], select, .explorer-button, .explorer-chip > span,"
    " .explorer-switch, .masking-mask button"
)
THUMB = 43.9  # pixels: 44, but for rounding
TOO_SMALL = """(controls, thumb) => controls
    .filter((each) => each.getBoundingClientRect().height < thumb)
    .map((each) => each.outerHTML)"""
NO_WIDER_THAN = "width => document.documentElement.scrollWidth <= width"
LIVE = "[aria-live], [role=status], [role=alert], output"
REST = 600  # milliseconds: longer than what a change waits until it is spoken


def test_every_explorer_is_looked_at():
    assert sorted(PAGES) == names()


@pytest.fixture
def explorer(page, bare_book, name):
    """The explorer of a test's `name`, alive in its page."""
    ask_for_a_sentence(page)
    page.goto(f"{bare_book}book/{PAGES[name]}.html")
    box = page.locator(f".explorer[data-explorer={name}]")
    box.locator(".explorer-root").wait_for()
    return box


def move(explorer, boxes=True):
    """Do to an explorer what leads farthest: each slider to its end, the last sentence, all boxes."""
    for fold in explorer.locator("details:not([open]) > summary").all():
        fold.click()
    for picker in explorer.locator("select").all():
        picker.select_option(index=picker.locator("option").count() - 1)
    for slider in explorer.locator("input[type=range]").all():
        slider.press("End")
    for box in explorer.locator("input[type=checkbox]").all() if boxes else ():
        box.press("Space")


def act(explorer):
    """Choose the next chip, or move the first slider to another end."""
    chips = explorer.locator(".explorer-chip input:checked")
    if chips.count():
        chips.first.press("ArrowRight")
        return
    slider = explorer.locator("input[type=range]").first
    before = slider.input_value()
    slider.press("Home")
    if slider.input_value() == before:
        slider.press("End")


@pytest.mark.parametrize(
    "name",
    [
        # those that need Italian words together, because one draw of the corpus serves them all
        pytest.param(name, marks=pytest.mark.xdist_group("italian") if name in WITH_ITALIAN else ())
        for name in PAGES
    ],
)
def test_an_explorer_is_silent_until_touched_and_nothing_of_it_is_cut_off(page, explorer, name):
    page.wait_for_timeout(REST)
    assert all(not region.text_content() for region in explorer.locator(LIVE).all())
    assert_all_is_seen_and_a_thumb_hits_what_it_aims_at(page, explorer)
    if name != "translator":  # all that it says is in its status
        spoken = explorer.locator(".explorer-spoken")
        before = spoken.text_content()
        assert before  # whoever reads on with a screen reader finds the sentence
        assert spoken.get_attribute("aria-live") is None
        act(explorer)
        assert spoken.get_attribute("aria-live") == "polite"
        expect(spoken).not_to_have_text(before)
    move(explorer, boxes=name != "ablation")  # whose boxes ask for the translator
    assert_all_is_seen_and_a_thumb_hits_what_it_aims_at(page, explorer)
    if name in WITH_ITALIAN:
        assert_italian_is_called_italian(explorer)
    assert page.errors_seen == []


def assert_all_is_seen_and_a_thumb_hits_what_it_aims_at(page, explorer):
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert explorer.evaluate("box => box.scrollWidth <= box.clientWidth")
        # the theme's sidebars and formulas need a moment to settle
        page.wait_for_function(NO_WIDER_THAN, arg=width)
        assert explorer.locator(CONTROLS).evaluate_all(TOO_SMALL, THUMB) == []


@functools.cache  # the corpus takes seconds to draw
def italian_words():
    """Return the words of the corpus that are Italian alone."""
    english, italian = (
        {word for pair in corpus.splits()["train"] for word in re.findall(r"[^\W\d]+", pair[side])}
        for side in (0, 1)
    )
    return sorted(italian - english - {"so"})  # which is "I know", too


def assert_italian_is_called_italian(explorer):
    found = explorer.evaluate(
        """(box, italian) => {
            const known = new Set(italian);
            const [marked, bare] = [[], []];
            const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) {
                const text = walk.currentNode;
                const words = text.data.match(/[\\p{L}]+/gu) ?? [];
                const language = text.parentElement.closest("[lang]").getAttribute("lang");
                if (words.some((word) => known.has(word)))
                    (language === "it" ? marked : bare).push(text.data);
            }
            return [marked, bare];
        }""",
        italian_words(),
    )
    marked, bare = found
    assert marked and bare == []


@pytest.mark.parametrize("name", WITH_BARS)
def test_bars_stay_where_the_system_sets_the_colours(page, explorer):
    page.emulate_media(forced_colors="active")
    grounds = explorer.locator(".explorer-bar").first.evaluate(
        "bar => [bar, document.body].map((each) => getComputedStyle(each).backgroundColor)"
    )
    assert grounds[0] not in (grounds[1], "rgba(0, 0, 0, 0)")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["attention"])
def test_roles_have_the_colours_of_the_palette(page, explorer, theme):
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    assert shown_colours(explorer) == {role: colours(theme)[role] for role in ROLES}


def shown_colours(explorer):
    """Return the colour of each role, as the style sheet gives it."""
    return explorer.evaluate(
        """(box, roles) => Object.fromEntries(roles.map((role) =>
            [role, getComputedStyle(box).getPropertyValue(`--${role}`).trim()]))""",
        ROLES,
    )


def test_only_scripts_and_styles_are_published(book_folder):
    published = [path.relative_to(book_folder) for path in (book_folder / "_static").rglob("*")]
    assert [path for path in published if path.suffix == ".py" or path.name == "__pycache__"] == []
    for name in names():
        folder = book_folder / "_static" / name
        assert sorted(path.name for path in folder.iterdir()) == [f"{name}.css", f"{name}.js"]
