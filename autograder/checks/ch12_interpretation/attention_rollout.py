"""Attention through several layers, down to the words."""

from functools import reduce

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.laws import sums_to_one
from autograder.shared.probes import arguments_after, device_kept, gradients_within_rows
from solutions.ch12_interpretation import attention_rollout


@drawn
def layers_of(rng, layers, heads, seq_len, causal=False, dtype=torch.float64, scale=1.5):
    """Draw the weights of all layers."""
    scores = normal(rng, layers, heads, seq_len, seq_len, scale=scale, dtype=torch.float64)
    if causal:
        later = torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(-1).to(dtype)


@drawn
def pointing(rng, layers, seq_len):
    """Draw layers of one head in which each position attends to a single one."""
    places = torch.from_numpy(rng.integers(0, seq_len, (layers, 1, seq_len)))
    return torch.nn.functional.one_hot(places, seq_len).double()


def eye_like(weights):
    return torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)


def each_row(layers):
    return layers / layers.sum(dim=-1, keepdim=True)


def last_first(layers):
    return reduce(lambda below, layer: layer @ below, layers)


def rollout_with(
    fused=lambda weights: weights.mean(dim=1),
    with_residual=lambda layers: layers + eye_like(layers),
    normalised=each_row,
    layers=lambda layers: layers,
    multiplied=last_first,
):
    """Make a rollout from its rules."""

    def attention_rollout(weights):
        return multiplied(layers(normalised(with_residual(fused(weights)))))

    return attention_rollout


checks = Checks(attention_rollout, laws=(sums_to_one,), family=rollout_with)
shown, hidden, wrong, right = checks.words

shown("two layers, two heads", weights=layers_of(2, 2, 3), weight=3)
shown("one layer", weights=layers_of(1, 2, 3))
shown("two layers in which each word attends to a single one", weights=pointing(2, 3), weight=2)
shown("three layers under a causal mask", weights=layers_of(3, 2, 4, causal=True), weight=2)
shown("gradients flow", weights=layers_of(2, 2, 3), probe=gradients_within_rows)
shown("the argument stays as it was", weights=layers_of(2, 1, 3), probe=arguments_after)
hidden("six layers, eight heads", weights=layers_of(6, 8, 5), weight=3)
hidden("four layers of one head", weights=layers_of(4, 1, 6), weight=2)
hidden("one layer of one head", weights=layers_of(1, 1, 4))
hidden("sharp layers", weights=layers_of(3, 2, 4, scale=8.0))
hidden("each word attends to a single one", weights=pointing(3, 5))
hidden("a single word", weights=layers_of(3, 2, 1))
hidden("in float32", weights=layers_of(3, 2, 4, dtype=torch.float32))
hidden("gradients flow through all layers", weights=layers_of(3, 2, 3), probe=gradients_within_rows)
hidden("the result lies where the weights lie", weights=layers_of(2, 2, 3), probe=device_kept)


wrong(
    "layers are multiplied in the order in which they come",
    """Right for one layer. In your product the rows belong to positions of the first layer. Which
    layer should they belong to, and which one reads the words?""",
    multiplied=lambda layers: reduce(lambda above, layer: above @ layer, layers),
)


wrong(
    "attention is all that a layer does",
    """What does a position hold that attends only to others? Part of it comes from a path around
    the attention.""",
    with_residual=lambda layers: layers,
)


wrong(
    "the residual need not be paid for",
    """The rows of your result do not sum to 1: the identity has added to them. What comes after it
    in the statement?""",
    normalised=lambda layers: layers,
)


wrong(
    "columns are divided by their sums",
    "Along which axis did the weights sum to 1 when they came in?",
    normalised=lambda layers: layers / layers.sum(dim=-2, keepdim=True),
)


wrong(
    "heads add up",
    """Your rows sum to 1, but the more heads there are, the smaller the share of the residual. How
    does the statement combine the heads of a layer?""",
    fused=lambda weights: weights.sum(dim=1),
)


