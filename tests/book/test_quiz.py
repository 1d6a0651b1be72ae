"""Quizzes: what becomes of one in HTML and elsewhere, what is refused and where, and that every
chapter asks its reader.
"""

import io
import re

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from autograder.course import ROOT
from book.sphinx_ext.quiz import FEWEST_OPTIONS, QuizError, read_options

FEWEST, MOST = 2, 3  # quizzes of a chapter
CHAPTERS = sorted((ROOT / "book").glob("ch??_*.md"))

GOOD = """\
# A page

(here)=
## A section

:::{quiz} Which *axis* of `scores` has $n$ weights?
Look at it first:

```python
weights = scores
```

- [ ] The first, `query_len`
  No: $w_i$, see [the section](#here).

  A second paragraph.
- [x] The last
  - It is in a list.
- [ ] Neither
  They have none.
:::

```{quiz} And the other?
- [x] One
  First.
- [ ] Two
  Second.
- [ ] Three
  Third.
```
"""


def build(folder, text, builder="html"):
    """Build a project of one page; return the path without its ending, and what was warned of."""
    source = folder / "source"
    source.mkdir()
    (source / "index.md").write_text(text)
    (source / "conf.py").write_text(
        "extensions = ['myst_parser', 'book.sphinx_ext.quiz']\n"
        "source_suffix = {'.md': 'markdown'}\n"  # Sphinx's default is one dictionary, which other extensions change
        "myst_enable_extensions = ['colon_fence', 'dollarmath', 'tasklist']\n"
        "myst_heading_anchors = 0\n"
    )
    warned = io.StringIO()
    with docutils_namespace(), patch_docutils(source):
        made = Sphinx(
            source, source, folder / "made", folder / "trees", builder, status=None, warning=warned
        )
        made.build()
    return folder / "made" / "index", warned.getvalue()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    made, warned = build(tmp_path_factory.mktemp("quiz"), GOOD)
    assert warned == ""
    return BeautifulSoup(made.with_suffix(".html").read_text(encoding="utf-8"), "html.parser")


def test_a_quiz_is_a_section_named_by_its_question(page):
    quizzes = page.select("section.quiz")
    assert [quiz["id"] for quiz in quizzes] == ["quiz-1", "quiz-2"]
    for quiz in quizzes:
        (question,) = page.select(f"#{quiz['aria-labelledby']}")
        assert question in quiz.select("p.quiz-question")
    first = quizzes[0]
    assert (
        first.select_one(".quiz-question").get_text() == r"Which axis of scores has \(n\) weights?"
    )
    assert first.select_one(".quiz-question em") and first.select_one(".quiz-question code")
    before, after = first.decode().split("<details", 1)
    assert "Look at it first" in before and "highlight-python" in before
    assert "highlight-python" not in after


def test_an_option_unfolds_and_says_in_words_whether_it_is_right(page):
    for quiz in page.select("section.quiz"):
        options = quiz.find_all("details", recursive=False)
        assert len(options) == 3
        assert {option["name"] for option in options} == {quiz["id"]}
        assert not any(option.has_attr("open") for option in options)
        for option in options:
            assert option.find(True).name == "summary"
            verdict = option.select_one(".quiz-verdict")
            assert verdict.get_text() == (
                "Right." if "quiz-right" in option["class"] else "Not quite."
            )
            explanation = option.find("summary").find_next_siblings()
            assert verdict in explanation[0].find_all("strong")
            assert (
                len("".join(part.get_text() for part in explanation)) > len(verdict.get_text()) + 3
            )
        assert len(quiz.select("details.quiz-right")) == 1
    assert not page.select("section.quiz script, section.quiz input, section.quiz [onclick]")


def test_explanations_are_parsed_as_the_page_is(page):
    wrong, right, _ = page.select("#quiz-1 details")
    assert wrong.select_one("summary code").get_text() == "query_len"
    assert wrong.select_one("span.math").get_text() == r"\(w_i\)"
    assert wrong.select_one("a")["href"] == "#here"
    assert [part.name for part in wrong.find("summary").find_next_siblings()] == ["p", "p"]
    assert [part.name for part in right.find("summary").find_next_siblings()] == ["p", "ul"]


def test_other_builders_get_a_nested_list(tmp_path):
    made, warned = build(tmp_path, GOOD, "text")
    assert warned == ""
    text = made.with_suffix(".txt").read_text(encoding="utf-8")
    assert (
        "**And the other?**\n\n* One\n\n  * **Right.** First.\n\n* Two\n\n  * **Not quite.**"
        " Second." in text
    )
    assert (
        text.index("Look at it first") < text.index("weights = scores") < text.index("* The first")
    )


