"""The form in which authors write checks: what it declares, and what it says when something does
not fit.
"""

from functools import partial

import numpy as np
import pytest
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer, sizeable
from autograder.authoring.exercise import PUBLIC_SEED
from autograder.authoring.faults import faults_of
from autograder.authoring.loading import load_exercises
from autograder.authoring.tensors import with_tensors
from autograder.authoring.usual import of_argument
from autograder.course import CourseError, chapters
from autograder.shared.judge import share
from autograder.shared.laws import exactly_one, sums_to_one, sums_to_zero
from autograder.shared.probes import arguments_after, device_kept, returned
from solutions import ch04_attention as reference
from solutions import ch06_masking
from solutions.ch07_layers import LayerNorm
from tests.conftest import judged


@drawn
def normal(rng, *shape):
    return rng.normal(size=shape)


def both(rng):
    return {"weights": normal(rng, 3), "grad_weights": normal(rng, 3)}


ONE = np.ones(1)


def papers_of(exercise, count):
    return [exercise.prepare(bytes([number])) for number in range(count)]


@pytest.fixture
def checks():
    return Checks(reference.softmax, laws=(sums_to_one,))


def test_arguments_are_drawn_first_and_then_become_others():
    described = drawn(both)()
    before = described(np.random.default_rng(0))
    after = described.but(grad_weights=np.zeros_like, weights=7)(np.random.default_rng(0))
    assert list(after) == ["weights", "grad_weights"]
    assert after["weights"] == 7
    assert np.array_equal(after["grad_weights"], np.zeros(3))
    assert before["grad_weights"].any()


def test_no_sizeable_number_is_small():
    rng = np.random.default_rng(0)
    numbers = sizeable(rng, 40, 50, tenths=(5, 21), scale=2, dtype=np.float32)
    assert numbers.dtype == np.float32
    sizes = np.abs(numbers)
    assert np.allclose([sizes.min(), sizes.max()], [1, 4])
    assert (numbers < 0).any() and (numbers > 0).any()


def test_inputs_are_drawn_in_the_order_of_the_arguments():
    backward = Checks(reference.softmax_backward)
    backward.shown("one by one", weights=normal(3), grad_weights=10 + 2 * normal(3) - 1)
    drawn_ = backward.exercise.cases[0].inputs(np.random.default_rng(0))
    expected = both(np.random.default_rng(0))
    assert list(drawn_) == list(expected)
    assert np.array_equal(drawn_["weights"], expected["weights"])
    assert np.allclose(drawn_["grad_weights"], 9 + 2 * expected["grad_weights"])


def test_a_case_asks_other_sizes_when_it_is_graded():
    checks = Checks(ch06_masking.causal_mask)
    checks.shown("a few", seq_len=integer(3, 6), graded={"seq_len": integer(40, 200)})
    [shown, _] = checks.exercise.prepare(PUBLIC_SEED).cases
    assert shown.inputs["seq_len"] in range(3, 6)
    graded = {
        case.inputs["seq_len"] for each in papers_of(checks.exercise, 20) for case in each.cases
    }
    assert len(graded) > 20
    assert min(graded) >= 40
    with pytest.raises(CourseError, match="length"):
        checks.shown("misspelt", seq_len=3, graded={"length": 40})


def test_a_description_draws_within_lists_and_dictionaries(checks):
    checks.shown("nested", scores=[normal(2), {"more": (integer(3, 4), 7)}])
    inputs = checks.exercise.cases[0].inputs(np.random.default_rng(0))
    assert inputs["scores"][0].shape == (2,)
    assert inputs["scores"][1] == {"more": (3, 7)}


def test_a_law_holds_where_the_reference_obeys_it(checks):
    checks.shown("weights", scores=normal(3))
    checks.shown("none here", scores=normal(4), laws=())
    checks.shown("its own", scores=normal(3, 1), laws=(partial(exactly_one, of="the result"),))
    checks.shown("nothing returned to ask", probe=arguments_after, scores=normal(3))
    *own, of_form = checks.exercise.prepare(b"any").cases
    laws = [case.properties for case in own]
    assert of_form.properties == laws[0]
    assert laws == [(("sums_to_one", {}),), (), (("exactly_one", {"of": "the result"}),), ()]


def test_a_law_that_the_reference_breaks_is_not_asked_for():
    scores = Checks(reference.attention_scores, laws=(sums_to_one,))
    scores.shown("no weights", query=normal(2, 3), key=normal(2, 3))
    assert scores.exercise.prepare(b"any").cases[0].properties == ()


