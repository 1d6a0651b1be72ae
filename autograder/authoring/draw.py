"""What the cases of the PyTorch chapters are drawn from: tensors, token ids, masks, and modules
with weights of their own.

Everything is drawn with a NumPy generator, so that a case depends on its seed alone; without one, a
call describes what it would draw (`autograder.authoring.drawn`). Floating numbers have three
decimals: a learner who prints the inputs of a failed case can read them.
"""

import inspect
import math
from functools import cache

import numpy as np
import torch

from autograder.authoring.drawn import draw, drawn

FIRST_WORD = 4  # token ids below are special


@drawn
def normal(rng, *shape, dtype=torch.float32, scale=1.0):
    """Draw a tensor of normal numbers."""
    return torch.from_numpy((scale * rng.standard_normal(shape)).round(3)).to(dtype)


@drawn
def words(rng, *shape, vocab_size=12):
    """Draw token ids that are words: neither padding nor another special token."""
    return torch.from_numpy(rng.integers(FIRST_WORD, vocab_size, shape))


@drawn
def padded(rng, lengths, seq_len, vocab_size=12, pad_id=0):
    """Draw sentences of the given lengths, filled up with padding.

    Returns:
        (batch, seq_len) int64.
    """
    token_ids = words(rng, len(lengths), seq_len, vocab_size=vocab_size)
    return token_ids.masked_fill(torch.arange(seq_len) >= torch.tensor(lengths)[:, None], pad_id)


@drawn
def mask(rng, *shape, share=0.6):
    """Draw a boolean mask in which every row has at least one True, at a random place."""
    allowed = torch.from_numpy(rng.random(shape) < share)
    place = torch.from_numpy(rng.integers(0, shape[-1], shape[:-1]))
    return allowed | (torch.arange(shape[-1]) == place[..., None])


@drawn
def module_case(rng, reference, constructor, forward, dtype=torch.float32, **parts):
    """Make the inputs of a case that asks a class: its weights are drawn here, so that every
    implementation has the same.

    Args:
        reference: the class that says which weights there are.
        constructor: arguments in order; they may be descriptions.
        forward: arguments by name; they may be descriptions.
        dtype: of the weights, and so of the module.
        parts: `train`, `method` and `changed`; see `autograder.shared.probes`.
    """
    constructor = draw(constructor, rng)
    forward = draw(forward, rng)
    return {
        "constructor": by_name(reference, constructor),
        "weights": weights(rng, shapes_of_parameters(reference, constructor), dtype),
        "forward": forward,
        **parts,
    }


@drawn
def changing(rng, case, name, position, change):
    """Make a case for the probe `moved` of one that `module_case` made: in the second call, the
    argument `name` holds something else at one position of every sentence.

    Args:
        case: may be a description.
        change: `change(rng, tensor)` returns what it holds there instead.
    """
    case = draw(case, rng)
    changed = case["forward"][name].clone()
    changed[:, position] = change(rng, changed[:, position])
    return {**case, "changed": {name: changed}}


def weights_named(case, *parts):
    """Return the weights of a case in whose names one of these parts occurs."""
    return [
        weight for name, weight in case["weights"].items() if any(part in name for part in parts)
    ]


def by_name(reference, arguments):
    """Return what a class is called with, by name."""
    return dict(zip(parameters_of(reference), arguments, strict=False))


@cache
def parameters_of(reference):
    """Return the names of what a class is called with."""
    return list(inspect.signature(reference).parameters)


@cache
def shapes_of_parameters(reference, arguments):
    """Return the parameters of a module as (name, shape), in order; to make one takes longer than
    most questions to it.
    """
    return [
        (name, tuple(parameter.shape))
        for name, parameter in reference(*arguments).named_parameters()
    ]


def weights(rng, shapes, dtype=torch.float32):
    """Draw a tensor for each parameter of a module: matrices that keep the size of what they
    multiply, everything else around 0 or 1.

    Args:
        shapes: of the parameters, by `shapes_of_parameters`.
    """
    sizes, scales, offsets = how_to_draw(tuple(shapes))
    # all at once: a module of some dozen parameters is drawn for most questions
    numbers = torch.from_numpy((scales * rng.standard_normal(len(scales))).round(3)).to(
        dtype
    ) + offsets.to(dtype)
    return {
        name: each.reshape(shape)
        for (name, shape), each in zip(shapes, numbers.split(sizes), strict=True)
    }


@cache
def how_to_draw(shapes):
    """Return how many numbers each parameter has, what each of them all is multiplied by, and what
    is added to it.
    """
    sizes = [math.prod(shape) for _, shape in shapes]
    scales = [1 / math.sqrt(shape[-1]) if len(shape) > 1 else 0.5 for _, shape in shapes]
    offsets = [float(len(shape) == 1 and name.endswith("weight")) for name, shape in shapes]
    return sizes, np.repeat(scales, sizes), torch.from_numpy(np.repeat(offsets, sizes))
