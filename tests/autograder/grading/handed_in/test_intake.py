"""What was handed in is found in any of the usual arrangements; what is wrong with one file is that
file's own affair.
"""

import json
import os
import tracemalloc
import zipfile

import nbformat
import pytest
import yaml

from autograder.course import CourseError, notebook_of
from autograder.grading.handed_in.intake import find_submissions
from autograder.grading.handed_in.submission import Submission
from autograder.grading.handed_in.whose import named
from tests.conftest import hand_in, solved_notebook

STEM, OTHER = "ch04_attention", "ch01_embeddings"
RIGHT = nbformat.writes(solved_notebook(STEM))
ELSE = notebook_of(OTHER).read_text(encoding="utf-8")


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def seen(found):
    return [(each.learner, each.stem, each.read().problem) for each in found]


def test_nbgraders_folders_of_all_chapters(tmp_path):
    hand_in(tmp_path, "ada", STEM, solved_notebook(STEM))
    hand_in(tmp_path, "bruno", OTHER, ELSE)
    (tmp_path / "submitted" / "bruno" / OTHER / "timestamp.txt").write_text(
        "2026-03-01 10:00:00.0 UTC"
    )
    found = find_submissions(tmp_path / "submitted")
    assert seen(found) == [("bruno", OTHER, None), ("ada", STEM, None)]
    assert found[0].timestamp.hour == 10
    assert [each.learner for each in find_submissions(tmp_path / "submitted", STEM)] == ["ada"]


def test_the_contents_of_the_book_are_parsed_once_for_all_learners(tmp_path, monkeypatch):
    for number in range(20):
        hand_in(tmp_path, f"learner{number}", STEM, RIGHT, below=".")
    parsed, parse = [], yaml.safe_load
    monkeypatch.setattr(yaml, "safe_load", lambda text: parsed.append(text) or parse(text))
    assert len(find_submissions(tmp_path)) == 20
    assert len(parsed) <= 1


def test_an_empty_folder_is_a_submission_too(tmp_path):
    (tmp_path / "ada" / STEM).mkdir(parents=True)
    assert "there was no ch04_attention.ipynb" in find_submissions(tmp_path)[0].read().problem


def test_a_folder_that_may_not_be_entered_is_a_submission_that_could_not_be_read(
    tmp_path, monkeypatch
):
    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    (tmp_path / "ada").mkdir()
    monkeypatch.setattr("pathlib.Path.is_symlink", refuse)
    [found] = find_submissions(tmp_path, STEM)
    assert found.learner == "ada"


def test_a_link_to_a_classmates_folder_is_not_followed(tmp_path):
    (tmp_path / "ada" / STEM).mkdir(parents=True)
    (tmp_path / "ada" / STEM / f"{STEM}.ipynb").write_text(RIGHT)
    (tmp_path / "bruno").mkdir()
    (tmp_path / "bruno" / STEM).symlink_to(tmp_path / "ada" / STEM)
    (tmp_path / "chiara").symlink_to(tmp_path / "ada")
    problems = {each.learner: each.read().problem for each in find_submissions(tmp_path)}
    assert problems["ada"] is None
    assert "is a link" in problems["bruno"]
    assert "is a link" in problems["chiara"]