def test_a_wrong_answer_stays_a_function_that_others_may_use(checks):
    @checks.wrong("one", "Look.")
    def one(scores, axis=-1):
        return scores

    assert one(3) == 3
    assert checks.wrong("two", "Look.")(abs) is abs
    assert [each.belief for each in checks.exercise.misconceptions] == ["one", "two"]


def test_a_hint_may_run_over_several_lines(checks):
    checks.wrong(
        "one",
        """Look at this line,
        and at that.""",
    )(abs)
    assert checks.exercise.misconceptions[0].hint == "Look at this line, and at that."


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda checks: checks.hidden("there"), "two cases have the title 'there'"),
        (lambda checks: checks.shown("new", numbers=1), "gives 'numbers'; the signature has"),
        (lambda checks: checks.shown("new", axis=1, scores=1), "the signature begins"),
        (lambda checks: checks.shown("new", both, scores=1), "gives its inputs twice"),
        (lambda checks: checks.shown("new", probe=both), "both is no probe"),
        (lambda checks: checks.shown("new", laws=(both,)), "both is no law"),
        (lambda checks: Checks(reference.softmax, laws=(("sums_to_one", {}),)), "is no law"),
        (lambda checks: checks.wrong("a thought"), "the wrong answer 'a thought' has no hint"),
        (lambda checks: checks.wrong("known", "Look."), "two wrong answers have the belief"),
        (lambda checks: checks.usual("in float8"), "no usual wrong answer 'in float8'; there are"),
    ],
)
def test_what_does_not_fit_is_told_with_its_file(checks, declare, words):
    checks.shown("there", scores=normal(3))
    checks.wrong("known", "Look.")(abs)
    with pytest.raises(CourseError, match=words) as told:
        declare(checks)
    assert "autograder/checks/ch04_attention/softmax.py" in str(told.value)


def test_wrong_answers_that_answer_alike_are_told_by_both_names(checks):
    checks.shown("three", scores=normal(3))
    checks.wrong("no exponential", "Look.")(lambda scores, axis=-1: scores)
    checks.wrong("scores are weights", "Look.")(lambda scores, axis=-1: scores.copy())
    assert faults_of(checks.exercise, papers_of(checks.exercise, 2)) == [
        "softmax: 'scores are weights' answers exactly like 'no exponential'"
    ]


def test_inputs_that_are_no_arguments_are_told(checks):
    checks.shown("three", lambda rng: {"numbers": normal(rng, 3)})
    faults = faults_of(checks.exercise, papers_of(checks.exercise, 1))
    assert "'three' gives ['numbers']; the signature begins ['scores']" in faults[0]


def test_inputs_in_another_order_than_the_arguments_are_told():
    def in_another_order(rng):
        return {"grad_weights": normal(rng, 3), "weights": normal(rng, 3)}

    backward = Checks(reference.softmax_backward)
    backward.shown("both", in_another_order)
    faults = faults_of(backward.exercise, papers_of(backward.exercise, 2))
    assert len(faults) == 1
    assert "gives ['grad_weights', 'weights']; the signature begins ['weights'," in faults[0]


def test_inputs_of_a_module_in_another_order_are_told():
    def a_step_too_far(rng):
        module = {"constructor": {"eps": 1e-5, "d_model": 3}, "weights": {}}
        return {**module, "forward": {"x": torch.ones(1, 3)}}

    norm = Checks(LayerNorm)
    norm.shown("three", a_step_too_far)
    faults = faults_of(norm.exercise, papers_of(norm.exercise, 1))
    assert "gives ['eps', 'd_model']; the signature begins ['d_model', 'eps']" in faults[0]


def test_a_law_obeyed_by_chance_is_told():
    backward = Checks(reference.softmax_backward, laws=(sums_to_zero,))
    weight = integer(0, 4).then(lambda number: np.full(1, float(number)))
    backward.hidden(
        "a weight of 0, or one that is no softmax", weights=0.5 * weight, grad_weights=ONE
    )
    faults = faults_of(backward.exercise, papers_of(backward.exercise, 9))
    assert len(faults) == 1
    assert "by chance" in faults[0]


@pytest.mark.parametrize("name", ["in float64", "negated", "transposed"])
def test_usual_wrong_answers_lose_points(name):
    scores = Checks(reference.attention_scores)
    scores.shown("float32", query=normal(2, 3).then(np.float32), key=normal(2, 3).then(np.float32))
    scores.usual(name)
    wrong = scores.exercise.misconceptions[0]
    verdicts = judged(scores.exercise.prepare(b"any"), wrong.implementation)
    assert share(verdicts) == 0
    assert wrong.hint in verdicts[0].message


