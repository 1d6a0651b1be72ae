"""Several heads that attend at once, each in a projection of its own."""

import math
from functools import partial

import torch
from torch import nn

from autograder.authoring import draw
from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.checks.ch05_multi_head import require_a_divisor, sizes_that_do_not_fit
from autograder.checks.ch05_multi_head.merge_heads import as_it_lies, like_cards
from autograder.checks.ch05_multi_head.split_heads import deal_like_cards, view_as_heads
from autograder.shared.laws import sums_to_one, zero_where_masked
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch05_multi_head as reference


@drawn
def attending(
    rng,
    batch,
    query_len,
    key_len,
    num_heads,
    head_dim,
    *,
    mask=None,
    dtype=torch.float64,
    scale=1.0,
    itself=False,
    **parts,
):
    """Make the inputs of a case: a module, and what it is called with.

    Args:
        mask: its shape, or a mask, perhaps described; None for a call without one.
        itself: whether query, key and value are one tensor's numbers.
        parts: see `draw.module_case`.
    """
    d_model = num_heads * head_dim
    lengths = [query_len] if itself else [query_len, key_len, key_len]
    drawn = [draw.normal(rng, batch, each, d_model, dtype=dtype, scale=scale) for each in lengths]
    query, key, value = 3 * drawn if itself else drawn
    forward = {"query": query, "key": key, "value": value}
    if mask is not None:
        forward["mask"] = draw.mask(*mask) if isinstance(mask, tuple) else mask
    constructor = d_model, num_heads
    return draw.module_case(rng, reference.MultiHeadAttention, constructor, forward, dtype, **parts)


def to_itself(batch, seq_len, num_heads, head_dim, **parts):
    return attending(batch, seq_len, seq_len, num_heads, head_dim, itself=True, **parts)


PAST_AND_PRESENT = torch.ones(3, 3, dtype=torch.bool).tril()


@drawn
def a_mask_row_for_each_sentence(rng):
    """A mask (2, 1, 1, 4) that hides a key of each sentence, so that there is something to
    change.
    """
    mask = draw.mask(rng, 2, 1, 1, 4)
    mask[:, 0, 0, 0], mask[:, 0, 0, 2] = True, False
    return mask


@drawn
def other_keys(rng, name):
    """Make a call in which key or value of masked positions, and of the second sentence, are
    changed.
    """
    case = attending(rng, 2, 3, 4, 2, 2, mask=a_mask_row_for_each_sentence())
    changed = case["forward"][name].clone()
    changed[1] += 1
    changed[0] += 2.0 * ~case["forward"]["mask"][0, 0, 0, :, None]
    return {**case, "changed": {name: changed}}


def one_sentence_changed(rng):
    case = attending(rng, 3, 2, 3, 2, 2)
    changed = case["forward"]["query"].clone()
    changed[1, 0] += 1
    return {**case, "changed": {"query": changed}}


def impossible_module(rng):
    d_model, num_heads = sizes_that_do_not_fit(rng, 9)
    return {"constructor": {"d_model": d_model, "num_heads": num_heads}}


def hide(scores, mask):
    return scores.masked_fill(~mask, -math.inf)


def nothing(scores, mask):
    return scores


def layers_of(self):
    return self.w_q, self.w_k, self.w_v, self.w_o


def attention_with(
    given=lambda query, key, value: (query, key, value),
    layers=layers_of,
    split=reference.split_heads,
    scale=lambda head_dim, num_heads: math.sqrt(head_dim),
    hide=hide,
    weigh=lambda scores: scores.softmax(-1),
    keep=lambda weights, mask: weights,
    merge=reference.merge_heads,
    returned=lambda weights: weights,
):
    """Make a module with the right parameters from rules for the parts of its forward pass."""

    class MultiHeadAttention(reference.MultiHeadAttention):
        def forward(self, query, key, value, mask=None):
            *projections, w_o = layers(self)
            query, key, value = (
                split(project(each), self.num_heads)
                for project, each in zip(projections, given(query, key, value), strict=True)
            )
            scores = query @ key.mT / scale(query.shape[-1], self.num_heads)
            if mask is None:
                weights = weigh(scores)
            else:
                weights = keep(weigh(hide(scores, mask)), mask)
            return w_o(merge(weights @ value)), returned(weights)

    return MultiHeadAttention


