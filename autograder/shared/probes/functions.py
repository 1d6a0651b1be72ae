"""Probes of a function or a module: what a call returns, and what it leaves as it was."""

import inspect

from autograder.shared.probes.calls import Unfit, module_of, prepared_call
from autograder.shared.probes.stand_ins import fixed_weights, with_stand_ins
from autograder.shared.wire import Opaque, is_tensor
from autograder.shared.wording import describe

# In so many rounds, each of a few things that are dropped at random is dropped at least once, and
# kept at least once.
ROUNDS = 400
MOVED = 1e-6  # less than this is rounding


def returned(implementation, inputs):
    """Note what the function returns."""
    function, arguments = prepared_call(implementation, inputs)
    return {"result": function(*arguments.values())}


def returned_without_chance(implementation, inputs):
    """Note what the function returns, unless it draws random numbers of its own.

    Raises:
        Unfit: if it does.
    """
    before = states_of_chance()
    seen = returned(implementation, inputs)
    if states_of_chance() != before:
        raise Unfit("drew random numbers of its own, so its answer is another one each time")
    return seen


def states_of_chance():
    """Return where the generators are that a function draws from unless it has one of its own."""
    import random

    import numpy as np
    import torch

    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return random.getstate(), name, keys.tobytes(), rest, torch.get_rng_state().tolist()


def arguments_after(implementation, inputs):
    """Note what the arguments hold after the call, for the judge to compare with what they held
    when they were sent.
    """
    function, arguments = prepared_call(implementation, inputs)
    # No list or dictionary that the function finds in this frame has a part in what is noted.
    names, values = tuple(arguments), tuple(arguments.values())
    function(*with_stand_ins(arguments).values())  # arrays are the same; a description is not asked
    return {"after": dict(zip(names, values, strict=True))}


def returned_for_generator(implementation, inputs):
    """Note what the function returns when its first argument is a generator, which can be read only
    once.
    """
    name, first = next(iter(inputs.items()))
    return returned(implementation, {**inputs, name: (item for item in first)})


def left_out(implementation, inputs):
    """Note what the signature has for the arguments that a call leaves out. The inputs' part
    `left_out` has their names and usual values; the usual one is noted where a signature does not
    tell, as with `*arguments` or None. Nothing is called: a model of the usual size takes seconds
    to make.
    """
    parameters = list(inspect.signature(implementation).parameters.values())
    noted = dict(inputs["left_out"])
    if not any(each.kind is each.VAR_POSITIONAL for each in parameters):
        for name, each in zip(noted, parameters[len(inputs["forward"]) :], strict=False):
            if each.default is each.empty:
                noted[name] = Opaque("missing")
            elif each.default is not None:
                noted[name] = each.default
    return {"noted": {f"{name}, where it is left out,": each for name, each in noted.items()}}


def returned_for_views(implementation, inputs):
    """Note what the function returns for tensors whose numbers do not lie side by side in
    memory.
    """
    function, arguments = prepared_call(implementation, inputs)
    return {"result": function(*map(as_view, arguments.values()))}


def gradients(implementation, inputs):
    """Note the gradient of a fixed weighted sum of everything returned, with respect to each
    floating argument and each weight.
    """
    import torch

    function, arguments = prepared_call(implementation, inputs)
    leaves = {
        f"the gradient with respect to {name}": value.requires_grad_()
        for name, value in arguments.items()
        if is_tensor(value) and value.is_floating_point()
    }
    if "constructor" in inputs:
        parameters = dict(function.__self__.named_parameters(remove_duplicate=False))
        leaves |= {f"the gradient of {name}": parameters[name] for name in inputs["weights"]}
    result = function(*arguments.values())
    outputs = [
        each
        for each in (result if isinstance(result, tuple | list) else [result])
        if is_tensor(each)
    ]
    total = sum(
        (output * fixed_weights(output)).sum() for output in outputs if output.is_floating_point()
    )
    if not (is_tensor(total) and total.requires_grad):
        return {
            "noted": dict.fromkeys(
                leaves, Opaque("missing, for the result no longer knows where it came from")
            )
        }
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    missing = Opaque("missing: the result does not depend on it")
    return {
        "noted": {
            name: missing if each is None else each
            for name, each in zip(leaves, found, strict=True)
        },
    }


def moved(implementation, inputs):
    """Note at which positions the result moves when arguments are replaced by those in the inputs'
    part `changed`.
    """
    function, arguments = prepared_call(implementation, inputs)
    before, after = (
        tensor_of(function(*each.values()))
        for each in (arguments, {**arguments, **inputs["changed"]})
    )
    names = " and ".join(inputs["changed"])
    return {
        "noted": {
            f"where the result moves when {names} changes": ((after - before).abs() > MOVED).any(-1)
        }
    }


