"""One gradient from those of several workers."""

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.probes import arguments_after, device_kept
from solutions.ch10_gpu import average_gradients

HALF = (torch.float16, torch.bfloat16)


@drawn
def workers_case(
    rng, words=(5, 2, 6), shape=(3,), dtype=torch.float64, silent=None, broken=None, **scales
):
    """Make the inputs of a case.

    Args:
        words: of each worker, in an order that is drawn.
        shape: of one gradient.
        silent: what the gradient of a worker without words holds instead, such as nan.
        broken: what one number of the first worker with words is instead.
        scales: `scale` of the gradients.
    """
    words = torch.from_numpy(rng.permutation(np.array(words, dtype=np.int64)))
    gradients = normal(rng, len(words), *shape, dtype=dtype, **scales)
    if silent is not None:
        gradients[words == 0] = silent
    if broken is not None:
        gradients[int(words.nonzero()[0, 0])].view(-1)[0] = broken
    return {"gradients": gradients, "words": words}


def average_with(
    kept=lambda gradients, words: words > 0,
    weigh=lambda words: words,
    share=lambda weights, wide: weights.to(wide) / weights.sum(),
    wide=lambda gradients: torch.promote_types(gradients.dtype, torch.float32),
    add=lambda shares, gradients: torch.tensordot(shares.to(gradients.dtype), gradients, dims=1),
    none=lambda words: words.sum() == 0,
):
    """Make an average from its rules."""

    def average(gradients, words):
        if none(words):
            raise ValueError("no worker had a word")
        shares = share(weigh(words), wide(gradients))
        some = kept(gradients, words)
        return add(shares[some], gradients[some])

    return average


def every(gradients, words):
    return torch.ones_like(words, dtype=torch.bool)


NAN, INFINITY = float("nan"), float("inf")

checks = Checks(average_gradients, family=average_with)
shown, hidden, wrong, right = checks.words

shown("three workers", workers_case(), weight=3)
shown("gradients of a matrix", workers_case((4, 1), (2, 3)))
shown("a worker without words counts for nothing", workers_case((3, 0, 4)))
shown("not even where its gradient is nan", workers_case((3, 0, 1), silent=NAN))
shown("a nan of a worker with words stays", workers_case((2, 5), broken=NAN))
shown("thousands of words in bfloat16", workers_case((257, 3, 515), (4,), torch.bfloat16))
shown("no worker had a word", workers_case((0, 0)))
shown("arguments stay as they were", workers_case((2, 0, 3), silent=NAN), probe=arguments_after)
hidden("five workers", workers_case((1, 8, 3, 30, 2), (4,)), weight=3)
hidden("one worker", workers_case((6,), (2, 2)))
hidden("a parameter that is a single number", workers_case((2, 7), ()))
hidden("a gradient with four axes", workers_case((3, 5), (2, 1, 3, 2)))
hidden("several without words, and nan", workers_case((0, 3, 0, 9), (2, 2), silent=NAN))
hidden("a worker without words, and infinity", workers_case((0, 4, 1), silent=INFINITY))
hidden(
    "nan stays beside one that counts for nothing", workers_case((0, 4, 2), silent=NAN, broken=NAN)
)
hidden("an infinite gradient stays", workers_case((5, 3), (4,), broken=INFINITY))
hidden(
    "more words than float16 can count",
    workers_case((70_000, 30_000), (4,), torch.float16, scale=20.0).but(gradients=torch.abs),
)
hidden("odd thousands in bfloat16", workers_case((1031, 773), (5,), torch.bfloat16))
hidden("no word anywhere", workers_case((0, 0, 0), (2, 2), silent=NAN))
hidden("the result is on the device of the gradients", workers_case((2, 6)), probe=device_kept)
hidden("the arguments are the same afterwards", workers_case((4, 1), (2, 2)), probe=arguments_after)


wrong(
    "every worker counts the same",
    "Right where all workers had the same number of words. Whose gradient should count more?",
    weigh=lambda words: (words > 0).long(),
)


wrong(
    "every worker counts the same, even one without words",
    "Your average divides by the number of workers. What should a worker's share depend on?",
    weigh=torch.ones_like,
    kept=every,
)


wrong(
    "the gradients are added up",
    "With more workers your gradient becomes longer. What should all shares add up to?",
    share=lambda weights, wide: torch.ones_like(weights, dtype=wide),
)


