"""Features of each position, dealt out to the heads."""

import torch

from autograder.authoring import draw
from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.checks.ch05_multi_head import require_a_divisor
from autograder.shared.probes import arguments_after, gradients, returned_for_views
from solutions import ch05_multi_head as reference


@drawn
def to_split(rng, batch, seq_len, num_heads, head_dim, dtype=torch.float64):
    return {
        "x": draw.normal(rng, batch, seq_len, num_heads * head_dim, dtype=dtype),
        "num_heads": num_heads,
    }


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


checks = Checks(reference.split_heads, shortcuts=("rearrange", "Rearrange"))
shown, hidden, wrong, right = checks.words

shown("one sentence, two heads", to_split(1, 3, 2, 2), weight=2)
shown("a batch of two sentences", to_split(2, 3, 2, 2))
shown("three heads of four features", to_split(1, 2, 3, 4))
shown("a single head only gets an axis", to_split(2, 2, 1, 3))
shown("a ValueError where the heads cannot share evenly", not_divisible)
shown("float32 in, float32 out", to_split(1, 2, 2, 3, torch.float32))
shown("x stays as it was", to_split(2, 2, 2, 2), probe=arguments_after)
shown("a gradient flows back to x", to_split(1, 3, 2, 2), probe=gradients)
hidden("eight heads, as many words as heads", to_split(2, 8, 8, 3), weight=2)
hidden("all sizes equal", to_split(3, 3, 3, 3))
hidden("as many heads as features", to_split(2, 3, 4, 1))
hidden("a single word", to_split(2, 1, 2, 3))
hidden("more heads than features raise a ValueError", more_heads_than_features)
hidden("a ValueError for other sizes that do not fit", not_divisible)
hidden("bfloat16 in, bfloat16 out", to_split(2, 3, 2, 2, torch.bfloat16))
hidden("a tensor that is a view", to_split(2, 3, 2, 4), probe=returned_for_views)
hidden("a gradient flows back to a batch", to_split(2, 3, 3, 2), probe=gradients)


wrong(
    "a view can split and reorder at once",
    hint="The shape is right, the numbers are not: a view or reshape keeps their order in memory."
    " Follow the second word: do all of its features stay with the second position?",
)(split_with(view_as_heads))


wrong(
    "features are dealt out like cards",
    hint="Which features does head 0 hold in your result? A head gets a block of neighbours.",
)(split_with(deal_like_cards))


@wrong(
    "what does not fit may be cut off",
    hint="What becomes of the features that are left over when num_heads does not divide d_model?",
)
def cut_off_the_rest(x, num_heads):
    head_dim = max(x.shape[-1] // num_heads, 1)
    kept = x[..., : num_heads * head_dim]
    return kept.reshape(*x.shape[:2], -1, head_dim).transpose(1, 2)


@wrong(
    "PyTorch will complain by itself",
    hint="PyTorch stumbles over these sizes on its way, in words about shapes. Who should notice"
    " first, and in which words?",
)
def without_asking(x, num_heads):
    batch, seq_len, d_model = x.shape
    return x.reshape(batch, seq_len, num_heads, d_model // num_heads).transpose(1, 2)


@wrong(
    "an assertion is an error like any other",
    hint="You notice sizes that do not fit. Which type of exception does the docstring ask for?",
)
def with_assert(x, num_heads):
    assert x.shape[-1] % num_heads == 0, "num_heads must divide d_model"
    return reference.split_heads(x, num_heads)


wrong(
    "the axis of heads comes first",
    hint="Your first axis counts heads. Which axis should come first, and which second?",
)(split_with(heads_before_batch))


wrong(
    "cutting the last axis is all",
    hint="The last axis is cut as it should be. Which two of the four axes have not changed places"
    " yet?",
)(split_with(positions_before_heads))


wrong(
    "positions go last",
    hint="Each head should hold a matrix with one row for each position. Is yours lying on its side?",
)(split_with(features_before_positions))


wrong(
    "the second axis has length head_dim",
    hint="Your second axis counts the features of a head. What should it count?",
)(split_with(head_dim_for_heads))


wrong(
    "the last block belongs to head 0",
    hint="The blocks are right, their order is not. Which features belong to head 0?",
)(split_with(heads_from_the_end))


@wrong(
    "numbers may be copied out and in again",
    hint="The numbers are right, but the result has lost its way back to x. Which step leaves PyTorch,"
    " or makes a new tensor of bare numbers?",
)
def detached(x, num_heads):
    return torch.tensor(reference.split_heads(x, num_heads).tolist(), dtype=x.dtype)


@wrong(
    "float32 suits everybody",
    hint="The result should have the dtype of x. Which step chooses one of its own?",
)
def in_float32(x, num_heads):
    return reference.split_heads(x.float(), num_heads)


@right
def by_view_and_permute(x, num_heads):
    batch, seq_len, d_model = x.size()
    require_a_divisor(d_model, num_heads)
    return x.view(batch, seq_len, num_heads, d_model // num_heads).permute(0, 2, 1, 3)


@right
def by_chunks(x, num_heads):
    if x.shape[-1] // num_heads * num_heads != x.shape[-1]:
        raise ValueError
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


@right
def by_loops(x, num_heads):
    batch, seq_len, d_model = x.shape
    require_a_divisor(d_model, num_heads)
    head_dim = d_model // num_heads
    heads = x.new_empty(batch, num_heads, seq_len, head_dim)
    for head in range(num_heads):
        heads[:, head] = x[:, :, head * head_dim : (head + 1) * head_dim]
    return heads


@right
def by_einsum(x, num_heads):
    head_dim, rest = divmod(x.shape[-1], num_heads)
    if rest:
        raise ValueError(f"{rest} features are left over")
    return torch.einsum("bshd->bhsd", x.reshape(*x.shape[:-1], num_heads, head_dim)).contiguous()


@right
def by_columns_of_the_identity(x, num_heads):
    require_a_divisor(x.shape[-1], num_heads)
    blocks = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).view(num_heads, -1, x.shape[-1])
    return x.unsqueeze(1) @ blocks.mT