@pytest.mark.parametrize(
    "name", ["ada.ipynb", f"ada_{STEM}.ipynb", f"{STEM}-ada.ipynb", f"{STEM}/ada.ipynb"]
)
def test_a_flat_folder_names_its_learners(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(RIGHT)
    assert seen(find_submissions(tmp_path)) == [("ada", STEM, None)]


def test_a_link_in_a_flat_folder_is_not_followed(tmp_path):
    (tmp_path / "ada.ipynb").write_text(RIGHT)
    (tmp_path / "bruno.ipynb").symlink_to(tmp_path / "ada.ipynb")
    assert [each.read().problem for each in find_submissions(tmp_path)][1] == (
        "bruno.ipynb is a link; hand in the notebook itself"
    )


def test_a_damaged_file_is_taken_for_the_chapter_of_the_others(tmp_path):
    (tmp_path / "ada.ipynb").write_text(RIGHT)
    (tmp_path / "bruno.ipynb").write_text("{")
    (tmp_path / "chiara.ipynb").mkdir()
    learners = [
        (learner, stem, bool(problem))
        for learner, stem, problem in seen(find_submissions(tmp_path))
    ]
    assert learners == [("ada", STEM, False), ("bruno", STEM, True), ("chiara", STEM, True)]


def test_a_canvas_zip(tmp_path):
    members = {
        "lovelaceada_101_9001_ch04_attention.ipynb": "{",
        "lovelaceada_101_9002_ch04_attention-1.ipynb": RIGHT,
        "ricci_LATE_102_9003_homework.ipynb": RIGHT,
        "__MACOSX/._x.ipynb": "",
    }
    found = find_submissions(zipped(tmp_path / "all.zip", members))
    assert seen(found) == [("lovelaceada_101", STEM, None), ("ricci_102", STEM, None)]
    assert found[0].read().notes == (
        "an earlier file was handed in, too: lovelaceada_101_9001_ch04_attention.ipynb",
    )
    assert found[1].read().notes == ("handed in late, says Canvas",)
    assert [each.read().known_as for each in found] == ["canvas 101", "canvas 102"]


def test_a_moodle_zip(tmp_path):
    members = {
        "Ada Lovelace_101_assignsubmission_file_/ch04_attention.ipynb": RIGHT,
        "Bruno Ricci_102_assignsubmission_file/my work.ipynb": RIGHT,
    }
    found = find_submissions(zipped(tmp_path / "all.zip", members))
    assert seen(found) == [("Ada Lovelace_101", STEM, None), ("Bruno Ricci_102", STEM, None)]


def test_who_calls_themselves_like_a_classmates_folder_takes_nobodys_place(tmp_path):
    own = "Ada Lovelace_101_assignsubmission_file_"
    members = {f"{own}/x.ipynb": RIGHT, f"{own}103_assignsubmission_file_/x.ipynb": RIGHT}
    found = find_submissions(zipped(tmp_path / "all.zip", members))
    assert [each.learner for each in found] == ["Ada Lovelace_101", f"{own[:-1]}_103"]


def test_a_zip_of_nbgraders_folders(tmp_path):
    members = {
        f"submitted/ada/{STEM}/{STEM}.ipynb": RIGHT,
        f"submitted/ada/{OTHER}/{OTHER}.ipynb": ELSE,
    }
    found = find_submissions(zipped(tmp_path / "all.zip", members))
    assert seen(found) == [("ada", OTHER, None), ("ada", STEM, None)]
    assert len(find_submissions(tmp_path / "all.zip", STEM)) == 1


def test_names_in_a_zip_lead_nowhere(tmp_path):
    members = {
        "../../etc/passwd.ipynb": RIGHT,
        "/root/../x.ipynb": RIGHT,
        "../ch04_attention.ipynb": RIGHT,
    }
    found = find_submissions(zipped(tmp_path / "all.zip", members))
    assert [each.learner for each in found] == ["passwd", "unnamed..", "x"]


def test_a_bomb_in_a_zip_is_one_learners_problem(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.grading.handed_in.intake.LARGEST_NOTEBOOK", 1_000_000)
    found = find_submissions(
        zipped(tmp_path / "all.zip", {"ada.ipynb": RIGHT, "bruno.ipynb": "[" * 5_000_000}), STEM
    )
    assert [each.read().problem for each in found] == [
        None,
        "bruno.ipynb unpacks to more than 1 MB",
    ]


def test_a_damaged_member_is_one_learners_problem(tmp_path):
    path = zipped(tmp_path / "all.zip", {"ada.ipynb": RIGHT, "bruno.ipynb": RIGHT})
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)
    problems = [each.read().problem for each in find_submissions(path, STEM)]
    assert "could not be read from the zip" in problems[0]
    assert problems[1] is None


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda folder: folder / "nowhere", "there is no"),
        (lambda folder: folder, "no submission is in"),
        (
            lambda folder: (folder / "notes.txt").write_text("x") and folder / "notes.txt",
            "neither a folder nor a zip",
        ),
        (
            lambda folder: (folder / "ada.ipynb").write_text("{") and folder,
            "no notebook tells its chapter; say it: --chapter",
        ),
    ],
)
def test_what_holds_nothing_says_what_it_should_hold(tmp_path, prepare, words):
    with pytest.raises(CourseError, match=words):
        find_submissions(prepare(tmp_path))


def test_every_name_can_be_a_folder_and_a_row():
    names = ["", ".", "..", "a" * 300, "b" * 300, os.fsdecode(b"\xff"), "ada [2]"]
    made = [named(name) for name in names]
    assert len(set(made)) == len(names)
    assert all(0 < len(name) <= 128 and name.encode() and "/" not in name for name in made)
    assert made[-1] == "ada [2]"


def test_what_cannot_be_read_has_the_hash_of_nothing():
    assert Submission.unreadable("why").sha256.startswith("e3b0c442")


def test_a_name_of_many_bytes_can_be_a_folder(tmp_path):
    for name in ("漢" * 128, "é漢" * 70):
        (tmp_path / named(name)).mkdir()


def test_two_learners_files_of_one_name_are_not_taken_for_one_learners(tmp_path):
    copies = (
        "ch04_attention (1)",
        "ch04_attention-Copy1",
        "Copy of ch04_attention",
        "ch04_attention (before 2026-11-22)",
        "ch04_attention (before 2026-11-22, 2)",
        "ch04_attention_copy",
    )
    for copy in copies:
        members = {f"ada/{copy}.ipynb": RIGHT, f"bruno/{copy}.ipynb": RIGHT}
        assert [
            each.learner for each in find_submissions(zipped(tmp_path / "all.zip", members))
        ] == ["ada", "bruno"]


