"""The map of the Transformer: every chapter has its place in it, and every label its room."""

import re

import pytest

from autograder.course import pages
from book.palette import ROLES, SERIES
from book.sphinx_ext import map_drawing
from book.sphinx_ext.map_boxes import BOXES, CHAIN, boxes_of
from book.sphinx_ext.map_drawing import PLACES, SIZES, text_width
from book.sphinx_ext.transformer_map import here

CHAPTERS = [page.removeprefix("book/") for page in pages() if page.startswith("book/ch")]
MOST_BYTES = 20_000


def test_every_page_of_a_chapter_has_a_box_or_shares_that_of_its_chapter():
    assert {box.page for box in BOXES} <= set(CHAPTERS)
    assert all(boxes_of(page) for page in CHAPTERS) and not boxes_of("glossary")
    assert [box.id for box in boxes_of("ch13_since_2017")] == ["family"]
    assert [box.id for box in boxes_of("ch09_translating")] == ["translating"]


def test_boxes_have_names_of_their_own_a_colour_and_one_sentence():
    assert len({box.id for box in BOXES}) == len(BOXES)
    for box in BOXES:
        assert box.role in (*ROLES, *SERIES)
        assert re.fullmatch(r"[A-Z][^.]+\.", box.does)
        assert box.short.lower() in box.name.lower()


def test_arrows_join_boxes_that_exist():
    assert {name for pair in CHAIN for name in pair} <= {box.id for box in BOXES}


@pytest.mark.parametrize("layout", PLACES)
def test_boxes_are_apart_and_within_the_drawing(layout):
    taken = [PLACES[layout](box) for box in BOXES]
    for place, (left, top, width, height) in enumerate(taken):
        assert left >= 0 and left + width <= SIZES[layout][0]
        assert top >= 0 and top + height <= SIZES[layout][1]
        for x, y, w, h in taken[:place]:
            assert x + w < left or left + width < x or y + h < top or top + height < y


@pytest.mark.parametrize("box", BOXES, ids=[box.id for box in BOXES])
def test_a_label_fits_its_box(box):
    number = text_width(f"chapter {box.chapter}", map_drawing.SMALL_FONT)
    widest = max(number, *(text_width(line, map_drawing.FONT) for line in box.label))
    assert widest < map_drawing.WIDTH < map_drawing.PHONE_WIDTH
    assert text_width(box.short, map_drawing.SMALL_FONT) < map_drawing.WIDTH


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_small_map_lights_the_boxes_of_its_page_alone(page):
    lit = re.findall(r'here"><rect[^>]*/><text[^>]*>([^<]+)', map_drawing.small(page))
    assert lit == [box.short for box in boxes_of(page)]
    assert here(page)


def test_the_large_map_is_light_and_leads_to_every_page():
    drawn = [map_drawing.large(layout, "{}.html".format) for layout in ("wide", "phone")]
    assert sum(len(each.encode()) for each in drawn) < MOST_BYTES
    for each in drawn:
        assert re.findall(r'href="(\w+)\.html"', each) == [box.page for box in BOXES]
