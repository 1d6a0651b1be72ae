"""The checks prove themselves: right answers keep every point, however written; each misconception
loses some and meets its hint.
"""

import inspect

import pytest

from autograder.authoring.exercise import PUBLIC_SEED
from autograder.authoring.faults import faults_of
from autograder.authoring.loading import load_exercises
from autograder.course import CourseError, chapters
from autograder.shared.wire import encode
from tests.conftest import judged, kept, prepared

EXERCISES = {
    f"{stem}:{name}": exercise
    for stem in chapters()
    for name, exercise in load_exercises(stem).items()
}
RIGHT = [
    pytest.param(each, right, id=f"{key}:{right.__name__}", marks=pytest.mark.xdist_group(key))
    for key, each in EXERCISES.items()
    for right in (each.reference, *each.alternatives)
]
WRONG = [
    pytest.param(each, index, id=f"{key}:{index}", marks=pytest.mark.xdist_group(key))
    for key, each in EXERCISES.items()
    for index in range(len(each.misconceptions))
]
SEEDS = [b"one", PUBLIC_SEED]
MANY_SEEDS = [b"two", b"three", *(str(number).encode() for number in range(20))]

exercises = pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(each, id=key, marks=pytest.mark.xdist_group(key))
        for key, each in EXERCISES.items()
    ],
)
seeds = pytest.mark.parametrize(
    "seeds",
    [[PUBLIC_SEED], pytest.param([b"one", *MANY_SEEDS], marks=pytest.mark.long)],
    ids=["few", "many"],
)


@exercises
def test_an_exercise_knows_enough_wrong_and_right_answers(exercise):
    wrong, right = len(exercise.misconceptions), len(exercise.alternatives)
    assert wrong >= 5, f"{exercise.name} has {wrong} wrong answers; it needs five or more"
    assert right >= 3, f"{exercise.name} has {right} right answers; it needs three or more"
    assert len({misconception.belief for misconception in exercise.misconceptions}) == len(
        exercise.misconceptions
    )
    assert len({case.title for case in exercise.cases}) == len(exercise.cases)


@exercises
def test_the_checks_of_an_exercise_have_no_faults(exercise):
    preparations = [prepared(exercise, seed) for seed in SEEDS]
    faults = faults_of(exercise, preparations)
    assert not faults, "\n".join(faults)


@seeds
@pytest.mark.parametrize(("exercise", "right"), RIGHT)
def test_a_right_answer_keeps_every_point(exercise, right, seeds):
    for seed in seeds:
        lost = [
            verdict.message
            for verdict in judged(prepared(exercise, seed), right)
            if not verdict.passed
        ]
        assert not lost, f"{right.__name__} is a right answer, and loses points: {lost}"


@seeds
@pytest.mark.parametrize(("exercise", "index"), WRONG)
def test_a_misconception_loses_points_and_meets_a_true_hint(exercise, index, seeds):
    wrong = exercise.misconceptions[index]
    for seed in seeds:
        lost = [
            verdict
            for verdict in judged(prepared(exercise, seed), wrong.implementation)
            if not verdict.passed
        ]
        assert lost, (
            f"{wrong.belief!r} keeps every point: add a case that tells it from a right one"
        )
        told = [verdict.message for verdict in lost]
        assert any(wrong.hint in message for message in told), (
            f"{wrong.belief!r} loses points, but its hint is not shown. This is: {told}"
        )


@exercises
def test_only_who_thinks_of_the_cpu_leaves_the_device(exercise):
    """A wrong answer that fails there for another reason than its own is not recognised where a
    learner's does not.
    """
    for case in prepared(exercise, SEEDS[0]).cases:
        if "device" in case.probe:
            for index, wrong in enumerate(exercise.misconceptions):
                raised = case.lookalike(index).get("raised", {})
                if "on the same device" in raised.get("message", ""):
                    assert "CPU" in wrong.belief, f"{wrong.belief!r} fails in {case.title!r}"


@exercises
@pytest.mark.parametrize("visible", [True, False], ids=["visible", "hidden"])
def test_a_stub_and_empty_answers_earn_nothing(exercise, visible):
    def stub(*arguments):
        raise NotImplementedError

    def refusing_everything(*arguments):
        raise ValueError("no")

    asked = prepared(exercise, b"one", visible)
    for empty in (stub, refusing_everything, lambda *arguments: None, lambda first, *others: first):
        earned, lost = kept(asked, empty)
        assert earned == 0, f"{len(asked.cases) - len(lost)} cases pass"


@exercises
def test_both_cells_of_an_exercise_ask_for_a_result(exercise):
    for visible in (True, False):
        assert any("result" in case.expected for case in prepared(exercise, b"one", visible).cases)


@exercises
def test_fresh_inputs_differ_from_the_visible_ones(exercise):
    shown, fresh = (
        [repr(case.inputs) for case in prepared(exercise, seed, visible=True).cases]
        for seed in (PUBLIC_SEED, b"one")
    )
    same = [one for one, other in zip(shown, fresh, strict=True) if one == other]
    assert len(same) <= len(shown) // 3


@exercises
def test_a_case_that_speaks_of_pre_norm_asks_for_it(exercise):
    for case in prepared(exercise, SEEDS[0]).cases:
        if "pre-norm" in case.title:
            assert case.inputs["constructor"].get("norm_first") is True, case.title


