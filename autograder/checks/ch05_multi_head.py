"""Checks of `ch05_multi_head`.

The contract leaves open, and so nothing here asks: a float16 under a mask (ch06 does), how weights
are initialised, whether the returned tensors lie side by side in memory.
"""

import math

import torch
from torch import nn

from autograder.authoring import draw
from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch05_multi_head as reference

ROWS_SUM_TO_ONE = ("sums_to_one", {"of": "weights"})
NOTHING_WHERE_MASKED = ("zero_where_masked", {})


def require_a_divisor(d_model, num_heads):
    if d_model % num_heads:
        raise ValueError("the heads cannot share these features evenly")


# --- split_heads
# -----------------------------------------------------------------------------------------------------


def to_split(batch, seq_len, num_heads, head_dim, dtype=torch.float64):
    def inputs(rng):
        return {
            "x": draw.normal(rng, batch, seq_len, num_heads * head_dim, dtype=dtype),
            "num_heads": num_heads,
        }

    return inputs


def not_divisible(rng):
    num_heads = int(rng.integers(3, 6))
    d_model = num_heads * int(rng.integers(1, 4)) + int(rng.integers(1, num_heads))
    return {"x": draw.normal(rng, 2, 3, d_model), "num_heads": num_heads}


def more_heads_than_features(rng):
    return {
        "x": draw.normal(rng, 1, 2, int(rng.integers(3, 6))),
        "num_heads": int(rng.integers(6, 9)),
    }


def split_with(rearrange):
    """Make a `split_heads` from the arithmetic alone."""

    def split_heads(x, num_heads):
        require_a_divisor(x.shape[-1], num_heads)
        return rearrange(x, num_heads)

    return split_heads


