"""What a model's output layer makes of the states of each layer."""

import torch
from torch import nn

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.probes import (
    arguments_after,
    gradients_through_modules,
    returned_by_stand_ins,
)
from solutions.ch12_interpretation import logit_lens


@drawn
def states(
    rng,
    layers,
    norm="layer",
    batch=2,
    tgt_len=3,
    d_model=4,
    vocab_size=5,
    bias=True,
    grow=0.0,
    dtype=torch.float64,
):
    """Draw the states after each layer, a norm and an output layer.

    Args:
        norm: its kind, or None.
        grow: by which factor states grow from layer to layer, less 1.
    """
    hidden = normal(rng, layers, batch, tgt_len, d_model, dtype=dtype)
    size = (1 + grow) ** torch.arange(layers, dtype=dtype)
    return {
        "hidden": hidden * size[:, None, None, None] + (0.3 if norm == "layer" else 0.0),
        "norm": norm
        and {
            "stand_in": "norm",
            "kind": norm,
            "weight": 1 + normal(rng, d_model, scale=0.3, dtype=dtype),
            "bias": normal(rng, d_model, scale=0.3, dtype=dtype),
        },
        "generator": {
            "stand_in": "linear",
            "weight": normal(rng, vocab_size, d_model, dtype=dtype),
            "bias": normal(rng, vocab_size, dtype=dtype) if bias else None,
        },
    }


def own_norm(hidden, norm):
    return hidden if norm is None else norm(hidden)


def lens_with(
    read=lambda hidden: hidden,
    normed=own_norm,
    generated=lambda normed, generator: generator(normed),
    returned=lambda logits: logits,
):
    """Make a lens from its rules."""

    def logit_lens(hidden, norm, generator):
        return returned(generated(normed(read(hidden), norm), generator))

    return logit_lens


checks = Checks(logit_lens, family=lens_with, probe=returned_by_stand_ins)
shown, hidden, wrong, right = checks.words

shown("three layers with a norm", states(3), weight=3)
shown("two layers without a norm", states(2, None), weight=2)
shown("states that grow from layer to layer", states(4, grow=1.5), weight=2)
shown("one layer", states(1))
shown("another kind of norm", states(2, "root"))
shown("gradients flow", states(2), probe=gradients_through_modules)
shown("the arguments stay as they were", states(2), probe=arguments_after)
hidden("six layers with a norm", states(6, batch=3, tgt_len=4, d_model=6, grow=0.7), weight=3)
hidden("five layers without a norm", states(5, None, d_model=3, vocab_size=7), weight=2)
hidden("a generator without a bias", states(3, bias=False), weight=2)
hidden(
    "as many sentences, positions and features as layers", states(3, batch=3, tgt_len=3, d_model=3)
)
hidden("one sentence, one position", states(4, batch=1, tgt_len=1, grow=1.0))
hidden("another kind of norm, states that grow", states(4, "root", grow=1.0))
hidden("in float32", states(3, dtype=torch.float32))
hidden("gradients flow without a norm", states(3, None), probe=gradients_through_modules)
hidden(
    "gradients reach the norm and the generator",
    states(3, grow=0.5),
    probe=gradients_through_modules,
)


wrong(
    "states are ready for the generator",
    """Right where `norm` is None. The generator of a pre-norm model has never seen states without
    the norm. Where in your code is it applied?""",
    normed=lambda hidden, norm: hidden,
)


wrong(
    "there is always a norm",
    "What does your code do where `norm` is None?",
    normed=lambda hidden, norm: norm(hidden),
)


def by_statistics(mean_of, variance_of):
    """Return a layer norm by hand, with the mean and the variance of other numbers than its own."""

    def normed(hidden, norm):
        if norm is None:
            return hidden
        centred = hidden - mean_of(hidden)
        return centred / torch.sqrt(variance_of(hidden) + 1e-5) * norm.weight + norm.bias

    return normed


def own_mean(hidden):
    return hidden.mean(dim=-1, keepdim=True)


def own_variance(hidden):
    return hidden.var(dim=-1, keepdim=True, unbiased=False)


wrong(
    "the last layer's norm is meant for all",
    """Right for the last layer. You bring all layers to the mean and the size of the last one. The
    statement wants each layer's own.""",
    normed=by_statistics(
        lambda hidden: own_mean(hidden[-1:]), lambda hidden: own_variance(hidden[-1:])
    ),
)


wrong(
    "the last layer's size is meant for all",
    """Right for the last layer. You divide all layers by what the last one has to be divided by,
    and that makes early layers too small. The statement wants each layer's own variance.""",
    normed=by_statistics(own_mean, lambda hidden: own_variance(hidden[-1:])),
)


