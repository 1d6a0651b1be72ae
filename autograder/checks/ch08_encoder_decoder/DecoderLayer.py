"""A decoder layer: self-attention, cross-attention and a feed-forward network."""

import numpy as np
import torch
from torch import nn

from autograder.authoring.checks import Checks, subclass
from autograder.authoring.draw import changing, mask, module_case, normal, weights_named
from autograder.authoring.drawn import drawn, integer
from autograder.checks.ch05_multi_head.MultiHeadAttention import by_einsum
from autograder.checks.ch07_layers import (
    DROPPING_THE_SUM,
    WITHOUT_RESIDUAL,
    AlwaysDropping,
    InSteps,
    only,
    post_norm,
    pre_norm,
    pre_norm_without_stream,
    undropped_post_norm,
    undropped_pre_norm,
    without_inner_dropout,
    without_norm,
)
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    extremes,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch08_encoder_decoder as reference
from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import causal_mask
from solutions.ch07_layers import EncoderLayer, LayerNorm


@drawn
def layer_case(
    rng,
    batch=2,
    tgt_len=3,
    src_len=5,
    sizes=(4, 2, 3),
    dropout=0.0,
    norm_first=False,
    masks="both",
    dtype=torch.float64,
    quiet=(),
    **parts,
):
    """Make the inputs of a case.

    Args:
        sizes: d_model, num_heads and d_ff.
        masks: "both", "none", or "self" or "memory" alone.
        quiet: parts of the names of weights that are made 0.
    """
    constructor = (*sizes, dropout) if dropout or norm_first else sizes
    if norm_first:
        constructor += (True,)
    forward = {
        "x": normal(rng, batch, tgt_len, sizes[0], dtype=dtype),
        "memory": normal(rng, batch, src_len, sizes[0], dtype=dtype),
    }
    if masks != "none":
        forward["self_mask"] = causal_mask(tgt_len) if masks != "memory" else None
    if masks in ("both", "memory"):
        forward["memory_mask"] = some_words(rng, batch, src_len)
    case = module_case(rng, reference.DecoderLayer, constructor, forward, dtype, **parts)
    for weight in weights_named(case, *quiet):
        weight.zero_()
    if quiet:  # nothing but dropout switches a feature off
        [awake] = weights_named(case, "linear_1.bias")
        awake += 5
    return case


def some_words(rng, batch, src_len):
    """Draw the padding mask of sources of which each has some words and some padding."""
    lengths = torch.from_numpy(np.resize(rng.permutation(np.arange(1, src_len)), batch))
    return (torch.arange(src_len) < lengths[:, None])[:, None, None]


@drawn
def layer_in_half(rng, dtype):
    """Make inputs in half precision in which the parts add little to the residual, and so do their
    rounding errors.
    """
    case = layer_case(rng, norm_first=True, dtype=dtype)
    for weight in weights_named(case, ".w_o.", ".linear_2."):
        weight *= 0.25
    return case


def layer_with_a_mask_of_any_kind(rng):
    """Masks that differ from query to query, and the memory's even from head to head."""
    case = layer_case(rng, tgt_len=4, src_len=3)
    case["forward"]["self_mask"] = mask(rng, 2, 1, 4, 4)
    case["forward"]["memory_mask"] = mask(rng, 2, 2, 4, 3)
    return case


def and_more(rng, numbers):
    return numbers + (1 + normal(rng, 4, dtype=numbers.dtype))


def a_later_word_changes(norm_first):
    return changing(layer_case(1, 4, 3, norm_first=norm_first), "x", 2, and_more)


def hidden_memory_changes(rng):
    """The memory changes where the mask hides it in the first sentence, and nothing hides it in the
    second.
    """
    case = layer_case(rng, 2, 2, 3)
    hidden = torch.tensor([[True, True, False], [True, True, True]])
    case["forward"]["memory_mask"] = hidden[:, None, None]
    return changing(rng, case, "memory", 2, and_more)


class Steps(InSteps, reference.DecoderLayer):
    """Its rules `back` and `across` say which attention is given what."""

    order = 1, 2, 3
    returned = 0
    back = "self_attention x x x self_mask"
    across = "cross_attention x memory memory memory_mask"

    def look(self, words, **given):
        attention, *names = words.split()
        return getattr(self, attention)(*(given[name] for name in names))[self.returned]

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        given = {"memory": memory, "self_mask": self_mask, "memory_mask": memory_mask}
        return self.through(
            x,
            lambda x: self.look(self.back, x=x, **given),
            lambda x: self.look(self.across, x=x, **given),
        )


