"""Features of the heads, side by side again."""

import torch

from autograder.authoring import draw
from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.shared.probes import arguments_after, gradients, returned_for_views
from solutions import ch05_multi_head as reference


@drawn
def to_merge(rng, batch, num_heads, seq_len, head_dim, dtype=torch.float64):
    return {"x": draw.normal(rng, batch, num_heads, seq_len, head_dim, dtype=dtype)}


checks = Checks(reference.merge_heads, shortcuts=("rearrange", "Rearrange"))
shown, hidden, wrong, right = checks.words

shown("one sentence, two heads", to_merge(1, 2, 3, 2), weight=2)
shown("a batch of two sentences", to_merge(2, 2, 3, 2))
shown("three heads of four features", to_merge(1, 3, 2, 4))
shown("a single head only loses an axis", to_merge(2, 1, 2, 3))
shown("float32 in, float32 out", to_merge(1, 2, 2, 3, torch.float32))
shown("x stays as it was", to_merge(2, 2, 2, 2), probe=arguments_after)
shown("a gradient flows back to x", to_merge(1, 2, 3, 2), probe=gradients)
hidden("eight heads, as many words as heads", to_merge(2, 8, 8, 3), weight=2)
hidden("all sizes equal", to_merge(3, 3, 3, 3))
hidden("heads of a single feature", to_merge(2, 4, 3, 1))
hidden("a single word", to_merge(2, 3, 1, 2))
hidden("bfloat16 in, bfloat16 out", to_merge(2, 2, 3, 2, torch.bfloat16))
hidden("a tensor that is a view", to_merge(2, 2, 3, 4), probe=returned_for_views)
hidden("a gradient flows back to a batch", to_merge(2, 3, 3, 2), probe=gradients)


@wrong(
    "the axes are in the right order already",
    hint="The shape is right, the numbers are not. What lies side by side in memory belongs to one"
    " head at one position: which axis has to move before two heads can stand side by side?",
)
def as_it_lies(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


@wrong(
    "view works on every tensor",
    hint="A transposed tensor keeps its numbers where they were, and a view cannot reorder them. Which"
    " method copies them where it has to?",
)
def by_view(x):
    batch, heads, seq_len, head_dim = x.shape
    return x.transpose(1, 2).view(batch, seq_len, heads * head_dim)


@wrong(
    "features were dealt out like cards",
    hint="Take the first position of your result: which numbers come first? All features of head 0"
    " should stand before those of head 1.",
)
def like_cards(x):
    return x.permute(0, 2, 3, 1).flatten(2)


@wrong(
    "heads are added up",
    hint="Your result is as wide as one head. The heads should stand side by side, not on top of each"
    " other.",
)
def by_sum(x):
    return x.sum(dim=1)


@wrong(
    "heads are averaged",
    hint="An average of the heads makes one average out of many again. Each head's features should"
    " keep a place of their own.",
)
def by_mean(x):
    return x.mean(dim=1)


@wrong(
    "heads are put one below the other",
    hint="Your result has more positions than the sentence. Along which axis should the heads be put"
    " together?",
)
def one_below_the_other(x):
    return x.flatten(1, 2)


@wrong(
    "positions come first", hint="Your first axis counts positions. Which axis should come first?"
)
def positions_first(x):
    return x.permute(2, 0, 1, 3).flatten(2)


@wrong(
    "batch and heads are one axis",
    hint="In your result, features of different sentences stand side by side. Which axis did you merge"
    " with the features?",
)
def with_the_batch(x):
    return x.permute(1, 2, 0, 3).flatten(2)


@wrong(
    "the last head comes first",
    hint="The blocks are right, their order is not. Whose features should come first?",
)
def from_the_end(x):
    return reference.merge_heads(x.flip(1))


@wrong(
    "numbers may be copied out and in again",
    hint="The numbers are right, but the result has lost its way back to x. Which step leaves PyTorch,"
    " or cuts the graph?",
)
def detached(x):
    return torch.from_numpy(reference.merge_heads(x.detach()).float().numpy()).to(x.dtype)


@wrong(
    "float32 suits everybody",
    hint="The result should have the dtype of x. Which step chooses one of its own?",
)
def in_float32(x):
    return reference.merge_heads(x.float())


@right
def by_contiguous_view(x):
    batch, heads, seq_len, head_dim = x.shape
    return x.transpose(1, 2).contiguous().view(batch, seq_len, heads * head_dim)


@right
def by_reshape(x):
    return x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


@right
def by_cat(x):
    return torch.cat([x[:, head] for head in range(x.shape[1])], dim=-1)


@right
def by_unbind(x):
    return torch.hstack([head.transpose(1, 2) for head in x.unbind(1)]).transpose(1, 2)
