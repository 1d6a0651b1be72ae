"""Probes of what makes a training fit: how much there is of a model, how it is run in 16 bits, and
how a batch goes through it in parts.
"""

import contextlib
import weakref

from autograder.shared.probes.calls import Unfit
from autograder.shared.probes.frozen import FrozenType
from autograder.shared.probes.stand_ins import with_stand_ins
from autograder.shared.probes.training import mode_of, python_number
from autograder.shared.wording import CHANGE

OTHER = {"bfloat16": "float16", "float16": "bfloat16"}  # of the two


def counted_up(implementation, inputs):
    """Note what a function counts in a module, and whether the module is as it was."""
    module, *others = with_stand_ins(inputs).values()
    before = told_of(module)
    result = python_number(implementation(module, *others))
    return {"result": result, "noted": {"the module is as it was": told_of(module) == before}}


def told_of(module):
    """Return what a count of a module may depend on."""
    tensors = [*module.named_parameters(remove_duplicate=False), *module.named_buffers()]
    return [
        (name, id(each), tuple(each.shape), str(each.dtype), each.requires_grad, each.grad is None)
        for name, each in tensors
    ]


def returned_by_autocast(implementation, inputs):
    """Note the loss that a function computes in 16 bits, and in which mode and in which dtypes it
    leaves the model.
    """
    given = with_stand_ins(inputs)
    model, src, tgt, *_ = given.values()
    src, tgt = src.clone(), tgt.clone()
    with autocast_put_back():
        result = implementation(*given.values())
    noted = mode_of(model, src, tgt)
    noted["the dtypes of the parameters afterwards"] = dtypes_of(model)
    return {"result": result, "noted": noted}


def trained_by_autocast(implementation, inputs):
    """Note the gradients that the loss leaves in the model's parameters; in bfloat16, because they
    passed through 16 bits and right answers may round them at other places.
    """
    import torch

    given = with_stand_ins(inputs)
    model = given["model"]
    with autocast_put_back():
        loss = implementation(*given.values())
    if not (isinstance(loss, torch.Tensor) and loss.requires_grad and loss.ndim == 0):
        raise Unfit("returns a loss on which nobody can call backward()")
    loss.backward()
    return {
        "noted": {
            f"the gradient of {name}": (
                torch.zeros_like(each) if each.grad is None else each.grad
            ).bfloat16()
            for name, each in model.named_parameters()
        }
    }


def precision_afterwards(implementation, inputs):
    """Note in which dtype matrices are multiplied after the call, once where autocast was off
    before, and once where it was on with the other 16-bit dtype; and what the call raised.
    """
    import torch

    def call():
        try:
            implementation(*with_stand_ins(inputs).values())
        except Exception as error:
            return type(error).__name__
        return "nothing"

    noted = {}
    other = OTHER[inputs.get("dtype", {}).get("name", "bfloat16")]
    with autocast_put_back():
        noted["what the call raised"] = call()
        noted["the dtype of a matrix product afterwards"] = product_dtype()
    with autocast_put_back(), torch.autocast("cpu", dtype=getattr(torch, other)):
        call()
        noted[f"the same, inside of the caller's own autocast to {other},"] = product_dtype()
    return {"noted": noted}


def product_dtype():
    """Return the name of the dtype in which two float32 matrices are multiplied now."""
    import torch

    return str((torch.ones(2, 2) @ torch.ones(2, 2)).dtype).removeprefix("torch.")


def dtypes_of(model):
    return sorted({str(each.dtype).removeprefix("torch.") for each in model.parameters()})


@contextlib.contextmanager
def autocast_put_back():
    """Begin without autocast, and leave it afterwards as it was, whatever has been done to it."""
    import torch

    def nesting():
        torch.autocast_increment_nesting()
        return torch.autocast_decrement_nesting()

    before = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), nesting()
    torch.set_autocast_enabled("cpu", False)
    try:
        yield
    finally:
        torch.set_autocast_enabled("cpu", before[0])
        torch.set_autocast_dtype("cpu", before[1])
        while nesting() > before[2]:
            torch.autocast_decrement_nesting()
        torch.clear_autocast_cache()


def accumulated(implementation, inputs):
    """Note what a function returns that trains on a batch in parts, and how it has changed the
    model; changes in float32, as those that `updated` notes.
    """
    model, optimizer, parts, *others = with_stand_ins(inputs).values()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    src, tgt = (each.clone() for each in parts[0])
    has_words = any((tgt[:, 1:] != 0).any() for _, tgt in parts)
    returned = python_number(implementation(model, optimizer, parts, *others))
    noted = {
        f"{CHANGE}{name}": (parameter.detach() - before[name]).float()
        for name, parameter in model.named_parameters()
    }
    if has_words:  # without one there is nothing to learn, in whatever mode
        noted |= mode_of(model, src.clamp(min=1), tgt)
    noted["the optimizer's learning rate afterwards"] = optimizer.param_groups[0]["lr"]
    noted |= {
        f"{name} of part {number} afterwards": each
        for number, part in enumerate(parts)
        for name, each in zip(("src", "tgt"), part, strict=True)
    }
    return {"result": returned, "noted": noted}


def accumulated_in_turn(implementation, inputs):
    """As `accumulated`, with a model that refuses to begin a part while another one still waits for
    its backward pass, to take more sentences at once than a part has, and to be run on a part
    without a word.
    """
    import torch

    watch = OneAtATime(max(len(src) for src, _ in inputs["parts"]))
    model = {**inputs["model"], "asked": watch.asked, "answered": watch.answered}
    with torch.autograd.graph.saved_tensors_hooks(watch.pack, watch.unpack):
        return accumulated(implementation, {**inputs, "model": model})


class Saved(metaclass=FrozenType):
    """What a forward pass keeps for its backward pass."""

    def __init__(self, tensor):
        self.tensor, self.used = tensor, False


class Passed(metaclass=FrozenType):
    """Notes whether a backward pass has come to a tensor; it lives as long as the tensor's graph.

    Saved tensors tell nothing within hooks of a learner's own, which are asked instead.
    """

    def __init__(self):
        self.used = False

    def __call__(self, gradient):
        self.used = True


class OneAtATime(metaclass=FrozenType):
    """Sees which parts wait for their backward pass: something is alive that their forward pass
    has saved or answered, and that no backward pass has asked for.

    Args:
        most_rows: sentences of the largest part.
    """

    def __init__(self, most_rows):
        self.most_rows, self.saved = most_rows, weakref.WeakSet()

    def pack(self, tensor):
        saved = Saved(tensor)
        self.saved.add(saved)
        return saved

    def unpack(self, saved):
        saved.used = True
        return saved.tensor

    def answered(self, tensor):
        """Wait for the backward pass of an answer."""
        if tensor.requires_grad:
            passed = Passed()
            self.saved.add(passed)
            tensor.register_hook(passed)

    def asked(self, method, token_ids):
        """Refuse to answer where it is too early or too much."""
        if len(token_ids) > self.most_rows:
            raise Unfit(
                f"runs the model on {len(token_ids)} sentences at once, and the largest part has"
                f" {self.most_rows}: where memory is short, they do not fit"
            )
        if method == "encode" and any(not each.used for each in self.saved):
            raise Unfit(
                "begins the forward pass of a part while an earlier part still waits for its"
                " backward pass, so that both fill the memory"
            )
        if method == "decode" and token_ids.shape[1] > 1 and not (token_ids[:, 1:] != 0).any():
            raise Unfit("runs the model on a part in which no target is a word")