ATTENTIONS = "self_attention.w_o", "cross_attention.w_o"
NORMS = ["norm_1.weight", "norm_2.bias", "norm_3.weight"]


checks = Checks(
    reference.DecoderLayer,
    family=Steps,
    shortcuts="TransformerDecoderLayer TransformerDecoder",
)
shown, hidden, wrong, right = checks.words

shown("a short target, a longer source", layer_case(masks="none"), weight=2)
shown("with a mask for each attention", layer_case(), weight=2)
shown("target and source of one length", layer_case(tgt_len=4, src_len=4))
shown("pre-norm", layer_case(norm_first=True))
shown("masks of any kind", layer_with_a_mask_of_any_kind)
shown("a later word changes nothing before it", a_later_word_changes(False), probe=moved)
shown("where the memory is masked, it may hold anything", hidden_memory_changes, probe=moved)
shown("in eval mode nothing is dropped, even with dropout=1", layer_case(batch=1, dropout=1.0))
shown(
    "half of the features in the feed-forward network, half of its result",
    layer_case(1, 1, 2, (2, 1, 2), 0.5, True, "none", quiet=ATTENTIONS, train=True),
    probe=extremes,
)
shown("gradients", layer_case(1, 2, 3, (4, 1, 2), masks="none"), probe=gradients)
shown(
    "a new layer has these parameters",
    constructor={"d_model": 6, "num_heads": 2, "d_ff": integer(3, 12)},
    shown=NORMS,
    probe=at_the_start,
)
shown("float32 stays float32", layer_case(1, 2, 3, dtype=torch.float32))
shown("the arguments stay as they were", layer_case(1, 2, 2), probe=arguments_after)
hidden("three heads, another shape", layer_case(3, 4, 2, (6, 3, 5)), weight=2)
hidden("pre-norm, another shape", layer_case(2, 2, 4, (6, 2, 7), norm_first=True), weight=2)
hidden(
    "nothing is dropped if nobody says so", layer_case(4, 4, 4, (4, 1, 4), masks="none", train=True)
)
hidden("all sizes equal, with masks", layer_case(3, 3, 3, (3, 1, 3)))
hidden("a mask for the target alone", layer_case(masks="self"))
hidden("a mask for the source alone", layer_case(masks="memory"))
hidden("a source of one word", layer_case(2, 3, 1, masks="self"))
hidden("pre-norm: a later word changes nothing before it", a_later_word_changes(True), probe=moved)
hidden("gradients under masks, pre-norm", layer_case(norm_first=True), probe=gradients)
hidden(
    "a longer target in eval mode, with dropout=1",
    layer_case(2, 6, 3, dropout=1.0, norm_first=True),
)
hidden(
    "half of what the target says itself is dropped",
    layer_case(
        1,
        1,
        2,
        (4, 2, 2),
        0.5,
        True,
        "none",
        quiet=(ATTENTIONS[1], "feed_forward"),
        train=True,
    ),
    probe=extremes,
)
hidden(
    "half of what the source says is dropped",
    layer_case(
        1,
        1,
        2,
        (4, 2, 2),
        0.5,
        True,
        "none",
        quiet=(ATTENTIONS[0], "feed_forward"),
        train=True,
    ),
    probe=extremes,
)
hidden(
    "a quarter of the feed-forward network is dropped",
    layer_case(1, 1, 2, (2, 1, 2), 0.25, True, "none", quiet=ATTENTIONS, train=True),
    probe=extremes,
)
hidden(
    "a new layer of another size",
    constructor={"d_model": 8, "num_heads": 4, "d_ff": integer(3, 12)},
    shown=NORMS,
    probe=at_the_start,
)
hidden("bfloat16 stays bfloat16", layer_in_half(torch.bfloat16))
hidden("float16 stays float16", layer_in_half(torch.float16))
hidden("tensors that do not lie in one piece", layer_case(), probe=returned_for_views)
hidden(
    "the arguments stay as they were, pre-norm", layer_case(norm_first=True), probe=arguments_after
)


