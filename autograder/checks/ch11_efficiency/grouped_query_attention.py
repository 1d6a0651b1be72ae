"""Attention in which heads of queries share heads of keys and values."""

import math

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import mask as draw_mask
from autograder.authoring.draw import normal
from autograder.authoring.drawn import draw, drawn
from autograder.authoring.usual import each
from autograder.shared.probes import arguments_after, gradients, returned_for_views
from solutions.ch06_masking import causal_mask, masked_attention
from solutions.ch11_efficiency import grouped_query_attention


@drawn
def grouped(
    rng,
    heads=4,
    kv_heads=2,
    query_len=3,
    key_len=5,
    batch=2,
    head_dim=3,
    dtype=torch.float64,
    scale=1.0,
    **mask,
):
    """Draw queries, keys, values, and a mask where one is described."""
    return {
        "query": normal(rng, batch, heads, query_len, head_dim, dtype=dtype, scale=scale),
        "key": normal(rng, batch, kv_heads, key_len, head_dim, dtype=dtype),
        "value": normal(rng, batch, kv_heads, key_len, head_dim, dtype=dtype),
        **draw(mask, rng),
    }


@drawn
def with_an_empty_row(rng, *shape):
    """Draw a mask in which one query of each table sees nothing, and no other sees all."""
    allowed = draw_mask(rng, *shape)
    allowed[..., 0], allowed[..., 1] = False, True
    allowed[..., 1, :] = False
    return allowed


def each_repeated(tensor, times):
    return tensor.repeat_interleave(times, dim=1)


def refuse_odd(heads, kv_heads):
    if heads % kv_heads:
        raise ValueError("heads cannot be shared out")


def weights_of(scores, mask):
    if mask is None:
        return scores.softmax(-1)
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return filled.softmax(-1).masked_fill(~mask, 0)


