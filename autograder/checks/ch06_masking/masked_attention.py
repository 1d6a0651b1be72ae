"""Attention under a mask, which may leave a query with nothing."""

import math
from functools import partial

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import mask as draw_mask
from autograder.authoring.draw import normal
from autograder.authoring.drawn import draw, drawn
from autograder.authoring.usual import each
from autograder.checks.ch06_masking import padding_first, sentences
from autograder.shared.laws import between_the_values, sums_to_one, zero_where_masked
from autograder.shared.probes import (
    arguments_after,
    device_kept,
    gradients,
    moved,
    returned_for_views,
)
from solutions.ch06_masking import causal_mask, decoder_mask, masked_attention, padding_mask


@drawn
def attention_case(rng, *shape, d_v=None, dtype=torch.float32, under=None, **mask):
    """Draw queries, keys and values, and a mask.

    Args:
        shape: axes of the batch, query_len, key_len, head_dim.
        d_v: features of a value, where they are not head_dim.
        under: draws a mask of the shape of the scores.
        mask: another one, perhaps described.
    """
    *batch, query_len, key_len, head_dim = shape
    forward = {
        "query": normal(rng, *batch, query_len, head_dim, dtype=dtype),
        "key": normal(rng, *batch, key_len, head_dim, dtype=dtype),
        "value": normal(rng, *batch, key_len, d_v or head_dim, dtype=dtype),
    }
    if under:
        mask = {"mask": under(rng, *shape[:-1])}
    return forward | draw(mask, rng)


@drawn
def any_mask(rng, *shape):
    """Draw a mask in which every query may attend to something, some may not attend to all, and the
    first key is barred once.
    """
    mask = draw_mask(rng, *shape)
    mask[..., 0, 0], mask[..., 0, -1] = False, True
    return mask


@drawn
def with_an_empty_row(rng, *shape):
    """Draw a mask in which one query of each table may attend to nothing, and the last one to
    something, but not all.
    """
    mask = any_mask(rng, *shape)
    mask[..., 0, :] = False
    mask[..., -1, 0], mask[..., -1, -1] = True, False
    return mask


@drawn
def padding(rng, lengths, seq_len):
    return padding_mask(**sentences(rng, lengths, seq_len))


def far_below_zero(rng):
    """Draw queries and keys whose scores are all -2**32, about -4e9: exact in float32, so that the
    keys share the weight.
    """
    query, key = torch.zeros(3, 16), torch.zeros(4, 16)
    query[:, 0], key[:, 0] = 2**17, -(2**17)
    value = normal(rng, 4, 2)
    return {"query": query, "key": key, "value": value, "mask": any_mask(rng, 3, 4)}


def below_zero_in_float16(rng):
    """Draw queries and keys in float16 whose scores are all about -50, so that the lowest number of
    float16 has no room below it for them, and a query that may attend to nothing.
    """
    inputs = attention_case(rng, 3, 4, 4, dtype=torch.float16, under=with_an_empty_row)
    inputs["query"][:, 0], inputs["key"][:, 0] = 10, -10
    return inputs


def rows_far_apart(rng):
    """Draw queries of which some have scores around 200, some around -200, and the first a masked
    key far ahead.

    At 200, exp overflows in float32, and two ways to add up a score still agree to 1e-5.
    """
    inputs = attention_case(rng, 2, 3, 4, 4, under=any_mask)
    inputs["query"][:, :, 0] = 200 * torch.tensor([1.0, -1.0, 1.0])
    inputs["key"][:, :, 0] = 2
    inputs["query"][:, 0, 1], inputs["key"][:, 0, 1] = 2, 4000
    return inputs


def masked_key_far_ahead(rng):
    """Draw a masked key whose score is so high that beside it every other weight would round to
    0.
    """
    inputs = attention_case(rng, 2, 3, 2, under=any_mask)
    inputs["query"][0, 0], inputs["key"][0, 0] = 2, 2000
    return inputs