def test_files_that_may_be_two_learners_are_named_and_all_others_are_graded(tmp_path):
    said = []
    members = {f"{name}.ipynb": RIGHT for name in ("ada", "ada/bruno", "bruno", "clara")}
    found = find_submissions(zipped(tmp_path / "all.zip", members), remark=said.append)
    assert [each.learner for each in found] == ["ada", "clara"]
    (remark,) = said
    assert "ada/bruno.ipynb, bruno.ipynb;" in remark
    whole = {f"all/bruno/{STEM}/{STEM}.ipynb": RIGHT, "bruno.ipynb": RIGHT}
    found = find_submissions(zipped(tmp_path / "all.zip", whole), remark=said.append)
    assert [each.learner for each in found] == ["bruno"]
    assert "may be somebody else's: bruno.ipynb;" in said[1]


def test_a_notebook_may_end_in_capitals(tmp_path):
    members = {"ada.IPYNB": RIGHT, "bruno.ipynb": RIGHT}
    flat = tmp_path / "flat"
    flat.mkdir()
    for name, content in members.items():
        (flat / name).write_text(content)
    for place in (flat, zipped(tmp_path / "all.zip", members)):
        found = find_submissions(place)
        assert [each.learner for each in found] == ["ada", "bruno"]
        assert not any(each.read().problem for each in found)
    folder = tmp_path / "class" / "ada" / STEM
    folder.mkdir(parents=True)
    (folder / f"{STEM}.IPYNB").write_text(RIGHT)
    (found,) = find_submissions(tmp_path / "class")
    assert found.read().notes == (f"handed in as {STEM}.IPYNB",)


def test_what_lies_beside_the_notebook_is_nobodys(tmp_path):
    members = {
        f"all/{learner}/{STEM}/{name}.ipynb": RIGHT
        for learner in ("ada", "bruno")
        for name in (STEM, "scratch")
    }
    assert [each.learner for each in find_submissions(zipped(tmp_path / "all.zip", members))] == [
        "ada",
        "bruno",
    ]


def test_a_moodle_zip_without_folders(tmp_path):
    members = {"Ada Lovelace_101_assignsubmission_file_my work.ipynb": RIGHT}
    [found] = find_submissions(zipped(tmp_path / "all.zip", members))
    assert (found.learner, found.read().known_as) == ("Ada Lovelace_101", "moodle 101")


def test_a_name_that_two_learners_can_have_given_is_nobodys(tmp_path):
    """Moodle's part twice: Eve has called herself so, or Ada her file."""
    doubtful = "Ada Rossi_101_assignsubmission_file_ Eve_102_assignsubmission_file_x.ipynb"
    again = "Bob_103_assignsubmission_file_Bob_103_assignsubmission_file_x.ipynb"
    members = {
        "Ada Rossi_101_assignsubmission_file_work.ipynb": RIGHT,
        doubtful: "{",
        again: RIGHT,  # a file from an earlier download, and Bob's by either reading
        f"Cy_104_assignsubmission_file_/{doubtful}": RIGHT,
    }
    said = []
    found = find_submissions(zipped(tmp_path / "all.zip", members), STEM, said.append)
    assert [(each.learner, each.read().problem) for each in found] == [
        ("Ada Rossi_101", None),
        ("Bob_103", None),
        ("Cy_104", None),
    ]
    assert not found[0].read().notes
    [sentence] = said
    assert "two learners" in sentence and doubtful in sentence and again not in sentence


@pytest.mark.parametrize("top", ["", "class/"])
def test_where_each_learner_has_a_folder_no_file_is_anothers(tmp_path, top):
    members = {
        f"{top}ada/{STEM}.ipynb": RIGHT,
        f"{top}bob/{STEM}-Copy1.ipynb": RIGHT,
        f"{top}bob/{OTHER}.ipynb": ELSE,
        f"{top}cy/cy_{STEM}.ipynb": RIGHT,
        f"{top}eve/ada_{STEM}.ipynb": "{",
        f"{top}eve/ada/{STEM}.ipynb": "{",
        f"{top}eve/bob/{STEM}.ipynb": "{",
        f"{top}eve/Ada_101_assignsubmission_file_/x.ipynb": "{",
    }
    found = find_submissions(zipped(tmp_path / "all.zip", members))
    assert [(each.learner, each.stem, each.read().problem is None) for each in found] == [
        ("bob", OTHER, True),
        ("ada", STEM, True),
        ("bob", STEM, True),
        ("cy", STEM, True),
        ("eve", STEM, False),
    ]


def test_a_folder_of_many_learners_is_nobodys_own(tmp_path):
    """Whatever one of them calls a file."""
    members = {
        f"{day}/{learner}.ipynb": RIGHT
        for day, learner in (("mon", "ada"), ("mon", "bob"), ("tue", "cy"), ("tue", "dot"))
    }
    members |= {f"mon/{STEM}.ipynb": RIGHT, "tue/tue.ipynb": RIGHT}
    found = find_submissions(zipped(tmp_path / "all.zip", members))
    assert [each.learner for each in found] == ["ada", "bob", "cy", "dot", "mon", "tue"]