wrong(
    "the strongest head counts",
    "You take the largest of the heads. How does the statement combine them?",
    fused=lambda weights: weights.amax(dim=1),
)


wrong(
    "the first head will do",
    "Right for one head. What have the others seen?",
    fused=lambda weights: weights[:, 0],
)


wrong(
    "the first layer has no residual",
    """You begin the product with a layer that has not been treated like the others. Which one is
    it?""",
    normalised=lambda layers: torch.cat(
        [each_row(layers[:1] - eye_like(layers)), each_row(layers[1:])]
    ),
)


wrong(
    "the last layer has no residual",
    """One layer in your product has not been treated like the others. Does its attention have a
    connection around it?""",
    normalised=lambda layers: torch.cat(
        [each_row(layers[:-1]), each_row(layers[-1:] - eye_like(layers))]
    ),
)


wrong(
    "one residual is enough",
    """You add the identity to a product of the layers. Each layer has a residual connection of its
    own.""",
    with_residual=lambda layers: layers,
    multiplied=lambda layers: each_row(last_first(layers) + eye_like(layers)),
)


wrong(
    "layers are averaged",
    """Right for one layer. What flows through two layers, one after the other, is not the mean of
    what flows through each.""",
    multiplied=lambda layers: layers.mean(dim=0),
)


wrong(
    "layers are multiplied number by number",
    """Right for one layer. From a position to a word there are as many paths as there are positions
    in between. Which product adds them up?""",
    multiplied=lambda layers: each_row(layers.prod(dim=0)),
)


wrong(
    "the last layer alone counts",
    "Right for one layer. Yours shows what the last layer reads. What do those positions hold?",
    multiplied=lambda layers: layers[-1],
)


wrong(
    "the first layer is the starting point",
    "Count the layers in your product. Which one is missing?",
    multiplied=lambda layers: reduce(
        lambda below, layer: layer @ below, layers[1:], eye_like(layers)
    ),
)


wrong(
    "each head is a path of its own",
    """You roll out each head and take the mean at the end. But a head of one layer reads what all
    heads of the layer below have written: when are heads combined?""",
    fused=lambda weights: weights.transpose(0, 1),
    multiplied=lambda heads: torch.stack([last_first(layers) for layers in heads]).mean(dim=0),
)


wrong(
    "rows are words and columns are positions",
    "Do the rows of your result sum to 1? A row should belong to a position of the last layer.",
    then=lambda rollout: rollout.T,
)


checks.usual("detached")
checks.usual("in float32")


@wrong(
    "identities live on the CPU",
    """A new tensor is made on the default device unless you say otherwise. Which of yours should be
    where the weights are?""",
    rule="with_residual",
)
def with_an_identity_of_its_own(layers):
    return layers + torch.eye(layers.shape[-1], dtype=layers.dtype)


@right
def half_and_half(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    matrices = 0.5 * weights.mean(1) + 0.5 * identity
    return torch.linalg.multi_dot(list(matrices.flip(0))) if len(matrices) > 1 else matrices[0]


@right
def normalised_at_the_end(weights):
    """Divides once: each layer has doubled the sums."""
    result = None
    for layer in weights.mean(dim=1):
        mixed = layer.clone()
        mixed.diagonal().add_(1)
        result = mixed if result is None else mixed @ result
    return result / result.sum(dim=-1, keepdim=True)


@right
def word_by_word(weights):
    """Follows each position down, a row at a time."""
    rows = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    for layer in reversed(weights.mean(dim=1).unbind()):
        rows = torch.stack([(row + row @ layer) / 2 for row in rows])
    return rows


@right
def with_an_identity_that_is_moved(weights):
    """Makes an identity as torch does by default, and takes it to where the weights are."""
    identity = torch.eye(weights.shape[-1]).to(weights)
    rollout = identity
    for layer in weights.mean(dim=1):
        rollout = torch.einsum("ij,jk->ik", (layer + identity) / 2, rollout)
    return rollout
