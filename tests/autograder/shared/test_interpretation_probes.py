"""The probes of chapter 12 see what gates do and undo, and what a measurement leaves behind; what
stands in for a part of a Transformer computes what that part computes.
"""

import contextlib
import subprocess
import sys

import numpy as np
import pytest
import torch

from autograder.authoring.loading import load_exercises
from autograder.course import ROOT
from autograder.shared.parts import small_attention, small_norm
from autograder.shared.probes import observe
from autograder.shared.probes.small_modules import gated_loss
from autograder.shared.probes.stand_ins import with_stand_ins
from autograder.shared.wire import Opaque, copied
from autograder.shared.wording import call_of
from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch07_layers import LayerNorm
from solutions.ch12_interpretation import ablate_heads, attention_rollout, head_importance
from tests.conftest import judged

AFTER_AN_EXCEPTION = "an exception goes on, and afterwards the module is as it was"
AFTERWARDS = "gradients that parameters have already stay as they are"

BY_FUNCTIONAL_GRADIENT = """
import importlib, sys, torch
from autograder.shared.probes import observe
from autograder.shared.probes.stand_ins import modules_for
from autograder.shared.visible import read_visible_cases
def head_importance(loss_fn, gates):
    return torch.func.grad(loss_fn)(torch.ones_like(gates)).abs()
case = read_visible_cases("ch12_interpretation")["head_importance"].cases[0]
for name in modules_for(case):
    importlib.import_module(name)
before = set(sys.modules)
print("result" in observe(case.probe, head_importance, case.inputs))
print(sorted({name for name in set(sys.modules) - before if name.startswith("torch._dynamo")}))
"""


def asked(exercise, title):
    cases = load_exercises("ch12_interpretation")[exercise].prepare(b"any").cases
    [case] = [each for each in cases if each.title == title]
    return case


def told(implementation, exercise, title):
    case = asked(exercise, title)
    return observe(case.probe, implementation, copied(case.inputs))


def test_what_is_no_context_manager_is_told_so():
    def until_somebody_removes_it(attention, gates):
        return attention.w_o.register_forward_pre_hook(lambda module, inputs: None).remove

    for title in (AFTER_AN_EXCEPTION, "a gate of 0 removes a head"):
        seen = told(until_somebody_removes_it, "ablate_heads", title)
        assert "no context manager" in seen["unfit"]


def test_a_stub_is_a_stub_also_where_exceptions_are_asked_for():
    def stub(attention, gates):
        raise NotImplementedError

    assert told(stub, "ablate_heads", AFTER_AN_EXCEPTION)["raised"]["stub"]
    seen = told(contextlib.contextmanager(stub), "ablate_heads", AFTER_AN_EXCEPTION)
    assert seen["raised"]["stub"]


@pytest.mark.parametrize(
    ("raised", "noted"), [(None, "nothing"), (LookupError, "LookupError"), (OSError, "OSError")]
)
def test_what_comes_out_of_a_block_is_noted(raised, noted):
    class Block:
        def __init__(self, attention, gates):
            pass

        def __enter__(self):
            pass

        def __exit__(self, kind, error, trace):
            if raised is OSError:
                raise OSError from error
            return raised is None

    seen = told(Block, "ablate_heads", AFTER_AN_EXCEPTION)["noted"]
    assert seen["the exception that comes out of the block"] == noted


def test_an_error_within_the_block_is_the_learners_and_no_part_of_the_question():
    @contextlib.contextmanager
    def wrong_sizes(attention, gates):
        attention.w_o.register_forward_pre_hook(lambda module, inputs: inputs[0][..., :1])
        yield

    assert told(wrong_sizes, "ablate_heads", AFTER_AN_EXCEPTION)["raised"]["type"] == "RuntimeError"


def test_another_parameter_with_the_same_numbers_is_seen():
    @contextlib.contextmanager
    def replacing(attention, gates):
        with ablate_heads(attention, gates):
            yield
        attention.w_o.weight = torch.nn.Parameter(attention.w_o.weight.detach().clone())
        attention.named_parameters = lambda *_: []  # nobody asks the module itself

    right, seen = (
        told(each, "ablate_heads", "after the block the module is as it was")["noted"]
        for each in (ablate_heads, replacing)
    )
    assert right.keys() == seen.keys()
    assert right["the module has its own parameters after the block"] is True
    assert seen["the module has its own parameters after the block"] is False


def test_gradients_that_a_measurement_leaves_are_seen():
    def by_backward(loss_fn, gates):
        ones = torch.ones_like(gates, requires_grad=True)
        loss_fn(ones).backward()
        return ones.grad.abs()

    def emptied(loss_fn, gates):
        result = head_importance(loss_fn, gates)
        for cell in loss_fn.__closure__:
            for each in cell.cell_contents if isinstance(cell.cell_contents, list) else ():
                each.grad = None
        return result

    right, filled, gone = (
        told(each, "head_importance", AFTERWARDS)["noted"]
        for each in (head_importance, by_backward, emptied)
    )
    name = "`.grad` of parameter 0 afterwards"
    assert not np.allclose(right[name].values, filled[name].values)
    assert gone[name] == Opaque("None")


def messages(implementation, exercise):
    prepared = load_exercises("ch12_interpretation")[exercise].prepare(b"any")
    return [each.message for each in judged(prepared, implementation) if not each.passed]


