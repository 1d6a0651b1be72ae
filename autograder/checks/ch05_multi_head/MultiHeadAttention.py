"""Several heads that attend at once, each in a projection of its own."""

import math
from functools import partial

import torch
from torch import nn

from autograder.authoring.checks import Checks
from autograder.authoring.draw import mask as some_mask
from autograder.authoring.draw import module_case, normal
from autograder.authoring.drawn import drawn
from autograder.checks.ch05_multi_head import sizes_that_do_not_fit
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
from solutions.ch05_multi_head import MultiHeadAttention, merge_heads, split_heads


@drawn
def attending(
    rng,
    batch,
    seq_len,
    num_heads,
    head_dim,
    *,
    key_len=None,
    dtype=torch.float64,
    scale=1.0,
    parts=(),
    **mask,
):
    """Make the inputs of a case: a module, and what it is called with. Without `key_len`, sentences
    attend to themselves; the mask may be a description, and parts are those of `module_case`.
    """
    d_model = num_heads * head_dim
    lengths = (seq_len, key_len, key_len) if key_len else (seq_len,)
    drawn = [normal(rng, batch, each, d_model, dtype=dtype, scale=scale) for each in lengths]
    inputs = dict(zip(("query", "key", "value"), 3 * drawn, strict=False))
    constructor = d_model, num_heads
    return module_case(rng, MultiHeadAttention, constructor, inputs | mask, dtype, **dict(parts))


PAST_AND_PRESENT = torch.ones(3, 3).tril().bool()


@drawn
def a_mask_row_for_each_sentence(rng):
    """A mask (2, 1, 1, 4) that hides a key of each sentence, so that there is something to
    change.
    """
    mask = some_mask(rng, 2, 1, 1, 4)
    mask[..., 0], mask[..., 2] = True, False
    return mask


@drawn
def other_keys(rng, name):
    """Make a call in which key or value of masked positions, and of the second sentence, are
    changed.
    """
    case = attending(rng, 2, 3, 2, 2, key_len=4, mask=a_mask_row_for_each_sentence())
    changed = case["forward"][name].clone()
    changed[1] += 1
    changed[0] += 2.0 * ~case["forward"]["mask"][0, 0].mT
    return {**case, "changed": {name: changed}}


def one_sentence_changed(rng):
    case = attending(rng, 3, 2, 2, 2, key_len=3)
    changed = case["forward"]["query"].clone()
    changed[1, 0] += 1
    return {**case, "changed": {"query": changed}}


def attention_with(
    made=lambda module: None,
    given=lambda query, key, value: (query, key, value),
    layers=("w_q", "w_k", "w_v", "w_o"),
    split=split_heads,
    compared=lambda query, key: query @ key.mT,
    scale=lambda head_dim, num_heads: math.sqrt(head_dim),
    hide=lambda scores, mask: scores.masked_fill(~mask, -math.inf),
    weigh=lambda scores: scores.softmax(-1),
    keep=lambda weights, mask: weights,
    merge=merge_heads,
    returned=lambda weights: weights,
):
    """Make a module from rules for what is done to it when it is new, and for the parts of its
    forward pass; a layer that it does not have changes nothing.
    """

    class Attention(MultiHeadAttention):
        def __init__(self, d_model, num_heads):
            super().__init__(d_model, num_heads)
            made(self)

        def forward(self, query, key, value, mask=None):
            *projections, w_o = (getattr(self, name, nn.Identity()) for name in layers)
            query, key, value = (
                split(project(each), self.num_heads)
                for project, each in zip(projections, given(query, key, value), strict=True)
            )
            scores = compared(query, key) / scale(query.shape[-1], self.num_heads)
            if mask is None:
                weights = weigh(scores)
            else:
                weights = keep(weigh(hide(scores, mask)), mask)
            return w_o(merge(weights @ value)), returned(weights)

    return Attention


def split_batch_into_heads(x, num_heads):
    heads = split_heads(x, num_heads)
    return heads.transpose(0, 1).reshape(heads.shape)


checks = Checks(
    MultiHeadAttention,
    laws=(zero_where_masked, partial(sums_to_one, of="weights")),
    family=attention_with,
    returns=("output", "weights"),
    shortcuts="MultiheadAttention multi_head_attention_forward _native_multi_head_attention",
)
shown, hidden, wrong, right = checks.words

