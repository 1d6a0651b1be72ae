"""The probes note what they say, of functions on tensors and of modules; and the judge puts it into
words.
"""

import functools
import inspect
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack

from autograder.authoring import draw
from autograder.authoring.drawn import drawn, integer
from autograder.authoring.exercise import Case, Exercise
from autograder.authoring.loading import load_exercises
from autograder.grading.grade import library_code
from autograder.shared import probes
from autograder.shared.judge import judge
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    extremes,
    gradients,
    moved,
    observe,
    returned_for_views,
)
from autograder.shared.probes.library_code import PROCESS, THREAD, LibraryCode
from autograder.shared.wire import Opaque, Tensor, copied, decode, encode, plain
from solutions.ch06_masking import causal_mask, decoder_mask, masked_attention, padding_mask
from solutions.ch07_layers import LayerNorm
from solutions.ch12_interpretation import logit_lens
from tests.conftest import judged


class Scale(nn.Module):
    """The exercise of this test: x times a learned weight, a part of it dropped in train mode."""

    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x * self.weight)


@drawn
def scale_case(rng, dropout=0.0, dtype=torch.float64, **parts):
    x = draw.normal(rng, 2, 3, 4, dtype=dtype)
    return draw.module_case(rng, Scale, (4, dropout), {"x": x}, dtype, **parts)


SCALE = Exercise(
    reference=Scale,
    cases=(
        Case("scales", scale_case()),
        Case("bfloat16", scale_case(dtype=torch.bfloat16)),
        Case("gradients", scale_case(), probe=gradients),
        Case("x stays", scale_case(), probe=arguments_after),
        Case("views", scale_case(), probe=returned_for_views),
        Case(
            "only the changed position moves",
            draw.changing(scale_case(), "x", 1, lambda rng, x: x + 1),
            probe=moved,
        ),
        Case("dropout in train mode", scale_case(dropout=0.25, train=True), probe=extremes),
        Case(
            "a new one",
            lambda rng: {"constructor": {"d_model": 3}, "shown": ["weight"]},
            probe=at_the_start,
        ),
    ),
    misconceptions=(),
)


def messages(implementation):
    return {
        v.title: v.message for v in judged(SCALE.prepare(b"any"), implementation) if not v.passed
    }


def scale_with(forward=Scale.forward, **members):
    return type("Scale", (Scale,), {"forward": forward, **members})


def test_the_module_itself_passes_every_case():
    assert messages(Scale) == {}


class WithBuffer(nn.Module):
    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.register_buffer("weight", torch.ones(d_model))

    def forward(self, x):
        return x * self.weight


class OfAnotherShape(nn.Module):
    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model, 1))


def change_in_place(self, x):
    x *= 2
    return x / 2 * self.weight


def sums_over_positions(self, x):
    return x.sum(1, keepdim=True) * self.weight + 0 * x


@pytest.mark.parametrize(
    ("implementation", "title", "sentence"),
    [
        (lambda d_model, dropout=0.0: 3, "scales", "Scale makes the int 3, not an nn.Module."),
        (lambda width: 3, "scales", "Scale takes (width), and is called with (d_model, dropout)"),
        (WithBuffer, "scales", "Scale has no parameter weight; it has none."),
        (OfAnotherShape, "scales", "Scale has weight of shape (4, 1), but it should have (4,)."),
        (scale_with(lambda self: 0), "scales", "Scale has a method forward that takes (), and is called with (x)"),
        (scale_with(lambda self, x: x.numpy()), "scales", "the result is a float64 array of shape (2, 3, 4), but should be a torch tensor"),
        (scale_with(lambda self, x: (x * self.weight).float()), "dtype, shape and precision are as they should be", "the result has dtype float32, but should have float64."),
        (scale_with(lambda self, x: (x * self.weight).float()), "bfloat16", "has dtype float32, but should have bfloat16."),
        (scale_with(lambda self, x: (x * self.weight).flatten(1)), "scales", "has shape (2, 12), but should have (2, 3, 4)."),
        (scale_with(lambda self, x: x + self.weight), "scales", "result[0, 0, 0] is"),
        (scale_with(lambda self, x: x * self.weight * torch.nan), "scales", "the result is nan in 24 of 24 places."),
        (scale_with(lambda self, x: (x * self.weight).detach()), "gradients", "the gradient with respect to x is missing"),
        (scale_with(lambda self, x: x * self.weight.detach()), "gradients", "the gradient of weight is missing"),
        (scale_with(lambda self, x: x.detach() * 0 + x.detach() * self.weight), "gradients", "with respect to x is missing"),
        (scale_with(change_in_place), "x stays", "it changed x"),
        (scale_with(lambda self, x: x.view(-1).view(x.shape) * self.weight), "views", "it raised a RuntimeError"),
        (scale_with(sums_over_positions), "only the changed position moves", "where the result moves when x changes"),
        (scale_with(lambda self, x: None), "only the changed position moves", "Scale returns None, not a torch tensor with a batch axis."),
        (scale_with(lambda self, x: x[:1] * self.weight), "dropout in train mode", "Scale returns a torch tensor of float64 and shape (1, 3, 4) for a batch of 2."),
        (scale_with(lambda self, x: (x[:, None] + x) * self.weight), "dropout in train mode", "shape (4, 4, 3, 4) for a batch of 4."),
        (scale_with(lambda self, x: x * self.weight), "dropout in train mode", "smallest of 400 results[0, 0, 0] is"),
    ],
)  # fmt: skip
def test_each_way_to_be_wrong_has_a_sentence(implementation, title, sentence):
    assert sentence in messages(implementation).get(title, "nothing")