def view_as_heads(x, num_heads):
    batch, seq_len, d_model = x.shape
    return x.reshape(batch, num_heads, seq_len, d_model // num_heads)


def deal_like_cards(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def cut_off_the_rest(x, num_heads):
    head_dim = max(x.shape[-1] // num_heads, 1)
    kept = x[..., : num_heads * head_dim]
    return kept.reshape(*x.shape[:2], -1, head_dim).transpose(1, 2)


def split_without_asking(x, num_heads):
    batch, seq_len, d_model = x.shape
    return x.reshape(batch, seq_len, num_heads, d_model // num_heads).transpose(1, 2)


def heads_before_batch(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(2, 0, 1, 3)


def positions_before_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))


def features_before_positions(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 3, 1)


def head_dim_for_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(0, 3, 1, 2)


def heads_from_the_end(x, num_heads):
    return reference.split_heads(x, num_heads).flip(1)


def split_with_assert(x, num_heads):
    assert x.shape[-1] % num_heads == 0, "num_heads must divide d_model"
    return reference.split_heads(x, num_heads)


def split_detached(x, num_heads):
    return torch.tensor(reference.split_heads(x, num_heads).tolist(), dtype=x.dtype)


def split_in_float32(x, num_heads):
    return reference.split_heads(x.float(), num_heads)


def split_by_view_and_permute(x, num_heads):
    batch, seq_len, d_model = x.size()
    require_a_divisor(d_model, num_heads)
    return x.view(batch, seq_len, num_heads, d_model // num_heads).permute(0, 2, 1, 3)


def split_by_chunks(x, num_heads):
    if x.shape[-1] // num_heads * num_heads != x.shape[-1]:
        raise ValueError
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_by_loops(x, num_heads):
    batch, seq_len, d_model = x.shape
    require_a_divisor(d_model, num_heads)
    head_dim = d_model // num_heads
    heads = x.new_empty(batch, num_heads, seq_len, head_dim)
    for head in range(num_heads):
        heads[:, head] = x[:, :, head * head_dim : (head + 1) * head_dim]
    return heads


def split_by_einsum(x, num_heads):
    head_dim, rest = divmod(x.shape[-1], num_heads)
    if rest:
        raise ValueError(f"{rest} features are left over")
    return torch.einsum("bshd->bhsd", x.reshape(*x.shape[:-1], num_heads, head_dim)).contiguous()


def split_by_columns_of_the_identity(x, num_heads):
    require_a_divisor(x.shape[-1], num_heads)
    blocks = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).view(num_heads, -1, x.shape[-1])
    return x.unsqueeze(1) @ blocks.mT


SPLIT_HEADS = Exercise(
    reference=reference.split_heads,
    cases=(
        Case("one sentence, two heads", to_split(1, 3, 2, 2), weight=2),
        Case("a batch of two sentences", to_split(2, 3, 2, 2)),
        Case("three heads of four features", to_split(1, 2, 3, 4)),
        Case("a single head only gets an axis", to_split(2, 2, 1, 3)),
        Case("a ValueError where the heads cannot share evenly", not_divisible),
        Case("float32 in, float32 out", to_split(1, 2, 2, 3, torch.float32)),
        Case("x stays as it was", to_split(2, 2, 2, 2), probe=arguments_after),
        Case("a gradient flows back to x", to_split(1, 3, 2, 2), probe=gradients),
        Case("eight heads, as many words as heads", to_split(2, 8, 8, 3), visible=False, weight=2),
        Case("all sizes equal", to_split(3, 3, 3, 3), visible=False),
        Case("as many heads as features", to_split(2, 3, 4, 1), visible=False),
        Case("a single word", to_split(2, 1, 2, 3), visible=False),
        Case(
            "more heads than features raise a ValueError", more_heads_than_features, visible=False
        ),
        Case("a ValueError for other sizes that do not fit", not_divisible, visible=False),
        Case("bfloat16 in, bfloat16 out", to_split(2, 3, 2, 2, torch.bfloat16), visible=False),
        Case(
            "a tensor that is a view", to_split(2, 3, 2, 4), probe=returned_for_views, visible=False
        ),
        Case(
            "a gradient flows back to a batch", to_split(2, 3, 3, 2), probe=gradients, visible=False
        ),
    ),
    misconceptions=(
        Misconception(
            "a view can split and reorder at once",
            split_with(view_as_heads),
            "The shape is right, the numbers are not: a view or reshape keeps their order in"
            " memory. Follow the second word: do all of its features stay with the second"
            " position?",
        ),
        Misconception(
            "features are dealt out like cards",
            split_with(deal_like_cards),
            "Which features does head 0 hold in your result? A head gets a block of neighbours.",
        ),
        Misconception(
            "what does not fit may be cut off",
            cut_off_the_rest,
            "What becomes of the features that are left over when num_heads does not divide"
            " d_model?",
        ),
        Misconception(
            "PyTorch will complain by itself",
            split_without_asking,
            "PyTorch stumbles over these sizes on its way, in words about shapes. Who should notice"
            " first, and in which words?",
        ),
        Misconception(
            "an assertion is an error like any other",
            split_with_assert,
            "You notice sizes that do not fit. Which type of exception does the docstring ask for?",
        ),
        Misconception(
            "the axis of heads comes first",
            split_with(heads_before_batch),
            "Your first axis counts heads. Which axis should come first, and which second?",
        ),
        Misconception(
            "cutting the last axis is all",
            split_with(positions_before_heads),
            "The last axis is cut as it should be. Which two of the four axes have not changed"
            " places yet?",
        ),
        Misconception(
            "positions go last",
            split_with(features_before_positions),
            "Each head should hold a matrix with one row for each position. Is yours lying on its"
            " side?",
        ),
        Misconception(
            "the second axis has length head_dim",
            split_with(head_dim_for_heads),
            "Your second axis counts the features of a head. What should it count?",
        ),
        Misconception(
            "the last block belongs to head 0",
            split_with(heads_from_the_end),
            "The blocks are right, their order is not. Which features belong to head 0?",
        ),
        Misconception(
            "numbers may be copied out and in again",
            split_detached,
            "The numbers are right, but the result has lost its way back to x. Which step leaves"
            " PyTorch, or makes a new tensor of bare numbers?",
        ),
        Misconception(
            "float32 suits everybody",
            split_in_float32,
            "The result should have the dtype of x. Which step chooses one of its own?",
        ),
    ),
    alternatives=(
        split_by_view_and_permute,
        split_by_chunks,
        split_by_loops,
        split_by_einsum,
        split_by_columns_of_the_identity,
    ),
    shortcuts=("rearrange", "Rearrange"),
)

# --- merge_heads
# -----------------------------------------------------------------------------------------------------


def to_merge(batch, num_heads, seq_len, head_dim, dtype=torch.float64):
    return lambda rng: {"x": draw.normal(rng, batch, num_heads, seq_len, head_dim, dtype=dtype)}


def merge_as_it_lies(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


def merge_by_view(x):
    batch, heads, seq_len, head_dim = x.shape
    return x.transpose(1, 2).view(batch, seq_len, heads * head_dim)


def merge_like_cards(x):
    return x.permute(0, 2, 3, 1).flatten(2)


def merge_by_sum(x):
    return x.sum(dim=1)


def merge_by_mean(x):
    return x.mean(dim=1)


def merge_one_below_the_other(x):
    return x.flatten(1, 2)


def merge_positions_first(x):
    return x.permute(2, 0, 1, 3).flatten(2)


def merge_with_the_batch(x):
    return x.permute(1, 2, 0, 3).flatten(2)


def merge_from_the_end(x):
    return reference.merge_heads(x.flip(1))


def merge_detached(x):
    return torch.from_numpy(reference.merge_heads(x.detach()).float().numpy()).to(x.dtype)


def merge_in_float32(x):
    return reference.merge_heads(x.float())


def merge_by_contiguous_view(x):
    batch, heads, seq_len, head_dim = x.shape
    return x.transpose(1, 2).contiguous().view(batch, seq_len, heads * head_dim)


def merge_by_reshape(x):
    return x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def merge_by_cat(x):
    return torch.cat([x[:, head] for head in range(x.shape[1])], dim=-1)


def merge_by_unbind(x):
    return torch.hstack([head.transpose(1, 2) for head in x.unbind(1)]).transpose(1, 2)


MERGE_HEADS = Exercise(
    reference=reference.merge_heads,
    cases=(
        Case("one sentence, two heads", to_merge(1, 2, 3, 2), weight=2),
        Case("a batch of two sentences", to_merge(2, 2, 3, 2)),
        Case("three heads of four features", to_merge(1, 3, 2, 4)),
        Case("a single head only loses an axis", to_merge(2, 1, 2, 3)),
        Case("float32 in, float32 out", to_merge(1, 2, 2, 3, torch.float32)),
        Case("x stays as it was", to_merge(2, 2, 2, 2), probe=arguments_after),
        Case("a gradient flows back to x", to_merge(1, 2, 3, 2), probe=gradients),
        Case("eight heads, as many words as heads", to_merge(2, 8, 8, 3), visible=False, weight=2),
        Case("all sizes equal", to_merge(3, 3, 3, 3), visible=False),
        Case("heads of a single feature", to_merge(2, 4, 3, 1), visible=False),
        Case("a single word", to_merge(2, 3, 1, 2), visible=False),
        Case("bfloat16 in, bfloat16 out", to_merge(2, 2, 3, 2, torch.bfloat16), visible=False),
        Case(
            "a tensor that is a view", to_merge(2, 2, 3, 4), probe=returned_for_views, visible=False
        ),
        Case(
            "a gradient flows back to a batch", to_merge(2, 3, 3, 2), probe=gradients, visible=False
        ),
    ),
    misconceptions=(
        Misconception(
            "the axes are in the right order already",
            merge_as_it_lies,
            "The shape is right, the numbers are not. What lies side by side in memory belongs to"
            " one head at one position: which axis has to move before two heads can stand side by"
            " side?",
        ),
        Misconception(
            "view works on every tensor",
            merge_by_view,
            "A transposed tensor keeps its numbers where they were, and a view cannot reorder them."
            " Which method copies them where it has to?",
        ),
        Misconception(
            "features were dealt out like cards",
            merge_like_cards,
            "Take the first position of your result: which numbers come first? All features of head"
            " 0 should stand before those of head 1.",
        ),
        Misconception(
            "heads are added up",
            merge_by_sum,
            "Your result is as wide as one head. The heads should stand side by side, not on top of"
            " each other.",
        ),
        Misconception(
            "heads are averaged",
            merge_by_mean,
            "An average of the heads makes one average out of many again. Each head's features"
            " should keep a place of their own.",
        ),
        Misconception(
            "heads are put one below the other",
            merge_one_below_the_other,
            "Your result has more positions than the sentence. Along which axis should the heads be"
            " put together?",
        ),
        Misconception(
            "positions come first",
            merge_positions_first,
            "Your first axis counts positions. Which axis should come first?",
        ),
        Misconception(
            "batch and heads are one axis",
            merge_with_the_batch,
            "In your result, features of different sentences stand side by side. Which axis did you"
            " merge with the features?",
        ),
        Misconception(
            "the last head comes first",
            merge_from_the_end,
            "The blocks are right, their order is not. Whose features should come first?",
        ),
        Misconception(
            "numbers may be copied out and in again",
            merge_detached,
            "The numbers are right, but the result has lost its way back to x. Which step leaves"
            " PyTorch, or cuts the graph?",
        ),
        Misconception(
            "float32 suits everybody",
            merge_in_float32,
            "The result should have the dtype of x. Which step chooses one of its own?",
        ),
    ),
    alternatives=(merge_by_contiguous_view, merge_by_reshape, merge_by_cat, merge_by_unbind),
    shortcuts=("rearrange", "Rearrange"),
)

# --- MultiHeadAttention
# ----------------------------------------------------------------------------------------------


def attending(
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
        mask: the shape of the mask, or a function that draws it; None for a call without one.
        itself: whether query, key and value are one tensor's numbers.
        parts: see `draw.module_case`.
    """

    def inputs(rng):
        d_model = num_heads * head_dim
        query = draw.normal(rng, batch, query_len, d_model, dtype=dtype, scale=scale)
        key = (
            query if itself else draw.normal(rng, batch, key_len, d_model, dtype=dtype, scale=scale)
        )
        value = (
            query if itself else draw.normal(rng, batch, key_len, d_model, dtype=dtype, scale=scale)
        )
        forward = {"query": query, "key": key, "value": value}
        if mask is not None:
            forward["mask"] = mask(rng) if callable(mask) else draw.mask(rng, *mask)
        constructor = {"d_model": d_model, "num_heads": num_heads}
        return draw.module_case(
            rng, reference.MultiHeadAttention, constructor, forward, dtype, **parts
        )

    return inputs


def to_itself(batch, seq_len, num_heads, head_dim, **parts):
    return attending(batch, seq_len, seq_len, num_heads, head_dim, itself=True, **parts)


def past_and_present(seq_len):
    return lambda rng: torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


def a_single_key(*shape):
    return lambda rng: draw.mask(rng, *shape, share=0.0)


def everything(*shape):
    return lambda rng: torch.ones(shape, dtype=torch.bool)


def other_keys(*changed, mask):
    """Make a call in which key or value of masked positions, and of the second sentence, are
    changed.
    """

    def inputs(rng):
        case = attending(2, 3, 4, 2, 2, mask=mask)(rng)
        forward = case["forward"]
        replaced = {name: forward[name].clone() for name in changed}
        for tensor in replaced.values():
            tensor[1] += 1
            tensor[0] += 2.0 * ~forward["mask"][0, 0, 0, :, None]
        return {**case, "changed": replaced}

    return inputs


def one_sentence_changed(rng):
    case = attending(3, 2, 3, 2, 2)(rng)
    changed = case["forward"]["query"].clone()
    changed[1, 0] += 1
    return {**case, "changed": {"query": changed}}


def a_mask_row_for_each_sentence(rng):
    """A mask (2, 1, 1, 4) that hides a key of each sentence, so that there is something to
    change.
    """
    mask = draw.mask(rng, 2, 1, 1, 4)
    mask[:, 0, 0, 0], mask[:, 0, 0, 2] = True, False
    return mask


def table_of_parameters(d_model, num_heads):
    return lambda rng: {"constructor": {"d_model": d_model, "num_heads": num_heads}}


def impossible_module(rng):
    num_heads = int(rng.integers(3, 9))
    d_model = num_heads * int(rng.integers(1, 4)) + int(rng.integers(1, num_heads))
    return {"constructor": {"d_model": d_model, "num_heads": num_heads}}


def project(self, query, key, value):
    return self.w_q(query), self.w_k(key), self.w_v(value)


def scale_of(query, num_heads):
    return math.sqrt(query.shape[-1])


def hide(scores, mask):
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def softmax_over_keys(scores, mask):
    return torch.softmax(scores, dim=-1)


def average(weights, value):
    return weights @ value


def attention_with(
    *,
    project=project,
    split=reference.split_heads,
    scale=scale_of,
    hide=hide,
    weigh=softmax_over_keys,
    average=average,
    merge=reference.merge_heads,
    finish=lambda self, merged: self.w_o(merged),
    answer=lambda output, weights: (output, weights),
):
    """Make a module with the right parameters from rules for the parts of its forward pass."""

    class MultiHeadAttention(reference.MultiHeadAttention):
        def forward(self, query, key, value, mask=None):
            query, key, value = (
                split(each, self.num_heads) for each in project(self, query, key, value)
            )
            scores = hide(query @ key.mT / scale(query, self.num_heads), mask)
            weights = weigh(scores, mask)
            return answer(finish(self, merge(average(weights, value))), weights)

    return MultiHeadAttention


def answers(function):
    return attention_with(answer=function)


def split_batch_into_heads(x, num_heads):
    return (
        x.unflatten(-1, (num_heads, -1))
        .permute(2, 0, 1, 3)
        .reshape(len(x), num_heads, x.shape[1], -1)
    )


def masked_after_the_softmax(scores, mask):
    weights = torch.softmax(scores, dim=-1)
    return weights if mask is None else weights * mask


def share_of_everything(scores, mask):
    return torch.softmax(scores.flatten(-2), dim=-1).view_as(scores)


def heads_in_a_loop(self, query, key, value, mask):
    """Return output and weights of each head, head by head."""
    width = query.shape[-1] // self.num_heads
    for head in range(self.num_heads):
        part = slice(head * width, (head + 1) * width)
        q, k, v = (each[..., part] for each in project(self, query, key, value))
        scores = (q @ k.mT / math.sqrt(width)).unsqueeze(1)
        each = mask
        if mask is not None:
            each = (
                mask if mask.ndim < 3 or mask.shape[-3] == 1 else mask[..., head : head + 1, :, :]
            )
        weights = torch.softmax(hide(scores, each), dim=-1)[:, 0]
        yield weights @ v, weights


class WithStackedHeads(reference.MultiHeadAttention):
    """Puts the loop's weights together along a new first axis."""

    def forward(self, query, key, value, mask=None):
        outputs, weights = zip(*heads_in_a_loop(self, query, key, value, mask), strict=True)
        return self.w_o(torch.cat(outputs, dim=-1)), torch.stack(weights)


class WithoutBias(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        require_a_divisor(d_model, num_heads)
        self.num_heads = num_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    forward = reference.MultiHeadAttention.forward


class WithoutOutputBias(reference.MultiHeadAttention):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.w_o = nn.Linear(d_model, d_model, bias=False)


class AsWideAsOneHead(nn.Module):
    """One small projection, shared by all heads."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        require_a_divisor(d_model, num_heads)
        for name in ("w_q", "w_k", "w_v"):
            setattr(self, name, nn.Linear(d_model, d_model // num_heads))
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        raise RuntimeError("it does not come to this")


class OfAnySize(nn.Module):
    """Asks nothing of its sizes when it is made."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model))

    forward = reference.MultiHeadAttention.forward


class ListOfProjections(nn.Module):
    """Keeps its layers under names of its own."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        require_a_divisor(d_model, num_heads)
        self.projections = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        raise RuntimeError("it does not come to this")


class MaskTurnedInPlace(reference.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        result = super().forward(query, key, value, mask)
        if mask is not None:
            mask.logical_not_()
        return result


def right_by_loops(self, query, key, value, mask=None):
    outputs, weights = zip(*heads_in_a_loop(self, query, key, value, mask), strict=True)
    return self.w_o(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


def right_by_einsum(self, query, key, value, mask=None):
    query, key, value = (
        each.unflatten(-1, (self.num_heads, -1)) for each in project(self, query, key, value)
    )
    scores = torch.einsum("bqhd,bkhd->bhqk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return self.w_o(torch.einsum("bhqk,bkhd->bqhd", weights, value).flatten(-2)), weights


def right_by_fused_kernel(self, query, key, value, mask=None):
    query, key, value = (
        reference.split_heads(each, self.num_heads) for each in project(self, query, key, value)
    )
    output = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    weights = torch.softmax(hide(query @ key.mT / math.sqrt(query.shape[-1]), mask), dim=-1)
    return self.w_o(output.transpose(1, 2).reshape(len(output), output.shape[2], -1)), weights


def right_by_added_mask(self, query, key, value, mask=None):
    query, key, value = (
        merge_of_batch(each, self.num_heads) for each in project(self, query, key, value)
    )
    scores = torch.bmm(query / math.sqrt(query.shape[-1]), key.transpose(1, 2))
    scores = scores.unflatten(0, (-1, self.num_heads))
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(
            mask.logical_not(), -torch.inf
        )
    weights = nn.functional.softmax(scores, dim=-1)
    merged = (
        torch.bmm(weights.flatten(0, 1), value).unflatten(0, (-1, self.num_heads)).transpose(1, 2)
    )
    return self.w_o(merged.contiguous().view(len(merged), merged.shape[1], -1)), weights


def merge_of_batch(x, num_heads):
    """Return (batch * heads, seq_len, head_dim): the axes of batch and heads as one, as `torch.bmm`
    wants them.
    """
    return reference.split_heads(x, num_heads).flatten(0, 1)


def right_by_blocks_of_w_o(self, query, key, value, mask=None):
    output, weights = self.w_o.bias, []
    for found, each in heads_in_a_loop(self, query, key, value, mask):
        block = self.w_o.weight[
            :, len(weights) * found.shape[-1] : (len(weights) + 1) * found.shape[-1]
        ]
        output = output + found @ block.T
        weights.append(each)
    return output, torch.stack(weights, 1)


def right_by_torch(self, query, key, value, mask=None):
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


def module_with(forward):
    """Make a module that registers its layers in a loop, and has a forward pass of its own."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            if d_model % num_heads != 0:
                raise ValueError(f"d_model {d_model}, num_heads {num_heads}")
            self.num_heads = num_heads
            for name in ("w_q", "w_k", "w_v", "w_o"):
                self.add_module(name, nn.Linear(d_model, d_model))

    MultiHeadAttention.forward = forward
    MultiHeadAttention.__name__ = forward.__name__
    return MultiHeadAttention


MULTI_HEAD_ATTENTION = Exercise(
    reference=reference.MultiHeadAttention,
    returns=("output", "weights"),
    cases=(
        Case(
            "a sentence attends to itself, with two heads",
            to_itself(1, 3, 2, 2),
            properties=(ROWS_SUM_TO_ONE,),
            weight=2,
        ),
        Case("two sentences, three heads", to_itself(2, 3, 3, 2), properties=(ROWS_SUM_TO_ONE,)),
        Case(
            "query, key and value come from different places",
            attending(1, 2, 4, 2, 2),
            properties=(ROWS_SUM_TO_ONE,),
        ),
        Case("a single head", to_itself(1, 3, 1, 4), properties=(ROWS_SUM_TO_ONE,)),
        Case(
            "a mask (query_len, key_len): no word sees what comes after it",
            to_itself(2, 3, 2, 2, mask=past_and_present(3)),
            properties=(NOTHING_WHERE_MASKED, ROWS_SUM_TO_ONE),
            weight=2,
        ),
        Case(
            "a mask (batch, 1, 1, key_len): some keys are padding",
            attending(2, 3, 4, 2, 2, mask=a_mask_row_for_each_sentence),
            properties=(NOTHING_WHERE_MASKED, ROWS_SUM_TO_ONE),
            weight=2,
        ),
        Case(
            "a mask (batch, heads, query_len, key_len)",
            attending(1, 2, 3, 2, 2, mask=(1, 2, 2, 3)),
            properties=(NOTHING_WHERE_MASKED, ROWS_SUM_TO_ONE),
        ),
        Case(
            "the parameters have the names and shapes of the contract",
            table_of_parameters(4, 2),
            at_the_start,
        ),
        Case("a ValueError where the heads cannot share evenly", impossible_module, at_the_start),
        Case("bfloat16 in, bfloat16 out", to_itself(1, 3, 2, 2, dtype=torch.bfloat16)),
        Case(
            "the arguments stay as they were",
            to_itself(1, 3, 2, 2, mask=past_and_present(3)),
            arguments_after,
        ),
        Case(
            "gradients reach every input and every weight",
            attending(1, 2, 3, 2, 2),
            gradients,
            weight=2,
        ),
        Case(
            "eight heads, two sentences",
            to_itself(2, 5, 8, 3),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
            weight=2,
        ),
        Case(
            "all sizes equal",
            attending(3, 3, 3, 3, 3),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "heads of a single feature",
            to_itself(2, 4, 4, 1),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "one query, as in decoding",
            attending(2, 1, 5, 2, 4),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "a mask (1, 1, seq_len, seq_len)",
            to_itself(2, 4, 2, 3, mask=(1, 1, 4, 4)),
            properties=(NOTHING_WHERE_MASKED, ROWS_SUM_TO_ONE),
            visible=False,
        ),
        Case(
            "a mask (batch, heads, query_len, key_len), another for each head",
            attending(2, 3, 5, 3, 2, mask=(2, 3, 3, 5)),
            properties=(NOTHING_WHERE_MASKED, ROWS_SUM_TO_ONE),
            visible=False,
        ),
        Case(
            "a mask (batch, 1, query_len, key_len)",
            attending(2, 3, 4, 2, 3, mask=(2, 1, 3, 4)),
            properties=(NOTHING_WHERE_MASKED, ROWS_SUM_TO_ONE),
            visible=False,
        ),
        Case(
            "a mask that leaves one key to each query",
            attending(2, 3, 4, 2, 2, mask=a_single_key(3, 4), scale=3.0),
            properties=(NOTHING_WHERE_MASKED, ROWS_SUM_TO_ONE),
            visible=False,
        ),
        Case(
            "a mask that hides nothing",
            attending(1, 3, 4, 2, 2, mask=everything(1, 1, 3, 4)),
            visible=False,
        ),
        Case(
            "large scores",
            to_itself(2, 4, 2, 4, scale=12.0),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "float32 in, float32 out, with a mask",
            to_itself(2, 4, 2, 2, mask=(2, 1, 1, 4), dtype=torch.float32),
            visible=False,
        ),
        Case(
            "bfloat16 with a mask",
            to_itself(2, 3, 2, 4, mask=(3, 3), dtype=torch.bfloat16),
            visible=False,
        ),
        Case("float16 in, float16 out", to_itself(1, 4, 2, 2, dtype=torch.float16), visible=False),
        Case(
            "tensors that are views",
            attending(2, 3, 4, 2, 2, mask=(2, 1, 3, 4)),
            returned_for_views,
            visible=False,
        ),
        Case(
            "gradients under a mask",
            attending(2, 3, 4, 2, 2, mask=(2, 2, 3, 4)),
            gradients,
            visible=False,
        ),
        Case(
            "keys that are masked move nothing",
            other_keys("key", mask=a_mask_row_for_each_sentence),
            moved,
            visible=False,
        ),
        Case(
            "values that are masked move nothing",
            other_keys("value", mask=a_mask_row_for_each_sentence),
            moved,
            visible=False,
        ),
        Case(
            "a changed query moves its own output only", one_sentence_changed, moved, visible=False
        ),
        Case(
            "the parameters do not depend on the number of heads",
            table_of_parameters(6, 6),
            at_the_start,
            visible=False,
        ),
        Case(
            "a ValueError for other sizes that do not fit",
            impossible_module,
            at_the_start,
            visible=False,
        ),
        Case(
            "the arguments stay as they were, whatever the mask",
            attending(2, 2, 3, 2, 2, mask=(2, 2, 2, 3)),
            arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "a view can split and reorder at once",
            attention_with(split=view_as_heads),
            "Are your heads split as exercise 1 asks? A view or reshape alone gives the right"
            " shape, but hands parts of one word to several positions.",
        ),
        Misconception(
            "features are dealt out like cards",
            attention_with(split=deal_like_cards, merge=merge_like_cards),
            "Which features make up head 0? A head works on a block of neighbours.",
        ),
        Misconception(
            "batch and heads may change places",
            attention_with(split=split_batch_into_heads),
            "With a batch of one sentence you are right, with two you are not. Do the sentences"
            " still keep to themselves after your reshape?",
        ),
        Misconception(
            "the heads are in the right order for merging",
            attention_with(merge=merge_as_it_lies),
            "The weights are right, the output is not. Before the heads' features can stand side by"
            " side, which axis has to move?",
        ),
        Misconception(
            "the scale is sqrt(d_model)",
            attention_with(scale=lambda query, num_heads: math.sqrt(num_heads * query.shape[-1])),
            "The weights are too even. How many numbers does a dot product sum over, once there are"
            " heads?",
        ),
        Misconception(
            "the dot products are the scores",
            attention_with(scale=lambda query, num_heads: 1),
            "The weights are sharper than they should be. What happens to a dot product before the"
            " softmax?",
        ),
        Misconception(
            "the scale is d_k",
            attention_with(scale=lambda query, num_heads: query.shape[-1]),
            "Which power of head_dim does the scale take?",
        ),
        Misconception(
            "the scale belongs to the number of heads",
            attention_with(scale=lambda query, num_heads: math.sqrt(num_heads)),
            "Your scale follows the number of heads. Over how many numbers does a dot product sum?",
        ),
        Misconception(
            "the softmax runs over the queries",
            attention_with(weigh=lambda scores, mask: torch.softmax(scores, dim=-2)),
            "Take one query of one head: over which axis do its weights have to sum to 1?",
        ),
        Misconception(
            "the softmax runs over the heads",
            attention_with(weigh=lambda scores, mask: torch.softmax(scores, dim=1)),
            "Your heads share one total among them. Over which axis should each of them sum to 1 on"
            " its own?",
        ),
        Misconception(
            "all scores of a head share one sum",
            attention_with(weigh=share_of_everything),
            "Over how many numbers do your weights sum to 1? Every query has a total of its own.",
        ),
        Misconception(
            "putting the heads together is the end",
            attention_with(finish=lambda self, merged: merged),
            "One of your four layers has no part in the result. What is left to do once the heads"
            " stand side by side?",
        ),
        Misconception(
            "True means masked",
            attention_with(
                hide=lambda scores, mask: (
                    scores if mask is None else scores.masked_fill(mask, -math.inf)
                )
            ),
            "You hide what may be seen, and show what may not. What does True mean in a mask of"
            " this course?",
        ),
        Misconception(
            "a mask takes weights away",
            attention_with(weigh=masked_after_the_softmax, hide=lambda scores, mask: scores),
            "What do the weights of a row sum to after your mask? Those that are left should share"
            " the whole.",
        ),
        Misconception(
            "a mask hides queries",
            attention_with(
                hide=lambda scores, mask: scores if mask is None else hide(scores, mask.mT)
            ),
            "Rows are queries, columns are keys. Along which of the two does your mask act?",
        ),
        Misconception(
            "a mask can wait for the next chapter",
            attention_with(hide=lambda scores, mask: scores),
            "Do your weights change at all when a mask is given?",
        ),
        Misconception(
            "a score of 0 means no weight",
            attention_with(hide=lambda scores, mask: scores if mask is None else scores * mask),
            "Your masked scores are 0. What does the softmax make of a score of 0, and which score"
            " gives a weight of exactly 0?",
        ),
        Misconception(
            "True and False can be added to scores",
            attention_with(hide=lambda scores, mask: scores if mask is None else scores + mask),
            "Adding True raises a score by 1, and adding False leaves it. Which score has a weight"
            " of exactly 0?",
        ),
        Misconception(
            "a low score is low enough",
            attention_with(
                hide=lambda scores, mask: (
                    scores if mask is None else scores.masked_fill(~mask, -10.0)
                )
            ),
            "Your masked keys still get a little weight. Scores may be of any size: which one has a"
            " weight of exactly 0, whatever the others?",
        ),
        Misconception(
            "every mask has an axis for the batch and none for the heads",
            attention_with(
                hide=lambda scores, mask: (
                    scores if mask is None else hide(scores, mask.unsqueeze(1))
                )
            ),
            "A mask may have two axes or four, and some of length 1; axes are lined up from the"
            " right. Does yours need another one?",
        ),
        Misconception(
            "one projection serves queries and keys",
            attention_with(
                project=lambda self, query, key, value: (
                    self.w_q(query),
                    self.w_q(key),
                    self.w_v(value),
                )
            ),
            "One of your four layers has no part in the result. Which layer does each of the three"
            " inputs go through?",
        ),
        Misconception(
            "values are taken as they are",
            attention_with(
                project=lambda self, query, key, value: (self.w_q(query), self.w_k(key), value)
            ),
            "The weights are right, the output is not. What happens to the values before they are"
            " averaged?",
        ),
        Misconception(
            "attention is always self-attention",
            attention_with(
                project=lambda self, query, key, value: (
                    self.w_q(query),
                    self.w_k(query),
                    self.w_v(query),
                )
            ),
            "What if query, key and value are different tensors? Look at what each of your"
            " projections is given.",
        ),
        Misconception(
            "keys are the queries' tensor",
            attention_with(
                project=lambda self, query, key, value: (
                    self.w_q(query),
                    self.w_k(query),
                    self.w_v(value),
                )
            ),
            "The second argument has no effect in your module. What is projected to become the"
            " keys?",
        ),
        Misconception(
            "values are the keys' tensor",
            attention_with(
                project=lambda self, query, key, value: (
                    self.w_q(query),
                    self.w_k(key),
                    self.w_v(key),
                )
            ),
            "The third argument has no effect in your module. What is projected to become the"
            " values?",
        ),
        Misconception(
            "a projection needs no bias",
            WithoutBias,
            "The contract gives all four layers a bias. Which argument of nn.Linear took it away?",
        ),
        Misconception(
            "the last projection needs no bias",
            WithoutOutputBias,
            "Three of your layers have a bias. What about the last one?",
        ),
        Misconception(
            "a projection is as wide as one head",
            AsWideAsOneHead,
            "Each of the four layers has d_model features in and d_model out: the blocks of all"
            " heads in one matrix.",
        ),
        Misconception(
            "layers may have any name",
            ListOfProjections,
            "The layers have to be found under the names of the docstring. Which attributes does"
            " your __init__ set?",
        ),
        Misconception(
            "the sizes will fit",
            OfAnySize,
            "What happens when a module is made whose num_heads does not divide d_model? It should"
            " say so at once.",
        ),
        Misconception(
            "one map is enough to look at",
            answers(lambda output, weights: (output, weights.mean(dim=1))),
            "Your weights have lost the axis of heads. The average of several maps is a map that no"
            " head has.",
        ),
        Misconception(
            "a list of heads has the heads first",
            WithStackedHeads,
            "The weights have the axes (batch, heads, query_len, key_len). Along which axis do you"
            " put your heads together?",
        ),
        Misconception(
            "the last head's weights come first",
            answers(lambda output, weights: (output, weights.flip(1))),
            "The output is right, and each map of weights belongs to another head. In which order"
            " do you collect them?",
        ),
        Misconception(
            "scores are as good as weights",
            attention_with(answer=lambda output, weights: (output, weights.log())),
            "What should the rows of the second result sum to? You return what the softmax was"
            " given, or a logarithm.",
        ),
        Misconception(
            "weights come first",
            answers(lambda output, weights: (weights, output)),
            "In which order does the docstring name the two results?",
        ),
        Misconception(
            "weights are only there to be looked at",
            answers(lambda output, weights: (output, weights.detach())),
            "The numbers are right, but a loss on the weights could not be trained. Which step cuts"
            " the returned weights off?",
        ),
        Misconception(
            "no gradient is needed through the weights",
            attention_with(weigh=lambda scores, mask: torch.softmax(scores.detach(), dim=-1)),
            "The numbers are right, but queries and keys could never learn. Which step cuts the"
            " scores off from what made them?",
        ),
        Misconception(
            "a softmax belongs in float32",
            answers(lambda output, weights: (output, weights.float())),
            "Both results should have the dtype of the inputs. Which step chooses one of its own?",
        ),
        Misconception(
            "the caller's mask may be turned round",
            MaskTurnedInPlace,
            "Compare the mask before and after the call. Which operation of yours writes into it?"
            " In PyTorch their names end in an underscore.",
        ),
    ),
    alternatives=(
        module_with(right_by_loops),
        module_with(right_by_einsum),
        module_with(right_by_fused_kernel),
        module_with(right_by_added_mask),
        module_with(right_by_blocks_of_w_o),
        module_with(right_by_torch),
    ),
    shortcuts=(
        "MultiheadAttention",
        "multi_head_attention_forward",
        "_native_multi_head_attention",
    ),
)

EXERCISES = (SPLIT_HEADS, MERGE_HEADS, MULTI_HEAD_ATTENTION)