def split_batch_into_heads(x, num_heads):
    return (
        x.unflatten(-1, (num_heads, -1))
        .permute(2, 0, 1, 3)
        .reshape(len(x), num_heads, x.shape[1], -1)
    )


def four_layers(d_model, d_out=None, **options):
    names = "w_q", "w_k", "w_v", "w_o"
    return {name: nn.Linear(d_model, d_out or d_model, **options) for name in names}


def module_with(
    layers=lambda d_model, num_heads: four_layers(d_model),
    require=require_a_divisor,
    forward=reference.MultiHeadAttention.forward,
):
    """Make a module from the layers that it registers, by name, and its forward pass."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            require(d_model, num_heads)
            self.num_heads = num_heads
            for name, layer in layers(d_model, num_heads).items():
                self.add_module(name, layer)

    MultiHeadAttention.forward = forward
    MultiHeadAttention.__name__ = forward.__name__
    return MultiHeadAttention


def never(self, *inputs):
    raise RuntimeError("it does not come to this")


checks = Checks(
    reference.MultiHeadAttention,
    laws=(zero_where_masked, partial(sums_to_one, of="weights")),
    family=attention_with,
    returns=("output", "weights"),
    shortcuts="MultiheadAttention multi_head_attention_forward _native_multi_head_attention",
)
shown, hidden, wrong, right = checks.words

shown("a sentence attends to itself, with two heads", to_itself(1, 3, 2, 2), weight=2)
shown("two sentences, three heads", to_itself(2, 3, 3, 2))
shown("query, key and value come from different places", attending(1, 2, 4, 2, 2))
shown("a single head", to_itself(1, 3, 1, 4))
shown(
    "a mask (query_len, key_len): no word sees what comes after it",
    to_itself(2, 3, 2, 2, mask=PAST_AND_PRESENT),
    weight=2,
)
shown(
    "a mask (batch, 1, 1, key_len): some keys are padding",
    attending(2, 3, 4, 2, 2, mask=a_mask_row_for_each_sentence()),
    weight=2,
)
shown("a mask (batch, heads, query_len, key_len)", attending(1, 2, 3, 2, 2, mask=(1, 2, 2, 3)))
shown(
    "the parameters have the names and shapes of the contract",
    constructor={"d_model": 4, "num_heads": 2},
    probe=at_the_start,
)
shown("a ValueError where the heads cannot share evenly", impossible_module, probe=at_the_start)
shown("bfloat16 in, bfloat16 out", to_itself(1, 3, 2, 2, dtype=torch.bfloat16))
shown(
    "the arguments stay as they were",
    to_itself(1, 3, 2, 2, mask=PAST_AND_PRESENT),
    probe=arguments_after,
)
shown(
    "gradients reach every input and every weight",
    attending(1, 2, 3, 2, 2),
    probe=gradients,
    weight=2,
)
hidden("eight heads, two sentences", to_itself(2, 5, 8, 3), weight=2)
hidden("all sizes equal", attending(3, 3, 3, 3, 3))
hidden("heads of a single feature", to_itself(2, 4, 4, 1))
hidden("one query, as in decoding", attending(2, 1, 5, 2, 4))
hidden("a mask (1, 1, seq_len, seq_len)", to_itself(2, 4, 2, 3, mask=(1, 1, 4, 4)))
hidden(
    "a mask (batch, heads, query_len, key_len), another for each head",
    attending(2, 3, 5, 3, 2, mask=(2, 3, 3, 5)),
)
hidden("a mask (batch, 1, query_len, key_len)", attending(2, 3, 4, 2, 3, mask=(2, 1, 3, 4)))
hidden(
    "a mask that leaves one key to each query",
    attending(2, 3, 4, 2, 2, mask=draw.mask(3, 4, share=0.0), scale=3.0),
)
hidden(
    "a mask that hides nothing",
    attending(1, 3, 4, 2, 2, mask=torch.ones(1, 1, 3, 4, dtype=torch.bool)),
)
hidden("large scores", to_itself(2, 4, 2, 4, scale=12.0))
hidden(
    "float32 in, float32 out, with a mask",
    to_itself(2, 4, 2, 2, mask=(2, 1, 1, 4), dtype=torch.float32),
)
hidden("bfloat16 with a mask", to_itself(2, 3, 2, 4, mask=(3, 3), dtype=torch.bfloat16))
hidden("float16 in, float16 out", to_itself(1, 4, 2, 2, dtype=torch.float16))
hidden(
    "tensors that are views", attending(2, 3, 4, 2, 2, mask=(2, 1, 3, 4)), probe=returned_for_views
)
hidden("gradients under a mask", attending(2, 3, 4, 2, 2, mask=(2, 2, 3, 4)), probe=gradients)
hidden("keys that are masked move nothing", other_keys("key"), probe=moved)
hidden("values that are masked move nothing", other_keys("value"), probe=moved)
hidden("a changed query moves its own output only", one_sentence_changed, probe=moved)
hidden(
    "the parameters do not depend on the number of heads",
    constructor={"d_model": 6, "num_heads": 6},
    probe=at_the_start,
)
hidden("a ValueError for other sizes that do not fit", impossible_module, probe=at_the_start)
hidden(
    "the arguments stay as they were, whatever the mask",
    attending(2, 2, 3, 2, 2, mask=(2, 2, 2, 3)),
    probe=arguments_after,
)


wrong(
    "a view can split and reorder at once",
    """Are your heads split as exercise 1 asks? A view or reshape alone gives the right shape, but
    hands parts of one word to several positions.""",
    split=view_as_heads,
)


wrong(
    "features are dealt out like cards",
    "Which features make up head 0? A head works on a block of neighbours.",
    split=deal_like_cards,
    merge=like_cards,
)


wrong(
    "batch and heads may change places",
    """With a batch of one sentence you are right, with two you are not. Do the sentences still keep
    to themselves after your reshape?""",
    split=split_batch_into_heads,
)


wrong(
    "the heads are in the right order for merging",
    """The weights are right, the output is not. Before the heads' features can stand side by side,
    which axis has to move?""",
    merge=as_it_lies,
)


wrong(
    "the scale is sqrt(d_model)",
    """The weights are too even. How many numbers does a dot product sum over, once there are
    heads?""",
    scale=lambda head_dim, num_heads: math.sqrt(num_heads * head_dim),
)


wrong(
    "the dot products are the scores",
    """The weights are sharper than they should be. What happens to a dot product before the
    softmax?""",
    scale=lambda *sizes: 1,
)


wrong(
    "the scale is d_k",
    "Which power of head_dim does the scale take?",
    scale=lambda head_dim, num_heads: head_dim,
)


wrong(
    "the scale belongs to the number of heads",
    "Your scale follows the number of heads. Over how many numbers does a dot product sum?",
    scale=lambda head_dim, num_heads: math.sqrt(num_heads),
)


wrong(
    "the softmax runs over the queries",
    "Take one query of one head: over which axis do its weights have to sum to 1?",
    weigh=lambda scores: scores.softmax(-2),
)


wrong(
    "the softmax runs over the heads",
    """Your heads share one total among them. Over which axis should each of them sum to 1 on its
    own?""",
    weigh=lambda scores: scores.softmax(1),
)


wrong(
    "all scores of a head share one sum",
    "Over how many numbers do your weights sum to 1? Every query has a total of its own.",
    weigh=lambda scores: scores.flatten(-2).softmax(-1).view_as(scores),
)


wrong(
    "putting the heads together is the end",
    """One of your four layers has no part in the result. What is left to do once the heads stand
    side by side?""",
    layers=lambda self: (self.w_q, self.w_k, self.w_v, nn.Identity()),
)


wrong(
    "True means masked",
    """You hide what may be seen, and show what may not. What does True mean in a mask of this
    course?""",
    hide=lambda scores, mask: scores.masked_fill(mask, -math.inf),
)


wrong(
    "a mask takes weights away",
    """What do the weights of a row sum to after your mask? Those that are left should share the
    whole.""",
    hide=nothing,
    keep=torch.mul,
)


wrong(
    "a mask hides queries",
    "Rows are queries, columns are keys. Along which of the two does your mask act?",
    hide=lambda scores, mask: hide(scores, mask.mT),
)


wrong(
    "a mask can wait for the next chapter",
    "Do your weights change at all when a mask is given?",
    hide=nothing,
)


wrong(
    "a score of 0 means no weight",
    """Your masked scores are 0. What does the softmax make of a score of 0, and which score gives a
    weight of exactly 0?""",
    hide=torch.mul,
)


wrong(
    "True and False can be added to scores",
    """Adding True raises a score by 1, and adding False leaves it. Which score has a weight of
    exactly 0?""",
    hide=torch.add,
)


wrong(
    "a low score is low enough",
    """Your masked keys still get a little weight. Scores may be of any size: which one has a weight
    of exactly 0, whatever the others?""",
    hide=lambda scores, mask: scores.masked_fill(~mask, -10.0),
)


wrong(
    "every mask has an axis for the batch and none for the heads",
    """A mask may have two axes or four, and some of length 1; axes are lined up from the right.
    Does yours need another one?""",
    hide=lambda scores, mask: hide(scores, mask.unsqueeze(1)),
)


wrong(
    "one projection serves queries and keys",
    """One of your four layers has no part in the result. Which layer does each of the three inputs
    go through?""",
    layers=lambda self: (self.w_q, self.w_q, self.w_v, self.w_o),
)


wrong(
    "values are taken as they are",
    """The weights are right, the output is not. What happens to the values before they are
    averaged?""",
    layers=lambda self: (self.w_q, self.w_k, nn.Identity(), self.w_o),
)


wrong(
    "attention is always self-attention",
    """What if query, key and value are different tensors? Look at what each of your projections is
    given.""",
    given=lambda query, key, value: (query, query, query),
)


wrong(
    "keys are the queries' tensor",
    "The second argument has no effect in your module. What is projected to become the keys?",
    given=lambda query, key, value: (query, query, value),
)


wrong(
    "values are the keys' tensor",
    "The third argument has no effect in your module. What is projected to become the values?",
    given=lambda query, key, value: (query, key, key),
)


wrong(
    "a projection needs no bias",
    "The contract gives all four layers a bias. Which argument of nn.Linear took it away?",
)(module_with(lambda d_model, _: four_layers(d_model, bias=False)))


@wrong(
    "the last projection needs no bias",
    "Three of your layers have a bias. What about the last one?",
)
class WithoutOutputBias(reference.MultiHeadAttention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_o = nn.Linear(d_model, d_model, bias=False)


wrong(
    "a projection is as wide as one head",
    """Each of the four layers has d_model features in and d_model out: the blocks of all heads in
    one matrix.""",
)(
    module_with(
        lambda d_model, num_heads: (
            four_layers(d_model, d_model // num_heads) | {"w_o": nn.Linear(d_model, d_model)}
        ),
        forward=never,
    )
)


wrong(
    "layers may have any name",
    """The layers have to be found under the names of the docstring. Which attributes does your
    __init__ set?""",
)(module_with(lambda d_model, _: {"projections": nn.ModuleList(four_layers(d_model).values())}))


wrong(
    "the sizes will fit",
    """What happens when a module is made whose num_heads does not divide d_model? It should say so
    at once.""",
)(module_with(require=lambda *sizes: None))


wrong(
    "one map is enough to look at",
    """Your weights have lost the axis of heads. The average of several maps is a map that no head
    has.""",
    returned=lambda weights: weights.mean(dim=1),
)


wrong(
    "a list of heads has the heads first",
    """The weights have the axes (batch, heads, query_len, key_len). Along which axis do you put
    your heads together?""",
    returned=lambda weights: weights.transpose(0, 1),
)


wrong(
    "the last head's weights come first",
    """The output is right, and each map of weights belongs to another head. In which order do you
    collect them?""",
    returned=lambda weights: weights.flip(1),
)


wrong(
    "scores are as good as weights",
    """What should the rows of the second result sum to? You return what the softmax was given, or a
    logarithm.""",
    returned=torch.log,
)


checks.usual(
    "in another order",
    belief="weights come first",
    hint="In which order does the docstring name the two results?",
)


wrong(
    "weights are only there to be looked at",
    """The numbers are right, but a loss on the weights could not be trained. Which step cuts the
    returned weights off?""",
    returned=torch.detach,
)


wrong(
    "no gradient is needed through the weights",
    """The numbers are right, but queries and keys could never learn. Which step cuts the scores off
    from what made them?""",
    weigh=lambda scores: scores.detach().softmax(-1),
)


wrong(
    "a softmax belongs in float32",
    "Both results should have the dtype of the inputs. Which step chooses one of its own?",
    returned=torch.Tensor.float,
)


@wrong(
    "the caller's mask may be turned round",
    """Compare the mask before and after the call. Which operation of yours writes into it? In
    PyTorch their names end in an underscore.""",
)
class MaskTurnedInPlace(reference.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        result = super().forward(query, key, value, mask)
        if mask is not None:
            mask.logical_not_()
        return result


def project(self, *inputs):
    layers = self.w_q, self.w_k, self.w_v
    return [layer(each) for layer, each in zip(layers, inputs, strict=True)]


def heads_in_a_loop(self, query, key, value, mask):
    """Return output and weights of each head, head by head."""
    if mask is not None:
        mask = mask.expand(len(query), self.num_heads, query.shape[1], key.shape[1])
    parts = (each.chunk(self.num_heads, dim=-1) for each in project(self, query, key, value))
    for head, (q, k, v) in enumerate(zip(*parts, strict=True)):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = softmax_under(None if mask is None else mask[:, head], scores)
        yield weights @ v, weights


def softmax_under(mask, scores):
    return torch.softmax(scores if mask is None else hide(scores, mask), dim=-1)


def right_forward(forward):
    """Declare a right answer by its forward pass alone."""
    return right(module_with(forward=forward))


@right_forward
def by_loops(self, query, key, value, mask=None):
    outputs, weights = zip(*heads_in_a_loop(self, query, key, value, mask), strict=True)
    return self.w_o(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


@right_forward
def by_einsum(self, query, key, value, mask=None):
    query, key, value = (
        each.unflatten(-1, (self.num_heads, -1)) for each in project(self, query, key, value)
    )
    scores = torch.einsum("bqhd,bkhd->bhqk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return self.w_o(torch.einsum("bhqk,bkhd->bqhd", weights, value).flatten(-2)), weights


@right_forward
def by_fused_kernel(self, query, key, value, mask=None):
    query, key, value = (
        reference.split_heads(each, self.num_heads) for each in project(self, query, key, value)
    )
    output = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    weights = softmax_under(mask, query @ key.mT / math.sqrt(query.shape[-1]))
    return self.w_o(output.transpose(1, 2).reshape(len(output), output.shape[2], -1)), weights


@right_forward
def by_added_mask(self, query, key, value, mask=None):
    """Has the axes of batch and heads as one, as `torch.bmm` wants them."""
    query, key, value = (
        reference.split_heads(each, self.num_heads).flatten(0, 1)
        for each in project(self, query, key, value)
    )
    scores = torch.bmm(query / math.sqrt(query.shape[-1]), key.transpose(1, 2))
    scores = scores.unflatten(0, (-1, self.num_heads))
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -torch.inf)
    weights = nn.functional.softmax(scores, dim=-1)
    heads = torch.bmm(weights.flatten(0, 1), value).unflatten(0, (-1, self.num_heads))
    return self.w_o(reference.merge_heads(heads)), weights


@right_forward
def by_blocks_of_w_o(self, query, key, value, mask=None):
    output, weights = self.w_o.bias, []
    blocks = self.w_o.weight.chunk(self.num_heads, dim=1)
    for block, (found, each) in zip(
        blocks, heads_in_a_loop(self, query, key, value, mask), strict=True
    ):
        output = output + found @ block.T
        weights.append(each)
    return output, torch.stack(weights, 1)


@right_forward
def by_torch(self, query, key, value, mask=None):
    layers = self.w_q, self.w_k, self.w_v
    if mask is not None:  # torch's True means "may not attend"
        shape = len(query), self.num_heads, query.shape[1], key.shape[1]
        mask = ~mask.expand(shape).flatten(0, 1)
    output, weights = nn.functional.multi_head_attention_forward(
        *(each.transpose(0, 1) for each in (query, key, value)),
        self.w_q.in_features,
        self.num_heads,
        torch.cat([layer.weight for layer in layers]),
        torch.cat([layer.bias for layer in layers]),
        None,
        None,
        False,
        0.0,
        self.w_o.weight,
        self.w_o.bias,
        attn_mask=mask,
        average_attn_weights=False,
    )
    return output.transpose(0, 1), weights
