"""`new` begins an exercise in three files, and what it begins is an exercise as soon as its gaps are
filled; `check` finds the gaps, and the tests that concern one thing.
"""

import ast
import re
import shutil
import subprocess
import sys

import pytest

from autograder.authoring.loading import EXERCISE_CELL
from autograder.course import ROOT, CourseError, chapters, source_of
from autograder.tools import check, new_exercise, templates
from autograder.tools.new_exercise import chapter_named, gaps_in, parsed

STEM = "ch04_attention"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A copy of what `new` writes into."""
    for folder in ("solutions", "book", f"autograder/checks/{STEM}"):
        (tmp_path / folder).mkdir(parents=True)
    for stem in chapters():
        shutil.copy(source_of(stem), tmp_path / "solutions")
        shutil.copy(ROOT / "book" / f"{stem}.md", tmp_path / "book")
    shutil.copy(
        ROOT / "autograder" / "checks" / STEM / "__init__.py",
        tmp_path / "autograder" / "checks" / STEM,
    )
    for module in (new_exercise, templates):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(
        new_exercise, "source_of", lambda stem: tmp_path / "solutions" / f"{stem}.py"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("chapter", "signature"),
    [
        ("ch04", "log_softmax(scores, axis=-1)"),
        ("ch04", "log_softmax"),
        ("ch06_masking", "prefix_mask(seq_len, prefix_len, device=None)"),
        ("ch06", "window_mask(token_ids, window_len=3)"),
        ("ch07", "GroupNorm(d_model, eps=1e-05)"),
        ("ch05", "rescale(x, num_heads, mask)"),
    ],
)
def test_what_is_begun_is_tidy_code_in_the_place_of_the_next_exercise(
    course, capsys, chapter, signature
):
    stem, (name, _) = chapter_named(chapter), parsed(signature)
    before = EXERCISE_CELL.findall(source_of(stem).read_text(encoding="utf-8"))
    new_exercise.new_exercise(chapter, signature)
    source, checks, page = (course / place for place in new_exercise.files_of(stem, name))
    text = source.read_text(encoding="utf-8")
    assert EXERCISE_CELL.findall(text) == [*before, name]
    assert f"# ## {len(before) + 1}. " in text
    assert text.rindex("# %% [markdown]") > text.index(f'exercise="{name}"')
    assert f"**Exercise {len(before) + 1}: `{name}`.**" in page.read_text(encoding="utf-8")
    ast.parse(checks.read_text(encoding="utf-8"))
    told = capsys.readouterr().out
    assert f"make check EXERCISE={name}" in told
    assert set(gaps_in(stem, name)) <= set(told.splitlines())
    assert what_ruff_says(checks) == ""
    assert what_ruff_says(source, "--ignore=F401,E501") == ""  # as pyproject.toml has it


def what_ruff_says(path, *options):
    """Format a file, as `make check` does first, and return what else ruff says of it."""
    ruff = [sys.executable, "-m", "ruff"]
    given = ["--quiet", "--no-cache", "--config", ROOT / "pyproject.toml"]
    subprocess.run([*ruff, "format", *given, path], check=True)
    command = [*ruff, "check", *given, *options, path]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def test_a_gap_that_is_filled_is_no_longer_told(course):
    new_exercise.new_exercise(STEM, "log_softmax(scores)")
    source, checks, page = (course / place for place in new_exercise.files_of(STEM, "log_softmax"))
    checks.write_text("")
    left = gaps_in(STEM, "log_softmax")
    assert [each.partition(":")[0] for each in left] == [f"solutions/{STEM}.py"] * 7 + [
        f"book/{STEM}.md"
    ]
    for path in (source, page):
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace("FILL IN", "done").replace("raise NotImplementedError", "pass")
        )
    assert gaps_in(STEM, "log_softmax") == []


def test_the_page_counts_the_new_exercise_and_new_says_where(course, capsys):
    new_exercise.new_exercise(STEM, "log_softmax(scores)")
    lines = (course / "book" / f"{STEM}.md").read_text(encoding="utf-8").splitlines()
    (number,) = [at for at, line in enumerate(lines, 1) if "for the five exercises" in line]
    told = f"book/{STEM}.md:{number}: counts five exercises now; does it still say how long"
    assert told in capsys.readouterr().out


def test_where_the_page_counts_no_exercises_new_asks_how_long_they_take(course, capsys):
    new_exercise.new_exercise("ch02", "relative_shift(scores)")
    told = capsys.readouterr().out
    assert re.search(r"^book/ch02\w+\.md:\d+: does it still say how long they take", told, re.M)


@pytest.mark.parametrize(
    ("chapter", "signature", "words"),
    [
        ("ch77", "log_softmax", "there is no chapter 'ch77'; there are: ch01_embeddings"),
        ("ch04", "log softmax", "is no signature"),
        ("ch04", "log_softmax(", "is no signature"),
        ("ch04", "causal_mask(seq_len)", "causal_mask is an exercise of ch06_masking already"),
    ],
)
def test_what_cannot_be_begun_is_told_and_nothing_written(course, chapter, signature, words):
    before = {path: path.read_bytes() for path in course.rglob("*") if path.is_file()}
    with pytest.raises(CourseError, match=words):
        new_exercise.new_exercise(chapter, signature)
    assert {path: path.read_bytes() for path in course.rglob("*") if path.is_file()} == before


def test_no_exercise_of_the_course_has_a_gap():
    for stem in chapters():
        for name in new_exercise.exercises_of(stem):
            assert gaps_in(stem, name) == []


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: check.check_exercise("sofmax"), "there is no exercise 'sofmax'; there are:"),
        (lambda: check.check_attack("sofmax"), "there is no tests/attacks/sofmax.py"),
        (lambda: check.check_page("ch77"), "there is no page 'ch77' in book/"),
    ],
)
def test_what_cannot_be_checked_is_told(ask, words):
    with pytest.raises(CourseError, match=words):
        ask()


def test_a_check_of_an_exercise_runs_its_tests_and_no_other_exercise_s():
    """`embed` is the beginning of other names, and of its chapter's."""
    selected = check.selection("ch01_embeddings", "embed")
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--collect-only",
            "-m",
            "not long",
            "-k",
            selected,
            check.TESTS / check.OF_AN_EXERCISE,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    ids = [line.partition("[")[2] for line in ran.stdout.splitlines() if "::" in line]
    assert len(ids) > 15
    assert all("ch01_embeddings:embed:" in each or "ch01_embeddings:embed]" in each for each in ids)
