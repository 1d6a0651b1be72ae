"""Features of each position, dealt out to the heads."""

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn, integer
from autograder.checks.ch05_multi_head import require_a_divisor, sizes_that_do_not_fit
from autograder.shared.probes import arguments_after, gradients, returned_for_views
from solutions.ch05_multi_head import split_heads


@drawn
def to_split(rng, batch, seq_len, num_heads, head_dim, dtype=torch.float64):
    x = normal(rng, batch, seq_len, num_heads * head_dim, dtype=dtype)
    return {"x": x, "num_heads": num_heads}


def not_divisible(rng):
    sizes = sizes_that_do_not_fit(rng, 6)
    return {"x": normal(rng, 2, 3, sizes["d_model"]), "num_heads": sizes["num_heads"]}


def more_heads_than_features(rng):
    return {"x": normal(rng, 1, 2, integer(rng, 3, 6)), "num_heads": integer(rng, 6, 9)}


def split_with(
    cut=lambda x, num_heads: x.unflatten(-1, (num_heads, -1)),
    order=(0, 2, 1, 3),
    require=require_a_divisor,
):
    """Make a `split_heads` from how it cuts x into four axes, and the order that they come in."""

    def split(x, num_heads):
        require(x.shape[-1], num_heads)
        return cut(x, num_heads).permute(order)

    return split


checks = Checks(split_heads, shortcuts="rearrange Rearrange", family=split_with)
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


view_as_heads = wrong(
    "a view can split and reorder at once",
    """The shape is right, the numbers are not: a view or reshape keeps their order in memory.
    Follow the second word: do all of its features stay with the second position?""",
    cut=lambda x, num_heads: x.reshape(len(x), num_heads, x.shape[1], -1),
    order=(0, 1, 2, 3),
)


deal_like_cards = wrong(
    "features are dealt out like cards",
    "Which features does head 0 hold in your result? A head gets a block of neighbours.",
    cut=lambda x, num_heads: x.unflatten(-1, (-1, num_heads)),
    order=(0, 3, 1, 2),
)


wrong(
    "the axes may change places before they are cut",
    """The shape is right, the numbers are not. You swap the axes first and cut then: which axis is
    the last one when it is cut, and which should it be?""",
    cut=lambda x, num_heads: x.mT.reshape(len(x), num_heads, x.shape[1], -1),
    order=(0, 1, 2, 3),
)


wrong(
    "the sizes of a cut may come in any order",
    """You cut the last axis into two, but with their sizes exchanged. How many blocks should there
    be, and how long is each?""",
    cut=lambda x, num_heads: x.unflatten(-1, (-1, num_heads)),
)


@wrong(
    "transpose takes an order of axes",
    """In torch, `transpose` is given the two axes that change places. It is NumPy's that is given
    the order of all. Which two are they here?""",
)
def by_numpys_transpose(x, num_heads):
    require_a_divisor(x.shape[-1], num_heads)
    return x.unflatten(-1, (num_heads, -1)).transpose(0, 2, 1, 3)


@wrong(
    "what does not fit may be cut off",
    "What becomes of the features that are left over when num_heads does not divide d_model?",
)
def cut_off_the_rest(x, num_heads):
    head_dim = max(x.shape[-1] // num_heads, 1)
    kept = x[..., : num_heads * head_dim]
    return kept.unflatten(-1, (-1, head_dim)).transpose(1, 2)


wrong(
    "PyTorch will complain by itself",
    """PyTorch fails on these sizes later, with a message about shapes. Who should notice first, and
    what should the message say?""",
    cut=lambda x, num_heads: x.reshape(*x.shape[:2], num_heads, x.shape[-1] // num_heads),
    require=lambda *sizes: None,
)


@wrong(
    "an assertion is an error like any other",
    "You notice sizes that do not fit. Which type of exception does the docstring ask for?",
    rule="require",
)
def with_assert(d_model, num_heads):
    assert d_model % num_heads == 0, "num_heads must divide d_model"


wrong(
    "the axis of heads comes first",
    "Your first axis counts heads. Which axis should come first, and which second?",
    order=(2, 0, 1, 3),
)


wrong(
    "cutting the last axis is all",
    """The last axis is cut as it should be. Which two of the four axes have not changed places
    yet?""",
    order=(0, 1, 2, 3),
)


wrong(
    "the last two axes change places",
    """Two of your axes have changed places, but not the right two. What does each of the four
    count, before and after?""",
    order=(0, 1, 3, 2),
)


wrong(
    "positions go last",
    """Each head should hold a matrix with one row for each position. Is yours lying on its
    side?""",
    order=(0, 2, 3, 1),
)


wrong(
    "the second axis has length head_dim",
    "Your second axis counts the features of a head. What should it count?",
    order=(0, 3, 1, 2),
)


wrong(
    "the last block belongs to head 0",
    "The blocks are right, their order is not. Which features belong to head 0?",
    then=lambda heads: heads.flip(1),
)


checks.usual(
    "detached",
    hint="""The numbers are right, but the result has lost its way back to x. Which step leaves
    PyTorch, or makes a new tensor of bare numbers?""",
)


checks.usual(
    "in float32",
    belief="float32 suits everybody",
    hint="The result should have the dtype of x. Which step chooses one of its own?",
)


@right
def by_chunks(x, num_heads):
    require_a_divisor(x.shape[-1], num_heads)
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


@right
def by_loops(x, num_heads):
    head_dim, rest = divmod(x.shape[-1], num_heads)
    if rest:
        raise ValueError
    heads = x.new_empty(len(x), num_heads, x.shape[1], head_dim)
    for head in range(num_heads):
        heads[:, head] = x[:, :, head * head_dim : (head + 1) * head_dim]
    return heads


@right
def by_einsum(x, num_heads):
    require_a_divisor(x.shape[-1], num_heads)
    return torch.einsum("bshd->bhsd", x.reshape(*x.shape[:-1], num_heads, -1)).contiguous()


@right
def by_columns_of_the_identity(x, num_heads):
    require_a_divisor(x.shape[-1], num_heads)
    blocks = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).view(num_heads, -1, x.shape[-1])
    return x.unsqueeze(1) @ blocks.mT
