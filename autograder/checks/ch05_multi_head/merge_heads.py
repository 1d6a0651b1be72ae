"""Features of the heads, side by side again."""

from functools import partial

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.shared.probes import arguments_after, gradients, returned_for_views
from solutions.ch05_multi_head import merge_heads

numbers = partial(normal, dtype=torch.float64)


def merge_with(order=(0, 2, 1, 3)):
    """Make a `merge_heads` from the order of the axes of which the last two become one."""

    def merge(x):
        return x.permute(order).flatten(2)

    return merge


checks = Checks(merge_heads, shortcuts="rearrange Rearrange", family=merge_with)
shown, hidden, wrong, right = checks.words

shown("one sentence, two heads", x=numbers(1, 2, 3, 2), weight=2)
shown("a batch of two sentences", x=numbers(2, 2, 3, 2))
shown("three heads of four features", x=numbers(1, 3, 2, 4))
shown("a single head only loses an axis", x=numbers(2, 1, 2, 3))
shown("float32 in, float32 out", x=numbers(1, 2, 2, 3, dtype=torch.float32))
shown("x stays as it was", x=numbers(2, 2, 2, 2), probe=arguments_after)
shown("a gradient flows back to x", x=numbers(1, 2, 3, 2), probe=gradients)
hidden("eight heads, as many words as heads", x=numbers(2, 8, 8, 3), weight=2)
hidden("all sizes equal", x=numbers(3, 3, 3, 3))
hidden("heads of a single feature", x=numbers(2, 4, 3, 1))
hidden("a single word", x=numbers(2, 3, 1, 2))
hidden("bfloat16 in, bfloat16 out", x=numbers(2, 2, 3, 2, dtype=torch.bfloat16))
hidden("a tensor that is a view", x=numbers(2, 2, 3, 4), probe=returned_for_views)
hidden("a gradient flows back to a batch", x=numbers(2, 3, 3, 2), probe=gradients)


@wrong(
    "the axes are in the right order already",
    """The shape is right, the numbers are not. What lies side by side in memory belongs to one head
    at one position: which axis has to move before two heads can be side by side?""",
)
def as_it_lies(x):
    return x.reshape(len(x), x.shape[2], -1)


@wrong(
    "view works on every tensor",
    """A transposed tensor keeps its numbers where they were, and a view cannot reorder them. Which
    method copies them where it has to?""",
)
def by_view(x):
    return x.transpose(1, 2).view(len(x), x.shape[2], -1)


like_cards = wrong(
    "features were dealt out like cards",
    """Take the first position of your result: which numbers come first? All features of head 0
    should come before those of head 1.""",
    order=(0, 2, 3, 1),
)


@wrong(
    "the last two axes change places",
    """The shape is right, the numbers are not. Two axes should end side by side before they are
    merged: which two, and are they?""",
)
def after_swapping_the_last_axes(x):
    return x.mT.reshape(len(x), x.shape[2], -1)


@wrong(
    "axes are merged first and change places then",
    """The shape is right, the numbers are not. Which two axes lie side by side when you merge, and
    which two should become one?""",
)
def merged_first(x):
    return x.reshape(len(x), -1, x.shape[2]).mT


wrong(
    "heads may keep an axis of their own",
    """The axes are in the right order, and there are still four. Which two should become one?""",
)(lambda x: x.transpose(1, 2))


@wrong(
    "the second axis counts positions",
    """The first line of your code gives the axes of x their names. Which one counts heads, and
    which positions?""",
)
def with_other_names(x):
    return x.transpose(1, 2).reshape(len(x), x.shape[1], -1)


wrong(
    "heads are added up",
    "Your result is as wide as one head. The heads should be side by side, not added up.",
)(lambda x: x.sum(dim=1))


wrong(
    "heads are averaged",
    """An average of the heads makes one average out of many again. Each head's features should keep
    a place of their own.""",
)(lambda x: x.mean(dim=1))


wrong(
    "heads are put one below the other",
    """Your result has more positions than the sentence. Along which axis should the heads be put
    together?""",
)(lambda x: x.flatten(1, 2))


wrong(
    "positions come first",
    "Your first axis counts positions. Which axis should come first?",
    order=(2, 0, 1, 3),
)


wrong(
    "batch and heads are one axis",
    """In your result, features of different sentences are side by side. Which axis did you merge
    with the features?""",
    order=(1, 2, 0, 3),
)


wrong(
    "the last head comes first",
    "The blocks are right, their order is not. Whose features should come first?",
    x=lambda x: x.flip(1),
)


checks.usual(
    "detached",
    hint="""The numbers are right, but no gradient can flow from the result back to x. Which step
    leaves PyTorch, or cuts the graph?""",
)


checks.usual(
    "in float32",
    belief="float32 suits everybody",
    hint="The result should have the dtype of x. Which step chooses one of its own?",
)


@right
def by_contiguous_view(x):
    return x.transpose(1, 2).contiguous().view(len(x), x.shape[2], -1)


@right
def by_cat(x):
    return torch.cat([x[:, head] for head in range(x.shape[1])], dim=-1)