shown("a sentence attends to itself, with two heads", attending(1, 3, 2, 3), weight=2)
shown("two sentences, three heads", attending(2, 3, 3, 2))
shown("query, key and value come from different places", attending(1, 2, 2, 3, key_len=4))
shown("a single head", attending(1, 3, 1, 4))
shown(
    "a mask (query_len, key_len): no word sees what comes after it",
    attending(2, 3, 2, 3, mask=PAST_AND_PRESENT),
    weight=2,
)
shown(
    "a mask (batch, 1, 1, key_len): some keys are padding",
    attending(2, 3, 2, 3, key_len=4, mask=a_mask_row_for_each_sentence()),
    weight=2,
)
shown(
    "a mask (batch, heads, query_len, key_len)",
    attending(1, 2, 2, 3, key_len=3, mask=some_mask(1, 2, 2, 3)),
)
shown(
    "the parameters have the names and shapes of the contract",
    constructor={"d_model": 4, "num_heads": 2},
    probe=at_the_start,
)
shown(
    "a ValueError where the heads cannot share evenly",
    constructor=sizes_that_do_not_fit(9),
    probe=at_the_start,
)
shown("bfloat16 in, bfloat16 out", attending(1, 3, 2, 3, dtype=torch.bfloat16))
shown(
    "the arguments stay as they were",
    attending(1, 3, 2, 2, mask=PAST_AND_PRESENT),
    probe=arguments_after,
)
shown(
    "gradients reach every input and every weight",
    attending(1, 2, 2, 3, key_len=3),
    probe=gradients,
    weight=2,
)
hidden("eight heads, two sentences", attending(2, 5, 8, 3), weight=2)
hidden("all sizes equal", attending(3, 3, 3, 3, key_len=3))
hidden("heads of a single feature", attending(2, 4, 4, 1))
hidden("one query, as in decoding", attending(2, 1, 2, 4, key_len=5))
hidden("a mask (1, 1, seq_len, seq_len)", attending(2, 4, 2, 3, mask=some_mask(1, 1, 4, 4)))
hidden(
    "a mask (batch, heads, query_len, key_len), another for each head",
    attending(2, 3, 3, 2, key_len=5, mask=some_mask(2, 3, 3, 5)),
)
hidden(
    "a mask (batch, 1, query_len, key_len)",
    attending(2, 3, 2, 3, key_len=4, mask=some_mask(2, 1, 3, 4)),
)
hidden(
    "a mask that leaves one key to each query",
    attending(2, 3, 2, 2, key_len=4, mask=some_mask(3, 4, share=0.0), scale=3.0),
)
hidden(
    "a mask that hides nothing",
    attending(1, 3, 2, 3, key_len=4, mask=torch.ones(1, 1, 3, 4, dtype=torch.bool)),
)
hidden("large scores", attending(2, 4, 2, 4, scale=12.0))
hidden(
    "scores far below -10,000 beside masked ones",
    attending(4, 3, 2, 3, mask=PAST_AND_PRESENT, scale=1000.0),
    weight=2,
)
hidden("in train mode nothing is dropped", attending(2, 5, 8, 3, parts={"train": True}), weight=3)
hidden(
    "float32 in, float32 out, with a mask",
    attending(2, 4, 2, 3, mask=some_mask(2, 1, 1, 4), dtype=torch.float32),
)
hidden("bfloat16 with a mask", attending(2, 3, 2, 4, mask=some_mask(3, 3), dtype=torch.bfloat16))
hidden("float16 in, float16 out", attending(1, 4, 2, 3, dtype=torch.float16))
hidden(
    "tensors that are views",
    attending(2, 3, 2, 3, key_len=4, mask=some_mask(2, 1, 3, 4)),
    probe=returned_for_views,
)
hidden(
    "gradients under a mask",
    attending(2, 3, 2, 3, key_len=4, mask=some_mask(2, 2, 3, 4)),
    probe=gradients,
)
hidden("keys that are masked move nothing", other_keys("key"), probe=moved)
hidden("values that are masked move nothing", other_keys("value"), probe=moved)
hidden("a changed query moves its own output only", one_sentence_changed, probe=moved)
hidden(
    "the parameters do not depend on the number of heads",
    constructor={"d_model": 6, "num_heads": 6},
    probe=at_the_start,
)
hidden(
    "a ValueError for other sizes that do not fit",
    constructor=sizes_that_do_not_fit(9),
    probe=at_the_start,
)
hidden(
    "the arguments stay as they were, whatever the mask",
    attending(2, 2, 2, 2, key_len=3, mask=some_mask(2, 2, 2, 3)),
    probe=arguments_after,
)