def test_of_files_of_one_time_the_higher_number_is_the_newer(tmp_path):
    members = {
        f"ada_101_{number}_{STEM}.ipynb": text for number, text in [(10_000, RIGHT), (9_999, "{")]
    }
    [found] = find_submissions(zipped(tmp_path / "all.zip", members), STEM)
    assert found.read().problem is None


def test_a_zip_with_damaged_names_is_one_sentence(tmp_path):
    path = zipped(tmp_path / "all.zip", {"é.ipynb": RIGHT})
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xfe"))
    with pytest.raises(CourseError, match="is a damaged zip"):
        find_submissions(path)


def test_no_file_is_called_into_another_learners_place(tmp_path):
    """What the platform, or the folder, says comes before what a learner calls a file."""
    forged = "Bruno_102_assignsubmission_file_x.ipynb"
    members = {
        f"Ada_101_assignsubmission_file_/{forged}": "{",
        "Bruno_102_assignsubmission_file_/x.ipynb": RIGHT,
    }
    found = find_submissions(zipped(tmp_path / "all.zip", members), STEM)
    assert [(each.learner, each.read().known_as) for each in found] == [
        ("Ada_101", "moodle 101"),
        ("Bruno_102", "moodle 102"),
    ]
    members = {f"ada_101_9001_{forged}": RIGHT, "bruno_102_9002_x.ipynb": RIGHT}
    found = find_submissions(zipped(tmp_path / "all.zip", members), STEM)
    assert [each.read().known_as for each in found] == ["canvas 101", "canvas 102"]
    members = {
        f"all/ada/{STEM}/bruno.ipynb": "{",
        f"all/carla/{STEM}/bruno.ipynb": "{",
        f"all/ada/{STEM}/a/bruno.ipynb": "{",
    }
    members |= {f"all/bruno/{STEM}/{STEM}.ipynb": RIGHT}
    found = find_submissions(zipped(tmp_path / "all.zip", members), STEM)
    assert [(each.learner, each.read().problem is None) for each in found] == [
        ("ada", False),
        ("bruno", True),
        ("carla", False),
    ]


TWO_CHAPTERS = {
    "lovelaceada_101_9001_homework.ipynb": RIGHT,
    "lovelaceada_101_9002_homework-1.ipynb": ELSE,
    "ricci_102_9003_ch04_attention.ipynb": ELSE,  # under a wrong name
    "ricci_102_9004_ch01_embeddings.ipynb": RIGHT,
}


@pytest.mark.parametrize("stem", [None, STEM, OTHER])
@pytest.mark.parametrize("as_zip", [True, False])
def test_the_cells_tell_the_chapter_whatever_is_asked_for(tmp_path, stem, as_zip):
    place = tmp_path / "all.zip"
    if as_zip:
        zipped(place, TWO_CHAPTERS)
    else:
        place = tmp_path / "all"
        place.mkdir()
        for name, content in TWO_CHAPTERS.items():
            (place / name).write_text(content)
    found = find_submissions(place, stem)
    asked = [stem] if stem else [OTHER, STEM]
    assert [(each.stem, each.learner) for each in found] == [
        (chapter, learner) for chapter in asked for learner in ("lovelaceada_101", "ricci_102")
    ]
    for each in found:
        has = {name for name, _ in each.read().cells}
        assert ("softmax" in has, "one_hot" in has) == (each.stem == STEM, each.stem == OTHER)
        assert not each.read().notes


def test_a_notebook_of_two_chapters_is_of_the_one_that_was_meant(tmp_path):
    both = json.loads(RIGHT)
    both["cells"] += json.loads(ELSE)["cells"]
    members = {f"ada_{OTHER}.ipynb": json.dumps(both), "bruno.ipynb": json.dumps(both)}
    path = zipped(tmp_path / "all.zip", members)
    assert [(each.learner, each.stem) for each in find_submissions(path, STEM)] == [("bruno", STEM)]
    assert ("ada", OTHER) in [(each.learner, each.stem) for each in find_submissions(path)]


def test_cells_copied_from_another_chapter_do_not_make_a_notebook_that_chapters(tmp_path):
    notebook, other = (json.loads(each) for each in (RIGHT, ELSE))
    notebook["cells"] = notebook["cells"][:-2] + other["cells"][:-4]
    [found] = find_submissions(zipped(tmp_path / "all.zip", {"ada.ipynb": json.dumps(notebook)}))
    assert found.stem == STEM


def test_a_file_that_tells_no_chapter_does_not_take_the_place_of_one_that_does(tmp_path):
    members = {
        "ada_101_9001_homework.ipynb": RIGHT,
        "ada_101_9002_homework-1.ipynb": "{",
        "bruno_102_9003_homework.ipynb": "{",
    }
    path = zipped(tmp_path / "all.zip", members)
    for stem in (None, STEM):
        ada, bruno = find_submissions(path, stem)
        assert ada.read().problem is None
        assert ada.read().notes == (
            "another file was handed in, too, and does not tell its chapter:"
            " ada_101_9002_homework-1.ipynb",
        )
        assert "is not a notebook" in bruno.read().problem


