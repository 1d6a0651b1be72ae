"""The instructor's report, its files, and the feedback pages: right numbers, and no text of a
learner that is more than text.
"""

import csv
import html
import io
import itertools
import json
import os
import re
import stat
from html.parser import HTMLParser
from urllib.parse import unquote

import nbformat
import pytest

from autograder.authoring.loading import solution_sources
from autograder.course import notebook_of
from autograder.grading.handed_in.submission import Submission, rebuild
from autograder.reporting.csv_files import (
    CANVAS_COLUMNS,
    canvas_csv,
    harmless,
    moodle_csv,
    scores_csv,
    written,
)
from autograder.reporting.instructor_page import counts_of, histogram, report_page
from autograder.reporting.learner_page import feedback_page
from autograder.reporting.record import read_graded
from autograder.reporting.results import Result, points_of, results_of, write_report

STEM = "ch04_attention"
RELEASED = nbformat.read(notebook_of(STEM), as_version=4)
GRADED = [
    cell.metadata.nbgrader
    for cell in RELEASED.cells
    if cell.metadata.get("nbgrader", {}).get("grade")
]
BELIEF = "the softmax runs over the queries"
NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "' onmouseover='alert(3)",
    "javascript:alert(4)",
    "{{ 7 * 191 }}{% raw %}",
    "a\u202eb\u2066c\x1b[2J\x07",
    "../../../etc",
    "</style><style>*{display:none}",
    "<!-- <a href='http://evil.example'>",
    "ada\udc80",
]


def notebook_of_learner(share=1.0, cells=None, problem=None, case=None, **record):
    """Return a graded notebook as it is read from disk.

    Args:
        share: part of the points of every graded cell, or a dictionary of it by exercise.
        cells: what was handed in; by default the published solution.
        case: what to change in the only case of each graded cell.
    """
    cells = list(solution_sources(STEM).items()) if cells is None else cells
    notebook = rebuild(STEM, Submission("f" * 64, cells, problem))
    outcomes = []
    for about in GRADED:
        exercise = about["grade_id"].split("_", 1)[1]
        part = share.get(exercise, 1.0) if isinstance(share, dict) else share
        titles = {
            "title": "three scores become three weights",
            "weight": 1,
            "message": "",
            "misconception": None,
        }
        passed = [{**titles, "title": "an easy one", "passed": part > 0}] if part else []
        outcome = {
            "cell": about["grade_id"],
            "exercise": exercise,
            "points": about["points"],
            "score": part * about["points"],
        }
        outcomes.append(
            {**outcome, "cases": [{**titles, "passed": part == 1, **(case or {})}, *passed]}
        )
    kept = {
        "seed": "0",
        "checks": "abc",
        "sandbox": "bubblewrap",
        "seconds": 0.5,
        "cells": outcomes,
        **record,
    }
    notebook.metadata["autograder"].update(kept)
    return json.loads(json.dumps(notebook))


def page_of(graded):
    results = results_of(STEM, graded)
    return report_page(
        STEM, results, points_of(results), lambda learner: ("./page.html", "./notebook.ipynb")
    )


def rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


