"""Probes of what trains, searches or decodes: how it treats the model that it is given."""

import numpy as np

from autograder.shared.probes.calls import Unfit
from autograder.shared.probes.stand_ins import with_stand_ins
from autograder.shared.wire import Opaque
from autograder.shared.wording import CHANGE, describe


def returned_number(implementation, inputs):
    """Note the number that the function returns."""
    return {"result": python_number(implementation(*with_stand_ins(inputs).values()))}


def calls_counted(implementation, inputs):
    """Note how often a function calls the one that it is given as its first argument."""
    calls = []
    name, described = next(iter(inputs.items()))
    asked = {**described, "asked": calls.append}
    implementation(*with_stand_ins({**inputs, name: asked}).values())
    return {"noted": {f"the number of calls of {name}": len(calls)}}


def updated(implementation, inputs):
    """Note what a training function returns, how it has moved the weights of the model that it was
    given, and in which mode it leaves it.
    """
    result, noted, _ = trained(implementation, inputs)
    return {**result, "noted": noted}


def weights_moved(implementation, inputs):
    """Note of a training function only how it has moved the weights."""
    _, noted, mode = trained(implementation, inputs)
    return {"noted": {name: each for name, each in noted.items() if name not in mode}}


def loss_returned(implementation, inputs):
    """Note of a training function only what it returns."""
    result, _, _ = trained(implementation, inputs)
    return result


def trained(implementation, inputs):
    """Call a training function; return what it returns, all that it has changed, and of that what
    tells the model's mode.

    Changes are noted in float32: right answers clip by factors that differ by a millionth. What it
    returns is a result in float64 alone, for a Python number does not say how many of its digits
    count.
    """
    model, optimizer, *others = with_stand_ins(inputs).values()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    src, tgt = (each.clone() for each in others[:2])
    returned = python_number(implementation(model, optimizer, *others))
    noted = {
        f"{CHANGE}{name}": (parameter.detach() - before[name]).float()
        for name, parameter in model.named_parameters()
    }
    mode = mode_of(model, src, tgt)
    noted |= mode
    noted["the optimizer's learning rate afterwards"] = optimizer.param_groups[0]["lr"]
    noted |= {"src afterwards": others[0], "tgt afterwards": others[1]}
    result = {"result": returned} if str(model.generator.weight.dtype) == "torch.float64" else {}
    return result, noted, mode


def searched(implementation, inputs):
    """Note what a search returns that asks a table for log-probabilities."""
    result = implementation(*with_stand_ins(inputs).values())
    return {
        "result": [python_number(each) for each in result] if isinstance(result, list) else result
    }


def searched_among_equals(implementation, inputs):
    """Note how long and how likely the result of a search is, where several are equally right."""
    result = searched(implementation, inputs)["result"]
    step_log_probs, *_ = with_stand_ins(inputs).values()
    vocab_size = inputs["step_log_probs"]["table"].shape[-1]
    if not isinstance(result, list) or not all(
        type(each) is int and 0 <= each < vocab_size for each in result
    ):
        raise Unfit(f"returns {describe(result)}, not a list of ids")
    ids = [inputs.get("bos_id", 1), *result, inputs.get("eos_id", 2)]
    steps = [
        float(log_prob_after(step_log_probs, ids[:length])[ids[length]])
        for length in range(1, len(ids))
    ]
    return {
        "noted": {
            "the number of words in the result": len(result),
            "their log-probability": sum(steps[:-1]) + 0.0,
            "the log-probability of the end after them": steps[-1],
        }
    }


def log_prob_after(step_log_probs, prefix):
    import torch

    return step_log_probs(torch.tensor([prefix]))[0]


def decoded(implementation, inputs):
    """Note what a decoding function makes of a model, and the mode in which it leaves it."""
    import torch

    model, src, *others = with_stand_ins(inputs).values()
    as_given = src.clone()
    with torch.enable_grad():
        result = implementation(model, src, *others)
    return {"result": result, "noted": mode_of(model, as_given, as_given)}


def decoded_without_gradients(implementation, inputs):
    """Note what a decoding function makes of a model that refuses to remember its steps for a
    backward pass.
    """
    import torch

    def refuse(*_):
        raise Unfit(
            "calls the model with gradients on, so that all of its steps are remembered for a"
            " backward pass that never comes"
        )

    def answered(tensor):
        if tensor.requires_grad:  # hooks of a learner's own would be asked instead of these
            refuse()

    model = {**inputs["model"], "answered": answered}
    arguments = with_stand_ins({**inputs, "model": model}).values()
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(refuse, refuse):
        return {"result": implementation(*arguments)}


def mode_of(model, src, tgt):
    """Note a model's mode, and what it answers once its dropout is as strong as can be: in train
    mode nothing that it reads has a part in that.
    """
    import torch

    try:
        model.dropout.p = 1.0
        with torch.no_grad():
            scores = model(src, tgt).float()
    except Exception:  # whatever has been done to it
        scores = Opaque("missing, because the model can no longer be called")
    return {
        "the model's `training` afterwards": model.training,
        "what the model answers afterwards, in its mode": scores,
    }


def python_number(value):
    """Return one of NumPy's numbers as Python's; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