def test_a_damaged_notebook_tells_its_chapter_too(tmp_path):
    members = {"ada_101_9001_a.ipynb": RIGHT, "ada_101_9002_b.ipynb": ELSE[:-300]}
    found = find_submissions(zipped(tmp_path / "all.zip", members))
    assert [(each.stem, bool(each.read().problem)) for each in found] == [
        (OTHER, True),
        (STEM, False),
    ]


@pytest.mark.parametrize("as_zip", [True, False])
def test_a_notebook_in_another_chapters_folder_is_refused_by_name(tmp_path, as_zip):
    """nbgrader's exchange put it there; what was handed in as one chapter's is graded as no
    other's.
    """
    if as_zip:
        place = zipped(tmp_path / "all.zip", {f"all/ada/{STEM}/{STEM}.ipynb": ELSE})
    else:
        hand_in(tmp_path, "ada", STEM, ELSE)
        place = tmp_path / "submitted"
    for stem in (None, STEM):
        [found] = find_submissions(place, stem)
        assert found.stem == STEM
        assert found.read().problem == (
            "ch04_attention.ipynb holds the exercises of ch01_embeddings, but it was handed in as"
            " ch04_attention; hand in your notebook of ch04_attention"
        )


def test_what_is_passed_over_because_of_its_cells_is_said(tmp_path):
    members = {
        "ada.ipynb": RIGHT,
        "bruno.ipynb": ELSE,
        f"chiara_{STEM}.ipynb": ELSE,
        f"dora_{OTHER}.ipynb": ELSE,
    }
    remarks = []
    find_submissions(zipped(tmp_path / "all.zip", members), STEM, remarks.append)
    assert remarks == [
        "not graded, because they hold the exercises of other chapters than ch04_attention:"
        " bruno.ipynb (ch01_embeddings), chiara_ch04_attention.ipynb (ch01_embeddings)"
    ]


def test_who_handed_in_something_else_than_a_notebook_is_named(tmp_path):
    members = {
        "Ada Rossi_101_assignsubmission_file_/ch04.ipynb": RIGHT,
        "Ada Rossi_101_assignsubmission_file_/notes.pdf": "",
        "Ivy Grigi_109_assignsubmission_file_/ch04.ipynb.txt": RIGHT,
        "__MACOSX/Joy Blu_110_assignsubmission_file_/._x.txt": "",
        "readme.txt": "",
    }
    archive = zipped(tmp_path / "all.zip", members)
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "folder")
    for place in (archive, tmp_path / "folder"):
        said = []
        assert [each.learner for each in find_submissions(place, STEM, said.append)] == [
            "Ada Rossi_101"
        ]
        assert said == [
            "not graded, because they are no notebooks:"
            " Ivy Grigi_109_assignsubmission_file_/ch04.ipynb.txt"
        ]


def written_into(folder, *paths, content=RIGHT):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


def test_files_beside_nbgraders_folders_are_passed_over_with_a_remark(tmp_path):
    usual = f"ada/{STEM}/{STEM}.ipynb"
    written_into(
        tmp_path, usual, f"ada/{STEM}/draft.ipynb", f"ada/{STEM}/.ipynb_checkpoints/x.ipynb"
    )
    os.utime(tmp_path / f"ada/{STEM}/draft.ipynb", (0, 0))
    said = []
    assert [each.learner for each in find_submissions(tmp_path, STEM, said.append)] == ["ada"]
    assert said == []

    written_into(tmp_path, "Carla Rossi_101_assignsubmission_file/mine.ipynb", "ada/old.ipynb")
    written_into(tmp_path, *(f"b{number:02}.ipynb" for number in range(12)))
    written_into(tmp_path, *(f"c{number:02}/{STEM}/{STEM}.ipynb" for number in range(12)))
    found = find_submissions(tmp_path, STEM, said.append)
    assert [each.learner for each in found] == ["ada", *(f"c{number:02}" for number in range(12))]
    [words] = said
    assert "Carla Rossi_101_assignsubmission_file/mine.ipynb, ada/old.ipynb, b00.ipynb" in words
    assert "and 4 more" in words
    assert "grade them from a folder of their own" in words


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
@pytest.mark.parametrize("top", ["", "all/"])
def test_a_misspelt_folder_and_one_too_many_are_named(tmp_path, top, packed):
    paths = (
        f"{top}ada/{STEM}/{STEM}.ipynb",
        f"{top}bob/ch04_atention/{STEM}.ipynb",
        f"{top}cy/ch04/mine.ipynb",
        f"{top}deep/x/y/{STEM}.ipynb",
    )
    place = zipped(tmp_path / "all.zip", dict.fromkeys(paths, RIGHT))
    if not packed:
        place = tmp_path / "all_of_it"
        written_into(place, *paths)
    for stem in (None, STEM):
        said = []
        assert [each.learner for each in find_submissions(place, stem, said.append)] == ["ada"]
        [words] = said
        assert words.startswith("not graded, because beside folders <learner>/<chapter>/ nothing")
        assert f"bob/ch04_atention/{STEM}.ipynb (did you mean {STEM}?)" in words
        assert f"cy/ch04/mine.ipynb (did you mean {STEM}?)" in words
        assert f"deep/x/y/{STEM}.ipynb; rename their folders, or" in words


