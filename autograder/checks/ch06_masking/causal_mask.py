"""Which keys do not lie in a query's future."""

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import integer
from autograder.shared.laws import looks_back_only
from autograder.shared.probes import device_kept
from solutions.ch06_masking import causal_mask


def up_to(diagonal=0):
    """Make a `causal_mask` that allows what lies on a diagonal and below it."""

    def causal_mask(seq_len, device=None):
        square = torch.ones(1, 1, seq_len, seq_len, dtype=torch.bool, device=device)
        return square.tril(diagonal)

    return causal_mask


checks = Checks(
    causal_mask,
    laws=(looks_back_only,),
    family=up_to,
    shortcuts="generate_square_subsequent_mask causal_lower_right causal_upper_left",
)
shown, hidden, wrong, right = checks.words

# Lengths are graded where no table of answers has them.
shown("a few positions", seq_len=integer(3, 10), graded={"seq_len": integer(40, 200)}, weight=2)
shown("a few more", seq_len=integer(8, 21), graded={"seq_len": integer(40, 200)}, weight=2)
shown(
    'the mask is made on the device asked for, here "meta"',
    seq_len=integer(2, 21),
    device="meta",
    probe=device_kept,
)
hidden("a long sequence", seq_len=integer(40, 200), weight=2)
hidden("a device given by name", seq_len=integer(21, 200), device="cpu")
hidden("a short sequence", seq_len=integer(2, 6))
hidden("the device asked for, again", seq_len=integer(2, 41), device="meta", probe=device_kept)


checks.usual(
    "transposed",
    belief="rows are keys",
    hint="""Rows are queries, columns are keys. Read your last row: what may the last position
    attend to? Is the triangle the other way round?""",
)


checks.usual(
    "inverted",
    belief="True marks what is masked",
    hint="""Your mask is upside down: True means that a query may attend to a key. May the first
    position attend to itself?""",
)


past_alone = wrong(
    "a position must not see itself",
    """What is left for the first position to attend to? The word at a position is not the word that
    this position predicts.""",
    diagonal=-1,
)


wrong(
    "a position may see the next one",
    """In training, the next position holds the very word that this one should predict. Look at the
    diagonal above the main one.""",
    diagonal=1,
)


wrong(
    "a position sees itself alone",
    "Look at your last row: the last position may attend to all that came before it.",
    then=lambda mask: mask & mask.mT,
)


wrong(
    "every position sees every other",
    "Which keys lie in the future of the first query? Print the mask for three positions.",
    then=torch.ones_like,
)


wrong(
    "a mask of queries and keys has two axes",
    """The mask has to meet the padding mask and the scores, which have four axes. Which axes does
    yours have, and where do the missing ones belong?""",
    then=lambda mask: mask[0, 0],
)


wrong(
    "one axis stands for batch and heads",
    """Batch and heads are two axes. How many axes does your mask have before those of queries and
    keys?""",
    then=lambda mask: mask[0],
)


wrong(
    "ones and zeros are as good as True and False",
    """Your triangle is right, but its dtype is not. Which dtype does torch give to a tensor of ones
    unless you ask for another?""",
    then=torch.Tensor.float,
)


checks.usual("as numbers", belief="ones and zeros need only be whole numbers")
checks.usual("added to the scores")


wrong(
    "masks live on the CPU",
    """On which device do torch's functions make new tensors unless you name one? Look at your
    second parameter.""",
    device=None,
)


@right
def by_triu(seq_len, device=None):
    return ~torch.triu(torch.ones(1, 1, seq_len, seq_len, device=device), diagonal=1).bool()


@right
def by_loops(seq_len, device=None):
    mask = torch.zeros(1, 1, seq_len, seq_len, dtype=torch.bool, device=device)
    for query in range(seq_len):
        for key in range(query + 1):
            mask[0, 0, query, key] = True
    return mask


@right
def by_numpy(seq_len, device=None):
    return torch.from_numpy(np.tri(seq_len, dtype=bool)).to(device)[None, None]