BAD = {  # content, what is told, and the line of the content it is told of (0: the directive's own)
    "two options": ("- [x] a\n  b\n- [ ] c\n  d\n", "at least 3 options, this one has 2", 0),
    "no option": ("Nothing to choose from.\n", "at least 3 options, this one has 0", 0),
    "none right": (
        "- [ ] a\n  b\n- [ ] c\n  d\n- [ ] e\n  f\n",
        "exactly one right option, this one has 0",
        0,
    ),
    "two right": (
        "- [x] a\n  b\n- [X] c\n  d\n- [ ] e\n  f\n",
        "exactly one right option, this one has 2",
        0,
    ),
    "no explanation": ("- [x] a\n  b\n- [ ] see\n\n- [ ] e\n  f\n", "'see' has no explanation", 3),
    "no explanation at the end": (
        "- [x] a\n  b\n- [ ] c\n  d\n- [ ] e\n",
        "'e' has no explanation",
        5,
    ),
    "no choice": ("- [x] a\n  b\n- [ ]\n  d\n- [ ] e\n  f\n", "says nothing", 3),
    "no box": ("- [x] a\n  b\n- c\n  d\n- [ ] e\n  f\n", "begins with '- [ ]'", 3),
    "no indent": ("- [x] a\n  b\n- [ ] c\nd\n- [ ] e\n  f\n", "is indented by two spaces", 4),
}


@pytest.mark.parametrize("name", BAD)
def test_a_quiz_that_is_not_well_made_is_an_error_with_its_line(tmp_path, name):
    content, told, line = BAD[name]
    made, warned = build(
        tmp_path, f"# A page\n\nText.\n\n```{{quiz}} Which?\n{content}```\n\nMore text.\n"
    )
    assert re.fullmatch(
        rf"\S*index\.md:{5 + line}: ERROR: quiz: .*{re.escape(told)}.*\n", warned
    ), warned
    html = made.with_suffix(".html").read_text(encoding="utf-8")
    assert "quiz-option" not in html and "More text." in html


def test_a_quiz_without_a_question_is_an_error(tmp_path):
    _, warned = build(
        tmp_path, "# A page\n\n```{quiz}\n- [x] a\n  b\n- [ ] c\n  d\n- [ ] e\n  f\n```\n"
    )
    assert "index.md:3: ERROR" in warned


# --- the chapters


def quizzes_of(text):
    """Return, for each quiz of a page, its question, where it stands, and its options."""
    found = re.finditer(r"^(```+|:::+)\{quiz\} (.*)\n((?:.*\n)*?)\1$", text, re.MULTILINE)
    return [(quiz[2], quiz.start(), read_options(quiz[3].splitlines())[1]) for quiz in found]


def test_this_reads_quizzes_as_the_book_does():
    assert [(question, len(choices)) for question, _, choices in quizzes_of(GOOD)] == [
        ("Which *axis* of `scores` has $n$ weights?", 3),
        ("And the other?", 3),
    ]
    with pytest.raises(QuizError):
        quizzes_of(GOOD.replace("- [x] One", "- [ ] One"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_quizzes_where_they_are_prepared(path):
    text = path.read_text(encoding="utf-8")
    quizzes = quizzes_of(text)
    assert text.count("{quiz}") == len(quizzes), f"book/{path.name}: a quiz is not well made"
    assert FEWEST <= len(quizzes) <= MOST, (
        f"book/{path.name} has {len(quizzes)} quizzes. A chapter has {FEWEST} or {MOST} (CONTRIBUTING,"
        " “Add a quiz”): a reader who is asked more often stops answering. Replace one instead"
    )
    sections = [text[:place].count("\n## ") for _, place, _ in quizzes]
    assert len(set(sections)) > 1, f"book/{path.name}: all quizzes are in one section"
    assert max(place for _, place, _ in quizzes) < text.index("\n## Check yourself")
    for question, _, choices in quizzes:
        assert question.endswith("?")
        assert len(choices) >= FEWEST_OPTIONS
        for option in choices:
            assert len(" ".join(option.explanation).split()) >= 8, (
                f"{question}: {option.choice} teaches nothing"
            )
            assert re.sub(r"\$.*?\$", "", option.choice).strip(), (
                f"{option.choice}: a formula alone is no name for a button"
            )


def test_the_right_option_has_no_place_of_its_own():
    places = {
        [option.right for option in choices].index(True)
        for path in CHAPTERS
        for _, _, choices in quizzes_of(path.read_text(encoding="utf-8"))
    }
    assert places >= {0, 1, 2}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_lets_its_reader_check_themselves(path):
    headings = re.split(r"^## (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(headings[1::2], headings[2::2], strict=True))
    assert list(sections).index("Check yourself") == list(sections).index("Summary") - 1
    section = sections["Check yourself"]
    asked = dict(re.findall(r"^\*\*(\d)\.\*\* (.+(?:\n.+)*)", section, re.MULTILINE))
    answers = r"^```\{admonition\} Answer (\d)\n:class: dropdown\n\n(?:.+\n)+```$"
    assert 3 <= len(asked) <= 5
    assert all("?" in question for question in asked.values())
    assert (
        list(asked)
        == re.findall(answers, section, re.MULTILINE)
        == [str(n + 1) for n in range(len(asked))]
    )
