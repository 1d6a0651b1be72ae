"""A decoder layer: self-attention, cross-attention and a feed-forward network."""

import numpy as np
import torch
from torch import nn

from autograder.authoring.checks import Checks
from autograder.authoring.draw import mask, module_case, normal
from autograder.authoring.drawn import drawn
from autograder.checks.ch07_layers import (
    DROPPING_THE_SUM,
    WITHOUT_RESIDUAL,
    AlwaysDropping,
    post_norm,
    pre_norm,
    pre_norm_without_stream,
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
from solutions.ch07_layers import EncoderLayer, FeedForward, LayerNorm


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
        quiet: beginnings of the names of weights that are made 0.
    """
    constructor = (*sizes, dropout)
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
    for name in case["weights"]:
        if name.startswith(tuple(quiet)):
            case["weights"][name].zero_()
    if quiet:  # nothing but dropout switches a feature off
        case["weights"]["feed_forward.linear_1.bias"] += 5
    return case


def some_words(rng, batch, src_len):
    """Draw the padding mask of sources of which each has some words and some padding."""
    lengths = torch.from_numpy(
        rng.permutation(np.arange(1, src_len))[np.arange(batch) % (src_len - 1)]
    )
    return (torch.arange(src_len) < lengths[:, None])[:, None, None]


@drawn
def layer_in_half(rng, dtype):
    """Make inputs in half precision in which the parts add little to the residual, and so do their
    rounding errors.
    """
    case = layer_case(rng, norm_first=True, dtype=dtype)
    for name, weight in case["weights"].items():
        if ".w_o." in name or ".linear_2." in name:
            weight *= 0.25
    return case


def layer_with_a_mask_of_any_kind(rng):
    """Masks that differ from query to query, and the memory's even from head to head."""
    case = layer_case(rng, tgt_len=4, src_len=3)
    case["forward"]["self_mask"] = mask(rng, 2, 1, 4, 4)
    case["forward"]["memory_mask"] = mask(rng, 2, 2, 4, 3)
    return case


def a_later_word_changes(rng):
    case = layer_case(rng, batch=1, tgt_len=4, src_len=3)
    x = case["forward"]["x"].clone()
    x[:, 2] += 1 + normal(rng, 4, dtype=x.dtype)
    return {**case, "changed": {"x": x}}


def hidden_memory_changes(rng):
    """The memory changes where the mask hides it in the first sentence, and nothing hides it in the
    second.
    """
    case = layer_case(rng, tgt_len=2, src_len=3)
    case["forward"]["memory_mask"] = torch.tensor([[True, True, False], [True, True, True]])[
        :, None, None
    ]
    memory = case["forward"]["memory"].clone()
    memory[:, 2] += 1 + normal(rng, 4, dtype=memory.dtype)
    return {**case, "changed": {"memory": memory}}


@drawn
def a_new_layer(rng, d_model, num_heads, spread):
    constructor = {
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": int(rng.integers(3, 3 + spread)),
    }
    return {
        "constructor": constructor,
        "shown": ["norm_1.weight", "norm_2.bias", "norm_3.weight"],
    }


def layer_with(
    back=lambda x, memory, self_mask, memory_mask: (x, x, x, self_mask),
    across=lambda x, memory, self_mask, memory_mask: (x, memory, memory, memory_mask),
    attentions=("self_attention", "cross_attention"),
    order=(1, 2, 3),
    norms=(1, 2, 3),
    post=post_norm,
    pre=pre_norm,
    dropout=nn.Dropout,
):
    """Make a decoder layer from rules: what the two attentions are given and which they are, the
    order of the three parts and of their norms, and how a part's result is added; `post` and `pre`
    may have a rule for each part.
    """

    class DecoderLayer(reference.DecoderLayer):
        def __init__(self, d_model, num_heads, d_ff, dropout_=0.0, norm_first=False):
            super().__init__(d_model, num_heads, d_ff, dropout_, norm_first)
            self.dropout = dropout(dropout_)

        def forward(self, x, memory, self_mask=None, memory_mask=None):
            first, second = (getattr(self, name) for name in attentions)
            parts = (
                lambda x: first(*back(x, memory, self_mask, memory_mask))[0],
                lambda x: second(*across(x, memory, self_mask, memory_mask))[0],
                self.feed_forward,
            )
            add = pre if self.norm_first else post
            for part, norm in zip(order, norms, strict=True):
                step = add[part - 1] if isinstance(add, tuple) else add
                x = step(x, parts[part - 1], getattr(self, f"norm_{norm}"), self.dropout)
            return x

    return DecoderLayer


class AttentionByEinsum(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.num_heads = num_heads

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(each).reshape(*each.shape[:2], self.num_heads, -1)
            for layer, each in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        return self.w_o(torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2))


def blocked(mask):
    return None if mask is None else ~mask


ATTENTIONS = ("self_attention.w_o", "cross_attention.w_o")


checks = Checks(
    reference.DecoderLayer,
    family=layer_with,
    shortcuts="TransformerDecoderLayer TransformerDecoder",
)
shown, hidden, wrong, right = checks.words

shown("a short target, a longer source", layer_case(masks="none"), weight=2)
shown("with a mask for each attention", layer_case(), weight=2)
shown("target and source of one length", layer_case(tgt_len=4, src_len=4))
shown("pre-norm", layer_case(norm_first=True))
shown("masks of any kind", layer_with_a_mask_of_any_kind)
shown("a later word changes nothing before it", a_later_word_changes, probe=moved)
shown("where the memory is masked, it may hold anything", hidden_memory_changes, probe=moved)
shown("in eval mode nothing is dropped, even with dropout=1", layer_case(batch=1, dropout=1.0))
shown(
    "half of the features in the feed-forward network, half of its result",
    layer_case(1, 1, 2, (2, 1, 2), 0.5, True, "none", quiet=ATTENTIONS, train=True),
    probe=extremes,
)
shown("gradients", layer_case(1, 2, 3, (4, 1, 2), masks="none"), probe=gradients)
shown("a new layer has these parameters", a_new_layer(6, 2, 9), probe=at_the_start)
shown("float32 stays float32", layer_case(1, 2, 3, dtype=torch.float32))
shown("the arguments stay as they were", layer_case(1, 2, 2), probe=arguments_after)
hidden("three heads, another shape", layer_case(3, 4, 2, (6, 3, 5)), weight=2)
hidden("pre-norm, another shape", layer_case(2, 2, 4, (6, 2, 7), norm_first=True), weight=2)
hidden("all sizes equal", layer_case(4, 4, 4, (4, 1, 4), masks="none"))
hidden("all sizes equal, with masks", layer_case(3, 3, 3, (3, 1, 3)))
hidden("a mask for the target alone", layer_case(masks="self"))
hidden("a mask for the source alone", layer_case(masks="memory"))
hidden("a source of one word", layer_case(2, 3, 1, masks="self"))
hidden("pre-norm: a later word changes nothing before it", a_later_word_changes, probe=moved)
hidden("gradients under masks, pre-norm", layer_case(norm_first=True), probe=gradients)
hidden(
    "a longer target in eval mode, with dropout=1",
    layer_case(2, 6, 3, dropout=1.0, norm_first=True),
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
hidden("a new layer of another size", a_new_layer(8, 4, 9), probe=at_the_start)
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
    across=lambda x, memory, self_mask, memory_mask: (x, x, x, self_mask),
)


wrong(
    "the memory asks, and the target answers",
    """There must be one result for each position of the target. Whose positions ask in your second
    attention?""",
    across=lambda x, memory, self_mask, memory_mask: (memory, x, x),
)


wrong(
    "the memory asks, under its mask",
    """There must be one result for each position of the target. Whose positions ask in your second
    attention?""",
    across=lambda x, memory, self_mask, memory_mask: (memory, x, x, memory_mask),
)


wrong(
    "the first attention looks at the source, too",
    """A word of the target never sees the words before it. Which sequence does each argument of the
    first attention come from?""",
    back=lambda x, memory, self_mask, memory_mask: (x, memory, memory, memory_mask),
)


wrong(
    "keys come from the source, values from the target",
    "Where a key belongs to a word of the source, what should its value belong to?",
    across=lambda x, memory, self_mask, memory_mask: (x, memory, x, memory_mask),
)


wrong(
    "values come from the source, keys from the target",
    """A weight says how much of a value is taken. With which words are your queries compared, and
    whose values are taken?""",
    across=lambda x, memory, self_mask, memory_mask: (x, x, memory, memory_mask),
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
    back=lambda x, memory, self_mask, memory_mask: (x, x, x, memory_mask),
    across=lambda x, memory, self_mask, memory_mask: (x, memory, memory, self_mask),
)


wrong(
    "True in a mask means blocked",
    "What does True mean in a mask of this course: may attend, or may not?",
    self_mask=blocked,
    memory_mask=blocked,
)


wrong(
    "first the source, then the target",
    "All the parts are there. In which order do the three lines of the formula name them?",
    order=(2, 1, 3),
    norms=(2, 1, 3),
)


wrong(
    "first the source, then the target, the norms in the order of use",
    "All the parts are there. Which of the two attentions comes first?",
    order=(2, 1, 3),
)


wrong(
    "the feed-forward network comes first",
    """All the parts are there. What has a word of the target already seen when it comes to the
    feed-forward network?""",
    order=(3, 1, 2),
    norms=(3, 1, 2),
)


wrong(
    "the feed-forward network comes between the attentions",
    "All the parts are there. Which is the last of the three?",
    order=(1, 3, 2),
    norms=(1, 3, 2),
)


wrong(
    "one attention serves both",
    """One of the module's two attentions is never used. Do the words of another language have to be
    asked with the same matrices?""",
    attentions=("self_attention", "self_attention"),
)


@wrong(
    "two names may hold one attention",
    """self_attention and cross_attention are one and the same module in your layer. How many
    attentions did you make?""",
)
class WithOneAttention(reference.DecoderLayer):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.cross_attention = self.self_attention


wrong(
    "one norm serves all three",
    "Two of the three norms are never used. Which part does each belong to?",
    norms=(1, 1, 1),
)


@wrong(
    "two norms are enough",
    "An encoder layer has two norms. How many parts does this layer have?",
)
class WithTwoNorms(layer_with(norms=(1, 1, 2))):
    def __init__(self, *arguments):
        super().__init__(*arguments)
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
    """In pre-norm the stream from below to above is never normalised itself. To what do you add the
    result of each part?""",
    pre=pre_norm_without_stream,
)