class Seen(HTMLParser):
    """Which elements and attributes a browser would make of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text, self.links = {}, set(), "", []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data):
        self.text += data


# --- the page
# ------------------------------------------------------------------------------------------------------------


def test_names_and_outputs_are_text_on_the_page():
    plain = Seen(
        page_of((f"learner {number}", notebook_of_learner()) for number in range(len(NASTY)))
    )
    nasty = [
        (
            name,
            notebook_of_learner(
                cells=[(None, f"import dis  # {name}".encode("utf-8", "replace").decode())],
                notes=[name],
            ),
        )
        for name in NASTY
    ]
    page = page_of(nasty)
    seen = Seen(page)
    assert seen.attributes <= plain.attributes | {"class"}
    assert set(seen.tags) <= set(plain.tags) | {"details", "summary", "p"}
    assert seen.tags["script"] == seen.tags["style"] == 1
    assert not {"img", "iframe", "object", "embed", "form", "base"} & set(seen.tags)
    assert "1337" not in page
    assert not [c for c in page if not c.isprintable() and c != "\n"]
    assert all(not re.match(r"\s*javascript:|.*//", link) for link in seen.links)
    for name in NASTY[:5]:
        assert name in seen.text
    assert "a\\u202eb\\u2066c\\x1b[2J\\x07" in seen.text


def test_nothing_is_asked_of_another_host_and_no_script_but_our_own_may_run():
    page = page_of([("ada", notebook_of_learner())])
    assert not re.findall(r"(?:https?:)?//[a-z]", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_policy_names_the_script_and_the_style_that_stand_in_the_page():
    import base64
    import hashlib

    page = page_of([("ada", notebook_of_learner())])
    for kind in ("style", "script"):
        body = re.search(rf"<{kind}[^>]*>(.*?)</{kind}>", page, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page


def test_scores_without_a_sandbox_are_announced():
    assert "GRADED WITHOUT A SANDBOX" not in page_of([("ada", notebook_of_learner())])
    some = page_of([("ada", notebook_of_learner()), ("bruno", notebook_of_learner(sandbox="none"))])
    assert "GRADED WITHOUT A SANDBOX" in some
    assert "1 of these ran" in some
    assert "flags-unsandboxed" in some
    unread = notebook_of_learner(0, [], "it is empty")
    unread["metadata"]["autograder"].pop("sandbox")
    everybody = page_of([("ada", unread), ("bruno", notebook_of_learner(sandbox="none"))])
    assert "All of these" in everybody
    assert "flags-unsandboxed" not in everybody


def test_a_misconception_is_counted_once_a_learner_and_stubs_are_not_counted_at_all():
    wrong = {"passed": False, "message": "no", "misconception": BELIEF}
    class_ = [
        ("ada", notebook_of_learner(0.5, case=wrong)),
        ("bruno", notebook_of_learner(0.5, case=wrong)),
        ("chiara", notebook_of_learner()),
        ("elena", notebook_of_learner(0)),  # nothing passed: which case fails says nothing
        (
            "davide",
            notebook_of_learner(
                0,
                cells=[
                    (c.metadata.nbgrader.grade_id, c.source)
                    for c in RELEASED.cells
                    if c.metadata.get("nbgrader")
                ],
            ),
        ),
    ]
    text = re.sub(r"\s+", " ", Seen(page_of(class_)).text)
    assert f"{BELIEF}2 · 50% ada, bruno" in text
    assert "three scores become three weights2 · 67%" in text
    assert "1 with full marks; 1 left it as it was" in text


def test_the_distribution_keeps_full_marks_apart_and_loses_nobody():
    bars = histogram([0, 0.99, 1, 8.99, 9, 9.99, 10, 10], 10)
    assert [(bar.label, bar.count) for bar in bars if bar.count] == [
        ("0", 2),
        ("1", 1),
        ("8", 1),
        ("9", 2),
        ("10", 2),
    ]
    assert sum(bar.count for bar in histogram([n / 7 for n in range(300)], 42.5)) == 300
    assert counts_of([0, 0.999, 1], 1, 10) == [1, *[0] * 8, 1, 1]
    assert all(bar.y >= 0 and bar.x + bar.width <= 100 for bar in bars)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_small_classes_have_a_page_too(number):
    class_ = [(f"learner {n}", notebook_of_learner()) for n in range(number)]
    page = page_of(iter(class_))
    assert ("Nobody's notebook has been graded yet" in page) == (number == 0)
    assert page.count('<tr><th scope="row"') >= number


def test_a_class_of_thousands_stays_a_page_that_opens():
    one = results_of(STEM, [("ada", notebook_of_learner(0.5, [(None, "import dis")]))])[0]
    results = [
        Result(**{**vars(one), "learner": f"a-rather-long-name-{number}"}) for number in range(3000)
    ]
    page = report_page(
        STEM,
        results,
        points_of(results),
        lambda learner: (f"../../feedback/{learner}/{STEM}/{STEM}.html",) * 2,
    )
    assert len(page.encode()) < 3_000_000
    assert "2,700 more are marked" in page
    assert page.count("a-rather-long-name-2999") == 3  # its row, with two links


# --- the files
# -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1+1", '=cmd|" /C calc"!A0'],
)
def test_what_could_be_a_formula_is_a_text(name):
    assert harmless(name).startswith("'")
    for text in (scores_csv, lambda *a: canvas_csv(*a, STEM), lambda *a: moodle_csv(*a, STEM)):
        results = results_of(STEM, [(name, notebook_of_learner())])
        cells = [
            cell for row in rows(text(results, points_of(results)).lstrip("\ufeff")) for cell in row
        ]
        assert not [
            cell
            for cell in cells
            if cell.lstrip(" \xa0").startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
        ]


SEPARATORS = ",;\t|"


def cells_as_separated_by(separator, text):
    """Return the cells that a spreadsheet sees, and those that a simpler one would, to which
    quotation marks mean nothing.
    """
    as_csv = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    cells = [cell for row in as_csv for cell in row]
    return [*cells, *(cell.strip('"') for cell in re.split(rf"[\r\n{separator}]", text))]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_nothing_is_a_formula_for_a_spreadsheet_with_other_separators(separator):
    """A spreadsheet separates by what its country does, and quotation marks in the middle of its
    cells mean nothing to it.
    """
    for begins in ("", "x"):
        for middle in itertools.product(f"{SEPARATORS}\n \"'", repeat=3):
            name = f"{begins}{''.join(middle)}=1+1"
            for row in ([name, 3], [3, "", name, "x"]):
                assert not [
                    cell
                    for cell in cells_as_separated_by(separator, written([row]))
                    if cell.strip(" \xa0").startswith("=")
                ], (name, written([row]))


@pytest.mark.parametrize("name", ["x;=1+1", "x\t@SUM(1)", "x; +1", 'x";"-1', "x\n＝1", "\t=1"])
def test_a_formula_after_a_separator_is_a_text_in_every_file(name):
    results = results_of(STEM, [(name, notebook_of_learner())])
    for file in (scores_csv, lambda *a: canvas_csv(*a, STEM), lambda *a: moodle_csv(*a, STEM)):
        text = file(results, points_of(results))
        for separator in SEPARATORS:
            assert not [
                cell
                for cell in cells_as_separated_by(separator, text)
                if cell.strip(" \xa0").startswith(tuple("=+-@＝"))
            ]


def test_names_that_only_look_a_little_like_formulas_stay():
    for name in ("Jean-Luc", "Ricci; Anna-Maria", "ada+x@uni.edu", "o'hara, b", "a = b", "1 - 2"):
        assert harmless(name) == name


def test_what_is_pasted_from_the_page_is_no_formula():
    """A spreadsheet calculates a cell of a pasted table, too."""
    results = results_of(
        STEM, [("=1+1", notebook_of_learner(problem="@SUM(1).ipynb is not a notebook"))]
    )
    page = report_page(STEM, results, points_of(results), lambda name: ("a", "b"))
    for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", page, re.DOTALL):
        shown = html.unescape(re.sub(r"<[^>]*>", "", cell)).strip()
        assert not shown.startswith(("=", "@")), shown
    assert "&#39;=1+1" in page


def test_numbers_stay_numbers_and_texts_come_back():
    names = ['Zoë "the cat" Ünal', "عمر, الخيام", "two\nlines", "semi;colon", "o'hara", "\u202eada"]
    results = results_of(STEM, [(name, notebook_of_learner(0.3)) for name in names])
    text = scores_csv(results, points_of(results))
    assert text.startswith("\ufeff")
    head, *table = rows(text.removeprefix("\ufeff"))
    assert head == ["learner", *points_of(results), "total", "points", "flags", "sandbox"]
    assert [row[0] for row in table] == [*names[:-1], "\\u202eada"]
    assert {tuple(row[1:-1]) for row in table} == {("0.6", "0.6", "0.9", "0.9", "3", "10", "2")}
    assert {row[-1] for row in table} == {"bubblewrap"}


def test_canvas_gets_its_columns_its_points_row_and_nothing_it_could_mistake():
    names = ["ada", "Points Possible", "12 monkeys", 'B, "C"', "Zoë"]
    results = results_of(STEM, [(name, notebook_of_learner(0.5)) for name in names])
    text = canvas_csv(results, points_of(results), STEM)
    assert text.startswith("Student,ID,SIS User ID,SIS Login ID,Section,")
    head, points, *table = rows(text)
    assert head == [*CANVAS_COLUMNS, STEM]
    assert points == ["Points Possible", "", "", "", "", "10"]
    assert [row[3] for row in table] == names
    assert {row[5] for row in table} == {"5"}
    assert not [row for row in table if "Points Possible" in row[0] or row[1] or row[2]]


def test_moodle_gets_a_name_a_grade_and_a_feedback_without_markup():
    results = results_of(
        STEM, [("ada", notebook_of_learner(0.25)), ("zoë@x", notebook_of_learner())]
    )
    head, first, second = rows(moodle_csv(results, points_of(results), STEM))
    assert head == ["Username", STEM, f"{STEM} (feedback)"]
    assert first[:2] == ["ada", "2.5"]
    assert second[:2] == ["zoë@x", "10"]
    assert first[2].startswith("softmax: 0.5 of 2; attention_scores: 0.5 of 2")
    assert not re.search(r"[<>&]", first[2])
    assert rows(moodle_csv(results[1:], points_of(results), STEM))[0][0] == "Email address"


def test_who_came_in_a_platforms_zip_is_known_by_its_number():
    notebook = notebook_of_learner(0.5)
    notebook["metadata"]["autograder"]["known_as"] = "canvas 101"
    results = results_of(STEM, [("lovelaceada_101", notebook)])
    assert rows(canvas_csv(results, points_of(results), STEM))[2] == [
        "lovelaceada_101",
        "101",
        "",
        "",
        "",
        "5",
    ]
    notebook["metadata"]["autograder"]["known_as"] = "moodle 101"
    results = results_of(STEM, [("Ada Lovelace_101", notebook)])
    assert rows(moodle_csv(results, points_of(results), STEM)) == [
        ["Identifier", "Full name", "Grade", "Last modified (grade)"],
        ["Participant 101", "Ada Lovelace", "5", ""],
    ]


# --- code that nobody can read
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "remarks"),
    [
        ("import dis\nlarge = 0x" + "f" * 5_000, ["looks"]),
        ("import dis\nlarge = [0b" + "1" * 50_000 + ", -0o" + "7" * 9_000 + "]", ["looks"]),
        ("if 0:\n" + "    %x\n" * 600, []),  # IPython gives up on it too: it never runs
        ('import dis\nx = %"""', []),
        ("a = [0]\n" * 20_000 + "!y\n" * 450, ["beyond"]),
        ("x = " + "-" * 100_000 + "1", []),
        ("x = " + "(" * 5_000 + ")" * 5_000, []),
        ("x" + ".x" * 60_000, []),
        ("x = 1" + " + 1" * 50_000, []),
        ("if x:\n" + "".join(" " * n + "if x:\n" for n in range(1, 99)) + " " * 99 + "x", []),
        ("\x00import dis", ["characters"]),
        ("\f" * 199_999, []),
        ("'" + "\u202e" * 199_000 + "'", ["characters"]),
    ],
    ids=range(13),  # they are no names for tests
)
def test_code_that_is_hard_to_read_is_one_learners_remark(source, remarks):
    hard = notebook_of_learner(cells=[("softmax", source), (None, source)])
    easy = notebook_of_learner(cells=[(None, "import dis")])
    results = results_of(STEM, [("ada", easy), ("bruno", hard), ("chiara", easy)])
    found = [sorted({flag.kind for flag in each.flags} - {"same"}) for each in results]
    assert [found[0], found[2]] == [["looks"], ["looks"]]
    assert found[1] in (remarks, ["beyond"])  # a slow machine gives up on some
    assert [each.total for each in results] == [10, 10, 10]


