"""How an implementation is called: live arguments, a module with the case's weights, a signature
that fits.
"""

import contextlib
import inspect
from types import MethodType

from autograder.shared.wire import PLAIN_TYPES, Tensor
from autograder.shared.wording import describe

FITTED, MOST_FITTED = {}, 1000  # functions that could be called, by what was asked


class Unfit(Exception):
    """The implementation cannot be asked; says why, as a clause about it."""


def prepared_call(implementation, inputs):
    """Return what to call and with which arguments: the function itself, or a method of a module
    made for the case.
    """
    arguments = inputs.get("forward", inputs)
    if "constructor" not in inputs:
        return implementation, arguments
    name = inputs.get("method", "forward")
    method = getattr(module_of(implementation, inputs), name, None)
    if not callable(method):
        raise Unfit(f"has no method {name}")
    complaint = complaint_about_signature(method, arguments)
    if complaint:
        raise Unfit(f"has a method {name} that {complaint}")
    return method, arguments


def module_of(implementation, inputs):
    """Make a module, and give it the weights of the case."""
    import torch

    module = implementation(*inputs["constructor"].values())
    if not isinstance(module, torch.nn.Module):
        raise Unfit(f"makes {describe(module)}, not an nn.Module")
    own = dict(module.named_parameters(remove_duplicate=False))
    weights = inputs["weights"]
    for name, weight in weights.items():
        if name not in own:
            raise Unfit(f"has no parameter {name}; it has {', '.join(own) or 'none'}")
        if own[name].shape != weight.shape:
            raise Unfit(
                f"has {name} of shape {tuple(own[name].shape)}, but it should have"
                f" {tuple(weight.shape)}"
            )
    wanted = {weight.dtype for weight in weights.values()}
    others = [*(own[name] for name in own.keys() - weights.keys()), *module.buffers()]
    if any(each.is_floating_point() and {each.dtype} != wanted for each in others):
        for dtype in wanted:
            module.to(dtype)
    with torch.no_grad():
        if weights:
            quieten(own, weights)
        for name, weight in weights.items():
            if own[name].dtype == weight.dtype:
                own[name].copy_(weight)
            else:  # what module.to(dtype) does, without looking through the whole module
                own[name].data = weight
    return module.train(inputs.get("train", False))


def quieten(own, weights):
    """Give learnable parameters that the reference does not have values with which they change
    nothing: 0 for a bias, and for a matrix the weights of the only one of its shape. What is too
    much costs a point where parameters are counted, and not a second time in every number.
    """
    for name in own.keys() - weights.keys():
        parameter = own[name]
        if not parameter.requires_grad:
            continue
        alike = [weight for weight in weights.values() if weight.shape == parameter.shape]
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim > 1 and len(alike) == 1:
            parameter.copy_(alike[0])


@contextlib.contextmanager
def exit_raises(namespace):
    """Let `exit()` and `quit()` raise SystemExit, as they do outside of notebooks: a notebook's own
    end its kernel, and the function that called one goes on.

    Args:
        namespace: of the notebook.
    """

    def leave(*code):
        raise SystemExit(*code)

    names = ("exit", "quit")
    own = {name: namespace[name] for name in names if is_ipythons(namespace.get(name))}
    namespace.update(dict.fromkeys(own, leave))
    try:
        yield
    finally:
        namespace.update(own)


def is_ipythons(value):
    return type(value).__module__.startswith("IPython.")


def live(value):
    """Return a plain value with torch tensors where it describes them; they share its memory."""
    if type(value) in PLAIN_TYPES:
        return value
    match value:
        case Tensor():
            import torch

            return torch.from_numpy(value.values).to(getattr(torch, value.dtype))
        case dict():
            return {key: live(item) for key, item in value.items()}
        case tuple() | list():
            return type(value)(map(live, value))
        case _:
            return value


def defaults_of(implementation):
    """Return the defaults of a function's arguments by name, or those of a class's constructor and
    its `forward`, as far as they are plain values; {} where nobody can tell.
    """
    called = [implementation]
    if isinstance(implementation, type):
        called.append(getattr(implementation, "forward", implementation))
    found = {}
    for each in called:
        with contextlib.suppress(TypeError, ValueError):
            found |= inspect.signature(each).parameters
    return {
        name: parameter.default
        for name, parameter in found.items()
        if type(parameter.default) in PLAIN_TYPES
    }


def complaint_about_signature(implementation, inputs):
    """Return why the function cannot be called with these arguments by name, or None.

    A function is asked many times, and to take its signature apart takes as long as many an answer:
    what fitted once is remembered.
    """
    function = implementation.__func__ if type(implementation) is MethodType else implementation
    asked = id(function), function is implementation, len(inputs)
    if FITTED.get(asked) is function:
        return None
    try:
        signature = inspect.signature(implementation)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*inputs.values())
    except TypeError:
        return (
            f"takes {str(signature)[:120]}, and is called with ({', '.join(inputs)}); keep the"
            " stub's first line"
        )
    if len(FITTED) >= MOST_FITTED:
        FITTED.clear()
    FITTED[asked] = function
    return None
