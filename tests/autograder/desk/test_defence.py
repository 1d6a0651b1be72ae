"""Questions about a learner's own code: their keys, found a second time in another way."""

import ast
import contextlib
import csv
import inspect
import io
import random
import re
import shutil
import sys
import textwrap
import time
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.__main__ import main
from autograder.authoring.loading import load_exercises, questions_of, solution_sources
from autograder.authoring.released import released
from autograder.course import chapters
from autograder.desk import changes, questions
from autograder.desk.defence import QUESTIONS, as_csv, sheet_of
from autograder.desk.values import arrays_in
from autograder.shared.probes import observe
from autograder.shared.wire import copied, dtype_name, numbers, plain
from autograder.shared.wording import call_of
from autograder.tools.sample_class import STEM, write_sample_class
from tests.conftest import solved_notebook

pytestmark = [pytest.mark.xdist_group("defence"), pytest.mark.timeout(600)]

SEED = b"defence"
SOFTMAX = """def softmax(scores, axis=-1):
    \"\"\"Text.\"\"\"
    shifted = scores - scores.max(axis=axis, keepdims=True)
    if False:
        shifted = 0
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)"""


def test_a_deleted_line_is_a_whole_statement_and_leaves_a_block():
    assert [each.line for each in changes.deletions(SOFTMAX, "softmax")] == [3, 6, 7]


def test_one_thing_is_replaced_at_a_time():
    found = [each.new for each in changes.replacements(SOFTMAX, "softmax")]
    assert "shifted = scores + scores.max(axis=axis, keepdims=True)" in found
    assert "shifted = scores - scores.min(axis=axis, keepdims=True)" in found
    assert "shifted = scores - scores.max(axis=axis, keepdims=False)" in found
    assert all(
        each.count("\n") == SOFTMAX.count("\n")
        for each in (one.source for one in changes.replacements(SOFTMAX, "softmax"))
    )


@pytest.mark.parametrize("source", ["def softmax(:", "%time 1", "x = 1", "", "\0", "class A: pass"])
def test_what_is_no_function_has_no_questions(source):
    assert not changes.deletions(source, "softmax")
    assert not changes.replacements(source, "softmax")
    assert not changes.stops(source, "softmax")


def test_lines_that_end_as_they_once_did_on_a_mac_are_lines():
    source = SOFTMAX.replace("\n", "\r")
    assert not changes.deletions(source, "softmax")
    assert questions.Trial(None, "softmax", source, None).source == SOFTMAX
    assert questions.Trial(None, "softmax", SOFTMAX.replace("\n", "\r\n"), None).source == SOFTMAX


@pytest.mark.parametrize(
    "lines",
    ["    a = 1\n" * 900, "    a = 1" + " + 1" * 4000 + "\n", "    a = 1\n" * 90_000],
    ids=["many lines", "a long line", "very many lines"],
)
def test_a_long_cell_is_not_taken_apart_without_end(lines):
    source = f"def softmax(scores, axis=-1):\n{lines}    return scores\n"
    before = time.process_time()
    for found in (changes.deletions, changes.replacements, changes.stops):
        assert len(found(source, "softmax")) <= changes.MOST
    assert time.process_time() - before < 60


def test_questions_that_cannot_be_made_stop_nobody_else(sample, monkeypatch, capsys):
    folder = sample.parents[1]

    def fail_for(learner, *others):
        if learner == "ada":
            raise IndexError("list index")
        return []

    monkeypatch.setattr("autograder.desk.defence.sheet_of", fail_for)
    into = ["--into", str(folder / "again"), "--gradebook", f"sqlite:///{folder / 'gradebook.db'}"]
    shutil.copytree(folder / "autograded", folder / "again" / "autograded")
    assert main(["defence", STEM, *into]) == 1
    said = capsys.readouterr()
    assert "ada: no questions" in said.err and "IndexError" in said.err
    assert "chiara" in said.out