@pytest.mark.parametrize(
    ("name", "probe", "exact"),
    [("through float32", returned, True), ("into an argument", arguments_after, False)],
)
def test_usual_wrong_answers_lose_points_where_that_alone_is_asked(name, probe, exact):
    softmax = Checks(reference.softmax)
    softmax.shown("all of it", scores=normal(2, 3), probe=probe, exact=exact)
    softmax.usual(name)
    wrong = softmax.exercise.misconceptions[0]
    verdicts = judged(softmax.exercise.prepare(b"any"), wrong.implementation)
    assert share(verdicts) == 0
    assert wrong.hint in verdicts[0].message


def test_an_answer_with_tensors_takes_and_returns_arrays():
    @with_tensors
    def halves(numbers, count):
        return numbers[:count].double(), numbers[count:].clone()

    numbers = np.arange(4, dtype=np.float32)
    first, second = halves(numbers, 2)
    assert (first.dtype, second.dtype) == (np.float64, np.float32)
    assert np.array_equal(np.concatenate([first, second]), numbers)


def softmax_with(base=np.e, divisor=np.sum):
    """Make a softmax from its rules."""

    def softmax(scores, axis=-1):
        powers = base**scores
        return powers / divisor(powers, axis=axis, keepdims=True)

    return softmax


def test_a_wrong_answer_is_the_right_one_but_for_a_rule_an_argument_or_what_follows():
    checks = Checks(reference.softmax, family=softmax_with)
    twos = checks.wrong("powers of two", "Look.", base=2)
    first = checks.wrong("always the first axis", "Look.", axis=0)
    other = checks.wrong("the other axis", "Look.", axis=lambda axis: axis - 1)
    percent = checks.wrong("in percent", "Look.", then=lambda weights: 100 * weights)

    @checks.wrong("the largest divides", "Look.", rule="divisor")
    def by_largest(powers, axis, keepdims):
        return powers.max(axis=axis, keepdims=keepdims)

    scores = np.array([[0.0, 1.0], [3.0, 1.0]])
    right = checks.exercise.alternatives[0]
    assert np.allclose(right(scores), reference.softmax(scores))
    assert np.allclose(twos(scores)[0], [1 / 3, 2 / 3])
    assert np.allclose(first(scores), reference.softmax(scores, axis=0))
    assert np.allclose(other(scores, axis=-1), reference.softmax(scores, axis=0))
    assert np.allclose(percent(scores).sum(axis=-1), 100)
    assert np.allclose(by_largest(scores).max(axis=-1), 1)
    assert [each.implementation for each in checks.exercise.misconceptions] == [
        twos,
        first,
        other,
        percent,
        by_largest,
    ]


def test_a_class_is_made_with_an_argument_that_is_taken_for_another():
    class Scaled:
        def __init__(self, factor=1):
            self.factor = factor

    assert of_argument(factor=3)(Scaled)(2).factor == 3


def test_a_change_is_not_asked_about_an_argument_that_is_not_given():
    query = torch.ones(2, 3)
    turned_round = of_argument(mask=torch.logical_not)(ch06_masking.masked_attention)
    assert turned_round(query, query, query)[1].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    _, weights = turned_round(query, query, query, torch.eye(2).bool())
    assert weights.tolist() == [[0, 1], [1, 0]]


def test_members_of_a_class_may_be_the_rules():
    class InPieces(LayerNorm):
        def shift(self, x):
            return x - x.mean(dim=-1, keepdim=True)

        def forward(self, x):
            return self.shift(x)

    checks = Checks(LayerNorm, family=InPieces)
    wrong = checks.wrong("nothing is shifted", "Look.", shift=lambda self, x: x)
    doubled = checks.wrong("twice", "Look.", x=lambda x: 2 * x)
    x = torch.tensor([1.0, 3.0])
    assert wrong(2)(x).tolist() == [1.0, 3.0]
    assert doubled(2)(x).tolist() == [-2.0, 2.0]
    assert checks.exercise.alternatives[0](2)(x).tolist() == [-1.0, 1.0]


def test_a_function_may_be_the_forward_of_a_class():
    checks = Checks(LayerNorm)
    wrong = checks.wrong("nothing is done", "Look.")(lambda self, x: x)
    right = checks.right(lambda self, x: torch.layer_norm(x, (2,), eps=self.eps))
    whole = checks.right(torch.nn.LayerNorm)
    x = torch.tensor([1.0, 3.0])
    assert wrong(2)(x).tolist() == [1.0, 3.0]
    assert torch.equal(right(2)(x), whole(2)(x))
    assert checks.exercise.alternatives == (right, whole)


