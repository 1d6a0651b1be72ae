"""The book as a whole: it builds without a warning, its figures are told in words, and its links
lead somewhere.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from autograder.course import pages

SHAPES = {  # of an address on a host that has many of them
    "arxiv.org": r"/abs/\d{4}\.\d{4,5}",
    "aclanthology.org": r"/([A-Z]\d{2}-\d{4}|\d{4}\.[a-z0-9-]+\.\d+)/?",
    "doi.org": r"/10\.\d{4,}/.+",
}
PAGES = pages()


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("book/ch")])
def test_every_figure_has_authored_alt_text_and_a_caption(book_folder, name):
    text = (book_folder / f"{name}.html").read_text(encoding="utf-8")
    figures = re.findall(r"<figure.*?</figure>", text, re.DOTALL)
    assert len(figures) >= 3
    for figure in figures:
        drawn = r'<(?:img[^>]*\balt|div class="flow" role="img" aria-label)="([^"]*)"'
        (alt,) = re.findall(drawn, figure) or [""]
        assert len(alt) > 30, figure[:300]
        assert "figcaption" in figure


def test_every_internal_link_leads_somewhere(book_folder):
    missing = []
    for path in (path for path in book_folder.rglob("*.html") if "_static" not in path.parts):
        for link in re.findall(r'(?:href|src)="([^"#?]+)', path.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:|//", link) and not (path.parent / link).exists():
                missing.append((path.name, link))
    assert missing == []


def test_external_links_are_those_on_the_list_and_look_like_what_they_are(book_folder):
    found = set()
    for path in (path for path in book_folder.rglob("*.html") if "_static" not in path.parts):
        found |= set(
            re.findall(r'<a [^>]*href="(https?://[^"]+)"', path.read_text(encoding="utf-8"))
        )
    listed = (Path(__file__).parent / "external_links.txt").read_text(encoding="utf-8").split()
    assert sorted(found) == listed, (  # a person looks at a new one before it is added
        "tests/browser/external_links.txt lists, in order, each link to another host. Open these,"
        f" and add them: {sorted(found - set(listed))}; no page has these any more, so remove them:"
        f" {sorted(set(listed) - found)}"
    )
    for link in listed:
        parts = urlsplit(link)
        assert parts.scheme == "https" and re.fullmatch(
            r"[a-z0-9-]+(\.[a-z0-9-]+)+", parts.netloc
        ), link
        assert re.fullmatch(r"[\w./~%()+:-]*", parts.path), link
        assert re.fullmatch(SHAPES.get(parts.netloc, ".*"), parts.path), link