def test_a_misspelt_chapter_is_no_learner(tmp_path):
    written_into(tmp_path, "ada.ipynb", f"bob/ch04_atention/{STEM}.ipynb", "ch04.ipynb")
    said = []
    assert [each.learner for each in find_submissions(tmp_path, None, said.append)] == ["ada"]
    assert said == [
        "not graded, because their names do not say whose they are:"
        f" bob/ch04_atention/{STEM}.ipynb (did you mean {STEM}?), ch04.ipynb; call them"
        " <learner>.ipynb"
    ]


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
def test_a_newer_notebook_beside_the_one_that_counts_is_named(tmp_path, packed):
    place, usual, final = tmp_path / "all", f"ada/{STEM}/{STEM}.ipynb", f"ada/{STEM}/final.ipynb"
    written_into(place, usual, final, f"ada/{OTHER}/x.ipynb", f"ada/{OTHER}/{OTHER}.ipynb")
    os.utime(place / f"ada/{OTHER}/x.ipynb", (10**9, 10**9))
    os.utime(place / usual, (10**9, 10**9))
    if packed:
        place = tmp_path / "all.zip"
        with zipfile.ZipFile(place, "w") as archive:
            for path, year in ((usual, 2025), (final, 2026)):
                archive.writestr(zipfile.ZipInfo(path, (year, 1, 1, 0, 0, 0)), RIGHT)
    for stem in (STEM, None):
        said = []
        find_submissions(place, stem, said.append)
        assert said == [
            "not graded, although they are no older than the <chapter>.ipynb beside them, which"
            f" counts: {final}; give the one that should count this name"
        ]


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
def test_a_chapters_folder_without_a_notebook_says_what_is_in_it(tmp_path, packed):
    """And files of those who have no such folder are named."""
    place = tmp_path / "all"
    written_into(place, f"ada/{STEM}/{STEM}.ipynb", f"ada/{STEM}/helper.py", "ada/notes.pdf")
    written_into(place, f"bob/{STEM}/answers.pdf", "cy/answers.py")
    written_into(place, f"bob/{STEM}/timestamp.txt", content="2026-03-01 10:00:00.0 UTC")
    written_into(place, f"dot/{STEM}/a.ipynb", f"dot/{STEM}/b.ipynb", "readme.txt", "eve.pdf")
    if packed:
        (place / "dot" / STEM / "b.ipynb").unlink()
        files = {path.relative_to(place): path.read_text() for path in place.rglob("*.*")}
        place = zipped(tmp_path / "all.zip", {str(path): text for path, text in files.items()})
    said = []
    found = find_submissions(place, STEM, said.append)
    problems = {each.learner: each.read().problem for each in found}
    assert said == ["not graded, because they are no notebooks: cy/answers.py, eve.pdf"]
    assert problems.keys() == {"ada", "bob", "dot"} and problems["ada"] is None
    gone = f"there was no {STEM}.ipynb in what was handed in, only"
    assert problems["bob"] == f"{gone} answers.pdf; hand in the notebook itself"
    two = f"{gone} a.ipynb, b.ipynb; call the one that counts {STEM}.ipynb"
    assert problems["dot"] == (None if packed else two)


def test_who_handed_in_no_notebook_to_a_flat_folder_is_named(tmp_path):
    written_into(tmp_path, "ada.ipynb", "ada.pdf", "bob.py", f"cy_{STEM}.pdf", "dot.ipynb.txt")
    written_into(tmp_path, "readme.txt", "roster.csv")
    said = []
    assert [each.learner for each in find_submissions(tmp_path, None, said.append)] == ["ada"]
    assert said == [
        f"not graded, because they are no notebooks: bob.py, cy_{STEM}.pdf, dot.ipynb.txt"
    ]


def test_what_is_guessed_is_said(tmp_path):
    members = {"ada.ipynb": RIGHT, "homework.ipynb": "{", f"cy_{STEM}.ipynb": "{"}
    path = zipped(tmp_path / "all.zip", members)
    for stem in (None, STEM):
        said = []
        found = {each.learner: each for each in find_submissions(path, stem, said.append)}
        assert said == [
            "taken on a guess, because they cannot be read or hold no exercises:"
            f" homework.ipynb (for {STEM} of homework)"
        ]
        assert found["homework"].read().notes == (
            "the file does not tell its chapter, so this one is a guess",
        )
        assert not found["cy"].read().notes