def test_a_gradient_that_should_not_be_there_is_told_in_words_of_its_own():
    def by_backward(loss_fn, gates):
        ones = torch.ones_like(gates, requires_grad=True)
        loss_fn(ones).backward()
        return ones.grad.abs()

    message = messages(by_backward, "head_importance")[0]
    assert " and shape (2, 4, 4), but should be None. The numbers are right." in message


def test_gradients_that_are_nan_are_told_so():
    def swept_at_the_end(weights):
        return -(weights * weights.log()).nan_to_num().sum(-1)

    message = messages(swept_at_the_end, "attention_entropy")[0]
    assert "the gradient with respect to weights that are 0 is nan in 4 of 10 places" in message


def test_a_hook_that_returns_nothing_is_known_by_that():
    @contextlib.contextmanager
    def in_vain(attention, gates):
        yield

    told = messages(in_vain, "ablate_heads")
    assert any("what becomes of that?" in message for message in told)
    assert not any("Right for gates of 0 and 1" in message for message in told)


def test_a_graph_and_gates_that_require_gradients_are_seen():
    def with_a_graph(loss_fn, gates):
        ones = torch.ones_like(gates.requires_grad_()).requires_grad_()
        return torch.autograd.grad(loss_fn(ones), ones, create_graph=True)[0].abs()

    seen = told(with_a_graph, "head_importance", AFTERWARDS)["noted"]
    assert seen["`requires_grad` of the result"] is True
    assert seen["`gates.requires_grad` afterwards"] is True


def test_what_is_the_same_along_a_row_makes_no_other_gradient():
    def divided_at_the_end(weights):
        identity = torch.eye(weights.shape[-1], dtype=weights.dtype)
        result = identity
        for layer in weights.mean(1):
            result = (layer + identity) @ result
        return result / 2 ** len(weights)

    one, other = (
        told(each, "attention_rollout", "gradients flow")["noted"]
        for each in (attention_rollout, divided_at_the_end)
    )
    for name, gradient in one.items():
        assert np.abs(gradient.values).max() > 0.01
        assert np.allclose(gradient.values, other[name].values)


def test_a_gradient_that_never_comes_is_told():
    seen = told(
        lambda weights: weights.detach().sum(-1),
        "attention_entropy",
        "gradients are those of the formula",
    )
    assert "no gradient flows" in seen["unfit"]


def test_rates_of_any_kind_of_number_are_alike():
    title = "nothing is predicted and nothing is sure"
    for zero in (0, 0.0, np.float64(0)):
        seen = told(lambda *sets, zero=zero: zero, "alignment_error_rate", title)
        assert repr(seen) == repr({"result": 0.0})  # 0 is equal, and another type
    messages = {
        told(function, "alignment_error_rate", title)["raised"]["message"]
        for function in (lambda p, s, q: 1 / len(p), lambda p, s, q: 1.0 / float(len(p)))
    }
    assert messages == {"division by zero"}


def test_pairs_are_handed_over_as_a_set_and_shown_as_one():
    case = asked("alignment_error_rate", "nothing is predicted and nothing is sure")
    assert with_stand_ins(case.inputs) == {
        "predicted": set(),
        "sure": set(),
        "possible": {(0, 1)},
    }
    assert call_of("rate", case) == "rate(predicted=set(), sure=set(), possible={(0, 1)})"


def test_the_small_attention_is_that_of_chapter_5():
    torch.manual_seed(0)
    whole = MultiHeadAttention(6, 3).double()
    small = small_attention(3, dict(whole.state_dict()))
    query, key, value = torch.randn(3, 2, 4, 6, dtype=torch.float64)
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    for one, other in zip(
        small(query, key, value, mask), whole(query, key, value, mask), strict=True
    ):
        assert torch.allclose(one, other)
    output, nothing = small(query, key, value, need_weights=False)
    assert nothing is None and torch.allclose(output, whole(query, key, value)[0])


def test_the_small_norm_is_that_of_chapter_7():
    torch.manual_seed(0)
    norm = LayerNorm(5).double()
    x = torch.randn(2, 3, 5, dtype=torch.float64)
    small = small_norm("layer", norm.weight.detach() * 2, norm.bias.detach() + 1)
    assert torch.allclose(small(x), 2 * norm(x) + 1)
    root = small_norm("root", norm.weight.detach(), norm.bias.detach())
    assert torch.allclose(root(x), x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt())


def test_the_gated_loss_depends_on_every_gate_and_refuses_others():
    torch.manual_seed(0)
    loss_fn, parameters = gated_loss(
        torch.randn(2, 3, 4, 4), torch.randn(5, 4), torch.randn(5, 4), old_gradients=None
    )
    importance = head_importance(loss_fn, torch.zeros(2, 3))
    assert (importance > 1e-4).all() and all(each.grad is None for each in parameters)
    with pytest.raises(ValueError, match=r"gates of shape \(2, 3\)"):
        loss_fn(torch.ones(3, 2))


def test_what_no_result_depends_on_is_said_to_be_missing():
    @contextlib.contextmanager
    def without_gradients(attention, gates):
        with ablate_heads(attention, gates.detach()):
            yield

    seen = told(without_gradients, "ablate_heads", "gradients reach the gates")["noted"]
    missing = [name for name, each in seen.items() if isinstance(each, Opaque)]
    assert missing == ["the gradient with respect to gates"]


def test_what_a_functional_gradient_loads_takes_none_of_a_cases_time():
    ran = subprocess.run(
        [sys.executable, "-c", BY_FUNCTIONAL_GRADIENT], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.stdout == "True\n[]\n", ran.stderr