def right_answers():
    """Yield (chapter, exercise, source) of known right answers that stand by themselves."""
    for stem in chapters():
        for name, exercise in load_exercises(stem).items():
            yield stem, name, solution_sources(stem)[name]
            for each in exercise.alternatives:
                with contextlib.suppress(OSError, TypeError, SyntaxError):
                    source = textwrap.dedent(inspect.getsource(each))
                    tree = ast.parse(source).body[0]
                    if isinstance(tree, ast.FunctionDef) and len(tree.decorator_list) == 1:
                        plain_source = source.split("\n", 1)[1]
                        yield stem, name, plain_source.replace(each.__name__, name)


def test_keys_are_what_running_the_code_in_another_way_gives():
    """A sample; `make test-long` takes them all."""
    asked = check_keys([each for each in right_answers() if each[0] < "ch05"], 10)
    assert asked >= 12


@pytest.mark.long
def test_keys_of_thirty_right_answers():
    asked = check_keys(list(right_answers()), 60)
    assert asked >= 90


def check_keys(answers, most):
    """Make sheets for some right answers, and find each key again; return how many there were."""
    random.Random(1).shuffle(answers)
    asked, sheets, same = 0, 0, 0
    for stem, name, source in answers:
        notebook = solved_notebook(stem, {other: None for other in load_exercises(stem)})
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == name:
                cell.source = source
        sheet = sheet_of("ada", notebook, stem, SEED)
        assert sum(each.same for each in sheet) <= 1
        assert len({(each.exercise, each.text) for each in sheet}) == len(sheet)
        for question in sheet:
            assert found_again(question, stem), question
        asked, sheets, same = asked + len(sheet), sheets + bool(sheet), same + 1
        if sheets == most:
            break
    return asked


def found_again(question, stem):
    """Return whether a question's key follows from its text, read word by word."""
    lines = question.listing.split("\n")
    name = question.exercise
    cases = questions_of(stem, SEED)["check", name].cases
    [case] = [each for each in cases if call_of(name, each) == question.call][:1]

    def given(source):
        return observe("returned", function_in(source, stem, name), copied(case.inputs))

    before = given(question.listing)
    assert questions.told(before) == question.before
    if match := re.match(r"Line (\d+) (?:is deleted|becomes `(.*)`)\. What", question.text):
        at = int(match[1]) - 1
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        new = [] if match[2] is None else [indent + match[2]]
        after = given("\n".join([*lines[:at], *new, *lines[at + 1 :]]))
        way = what_became(before, after)
        return question.key == way + (f": {questions.told(after)}" if way != "the same" else "")
    if match := re.match(
        r"Exactly one of the lines ([\d, ]+) was deleted.*gives: (.*)\. Which line", question.text
    ):
        fits = [
            int(number)
            for number in match[1].split(",")
            if questions.told(given("\n".join([*lines[: int(number) - 1], *lines[int(number) :]])))
            == match[2]
        ]
        return question.key.startswith(f"line {fits[0]}: ") and len(fits) == 1
    match = re.match(r".* has `(\w+)` in this call, right after line (\d+)\?", question.text)
    value = variable_after(question.listing, stem, name, match[1], int(match[2]), case)
    if isinstance(value, bool | int):
        return question.key == repr(value)
    return question.key == f"shape {numbers(value).shape}, {dtype_name(value)}"


def what_became(before, after):
    """Say what a change has done, in the words of the sheet."""
    if "raised" in after:
        return "an exception"
    one, other = repr(before["result"]), repr(after["result"])
    if one == other:
        return "the same"
    kinds = [
        [(array.shape, array.dtype) for array in arrays_in(each["result"])]
        for each in (before, after)
    ]
    alike = kinds[0] == kinds[1] and type(before["result"]) is type(after["result"])
    if alike:
        return "other numbers of the same shape and dtype"
    return "another shape, dtype or kind of result"