def test_without_a_timestamp_there_is_the_time_of_the_file(tmp_path):
    hand_in(tmp_path, "ada", STEM, RIGHT)
    path = hand_in(tmp_path, "bob", STEM, RIGHT)
    (path.parent / "timestamp.txt").write_text("2026-03-01 10:00:00.0 UTC")
    path = hand_in(tmp_path, "cy", STEM, RIGHT, name="mine.ipynb")
    (path.parent / "timestamp.txt").write_text("yesterday")
    for path in (tmp_path / "submitted").rglob("*.ipynb"):
        os.utime(path, (10**9, 10**9))
    (tmp_path / "submitted" / "dot" / STEM).mkdir(parents=True)
    said = []
    found = find_submissions(tmp_path / "submitted", None, said.append)
    told = {
        each.learner: (each.clock, str(each.timestamp), each.read().file_time) for each in found
    }
    assert told == {
        "ada": ("file", "2001-09-09 01:46:40", "file 2001-09-09 01:46:40"),
        "bob": ("timestamp.txt", "2026-03-01 10:00:00", ""),
        "cy": ("file", "2001-09-09 01:46:40", "file 2001-09-09 01:46:40"),
        "dot": ("file", "None", ""),
    }
    assert ["does not count" in each and "cy" in each for each in said] == [True]


@pytest.mark.parametrize("year", ["0001", "1969", "2201", "9999"])
def test_a_time_that_nobody_has_lived_in_is_none(tmp_path, year):
    path = hand_in(tmp_path, "ada", STEM, RIGHT)
    (path.parent / "timestamp.txt").write_text(f"{year}-06-30 12:00:00 UTC")
    os.utime(path, (-(10**8), -(10**8)))  # 1966
    said = []
    [found] = find_submissions(tmp_path / "submitted", None, said.append)
    assert (found.clock, found.timestamp, found.read().file_time) == ("file", None, "")
    [sentence] = said
    assert "ada" in sentence and f"the year {int(year)}" in sentence


def test_in_a_chapters_folder_a_few_cells_of_it_are_enough(tmp_path):
    notebook, other = (json.loads(each) for each in (RIGHT, ELSE))
    notebook["cells"] = notebook["cells"][:6] + other["cells"]
    hand_in(tmp_path, "ada", STEM, json.dumps(notebook))
    assert find_submissions(tmp_path / "submitted")[0].read().problem is None


def with_bruno_as(path, change=None, method=zipfile.ZIP_DEFLATED, what=RIGHT):
    """Write a zip in which Ada's file is right, and Bruno's packed and changed in some way.

    Args:
        change: called with the bytes of the zip, where Bruno's content begins and ends, changes
            them.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ada.ipynb", RIGHT)
        archive.writestr("bruno.ipynb", what, compress_type=method)
        member = archive.getinfo("bruno.ipynb")
    content = bytearray(path.read_bytes())
    begin = member.header_offset + 30 + len(member.filename)
    if change:
        change(content, begin, begin + member.compress_size)
    path.write_bytes(content)
    return path


def garble(content, begin, end):
    content[begin + 9 : end] = bytes(255 - byte for byte in content[begin + 9 : end])


def say_of_bruno(offset_in_header, offset_in_directory, value):
    """Return a change of two bytes in both of Bruno's headers."""

    def change(content, begin, end):
        header, directory = begin - 30 - len("bruno.ipynb"), content.rindex(b"PK\x01\x02")
        for at in (header + offset_in_header, directory + offset_in_directory):
            content[at : at + 2] = value.to_bytes(2, "little")

    return change


