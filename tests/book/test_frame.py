"""What stands around the pages: descriptions, the picture of a shared link, the version, how to
cite, and the glossary.
"""

import re
import tomllib

import numpy as np
import pytest
import yaml
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from autograder.course import ROOT, pages
from book.sphinx_ext import frame

PAGES = pages()
CHAPTERS = [name for name in PAGES if name.startswith("book/ch")]
GLOSSARY = (
    (ROOT / "book" / "glossary.md")
    .read_text(encoding="utf-8")
    .split("```{glossary}\n")[1]
    .split("\n```")[0]
)
ENTRIES = re.findall(r"^(\S.*)\n((?:  .+\n?)+)", GLOSSARY, re.MULTILINE)
TERM = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+?)>?`")


def source_of(name):
    return next(path for path in (ROOT / f"{name}.md", ROOT / f"{name}.ipynb") if path.exists())


def prose_of(name):
    """Return a page's text without code, front matter and headings."""
    text = re.sub(
        r"\A---\n.*?\n---\n", "", source_of(name).read_text(encoding="utf-8"), flags=re.DOTALL
    )
    text = re.sub(r"^```\{code-cell\}.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^#.*$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_describes_itself_in_a_line_that_a_search_engine_shows_whole(name):
    description = frame.description_of(source_of(name))
    assert description and 120 <= len(description) <= 160, (
        description,
        description and len(description),
    )
    assert description.endswith((".", "?"))


@pytest.mark.parametrize("name", PAGES)
def test_no_line_is_lost_because_it_begins_as_a_comment_does(name):
    text = source_of(name).read_text(encoding="utf-8")
    assert re.findall(r"^%.*", text, re.MULTILINE) == []


def test_no_two_pages_describe_themselves_alike():
    assert len({frame.description_of(source_of(name)) for name in PAGES}) == len(PAGES)


def test_the_citation_is_valid_and_of_this_version():
    given = yaml.safe_load(frame.CITATION.read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert given["cff-version"] == "1.2.0"
    assert given["version"] == project["version"] == frame.course_version()
    assert project["license"] in given["license"] and "CC-BY-4.0" in given["license"]
    assert (
        given["title"]
        == yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["title"]
    )
    assert (
        given["type"] == "software" and given["message"] and given["abstract"] and given["keywords"]
    )
    assert all(set(author) == {"name"} for author in given["authors"])  # an entity, not a person


def test_the_picture_of_a_shared_link_has_the_size_that_is_asked_for_and_is_small():
    path = frame.STATIC / frame.PICTURE
    with Image.open(path) as picture:
        assert picture.size == frame.PICTURE_SIZE == (1200, 630)
    assert path.stat().st_size < 60_000


@pytest.mark.parametrize(
    ("draw", "name"), [(frame.draw_picture, frame.PICTURE), (frame.draw_icon, frame.ICON)]
)
def test_a_picture_is_the_one_that_the_course_draws(tmp_path, draw, name):
    draw(tmp_path / name)
    with Image.open(tmp_path / name) as drawn, Image.open(frame.STATIC / name) as kept:
        assert drawn.size == kept.size
        difference = np.abs(
            np.asarray(drawn.convert("RGB"), float) - np.asarray(kept.convert("RGB"), float)
        )
    # Of 255: another FreeType may draw the edge of a letter otherwise.
    assert difference.mean() < 0.5


def test_the_glossary_is_sorted_and_says_each_word_once():
    terms = [term for term, _ in ENTRIES]
    assert 50 <= len(terms) <= 140
    assert len(terms) == len(re.findall(r"^\S", GLOSSARY, re.MULTILINE))
    assert terms == sorted(set(terms), key=str.casefold)


@pytest.mark.parametrize(("term", "meaning"), ENTRIES, ids=[term for term, _ in ENTRIES])
def test_an_entry_is_short_and_leads_to_a_chapter(term, meaning):
    said, *links = re.split(r" See (?=\[)", meaning)
    assert len(links) == 1 and 20 < len(said) < 400
    linked = re.findall(r"\[([^]]+)\]\((\w+)\.md\)", links[0])
    assert linked
    for title, stem in linked:
        assert f"\n# {title}\n" in source_of(f"book/{stem}").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("book/")])
def test_every_term_that_a_page_refers_to_is_in_the_glossary(name):
    known = {term.lower() for term, _ in ENTRIES}
    used = TERM.findall(source_of(name).read_text(encoding="utf-8"))
    used = [" ".join(term.split()) for term in used]  # it may go on in the next line
    assert [term for term in used if term.lower() not in known] == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_leads_to_the_glossary_from_its_prose_and_once_for_each_word(name):
    used = [term.lower() for term in TERM.findall(prose_of(name))]
    # None in code, none in a heading.
    assert len(used) == len(TERM.findall(source_of(name).read_text(encoding="utf-8")))
    assert len(set(used)) >= 6
    assert len(used) == len(set(used))