wrong(
    "the second attention looks at the target, too",
    """Change the memory, and your result stays the same. Which of the three arguments of the second
    attention should know of the source?""",
    across="cross_attention x x x self_mask",
)


wrong(
    "the memory asks, and the target answers",
    """There must be one result for each position of the target. Whose positions ask in your second
    attention?""",
    across="cross_attention memory x x",
)


wrong(
    "the memory asks, under its mask",
    """There must be one result for each position of the target. Whose positions ask in your second
    attention?""",
    across="cross_attention memory x x memory_mask",
)


wrong(
    "the first attention looks at the source, too",
    """A word of the target never sees the words before it. Which sequence does each argument of the
    first attention come from?""",
    back="self_attention x memory memory memory_mask",
)


wrong(
    "keys come from the source, values from the target",
    "Where a key belongs to a word of the source, what should its value belong to?",
    across="cross_attention x memory x memory_mask",
)


wrong(
    "values come from the source, keys from the target",
    """A weight says how much of a value is taken. With which words are your queries compared, and
    whose values are taken?""",
    across="cross_attention x x memory memory_mask",
)


wrong(
    "the memory needs no mask",
    """Padding of the source gets weight in the second attention. Does each argument of `forward`
    reach the place where it is needed?""",
    memory_mask=None,
)


wrong(
    "the target needs no mask",
    """A word of the target sees what its mask hides. Does each argument of `forward` reach the
    place where it is needed?""",
    self_mask=None,
)


wrong(
    "the masks change places",
    """Write down the shape of each mask, and the shape of the weights of each attention. Which fits
    which?""",
    back="self_attention x x x memory_mask",
    across="cross_attention x memory memory self_mask",
)


wrong(
    "the cross-attention gets the target's mask",
    """Write down the shape of the weights of the second attention, and the shapes of the two masks.
    Which of them fits?""",
    across="cross_attention x memory memory self_mask",
)


wrong(
    "the self-attention gets the source's mask",
    """Write down the shape of the weights of the first attention, and the shapes of the two masks.
    Which of them fits?""",
    back="self_attention x x x memory_mask",
)


wrong(
    "the memory is keys and values in one",
    """What are the first four arguments of an attention's forward? The mask comes one place too
    early.""",
    across="cross_attention x memory memory_mask",
)


wrong(
    "attention returns one thing",
    """What does MultiHeadAttention return, and which part of that does the layer go on with?""",
    returned=slice(None),
)


wrong(
    "attention returns its weights first",
    """What does MultiHeadAttention return, in which order, and which part of that does the layer go
    on with?""",
    returned=1,
)


wrong(
    "True in a mask means blocked",
    "What does True mean in a mask of this course: may attend, or may not?",
    self_mask=torch.logical_not,
    memory_mask=torch.logical_not,
)


wrong(
    "first the source, then the target",
    "All the parts are there. In which order do the three lines of the formula name them?",
    order=(2, 1, 3),
)


wrong(
    "first the source, then the target, the norms in the order of use",
    "All the parts are there. Which of the two attentions comes first?",
    order=(2, 1, 3),
    norms=(1, 2, 3),
)


wrong(
    "the feed-forward network comes first",
    """All the parts are there. What has a word of the target already seen when it comes to the
    feed-forward network?""",
    order=(3, 1, 2),
)


wrong(
    "the feed-forward network comes between the attentions",
    "All the parts are there. Which is the last of the three?",
    order=(1, 3, 2),
)


wrong(
    "one attention serves both",
    """One of the module's two attentions is never used. Do the words of another language have to be
    asked with the same matrices?""",
    across="self_attention x memory memory memory_mask",
)


@wrong(
    "two names may hold one attention",
    """self_attention and cross_attention are one and the same module in your layer. How many
    attentions did you make?""",
    rule="made",
)
def with_one_attention(self):
    self.cross_attention = self.self_attention


wrong(
    "one norm serves all three",
    "Two of the three norms are never used. Which part does each belong to?",
    norms=(1, 1, 1),
)


@wrong(
    "two norms are enough",
    "An encoder layer has two norms. How many parts does this layer have?",
    rule="made",
)
def with_two_norms(self):
    del self.norm_3