def test_a_call_of_a_module_reads_as_one_would_write_it():
    told = messages(scale_with(lambda self, x: x + 1))
    assert told["scales"].startswith(
        "Scale(d_model=4, dropout=0.0)(float64 x of shape (2, 3, 4)): "
    )
    assert told["dropout in train mode"].startswith(
        "Scale(d_model=4, dropout=0.25).train()(float64 x of shape"
    )


def test_a_stub_inside_another_class_is_named():
    source = """
class Inner(nn.Module):
    def forward(self, x):
        raise NotImplementedError

class Scale(nn.Module):
    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)
"""
    namespace = {"nn": nn, "torch": torch}
    exec(compile(source, "/tmp/ipykernel_1/2.py", "exec"), namespace)
    told = messages(namespace["Scale"])["scales"]
    assert "calls Inner, whose method forward is still the stub" in told


def test_the_method_that_is_still_a_stub_is_named():
    source = """
class Scale(nn.Module):
    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        raise NotImplementedError
"""
    namespace = {"nn": nn, "torch": torch}
    exec(compile(source, "/tmp/ipykernel_1/3.py", "exec"), namespace)
    told = messages(namespace["Scale"])["scales"]
    assert told.startswith("Scale has a method forward that is still the stub; replace")


def test_an_exception_is_noted_whatever_it_holds():
    class Odd(AttributeError):
        name = property(lambda self: 1 / 0)

    class Unseen:
        def __dir__(self):
            raise ValueError

    def raising(error):
        def softmax(scores):
            if error is None:
                return Unseen().shape
            raise error

        return observe("returned", softmax, {"scores": 1})["raised"]

    assert raising(Odd("strange"))["message"] == "strange"
    assert raising(ValueError(np.ones(2)))["message"] == "[1. 1.]"
    assert "meant" not in raising(None)


def test_a_name_that_is_an_attribute_is_told():
    class Forgetful(Scale):
        def forward(self, x):
            return x * weight  # noqa: F821

    assert "did you mean `self.weight`?" in messages(Forgetful)["scales"]


def test_tensors_cross_with_their_dtype():
    for dtype in (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.bool,
    ):
        tensor = torch.tensor([[0.1, -2.5, float("inf")]]).to(dtype)
        told = decode(encode(plain({"x": tensor})))["x"]
        assert isinstance(told, Tensor)
        assert f"torch.{told.dtype}" == str(dtype)
        assert np.array_equal(
            told.values,
            tensor.to(torch.float64 if dtype == torch.float64 else torch.float32).numpy(),
        )


def test_gradients_reach_every_floating_argument():
    rng = np.random.default_rng(0)
    inputs = {
        name: plain(draw.normal(rng, 3, 4, dtype=torch.float64))
        for name in ("query", "key", "value")
    }
    inputs["mask"] = plain(draw.mask(rng, 3, 3))
    noted = observe("gradients", masked_attention, inputs)["noted"]
    assert list(noted) == [
        f"the gradient with respect to {name}" for name in ("query", "key", "value")
    ]
    assert all(
        np.isfinite(gradient.values).all() and gradient.values.any() for gradient in noted.values()
    )


