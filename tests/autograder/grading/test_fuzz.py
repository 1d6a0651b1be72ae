"""Notebooks and answers that are damaged at random: nothing makes grading fail, and no notebook
earns more than before.
"""

import json
import random
from functools import cache

import nbformat
import pytest

from autograder.authoring.loading import load_exercises
from autograder.course import notebook_of
from autograder.grading.grade import Limits, grade_notebook
from autograder.grading.handed_in.submission import read_submission, rebuild
from autograder.shared.judge import judge
from autograder.shared.wire import WireError, decode, to_json
from tests.autograder.grading.mutations import (
    any_place,
    mutated,
    value_dropped,
    value_nested,
    value_replaced,
    values_swapped,
)
from tests.conftest import solved_notebook

pytestmark = pytest.mark.usefixtures("sandbox")

STEM = "ch04_attention"
SHORT = Limits(cell=3, case=1, exercise=3, submission=15)
PART_OF_THE_MUTANTS = 250  # of one test
PARTLY_WRONG = {
    "softmax": """def softmax(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)""",
    "attention_scores": """def attention_scores(query, key):
    return query @ np.swapaxes(key, -1, -2)""",
    "softmax_backward": """def softmax_backward(weights, grad_weights):
    return weights * grad_weights""",
}
HANDED_IN = {"right": {}, "partly wrong": PARTLY_WRONG}
ANSWERED = ("ch04_attention", "ch05_multi_head", "ch06_masking")


@cache
def handed_in(which):
    return json.loads(nbformat.writes(solved_notebook(STEM, HANDED_IN[which], ["helper = 1"])))


def rebuilt(path, content):
    path.write_bytes(content)
    return rebuild(STEM, read_submission(path))


def structure(notebook):
    """Return what points hang on: kinds, ids, points and order of the cells, and the sources of
    those that are graded.
    """
    return [
        (
            cell.cell_type,
            cell.metadata.get("nbgrader"),
            cell.metadata.nbgrader.grade and cell.source,
        )
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    ]


@cache
def released():
    return structure(nbformat.read(notebook_of(STEM), as_version=4))


@cache
def scores(problem, sources, limits):
    """Grade a notebook of which only this counts: what could not be read, or (kind of cell,
    metadata, source) of each cell.
    """
    notebook = nbformat.v4.new_notebook()
    for kind, metadata, source in sources:
        notebook.cells.append(
            getattr(nbformat.v4, f"new_{kind}_cell")(source, metadata=json.loads(metadata))
        )
    # one hash, and so one seed, for all: scores can be compared
    notebook.metadata["autograder"] = {"notebook": "", "problem": problem, "notes": []}
    grade_notebook(notebook, STEM, "mutant", limits)
    nbformat.writes(notebook)
    return {cell["cell"]: cell["score"] for cell in notebook.metadata["autograder"]["cells"]}


def scores_of(notebook, limits=SHORT):
    """Grade a rebuilt notebook; of many mutants the same is left, which is graded once."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    problem = notebook.metadata["autograder"]["problem"]
    return scores(
        problem and "no notebook",
        tuple((cell.cell_type, json.dumps(cell.metadata), cell.source) for cell in cells),
        limits,
    )


def best_scores(path, which):
    """Grade what the mutants are made of, with all the time that it may need."""
    return scores_of(rebuilt(path, json.dumps(handed_in(which)).encode()), Limits())


def mutants(which, numbers):
    for number in numbers:
        yield number, mutated(random.Random(f"{which} {number}"), handed_in(which))


def fuzz(folder, which, numbers):
    """Grade mutants of a notebook, and compare each with the one that it was made of."""
    path = folder / f"{STEM}.ipynb"
    best = best_scores(path, which)
    for number, content in mutants(which, numbers):
        notebook = rebuilt(path, content)
        assert structure(notebook) == released(), number
        nbformat.validate(notebook)
        earned = scores_of(notebook)
        assert earned.keys() == best.keys(), number
        assert not {cell: score for cell, score in earned.items() if score > best[cell]}, number


@pytest.mark.parametrize("which", HANDED_IN)
def test_some_mutants_earn_no_more_than_what_they_were_made_of(tmp_path, which):
    fuzz(tmp_path, which, range(-20, 0))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("which", HANDED_IN)
def test_mutants_earn_no_more_than_what_they_were_made_of(tmp_path, which, part):
    fuzz(tmp_path, which, range(part * PART_OF_THE_MUTANTS, (part + 1) * PART_OF_THE_MUTANTS))
    print(f"{scores.cache_info().misses} different ones were graded")


def test_what_the_mutants_are_compared_with_earns_what_it_should(tmp_path):
    path = tmp_path / f"{STEM}.ipynb"
    right, partly_wrong = (sum(best_scores(path, which).values()) for which in HANDED_IN)
    assert right == 10
    assert 1 < partly_wrong < 6


@pytest.mark.parametrize("rounds", [10, pytest.param(150, marks=pytest.mark.long)])
@pytest.mark.parametrize("stem", ANSWERED)
def test_damaged_answers_are_judged_in_words_that_can_be_printed(stem, rounds):
    rng = random.Random(f"{stem} {rounds}")
    for exercise in load_exercises(stem).values():
        prepared = exercise.prepare(b"fuzz")
        right = [form(case.expected) for case in prepared.cases for form in (to_json, packed)]
        for _ in range(rounds):
            # both ways of writing an array are damaged, and one of them is judged
            answers = [rng.choice(both) for both in zip(right[::2], right[1::2], strict=True)]
            observations = [decode_or_nothing(damaged(rng, answer)) for answer in answers]
            for verdict in judge(prepared, observations):
                assert verdict.passed or verdict.message.isprintable()


def packed(value):
    return to_json(value, packed=True)


def damaged(rng, answer):
    """Return an answer's text after a mutation or two, or as it is."""
    answer = json.loads(json.dumps(answer))
    for _ in range(rng.randint(0, 2)):
        if isinstance(answer, dict | list) and answer:
            rng.choice(
                (value_dropped, value_nested, value_replaced, values_swapped, number_changed)
            )(rng, answer)
    return json.dumps(answer)


def number_changed(rng, answer):
    within, key = any_place(rng, answer)
    if isinstance(within[key], int | float):
        within[key] = rng.choice(
            (10**4_000, -1, 0.5, 2**64, 1e400, -within[key], bool(within[key]))
        )


def decode_or_nothing(text):
    try:
        return decode(text)
    except WireError:
        return {}
