"""The checks prove themselves: right answers keep every point, however written; each misconception loses some and meets its hint."""

import inspect
from functools import cache

import pytest

from autograder.course import chapters
from autograder.exercise import PUBLIC_SEED, load_exercises
from autograder.judge import share
from tests.conftest import judged

EXERCISES = {f"{stem}:{name}": exercise for stem in chapters() for name, exercise in load_exercises(stem).items()}
RIGHT = {
    f"{key}:{right.__name__}": (key, right)
    for key, each in EXERCISES.items()
    for right in (each.reference, *each.alternatives)
}
WRONG = {f"{key}:{index}": (key, index) for key, each in EXERCISES.items() for index in range(len(each.misconceptions))}
SEEDS = [b"one", b"two", b"three", PUBLIC_SEED]
MANY_SEEDS = [str(number).encode() for number in range(50)]

exercises = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES.keys())
seeds = pytest.mark.parametrize("seeds", [SEEDS, pytest.param(MANY_SEEDS, marks=pytest.mark.long)], ids=["few", "many"])


@cache
def prepared(key, seed):
    """Return an exercise's cases, drawn once: what its misconceptions answer takes seconds where they are modules of many layers."""
    return EXERCISES[key].prepare(seed)


@exercises
def test_an_exercise_knows_enough_wrong_and_right_answers(exercise):
    assert len(exercise.misconceptions) >= 5
    assert len(exercise.alternatives) >= 3
    assert len({misconception.belief for misconception in exercise.misconceptions}) == len(exercise.misconceptions)
    assert len({case.title for case in exercise.cases}) == len(exercise.cases)


@seeds
@pytest.mark.parametrize(("key", "right"), RIGHT.values(), ids=RIGHT.keys())
def test_a_right_answer_keeps_every_point(key, right, seeds):
    for seed in seeds:
        lost = [verdict.message for verdict in judged(prepared(key, seed), right) if not verdict.passed]
        assert lost == []


@seeds
@pytest.mark.parametrize(("key", "index"), WRONG.values(), ids=WRONG.keys())
def test_a_misconception_loses_points_and_meets_a_true_hint(key, index, seeds):
    wrong = EXERCISES[key].misconceptions[index]
    for seed in seeds:
        lost = [verdict for verdict in judged(prepared(key, seed), wrong.implementation) if not verdict.passed]
        assert lost, f"{wrong.belief!r} keeps every point"
        assert any(wrong.hint in verdict.message for verdict in lost), [verdict.message for verdict in lost]


@exercises
@pytest.mark.parametrize("visible", [True, False], ids=["visible", "hidden"])
def test_a_stub_and_empty_answers_earn_nothing(exercise, visible):
    def stub(*arguments):
        raise NotImplementedError

    def refusing_everything(*arguments):
        raise ValueError("no")

    for empty in (stub, refusing_everything, lambda *arguments: None, lambda first, *others: first):
        verdicts = judged(exercise.prepare(b"any", visible), empty)
        assert share(verdicts) == 0, [verdict.title for verdict in verdicts if verdict.passed]


@exercises
def test_both_cells_of_an_exercise_ask_for_a_result(exercise):
    for visible in (True, False):
        assert any("result" in case.expected for case in exercise.prepare(b"any", visible).cases)


@exercises
def test_fresh_inputs_differ_from_the_visible_ones(exercise):
    def texts(seed):
        return [repr(case.inputs) for case in exercise.prepare(seed, visible=True).cases]

    same = [one for one, other in zip(texts(PUBLIC_SEED), texts(b"secret"), strict=True) if one == other]
    assert len(same) <= len(texts(b"secret")) // 3


@exercises
def test_no_hint_gives_the_answer_away(exercise):
    parts = inspect.getsource(exercise.reference).split("### BEGIN SOLUTION")[1:]
    lines = {line.strip() for part in parts for line in part.split("### END SOLUTION")[0].splitlines()}
    telling = [line for line in lines if len(line) > 8 and not line.startswith("###")]
    for misconception in exercise.misconceptions:
        assert not [line for line in telling if line in misconception.hint]
        assert (
            misconception.hint[0].isupper() or "_" in misconception.hint.split()[0]
        )  # a sentence, or a parameter's name
        assert misconception.hint[-1] in ".?"