def reading_numbers(token_ids):
    return torch.tensor(
        [[word != 0 for word in row] for row in token_ids.tolist()], device=token_ids.device
    )


def forgetting_the_device(token_ids):
    return torch.tensor([[word != 0 for word in row] for row in token_ids.tolist()])


def told_of_devices(implementation, inputs):
    told = observe("device_kept", implementation, inputs)
    return list(told["noted"].values()) if "noted" in told else told["raised"]["type"]


def is_lost(told, device):
    """Return whether this device was told, and a result without any of its numbers."""
    return told[0] == device and not told[1].values.any()


@pytest.mark.parametrize("kept", [decoder_mask, padding_mask, reading_numbers])
def test_a_result_on_the_device_of_its_arguments_is_told_from_another(kept):
    token_ids = torch.tensor([[4, 5, 0]])
    inputs = {"token_ids": plain(token_ids)}
    device, result = told_of_devices(kept, inputs)
    assert device == "meta"
    assert (result.values.squeeze() == kept(token_ids).numpy().squeeze()).all()
    mixing = told_of_devices(lambda token_ids: padding_mask(token_ids) & causal_mask(3), inputs)
    assert mixing == "RuntimeError"
    fixed = told_of_devices(
        lambda token_ids: padding_mask(token_ids) & causal_mask(3, "cpu"), inputs
    )
    assert fixed == "RuntimeError"
    assert is_lost(told_of_devices(forgetting_the_device, inputs), "cpu")


@pytest.mark.parametrize(
    "moved",
    [
        lambda made, device, like: made.to(device),
        lambda made, device, like: made.to(device=device),
        lambda made, device, like: made.to(device, torch.bool),
        lambda made, device, like: made.to(like).bool(),
        lambda made, device, like: made.type_as(like).bool(),
    ],
)
def test_what_is_made_somewhere_and_then_moved_keeps_its_numbers(moved):
    def by_columns(token_ids):
        made = torch.ones(token_ids.shape[1], token_ids.shape[1]).tril()
        made[0, 0] = 0
        made.diagonal().mul_(torch.tensor(2.0))
        rows = made.int().unbind()
        return moved(torch.stack(rows), token_ids.device, token_ids) & (token_ids > 4)

    token_ids = torch.tensor([[5, 5, 0]])
    device, result = told_of_devices(by_columns, {"token_ids": plain(token_ids)})
    assert device == "meta"
    assert result.values.tolist() == by_columns(token_ids).tolist()
    assert result.values.any()


def test_what_is_moved_to_where_it_is_has_no_numbers():
    def in_another_dtype(token_ids):
        return torch.ones(3, 3).to(torch.int64).to(torch.ones(3))

    told = told_of_devices(in_another_dtype, {"token_ids": plain(torch.tensor([[5, 5, 0]]))})
    assert is_lost(told, "cpu")


def test_a_device_that_is_asked_for_is_told_from_another():
    inputs = {"seq_len": 3, "device": "meta"}
    device, result = told_of_devices(causal_mask, inputs)
    assert device == "meta"
    assert (result.values == causal_mask(3).numpy()).all()
    device, _ = told_of_devices(lambda seq_len, device: causal_mask(seq_len, "cpu"), inputs)
    assert device == "cpu"
    assert is_lost(told_of_devices(lambda seq_len, device: causal_mask(seq_len), inputs), "cpu")


def test_a_label_that_is_made_up_gives_no_numbers():
    def labelled(seq_len, device):
        mask = causal_mask(seq_len)
        for mode in _get_current_function_mode_stack():
            vars(mode).get("known", {})[id(mask)] = (mask, "meta")
        return mask

    assert is_lost(told_of_devices(labelled, {"seq_len": 3, "device": "meta"}), "meta")


def test_a_single_number_goes_with_any_device():
    def filled(logits):
        return torch.where(logits > 0, logits, torch.tensor(0.5))

    device, result = told_of_devices(filled, {"logits": plain(torch.tensor([-1.0, 2.0]))})
    assert device == "meta"
    assert result.values.tolist() == [0.5, 2.0]


