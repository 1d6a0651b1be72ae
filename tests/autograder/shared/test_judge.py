"""Each way to be wrong has its own plain sentence."""

import linecache

import numpy as np
import pytest
import torch

from autograder.authoring.exercise import PUBLIC_SEED
from autograder.authoring.loading import load_exercises
from autograder.shared.findings import find_in_finiteness
from autograder.shared.judge import judge
from autograder.shared.laws import LAWS
from autograder.shared.wire import Opaque
from solutions.ch04_attention import scaled_dot_product_attention, softmax
from tests.conftest import judged

EXERCISES = {**load_exercises("ch01_embeddings"), **load_exercises("ch04_attention")}


def first_message(exercise, implementation, visible=True):
    verdicts = judged(EXERCISES[exercise].prepare(PUBLIC_SEED, visible), implementation)
    return next((verdict.message for verdict in verdicts if not verdict.passed), "")


def stub(scores, axis=-1):
    raise NotImplementedError


def with_two_arguments_more(scores, axis, third, fourth):
    return scores


def broken(scores, axis=-1):
    return scores @ np.ones((17, 17))


def leaving(scores, axis=-1):
    raise SystemExit


def misspelling(scores, axis=-1):
    return [score for _ in range(3)]  # noqa: F821


def misspelling_a_function(scores, axis=-1):
    return np.swapaxess(scores, 0, 0)


def like_two_names(scores, axis=-1):
    lens, lensx = scores, scores  # noqa: F841
    return lensh  # noqa: F821


def with_an_argument_that_is_none(scores, axis=-1):
    return softmax(scores, dim=axis)


def out_of_torch(scores, axis=-1):
    return np.exp(torch.ones(3, requires_grad=True))


@pytest.mark.parametrize(
    ("implementation", "sentence"),
    [
        (stub, "softmax is still the stub; replace `raise NotImplementedError` with your code."),
        (lambda scores, axis=-1: None, "it returned None; is a `return` missing?"),
        (
            lambda scores, axis=-1: scores.tolist(),
            "the result is a list of 3, but should be a NumPy array of float64.",
        ),
        (
            lambda scores, axis=-1: {1},
            "the result is a value of type set, but should be a NumPy array of float64.",
        ),
        (
            lambda scores, axis=-1: scores.astype(complex),
            (
                "the result is a NumPy array of dtype complex128, but should be a NumPy array of"
                " float64."
            ),
        ),
        (lambda scores, axis=-1: scores[:-1], "the result has shape (2,), but should have (3,)."),
        (
            lambda scores, axis=-1: softmax(scores, axis).astype(np.float32),
            "the result has dtype float32, but should have float64.",
        ),
        (lambda scores, axis=-1: scores * np.nan, "the result is nan in 3 of 3 places."),
        (lambda scores, axis=-1: scores + np.inf, "the result is infinite in 3 of 3 places."),
        (lambda scores, axis=-1: scores * 0 + 1 / 3, "but should be"),
        (
            lambda scores, axis=-1: 2 * softmax(scores, axis),
            "result[:] sums to 2; every number is 2 times what it should be.",
        ),
        (
            with_two_arguments_more,
            (
                "softmax takes (scores, axis, third, fourth), and is called with (scores); keep the"
                " stub's first line."
            ),
        ),
        (broken, "it raised a ValueError: matmul"),
        (
            leaving,
            "it raised a SystemExit; that ends the whole program, and a function ends with `return`.",
        ),
        (misspelling, "name 'score' is not defined; did you mean `scores`?"),
        (misspelling_a_function, "has no attribute 'swapaxess'; did you mean `swapaxes`?"),
        (like_two_names, "name 'lensh' is not defined; is it defined anywhere above?"),
        (
            with_an_argument_that_is_none,
            "unexpected keyword argument 'dim'; what are the arguments of softmax called?",
        ),
        (
            out_of_torch,
            (
                "it raised a RuntimeError: Can't call numpy() on Tensor that requires grad; torch has"
                " functions of its own, which keep the gradients and the device."
            ),
        ),
        ("a string", "softmax is the string 'a string', not a function."),
    ],
)
def test_each_way_to_be_wrong_has_a_sentence(implementation, sentence):
    message = first_message("softmax", implementation)
    assert sentence in message
    assert message.startswith("softmax")
    assert "Traceback" not in message