wrong(
    "each gradient is multiplied by its words",
    "Your gradient grows with the number of words. What should all shares add up to?",
    share=lambda weights, wide: weights.to(wide),
)


wrong(
    "few words count for much",
    "Compare the share of a worker with many words and that of one with few. Which is larger?",
    share=lambda weights, wide: (
        torch.where(weights > 0, 1 / weights.to(wide), 0)
        / torch.where(weights > 0, 1 / weights.to(wide), 0).sum()
    ),
)


wrong(
    "shares are a softmax",
    "Three times as many words should count three times as much. Do they, in your shares?",
    share=lambda weights, wide: weights.to(wide).softmax(0),
)


wrong(
    "0 times anything is 0",
    "A worker without words has the share 0 in your sum. What is 0 times nan?",
    kept=every,
)


wrong(
    "a nan is never meant",
    """Right for workers without words. What does a nan say about a worker that had some, and who
    would notice it in your result?""",
    add=lambda shares, gradients: torch.tensordot(
        shares.to(gradients.dtype), gradients.nan_to_num(nan=0.0), dims=1
    ),
)


wrong(
    "a worker with a nan is left out",
    """You look at a gradient to see whether its worker takes part. Which of the two arguments says
    whether a worker had any words?""",
    kept=lambda gradients, words: (
        (words > 0) & ~gradients.flatten(1).isnan().any(1)
        if gradients.ndim > 1
        else (words > 0) & ~gradients.isnan()
    ),
)


wrong(
    "an average over no words is 0",
    """When no worker had a word, there is no gradient, but your function returns one. What does the
    docstring say about that?""",
    none=lambda words: False,
)


wrong(
    "words are counted in the dtype of the gradients",
    """How far can bfloat16 count without a gap, and what is the largest number of float16? Look at
    the dtype in which you divide.""",
    share=lambda weights, wide: (lambda counts: counts / counts.sum())(weights.to(wide)),
    wide=lambda gradients: gradients.dtype,
)


wrong(
    "the division can come last",
    """Before you divide, your sum is as large as all words make it. What is the largest number in
    float16?""",
    share=lambda weights, wide: weights,
    add=lambda weights, gradients: (
        (weights.view(-1, *[1] * (gradients.ndim - 1)) * gradients).sum(0) / weights.sum()
    ),
)


wrong(
    "shares in float32 are precise enough",
    "Only the first seven digits or so are right. In which dtype are your shares?",
    wide=lambda gradients: torch.float32,
)


wrong(
    "the result is float32 whatever comes in",
    "Right in float32. Which dtype did the gradients come in?",
    then=torch.Tensor.float,
)


wrong(
    "a gradient has one axis",
    """Your shares meet the wrong axis of the gradients. Which shape do they need if a gradient is a
    matrix?""",
    add=lambda shares, gradients: (
        (shares.to(gradients.dtype) * gradients.mT).sum(-1)
        if gradients.ndim > 1
        else (shares.to(gradients.dtype) * gradients).sum()
    ),
)


wrong(
    "the average is taken over everything",
    "Your result is a single number. Which axis counts the workers, and which ones stay?",
    then=torch.sum,
)


@right
def by_broadcasting(gradients, words):
    if not (words != 0).any():
        raise ValueError("nobody had a word")
    wide = torch.float64
    shares = words.to(wide) / words.to(wide).sum()
    shares = shares.reshape(-1, *(1 for _ in gradients.shape[1:]))
    silent = (words == 0).reshape(shares.shape)
    kept = torch.where(silent, torch.zeros_like(gradients), gradients)
    return (shares * kept.to(wide)).sum(dim=0).to(gradients.dtype)


@right
def by_a_loop(gradients, words):
    counts = words.tolist()
    if sum(counts) < 1:
        raise ValueError(f"{len(counts)} workers, and no word")
    total = torch.zeros_like(gradients[0])
    for gradient, count in zip(gradients, counts, strict=True):
        if count:
            total = total + gradient * (count / sum(counts))
    return total


@right
def by_two_steps(gradients, words):
    """Scales by the largest count first, so that nothing overflows."""
    some = words.nonzero().squeeze(1)
    if some.numel() == 0:
        raise ValueError("no words at all")
    kept, counts = gradients[some].double(), words[some].double()
    relative = counts / counts.max()
    flat = relative @ kept.reshape(len(some), -1) / relative.sum()
    return flat.reshape(gradients.shape[1:]).to(gradients.dtype)