def attend_with(
    refuse=refuse_odd,
    repeated=each_repeated,
    repeated_values=None,
    scale=lambda head_dim: head_dim**-0.5,
    weights=weights_of,
    mask=lambda mask, heads, kv_heads: mask,
):
    """Make an attention with grouped queries from its rules."""

    def attend(query, key, value, mask_given=None):
        heads, kv_heads = query.shape[1], key.shape[1]
        refuse(heads, kv_heads)
        key = repeated(key, heads // kv_heads)
        value = (repeated_values or repeated)(value, heads // kv_heads)
        scores = query * scale(query.shape[-1]) @ key.mT
        seen = None if mask_given is None else mask(mask_given, heads, kv_heads)
        return weights(scores, seen) @ value

    return attend


checks = Checks(
    grouped_query_attention,
    family=attend_with,
    shortcuts="scaled_dot_product_attention",
)
shown, hidden, wrong, right = checks.words

shown("four heads of queries, two of keys", grouped(), weight=3)
shown("all queries share one head", grouped(3, 1), weight=2)
shown("each head of queries has keys of its own", grouped(2, 2))
shown("six heads of queries, two of keys", grouped(6, 2), weight=2)
shown("a mask that is the same for all heads", grouped(mask=draw_mask(3, 5)))
shown("a mask for each head", grouped(mask=draw_mask(2, 4, 3, 5)))
shown("a query that sees nothing gets 0", grouped(mask=with_an_empty_row(2, 1, 3, 5)))
shown("its gradients are finite", grouped(mask=with_an_empty_row(2, 4, 3, 5)), probe=gradients)
shown("five heads cannot share two", grouped(5, 2))
hidden("eight heads of queries, two of keys", grouped(8, 2, batch=1), weight=3)
hidden("six heads of queries, three of keys", grouped(6, 3, 4, 4), weight=2)
hidden("one head of keys for all", grouped(4, 1, 2, 6))
hidden("as many heads of both", grouped(3, 3))
hidden("one query, as in decoding", grouped(4, 2, 1, 7))
hidden("padding is masked", grouped(mask=draw_mask(2, 1, 1, 5)))
hidden("a causal mask", grouped(6, 2, 4, 4, mask=causal_mask(4)))
hidden("another mask for each head", grouped(6, 3, mask=draw_mask(2, 6, 3, 5)))
hidden("queries that see nothing, head by head", grouped(mask=with_an_empty_row(2, 4, 3, 5)))
hidden("large scores", grouped(scale=200.0, mask=draw_mask(3, 5)))
hidden("in float32", grouped(8, 4, dtype=torch.float32))
hidden("gradients flow to shared heads", grouped(6, 2), probe=gradients)
hidden("gradients under a mask", grouped(mask=with_an_empty_row(3, 5)), probe=gradients)
hidden("four heads cannot share three", grouped(4, 3, mask=draw_mask(3, 5)))
hidden("two heads cannot share four", grouped(2, 4))
hidden("tensors that are not contiguous in memory", grouped(), probe=returned_for_views)
hidden("arguments stay as they were", grouped(mask=draw_mask(3, 5)), probe=arguments_after)


wrong(
    "the heads are repeated one after the other",
    """Right where all share one head, or none do. In which order do your query heads use the heads
    of keys: 0, 0, 1, 1 or 0, 1, 0, 1?""",
    repeated=lambda tensor, times: tensor.repeat(1, times, 1, 1),
)


wrong(
    "keys are shared in one order, values in another",
    """A query finds its keys and then the values of other keys. In which order are your keys
    repeated, and in which your values?""",
    repeated_values=lambda tensor, times: tensor.repeat(1, times, 1, 1),
)


wrong(
    "all queries share the first head",
    "Right where there is one head of keys. What do your other heads of keys do?",
    repeated=lambda tensor, times: tensor[:, :1].expand(-1, times * tensor.shape[1], -1, -1),
)


wrong(
    "what is shared is the mean of the heads",
    """Your queries use the mean over all heads of keys. Which one of them belongs to a head of
    queries?""",
    repeated=lambda tensor, times: tensor.mean(1, keepdim=True).expand(
        -1, times * tensor.shape[1], -1, -1
    ),
)


wrong(
    "the last heads come first",
    "Which head of keys do your first heads of queries use? Count from the other end.",
    repeated=lambda tensor, times: each_repeated(tensor, times).flip(1),
)


wrong(
    "words are repeated",
    "Your keys and values have become longer. Which axis counts the heads?",
    repeated=lambda tensor, times: tensor.repeat_interleave(times, dim=2)[
        :, :1, :: max(1, times - 1)
    ][:, :, : tensor.shape[2]].expand(-1, times * tensor.shape[1], -1, -1),
)


wrong(
    "any number of heads can be shared out",
    "What should happen with 5 heads of queries and 2 of keys? The docstring says it.",
    refuse=lambda heads, kv_heads: None,
    repeated=lambda tensor, times: each_repeated(tensor, max(1, times)),
)


@wrong(
    "a remainder of heads may have the last keys",
    """Where heads cannot be shared out evenly, your function finds a way. What does the docstring
    ask for?""",
)
def the_rest_shares_the_last(query, key, value, mask=None):
    heads, kv_heads = query.shape[1], key.shape[1]
    owner = (torch.arange(heads) // max(1, heads // kv_heads)).clamp(max=kv_heads - 1)
    return masked_attention(query, key[:, owner], value[:, owner], mask)[0]


wrong(
    "heads must come in pairs",
    "Which numbers of heads does your function refuse? Three heads may share one.",
    refuse=lambda heads, kv_heads: refuse_odd(heads, 2 * kv_heads if heads > kv_heads else heads),
)


wrong(
    "a masked score is 0",
    "A score of 0 is a score like any other. Which score has an exponential of 0?",
    weights=lambda scores, mask: (scores if mask is None else scores * mask).softmax(-1),
)


wrong(
    "-inf is all that is needed",
    "What is the softmax of a row in which every score is -inf? Chapter 6 has such rows.",
    weights=lambda scores, mask: (
        scores if mask is None else scores.masked_fill(~mask, -math.inf)
    ).softmax(-1),
)


wrong(
    "the lowest number is all that is needed",
    """If all scores of a row are equally low, what does the softmax make of them? A query that sees
    nothing should get 0.""",
    weights=lambda scores, mask: (
        scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    ).softmax(-1),
)


wrong(
    "nan can be swept out at the end",
    """Your output is clean, but the weights that made it were nan. What do they make of the
    gradients in the backward pass?""",
    weights=lambda scores, mask: (
        scores if mask is None else scores.masked_fill(~mask, -math.inf)
    ).softmax(-1),
    then=torch.nan_to_num,
)


wrong(
    "True marks what is masked",
    "You hide what is allowed, and allow what is hidden. What does True mean in this course?",
    mask=lambda mask, heads, kv_heads: ~mask,
)


wrong(
    "the mask can wait",
    "These are the weights without any mask. Where does yours meet the scores?",
    weights=lambda scores, mask: scores.softmax(-1),
)


wrong(
    "a mask belongs to a group",
    """Right where the mask is the same for all heads. How many masks does a group of query heads
    have?""",
    mask=lambda mask, heads, kv_heads: (
        mask[:, :: heads // kv_heads].repeat_interleave(heads // kv_heads, dim=1)
        if mask.ndim == 4 and mask.shape[1] > 1
        else mask
    ),
)


wrong(
    "the dot products are the scores",
    "The weights are sharper than they should be. What happens to dot products before the softmax?",
    scale=lambda head_dim: 1.0,
)


wrong(
    "scores are divided by the width",
    "Your weights are too even. Which power of the width does the scale take?",
    scale=lambda head_dim: 1 / head_dim,
)


wrong(
    "the weights are wanted, too",
    "How many results does the docstring name?",
    then=lambda output: (output, output),
)


wrong(
    "heads come out side by side",
    "Which shape does your result have? Its heads should have an axis of their own.",
    then=lambda output: output.transpose(1, 2).flatten(2),
)


checks.usual("detached")
wrong(
    "attention works in float32",
    "The numbers are right to seven digits. Which dtype did the arguments have?",
    then=each(torch.Tensor.float),
)


@right
def by_views(query, key, value, mask=None):
    """Gives queries an axis of groups instead of repeating anything."""
    batch, heads, query_len, head_dim = query.shape
    kv_heads, key_len = key.shape[1:3]
    if heads % kv_heads != 0:
        raise ValueError(f"{heads} and {kv_heads}")
    query = query.reshape(batch, kv_heads, heads // kv_heads, query_len, head_dim)
    if mask is not None:
        mask = mask.expand(batch, heads, query_len, key_len)
        mask = mask.reshape(batch, kv_heads, heads // kv_heads, query_len, key_len)
    output, _ = masked_attention(query, key[:, :, None], value[:, :, None], mask)
    return output.reshape(batch, heads, query_len, head_dim)


@right
def by_index(query, key, value, mask=None):
    heads, kv_heads = query.shape[1], key.shape[1]
    if heads // kv_heads * kv_heads != heads:
        raise ValueError("no")
    owner = torch.arange(heads, device=query.device) // (heads // kv_heads)
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key[:, owner]) / math.sqrt(query.shape[-1])
    mask = torch.tensor(True, device=query.device) if mask is None else mask
    weights = torch.where(mask, scores, torch.finfo(scores.dtype).min).softmax(-1)
    return torch.where(mask, weights, 0.0) @ value[:, owner]


@right
def head_by_head(query, key, value, mask=None):
    heads, kv_heads = query.shape[1], key.shape[1]
    if heads % kv_heads:
        raise ValueError("heads")
    shape = (len(query), heads, query.shape[2], key.shape[2])
    mask = None if mask is None else mask.expand(shape)
    outputs = []
    for head in range(heads):
        group = head // (heads // kv_heads)
        seen = None if mask is None else mask[:, head]
        outputs.append(masked_attention(query[:, head], key[:, group], value[:, group], seen)[0])
    return torch.stack(outputs, dim=1)


@right
def by_expanding(query, key, value, mask=None):
    batch, kv_heads, key_len, head_dim = key.shape
    times, rest = divmod(query.shape[1], kv_heads)
    if rest:
        raise ValueError("kv_heads must divide heads")

    def shared(tensor):
        return (
            tensor[:, :, None]
            .expand(-1, -1, times, -1, -1)
            .reshape(batch, kv_heads * times, key_len, head_dim)
        )

    return masked_attention(query, shared(key), shared(value), mask)[0]
