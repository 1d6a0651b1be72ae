"""Which keys are in a window that ends at the query."""

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.laws import looks_back_only
from autograder.shared.probes import device_kept
from solutions.ch11_efficiency import sliding_window_mask


@drawn
def a_window(rng, seq_len=(7, 15), window=(3, 5), **device):
    return {"seq_len": integer(rng, *seq_len), "window": integer(rng, *window), **device}


@drawn
def as_wide_as_long(rng, seq_len=(4, 9), more=0):
    seq_len = integer(rng, *seq_len)
    return {"seq_len": seq_len, "window": seq_len + more}


def mask_with(
    nearest=0,
    farthest=lambda window, seq_len: window,
    refused=lambda window: window < 1,
    device=lambda device: device,
):
    """Make a mask from its rules: the smallest distance that is seen, and the first that is not."""

    def sliding_window_mask(seq_len, window, device_asked=None):
        if refused(window):
            raise ValueError("too narrow")
        place = torch.arange(seq_len, device=device(device_asked))
        distance = place[:, None] - place
        return ((distance >= nearest) & (distance < farthest(window, seq_len)))[None, None]

    return sliding_window_mask


checks = Checks(sliding_window_mask, laws=(looks_back_only,), family=mask_with)
shown, hidden, wrong, right = checks.words

# Lengths are graded where no table of answers has them.
LENGTHS = (40, 200)

shown("a few positions", a_window(), graded=a_window(LENGTHS, (3, 30)), weight=3)
shown("a window of one sees itself", a_window(window=(1, 2)), graded=a_window(LENGTHS, (1, 2)))
shown("a window of two", a_window((4, 7), (2, 3)), graded=a_window(LENGTHS, (2, 3)))
shown("a window as long as the sequence", as_wide_as_long(), graded=as_wide_as_long(LENGTHS))
shown("a window that is longer", as_wide_as_long(more=3), graded=as_wide_as_long(LENGTHS, more=3))
shown("a window of 0 is refused", seq_len=integer(3, 6), window=0)
shown(
    'the mask is made on the device asked for, here "meta"',
    a_window(device="meta"),
    probe=device_kept,
)
hidden("more positions, a wider window", a_window((20, 200), (5, 12)), weight=3)
hidden("a long sequence, a narrow window", a_window((50, 200), (2, 5)), weight=2)
hidden("itself alone", a_window((4, 200), (1, 2)))
hidden("one less than the sequence", as_wide_as_long(LENGTHS, more=-1))
hidden("as long as the sequence", as_wide_as_long(LENGTHS))
hidden("far longer than the sequence", as_wide_as_long(LENGTHS, more=50))
hidden("a single position", seq_len=1, window=integer(1, 9))
hidden("a negative window is refused", seq_len=integer(3, 9), window=-2)
hidden("a device given by name", a_window(LENGTHS, device="cpu"))
hidden("the device asked for, again", a_window((9, 30), device="meta"), probe=device_kept)


wrong(
    "the window does not count the position itself",
    """Your rows have one True too many. Does the statement count the position itself among the
    positions of the window?""",
    farthest=lambda window, seq_len: window + 1,
)


wrong(
    "the window ends before its last word",
    "Your rows have one True too few. Count those of a late row, and compare with the window.",
    farthest=lambda window, seq_len: max(window - 1, 0),
)


wrong(
    "a position does not see itself",
    "Which positions does a window of 1 hold?",
    nearest=1,
)


wrong(
    "the window is centred on the position",
    "You allow keys on both sides. May a position see what comes after it?",
    then=lambda mask: mask | mask.mT,
)


wrong(
    "a position sees the next one, too",
    "Your window ends one position too late. What does the first row allow?",
    nearest=-1,
)


wrong(
    "the past is seen whole",
    "Your mask is causal and no more. What has become of the argument `window`?",
    farthest=lambda window, seq_len: seq_len,
)


wrong(
    "what is outside the window is seen",
    "You allow the keys that are too far away. What does True mean?",
    then=lambda mask: ~mask,
)


wrong(
    "words are seen block by block",
    """Your windows do not move with the position: the first of each block sees only itself. How
    many does it see with a window that slides?""",
)(
    lambda seq_len, window, device=None: (
        sliding_window_mask(seq_len, window, device)
        & (
            torch.arange(seq_len, device=device)[:, None] // window
            == torch.arange(seq_len, device=device) // window
        )
    )
)


checks.usual(
    "transposed",
    belief="rows are keys",
    hint="""Rows are queries, columns are keys. Read your last row: may the last position see those
    before it?""",
)


wrong(
    "any window will do",
    "What should happen with a window below 1? The docstring says it.",
    refused=lambda window: False,
)


wrong(
    "a window of 0 is narrow, and no mistake",
    "Where is the limit? A position sees itself at least.",
    refused=lambda window: window < 0,
)


wrong(
    "a window must fit into the sequence",
    "May the window be larger than the sequence? Read the last lines of the statement again.",
    around=lambda right: (
        lambda seq_len, window, device=None: right(
            seq_len, window if window <= seq_len else -1, device
        )
    ),
)


wrong(
    "a mask of queries and keys has two axes",
    "The mask has to meet scores with four axes. Where are batch and heads?",
    then=lambda mask: mask[0, 0],
)


wrong(
    "ones and zeros are as good as True and False",
    "Your band is right, but its type is not. Which dtype does a mask have in this course?",
    then=torch.Tensor.float,
)


wrong(
    "masks live on the CPU",
    "On which device do your new tensors end up? Look at the last parameter.",
    device=lambda device: None,
)


@right
def by_triangles(seq_len, window, device=None):
    if window <= 0:
        raise ValueError("a window holds one position or more")
    ones = torch.ones(1, 1, seq_len, seq_len, dtype=torch.bool, device=device)
    return ones.tril() & ones.triu(1 - window)


@right
def by_loops(seq_len, window, device=None):
    if window < 1:
        raise ValueError(window)
    mask = torch.zeros(1, 1, seq_len, seq_len, dtype=torch.bool, device=device)
    for query in range(seq_len):
        mask[0, 0, query, max(0, query - window + 1) : query + 1] = True
    return mask


@right
def by_numpy(seq_len, window, device=None):
    if window < 1:
        raise ValueError("no")
    band = np.tri(seq_len, dtype=bool) & ~np.tri(seq_len, k=-window, dtype=bool)
    return torch.from_numpy(band).to(device)[None, None]