def test_nobodys_own_word_counts_on_what_has_become_of_arguments():
    prepared = SCALE.prepare(b"any")
    index = [case.title for case in prepared.cases].index("x stays")
    case = prepared.cases[index]
    right = [observe(case.probe, Scale, copied(case.inputs)) for case in prepared.cases]
    x = case.inputs["forward"]["x"]
    for seen, passed in [
        ({"changed": []}, False),
        ({"after": {}}, False),
        ({"after": {"x": Tensor(x.values + 1e-9, x.dtype)}}, False),
        ({"after": {"x": Tensor(x.values, "float32")}}, False),
        ({"after": {"x": x}}, True),
    ]:
        assert judge(prepared, [*right[:index], seen, *right[index + 1 :]])[index].passed is passed


def test_a_function_that_wipes_out_its_callers_tables_hides_nothing():
    def hiding(scores):
        scores += 1
        frame = inspect.currentframe().f_back
        for value in frame.f_locals.values():
            if isinstance(value, dict):
                value.clear()

    told = observe("arguments_after", hiding, {"scores": np.zeros(2)})
    assert told["after"]["scores"].tolist() == [1, 1]


def test_the_table_of_probes_is_nobodys_to_write_into():
    with pytest.raises(TypeError):
        probes.PROBES["arguments_after"] = probes.returned
    with pytest.MonkeyPatch.context() as patch:
        with pytest.raises(AttributeError, match="part of the checks"):
            patch.setattr(probes, "PROBES", {"returned": lambda *_: {"result": 7}})
        patch.setitem(vars(probes), "PROBES", {"returned": lambda *_: {"result": 7}})
        assert observe("returned", lambda x: x, {"x": 1}) == {"result": 1}


def small_model(dtype=torch.float64, **parts):
    rng = np.random.default_rng(0)
    shapes = {"src_embedding": (6, 2), "tgt_embedding": (5, 2), "generator": (5, 2)}
    weights = {
        f"{name}.weight": draw.normal(rng, *shape, dtype=dtype) for name, shape in shapes.items()
    }
    weights["generator.bias"] = draw.normal(rng, 5, dtype=dtype)
    return {"stand_in": "translator", "weights": weights, **parts}


def decoding_case(**parts):
    return plain({"model": small_model(**parts), "src": torch.tensor([[4, 3], [2, 4]])})


AFTERWARDS = "what the model answers afterwards, in its mode"


def test_a_model_in_train_mode_answers_otherwise():
    def careless(model, src):
        return model(src, torch.tensor([[1, 4], [1, 3]])).argmax(-1)

    told = observe("decoded", careless, decoding_case(dropout=1.0, train=False))
    bias = small_model()["weights"]["generator.bias"].float().numpy()
    asleep = observe("decoded", careless, decoding_case(dropout=1.0, train=True))
    assert (asleep["result"].values == bias.argmax()).all()
    assert (told["result"].values != bias.argmax()).any()
    assert [each["noted"][AFTERWARDS].values.shape for each in (told, asleep)] == [(2, 2, 5)] * 2
    assert (asleep["noted"][AFTERWARDS].values == bias).all()
    assert (told["noted"][AFTERWARDS].values != bias).all()


def test_the_mode_of_a_model_shows_in_what_it_answers():
    def left_in_eval_mode(model, src):
        model.eval()
        model.training = True
        type(model).modules = lambda self: [self]

    told = observe("decoded", left_in_eval_mode, decoding_case())["noted"]
    kept = observe("decoded", lambda model, src: None, decoding_case())["noted"]
    assert told["the model's `training` afterwards"] is True
    assert (told[AFTERWARDS].values != kept[AFTERWARDS].values).all()


def test_a_model_that_is_broken_afterwards_is_no_error_of_ours():
    def breaking(model, src):
        del model.dropout
        return src

    noted = observe("decoded", breaking, decoding_case())["noted"]
    assert noted[AFTERWARDS] == Opaque("missing, because the model can no longer be called")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_model_that_refuses_gradients_answers_without(mode):
    def decode(model, src):
        with mode():
            return model(src, src)

    assert "result" in observe("decoded_without_gradients", decode, decoding_case())