def test_a_number_alone_is_nan_in_no_place():
    number, array = np.array(1.0), np.array([1.0, 2.0])
    assert find_in_finiteness("the result", number, number * np.nan) == "the result is nan"
    told = find_in_finiteness("the result", array, array * np.nan)
    assert told == "the result is nan in 2 of 2 places"


def test_a_long_call_comes_after_what_was_found():
    message = first_message(
        "scaled_dot_product_attention", lambda query, key, value: (value * np.nan, value)
    )
    assert message.startswith("scaled_dot_product_attention: ")
    assert " The call was scaled_dot_product_attention(query=[[" in message


def test_a_missing_part_of_a_pair_is_named():
    message = first_message(
        "scaled_dot_product_attention", lambda *inputs: scaled_dot_product_attention(*inputs)[0]
    )
    assert "should return (output, weights)" in message


@pytest.mark.parametrize("weights", [None, 3, "weights"])
def test_an_output_beside_something_else_than_weights_earns_its_half(weights):
    verdicts = judged(
        EXERCISES["scaled_dot_product_attention"].prepare(b"any", visible=True),
        lambda *inputs: (scaled_dot_product_attention(*inputs)[0], weights),
    )
    asked = [verdict for verdict in verdicts if "weights is" in verdict.message]
    assert len(asked) > 3
    assert all(verdict.earned == 0.5 for verdict in asked)
    assert all("what it returns as output is right" in verdict.message for verdict in asked)


def test_a_function_that_refuses_nothing_is_told_what_to_raise():
    right = EXERCISES["one_hot"].reference
    message = first_message(
        "one_hot", lambda token_ids, vocab_size: right(np.abs(token_ids) % vocab_size, vocab_size)
    )
    assert "should raise a ValueError" in message


def test_a_row_that_is_stretched_is_named_with_its_lengths():
    x = np.array([[[3.0, 4.0], [6.0, 8.0]]])
    keeps_lengths = LAWS["keeps_lengths"]
    assert keeps_lengths({"x": x}, {"the result": x[..., ::-1]}) is None
    nearly = keeps_lengths({"x": x / 5}, {"the result": x / 5 * 1.00002})
    assert nearly.endswith("result[0, 0, :] has length 1.00002, and had 1")
    found = keeps_lengths({"x": x}, {"the result": x * [[1], [2]]})
    assert found == "turning a row keeps its length, but result[0, 1, :] has length 20, and had 10"


def test_what_tanh_returns_lies_between_minus_one_and_one():
    within_one = LAWS["within_one"]
    assert within_one({}, {"the result": np.array([[-1.0, 0.3], [1.0, 0.0]])}) is None
    found = within_one({}, {"the result": np.array([[0.5, -1.25], [1.1, 0.0]])})
    assert found == "the result should lie between -1 and 1, but reaches -1.25"


def test_a_slice_that_is_not_standardised_is_named_with_its_mean_or_variance():
    standardised = LAWS["standardised"]
    slices = np.array([[[-1.0, 1.0], [1.0, -1.0]]])
    assert standardised({}, {"the result": slices}) is None
    found = standardised({}, {"the result": np.add(slices, [[0], [0.5]])})
    assert (
        found
        == "along the last axis, the result should have the mean 0, but that of result[0, 1, :]"
        " is 0.5"
    )
    found = standardised({}, {"the result": slices * [[0.5], [1]]})
    assert (
        found
        == "along the last axis, the result should have the variance 1, but that of result[0, 0, :]"
        " is 0.25"
    )


def test_hidden_numbers_stay_hidden():
    for verdict in judged(
        EXERCISES["softmax"].prepare(b"secret", visible=False),
        lambda scores, axis=-1: scores * 0 + 0.2,
    ):
        assert "scores of shape" in verdict.message or verdict.passed
        assert "but should be" not in verdict.message


