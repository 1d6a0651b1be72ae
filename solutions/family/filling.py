"""Tensors go where a table of names says, or the checkpoint is refused."""

import re

import torch

from solutions.family.checkpoint import LoadingError

# The layers that write into the features that all layers share; every other one reads them.
WRITE = ("w_o", "linear_2", "norm_1", "norm_2", "norm_3")


def fill(model, names, tensors, order=None):
    """Copy tensors into a model.

    Args:
        names: Names.
        tensors: their name -> tensor.
        order: (d_model,) int64: which of their features each of ours is; None for the same order.

    Returns:
        list of (their name, shape as a text, where it went).

    Raises:
        LoadingError: if one is missing, is left over, or has another shape.
    """
    tensors = {name.removeprefix(names.prefix): tensor for name, tensor in tensors.items()}
    table = left_out(names, tensors) + seen_again(names, tensors)
    filled = set()
    for theirs, ours in expanded(model, names):
        if theirs not in tensors:
            raise LoadingError(f"the checkpoint has no tensor {theirs}, for our {', '.join(ours)}")
        tensor = tensors.pop(theirs)
        table.append((theirs, shape(tensor), ", ".join(ours)))
        for name, piece in zip(ours, pieces(theirs, tensor, names, len(ours)), strict=True):
            target = model.get_parameter(name)
            room = target[:-1] if theirs in names.per_word else target
            if piece.shape != room.shape:
                raise LoadingError(
                    f"{theirs} has the shape {shape(tensor)}, and does not fit into our {name} of"
                    f" the shape {shape(room)}"
                )
            with torch.no_grad():
                target.zero_()  # padding's row stays so
                room.copy_(piece if order is None else reordered(name, piece, order))
            filled.add(target)
    refuse_what_is_left(
        tensors, [name for name, each in model.named_parameters() if each not in filled]
    )
    return table


def refuse_what_is_left(tensors, parameters):
    """Stop where there are tensors that went nowhere, or parameters that nothing came to."""
    if tensors:
        raise LoadingError(
            f"the checkpoint has tensors for which our model has no place: {some(tensors)}"
        )
    if parameters:
        raise LoadingError(
            f"our model has parameters for which the checkpoint has no tensor: {some(parameters)}"
        )


def some(names):
    """Return the first names of many, as a text."""
    names = list(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def shape(tensor):
    """Return a shape as a text."""
    return " x ".join(map(str, tensor.shape)) or "one number"


def left_out(names, tensors):
    """Take out the tensors that ours has no use for, and return their rows of the table."""
    rows = []
    for beginning, why in names.left_out.items():
        pattern = re.escape(beginning).replace(r"\{\}", r"\d+")
        for name in [each for each in tensors if re.match(pattern, each)]:
            rows.append((name, shape(tensors.pop(name)), f"left out: {why}"))
    return rows


def seen_again(names, tensors):
    """Take out the tensors that are others once more, and return their rows of the table.

    Raises:
        LoadingError: if two differ that must not.
    """
    rows = []
    for other, name in names.again.items():
        if (copy := tensors.pop(f"{other}.weight", None)) is not None:
            if not torch.equal(tensors.setdefault(f"{name}.weight", copy), copy):
                raise LoadingError(
                    f"{other}.weight differs from {name}.weight, and in our model they are one"
                )
            rows.append((f"{other}.weight", shape(copy), f"the same as {name}.weight"))
    return rows


def expanded(model, names):
    """Yield the name of each tensor that a model needs, and our names of where it goes."""
    for theirs, ours in names.rows.items():
        ours = (ours,) if isinstance(ours, str) else ours
        stack = ours[0].partition(".{}")[0]
        count = len(getattr(model, stack)) if "{}" in ours[0] else 1
        for index in range(count):
            places = [each.format(index) for each in ours]
            for ending in endings(model, places[0]):
                yield theirs.format(index) + ending, tuple(place + ending for place in places)


def endings(model, name):
    """Return what follows our name in the names of parameters: ".weight" and ".bias", or nothing
    where it is a parameter's.
    """
    found = [each for each, _ in model.named_parameters(remove_duplicate=False)]
    own = [each for each in found if each == name or each.startswith(f"{name}.")]
    return [each.removeprefix(name) for each in own]


def pieces(theirs, tensor, names, count):
    """Cut a tensor into as many parts of its first axis as it has places to go to."""
    tensor = torch.atleast_1d(tensor)
    if theirs in names.flat:
        tensor = tensor.flatten(min(names.flat[theirs], tensor.ndim - 1))
    if theirs.endswith(names.turned):
        tensor = tensor.mT if tensor.ndim > 1 else tensor
    return tensor.tensor_split(count)


def reordered(name, tensor, order):
    """Put the features that all layers share into our order: the rows of what writes into them,
    the columns of what reads them.
    """
    if name.split(".")[-2] in WRITE:
        return tensor[order]
    return tensor[:, order] if tensor.ndim == 2 else tensor