@torch.enable_grad()  # which is as it was, afterwards
def test_gradients_are_refused_whatever_says_that_there_are_none(monkeypatch):
    monkeypatch.setattr(torch, "is_grad_enabled", lambda: False)
    told = observe("decoded_without_gradients", lambda model, src: model(src, src), decoding_case())
    assert told["unfit"].startswith("calls the model with gradients on")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda model, src: model(src, src[:1]), "one row for each sentence, and gets tgt with 1"),
        (lambda model, src: model(src, [[1]]), "decode takes tgt, a (batch, length) tensor of"),
        (lambda model, src: model.encode(src[0]), "is called with a torch tensor of int64 and"),
    ],
)
def test_a_model_says_how_it_wants_to_be_asked(ask, sentence):
    assert sentence in observe("decoded", ask, decoding_case())["raised"]["message"]


@pytest.mark.parametrize(
    "draw",
    [lambda: torch.rand(3), lambda: np.random.rand(3)],  # noqa: NPY002
    ids=["torch", "numpy"],
)
def test_what_draws_random_numbers_of_its_own_is_told_so(draw):
    def answer(x):
        draw()
        return x

    seen = observe("returned_without_chance", answer, {"x": Tensor(np.zeros(3), "float64")})
    assert "drew random numbers of its own" in seen["unfit"]
    kept = observe("returned_without_chance", lambda x: x, {"x": Tensor(np.zeros(3), "float64")})
    assert "result" in kept


def test_draws_are_what_they_say():
    rng = np.random.default_rng(0)
    assert draw.padded(rng, [3, 1], 4).ne(0).sum(1).tolist() == [3, 1]
    assert draw.mask(rng, 50, 7, share=0.0).sum(-1).eq(1).all()
    case = draw.module_case(rng, Scale, (integer(3, 4),), {"x": draw.normal(1, 3)})
    assert case["constructor"] == {"d_model": 3}
    assert case["forward"]["x"].shape == (1, 3)
    assert [weight.shape for weight in draw.weights_named(case, "bias", "wei")] == [(3,)]
    assert draw.weights_named(case, "bias") == []


def test_a_reference_whose_modules_are_kept_answers_as_a_new_one_does():
    exercise = load_exercises("ch08_encoder_decoder")["Transformer"]
    seeds = [bytes([number]) * 32 for number in range(3)]
    for seed in (*seeds, *seeds[::-1]):  # in an order in which every module is used again
        kept = exercise.prepare(seed)
        new = replace(exercise).prepare(seed)  # has made no module yet
        assert encode([case.expected for case in kept.cases]) == encode(
            [case.expected for case in new.cases]
        )


def searching_case(table, **arguments):
    return plain(
        {"step_log_probs": {"stand_in": "table", "table": torch.tensor(table)}, **arguments}
    )


def test_a_table_is_read_by_prefix():
    # After an even number, and after an odd one.
    log_probs = [[[0.0, -9.0, -5.0, -1.0], [-3.0, -9.0, -1.0, -2.0]]]

    def follow_the_likeliest(step_log_probs, bos_id):
        ids = [bos_id]
        while len(ids) < 5 and ids[-1] != 2:
            ids.append(int(step_log_probs(torch.tensor([ids]))[0].argmax()))
        return np.array(ids[1:]).tolist()

    assert observe("searched", follow_the_likeliest, searching_case(log_probs, bos_id=1)) == {
        "result": [2]
    }
    assert observe("searched", follow_the_likeliest, searching_case(log_probs, bos_id=0)) == {
        "result": [0, 0, 0, 0]
    }
    told = observe(
        "searched_among_equals", follow_the_likeliest, searching_case(log_probs, bos_id=0)
    )["noted"]
    assert list(told.values()) == [4, 0.0, -5.0]
    told = observe("searched_among_equals", lambda *_: torch.tensor([1]), searching_case(log_probs))
    assert told == {"unfit": "returns a torch tensor of int64 and shape (1,), not a list of ids"}


@pytest.mark.parametrize(
    ("prefixes", "sentence"),
    [
        ([[1, 3]], "takes prefixes, a (beam, len) tensor of int64, and is called with a list of 1"),
        (torch.tensor([1, 3]), "is called with a torch tensor of int64 and shape (2,)"),
        (torch.tensor([[1.0]]), "is called with a torch tensor of float32 and shape (1, 1)"),
        (torch.tensor([[1, 3], [3, 3]]), "takes prefixes that begin with bos_id, here 1"),
    ],
)
def test_a_table_says_how_it_wants_to_be_asked(prefixes, sentence):
    told = observe(
        "searched", lambda step_log_probs: step_log_probs(prefixes), searching_case([[[0.0, 0.0]]])
    )
    assert sentence in told["raised"]["message"]


