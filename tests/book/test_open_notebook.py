"""Every exercise says how to open its notebook; links to other hosts are there once the course has
a public place, and never before.
"""

import html
import re
import shutil
from html.parser import HTMLParser
from zipfile import ZipFile

import pytest
from sphinx.application import Sphinx
from sphinx.errors import SphinxWarning
from sphinx.util.docutils import docutils_namespace, patch_docutils

from autograder.authoring.loading import load_exercises
from autograder.course import ROOT, chapters, notebook_of, pages_of
from autograder.tools.new_exercise import COUNT, NUMBERS
from book.sphinx_ext import open_notebook
from book.sphinx_ext.open_notebook import links_elsewhere

GET_COURSE = "#get-course"  # as seen from the first page itself
PATH = "notebooks/ch04_attention/ch04_attention"
EXERCISE = re.compile(
    r"^\*\*Exercise(?:.|\n(?!\n))*\n\n```\{open-notebook\} (\w+)\n```$", re.MULTILINE
)


class Links(HTMLParser):
    """The links of the paragraph that the directive makes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.links, self.text = False, [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.inside |= attributes.get("class") == "open-notebook"
        if self.inside and tag == "a":
            self.links.append(attributes)

    def handle_endtag(self, tag):
        self.inside &= tag != "p"

    def handle_data(self, data):
        self.text += data * self.inside


@pytest.fixture
def built(tmp_path):
    """Build a page with the directive, and a notebook; return what the page says."""
    source = tmp_path / "source"
    (source / PATH).parent.mkdir(parents=True)
    shutil.copy(notebook_of("ch04_attention"), source / f"{PATH}.ipynb")

    def build(argument="ch04_attention", **overrides):
        toctree = f"```{{toctree}}\n{PATH}\n```"
        (source / "index.md").write_text(
            "# A page\n\n```{open-notebook}"
            f" {argument}\n```\n\n"
            f"(get-course)=\n```{{get-course}}\n```\n\n{toctree}\n"
        )
        settings = {
            "extensions": ["myst_nb", "book.sphinx_ext.open_notebook"],
            "source_suffix": {".md": "myst-nb"},
            "html_theme": "basic",
            "nb_execution_mode": "off",
            **overrides,
        }
        out = tmp_path / "out"
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                source, None, out, out / "trees", "html", settings, status=None, warningiserror=True
            )
            app.build()
        build.page = html.unescape(re.sub("<[^>]+>", "", (out / "index.html").read_text()))
        return Links((out / "index.html").read_text())

    return build


def test_without_a_public_place_there_is_no_link_to_another_host(built):
    block = built(course_repository=("", "main"))
    assert [link["href"] for link in block.links] == [GET_COURSE, f"{PATH}.html"]
    assert (
        "type make lab in the course’s folder and open your own copy, work/ch04_attention.ipynb"
        in block.text
    )


def test_with_one_the_links_open_the_notebook_of_that_branch(built):
    block = built(course_repository=("https://github.com/someone/attention", "2027"))
    assert [link["href"] for link in block.links] == [
        GET_COURSE,
        f"{PATH}.html",
        f"https://colab.research.google.com/github/someone/attention/blob/2027/{PATH}.ipynb",
        (
            f"https://mybinder.org/v2/gh/someone/attention/2027?labpath={PATH.replace('/', '%2F')}.ipynb"
        ),
    ]
    assert not [link for link in block.links if "target" in link]
    assert "open it in Colab or open it in Binder." in block.text


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/someone/attention.git", "someone/attention"),
        ("https://github.com/someone/attention/", "someone/attention"),
        ("https://example.org/someone/attention", None),
        ("https://github.com/someone", None),
    ],
)
def test_links_are_made_for_a_repository_on_github(address, name):
    links = links_elsewhere(PATH, address, "main").values()
    assert [f"/{name}/" in link for link in links] == ([True, True] if name else [])


@pytest.mark.parametrize(
    ("repository", "told"),
    [
        (("https://example.org/attention", "main"), "git clone --branch main https://example.org"),
        (
            ("https://github.com/someone/attention", "2027"),
            "git clone --branch 2027 https://github.com/someone/attention",
        ),
    ],
)
def test_the_first_page_says_how_to_get_the_course(built, repository, told):
    built(course_repository=repository)
    assert told in built.page
    assert "make lab" in built.page


def test_without_a_public_place_the_book_hands_out_the_course_itself(built, tmp_path):
    built(course_repository=("", "main"))
    assert re.search(r"Download the course \(\d MB\), unpack it, and type", built.page)
    assert 'href="attention.zip"' in (tmp_path / "out" / "index.html").read_text()
    with ZipFile(tmp_path / "out" / "attention.zip") as handed_out:
        assert {"attention/Makefile", f"attention/{PATH}.ipynb"} <= set(handed_out.namelist())
    assert "cd attention\nmake lab" in built.page


def test_a_book_that_is_built_outside_of_git_sends_to_the_teacher(built, tmp_path, monkeypatch):
    monkeypatch.setattr(open_notebook, "ROOT", tmp_path)
    built(course_repository=("", "main"))
    assert "from your teacher or from whoever sent you here" in built.page
    assert not (tmp_path / "out" / "attention.zip").exists()


def test_what_a_page_has_said_once_it_does_not_say_again(built):
    block = built("ch04_attention\n```\n\nMore.\n\n```{open-notebook} ch04_attention")
    assert block.text.count("make lab") == 1
    assert block.text.endswith("In your notebook: work/ch04_attention.ipynb (or read it here).")
    assert [link["href"] for link in block.links] == [GET_COURSE, *2 * [f"{PATH}.html"]]


def test_a_notebook_that_is_not_there_fails_the_build(built):
    with pytest.raises(SphinxWarning, match=r"there is no notebooks/ch04/ch04\.ipynb"):
        built("ch04")


@pytest.mark.parametrize("stem", chapters())
def test_every_exercise_of_a_chapter_says_how_to_open_its_notebook(stem):
    paths = [ROOT / "book" / f"{page}.md" for page in pages_of(stem)]
    page = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    mentions = list(EXERCISE.finditer(page))
    assert [match[1] for match in mentions] == [stem] * len(mentions)
    exercises = list(load_exercises(stem))
    named = [
        name for match in mentions for name in re.findall(r"`(\w+)`", match[0].split("```")[0])
    ]
    assert [name for name in named if name in exercises] == exercises
    assert len(mentions) == len(re.findall(r"^\*\*Exercise", page, re.MULTILINE))
    assert f"../notebooks/{stem}" not in page


@pytest.mark.parametrize("stem", chapters())
def test_a_page_that_counts_its_exercises_counts_right(stem):
    page = (ROOT / "book" / f"{stem}.md").read_text(encoding="utf-8")
    count = len(load_exercises(stem))
    for said in re.findall(COUNT, page):
        assert said == NUMBERS[count], (
            f"book/{stem}.md says “for the {said} exercises” at its top; there are {count}"
        )