def device_kept(implementation, inputs):
    """Note on which device the result would lie, where the argument `device` is another than
    torch's default, or tensors lie elsewhere; and the numbers of the result, where everything made
    without a device has lost its own.

    The machine needs no such device: each tensor stays where it is, and a label says where it would
    be.
    """
    import torch

    from autograder.shared.probes.device_labels import DeviceLabels, LostByDefault, tensors_in

    function, arguments = prepared_call(implementation, inputs)
    names, values = tuple(arguments), tuple(arguments.values())
    labels = DeviceLabels()
    for tensor in tensors_in(values):
        labels.put(tensor, "meta")
    with labels:
        label = labels.of(first_of(function(*values)))
    if "device" in names:
        values = ("cpu" if name == "device" else arguments[name] for name in names)
    with LostByDefault():
        result = first_of(function(*values))
    if is_tensor(result) and result.is_meta:  # it has no numbers, so none of them is right
        result = torch.zeros(result.shape, dtype=result.dtype)
    return {
        "noted": {
            "the device of the result": label,
            "the result, with another default device,": result,
        }
    }


def extremes(implementation, inputs):
    """Note the smallest and the largest value of each number of the result over many rounds,
    between which dropout throws it.

    The rounds go through together, as one batch: tensors as long as the first one, along the batch,
    are repeated. One and two rounds go first, because an answer that mixes the sentences of a batch
    may take more than the memory for many.

    Raises:
        Unfit: if a batch of more rounds does not give just as many more results.
    """
    function, arguments = prepared_call(implementation, inputs)
    batch = next(len(value) for value in arguments.values() if is_tensor(value))
    shapes = set()
    for rounds in (1, 2, ROUNDS):
        repeated = [
            value.repeat(rounds, *[1] * (value.ndim - 1))
            if is_tensor(value) and len(value) == batch
            else value
            for value in arguments.values()
        ]
        result = tensor_of(function(*repeated))
        shapes.add(result.shape[1:])
        if len(result) != rounds * batch or len(shapes) > 1:
            raise Unfit(f"returns {describe(result)} for a batch of {rounds * batch}")
    results = result.unflatten(0, (rounds, batch))  # (rounds, batch, ...)
    return {
        "noted": {
            f"the smallest of {rounds} results": results.amin(dim=0),
            f"the largest of {rounds} results": results.amax(dim=0),
        }
    }


def at_the_start(implementation, inputs):
    """Note a new module's parameters, by name and shape, and what those named in the inputs' part
    `shown` hold.
    """
    module = module_of(implementation, {**inputs, "weights": {}})
    parameters = dict(module.named_parameters(remove_duplicate=False))
    table = {name: tuple(parameter.shape) for name, parameter in parameters.items()}
    shown = {f"{name} of a new module": parameters.get(name) for name in inputs.get("shown", ())}
    return {"noted": {"the table of its parameters": table, **shown}}


def returned_at_words(implementation, inputs):
    """Note what a model returns at the words of a batch, row by row; what it returns at padding
    counts for nothing.
    """
    function, arguments = prepared_call(implementation, inputs)
    words = arguments["token_ids"] != arguments.get("pad_id", 0)  # (batch, seq_len)
    result = tensor_of(function(*arguments.values()))
    if result.shape[:2] != words.shape:
        raise Unfit(f"returns {describe(result)} for a batch of {tuple(words.shape)} ids")
    return {"noted": {"the logits at the words": result[words]}}


def products_of_rows(implementation, inputs):
    """Note what every row of the result gives, multiplied by every other."""
    function, arguments = prepared_call(implementation, inputs)
    rows = tensor_of(function(*arguments.values()))
    return {"result": rows @ rows.transpose(-1, -2)}


def numbers_at_the_start(implementation, inputs):
    """Note how many numbers a new module's parameters hold; shared ones count once."""
    module = module_of(implementation, {**inputs, "weights": {}})
    return {
        "noted": {
            "how many numbers its parameters hold": sum(
                parameter.numel() for parameter in module.parameters()
            )
        }
    }


def tensor_of(result):
    """Return the first of several returned values, or the only one, if it is a tensor with axes."""
    first = first_of(result)
    if not (is_tensor(first) and first.ndim):
        raise Unfit(f"returns {describe(first)}, not a torch tensor with a batch axis")
    return first


def first_of(result):
    """Return the first of several returned values, or the only one."""
    return result[0] if isinstance(result, tuple | list) else result


def as_view(value):
    """Return an equal tensor whose numbers do not lie side by side; anything else as it is."""
    if not is_tensor(value) or value.ndim == 0:
        return value
    return value.mT.contiguous().mT if value.ndim > 1 else value.repeat_interleave(2)[::2]