def training_case(dtype=torch.float64, **parts):
    return plain(
        {
            "model": small_model(dtype, **parts),
            "optimizer": {"stand_in": "optimizer", "name": "SGD", "lr": 0.5},
            "src": torch.tensor([[4, 5]]),
            "tgt": torch.tensor([[1, 4]]),
        }
    )


def test_an_update_is_noted_as_what_it_changes():
    def raise_the_bias(model, optimizer, src, tgt):
        model.train()
        assert model(src, tgt).shape == (1, 2, 5)
        optimizer.zero_grad()
        model.generator.bias.sum().backward()
        optimizer.step()
        return np.float64(3)

    told = observe("updated", raise_the_bias, training_case(train=False, old_gradients=True))
    assert told["result"] == 3
    noted = told["noted"]
    assert noted["the change of generator.bias"].values.tolist() == [-0.5] * 5
    assert not noted["the change of src_embedding.weight"].values.any()
    assert noted["the optimizer's learning rate afterwards"] == 0.5
    assert [noted[f"{name} afterwards"].values.tolist() for name in ("src", "tgt")] == [
        [[4, 5]],
        [[1, 4]],
    ]
    assert noted["the model's `training` afterwards"] is True
    bias = small_model()["weights"]["generator.bias"].float().numpy()
    assert np.allclose(noted[AFTERWARDS].values, bias - 0.5)  # dropout leaves nothing else
    assert "result" not in observe("updated", raise_the_bias, training_case(torch.float32))


def test_the_weights_and_the_loss_can_be_asked_for_apart():
    def rest_in_eval_mode(model, optimizer, src, tgt):
        optimizer.step()
        model.eval()
        return 3.0

    case = training_case(old_gradients=True)
    told, weights, loss = (
        observe(probe, rest_in_eval_mode, case)
        for probe in ("updated", "weights_moved", "loss_returned")
    )
    assert loss == {"result": 3.0}
    left_out = set(told["noted"]) - set(weights["noted"])
    assert left_out == {"the model's `training` afterwards", AFTERWARDS}
    assert list(weights) == ["noted"] and "src afterwards" in weights["noted"]


def test_an_update_tells_what_it_should_have_left():
    def careless(model, optimizer, src, tgt):
        model.train()
        model.dropout.eval()
        optimizer.param_groups[0]["lr"] = 0.1
        src += 1
        optimizer.step()
        return 1.0

    noted = observe("updated", careless, training_case(old_gradients=True))["noted"]
    assert noted["the optimizer's learning rate afterwards"] == 0.1
    assert noted["src afterwards"].values.tolist() == [[5, 6]]
    assert noted["the change of generator.bias"].values.all()
    assert len(np.unique(noted[AFTERWARDS].values[0], axis=0)) == 2  # dropout is off


NORM_INSIDE = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.norm = attrgetter("Layer" + "Norm")(nn)(d_model, eps)
        self.weight, self.bias = self.norm.weight, self.norm.bias

    def forward(self, x):
        return self.norm(x)
"""
NORM_OF_ONES_OWN = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) / (variance + 1e-5).sqrt() * self.weight + self.bias
"""


def told(library):
    """Return what a LibraryCode has noted, but for the threads and processes of pytest."""
    return [name for name in library.names if name not in (THREAD, PROCESS)]


@pytest.mark.parametrize(
    ("source", "runs_it"),
    [
        ('class LayerNorm(vars(nn)["Layer" + "Norm"]):\n    pass', True),
        ('LayerNorm = vars(nn)["Layer" + "Norm"]', True),
        (NORM_INSIDE, True),
        (NORM_OF_ONES_OWN, False),
        ("from solutions.ch07_layers import LayerNorm", False),
    ],
)
@pytest.mark.parametrize("path", ["/tmp/ipykernel_1/2.py", "<timed exec>", "<string>"])
def test_what_a_library_does_is_seen_in_the_code_that_runs(source, runs_it, path):
    namespace = {"nn": nn, "torch": torch, "attrgetter": attrgetter, "__name__": "__main__"}
    exec(compile(source, path, "exec"), namespace)
    exercise = load_exercises("ch07_layers")["LayerNorm"].prepare(b"any", visible=True)
    case = exercise.cases[0]
    with LibraryCode(exercise.shortcuts) as library:
        observe(case.probe, namespace["LayerNorm"], decode(case.question))
    names = library_code([{"used": told(library)}, {}], exercise.shortcuts)
    assert ("torch.nn.functional.layer_norm" in names) is runs_it
    assert bool(names) is runs_it