def from_a_cell(name, source):
    """Return what the source of a notebook's cell defines under a name."""
    path = f"/tmp/ipykernel_1/{name}.py"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    namespace = {"nn": torch.nn}
    exec(compile(source, path, "exec"), namespace)
    return namespace[name]


def test_the_line_of_the_learners_own_code_is_told():
    source = "def softmax(scores, axis=-1):\n    total = 1\n    return scores / missing\n"
    message = first_message("softmax", from_a_cell("softmax", source))
    assert (
        "it raised a NameError: name 'missing' is not defined, in line 3 of its cell: `return"
        " scores / missing`; is it defined anywhere above?" in message
    )


def test_a_name_within_a_method_may_belong_to_self():
    source = """class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(weight)
"""
    exercise = load_exercises("ch07_layers")["LayerNorm"]
    verdicts = judged(exercise.prepare(PUBLIC_SEED, visible=True), from_a_cell("LayerNorm", source))
    assert "; does it belong to `self`, or is it defined anywhere above?" in verdicts[0].message


def with_and(self, x):
    return x.sum() if x > 0 and x < 1 else x


def with_a_chain(self, x):
    return (0 < x < 1) * x


def with_precedence(self, x):
    return x * (x > 0 & x)


def with_a_power(self, x):
    return x ^ 2


def of_a_float_size(self, x):
    return x.reshape(len(x), x.shape[1] / 1)


def in_place(self, x):
    x += 1
    return x


def from_two_devices(self, x):
    return x + torch.ones(4, device="meta")


def with_an_axis_lost(self, x):
    return x / x.sum(-1)


def with_a_factor_not_turned(self, x):
    return x @ x


def with_a_matrix_not_turned(self, x):
    return x @ x[0]


def with_an_axis_lost_in_numpy(self, x):
    return torch.tensor(x.numpy() / x.numpy().sum(-1))


def with_a_factor_not_turned_in_numpy(self, x):
    return torch.tensor(x.numpy() @ x.numpy())