@wrong(
    "the memory is normalised like the queries",
    """In pre-norm the norm belongs to the stream of the target. What do you pass through it
    besides?""",
)
class WithNormalisedMemory(layer_with()):
    def forward(self, x, memory, *masks):
        return super().forward(x, self.norm_2(memory) if self.norm_first else memory, *masks)


wrong(
    "nothing but the feed-forward network drops anything",
    "In train mode, what becomes of a part's result before it is added to the residual?",
    dropout=lambda rate: nn.Identity(),
)


wrong(
    "the sum is dropped, not the part's result",
    "Dropout should thin out what a part adds. Does yours reach the residual, too?",
    **DROPPING_THE_SUM,
)


wrong(
    "dropout is always on",
    "In eval mode nothing should be dropped. How does your dropout know the mode?",
    dropout=AlwaysDropping,
)


@wrong(
    "the feed-forward network is made without dropout",
    "There is one more dropout, inside the feed-forward network. How does it learn its rate?",
)
class WithoutInnerDropout(reference.DecoderLayer):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.feed_forward.dropout.p = 0.0


@right
class LayerOfOtherParts(nn.Module):
    """PyTorch's norms and an attention of its own; a dropout for each part."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__()
        self.self_attention = AttentionByEinsum(d_model, num_heads)
        self.cross_attention = AttentionByEinsum(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.drop_1, self.drop_2, self.drop_3 = (nn.Dropout(dropout) for _ in range(3))
        self.norm_first = norm_first

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        if self.norm_first:
            y = self.norm_1(x)
            x = x + self.drop_1(self.self_attention(y, y, y, self_mask))
            x = x + self.drop_2(self.cross_attention(self.norm_2(x), memory, memory, memory_mask))
            return x + self.drop_3(self.feed_forward(self.norm_3(x)))
        x = self.norm_1(x + self.drop_1(self.self_attention(x, x, x, self_mask)))
        x = self.norm_2(x + self.drop_2(self.cross_attention(x, memory, memory, memory_mask)))
        return self.norm_3(x + self.drop_3(self.feed_forward(x)))


@right
class LayerOnTopOfAnEncoderLayer(EncoderLayer):
    """An encoder layer with a cross-attention put between its two halves."""

    def __init__(self, d_model, *others):
        super().__init__(d_model, *others)
        self.cross_attention = MultiHeadAttention(d_model, others[0])
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        before, after = (lambda norm, x: norm(x), lambda norm, x: x)[
            :: 1 if self.norm_first else -1
        ]
        y = before(self.norm_1, x)
        x = after(self.norm_1, x + self.dropout(self.self_attention(y, y, y, self_mask)[0]))
        y = before(self.norm_2, x)
        looked = self.cross_attention(y, memory, memory, memory_mask)[0]
        x = after(self.norm_2, x + self.dropout(looked))
        y = before(self.norm_3, x)
        return after(self.norm_3, x + self.dropout(self.feed_forward(y)))