# --- from and to the disk
# ------------------------------------------------------------------------------------------------


def put(folder, learner, content):
    path = folder / learner / STEM / f"{STEM}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_what_is_read_is_what_was_graded(tmp_path):
    notebook = nbformat.from_dict(
        notebook_of_learner(cells=[(None, "import dis\nprint(1)"), *solution_sources(STEM).items()])
    )
    cell = next(cell for cell in notebook.cells if cell.id.startswith("extra-"))
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="one\ntwo")]
    put(tmp_path, "ada", nbformat.writes(notebook))  # on disk, texts are lists of lines
    ((learner, read),) = read_graded(STEM, tmp_path)
    assert [each["source"] for each in read["cells"]] == [each.source for each in notebook.cells]
    assert read["cells"][notebook.cells.index(cell)]["outputs"] == cell.outputs
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", read["metadata"]["autograder"]["graded"]
    )
    assert [flag.kind for flag in results_of(STEM, [(learner, read)])[0].flags] == [
        "looks",
        "reference",
    ]


def test_what_is_no_graded_notebook_is_skipped_with_a_remark(tmp_path):
    put(tmp_path, "ada", notebook_of_learner())
    put(tmp_path, "bruno", '{"cells": [')
    put(tmp_path, "chiara", nbformat.writes(RELEASED))
    put(tmp_path, "davide", "[" * 100_000)
    put(tmp_path, "elena", {"cells": [{}], "metadata": {"autograder": {"cells": [{"score": 1}]}}})
    (tmp_path / "farid").mkdir()
    (tmp_path / "a file").write_text("")
    remarks = []
    read = read_graded(STEM, tmp_path, remarks.append)
    assert iter(read) is read  # lazily
    assert [learner for learner, _ in read] == ["ada"]
    assert [remark.split("/")[0] for remark in remarks] == ["bruno", "chiara", "davide", "elena"]
    assert list(read_graded(STEM, tmp_path / "nowhere")) == []