def test_what_is_changed_in_a_new_module_is_a_rule_of_every_class():
    checks = Checks(LayerNorm)

    @checks.wrong("a norm of its own", "Look.", rule="made", then=torch.neg)
    def without_a_bias(self):
        self.bias = None

    wrong = checks.wrong("always wide", "Look.", d_model=4, forward=lambda self, x: 2 * x)
    assert not checks.exercise.alternatives
    assert list(dict(without_a_bias(3).named_parameters())) == ["weight"]
    assert wrong(2).weight.shape == (4,)
    assert wrong(2)(torch.ones(1)).tolist() == [2.0]


def test_a_rule_that_there_is_not_is_told(checks):
    with pytest.raises(CourseError, match="'dim' is neither a rule nor an argument"):
        checks.wrong("another axis", "Look.", dim=0)


@pytest.mark.parametrize(
    "name",
    [
        "inverted",
        "as numbers",
        "added to the scores",
        "without axes of length 1",
        "on the default device",
    ],
)
def test_usual_wrong_masks_lose_points_and_meet_their_hint(name):
    masks = Checks(ch06_masking.causal_mask)
    masks.shown("a few", seq_len=integer(3, 7))
    masks.shown("elsewhere", seq_len=3, device="meta", probe=device_kept)
    assert is_noticed(masks, name)


def test_a_usual_wrong_answer_that_writes_into_its_argument_is_noticed(checks):
    checks.shown("the scores stay as they were", scores=normal(3), probe=arguments_after)
    assert is_noticed(checks, "changes its argument")


def is_noticed(checks, name):
    """Return whether a usual wrong answer loses points, and its hint is shown."""
    checks.usual(name)
    [wrong] = checks.exercise.misconceptions
    verdicts = judged(checks.exercise.prepare(b"any"), wrong.implementation)
    return any(wrong.hint in verdict.message for verdict in verdicts if not verdict.passed)


def test_exercises_come_in_the_order_of_the_source():
    names = list(load_exercises("ch04_attention"))
    assert names == [
        "softmax",
        "attention_scores",
        "scaled_dot_product_attention",
        "softmax_backward",
    ]


def test_a_file_of_checks_without_its_exercise_and_one_that_is_missing_are_told(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("autograder.authoring.loading.ROOT", tmp_path)
    folder = tmp_path / "autograder" / "checks" / "ch04_attention"
    folder.mkdir(parents=True)
    with pytest.raises(CourseError, match="softmax has no checks; write"):
        load_exercises("ch04_attention")
    for name in ("softmax", "attention_scores", "scaled_dot_product_attention"):
        (folder / f"{name}.py").touch()
    (folder / "softmax_backward.py").touch()
    (folder / "softmin.py").touch()
    with pytest.raises(CourseError, match="is of no exercise in"):
        load_exercises("ch04_attention")


def test_two_wrong_answers_meet_in_one_unless_they_change_the_same_step():
    checks = Checks(reference.softmax, family=softmax_with)
    checks.wrong("powers of two", "Look.", base=2)
    checks.wrong("powers of three", "Look.", base=3)
    checks.wrong("always the first axis", "Look.", axis=0)

    @checks.wrong("in percent", "Look.", around=True)
    def percents(right, *given):
        return 100 * right(*given)

    checks.wrong("no powers", "Look.")(lambda scores, axis=-1: scores / scores.sum(axis=axis))
    two, three, first, percent, whole = range(5)
    exercise = checks.exercise
    assert set(exercise.combinations) == {
        (two, first),
        (two, percent),
        (three, first),
        (three, percent),
        (first, percent),
        (first, whole),
        (percent, whole),
    }
    scores = np.array([[0.0, 1.0], [3.0, 1.0]])
    twos, wholes = 2**scores, scores / scores.sum(axis=0)
    assert np.allclose(exercise.wrong_answer((two, first))(scores), twos / twos.sum(axis=0))
    assert np.allclose(exercise.wrong_answer((first, whole))(scores), wholes)
    assert np.allclose(exercise.wrong_answer((percent, whole))(scores, 0), 100 * wholes)
    assert np.allclose(percents(scores, 0), 100 * reference.softmax(scores, 0))


@pytest.mark.parametrize("stem", chapters())
def test_every_answer_with_two_faults_can_be_made(stem):
    for exercise in load_exercises(stem).values():
        assert all(map(exercise.wrong_answer, exercise.combinations))