def function_in(source, stem, name, filename="listing"):
    """Return the function that a listing defines, with all that the notebook gives it."""
    names = {}
    for cell in released(stem).cells:
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and not about and not cell.source.startswith("%"):
            with contextlib.suppress(Exception):
                exec(cell.source, names)
    exec(compile(source, filename, "exec"), names)
    return names[name]


def variable_after(source, stem, name, variable, line, case):
    """Return a variable's value as a debugger sees it when the line after it is reached."""
    function, seen, passed = function_in(source, stem, name, "watched"), [], set()

    def watch(frame, event, _):
        if frame.f_code.co_filename != "watched":
            return None
        if id(frame) in passed and variable in frame.f_locals:
            seen.append(plain(frame.f_locals[variable]))
            passed.discard(id(frame))
        if event == "line" and frame.f_lineno == line:
            passed.add(id(frame))
        return watch

    sys.settrace(watch)
    try:
        observe("returned", function, copied(case.inputs))
    finally:
        sys.settrace(None)
    return seen[0]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    write_sample_class(folder / "submitted")
    shutil.rmtree(folder / "submitted" / "elena")  # whose loop takes its time
    into = ["--into", str(folder), "--gradebook", f"sqlite:///{folder / 'gradebook.db'}"]
    main(["grade", str(folder / "submitted"), *into])
    assert main(["defence", STEM, *into]) == 0
    return folder / "defence" / STEM


def test_the_sample_class_is_asked(sample):
    with open(sample / "questions.csv", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    count = {
        learner: sum(row["learner"] == learner for row in rows)
        for learner in ("ada", "bruno", "chiara")
    }
    assert set(count.values()) == {QUESTIONS}
    assert "davide" not in {row["learner"] for row in rows}  # handed in as it came
    sheets, keys = ((sample / name).read_text() for name in ("sheets.html", "keys.html"))
    assert all(row["key"] for row in rows)
    assert 'class="key"' not in sheets and keys.count('class="key"') == len(rows)
    assert "nothing to ask" in sheets


def test_no_spreadsheet_runs_what_a_learner_wrote():
    listing = (
        'def softmax(scores, axis=-1):\n    """x;=1+1\n=2+2"""\n    return scores.sum(axis, -1)'
    )
    told = dict.fromkeys(("exercise", "call", "arguments", "before", "text", "key"), "plain")
    question = questions.Question(**told, listing=listing)
    text = as_csv({"=ada": [question]})
    for separator in (",", ";", "\t", "|"):
        for row in csv.reader(io.StringIO(text), delimiter=separator):
            assert not [
                cell for cell in row if cell.strip(" \"'").startswith("=") and cell[0] != "'"
            ]
    assert "scores.sum(axis, -1)" in text  # code stays code


def test_what_a_process_sends_instead_of_an_answer_is_no_question():
    class Kernel:
        answers = iter(
            [{"raised": "x"}, {"raised": {}}, {"noted": {}}, {"unfit": 3}, "text", 7, None, {}]
        )

        def run(self, source, seconds):
            return SimpleNamespace(status="ok")

        def ask(self, name, cases, seconds):
            return [next(self.answers)], None

    trial = questions.Trial(Kernel(), "f", "", SimpleNamespace(cell=1, case=1))
    seen = [trial.seen("") for _ in range(8)]
    assert [each and questions.told(each) for each in seen] == [
        None,
        "an exception of type ",
        *[None] * 6,
    ]


def test_numbers_that_hardly_differ_are_no_question():
    one, other = ({"result": np.array([x, 1.0])} for x in (0.3, 0.1 + 0.2))
    assert questions.is_close_call(one, other)
    assert not questions.is_close_call(one, one)
    assert not questions.is_close_call(one, {"result": np.array([0.4, 1.0])})


def test_a_number_beyond_every_float_is_no_array():
    assert arrays_in({"result": 10**400}) == [] and len(arrays_in([10**400, 2])) == 1