wrong(
    "a view can split and reorder at once",
    """Are your heads split as exercise 1 asks? A view or reshape alone gives the right shape, but
    puts parts of one word into several positions.""",
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
    """Your result is right for a batch of one sentence, and wrong for two. Do the sentences still
    keep to themselves after your reshape?""",
    split=split_batch_into_heads,
)


wrong(
    "the heads are in the right order for merging",
    """The weights are right, the output is not. Before the heads' features can be put side by side,
    which axis has to move?""",
    merge=as_it_lies,
)


wrong(
    "one head is enough",
    """Your weights have no axis of heads. What happens to queries, keys and values between their
    projections and the dot products?""",
    split=lambda x, num_heads: x,
    merge=lambda x: x,
)


wrong(
    "the last projection takes the heads as they are",
    """The weights are right. How many features does `w_o` expect at a position, and how many axes
    and features does your average of the values have?""",
    merge=lambda x: x,
)


@wrong(
    "heads are split before they are projected",
    """Each projection takes all d_model features of a position. How many are left in a head, once
    it is split off?""",
)
def projected_head_by_head(self, query, key, value, mask=None):
    layers = zip((self.w_q, self.w_k, self.w_v), (query, key, value), strict=True)
    query, key, value = (layer(split_heads(each, self.num_heads)) for layer, each in layers)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return self.w_o(merge_heads(weights @ value)), weights


wrong(
    "queries and keys are multiplied as they are",
    """A matrix product sums over the last axis of its first factor and the last but one of its
    second. Which axes of queries and keys should meet?""",
    compared=torch.matmul,
)


wrong(
    ".T swaps the last two axes",
    """Your keys have four axes. Which of them change places in your function, and which should?""",
    compared=lambda query, key: query @ key.permute(3, 2, 1, 0),
)


wrong(
    "keys have three axes",
    """Before the heads were split, axes 1 and 2 were those of positions and features. Which are
    they now?""",
    compared=lambda query, key: query @ key.transpose(1, 2),
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
    """One of your four layers has no part in the result. What is left to do once the heads are side
    by side?""",
    layers=("w_q", "w_k", "w_v", "nothing"),
)


wrong(
    "True means masked",
    """You hide what may be seen, and show what may not. What does True mean in a mask of this
    course?""",
    mask=torch.logical_not,
)


wrong(
    "a mask takes weights away",
    """What do the weights of a row sum to after your mask? The weights that are left should share
    the whole.""",
    hide=lambda scores, mask: scores,
    keep=torch.mul,
)


wrong(
    "a mask hides queries",
    "Rows are queries, columns are keys. Along which of the two does your mask act?",
    mask=lambda mask: mask.mT,
)