def test_a_report_is_written_whole_and_its_links_lead_home(tmp_path):
    graded, feedback = tmp_path / "autograded", tmp_path / "feed back"
    names = ["ada", "#1 %20?", "javascript:x", "عمر"]
    for name in names:
        put(graded, name, notebook_of_learner())
    paths = write_report(STEM, read_graded(STEM, graded), tmp_path / "reports", graded, feedback)
    assert [path.name for path in paths] == [
        "report.html",
        "scores.csv",
        "canvas.csv",
        "moodle.csv",
    ]
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(
        path.name for path in paths
    )
    links = [unquote(link) for link in Seen(paths[0].read_text(encoding="utf-8")).links]
    reached = {os.path.normpath(paths[0].parent / link) for link in links}
    for name in names:
        assert str(graded / name / STEM / f"{STEM}.ipynb") in reached
        assert str(feedback / name / STEM / f"{STEM}.html") in reached
    raw = Seen(paths[0].read_text(encoding="utf-8")).links
    assert all(
        link.startswith((".", "#")) or link in ("scores.csv", "canvas.csv", "moodle.csv")
        for link in raw
    )
    assert not any("?" in link or "#" in link[1:] for link in raw)
    assert stat.S_IMODE(paths[0].stat().st_mode) & 0o600 == 0o600