def method(number):
    return say_of_bruno(8, 10, number)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"change": garble}, "Error -3 while decompressing"),
        ({"change": garble, "method": zipfile.ZIP_STORED}, "Bad CRC-32"),
        ({"change": garble, "method": zipfile.ZIP_BZIP2}, "Invalid data stream"),
        ({"change": garble, "method": zipfile.ZIP_LZMA}, "Corrupt input data"),
        ({"change": method(9)}, "compression method is not supported"),  # deflate64
        ({"change": method(93)}, "compression method is not supported"),  # Zstandard, or unknown
        ({"change": method(zipfile.ZIP_LZMA)}, ""),
        ({"change": say_of_bruno(6, 8, 1)}, "is encrypted"),
    ],
    ids=["deflate", "stored", "bz2", "lzma", "deflate64", "93", "no_lzma", "encrypted"],
)
def test_a_member_that_cannot_be_unpacked_is_its_learners_problem(tmp_path, options, words):
    place = with_bruno_as(tmp_path / "all.zip", **options)
    for stem in (STEM, None):
        found = find_submissions(place, stem)
        ada, bruno = (each.read().problem for each in found)
        assert ada is None
        assert bruno.startswith("bruno.ipynb could not be read from the zip: ")
        assert words in bruno


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bz2", "lzma"])
def test_a_bomb_that_zipfile_unpacks_at_once_is_not_unpacked(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("autograder.grading.handed_in.intake.LARGEST_NOTEBOOK", 1_000_000)
    place = with_bruno_as(tmp_path / "all.zip", method=kind, what=b" " * 200_000_000)
    tracemalloc.start()
    try:
        _, bruno = find_submissions(place, STEM)
        assert bruno.read().problem == "bruno.ipynb unpacks to more than 1 MB"
        assert tracemalloc.get_traced_memory()[1] < 250_000_000
    finally:
        tracemalloc.stop()


def test_a_zip_that_breaks_off_is_a_sentence(tmp_path):
    place = zipped(tmp_path / "all.zip", {"ada.ipynb": RIGHT, "bruno.ipynb": RIGHT})
    place.write_bytes(place.read_bytes()[:-300])
    with pytest.raises(CourseError, match=r"all\.zip is a damaged zip .*its end is missing"):
        find_submissions(place)


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
@pytest.mark.parametrize("platform", ["Moodle", "nbgrader"])
def test_folders_within_a_submission_are_nobody_elses(tmp_path, platform, beside, packed):
    """A learner may hand in folders, and call them as others are called."""
    usual = f"{STEM}/{STEM}.ipynb"
    if platform == "Moodle":
        members = {
            "Ada_101_assignsubmission_file_/x.ipynb": RIGHT,
            f"Ada_101_assignsubmission_file_/Bruno_102/{usual}": "{",
            "Bruno_102_assignsubmission_file_/x.ipynb": RIGHT,
        }
    else:
        members = {f"ada/{usual}": RIGHT, f"bruno/{usual}": RIGHT}
        members |= {f"ada/{STEM}/{f'bruno/{STEM}/' * n}{STEM}.ipynb": "{" for n in range(2, 9)}
        members |= {f"ada/{STEM}/bruno/{usual}": "{"} if beside else {}
    place = zipped(tmp_path / "all.zip", members)
    if not packed:
        with zipfile.ZipFile(place) as archive:
            archive.extractall(tmp_path / "all")
        place = tmp_path / "all"
    _, bruno = find_submissions(place)
    assert bruno.learner.lower().startswith("bruno")
    assert bruno.read().problem is None
    assert not bruno.read().notes


def test_a_folder_of_a_chapters_name_hides_nobody_elses_submission(tmp_path):
    """Moodle's zip, unpacked: who hands in a folder called as a chapter changes nothing for
    others.
    """
    ada, bruno = (f"{name}_assignsubmission_file_" for name in ("Ada_101", "Bruno_102"))
    for name in (f"{ada}/{STEM}/x.ipynb", f"{bruno}/x.ipynb"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(RIGHT, encoding="utf-8")
    assert [each.learner for each in find_submissions(tmp_path)] == ["Ada_101", "Bruno_102"]


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
def test_one_learners_folder_hides_no_notebooks_beside_it(tmp_path, packed):
    members = {f"{learner}.ipynb": RIGHT for learner in ("bob", "cy", "eve")}
    members[f"ada/{STEM}/{STEM}.ipynb"] = RIGHT
    place = zipped(tmp_path / "all.zip", members)
    if not packed:
        place = tmp_path / "all"
        written_into(place, *members, content=RIGHT)
    learners = ["ada", "bob", "cy", "eve"]
    assert [each.learner for each in find_submissions(place, STEM)] == learners


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
@pytest.mark.parametrize("what", [f"bob/{STEM}/{STEM}.ipynb", f"{STEM}/{STEM}.ipynb"])
def test_what_one_learner_arranges_otherwise_is_theirs_alone(tmp_path, what, packed):
    """Where each has a folder, and none for a chapter in it."""
    members = {f"{learner}/{STEM}.ipynb": RIGHT for learner in ("ada", "bob", "cy", "eve")}
    members[f"eve/{what}"] = "{"
    place = zipped(tmp_path / "all.zip", members)
    if not packed:
        place = tmp_path / "all"
        written_into(place, *list(members)[:-1])
        written_into(place, f"eve/{what}", content="{")
    found = find_submissions(place)
    assert [each.learner for each in found] == ["ada", "bob", "cy", "eve"]
    assert [each.read().problem for each in found][:3] == [None] * 3
    assert not any(each.read().notes for each in found[:3])


def test_a_file_that_is_called_as_a_platform_would_call_it_has_no_number_of_a_classmates(tmp_path):
    number = f"eve_101_9001_{STEM}.ipynb"
    folders = {f"{learner}/{learner}.ipynb": RIGHT for learner in ("ada", "bob", "cy")}
    files = {f"{learner}.ipynb": RIGHT for learner in ("ada", "bob", "cy")}
    for members in ({**folders, f"eve/{number}": RIGHT}, {**files, number: RIGHT}):
        found = find_submissions(zipped(tmp_path / "all.zip", members))
        assert len(found) == 4
        assert not any(each.read().known_as for each in found)
