"""What a learner's name may be: the same wherever somebody writes one."""

import pytest

from autograder.course import CourseError
from autograder.desk.explain import explain
from autograder.grading.handed_in.whose import named
from autograder.grading.places import Places
from autograder.term.deadlines import read_deadlines
from autograder.term.disputes import read_disputes
from autograder.term.groups import read_groups
from autograder.term.names import LONGEST_FOLDER, why_no_name
from autograder.term.roster import read_roster

STEM = "ch01_embeddings"
NO_NAMES = {
    "../../PWNED": "“../../PWNED” leads to another folder",
    "../autograded/carol": "leads to another folder",
    "/etc": "leads to another folder",
    "ada/": "leads to another folder",
    "..": "leads to another folder",
    ".": "leads to another folder",
    "x\0y": "“xy” holds a NUL",
    "é" * 128: "é…” is longer than 255 bytes",
    "a" * 300: "aaa…” is longer than 255 bytes",
}
names = pytest.mark.parametrize(("name", "told"), NO_NAMES.items(), ids=range(len(NO_NAMES)))


def said(folder, file, text, read):
    (folder / file).write_text(text)
    with pytest.raises(CourseError) as told:
        read(folder)
    return str(told.value)


@names
def test_every_table_refuses_what_nobody_can_be_called(tmp_path, name, told):
    """Also where the gradebook knows such a learner: it takes any name."""
    everybody = {"ada", name}
    exercises = {"one_hot": (STEM, 2.0)}
    complaint = f"learner,exercise,why\nada,one_hot,why\n{name},one_hot,why\n"
    due = f"{STEM},2026-11-30 23:59 UTC"
    for file, text, read in (
        ("roster.csv", f"learner\nada\n{name}\n", read_roster),
        ("groups.csv", f"group,learner\nA,ada\nA,{name}\nA,bob\n", read_groups),
        (
            "deadlines.csv",
            f"chapter,due,learner\n{due},ada\n{due},{name}\n",
            lambda folder: read_deadlines(folder, everybody),
        ),
        (
            "disputes.csv",
            complaint,
            lambda folder: read_disputes(folder, lambda: everybody, lambda: exercises),
        ),
    ):
        sentence = said(tmp_path, file, text, read)
        assert f"{file} is not clear, so nothing was changed:\n  line 3: " in sentence
        assert told in sentence and len(sentence) < 600


@names
def test_no_result_lies_outside_of_the_folder_of_its_class(tmp_path, name, told):
    for path in (Places(tmp_path).graded, Places(tmp_path).feedback):
        with pytest.raises(CourseError, match="there is no such learner"):
            path(name, STEM)


@names
def test_explain_knows_nothing_of_them(tmp_path, name, told):
    class Options:
        into, gradebook, chapter, learner = str(tmp_path), "", None, name

    with pytest.raises(CourseError, match=r"nothing of .* has been graded"):
        explain(Options)


def test_what_was_handed_in_gets_a_name_that_a_table_may_have():
    for name in (
        "",
        ".",
        "..",
        "a" * 300,
        "漢" * 128,
        "Ada Rossi_101",
        "Bob’s",
        ".x",
        "a\\b",
        "a\nb",
    ):
        assert why_no_name(named(name)) == ""
    assert why_no_name("a" * LONGEST_FOLDER) == ""
    assert why_no_name("")