wrong(
    "a mask can wait for the next chapter",
    "Do your weights change at all when a mask is given?",
    mask=None,
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


@wrong(
    "there is always a mask",
    "A mask is optional. What does your code do with it when there is none?",
)
def with_a_mask_always(self, query, key, value, mask=None):
    return MultiHeadAttention.forward(self, query, key, value, ~~mask)


@wrong(
    "an index of True and False is stretched",
    """Broadcasting stretches a mask in operations between two tensors, but not in square brackets.
    Which method fills what a mask points out, whatever its shape?""",
    rule="hide",
)
def by_index(scores, mask):
    scores = scores.clone()
    scores[~mask] = -math.inf
    return scores


wrong(
    "every mask has an axis for the batch and none for the heads",
    """A mask may have two axes or four, and some of length 1; axes are lined up from the right.
    Does yours need another one?""",
    mask=lambda mask: mask.unsqueeze(1),
)


wrong(
    "one projection serves queries and keys",
    """One of your four layers has no part in the result. Which layer does each of the three inputs
    go through?""",
    layers=("w_q", "w_q", "w_v", "w_o"),
)


wrong(
    "values are taken as they are",
    """The weights are right, the output is not. What happens to the values before they are
    averaged?""",
    layers=("w_q", "w_k", "nothing", "w_o"),
)


wrong(
    "attention works on what comes in",
    """Three of your four layers have no part in the result. What happens to query, key and value
    before they are split?""",
    layers=("nothing", "nothing", "nothing", "w_o"),
)


@wrong(
    "four names may hold one layer",
    """w_q, w_k, w_v and w_o are one and the same module in yours. How many layers did you make?""",
    rule="made",
)
def with_one_layer(module):
    module.w_k = module.w_v = module.w_o = module.w_q


@wrong(
    "attention adds its result to the query",
    """The weights are right. You add something to the output that the formula does not have; a
    later chapter will, outside of this module.""",
)
def with_a_residual(self, query, key, value, mask=None):
    output, weights = MultiHeadAttention.forward(self, query, key, value, mask)
    return query + output, weights


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


checks.exchanged("key", "value")


wrong(
    "values are the keys' tensor",
    "The third argument has no effect in your module. What is projected to become the values?",
    given=lambda query, key, value: (query, key, key),
)


@wrong(
    "a projection needs no bias",
    "The contract gives all four layers a bias. Which argument of nn.Linear took it away?",
    rule="made",
)
def without_biases(module):
    for layer in module.children():
        layer.bias = None


wrong(
    "the last projection needs no bias",
    "Three of your layers have a bias. What about the last one?",
    made=lambda module: module.w_o.register_parameter("bias", None),
)


@wrong(
    "a projection is as wide as one head",
    """Each of the four layers has d_model features in and d_model out: the blocks of all heads in
    one matrix.""",
    rule="made",
)
def as_wide_as_a_head(module):
    d_model = module.w_o.in_features
    for name in ("w_q", "w_k", "w_v"):
        module.add_module(name, nn.Linear(d_model, d_model // module.num_heads))


@wrong(
    "layers may have any name",
    """The layers have to be found under the names of the docstring. Which attributes does your
    __init__ set?""",
    rule="made",
)
def under_another_name(module):
    module._modules = {"projections": nn.ModuleList(module.children())}


@wrong(
    "the sizes will fit",
    """What happens when a module is made whose num_heads does not divide d_model? It should say so
    at once.""",
)
class OfAnySizes(MultiHeadAttention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, 1)
        self.num_heads = num_heads


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
    """The output is right, but each map of weights is in the place of another head's. In which
    order do you collect them?""",
    returned=lambda weights: weights.flip(1),
)


wrong(
    "scores are as good as weights",
    """You return what the softmax was given, or a logarithm. What should the rows of the second
    result sum to?""",
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
    """The numbers are right, but no gradient reaches queries and keys. Which step cuts the scores
    off from what made them?""",
    weigh=lambda scores: scores.detach().softmax(-1),
)


wrong(
    "a softmax belongs in float32",
    "Both results should have the dtype of the inputs. Which step chooses one of its own?",
    returned=torch.Tensor.float,
)


wrong(
    "the caller's mask may be turned round",
    """Compare the mask before and after the call. Which operation of yours writes into it? In
    PyTorch their names end in an underscore.""",
    mask=lambda mask: ~mask.logical_not_(),
)


@right
def by_loops(self, query, key, value, mask=None):
    """Adds up what each block of `w_o` makes of the output of its head."""
    mask = torch.tensor(True) if mask is None else mask
    mask = mask.expand(len(query), self.num_heads, query.shape[1], key.shape[1])
    parts = [
        each.chunk(self.num_heads, dim=-1)
        for each in (self.w_q(query), self.w_k(key), self.w_v(value), self.w_o.weight)
    ]
    output, all_weights = self.w_o.bias, []
    for q, k, v, block, seen in zip(*parts, mask.unbind(1), strict=True):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
        output = output + weights @ v @ block.T
        all_weights.append(weights)
    return output, torch.stack(all_weights, dim=1)


@right
def by_einsum(self, query, key, value, mask=None):
    query, key, value = (
        each.unflatten(-1, (self.num_heads, -1))
        for each in (self.w_q(query), self.w_k(key), self.w_v(value))
    )
    scores = torch.einsum("bqhd,bkhd->bhqk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return self.w_o(torch.einsum("bhqk,bkhd->bqhd", weights, value).flatten(-2)), weights


@right
def by_fused_kernel(self, *inputs):
    forward = MultiHeadAttention.forward
    output, _ = forward(self, *inputs, need_weights=False)
    _, weights = forward(self, *inputs)
    return output, weights


@right
def by_torch(self, query, key, value, mask=None):
    """Adds the mask to the scores, and has the axes of batch and heads as one."""
    if mask is not None:  # torch's True means "may not attend"
        shape = len(query), self.num_heads, query.shape[1], key.shape[1]
        mask = ~mask.expand(shape).flatten(0, 1)
    layers = self.w_q, self.w_k, self.w_v
    output, weights = nn.functional.multi_head_attention_forward(
        *(each.transpose(0, 1) for each in (query, key, value)),
        self.w_q.in_features,
        self.num_heads,
        torch.cat([layer.weight for layer in layers]),
        torch.cat([layer.bias for layer in layers]),
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=self.w_o.weight,
        out_proj_bias=self.w_o.bias,
        attn_mask=mask,
        average_attn_weights=False,
    )
    return output.transpose(0, 1), weights