def test_a_report_that_fails_halfway_leaves_the_old_one(tmp_path, monkeypatch):
    graded = [("ada", notebook_of_learner())]
    paths = write_report(STEM, graded, tmp_path)
    before = {path: path.read_bytes() for path in paths}
    monkeypatch.setattr(
        os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("the disk is full"))
    )
    with pytest.raises(OSError, match="full"):
        write_report(STEM, [("bruno", notebook_of_learner())], tmp_path)
    assert {path: path.read_bytes() for path in paths[0].parent.iterdir()} == before


def test_the_same_class_gives_the_same_bytes(tmp_path):
    graded = [(name, notebook_of_learner(0.5)) for name in ("ada", "bruno", "chiara")]
    first = [path.read_bytes() for path in write_report(STEM, graded, tmp_path / "one")]
    assert [path.read_bytes() for path in write_report(STEM, graded, tmp_path / "two")] == first


# --- feedback
# ------------------------------------------------------------------------------------------------------------


def test_feedback_has_scores_comments_and_code_without_a_database():
    stub = next(
        cell.source
        for cell in RELEASED.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "softmax"
    )
    cells = [*solution_sources(STEM).items()]
    cells[0] = ("softmax", stub)
    notebook = notebook_of_learner(
        {"softmax": 0}, cells, case={"passed": False, "message": "look at <axis>"}
    )
    before = json.dumps(notebook)
    page = feedback_page("ada", STEM, notebook)
    text = re.sub(r"\s+", " ", Seen(page).text)
    assert "8 of 10 points" in text
    assert "softmax 0 of 2" in text
    assert text.count("You handed this one in as it was.") == 1
    assert "look at <axis>" in text
    assert "Handed in late" not in text
    assert json.dumps(notebook) == before


def test_feedback_on_what_could_not_be_read_says_only_that():
    page = feedback_page("ada", STEM, notebook_of_learner(0, [], "it is <b>empty</b>"))
    assert "Nothing could be graded: it is &lt;b&gt;empty&lt;/b&gt;." in page
    assert "You handed this one in as it was" not in page


def test_feedback_shows_nothing_that_was_printed_after_the_first_question():
    notebook = notebook_of_learner()
    for cell in notebook["cells"]:
        if exercise := cell["metadata"].get("nbgrader", {}).get("grade_id"):
            text = f"printed by {exercise}"
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
    seen = re.sub(r"\s+", " ", Seen(feedback_page("ada", STEM, notebook)).text)
    assert re.findall(r"printed by \w+", seen) == ["printed by softmax"]
    assert seen.count("is left out here, because your functions had been asked by then") == 3


@pytest.mark.parametrize("text", NASTY)
def test_feedback_shows_what_a_learner_wrote_as_text(text):
    shown = text.encode("utf-8", "replace").decode()
    notebook = notebook_of_learner(
        0, [("softmax", shown)], case={"passed": False, "message": shown}
    )
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "softmax":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": shown}]
    page = feedback_page(text, STEM, notebook)
    plain = feedback_page(
        "ada",
        STEM,
        notebook_of_learner(0, [("softmax", "x")], case={"passed": False, "message": "x"}),
    )
    assert set(Seen(page).tags) <= {*Seen(plain).tags, "details", "summary"}
    assert Seen(page).attributes <= Seen(plain).attributes
    assert not [c for c in page if not c.isprintable() and c not in "\n\t\xa0"]
    assert "1337" not in page
