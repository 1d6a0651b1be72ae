"""The book as a whole: it builds without a warning, every page loads, and no page is wider than a phone."""

import re

import pytest
import yaml

from autograder.course import ROOT

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_without_errors_and_fits_a_phone(built_book, page, name):
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.goto(f"{built_book}{name}.html").ok
    page.wait_for_load_state("networkidle")
    assert page.errors_seen == []
    assert [url for url in page.requests_abroad if not url.startswith("data:")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("h1").count() >= 1


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("book/ch")])
def test_every_figure_has_authored_alt_text_and_a_caption(book_folder, name):
    text = (book_folder / f"{name}.html").read_text(encoding="utf-8")
    figures = re.findall(r"<figure.*?</figure>", text, re.DOTALL)
    assert len(figures) >= 3
    for figure in figures:
        (alt,) = re.findall(r'<img[^>]*\balt="([^"]*)"', figure) or [""]
        assert len(alt) > 30, figure[:300]
        assert "figcaption" in figure


def test_every_internal_link_leads_somewhere(book_folder):
    missing = []
    for path in (path for path in book_folder.rglob("*.html") if "_static" not in path.parts):
        for link in re.findall(r'(?:href|src)="([^"#?]+)', path.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:|//", link) and not (path.parent / link).exists():
                missing.append((path.name, link))
    assert missing == []