@exercises
def test_no_hint_gives_the_answer_away(exercise):
    parts = inspect.getsource(exercise.reference).split("### BEGIN SOLUTION")[1:]
    lines = {
        line.strip() for part in parts for line in part.split("### END SOLUTION")[0].splitlines()
    }
    telling = [line for line in lines if len(line) > 8 and not line.startswith("###")]
    for hint in (misconception.hint for misconception in exercise.misconceptions):
        told = [line for line in telling if line in hint]
        assert not told, f"the hint {hint!r} has the solution's line {told}"
        begins = hint[0].isupper() or "_" in hint.split()[0]  # or with a parameter's name
        assert begins and hint[-1] in ".?", f"the hint {hint!r} is not a sentence"


def test_a_class_lays_its_own_cases_over_the_public_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.authoring.loading.PRIVATE", tmp_path)
    inputs = '{"scores": rng.normal(size=9)}'
    own = f"""import numpy as np
from autograder.authoring.exercise import Case

CASES = {{NAME: (Case("our own", lambda rng: {inputs}, visible=VISIBLE),)}}
"""
    path = tmp_path / "ch04_attention.py"
    path.write_text(own.replace("NAME", "'softmax'").replace("VISIBLE", "False"))
    softmax = load_exercises("ch04_attention")["softmax"]
    assert softmax.prepare(b"any", visible=False).cases[-1].title == "our own"
    assert "our own" not in [case.title for case in softmax.prepare(b"any", visible=True).cases]
    for others, words in [
        ('{"scores": 1}', "the reference softmax stops with"),
        ("1 / 0", "ZeroDivisionError"),
        ('{"numbers": rng.normal(size=9)}', r"gives \['numbers'\]; the signature begins"),
    ]:
        path.write_text(
            own.replace("NAME", "'softmax'").replace("VISIBLE", "False").replace(inputs, others)
        )
        with pytest.raises(CourseError, match=words):
            load_exercises("ch04_attention")
    for wrong, words in [
        (("'softmin'", "False"), "softmin"),
        (("'softmax'", "True"), "visible=False"),
    ]:
        path.write_text(own.replace("NAME", wrong[0]).replace("VISIBLE", wrong[1]))
        with pytest.raises(CourseError, match=words):
            load_exercises("ch04_attention")


def test_a_rate_is_not_known_from_the_sizes_of_the_sets():
    """Who remembers answers by the sizes of the sets that belong to them earns little."""
    exercise = load_exercises("ch12_interpretation")["alignment_error_rate"]
    remembered = {}

    def sizes(*sets):
        return tuple(map(len, sets))

    for seed in (PUBLIC_SEED, b"one", b"two"):
        for case in prepared(exercise, seed).cases:
            if "result" in case.expected:
                sets = (each["pairs"] for each in case.inputs.values())
                remembered[sizes(*sets)] = case.expected["result"]

    def by_sizes(*sets):
        return remembered.get(sizes(*sets), 0.5)

    for seed in MANY_SEEDS[2:10]:
        earned, _ = kept(exercise.prepare(seed), by_sizes)
        print(seed, earned)
        assert earned < 0.6, seed


def test_what_the_notebook_shows_is_not_what_is_graded():
    exercise = load_exercises("ch06_masking")["causal_mask"]  # a function of a single small number
    shown = {encode(case.inputs) for case in exercise.prepare(PUBLIC_SEED, visible=True).cases}
    asked = [
        encode(case.inputs) for seed in range(40) for case in exercise.prepare(bytes([seed])).cases
    ]
    assert len(set(asked)) > 20
    assert not shown & set(asked)


FEW = 16  # sizes that a table has by itself, beside those that the notebook shows


def asks_for_sizes_alone(exercise):
    return all(
        value is None or isinstance(value, bool | int | float | str)
        for case in prepared(exercise, PUBLIC_SEED).cases
        for value in case.inputs.values()
    )


# Named here, because to draw every case where tests are collected takes long.
SIZES = {
    "ch02_positional_encoding:sinusoidal_encoding",
    "ch02_positional_encoding:offset_matrix",
    "ch06_masking:causal_mask",
    "ch09_training:noam_rate",
    "ch10_gpu:utilization",
    "ch11_efficiency:attention_flops",
    "ch11_efficiency:cache_bytes",
    "ch11_efficiency:sliding_window_mask",
}


@exercises
def test_an_exercise_that_asks_for_sizes_alone_is_named(exercise):
    assert asks_for_sizes_alone(exercise) == any(exercise is EXERCISES[key] for key in SIZES)


@pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(EXERCISES[key], id=key, marks=pytest.mark.xdist_group(key))
        for key in sorted(SIZES)
    ],
)
def test_a_table_of_answers_by_size_keeps_little(exercise):
    shown = set()
    for case in prepared(exercise, PUBLIC_SEED, visible=True).cases:
        shown.update(value for value in case.inputs.values() if isinstance(value, int | float))

    def table(*arguments, **named):
        for size in (*arguments, *named.values()):
            if isinstance(size, int | float) and abs(size) > FEW and size not in shown:
                return None
        return exercise.reference(*arguments, **named)

    shares = [
        kept(exercise.prepare(bytes([seed]), visible), table)[0]
        for seed in range(6)
        for visible in (True, False)
    ]
    assert sum(shares) / len(shares) < 1 / 3, shares