wrong(
    "layers are normed together",
    """Right for one layer. Your mean and variance run over the features of all layers, but the
    statement wants each layer's own.""",
    normed=by_statistics(
        lambda hidden: hidden.mean(dim=(0, -1), keepdim=True),
        lambda hidden: hidden.var(dim=(0, -1), keepdim=True, unbiased=False),
    ),
)


wrong(
    "the last layer has been normed",
    """Wrong only for the last layer, which you leave without the norm. `hidden` holds the states
    after each layer, the last one included, before any norm.""",
    normed=lambda hidden, norm: (
        hidden if norm is None else torch.cat([norm(hidden[:-1]), hidden[-1:]])
    ),
)


wrong(
    "the norm belongs to the last layer",
    """Right only for the last layer. The generator has never seen states without the norm,
    whichever layer they come from.""",
    normed=lambda hidden, norm: (
        hidden if norm is None else torch.cat([hidden[:-1], norm(hidden[-1:])])
    ),
)


wrong(
    "a norm can be applied twice",
    "How often do your states go through the norm? A second time changes them again.",
    normed=lambda hidden, norm: hidden if norm is None else norm(norm(hidden)),
)


wrong(
    "every norm is a layer norm without parameters",
    """You normalise by yourself. The module that you are given has a gain and a bias of its own,
    and it may be of another kind.""",
    normed=lambda hidden, norm: (
        hidden if norm is None else nn.functional.layer_norm(hidden, hidden.shape[-1:])
    ),
)


wrong(
    "every norm has a mean and a variance",
    """You compute the norm by yourself, from the gain and the bias of the module. It may be of
    another kind: who knows best how to apply it?""",
    normed=lambda hidden, norm: (
        hidden
        if norm is None
        else nn.functional.layer_norm(hidden, hidden.shape[-1:], norm.weight, norm.bias)
    ),
)


wrong(
    "the generator is a matrix",
    """Right for a generator without a bias. You multiply by its weights alone. What else does the
    module do?""",
    generated=lambda normed, generator: normed @ generator.weight.T,
)


wrong(
    "scores are probabilities",
    "The rows of your result sum to 1. The statement asks for what comes out of the generator.",
    returned=lambda logits: logits.softmax(-1),
)


wrong(
    "scores are logarithms of probabilities",
    "You normalise what comes out of the generator. The statement asks for the scores themselves.",
    returned=lambda logits: logits.log_softmax(-1),
)


wrong(
    "the likeliest word is asked for",
    "You return ids. How many axes should the result have?",
    returned=lambda logits: logits.argmax(-1),
)


wrong(
    "the last layer is enough",
    "Your result has no axis of layers, or only one layer. Which states does the lens read?",
    read=lambda hidden: hidden[-1:],
)


wrong(
    "the model stops before its last layer",
    "How many layers does your result have, and how many does `hidden`?",
    read=lambda hidden: hidden[:-1],
)


wrong(
    "the last layer comes first",
    "The numbers are right, and the layers are in reverse order.",
    read=lambda hidden: hidden.flip(0),
)


wrong(
    "sentences come first",
    "In which order does the docstring name the axes of the result?",
    returned=lambda logits: logits.transpose(0, 1),
)


wrong(
    "a lens adds up the layers",
    """Right for one layer. You add the layers up before you read them. A layer's states already
    hold what the layers below have written.""",
    read=lambda hidden: hidden.cumsum(0),
)


wrong(
    "a lens shows what each layer adds",
    """Right for the first layer. You read the difference between one layer and the one below. The
    statement reads the states themselves.""",
    read=lambda hidden: torch.cat([hidden[:1], hidden[1:] - hidden[:-1]]),
)


checks.usual("detached")


@wrong(
    "the caller's states may be worked in",
    """The result is right, but compare the states before and after the call. Which line writes into
    them?""",
)
def written_into(hidden, norm, generator):
    with torch.no_grad():
        result = generator(own_norm(hidden, norm))
        hidden.copy_(own_norm(hidden, norm) + 1)
    return result


@right
def layer_by_layer(hidden, norm, generator):
    logits = []
    for layer in hidden:
        if norm is not None:
            layer = norm(layer)
        logits.append(generator(layer))
    return torch.stack(logits)


@right
def by_a_chain(hidden, norm, generator):
    return nn.Sequential(norm or nn.Identity(), generator)(hidden)


@right
def position_by_position(hidden, norm, generator):
    """Reads every state on its own."""
    read = [generator(norm(state) if norm else state) for state in hidden.flatten(0, -2)]
    return torch.stack(read).unflatten(0, hidden.shape[:-1])