@drawn
def masked_keys_changed(rng, mask, *batch, seq_len, head_dim):
    """Change key and value at the last position, which only the last query may attend to, or none
    where it is padding.
    """
    forward = attention_case(rng, *batch, seq_len, seq_len, head_dim, mask=mask)
    key, value = forward["key"].clone(), forward["value"].clone()
    key[..., -1, :] = 3 + normal(rng, *batch, head_dim)
    value[..., -1, :] += 5
    return {"forward": forward, "changed": {"key": key, "value": value}}


def scores_of(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


def filled(stand_in=None, zeroed=False, axis=-1):
    """Make weights in which a number takes the place of a masked score, without one the lowest of
    their dtype, and perhaps 0 that of its weight.
    """

    def weights_of(scores, mask):
        lowest = torch.finfo(scores.dtype).min if stand_in is None else stand_in
        weights = scores.masked_fill(~mask, lowest).softmax(axis)
        return weights.masked_fill(~mask, 0) if zeroed else weights

    return weights_of


filled_and_zeroed = filled(zeroed=True)


def attention_with(weights_of=filled_and_zeroed, returned=lambda weights: weights):
    """Make an attention from a rule that computes weights of scores and a mask, and one for the
    weights that it returns; without a mask it is right.
    """

    def attention(query, key, value, mask=None):
        scores = scores_of(query, key)
        weights = scores.softmax(-1) if mask is None else weights_of(scores, mask)
        return weights @ value, returned(weights)

    return attention


def renormalised(total_of):
    """Make weights that are masked after the softmax, and divided by what `total_of` makes of their
    sum.
    """

    def weights_of(scores, mask):
        weights = scores.softmax(-1) * mask
        return weights / total_of(weights.sum(dim=-1, keepdim=True))

    return weights_of


checks = Checks(
    masked_attention,
    family=attention_with,
    laws=(partial(sums_to_one, of="weights"), zero_where_masked, between_the_values),
    returns=("output", "weights"),
    shortcuts="""scaled_dot_product_attention _scaled_dot_product_attention_math
    multi_head_attention_forward MultiheadAttention flex_attention""",
)
shown, hidden, wrong, right = checks.words

shown(
    "what is masked gets no weight, the rest share all of it",
    attention_case(2, 3, 2, under=any_mask),
    weight=2,
)
shown("without a mask every key is seen", attention_case(2, 3, 2), weight=2)
shown(
    "one causal mask for all sentences and heads",
    attention_case(2, 2, 3, 3, 2, mask=causal_mask(3)),
)
shown(
    "one row of padding for each sentence", attention_case(2, 2, 2, 3, 2, mask=padding([3, 2], 3))
)
shown(
    "a query that may attend to nothing gets nothing",
    attention_case(3, 3, 2, under=with_an_empty_row),
    weight=2,
    laws=(zero_where_masked,),
)
shown("the gradients under a mask", attention_case(3, 3, 2, under=any_mask), probe=gradients)
shown(
    "gradients stay finite where a query may attend to nothing",
    attention_case(3, 3, 2, under=with_an_empty_row),
    probe=gradients,
    weight=2,
)
shown(
    "nothing that is masked can move an output",
    masked_keys_changed(causal_mask(4), 1, 1, seq_len=4, head_dim=2),
    probe=moved,
)
shown("a masked key with by far the highest score", masked_key_far_ahead)
shown("scores far below zero", far_below_zero, weight=2)
shown("bfloat16 in, bfloat16 out", attention_case(2, 3, 4, under=any_mask, dtype=torch.bfloat16))
shown(
    "float16, with a query that may attend to nothing",
    attention_case(3, 3, 4, under=with_an_empty_row, dtype=torch.float16),
    laws=(zero_where_masked,),
)
shown(
    'the result is on the device of the arguments, here "meta"',
    attention_case(2, 3, 2, under=any_mask),
    probe=device_kept,
)
shown(
    "the arguments stay as they were",
    attention_case(2, 3, 2, under=any_mask),
    probe=arguments_after,
)
hidden(
    "batch and heads, each with a table of its own",
    attention_case(2, 3, 4, 5, 3, d_v=2, under=any_mask),
    weight=2,
)
hidden("a mask for each head", attention_case(2, 3, 3, 3, 3, mask=any_mask(1, 3, 3, 3)))
hidden("one table, fewer axes than the scores", attention_case(3, 2, 3, 4, 2, mask=any_mask(3, 4)))
hidden("one row of a mask for every query", attention_case(4, 5, 3, mask=any_mask(1, 5)))
hidden(
    "padding of sentences of different lengths",
    attention_case(3, 2, 4, 4, 4, mask=padding([4, 2, 1], 4)),
)
hidden(
    "a sentence of nothing but padding beside another",
    attention_case(2, 2, 3, 4, 2, mask=padding([3, 0], 4)),
    weight=2,
    laws=(zero_where_masked,),
)
hidden(
    "gradients of a decoder whose padding comes first",
    attention_case(
        2, 1, 4, 4, 3, mask=padding_first([3, 2], 4).then(lambda drawn: decoder_mask(**drawn))
    ),
    probe=gradients,
    weight=2,
)
hidden("gradients without a mask", attention_case(2, 3, 4, 3), probe=gradients)
hidden(
    "gradients in bfloat16 beside an empty row",
    attention_case(2, 3, 2, under=with_an_empty_row, dtype=torch.bfloat16),
    probe=gradients,
)
hidden(
    "padding cannot move an output",
    masked_keys_changed(padding([3, 4], 5), 2, 1, seq_len=5, head_dim=3),
    probe=moved,
)
hidden("rows whose scores are far apart", rows_far_apart)
hidden("scores below any everyday number", far_below_zero, weight=2)
hidden("float16, with scores around -50 beside an empty row", below_zero_in_float16)
hidden(
    "float32 in, float32 out",
    attention_case(2, 2, 3, 3, 4, mask=causal_mask(3)),
)
hidden(
    "float16 in, float16 out",
    attention_case(2, 2, 3, 3, 4, mask=causal_mask(3), dtype=torch.float16),
)
hidden(
    "bfloat16, with a query that may attend to nothing",
    attention_case(2, 3, 4, 4, mask=with_an_empty_row(3, 4), dtype=torch.bfloat16),
    laws=(zero_where_masked,),
)
hidden(
    "tensors that are not contiguous in memory",
    attention_case(2, 2, 3, 3, 4, mask=any_mask(2, 1, 3, 3)),
    probe=returned_for_views,
)
hidden(
    "arguments of a whole batch stay as they were",
    attention_case(2, 2, 3, 3, 2, mask=any_mask(2, 1, 3, 3)),
    probe=arguments_after,
)


wrong(
    "True marks what is masked",
    """Your attention forbids what is allowed and allows what is forbidden. What does True mean in a
    mask of this course?""",
    mask=torch.logical_not,
)


wrong(
    "the weights are masked",
    """Your mask comes too late. The weights that are left no longer sum to 1, and what is masked
    still counted in the softmax that made them. Where do scores become weights?""",
    weights_of=lambda scores, mask: scores.softmax(-1) * mask,
)


wrong(
    "a masked score is 0",
    """A score of 0 is a score like any other: what is its exponential? Which score has an
    exponential of 0?""",
    weights_of=lambda scores, mask: (scores * mask).softmax(-1),
)


wrong(
    "True and False can be added to scores",
    """Adding True raises a score by 1, and adding False changes nothing. What should be added to a
    score whose key is masked?""",
    weights_of=lambda scores, mask: (scores + mask).softmax(-1),
)


wrong(
    "-inf is all that is needed",
    "What is the softmax of a row in which every score is -inf? Divide 0 by 0 to find out.",
    weights_of=filled(-math.inf),
)


wrong(
    "nan_to_num on the weights mends all, where -inf was added",
    """You remove nan from the weights, but the backward pass still goes through the softmax that
    made it. Can you keep nan from arising at all?""",
    weights_of=lambda scores, mask: (
        (scores + mask.to(scores.dtype).log()).softmax(-1).nan_to_num(0)
    ),
)


wrong(
    "nan_to_num on the output mends all",
    """The output is clean, but the weights that made it were nan, and the gradient of the values is
    a product with these weights.""",
    weights_of=filled(-math.inf),
    then=each(torch.nan_to_num),
)


def added(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return (scores + (~mask).to(scores.dtype) * lowest).softmax(-1) * mask


wrong(
    "the lowest number may be added to a score",
    """What is the lowest number of float16, plus a score of -50? There is no room below it. Can you
    put a number in the score's place instead of adding it?""",
    weights_of=added,
)


wrong(
    "-1e9 is as good as -inf",
    """How far does float16 reach? Could an allowed score be lower than -1e9? And what does a
    softmax make of a row in which all scores are the same?""",
    weights_of=filled(-1e9),
)


wrong(
    "a score lowered by 1e9 is a score of -inf",
    """If all scores of a row are lowered by the same number, what does the softmax make of them?
    And how far does float16 reach?""",
    weights_of=lambda scores, mask: (scores - (~mask).to(scores.dtype) * 1e9).softmax(-1),
)


wrong(
    "what every dtype holds is what float32 holds",
    "Your lowest number is that of one particular dtype. Which dtype do the scores have?",
    weights_of=filled(torch.finfo(torch.float32).min, zeroed=True),
)


@wrong(
    "zeros in the returned weights are enough",
    "The weights that you return are right. Are they the ones that made the output?",
)
def zeroed_too_late(*given):
    output, _ = attention_with(filled())(*given)
    return output, masked_attention(*given)[1]


wrong(
    "-1e4 fits every dtype",
    """Could an allowed score be lower than your stand-in for -inf? And what does a softmax make of
    a row in which all scores are the same?""",
    weights_of=filled(-1e4),
)


wrong(
    "-1e4, and zeros after it, hold for all scores",
    "Scores may have any size. What if the allowed ones are lower than your stand-in for -inf?",
    weights_of=filled(-1e4, zeroed=True),
)


wrong(
    "-1e9, and zeros after it, hold for all dtypes",
    """Does your stand-in for -inf fit into float16? And what if the allowed scores are lower than
    it is?""",
    weights_of=filled(-1e9, zeroed=True),
)


wrong(
    "the lowest number alone gives nothing to an empty row",
    """If all scores of a row are equally low, what does the softmax make of them? A query that may
    attend to nothing should get nothing.""",
    weights_of=filled(),
)


wrong(
    "what is left can be divided by its sum",
    """You divide each row by the sum of the weights that are left. When is that sum 0, and what
    should happen then?""",
    weights_of=renormalised(lambda total: total),
)


wrong(
    "a small epsilon makes the division safe",
    """Your weights are divided by a little too much, and in float16 your epsilon is 0. When is the
    sum 0, and what should happen then?""",
    weights_of=renormalised(lambda total: total + 1e-9),
)


wrong(
    "weights that rounded to 0 can be scaled up again",
    """What if a masked key has by far the largest score? Look at the weights of the others before
    you divide.""",
    weights_of=renormalised(lambda total: total.clamp(min=torch.finfo(total.dtype).tiny)),
)


wrong(
    "the softmax runs over the queries",
    "Take one query: over which axis do its weights have to sum to 1?",
    weights_of=filled(zeroed=True, axis=-2),
)


@wrong(
    "the output is masked",
    """You mask queries, and only after the values were averaged. Which keys took part in that
    average?""",
    around=True,
)
def output_masked(right, query, key, value, mask=None):
    output, weights = right(query, key, value)
    return output if mask is None else output * mask.any(dim=-1, keepdim=True), weights


@wrong(
    "the unmasked weights are what is returned",
    "The output is right. Which weights made it, and which do you return?",
    around=True,
)
def values_masked(right, query, key, value, mask=None):
    output, _ = right(query, key, value, mask)
    return output, right(query, key, value)[1]


wrong(
    "rows of the mask are keys",
    "Rows are queries, columns are keys. Which axis of the mask meets the queries in your code?",
    mask=lambda mask: mask.mT,
)


wrong(
    "one sentence's mask serves the batch",
    "Each sentence has a mask of its own. Which one do you apply to the second sentence?",
    mask=lambda mask: mask[:1] if mask.ndim > 2 else mask,
)


@wrong(
    "there is always a mask",
    """The caller may leave out the mask. What is `mask` then, and what does your function do with
    it?""",
)
def always_there(query, key, value, mask=None):
    weights = filled_and_zeroed(scores_of(query, key), mask)
    return weights @ value, weights


checks.exchanged("query", "key")
checks.exchanged("key", "value")


@wrong(
    "attention is computed on the CPU",
    """The arguments may lie on a GPU. Where does your function take them, and where does its result
    lie?""",
    around=True,
)
def on_the_cpu(right, query, key, value, mask=None):
    return right(query.cpu(), key.cpu(), value.cpu(), None if mask is None else mask.cpu())


wrong(
    "the mask can wait",
    "Your weights are what they would be without any mask. Where does your code use `mask`?",
    mask=None,
)


wrong(
    "the caller's mask is free to be worked in",
    """Compare `mask` before and after the call. A method whose name ends in an underscore changes
    the tensor that it is called on.""",
    mask=lambda mask: ~mask.logical_not_(),
)


@wrong(
    "the caller's query is free to be worked in",
    """Compare `query` before and after the call. Which line of yours writes into it instead of
    making a new tensor?""",
    around=True,
)
def query_doubled_in_place(right, query, key, value, mask=None):
    query.detach().mul_(2)
    return right(query / 2, key, value, mask)


checks.usual(
    "in float32",
    belief="float32 is always welcome",
    hint="Working in a wider dtype is fine. In which one does the caller expect the result?",
)


wrong(
    "the dot products are the scores",
    """The weights are sharper than they should be. What should happen to the dot products before
    the softmax?""",
    query=lambda query: query * math.sqrt(query.shape[-1]),
)


wrong(
    "returned weights are only to be looked at",
    """The numbers are right, but no gradient flows back from the weights that you return. Which
    step cuts them off from what made them?""",
    returned=torch.detach,
)


@right
def by_where(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    mask = torch.tensor(True) if mask is None else mask
    weights = torch.where(mask, scores, torch.finfo(scores.dtype).min).softmax(-1)
    weights = torch.where(mask, weights, 0.0)
    return weights @ value, weights


@right
@attention_with
def by_a_finite_bias(scores, mask):
    barred = (~mask).to(scores.dtype)
    return (scores + barred * torch.finfo(scores.dtype).min / 2).softmax(-1) * mask


@right
@attention_with
def by_renormalising(scores, mask):
    largest = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(dim=-1, keepdim=True)
    weights = (scores - largest).clamp(max=0).exp() * mask
    total = weights.sum(dim=-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1)


@right
@attention_with
def filled_and_swept(scores, mask):
    """The fill's own gradient is 0 at every masked score, so that it stops the nan of the
    softmax.
    """
    return filled(-math.inf)(scores, mask).nan_to_num(0.0)


@right
@attention_with
def opened_where_empty(scores, mask):
    """Opens rows without a permission before the softmax and closes them after it."""
    empty = ~mask.any(dim=-1, keepdim=True)
    return filled(-math.inf)(scores, mask | empty).masked_fill(empty, 0)


@right
def in_float32_throughout(query, key, value, mask=None):
    answers = masked_attention(query.float(), key.float(), value.float(), mask)
    return tuple(each.to(query.dtype) for each in answers)


@right
def by_the_fused_kernel(query, key, value, mask=None):
    output = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return output, masked_attention(query, key, value, mask)[1]


@right
@attention_with
def by_loops(scores, mask):
    rows = [
        torch.zeros_like(row).masked_scatter(seen, row[seen].softmax(-1)) if seen.any() else 0 * row
        for row, seen in zip(
            scores.flatten(0, -2), mask.expand(scores.shape).flatten(0, -2), strict=True
        )
    ]
    return torch.stack(rows).reshape(scores.shape)
