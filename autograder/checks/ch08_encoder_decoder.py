"""Checks of `ch08_encoder_decoder`.

Several cases set dropout to 1: then everything that passes a dropout in train mode is exactly 0,
and nothing is left to chance. Others stack no layers at all, so that what goes into a stack is seen
as it is. The contract leaves open, and so nothing here asks: a source of nothing but padding, and a
target that begins with padding. A case about gradients has no padding: `padding_idx` is as good as
none.
"""

import copy
import math

import numpy as np
import torch
from torch import nn

from autograder.authoring.draw import mask, module_case, normal, padded, words
from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    decoded,
    extremes,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch08_encoder_decoder as reference
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import causal_mask, decoder_mask, padding_mask
from solutions.ch07_layers import EncoderLayer, FeedForward, LayerNorm

# --- DecoderLayer
# ----------------------------------------------------------------------------------------------------


def layer_case(
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

    def inputs(rng):
        constructor = {
            **dict(zip(("d_model", "num_heads", "d_ff"), sizes, strict=True)),
            "dropout": dropout,
        }
        if norm_first:
            constructor["norm_first"] = True
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

    return inputs


def some_words(rng, batch, src_len):
    """Draw the padding mask of sources of which each has some words and some padding."""
    lengths = torch.from_numpy(
        rng.permutation(np.arange(1, src_len))[np.arange(batch) % (src_len - 1)]
    )
    return (torch.arange(src_len) < lengths[:, None])[:, None, None]


def layer_in_half(dtype):
    """Make inputs in half precision in which the parts add little to the residual, and so do their
    rounding errors.
    """

    def inputs(rng):
        case = layer_case(norm_first=True, dtype=dtype)(rng)
        for name, weight in case["weights"].items():
            if ".w_o." in name or ".linear_2." in name:
                weight *= 0.25
        return case

    return inputs


def layer_with_a_mask_of_any_kind(rng):
    """Masks that differ from query to query, and the memory's even from head to head."""
    case = layer_case(tgt_len=4, src_len=3)(rng)
    case["forward"]["self_mask"] = mask(rng, 2, 1, 4, 4)
    case["forward"]["memory_mask"] = mask(rng, 2, 2, 4, 3)
    return case


def a_later_word_changes(rng):
    case = layer_case(batch=1, tgt_len=4, src_len=3)(rng)
    x = case["forward"]["x"].clone()
    x[:, 2] += 1 + normal(rng, 4, dtype=x.dtype)
    return {**case, "changed": {"x": x}}


def hidden_memory_changes(rng):
    """The memory changes where the mask hides it in the first sentence, and nothing hides it in the
    second.
    """
    case = layer_case(tgt_len=2, src_len=3)(rng)
    case["forward"]["memory_mask"] = torch.tensor([[True, True, False], [True, True, True]])[
        :, None, None
    ]
    memory = case["forward"]["memory"].clone()
    memory[:, 2] += 1 + normal(rng, 4, dtype=memory.dtype)
    return {**case, "changed": {"memory": memory}}


def a_new_layer(d_model, num_heads, spread):
    def inputs(rng):
        constructor = {
            "d_model": d_model,
            "num_heads": num_heads,
            "d_ff": int(rng.integers(3, 3 + spread)),
        }
        return {
            "constructor": constructor,
            "shown": ["norm_1.weight", "norm_2.bias", "norm_3.weight"],
        }

    return inputs


def look_back(self, x, memory, self_mask, memory_mask):
    return self.self_attention(x, x, x, self_mask)[0]


def look_across(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(x, memory, memory, memory_mask)[0]


def think(self, x, *others):
    return self.feed_forward(x)


def branch_then_add(self, x, branch, norm):
    if self.norm_first:
        return x + self.dropout(branch(norm(x)))
    return norm(x + self.dropout(branch(x)))


def layer_with(
    steps=(look_back, look_across, think), add=branch_then_add, norms=("norm_1", "norm_2", "norm_3")
):
    """Make a decoder layer from its steps in order, the norm of each, and the way in which a step's
    result is added.
    """

    class DecoderLayer(reference.DecoderLayer):
        def forward(self, x, memory, self_mask=None, memory_mask=None):
            for step, norm in zip(steps, norms, strict=True):

                def branch(x, step=step):
                    return step(self, x, memory, self_mask, memory_mask)

                x = add(self, x, branch, getattr(self, norm))
            return x

    return DecoderLayer


def across_to_itself(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(x, x, x, self_mask)[0]


def across_from_the_memory(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(memory, x, x)[0]


def across_from_the_memory_under_its_mask(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(memory, x, x, memory_mask)[0]


def across_with_own_values(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(x, memory, x, memory_mask)[0]


def across_with_own_keys(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(x, x, memory, memory_mask)[0]


def across_without_mask(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(x, memory, memory)[0]


def back_without_mask(self, x, memory, self_mask, memory_mask):
    return self.self_attention(x, x, x)[0]


def back_with_the_other_mask(self, x, memory, self_mask, memory_mask):
    return self.self_attention(x, x, x, memory_mask)[0]


def back_to_the_memory(self, x, memory, self_mask, memory_mask):
    return self.self_attention(x, memory, memory, memory_mask)[0]


def across_with_the_other_mask(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(x, memory, memory, self_mask)[0]


def back_blocking(self, x, memory, self_mask, memory_mask):
    return self.self_attention(x, x, x, None if self_mask is None else ~self_mask)[0]


def across_blocking(self, x, memory, self_mask, memory_mask):
    return self.cross_attention(x, memory, memory, None if memory_mask is None else ~memory_mask)[0]


def across_with_the_first_attention(self, x, memory, self_mask, memory_mask):
    return self.self_attention(x, memory, memory, memory_mask)[0]


def across_to_a_normalised_memory(self, x, memory, self_mask, memory_mask):
    memory = self.norm_2(memory) if self.norm_first else memory
    return self.cross_attention(x, memory, memory, memory_mask)[0]


def always_after(self, x, branch, norm):
    return norm(x + self.dropout(branch(x)))


def always_before(self, x, branch, norm):
    return x + self.dropout(branch(norm(x)))


def without_residual(self, x, branch, norm):
    return self.dropout(branch(norm(x))) if self.norm_first else norm(self.dropout(branch(x)))


def adding_to_the_normalised(self, x, branch, norm):
    if not self.norm_first:
        return branch_then_add(self, x, branch, norm)
    x = norm(x)
    return x + self.dropout(branch(x))


def without_dropout(self, x, branch, norm):
    return x + branch(norm(x)) if self.norm_first else norm(x + branch(x))


def dropping_the_sum(self, x, branch, norm):
    return (
        self.dropout(x + branch(norm(x))) if self.norm_first else norm(self.dropout(x + branch(x)))
    )


def dropping_always(self, x, branch, norm):
    def drop(y):
        return nn.functional.dropout(y, self.dropout.p)

    return x + drop(branch(norm(x))) if self.norm_first else norm(x + drop(branch(x)))


class LayerWithoutInnerDropout(reference.DecoderLayer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__(d_model, num_heads, d_ff, dropout, norm_first)
        self.feed_forward = FeedForward(d_model, d_ff)


class LayerWithOneAttention(reference.DecoderLayer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__(d_model, num_heads, d_ff, dropout, norm_first)
        self.cross_attention = self.self_attention


class LayerWithTwoNorms(reference.DecoderLayer):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        del self.norm_3

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return layer_with(norms=("norm_1", "norm_1", "norm_2")).forward(
            self, x, memory, self_mask, memory_mask
        )


class LayerWithoutCrossResidual(reference.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        arguments = memory, self_mask, memory_mask
        x = branch_then_add(self, x, lambda x: look_back(self, x, *arguments), self.norm_1)
        x = without_residual(self, x, lambda x: look_across(self, x, *arguments), self.norm_2)
        return branch_then_add(self, x, self.feed_forward, self.norm_3)


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


class LayerOnTopOfAnEncoderLayer(EncoderLayer):
    """An encoder layer with a cross-attention put between its two halves."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__(d_model, num_heads, d_ff, dropout, norm_first)
        self.p = dropout
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        before, after = (lambda norm, x: norm(x), lambda norm, x: x)[
            :: 1 if self.norm_first else -1
        ]

        def drop(y):
            return nn.functional.dropout(y, self.p, self.training)

        y = before(self.norm_1, x)
        x = after(self.norm_1, x + drop(self.self_attention(y, y, y, self_mask)[0]))
        y = before(self.norm_2, x)
        x = after(self.norm_2, x + drop(self.cross_attention(y, memory, memory, memory_mask)[0]))
        y = before(self.norm_3, x)
        return after(self.norm_3, x + drop(self.feed_forward(y)))


ATTENTIONS = ("self_attention.w_o", "cross_attention.w_o")
DECODER_LAYER = Exercise(
    reference=reference.DecoderLayer,
    cases=(
        Case("a short target, a longer source", layer_case(masks="none"), weight=2),
        Case("with a mask for each attention", layer_case(), weight=2),
        Case("target and source of one length", layer_case(tgt_len=4, src_len=4)),
        Case("pre-norm", layer_case(norm_first=True)),
        Case("masks of any kind", layer_with_a_mask_of_any_kind),
        Case("a later word changes nothing before it", a_later_word_changes, probe=moved),
        Case(
            "where the memory is masked, it may hold anything", hidden_memory_changes, probe=moved
        ),
        Case(
            "in eval mode nothing is dropped, even with dropout=1", layer_case(batch=1, dropout=1.0)
        ),
        Case(
            "half of the features in the feed-forward network, half of its result",
            layer_case(1, 1, 2, (2, 1, 2), 0.5, True, "none", quiet=ATTENTIONS, train=True),
            probe=extremes,
        ),
        Case("gradients", layer_case(1, 2, 3, (4, 1, 2), masks="none"), probe=gradients),
        Case("a new layer has these parameters", a_new_layer(6, 2, 9), probe=at_the_start),
        Case("float32 stays float32", layer_case(1, 2, 3, dtype=torch.float32)),
        Case("the arguments stay as they were", layer_case(1, 2, 2), probe=arguments_after),
        Case("three heads, another shape", layer_case(3, 4, 2, (6, 3, 5)), visible=False, weight=2),
        Case(
            "pre-norm, another shape",
            layer_case(2, 2, 4, (6, 2, 7), norm_first=True),
            visible=False,
            weight=2,
        ),
        Case("all sizes equal", layer_case(4, 4, 4, (4, 1, 4), masks="none"), visible=False),
        Case("all sizes equal, with masks", layer_case(3, 3, 3, (3, 1, 3)), visible=False),
        Case("a mask for the target alone", layer_case(masks="self"), visible=False),
        Case("a mask for the source alone", layer_case(masks="memory"), visible=False),
        Case("a source of one word", layer_case(2, 3, 1, masks="self"), visible=False),
        Case(
            "pre-norm: a later word changes nothing before it",
            a_later_word_changes,
            probe=moved,
            visible=False,
        ),
        Case(
            "gradients under masks, pre-norm",
            layer_case(norm_first=True),
            probe=gradients,
            visible=False,
        ),
        Case(
            "a longer target in eval mode, with dropout=1",
            layer_case(2, 6, 3, dropout=1.0, norm_first=True),
            visible=False,
        ),
        Case(
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
            visible=False,
        ),
        Case(
            "a quarter of the feed-forward network is dropped",
            layer_case(1, 1, 2, (2, 1, 2), 0.25, True, "none", quiet=ATTENTIONS, train=True),
            probe=extremes,
            visible=False,
        ),
        Case(
            "a new layer of another size", a_new_layer(8, 4, 9), probe=at_the_start, visible=False
        ),
        Case("bfloat16 stays bfloat16", layer_in_half(torch.bfloat16), visible=False),
        Case("float16 stays float16", layer_in_half(torch.float16), visible=False),
        Case(
            "tensors that do not lie in one piece",
            layer_case(),
            probe=returned_for_views,
            visible=False,
        ),
        Case(
            "the arguments stay as they were, pre-norm",
            layer_case(norm_first=True),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "the second attention looks at the target, too",
            layer_with((look_back, across_to_itself, think)),
            "Change the memory, and your result stays the same. Which of the three arguments of the"
            " second attention should know of the source?",
        ),
        Misconception(
            "the memory asks, and the target answers",
            layer_with((look_back, across_from_the_memory, think)),
            "There must be one result for each position of the target. Whose positions ask in your"
            " second attention?",
        ),
        Misconception(
            "the memory asks, under its mask",
            layer_with((look_back, across_from_the_memory_under_its_mask, think)),
            "There must be one result for each position of the target. Whose positions ask in your"
            " second attention?",
        ),
        Misconception(
            "the first attention looks at the source, too",
            layer_with((back_to_the_memory, look_across, think)),
            "A word of the target never sees the words before it. Which sequence does each argument"
            " of the first attention come from?",
        ),
        Misconception(
            "keys come from the source, values from the target",
            layer_with((look_back, across_with_own_values, think)),
            "Where a key belongs to a word of the source, what should its value belong to?",
        ),
        Misconception(
            "values come from the source, keys from the target",
            layer_with((look_back, across_with_own_keys, think)),
            "A weight says how much of a value is taken. With which words are your queries"
            " compared, and whose values are taken?",
        ),
        Misconception(
            "the memory needs no mask",
            layer_with((look_back, across_without_mask, think)),
            "Padding of the source gets weight in the second attention. Does each argument of"
            " `forward` reach the place where it is needed?",
        ),
        Misconception(
            "the target needs no mask",
            layer_with((back_without_mask, look_across, think)),
            "A word of the target sees what its mask hides. Does each argument of `forward` reach"
            " the place where it is needed?",
        ),
        Misconception(
            "the masks change places",
            layer_with((back_with_the_other_mask, across_with_the_other_mask, think)),
            "Write down the shape of each mask, and the shape of the weights of each attention."
            " Which fits which?",
        ),
        Misconception(
            "True in a mask means blocked",
            layer_with((back_blocking, across_blocking, think)),
            "What does True mean in a mask of this course: may attend, or may not?",
        ),
        Misconception(
            "first the source, then the target",
            layer_with((look_across, look_back, think), norms=("norm_2", "norm_1", "norm_3")),
            "All the parts are there. In which order do the three lines of the formula name them?",
        ),
        Misconception(
            "first the source, then the target, the norms in the order of use",
            layer_with((look_across, look_back, think)),
            "All the parts are there. Which of the two attentions comes first?",
        ),
        Misconception(
            "the feed-forward network comes first",
            layer_with((think, look_back, look_across), norms=("norm_3", "norm_1", "norm_2")),
            "All the parts are there. What has a word of the target already seen when it comes to"
            " the feed-forward network?",
        ),
        Misconception(
            "the feed-forward network comes between the attentions",
            layer_with((look_back, think, look_across), norms=("norm_1", "norm_3", "norm_2")),
            "All the parts are there. Which is the last of the three?",
        ),
        Misconception(
            "one attention serves both",
            layer_with((look_back, across_with_the_first_attention, think)),
            "One of the module's two attentions is never used. Do the words of another language"
            " have to be asked with the same matrices?",
        ),
        Misconception(
            "two names may hold one attention",
            LayerWithOneAttention,
            "self_attention and cross_attention are one and the same module in your layer. How many"
            " attentions did you make?",
        ),
        Misconception(
            "one norm serves all three",
            layer_with(norms=("norm_1", "norm_1", "norm_1")),
            "Two of the three norms are never used. Which part does each belong to?",
        ),
        Misconception(
            "two norms are enough",
            LayerWithTwoNorms,
            "An encoder layer has two norms. How many parts does this layer have?",
        ),
        Misconception(
            "norms stand after the sum, whatever is asked",
            layer_with(add=always_after),
            "Right for post-norm. What does your layer do otherwise when it is made with"
            " norm_first=True?",
        ),
        Misconception(
            "norms stand before each part, whatever is asked",
            layer_with(add=always_before),
            "Right for pre-norm. What does your layer do when norm_first is left at its default?",
        ),
        Misconception(
            "no part has a residual connection",
            layer_with(add=without_residual),
            "Your parts replace what came in. What becomes of `x` itself?",
        ),
        Misconception(
            "the cross-attention has no residual connection",
            LayerWithoutCrossResidual,
            "After your second attention a word has forgotten what it was. Do all three parts end"
            " in the same way?",
        ),
        Misconception(
            "pre-norm adds to the normalised input",
            layer_with(add=adding_to_the_normalised),
            "In pre-norm the stream from below to above is never normalised itself. To what do you"
            " add the result of each part?",
        ),
        Misconception(
            "the memory is normalised like the queries",
            layer_with((look_back, across_to_a_normalised_memory, think)),
            "In pre-norm the norm belongs to the stream of the target. What do you pass through it"
            " besides?",
        ),
        Misconception(
            "nothing but the feed-forward network drops anything",
            layer_with(add=without_dropout),
            "In train mode, what becomes of a part's result before it is added to the residual?",
        ),
        Misconception(
            "the sum is dropped, not the part's result",
            layer_with(add=dropping_the_sum),
            "Dropout should thin out what a part adds. Does yours reach the residual, too?",
        ),
        Misconception(
            "dropout is always on",
            layer_with(add=dropping_always),
            "In eval mode nothing should be dropped. How does your dropout know the mode?",
        ),
        Misconception(
            "the feed-forward network is made without dropout",
            LayerWithoutInnerDropout,
            "There is one more dropout, inside the feed-forward network. How does it learn its"
            " rate?",
        ),
    ),
    alternatives=(layer_with(), LayerOfOtherParts, LayerOnTopOfAnEncoderLayer),
    shortcuts=("TransformerDecoderLayer", "TransformerDecoder"),
)

# --- Transformer
# -----------------------------------------------------------------------------------------------------

SIZES = ("d_model", "num_heads", "num_encoder_layers", "num_decoder_layers", "d_ff")


def model_case(
    src_lengths=(4, 4),
    tgt_lengths=(3, 3),
    vocab=(7, 6),
    sizes=(4, 2, 1, 1, 3),
    dropout=0.0,
    pad_id=0,
    norm_first=False,
    dtype=torch.float64,
    method="forward",
    **parts,
):
    """Make the inputs of a case.

    Args:
        src_lengths, tgt_lengths: words of each sentence; the longest has no padding.
        vocab: sizes of the two vocabularies, above 4.
        sizes: the numbers that `SIZES` names.
    """

    def inputs(rng):
        constructor = {
            "src_vocab_size": vocab[0],
            "tgt_vocab_size": vocab[1],
            **dict(zip(SIZES, sizes, strict=True)),
        }
        constructor["dropout"] = dropout
        if pad_id or norm_first:  # in a message, a shorter call reads better
            constructor |= {"pad_id": pad_id, "norm_first": norm_first}
        src = padded(rng, src_lengths, max(src_lengths), vocab[0], pad_id)
        tgt = padded(rng, tgt_lengths, max(tgt_lengths), vocab[1], pad_id)
        if pad_id != 1:
            tgt[:, 0] = 1
        memory = normal(rng, *src.shape, sizes[0], dtype=dtype)
        arguments = {
            "forward": {"src": src, "tgt": tgt},
            "encode": {"src": src},
            "decode": {"tgt": tgt, "memory": memory, "src": src},
        }
        named = {} if method == "forward" else {"method": method}
        return module_case(
            rng, reference.Transformer, constructor, arguments[method], dtype, **named, **parts
        )

    return inputs


def a_layer_that_drops(norm_first):
    """Make a case in which four numbers are dropped at random: two of the position, and two of what
    an encoder layer adds to it.
    """

    def inputs(rng):
        case = model_case(
            (1,),
            sizes=(4, 1, 1, 0, 2),
            dropout=0.5,
            norm_first=norm_first,
            method="encode",
            train=True,
        )(rng)
        for name, weight in case["weights"].items():
            if name.startswith(
                (
                    "src_embedding",
                    "encoder.0.self_attention.w_o",
                    "encoder.0.feed_forward.linear_2.weight",
                )
            ):
                weight.zero_()
        case["weights"]["encoder.0.feed_forward.linear_2.bias"][1::2] = 0
        return case

    return inputs


def a_later_target_word_changes(rng):
    case = model_case((3, 2), (4, 4), norm_first=bool(rng.integers(2)))(rng)
    tgt = case["forward"]["tgt"].clone()
    tgt[:, 2] = 9 - tgt[:, 2]  # 4 becomes 5, and 5 becomes 4
    return {**case, "changed": {"tgt": tgt}}


def a_later_source_word_changes(rng):
    """In the encoder every word sees the change, in the first sentence the padding, too."""
    case = model_case((3, 4), vocab=(6, 6), method="encode")(rng)
    src = case["forward"]["src"].clone()
    src[:, 2] = 9 - src[:, 2]
    return {**case, "changed": {"src": src}}


def memory_of_padding_changes(rng):
    case = model_case((2, 4), (2, 3), method="decode")(rng)
    memory = case["forward"]["memory"].clone()
    memory[:, 3] += 1 + normal(rng, 4, dtype=memory.dtype)
    return {**case, "changed": {"memory": memory}}


def a_new_model(norm_first, low=5):
    def inputs(rng):
        src_vocab_size = int(rng.integers(low, low + 9))
        constructor = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": src_vocab_size + 2}
        constructor |= {
            **dict(zip(SIZES, (4, 2, 1, 2, 3), strict=True)),
            "dropout": 0.0,
            "pad_id": 0,
            "norm_first": norm_first,
        }
        return {"constructor": constructor}

    return inputs


def a_new_model_with_defaults(rng):
    """Narrow, so that it is made fast; from the number of layers on the defaults hold."""
    return {
        "constructor": {
            "src_vocab_size": int(rng.integers(5, 30)),
            "tgt_vocab_size": 6,
            "d_model": 8,
        }
    }


def transformer_with(**members):
    """Make a Transformer of which some members are others; the rest is the reference's, in pieces
    that can be replaced.
    """
    return type("Transformer", (Pieces,), members)


class Pieces(reference.Transformer):
    def source_mask(self, src):
        return padding_mask(src, self.pad_id)

    def target_mask(self, tgt):
        return decoder_mask(tgt, self.pad_id)

    def memory_mask(self, tgt, src):
        return padding_mask(src, self.pad_id)

    def finished(self, x, norm):
        return getattr(self, norm)(x) if self.norm_first else x

    def encode(self, src):
        x = self.embed(src, self.src_embedding)
        for layer in self.encoder:
            x = layer(x, self.source_mask(src))
        return self.finished(x, "encoder_norm")

    def decode(self, tgt, memory, src):
        x = self.embed(tgt, self.tgt_embedding)
        for layer in self.decoder:
            x = layer(x, memory, self.target_mask(tgt), self.memory_mask(tgt, src))
        return self.finished(x, "decoder_norm")


def embedder(scale=math.sqrt, positions=reference.sinusoidal_positions):
    """Make an `embed` from rules for the factor and the positions."""

    def embed(self, token_ids, embedding):
        x = embedding(token_ids) * scale(self.d_model)
        return self.dropout(x + positions(token_ids.shape[1], self.d_model, x.dtype))

    return embed


def positions_from_1(seq_len, d_model, dtype):
    return reference.sinusoidal_positions(seq_len + 1, d_model, dtype)[1:]


def positions_in_float32(seq_len, d_model, dtype):
    return reference.sinusoidal_positions(seq_len, d_model).to(dtype)


def positions_in_half(seq_len, d_model, dtype):
    rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(seq_len).to(dtype)[:, None] * rates.to(dtype)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def positions_in_halves(seq_len, d_model, dtype):
    table = reference.sinusoidal_positions(seq_len, d_model, dtype)
    return torch.cat([table[:, ::2], table[:, 1::2]], dim=-1)


def positions_up_to_512(seq_len, d_model, dtype):
    return reference.sinusoidal_positions(512, d_model, dtype)[:seq_len]


def embed_scaling_the_sum(self, token_ids, embedding):
    x = embedding(token_ids)
    positions = reference.sinusoidal_positions(token_ids.shape[1], self.d_model, x.dtype)
    return self.dropout((x + positions) * math.sqrt(self.d_model))


def embed_without_dropout(self, token_ids, embedding):
    x = embedding(token_ids) * math.sqrt(self.d_model)
    return x + reference.sinusoidal_positions(token_ids.shape[1], self.d_model, x.dtype)


def embed_dropping_words_alone(self, token_ids, embedding):
    x = self.dropout(embedding(token_ids) * math.sqrt(self.d_model))
    return x + reference.sinusoidal_positions(token_ids.shape[1], self.d_model, x.dtype)


def embed_dropping_always(self, token_ids, embedding):
    return nn.functional.dropout(embed_without_dropout(self, token_ids, embedding), self.dropout.p)


def embed_source_alone_with_positions(self, token_ids, embedding):
    if embedding is self.src_embedding:
        return Pieces.embed(self, token_ids, embedding)
    return self.dropout(embedding(token_ids) * math.sqrt(self.d_model))


def decode_reading_the_source_again(self, tgt, memory, src):
    return Pieces.decode(self, tgt, self.encode(src), src)


def decode_under(rule):
    """Make a `decode` from a rule for the mask of the cross-attention, with layers that ask for
    weights, as a learner's do.

    The fused kernel would complain about a mask that does not fit in words of its own, and the two
    mistakes would not be seen to be one.
    """

    def decode(self, tgt, memory, src):
        x = self.embed(tgt, self.tgt_embedding)
        for layer in self.decoder:
            x = layer_with().forward(layer, x, memory, self.target_mask(tgt), rule(self, tgt))
        return self.finished(x, "decoder_norm")

    return decode


def decode_into_logits(self, tgt, memory, src):
    return self.generator(Pieces.decode(self, tgt, memory, src))


def forward_of_logits(self, src, tgt):
    return self.decode(tgt, self.encode(src), src)


def forward_in_probabilities(self, src, tgt):
    return Pieces.forward(self, src, tgt).softmax(-1)


def forward_in_log_probabilities(self, src, tgt):
    return Pieces.forward(self, src, tgt).log_softmax(-1)


def forward_without_generator(self, src, tgt):
    return self.decode(tgt, self.encode(src), src)


def forward_at_the_last_position(self, src, tgt):
    return Pieces.forward(self, src, tgt)[:, -1]


class WithLayersSideBySide(Pieces):
    def encode(self, src):
        x = words = self.embed(src, self.src_embedding)
        for layer in self.encoder:
            x = layer(words, self.source_mask(src))
        return self.finished(x, "encoder_norm")

    def decode(self, tgt, memory, src):
        x = words = self.embed(tgt, self.tgt_embedding)
        for layer in self.decoder:
            x = layer(words, memory, self.target_mask(tgt), self.memory_mask(tgt, src))
        return self.finished(x, "decoder_norm")


class WithOneEmbedding(Pieces):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.tgt_embedding = self.src_embedding


class WithNormsThatAreNotUsed(Pieces):
    def finished(self, x, norm):
        return x


class WithoutFinalNorms(WithNormsThatAreNotUsed):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        if self.norm_first:
            del self.encoder_norm, self.decoder_norm


class WithFinalNormsAlways(Pieces):
    def __init__(self, src_vocab_size, tgt_vocab_size, d_model=512, *others):
        super().__init__(src_vocab_size, tgt_vocab_size, d_model, *others)
        self.encoder_norm, self.decoder_norm = LayerNorm(d_model), LayerNorm(d_model)

    def finished(self, x, norm):
        return getattr(self, norm)(x)


class WithCountsSwapped(Pieces):
    def __init__(
        self,
        src_vocab_size,
        tgt_vocab_size,
        d_model=512,
        num_heads=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        *others,
    ):
        super().__init__(
            src_vocab_size,
            tgt_vocab_size,
            d_model,
            num_heads,
            num_decoder_layers,
            num_encoder_layers,
            *others,
        )


class WithOneLayerManyTimes(Pieces):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.encoder = nn.ModuleList(list(self.encoder[:1]) * len(self.encoder))
        self.decoder = nn.ModuleList(list(self.decoder[:1]) * len(self.decoder))


class WithoutGeneratorBias(Pieces):
    def __init__(self, src_vocab_size, tgt_vocab_size, d_model=512, *others):
        super().__init__(src_vocab_size, tgt_vocab_size, d_model, *others)
        self.generator = nn.Linear(d_model, tgt_vocab_size, bias=False)


class WithPostNormLayers(Pieces):
    """norm_first decides on the final norms, and does not reach the layers."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        for layer in (*self.encoder, *self.decoder):
            layer.norm_first = False


class WithoutDropoutInTheLayers(Pieces):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        for layer in (*self.encoder, *self.decoder):
            layer.dropout.p = layer.feed_forward.dropout.p = 0.0


class InlineTransformer(nn.Module):
    """Masks written where they are needed, chapter 2's positions, PyTorch's norms, and
    `nn.Identity` where there is no norm.
    """

    def __init__(
        self,
        src_vocab_size,
        tgt_vocab_size,
        d_model=512,
        num_heads=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        d_ff=2048,
        dropout=0.1,
        pad_id=0,
        norm_first=False,
    ):
        super().__init__()
        self.pad, self.width = pad_id, d_model
        self.src_embedding = nn.Embedding(src_vocab_size, d_model, padding_idx=pad_id)
        self.tgt_embedding = nn.Embedding(tgt_vocab_size, d_model, padding_idx=pad_id)
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        for _ in range(num_encoder_layers):
            self.encoder.append(EncoderLayer(d_model, num_heads, d_ff, dropout, norm_first))
        for _ in range(num_decoder_layers):
            self.decoder.append(LayerOfOtherParts(d_model, num_heads, d_ff, dropout, norm_first))
        self.encoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.generator = nn.Linear(d_model, tgt_vocab_size)
        self.drop = dropout

    def with_positions(self, x):
        positions = torch.tensor(
            sinusoidal_encoding(x.shape[1], self.width), dtype=x.dtype, device=x.device
        )
        return nn.functional.dropout(
            self.width**0.5 * x + positions[None], self.drop, self.training
        )

    def encode(self, src):
        x = self.with_positions(self.src_embedding(src))
        for layer in self.encoder:
            x = layer(x, src.ne(self.pad)[:, None, None, :])
        return self.encoder_norm(x)

    def decode(self, tgt, memory, src):
        x = self.with_positions(self.tgt_embedding(tgt))
        length = tgt.shape[1]
        past = torch.ones(length, length, dtype=torch.bool, device=tgt.device).tril()
        allowed = past & tgt.ne(self.pad).unsqueeze(1).unsqueeze(2)
        for layer in self.decoder:
            x = layer(
                x, memory, allowed, src.ne(self.pad)[:, None, None, :].expand(-1, 1, length, -1)
            )
        return self.decoder_norm(x)

    def forward(self, src, tgt):
        return self.generator(self.decode(tgt, self.encode(src), src))


class TransformerWithAGrowingTable(Pieces):
    """Keeps the table of positions, and makes a longer one when it must."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.register_buffer("table", torch.empty(0, self.d_model), persistent=False)

    def embed(self, token_ids, embedding):
        x = embedding(token_ids) * math.sqrt(self.d_model)
        length = token_ids.shape[1]
        if len(self.table) < length or self.table.dtype != x.dtype:
            self.table = reference.sinusoidal_positions(
                max(16, 2 * length), self.d_model, x.dtype, x.device
            )
        return self.dropout(x + self.table[:length])


class TransformerOfCopies(Pieces):
    """Layers copied from a first one; masks made full size."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.encoder = nn.ModuleList(copy.deepcopy(layer) for layer in self.encoder)
        self.decoder = nn.ModuleList(copy.deepcopy(layer) for layer in self.decoder)

    def source_mask(self, src):
        return padding_mask(src, self.pad_id).expand(-1, 1, src.shape[1], -1)

    def target_mask(self, tgt):
        return causal_mask(tgt.shape[1]).logical_and(padding_mask(tgt, self.pad_id))


TRANSFORMER = Exercise(
    reference=reference.Transformer,
    cases=(
        Case("two sentences without padding", model_case(), weight=2),
        Case("padding in the source", model_case((2, 4), (3, 3)), weight=2),
        Case("padding in the target", model_case((3, 3), (4, 2))),
        Case(
            "the encoder alone: words, positions, no layer",
            model_case((4, 4), sizes=(4, 1, 0, 0, 2), method="encode"),
        ),
        Case("the encoder alone: one layer", model_case((4, 2), method="encode")),
        Case(
            "the decoder alone, with a memory that it is given",
            model_case((4, 2), (3, 2), method="decode"),
        ),
        Case(
            "three layers in the encoder, two in the decoder",
            model_case((3, 2), (2, 2), sizes=(4, 1, 3, 2, 2)),
        ),
        Case("pre-norm", model_case((3, 2), (2, 3), norm_first=True)),
        Case("padding has another id", model_case((2, 3), (3, 2), pad_id=3)),
        Case("two vocabularies of one size", model_case((3, 2), vocab=(6, 6))),
        Case("a source of 600 words", model_case((600,), (2,), sizes=(4, 1, 1, 1, 2))),
        Case("a later word changes nothing before it", a_later_target_word_changes, probe=moved),
        Case(
            "in the encoder every word sees every other", a_later_source_word_changes, probe=moved
        ),
        Case("padding may hold anything in the memory", memory_of_padding_changes, probe=moved),
        Case(
            "in eval mode nothing is dropped, even with dropout=1",
            model_case((3, 2), (2, 2), dropout=1.0),
        ),
        Case(
            "half of the sum, and half of what a layer adds, is dropped in train mode",
            a_layer_that_drops(norm_first=True),
            probe=extremes,
        ),
        Case("gradients", model_case((3,), (2,), (5, 5), (4, 1, 1, 1, 2)), probe=gradients),
        Case("a new model has these parameters", a_new_model(False), probe=at_the_start),
        Case("float32 stays float32", model_case((3, 2), (2, 2), dtype=torch.float32)),
        Case(
            "more layers, more heads",
            model_case((5, 3), (4, 2), (11, 9), (6, 3, 1, 2, 5)),
            visible=False,
            weight=2,
        ),
        Case(
            "more layers, pre-norm",
            model_case((5, 3), (4, 2), (9, 11), (6, 2, 2, 1, 5), norm_first=True),
            visible=False,
            weight=2,
        ),
        Case(
            "two layers in the decoder, none in the encoder",
            model_case((4, 2), sizes=(4, 2, 0, 2, 2)),
            visible=False,
        ),
        Case(
            "another id of padding, pre-norm",
            model_case((2, 4), (4, 2), pad_id=2, norm_first=True),
            visible=False,
        ),
        Case(
            "the encoder alone, pre-norm",
            model_case((4, 2), norm_first=True, method="encode"),
            visible=False,
        ),
        Case(
            "the decoder alone, pre-norm",
            model_case((4, 2), (2, 3), norm_first=True, method="decode"),
            visible=False,
        ),
        Case(
            "as many words in the target as in the source",
            model_case((4, 2), (4, 3), vocab=(8, 8)),
            visible=False,
        ),
        Case(
            "a source of one word, a target of one word", model_case((1, 1), (1, 1)), visible=False
        ),
        Case(
            "a source of 5,500 words",
            model_case((5500,), (2,), sizes=(4, 1, 0, 1, 2)),
            visible=False,
        ),
        Case(
            "a target of 900 words", model_case((2,), (900,), sizes=(4, 1, 1, 0, 2)), visible=False
        ),
        Case(
            "a later word changes nothing before it, again",
            a_later_target_word_changes,
            probe=moved,
            visible=False,
        ),
        Case(
            "half of the sum, and half of what a post-norm layer adds",
            a_layer_that_drops(norm_first=False),
            probe=extremes,
            visible=False,
        ),
        Case(
            "in eval mode, with dropout=1, the encoder",
            model_case(dropout=1.0, method="encode"),
            visible=False,
        ),
        Case(
            "half of the sum of words and positions is dropped",
            model_case((3,), sizes=(4, 1, 0, 0, 2), dropout=0.5, method="encode", train=True),
            probe=extremes,
            visible=False,
        ),
        Case(
            "gradients through two layers, pre-norm",
            model_case(sizes=(4, 2, 2, 2, 3), norm_first=True),
            probe=gradients,
            visible=False,
        ),
        Case(
            "a new pre-norm model has these parameters",
            a_new_model(True),
            probe=at_the_start,
            visible=False,
        ),
        Case(
            "a new post-norm model of another size",
            a_new_model(False, 20),
            probe=at_the_start,
            visible=False,
        ),
        Case(
            "a new model by default has six layers on each side",
            a_new_model_with_defaults,
            probe=at_the_start,
            visible=False,
        ),
        Case(
            "bfloat16: words and positions far into a text",
            model_case((400,), sizes=(4, 1, 0, 0, 2), dtype=torch.bfloat16, method="encode"),
            visible=False,
        ),
        Case(
            "float16: words and positions",
            model_case((9, 4), sizes=(4, 1, 0, 0, 2), dtype=torch.float16, method="encode"),
            visible=False,
        ),
        Case(
            "token ids that do not lie in one piece",
            model_case((4, 2), (3, 2)),
            probe=returned_for_views,
            visible=False,
        ),
        Case(
            "the token ids stay as they were",
            model_case((4, 2), (3, 2)),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "layers know the order of words by themselves",
            transformer_with(embed=embedder(positions=lambda *sizes: 0)),
            "Shuffle the words of the source, and your memory is shuffled in the same way. What"
            " tells the first word from the last?",
        ),
        Misconception(
            "only the source needs positions",
            transformer_with(embed=embed_source_alone_with_positions),
            "The memory is right. Does the decoder learn where a word of the target stands?",
        ),
        Misconception(
            "embeddings are added as they are",
            transformer_with(embed=embedder(scale=lambda d_model: 1)),
            "Compare the size of the words with that of the positions. What happens to an embedding"
            " before they are added?",
        ),
        Misconception(
            "embeddings are multiplied by d_model",
            transformer_with(embed=embedder(scale=lambda d_model: d_model)),
            "Your words are too loud beside the positions. Which power of d_model do they get?",
        ),
        Misconception(
            "the factor multiplies the positions, too",
            transformer_with(embed=embed_scaling_the_sum),
            "A position's numbers lie between -1 and 1. Do yours still do so when the layers see"
            " them?",
        ),
        Misconception(
            "positions count from 1",
            transformer_with(embed=embedder(positions=positions_from_1)),
            "What is the encoding of the first position? Chapter 2 begins to count where Python"
            " does.",
        ),
        Misconception(
            "sines come first, then cosines",
            transformer_with(embed=embedder(positions=positions_in_halves)),
            "Print the positions that you add, and compare their columns with those of chapter 2.",
        ),
        Misconception(
            "single precision is enough for positions",
            transformer_with(embed=embedder(positions=positions_in_float32)),
            "The numbers agree to seven digits. In which dtype were your positions made, and in"
            " which does the model compute?",
        ),
        Misconception(
            "half precision can count positions",
            transformer_with(embed=embedder(positions=positions_in_half)),
            "Far into a text your neighbours have one and the same position. Which whole numbers"
            " can the model's dtype hold?",
        ),
        Misconception(
            "512 positions are enough",
            transformer_with(embed=embedder(positions=positions_up_to_512)),
            "How many positions does your table have, and how many words may a sentence have?",
        ),
        Misconception(
            "the encoder may look at padding",
            transformer_with(source_mask=lambda self, src: None),
            "In the encoder, words attend to padding. Which mask do your encoder layers get?",
        ),
        Misconception(
            "the decoder may look at the source's padding",
            transformer_with(memory_mask=lambda self, tgt, src: None),
            "The memory is right, but padding of the source gets weight when the decoder reads it."
            " What is `src` good for in `decode`?",
        ),
        Misconception(
            "the decoder reads the memory under the target's mask",
            transformer_with(decode=decode_under(Pieces.target_mask)),
            "The cross-attention has a row for each word of the target and a column for each word"
            " of the source. Whose padding should its mask know?",
        ),
        Misconception(
            "cross-attention hides the padding of the target",
            transformer_with(decode=decode_under(lambda self, tgt: padding_mask(tgt, self.pad_id))),
            "The cross-attention has a column for each word of the source. Whose padding should its"
            " mask know?",
        ),
        Misconception(
            "in the target only the future is hidden",
            transformer_with(target_mask=lambda self, tgt: causal_mask(tgt.shape[1])),
            "Right where there is no padding in the target. Two things must be hidden from a word"
            " there; you hide one.",
        ),
        Misconception(
            "the decoder's words see the future",
            transformer_with(target_mask=lambda self, tgt: padding_mask(tgt, self.pad_id)),
            "Change a word of the target, and your results before it move. The decoder must write"
            " word by word: what may a word see?",
        ),
        Misconception(
            "the encoder may not look ahead either",
            transformer_with(source_mask=lambda self, src: decoder_mask(src, self.pad_id)),
            "The whole source is known from the start. Why should one of its words not look at the"
            " next?",
        ),
        Misconception(
            "padding is 0",
            transformer_with(
                source_mask=lambda self, src: padding_mask(src),
                memory_mask=lambda self, tgt, src: padding_mask(src),
                target_mask=lambda self, tgt: decoder_mask(tgt),
            ),
            "Right as long as padding is 0. What has become of the argument that says which id it"
            " has?",
        ),
        Misconception(
            "decode returns logits",
            transformer_with(decode=decode_into_logits, forward=forward_of_logits),
            "Your `forward` is right. What should `decode` return: a vector for each position, or"
            " scores for each word?",
        ),
        Misconception(
            "the result are probabilities",
            transformer_with(forward=forward_in_probabilities),
            "Your rows sum to 1. Should they yet, when the docstring says logits?",
        ),
        Misconception(
            "the result are log-probabilities",
            transformer_with(forward=forward_in_log_probabilities),
            "Your results differ from the right ones by one number for each row. What did you do"
            " after the last linear layer?",
        ),
        Misconception(
            "the decoder's vectors are the result",
            transformer_with(forward=forward_without_generator),
            "Your result has as many numbers at a position as the model is wide. How many words"
            " could come next?",
        ),
        Misconception(
            "only the last position counts",
            transformer_with(forward=forward_at_the_last_position),
            "In training every position of the target predicts its next word. How many positions"
            " has your result?",
        ),
        Misconception(
            "decode encodes the source itself",
            transformer_with(decode=decode_reading_the_source_again),
            "Your `forward` is right, and `decode` does not heed its second argument. What is the"
            " memory for?",
        ),
        Misconception(
            "one embedding serves both languages",
            WithOneEmbedding,
            "Two languages have two vocabularies. How many tables do you make?",
        ),
        Misconception(
            "no norm is needed after the stacks",
            WithoutFinalNorms,
            "Right for post-norm. In pre-norm, has anything normalised the sum that leaves the last"
            " layer?",
        ),
        Misconception(
            "the norms after the stacks are there, but not used",
            WithNormsThatAreNotUsed,
            "Right for post-norm. Where do your final norms come into play otherwise?",
        ),
        Misconception(
            "there is always a norm after a stack",
            WithFinalNormsAlways,
            "Right for pre-norm. In post-norm, what is the last thing that the last layer does?",
        ),
        Misconception(
            "encoder and decoder change their heights",
            WithCountsSwapped,
            "Count your layers on either side, and compare with the arguments.",
        ),
        Misconception(
            "a stack is one layer, many times",
            WithOneLayerManyTimes,
            "Do your layers learn different things? Ask Python whether the first one `is` the"
            " second one.",
        ),
        Misconception(
            "each layer starts from the words again",
            WithLayersSideBySide,
            "Right for one layer. What does your second layer get: what the first one made, or what"
            " the first one got?",
        ),
        Misconception(
            "the generator needs no bias",
            WithoutGeneratorBias,
            "A linear layer may add something to its products. Compare the parameters of your last"
            " layer with the docstring.",
        ),
        Misconception(
            "norm_first is for the final norms alone",
            WithPostNormLayers,
            "The final norms are there. Do your layers know of norm_first?",
        ),
        Misconception(
            "the sum of words and positions is not dropped",
            transformer_with(embed=embed_without_dropout),
            "The layers drop what they should. What should happen to the sum of embeddings and"
            " positions before the first layer?",
        ),
        Misconception(
            "words are dropped, positions are not",
            transformer_with(embed=embed_dropping_words_alone),
            "Your positions always come through. Is it the words that dropout is for, or the sum?",
        ),
        Misconception(
            "dropout is always on",
            transformer_with(embed=embed_dropping_always),
            "In eval mode nothing should be dropped. How does your dropout know the mode?",
        ),
        Misconception(
            "the layers are made without dropout",
            WithoutDropoutInTheLayers,
            "Before the first layer you drop what you should. Which arguments do the layers get?",
        ),
    ),
    alternatives=(
        transformer_with(),
        InlineTransformer,
        TransformerWithAGrowingTable,
        TransformerOfCopies,
    ),
    shortcuts=(
        "Transformer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
    ),
)

# --- greedy_decode
# ---------------------------------------------------------------------------------------------------

EOS, FIRST_WORD = 2, 4


def script_case(lengths, width=None, train=False, eos_id=EOS, **arguments):
    """Make the inputs of a case: what a model wants to write, row by row.

    Args:
        lengths: how many ids each row has before it ends, `eos_id` counted; 0 for a row that never
            ends.
        width: columns of the script; behind a row's end stand words that nobody should see.
        arguments: further ones of `greedy_decode`.
    """

    def inputs(rng):
        script = words(rng, len(lengths), width or max(lengths) + 2, vocab_size=9)
        for row, length in enumerate(lengths):
            if length:
                script[row, length - 1] = eos_id
        src = words(rng, len(lengths), 3, vocab_size=9)
        src[:, 0] = torch.arange(
            FIRST_WORD, FIRST_WORD + len(lengths)
        )  # tells the model which row it is
        told = {"model": {"script": script, "train": train}, "src": src, **arguments}
        if eos_id != EOS or "bos_id" in arguments:
            told |= {
                "max_len": arguments.get("max_len", 64),
                "bos_id": arguments.get("bos_id", 1),
                "eos_id": eos_id,
            }
        return told

    return inputs


def lengths_in_any_order(rng):
    lengths = rng.permutation([2, 4, 5, 7]).tolist()
    return script_case(lengths, train=bool(rng.integers(2)))(rng)


def greedy_with(
    enough=lambda ids, ended: bool(ended.all()),
    limit=lambda max_len: max_len,
    filler=0,
    cut=lambda ids, eos_id: ids,
    hidden_at=lambda hidden: hidden[:, -1],
    seen=lambda ids: ids,
    words_of=lambda model, hidden: model.generator(hidden).argmax(dim=-1),
    special=lambda bos_id, eos_id: (bos_id, eos_id),
    evaluate=True,
    leave=lambda model, was_training: model.train(was_training),
    remember=torch.no_grad,
):
    """Make a greedy decoder from its rules."""

    def greedy_decode(model, src, max_len=64, bos_id=1, eos_id=2):
        bos_id, eos_id = special(bos_id, eos_id)
        was_training = model.training
        if evaluate:
            model.eval()
        with remember():
            memory = model.encode(src)
            ids = torch.full((len(src), 1), bos_id)
            ended = torch.zeros(len(src), dtype=torch.bool)
            while ids.shape[1] < limit(max_len) and not enough(ids, ended):
                next_ids = words_of(model, hidden_at(model.decode(seen(ids), memory, src)))
                if filler is not None:
                    next_ids = torch.where(ended, eos_id if filler == "eos" else filler, next_ids)
                ids = torch.cat([ids, next_ids[:, None]], dim=1)
                ended = ended | (next_ids == eos_id)
        leave(model, was_training)
        return cut(ids, eos_id)

    return greedy_decode


def greedy_first_row(model, src, max_len=64, bos_id=1, eos_id=2):
    return reference.greedy_decode(model, src[:1], max_len, bos_id, eos_id)


def greedy_until_max_len(model, src, max_len=64, bos_id=1, eos_id=2):
    ids = reference.greedy_decode(model, src, max_len, bos_id, eos_id)
    return nn.functional.pad(ids, (0, max_len - ids.shape[1]))


def greedy_by_forward(model, src, max_len=64, bos_id=1, eos_id=2):
    """Asks the whole model each time, in inference mode, into a tensor of full length that is cut
    at the end.
    """
    mode = model.training
    model.train(False)
    with torch.inference_mode():
        ids = torch.zeros(len(src), max_len, dtype=torch.int64)
        ids[:, 0] = bos_id
        length = 1
        alive = torch.ones(len(src), dtype=torch.bool)
        while length < max_len and alive.any():
            ids[:, length] = model(src, ids[:, :length])[:, -1].argmax(-1) * alive
            alive &= ids[:, length] != eos_id
            length += 1
    model.train(mode)
    return ids[:, :length].clone()


@torch.no_grad()
def greedy_without_ended_rows(model, src, max_len=64, bos_id=1, eos_id=2):
    """Asks the model for the rows that still run."""
    mode = model.training
    model.eval()
    rows = [[bos_id] for _ in src]
    running = list(range(len(src)))
    while running and len(rows[running[0]]) < max_len:
        part = src[running]
        ids = torch.tensor([rows[i] for i in running])
        hidden = model.decode(ids, model.encode(part), part)
        for i, word in zip(
            running, model.generator(hidden)[:, -1].argmax(-1).tolist(), strict=True
        ):
            rows[i].append(word)
        running = [i for i in running if rows[i][-1] != eos_id]
    if mode:
        model.train()
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


def greedy_row_by_row(model, src, max_len=64, bos_id=1, eos_id=2):
    """Each sentence by itself, then filled up."""
    mode = model.training
    model.eval()
    with torch.no_grad():
        rows = []
        for source in src:
            row = [bos_id]
            while len(row) < max_len and (len(row) == 1 or row[-1] != eos_id):
                logits = model(source[None], torch.tensor([row]))
                row.append(int(logits[0, -1].softmax(-1).topk(1).indices))
            rows.append(torch.tensor(row))
    model.train(mode)
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


GREEDY = Exercise(
    reference=reference.greedy_decode,
    cases=(
        Case("one sentence", script_case([4]), probe=decoded, weight=2),
        Case(
            "two sentences that end at different times",
            script_case([3, 5]),
            probe=decoded,
            weight=2,
        ),
        Case("the longer one first", script_case([6, 2]), probe=decoded),
        Case("three that end together", script_case([3, 3, 3]), probe=decoded),
        Case(
            "a model in train mode comes back in train mode",
            script_case([2, 4], train=True),
            probe=decoded,
        ),
        Case(
            "max_len cuts a sentence that goes on", script_case([6, 0], 8, max_len=4), probe=decoded
        ),
        Case("max_len reached just with the end", script_case([4, 2], max_len=5), probe=decoded),
        Case(
            "max_len=1 leaves room for the beginning alone",
            script_case([3, 3], max_len=1),
            probe=decoded,
        ),
        Case(
            "other ids for beginning and end",
            script_case([4, 2], eos_id=1, bos_id=3),
            probe=decoded,
        ),
        Case("many sentences", lengths_in_any_order, probe=decoded, visible=False, weight=2),
        Case(
            "a sentence that ends at once beside a long one",
            script_case([1, 7]),
            probe=decoded,
            visible=False,
        ),
        Case(
            "none ends", script_case([0, 0], 9, max_len=7, train=True), probe=decoded, visible=False
        ),
        Case("max_len=2", script_case([3, 1], max_len=2), probe=decoded, visible=False),
        Case("64 ids by default", script_case([0, 5], 80), probe=decoded, visible=False),
        Case(
            "max_len=1 for one sentence",
            script_case([3], max_len=1, train=True),
            probe=decoded,
            visible=False,
        ),
        Case(
            "an end that is also the highest id",
            script_case([3, 5], eos_id=9, bos_id=2),
            probe=decoded,
            visible=False,
        ),
        Case(
            "train mode, one sentence", script_case([5], train=True), probe=decoded, visible=False
        ),
    ),
    misconceptions=(
        Misconception(
            "the first end ends all",
            greedy_with(enough=lambda ids, ended: bool(ended.any())),
            "One sentence has ended, and another still goes on. How many must have ended before you"
            " stop?",
        ),
        Misconception(
            "all sentences must end at the same step",
            greedy_with(
                enough=lambda ids, ended: ids.shape[1] > 1 and bool((ids[:, -1] == EOS).all())
            ),
            "Your loop goes on after every sentence has ended. Does it remember a sentence that"
            " ended some steps ago?",
        ),
        Misconception(
            "the result always has max_len columns",
            greedy_until_max_len,
            "The ids are right, and there are too many columns. How long is the longest sentence?",
        ),
        Misconception(
            "one word more fits behind max_len",
            greedy_with(limit=lambda max_len: max_len + 1),
            "Count the ids in a row of your result against max_len, the first one included.",
        ),
        Misconception(
            "max_len is one word too many",
            greedy_with(limit=lambda max_len: max(1, max_len - 1)),
            "Your longest sentence stops one id too early. When exactly is it full?",
        ),
        Misconception(
            "an ended sentence goes on",
            greedy_with(filler=None),
            "After its end a sentence still gets words. What should stand in a row that has ended,"
            " while others go on?",
        ),
        Misconception(
            "an ended sentence is filled with ends",
            greedy_with(filler="eos"),
            "A sentence ends once. What stands behind its end?",
        ),
        Misconception(
            "the beginning does not belong to the result",
            greedy_with(cut=lambda ids, eos_id: ids[:, 1:]),
            "The words are right. What is the first id of each row, according to the docstring?",
        ),
        Misconception(
            "the end does not belong to the result",
            greedy_with(cut=lambda ids, eos_id: ids.masked_fill(ids == eos_id, 0)),
            "The words are right. Should a reader of your result see where a sentence ended?",
        ),
        Misconception(
            "sentences begin with 1 and end with 2",
            greedy_with(special=lambda bos_id, eos_id: (1, 2)),
            "Right for the default ids. What has become of the last two arguments?",
        ),
        Misconception(
            "only the first sentence is translated",
            greedy_first_row,
            "How many rows has the source, and how many your result?",
        ),
        Misconception(
            "the next word stands at the first position",
            greedy_with(hidden_at=lambda hidden: hidden[:, 0]),
            "You write the same word again and again. Which position of the decoder knows all the"
            " words so far?",
        ),
        Misconception(
            "the decoder needs the last word alone",
            greedy_with(seen=lambda ids: ids[:, -1:]),
            "The first word is right, and the next ones are not. What does the decoder get to see"
            " of what it has written?",
        ),
        Misconception(
            "the decoder's vectors are scores",
            greedy_with(words_of=lambda model, hidden: hidden.argmax(dim=-1)),
            "How many numbers does the decoder return at a position, and how many words are there?"
            " One part of the model is not used.",
        ),
        Misconception(
            "the model stays in eval mode",
            greedy_with(leave=lambda model, was_training: model.eval()),
            "Whoever calls you in the middle of training goes on with the model. Which mode did it"
            " come in?",
        ),
        Misconception(
            "the model always goes back to train mode",
            greedy_with(leave=lambda model, was_training: model.train()),
            "Not everybody who calls you is training. Which mode did the model come in?",
        ),
        Misconception(
            "the mode does not matter",
            greedy_with(evaluate=False),
            "In train mode dropout is on, and the same sentence would be translated otherwise each"
            " time.",
        ),
        Misconception(
            "gradients do no harm",
            greedy_with(remember=torch.enable_grad),
            "Nobody will go back through these steps, and still every one of them is remembered"
            " for it.",
        ),
    ),
    alternatives=(
        greedy_with(),
        greedy_by_forward,
        greedy_without_ended_rows,
        greedy_row_by_row,
    ),
    shortcuts=("generate", "greedy_search"),
)

EXERCISES = (DECODER_LAYER, TRANSFORMER, GREEDY)
