"""A context manager that multiplies each head's output by a gate."""

import contextlib

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import mask as some_mask
from autograder.authoring.draw import normal, weights
from autograder.authoring.drawn import draw, drawn
from autograder.shared.probes import (
    gradients_of_gates,
    others_under_gates,
    outputs_after_an_exception,
    outputs_after_gates,
    returned_under_gates,
    weights_under_gates,
)
from solutions.ch12_interpretation import ablate_heads

LAYERS = ("w_q", "w_k", "w_v", "w_o")


@drawn
def some_gates(rng, num_heads, dtype=torch.float64):
    """Draw gates of either sign that all differ, none of them near 0 or 1."""
    sizes = rng.permutation(np.linspace(0.2, 1.8, 2 * num_heads))[:num_heads].round(2)
    sizes = np.where(np.abs(sizes - 1) < 0.05, 1.1, sizes)
    return torch.from_numpy(sizes * rng.choice([-1, 1], num_heads)).to(dtype)


@drawn
def attending(
    rng,
    num_heads,
    head_dim=2,
    query_len=3,
    key_len=4,
    batch=2,
    gates=None,
    inner=0,
    dtype=torch.float64,
    calls=None,
    **called,
):
    """Draw an attention, its gates, those of some inner blocks, and what it is called with.

    Args:
        gates: drawn, if not given.
        called: a mask, which may be a description, and `need_weights`.
    """
    d_model = num_heads * head_dim
    shapes = [
        shape
        for name in LAYERS
        for shape in ((f"{name}.weight", (d_model, d_model)), (f"{name}.bias", (d_model,)))
    ]
    lengths = {"query": query_len, "key": key_len, "value": key_len}
    inputs = {
        name: normal(rng, batch, each, d_model, dtype=dtype) for name, each in lengths.items()
    }
    given = some_gates(rng, num_heads, dtype) if gates is None else torch.tensor(gates, dtype=dtype)
    return {
        "forward": {
            "attention": {
                "stand_in": "attention",
                "num_heads": num_heads,
                "weights": weights(rng, shapes, dtype),
            },
            "gates": given,
        },
        "called": inputs | draw(called, rng),
        **({"inner": [some_gates(rng, num_heads, dtype) for _ in range(inner)]} if inner else {}),
        **({"calls": calls} if calls else {}),
    }