wrong(
    "norms stand after the sum, whatever is asked",
    "Right for post-norm. What does your layer do otherwise when it is made with norm_first=True?",
    pre=post_norm,
)


wrong(
    "norms stand before each part, whatever is asked",
    "Right for pre-norm. What does your layer do when norm_first is left at its default?",
    post=pre_norm,
)


@wrong(
    "after pre-norm comes post-norm",
    """In pre-norm x goes through all parts twice. What does your forward do after the lines for
    norm_first?""",
)
class InBothOrders(Steps):
    def forward(self, x, *others):
        if self.norm_first:
            x = Steps.forward(self, x, *others)
            self.norm_first = False
            x = Steps.forward(self, x, *others)
            self.norm_first = True
            return x
        return Steps.forward(self, x, *others)


PARTS = "the self-attention", "the cross-attention", "the feed-forward network"
for number, name in enumerate(PARTS):
    wrong(
        f"in post-norm the sum after {name} stays as it is",
        f"In post-norm, look at the sum after {name}. What happens to it before it goes on?",
    )(subclass(Steps, post=only(number, 3, without_norm, post_norm)))
    wrong(
        f"in pre-norm {name} reads the sum as it is",
        f"In pre-norm, what does {name} read: the sum itself?",
    )(subclass(Steps, pre=only(number, 3, without_norm, pre_norm)))
    wrong(
        f"what {name} returns is not dropped",
        f"In train mode, what should happen to the output of {name} before it is added?",
    )(
        subclass(
            Steps,
            post=only(number, 3, undropped_post_norm, post_norm),
            pre=only(number, 3, undropped_pre_norm, pre_norm),
        )
    )


wrong(
    "no part has a residual connection",
    "Your parts replace what came in. What becomes of `x` itself?",
    **WITHOUT_RESIDUAL,
)


wrong(
    "the cross-attention has no residual connection",
    """After your second attention a word has forgotten what it was. Do all three parts end in the
    same way?""",
    post=(post_norm, WITHOUT_RESIDUAL["post"], post_norm),
    pre=(pre_norm, WITHOUT_RESIDUAL["pre"], pre_norm),
)


wrong(
    "pre-norm adds to the normalised input",
    """In pre-norm the sum that runs from part to part is never normalised itself. To what do you
    add the result of each part?""",
    pre=pre_norm_without_stream,
)


@wrong(
    "the memory is normalised like the queries",
    "In pre-norm each norm is for the target. What else do you pass through one of them?",
    rule="forward",
)
def with_normalised_memory(self, x, memory, *masks):
    return Steps.forward(self, x, self.norm_2(memory) if self.norm_first else memory, *masks)


wrong(
    "nothing but the feed-forward network drops anything",
    "In train mode, what becomes of a part's result before it is added to the residual?",
    dropping=nn.Identity,
)


wrong(
    "the sum is dropped, not the part's result",
    "Dropout should thin out what a part adds. Does yours reach the residual, too?",
    **DROPPING_THE_SUM,
)


wrong(
    "dropout is always on",
    "In eval mode nothing should be dropped. How does your dropout know the mode?",
    dropping=AlwaysDropping,
)


wrong(
    "the feed-forward network is made without dropout",
    "There is one more dropout, inside the feed-forward network. How does it get its rate?",
    made=without_inner_dropout,
)


@right
class LayerOfOtherParts(Steps):
    """PyTorch's norms, and an attention of its own."""

    def __init__(self, d_model, num_heads, *others):
        super().__init__(d_model, num_heads, *others)
        self.self_attention = by_einsum(d_model, num_heads)
        self.cross_attention = by_einsum(d_model, num_heads)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model) for _ in range(3))


@right
class LayerOnTopOfAnEncoderLayer(EncoderLayer):
    """An encoder layer with a cross-attention put between its two halves."""

    def __init__(self, d_model, num_heads, *others):
        super().__init__(d_model, num_heads, *others)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        def look_back(x):
            return self.self_attention(x, x, x, self_mask)[0]

        def look_across(x):
            return self.cross_attention(x, memory, memory, memory_mask)[0]

        step = pre_norm if self.norm_first else post_norm
        x = step(self, x, look_back, self.norm_1)
        x = step(self, x, look_across, self.norm_2)
        return step(self, x, self.feed_forward, self.norm_3)