@pytest.mark.parametrize(
    "called",
    [
        "next(map(f, [x], [-1]))",
        "functools.partial(f, x)(-1)",
        "functools.partial(torch.Tensor.softmax, x)(-1)",
        "x.softmax.__call__(-1)",
        "max([x], key=functools.partial(f, dim=-1))",
        "next(map(torch.nn.functional.softmax, [x], [-1]))",
        "[getattr('', name, str)() for name in dir('') if 'is' in name] and f(x, -1)",
        "[f(x, -1) for _ in map(str, range(2))]",
    ],
)
def test_a_library_s_function_is_seen_whoever_calls_it(called):
    source = f"def softmax(x):\n    f = torch.softmax\n    return {called}"
    namespace = {"torch": torch, "functools": functools, "__name__": "__main__"}
    exec(compile(source, "/tmp/ipykernel_1/2.py", "exec"), namespace)
    with LibraryCode(("softmax",)) as library:
        namespace["softmax"](torch.ones(2, 2))
    assert library_code([{"used": told(library)}], ("softmax",))


def test_what_the_course_s_own_solution_calls_is_not_the_learner_s():
    source = "def mine(*given):\n    return next(map(norm, given))"
    namespace, x = {"norm": LayerNorm(3), "__name__": "__main__"}, torch.ones(2, 3)
    exec(compile(source, "/tmp/ipykernel_1/2.py", "exec"), namespace)
    with LibraryCode(("mean", "var_mean", "sqrt", "var", "rsqrt")) as library:
        namespace["mine"](x)
    assert not told(library)


@pytest.mark.parametrize("function", ["torch.softmax", "torch.nn.functional.softmax"])
def test_what_the_course_s_own_solution_is_given_to_call_is_the_learner_s(function):
    source = f"def mine(x):\n    return logit_lens(x, None, functools.partial({function}, dim=-1))"
    namespace = {"torch": torch, "functools": functools, "logit_lens": logit_lens}
    exec(compile(source, "/tmp/ipykernel_1/2.py", "exec"), namespace)
    with LibraryCode(("softmax",)) as library:
        namespace["mine"](torch.ones(2, 2))
    assert told(library)


def test_a_question_is_asked_with_the_usual_settings_of_torch():
    def mine(x):
        seen.append((torch.ones(1).dtype, torch.get_num_threads()))
        return x

    seen, dtype, threads = [], torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    try:
        observe("returned", mine, {"x": torch.ones(1)})
        assert (torch.get_default_dtype(), torch.get_num_threads()) == (torch.float64, 2)
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
    assert seen == [(torch.float32, 1)]


def test_code_that_takes_the_profiler_away_is_told_of():
    source = "import sys\ndef mine(x):\n    sys.setprofile(None)\n"
    namespace = {"__name__": "__main__"}
    exec(compile(source, "/tmp/ipykernel_1/2.py", "exec"), namespace)
    with LibraryCode(("softmax",)) as library:
        namespace["mine"](torch.ones(2, 2))
    assert library_code([{"used": told(library)}], ("softmax",)) == ["a profiler of its own"]


def test_what_is_told_of_library_code_may_come_from_anybody():
    told = [{"used": 3}, {"used": [3, None, "a.softmax\x1b" + "x" * 999, "softmaxed"]}, {}]
    assert library_code(told, ("softmax",)) == []
    assert library_code([{"used": ["torch.softmax"] * 9}], ("softmax",)) == ["torch.softmax"]
    others = [
        "transformers.models.qwen2.Qwen2RMSNorm.forward",
        "torch._VF._fused_rms_norm",
        "math.sqrt",
    ]
    assert set(library_code([{"used": others}], ("rms_norm",))) == set(others[:2])