def blocks_of_features(gates, width):
    return gates.repeat_interleave(width // len(gates))


def before_the_projection(attention, scaled):
    return attention.w_o.register_forward_pre_hook(lambda module, inputs: scaled(inputs[0])).remove


@contextlib.contextmanager
def in_any_case(undo):
    try:
        yield
    finally:
        undo()


def gated_with(
    taken=lambda gates: gates,
    spread=blocks_of_features,
    combined=torch.mul,
    put=before_the_projection,
    guard=in_any_case,
):
    """Make a context manager from its rules: what is taken of the gates, how they are spread over
    the features and combined with them, how that is put into the module, and taken out again.
    """

    @contextlib.contextmanager
    def ablate_heads(attention, gates):
        kept = taken(gates)

        def scaled(heads):
            return combined(heads, spread(kept, heads.shape[-1]))

        with guard(put(attention, scaled)):
            yield

    return ablate_heads


checks = Checks(ablate_heads, family=gated_with, probe=returned_under_gates)
shown, hidden, wrong, right = checks.words

shown("a gate of 0 removes a head", attending(2, gates=[1.0, 0.0]), weight=3)
shown("a gate of 0.5 turns a head down", attending(2, head_dim=3, gates=[0.5, 1.0]), weight=2)
shown("three heads, each with a gate of its own", attending(3), weight=2)
shown("under a mask", attending(2, mask=some_mask(3, 4)))
shown("the returned weights are as they were", attending(2), probe=weights_under_gates)
shown("after the block the module is as it was", attending(2), probe=outputs_after_gates, weight=2)
shown(
    "an exception goes on, and afterwards the module is as it was",
    attending(2),
    probe=outputs_after_an_exception,
    weight=2,
)
shown("gates of nested blocks multiply", attending(2, inner=1), weight=2)
shown("gradients reach the gates", attending(2), probe=gradients_of_gates, weight=3)
hidden("eight heads", attending(8), weight=3)
hidden("heads of a single feature", attending(4, head_dim=1))
hidden("one head of several features", attending(1, head_dim=4))
hidden("all heads are removed", attending(3, gates=[0.0, 0.0, 0.0]))
hidden("a single query", attending(2, query_len=1, key_len=5, batch=1), weight=2)
hidden("in float32, under a mask", attending(3, mask=some_mask(2, 3, 3, 4), dtype=torch.float32))
hidden("without the weights", attending(2, mask=some_mask(2, 1, 3, 4), need_weights=False))
hidden("the module is called again in the block", attending(3, calls=3))
hidden(
    "weights of removed heads are returned, too",
    attending(2, gates=[0.0, 0.0]),
    probe=weights_under_gates,
)
hidden("three blocks, one in the other", attending(3, inner=2), weight=2)
hidden("another module keeps its heads", attending(2, inner=1), probe=others_under_gates)
hidden(
    "after removing all heads the module is as it was",
    attending(2, gates=[0.0, 0.0]),
    probe=outputs_after_gates,
)
hidden(
    "after an inner block the outer one goes on",
    attending(3, gates=[0.0, 0.6, -1.4], inner=2),
    probe=outputs_after_gates,
    weight=2,
)
hidden(
    "after an exception, with heads removed",
    attending(3, gates=[0.0, 1.0, 0.0]),
    probe=outputs_after_an_exception,
    weight=2,
)
hidden(
    "gradients reach gates that are 0",
    attending(3, gates=[0.0, 1.0, 0.0]),
    probe=gradients_of_gates,
    weight=2,
)
hidden(
    "gradients reach the gates of nested blocks",
    attending(2, inner=1),
    probe=gradients_of_gates,
    weight=2,
)


@wrong(
    "the output of the module is that of its heads",
    """You gate what comes out of the last projection, where each feature is already a mixture of
    all heads. Where are the heads still side by side?""",
    rule="put",
)
def after_the_projection(attention, scaled):
    return attention.w_o.register_forward_hook(lambda module, inputs, output: scaled(output)).remove


@wrong(
    "what a hook computes takes effect by itself",
    """Inside the block your module computes what it always does. If a hook of yours multiplies,
    what does it return, and what becomes of that?""",
    rule="put",
)
def in_vain(attention, scaled):
    def multiply(module, inputs):
        scaled(inputs[0])

    return attention.w_o.register_forward_pre_hook(multiply).remove


wrong(
    "features are dealt out to the heads like cards",
    """The heads get gates that belong to other heads. Each head has a block of adjacent features.
    In which order do your gates run along the features?""",
    spread=lambda gates, width: gates.repeat(width // len(gates)),
)


wrong(
    "the last head comes first",
    "The gates are right, but in which order are the heads side by side?",
    taken=lambda gates: gates.flip(0),
)


wrong(
    "a gate closes",
    "Your gate of 1 removes a head. What should a gate of 1 do?",
    taken=lambda gates: 1 - gates,
)


wrong(
    "a gate is open or closed",
    "Right for gates of 0 and 1. What becomes of a gate of 0.5 in your code?",
    taken=lambda gates: (gates != 0).to(gates.dtype) + 0 * gates,
)


wrong(
    "heads that are left make up for those that are gone",
    """Where you remove a head, the others grow, as dropout makes them grow in training. The
    statement asks for a product and no more.""",
    taken=lambda gates: gates * len(gates) / gates.sum().clamp(min=1e-3),
)


wrong(
    "gates are added to the heads",
    "What remains of a head with a gate of 0? How are gates combined with what the heads found?",
    combined=torch.add,
)


wrong(
    "gates are plain numbers",
    """The numbers are right, but the next exercise needs the derivative with respect to the gates,
    and yours are not connected to the result. Which step cuts the connection?""",
    taken=lambda gates: gates.detach().clone(),
)


@wrong(
    "the heads are plain numbers",
    """The numbers are right, but no gradient gets past the gates to what comes before them. Which
    step cuts it off?""",
    rule="combined",
)
def without_history(heads, gates):
    return heads.detach() * gates


@wrong(
    "a block ends well",
    """After an exception in the block your gates are still on, because the line after the `yield`
    was never reached. Which statement of Python runs its last part in any case?""",
    rule="guard",
)
@contextlib.contextmanager
def if_all_goes_well(undo):
    yield
    undo()


@wrong(
    "gates stay until somebody removes them",
    """The block has ended, and your gates are still on. What has to be undone, and where in your
    function does the block end?""",
    rule="guard",
)
@contextlib.contextmanager
def never(undo):
    yield


@wrong(
    "an exception ends with the block",
    """The gates are off, but the code that waits for the exception never sees it. Which line of
    yours catches it and does not let it go on?""",
    rule="guard",
)
@contextlib.contextmanager
def in_silence(undo):
    with contextlib.suppress(Exception):
        yield
    undo()


@wrong(
    "the last gates count",
    """Right for one block. In a block within a block yours forgets the gates of the outer one. What
    do you do with what is already in place?""",
    rule="put",
)
def instead_of_others(attention, scaled):
    hooks = attention.w_o._forward_pre_hooks
    others = list(hooks.items())
    hooks.clear()
    remove = before_the_projection(attention, scaled)

    def undo():
        remove()
        hooks.update(others)

    return undo


@wrong(
    "the end of a block is the end of all gates",
    """The inner block is right. After it, the outer one has lost its gates, too. What exactly do
    you remove?""",
    rule="put",
)
def with_all_others(attention, scaled):
    before_the_projection(attention, scaled)
    return attention.w_o._forward_pre_hooks.clear


@wrong(
    "gates are needed once",
    "Right for the first call in a block. What has become of your gates by the second one?",
    rule="put",
)
def once(attention, scaled):
    def only_now(heads):
        remove()
        return scaled(heads)

    remove = before_the_projection(attention, only_now)
    return remove


@wrong(
    "the weights of a head are its output",
    """The output is right, but the weights that the module returns in the block are not what they
    were. What do you multiply by the gates?""",
    rule="put",
)
def in_the_weights(attention, scaled):
    def scale(module, inputs, result):
        output, weights = result
        if weights is None:
            return result
        heads = scaled(weights.new_ones(attention.num_heads))
        return output, weights * heads[:, None, None]

    removes = (
        before_the_projection(attention, scaled),
        attention.register_forward_hook(scale).remove,
    )
    return lambda: [remove() for remove in removes]


@wrong(
    "all attentions are one",
    """Your gates act on other modules of the same class, too. What do you change: the module that
    you were given, or something that all of them share?""",
    rule="put",
)
def in_the_class(attention, scaled):
    kind = type(attention)
    old = kind.forward

    def forward(self, *arguments, **named):
        handle = self.w_o.register_forward_pre_hook(lambda module, inputs: scaled(inputs[0]))
        try:
            return old(self, *arguments, **named)
        finally:
            handle.remove()

    kind.forward = forward

    def undo():
        kind.forward = old

    return undo


def columns_of(attention, gates):
    return blocks_of_features(gates.detach(), attention.w_o.in_features)


@wrong(
    "columns of the projection can be scaled and scaled back",
    """You write into the module's parameters, and afterwards divide by what you multiplied with.
    What is left to restore after a gate of 0? And can gradients reach gates that are not part of
    the computation?""",
)
@contextlib.contextmanager
def scaled_and_back(attention, gates):
    columns = columns_of(attention, gates)
    attention.w_o.weight.data.mul_(columns)
    try:
        yield
    finally:
        attention.w_o.weight.data.div_(columns)


@wrong(
    "columns of the projection can be kept and put back",
    """The output is right, and so is the module afterwards. But inside the block you have changed
    its parameters, so gradients never reach your gates. Could the heads' outputs be multiplied
    instead?""",
)
@contextlib.contextmanager
def kept_and_put_back(attention, gates):
    old = attention.w_o.weight.detach().clone()
    with torch.no_grad():
        attention.w_o.weight.mul_(columns_of(attention, gates))
    try:
        yield
    finally:
        with torch.no_grad():
            attention.w_o.weight.copy_(old)


@wrong(
    "new parameters are as good as the old ones",
    """After your block the numbers of the module are right, but one parameter is not the same
    object as before. An optimizer that holds the old one would train nothing.""",
)
@contextlib.contextmanager
def with_a_new_parameter(attention, gates):
    old = attention.w_o.weight.data.clone()
    columns = blocks_of_features(gates, attention.w_o.in_features)
    del attention.w_o.weight
    attention.w_o.weight = torch.nn.Parameter(old) * columns
    try:
        yield
    finally:
        del attention.w_o.weight
        attention.w_o.weight = torch.nn.Parameter(old)


@wrong(
    "the projection's bias belongs to the heads",
    """Right except for a constant. You gate what `w_o` makes of the heads together with its bias.
    Does the bias belong to any head?""",
)
@contextlib.contextmanager
def with_the_bias(attention, gates):
    def scale(module, inputs, output):
        (heads,) = inputs
        gated = torch.nn.functional.linear(
            heads * blocks_of_features(gates, heads.shape[-1]), module.weight
        )
        return gated + module.bias * gates.mean()

    handle = attention.w_o.register_forward_hook(scale)
    try:
        yield
    finally:
        handle.remove()


@right
@contextlib.contextmanager
def by_the_values(attention, gates):
    """Gates the values, because a head's output is an average of them."""
    handle = attention.w_v.register_forward_hook(
        lambda module, inputs, values: (
            values.unflatten(-1, (len(gates), -1)) * gates[:, None]
        ).flatten(-2)
    )
    try:
        yield attention
    finally:
        handle.remove()


@right
def by_a_handle(attention, gates):
    """Returns what PyTorch returns, which is a context manager, too."""
    return attention.w_o.register_forward_pre_hook(
        lambda module, inputs: torch.einsum(
            "...hd,h->...hd", inputs[0].unflatten(-1, (len(gates), -1)), gates
        ).flatten(-2)
    )


@right
class BySubstitution:
    """Replaces the projection by another module."""

    def __init__(self, attention, gates):
        self.attention, self.gates = attention, gates

    def __enter__(self):
        self.old = self.attention.w_o
        self.attention.w_o = Gated(self.old, self.gates)

    def __exit__(self, *error):
        self.attention.w_o = self.old


class Gated(torch.nn.Module):
    def __init__(self, projection, gates):
        super().__init__()
        self.projection, self.gates = projection, gates
        self.weight, self.bias = projection.weight, projection.bias

    def forward(self, heads):
        return self.projection(
            heads * self.gates.repeat_interleave(heads.shape[-1] // len(self.gates))
        )


@right
@contextlib.contextmanager
def by_another_forward(attention, gates):
    """Computes the module's output anew, head by head."""
    old = attention.w_o.forward

    def forward(heads):
        parts = heads.chunk(len(gates), dim=-1)
        return old(
            torch.cat([gate * part for gate, part in zip(gates, parts, strict=True)], dim=-1)
        )

    attention.w_o.forward = forward
    try:
        yield
    finally:
        attention.w_o.forward = old