@pytest.mark.parametrize(
    ("forward", "clause"),
    [
        (with_an_axis_lost, "shapes are lined up at their last axes"),
        (with_an_axis_lost_in_numpy, "shapes are lined up at their last axes"),
        (with_a_factor_not_turned, "in `a @ b` the last axis of `a` meets the last but one of `b`"),
        (with_a_factor_not_turned_in_numpy, "in `a @ b` the last axis of `a` meets"),
        (with_a_matrix_not_turned, "in `a @ b` the last axis of `a` meets"),
        (with_and, "which `if`, `and`, `or`, `not`, `in`, `max`"),
        (with_a_chain, "or a chain such as `a < b < c` would need"),
        (with_precedence, "Python evaluates `&` and `|` before a comparison"),
        (with_a_power, "in Python `^` is no power"),
        (of_a_float_size, "`/` always gives a float"),
        (in_place, "which line of yours writes into a tensor instead of making a new one?"),
        (from_two_devices, "which of them was made without saying where?"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_an_exception_means_is_told_whatever_the_exercise(forward, clause):
    exercise = load_exercises("ch07_layers")["FeedForward"]
    implementation = type("FeedForward", (exercise.reference,), {"forward": forward})
    verdicts = judged(exercise.prepare(PUBLIC_SEED, visible=True), implementation)
    told = [verdict.message for verdict in verdicts if not verdict.passed]
    assert any(clause in message for message in told), told


def with_a_parameter(self, d_model, eps=1e-5):
    self.weight = torch.nn.Parameter(torch.ones(d_model))


def with_a_module(self, d_model, eps=1e-5):
    self.inner = torch.nn.Linear(d_model, d_model)


def with_a_number(self, d_model, eps=1e-5):
    self.eps = eps


@pytest.mark.parametrize("make", [with_a_parameter, with_a_module, with_a_number])
@pytest.mark.parametrize(
    ("stem", "name"), [("ch07_layers", "LayerNorm"), ("ch13_family", "RMSNorm")]
)
def test_a_forgotten_super_is_named(make, stem, name):
    exercise = load_exercises(stem)[name]
    implementation = type(name, (torch.nn.Module,), {"__init__": make, "forward": in_place})
    verdicts = judged(exercise.prepare(PUBLIC_SEED, visible=True), implementation)
    assert "does `__init__` begin with `super().__init__()`?" in verdicts[0].message


@pytest.mark.parametrize("name", ["dim", "keepdim"])
def test_a_name_of_torchs_is_told_from_numpys(name):
    message = first_message("softmax", lambda scores, axis=-1: scores.max(**{name: axis}))
    assert f"`{name}` is torch's word" in message


def test_renamed_parameters_are_no_fault():
    assert first_message("softmax", lambda x, dim=-1: softmax(x, dim)) == ""
    assert first_message("softmax", lambda x, dim=-1: softmax(x, dim), visible=False) == ""


def strange_value(rng, depth=0):
    """Draw a value that no honest process sends, but a hostile one may."""
    simple = [
        None,
        True,
        0,
        -1,
        10**40,
        0.5,
        float("nan"),
        "",
        "\ud800 \x1b[2J\u202e",
        "x" * 5_000,
        Opaque("thing"),
        np.array([]),
        np.array(3),
        np.array([np.nan, np.inf]),
        np.zeros((0, 3)),
        np.array([[True, False]]),
        np.arange(3),
        np.ones((2, 3, 4), dtype=np.float16),
        np.array([255], dtype=np.uint8),
    ]
    if depth > 2 or rng.random() < 0.6:
        return simple[rng.integers(len(simple))]
    inner = [strange_value(rng, depth + 1) for _ in range(rng.integers(4))]
    return [
        inner,
        tuple(inner),
        dict(zip(["type", "bases", "message", "line", 5], inner, strict=False)),
    ][rng.integers(3)]


@pytest.mark.parametrize("rounds", [30, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES.keys())
def test_no_observation_stops_the_judge(exercise, rounds):
    rng = np.random.default_rng(0)
    prepared = exercise.prepare(b"any")
    keys = ["result", "raised", "changed", "after", "unfit", "else"]
    for _ in range(rounds):
        observations = [
            (
                {keys[rng.integers(6)]: strange_value(rng)}
                if rng.random() < 0.9
                else strange_value(rng)
            )
            for _ in prepared.cases
        ]
        for verdict in judge(prepared, observations):
            verdict.message.encode("utf-8")
            assert "\x1b" not in verdict.message


@pytest.mark.parametrize(
    ("suspects", "words"),
    [
        (["softmax"], "It calls softmax, which fails a check of its own: look there first."),
        (
            ["one", "other"],
            "It calls one and other, which fail checks of their own: look there first.",
        ),
    ],
)
def test_what_it_calls_and_fails_itself_is_named(suspects, words):
    prepared = load_exercises("ch04_attention")["softmax"].prepare(b"any", visible=True)
    verdicts = judge(prepared, [{} for _ in prepared.cases], suspects)
    assert all(verdict.message.endswith(words) for verdict in verdicts)


def test_a_number_may_be_one_of_numpys_and_a_tensor_loses_the_case_of_form():
    training = load_exercises("ch09_training")
    rate, search = (
        training[name].prepare(PUBLIC_SEED, True) for name in ("noam_rate", "beam_search")
    )
    right = training["noam_rate"].reference
    assert all(verdict.passed for verdict in judged(rate, lambda *told: np.float64(right(*told))))
    *others, form = judged(rate, lambda *told: torch.tensor(right(*told)))
    assert all(verdict.passed for verdict in others)
    assert (
        "the result is a torch tensor of float32 and shape (), but should be a Python number."
        in form.message
    )
    right = training["beam_search"].reference
    *others, form = judged(search, lambda *told: [torch.tensor(each) for each in right(*told)])
    assert all(verdict.passed for verdict in others)
    assert "each of them is still a tensor" in form.message


def test_a_single_number_is_told_once():
    loss = load_exercises("ch09_training")["label_smoothed_loss"]
    doubled = judged(loss.prepare(PUBLIC_SEED, True), lambda *told: 2 * loss.reference(*told))
    message = next(verdict.message for verdict in doubled if not verdict.passed)
    assert "the result is " in message and "but should be " in message
    assert "wrong" not in message