def build(folder, **settings):
    """Build a book of three pages with the extension; return the folder of its HTML."""
    (folder / "book").mkdir()
    (folder / "notebooks").mkdir()
    first = "---\nmyst:\n  html_meta:\n    description: What it <is> & why\n---\n\n# One *page*\n"
    (folder / "book" / "first.md").write_text(first)
    (folder / "book" / "references.md").write_text(
        "# References\n\n(how-to-cite)=\n## How\n\n```{how-to-cite}\n```\n"
    )
    notebook = source_of("notebooks/ch01_embeddings/ch01_embeddings").read_text(encoding="utf-8")
    (folder / "notebooks" / "some.ipynb").write_text(notebook, encoding="utf-8")
    confoverrides = {
        "extensions": ["myst_nb", "book.sphinx_ext.frame"],
        "source_suffix": {".md": "myst-nb"},
        "root_doc": "book/first",
        "project": "A book",
        "html_title": "A book",
        "copyright": "2026, whoever",
        "html_theme": "sphinx_book_theme",
        "nb_execution_mode": "off",
        "exclude_patterns": ["html"],
        **settings,
    }
    with patch_docutils(), docutils_namespace():
        html = folder / "html"
        app = Sphinx(
            folder,
            None,
            html,
            folder / "doctrees",
            "html",
            confoverrides,
            status=None,
            warning=None,
        )
        app.build()
    return html


def tags_of(page):
    """Return dict: name of a meta tag -> what it says, each name once."""
    tags = [
        dict(re.findall(r'([a-z]+)="([^"]*)"', tag))
        for tag in re.findall("<meta ([^>]*)>", page.read_text("utf-8"))
    ]
    pairs = [(tag.get("name") or tag.get("property") or "", tag.get("content")) for tag in tags]
    told = [
        pair
        for pair in pairs
        if pair[0] == "description" or pair[0].startswith(("og:", "twitter:"))
    ]
    assert len(told) == len(dict(told))
    return dict(told)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("plain"))


def test_a_page_says_in_its_head_what_it_is(built):
    tags = tags_of(built / "book" / "first.html")
    told = "What it &lt;is&gt; &amp; why"
    assert tags["description"] == tags["og:description"] == told
    assert (tags["og:title"], tags["og:type"], tags["og:site_name"]) == (
        "One page",
        "website",
        "A book",
    )
    assert tags["twitter:card"] == "summary_large_image"
    # Nobody said where the book is published.
    assert tags["og:image"] == "../_static/open-graph.png"
    page = (built / "book" / "first.html").read_text(encoding="utf-8")
    assert "og:url" not in tags and 'rel="canonical"' not in page
    assert '<link rel="apple-touch-icon" href="../_static/apple-touch-icon.png" />' in page


def test_a_notebook_is_described_by_its_exercises_and_the_search_page_by_the_book(built):
    tags = tags_of(built / "notebooks" / "some.html")
    assert "build_vocabulary" in tags["description"] and tags["og:type"] == "article"
    assert (
        tags_of(built / "search.html")["og:description"]
        == tags_of(built / "book" / "first.html")["description"]
    )


def test_a_page_has_the_version_and_the_way_to_cite_in_its_foot(built):
    for page, link in (
        ("book/first", "references.html#how-to-cite"),
        ("book/references", "#how-to-cite"),
    ):
        foot = (
            (built / f"{page}.html")
            .read_text(encoding="utf-8")
            .split('class="bd-footer-content"')[1]
        )
        assert f'Version {frame.course_version()}. <a href="{link}">' in foot
    cited = (built / "book" / "references.html").read_text(encoding="utf-8")
    assert (
        f"Version {frame.course_version()}." in cited
        and "2026" in cited
        and "attention_built_by_hand" in cited
    )


def test_the_top_of_the_folder_leads_to_the_first_page_and_looks_like_it_where_it_is_shared(built):
    top = built / "index.html"
    assert (
        'content="0; url=book/first.html"' in top.read_text()
        and '<a href="book/first.html">' in top.read_text()
    )
    tags = tags_of(top)
    assert tags["og:image"] == "_static/open-graph.png"
    assert tags["og:description"] == tags_of(built / "book" / "first.html")["og:description"]


def test_where_a_repository_is_set_a_reader_can_report_an_error_of_a_page():
    page = {"title": "Masks &amp; more", "pagename": "book/ch06_masking"}
    assert frame.report_link("", page) == ""
    link = frame.report_link("https://github.com/owner/name", page)
    assert 'href="https://github.com/owner/name/issues/new?title=Error+in+' in link
    assert "Masks+%26+more" in link and "book%2Fch06_masking" in link


def test_addresses_are_absolute_where_the_book_is_published(tmp_path):
    html = build(tmp_path, html_baseurl="https://example.org/course/")
    tags = tags_of(html / "book" / "first.html")
    assert tags["og:image"] == "https://example.org/course/_static/open-graph.png"
    assert (
        tags["og:url"]
        == "https://example.org/course/book/first.html"
        == tags_of(html / "index.html")["og:url"]
    )
    assert f'<link rel="canonical" href="{tags["og:url"]}"' in (
        html / "book" / "first.html"
    ).read_text(encoding="utf-8")
