"""How far predictions are from targets that leave a little room for every word."""

import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal, padded, words
from autograder.authoring.drawn import drawn
from autograder.checks.ch09_training import EOS
from autograder.shared.probes import arguments_after, device_kept, gradients, returned_for_views
from solutions.ch09_training import label_smoothed_loss


@drawn
def loss_case(
    rng, lengths=(3, 2), vocab_size=6, pad_id=None, dtype=torch.float64, scale=1.5, **arguments
):
    """Make the inputs of a case: logits, and targets of which some are padding.

    Args:
        lengths: targets of each sentence that are words.
        pad_id: given by position where it is not None; then 0 is a word like others, and among the
            targets.
        arguments: `smoothing`.
    """
    expected = padded(
        rng, rng.permutation(lengths).tolist(), max(lengths) + 1, vocab_size, pad_id or 0
    )
    if pad_id is not None:
        expected[:, 0] = torch.where(expected[:, 0] == pad_id, expected[:, 0], 0)
    logits = normal(rng, *expected.shape, vocab_size, dtype=dtype, scale=scale)
    given = {} if pad_id is None and not arguments else {"pad_id": pad_id or 0, **arguments}
    return {"logits": logits, "targets": expected, **given}


def every_target_a_word(rng):
    expected = words(rng, 2, 3, vocab_size=7)
    expected[0, 1] = EOS
    return {"logits": normal(rng, 2, 3, 7, dtype=torch.float64, scale=2), "targets": expected}


def nothing_but_padding(rng):
    return {
        "logits": normal(rng, 2, 3, 5, dtype=torch.float64),
        "targets": torch.zeros(2, 3, dtype=torch.int64),
    }


@drawn
def huge(rng, offset, scale, **arguments):
    """Logits around a large number, and far from each other."""
    case = loss_case(rng, (2, 1), **arguments)
    return {**case, "logits": offset + scale * case["logits"]}


def without_padding(spread):
    spread[..., 0] = 0
    return spread


def loss_with(
    spread=lambda hot, smoothing: smoothing / hot.shape[-1],
    log_probs=lambda logits: logits.log_softmax(dim=-1),
    distance=lambda asked, log_probs: -(asked * log_probs),
    mean=lambda losses, words: losses.sum() / words.sum().clamp(min=1),
):
    """Make a loss from its rules; `spread` gets 1 for the target and 0 elsewhere."""

    def loss(logits, targets, pad_id=0, smoothing=0.1):
        hot = functional.one_hot(targets, logits.shape[-1]).to(logits.dtype)
        asked = (1 - smoothing) * hot + spread(hot, smoothing)
        losses = distance(asked, log_probs(logits)).sum(dim=-1)
        words = targets != pad_id  # (batch, tgt_len)
        return mean(losses.masked_fill(~words, 0), words)

    return loss


def cross_entropy(logits, targets, pad_id=0, smoothing=0.1, reduction="mean"):
    return functional.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
        reduction=reduction,
    )


checks = Checks(
    label_smoothed_loss,
    family=loss_with,
    shortcuts="cross_entropy CrossEntropyLoss cross_entropy_loss",
)
shown, hidden, wrong, right = checks.words

shown("two sentences, with padding", loss_case(), weight=2)
shown("every target is a word", every_target_a_word)
shown("without smoothing", loss_case((2, 4), smoothing=0.0))
shown("with more smoothing", loss_case((3, 1), 5, smoothing=0.4), weight=2)
shown("padding may have any id, and 0 may be a word", loss_case((2, 3), pad_id=3), weight=2)
shown("logits in the thousands", huge(1000, 300))
shown("nothing but padding costs nothing", nothing_but_padding)
shown("gradients", loss_case((2, 1), 5), probe=gradients)
shown("nothing but padding has gradients of 0", nothing_but_padding, probe=gradients)
shown("tensors that do not lie in one piece", loss_case((3, 1)), probe=returned_for_views)
shown("float32 stays float32", loss_case((3, 1), dtype=torch.float32))
shown("the arguments stay as they were", loss_case((1, 2)), probe=arguments_after)
hidden("a larger batch", loss_case((5, 1, 3, 4), 9), weight=2)
hidden("much smoothing", loss_case((2, 4, 1), 8, smoothing=0.7), weight=2)
hidden("another id of padding, among words", loss_case((4, 2, 1), 9, pad_id=5, smoothing=0.2))
hidden("the last id is padding", loss_case((2, 3), 7, pad_id=6, smoothing=0.1))
hidden("no smoothing, a larger batch", loss_case((3, 4, 2), 7, smoothing=0.0))
hidden("logits hundreds apart", huge(-3000, 400, smoothing=0.2))
hidden("one sentence without padding's place", every_target_a_word)
hidden("padding alone costs nothing", nothing_but_padding)
hidden("gradients with smoothing", loss_case((3, 1), 6, pad_id=4, smoothing=0.3), probe=gradients)
hidden("padding alone has gradients of 0", nothing_but_padding, probe=gradients)
hidden("other tensors not in one piece", loss_case((1, 3), 5), probe=returned_for_views)
hidden("float32, another shape", loss_case((2, 2, 4), 5, dtype=torch.float32))
hidden("bfloat16 stays bfloat16", loss_case((2, 3), dtype=torch.bfloat16))
hidden("the result lies where the logits lie", loss_case((2, 3)), probe=device_kept)
hidden("both arguments stay as they were", loss_case((2, 1)), probe=arguments_after)


wrong(
    "labels need no smoothing",
    """This is right with smoothing=0. With more, what should it cost a model to give the target
    all of the probability?""",
    smoothing=0.0,
)


wrong(
    "smoothing is always 0.1",
    "Right with the default. Where do you use the argument `smoothing`?",
    smoothing=0.1,
)


wrong(
    "the smoothing goes to the target",
    """With little smoothing your loss hardly depends on the target. Which part of the probability
    stays with it?""",
    smoothing=lambda smoothing: 1 - smoothing,
)


wrong(
    "the smoothing goes to the other words",
    "Over how many words do you spread the smoothing? Is the target one of them?",
    spread=lambda hot, smoothing: smoothing * (1 - hot) / (hot.shape[-1] - 1),
)


wrong(
    "the target gets no share of the smoothing",
    """Add up the probabilities that you ask for: they should make 1. Does the target get a share of
    what is spread?""",
    spread=lambda hot, smoothing: smoothing * (1 - hot) / hot.shape[-1],
)


wrong(
    "the target keeps all",
    """Add up the probabilities that you ask for: they should make 1. What does the target give
    away?""",
    spread=lambda hot, smoothing: smoothing * hot + smoothing / hot.shape[-1],
)


wrong(
    "what is spread is not counted",
    """The target's part is right. Where in your loss are the words over which the smoothing is
    spread?""",
    spread=lambda hot, smoothing: 0,
)


@wrong(
    "padding gets nothing of the smoothing",
    """Over how many words do you spread the smoothing? `<pad>` has a column in the logits like
    every other.""",
    rule="spread",
)
def without_the_share_of_padding(hot, smoothing):
    return without_padding(torch.full_like(hot, smoothing / (hot.shape[-1] - 1)))


@wrong(
    "neither padding nor the target gets any of the smoothing",
    """Over how many words do you spread the smoothing? The statement says all of them, and some
    implementations leave out two.""",
    rule="spread",
)
def without_both_shares(hot, smoothing):
    return without_padding(smoothing / (hot.shape[-1] - 2) * (1 - hot))


wrong(
    "padding counts as a target",
    "A model should not be asked to predict padding. Which positions enter your mean?",
    pad_id=-1,
)


wrong(
    "the mean goes over all positions",
    """Padding adds nothing to your sum, but you still count it. By how many positions do you
    divide?""",
    mean=lambda losses, words: losses.mean(),
)


wrong(
    "padding is 0",
    "Right as long as the id of padding is 0. Where do you use the argument that holds this id?",
    pad_id=0,
)


wrong(
    "a sum is as good as a mean",
    "Your loss grows with the batch. What should it be divided by?",
    mean=lambda losses, words: losses.sum(),
)


@wrong(
    "each sentence has a mean of its own",
    """Every word counts the same, whether its sentence is long or short. Over what do you take the
    first mean?""",
    around=True,
)
def of_each_sentence(right, logits, targets, pad_id=0, smoothing=0.1):
    each = [
        right(*row, pad_id, smoothing)
        for row in zip(logits[:, None], targets[:, None], strict=True)
    ]
    return torch.stack(each).mean()


wrong(
    "one loss for each position",
    "Your losses of the single positions still need to become one number.",
    mean=lambda losses, words: losses,
)


checks.usual(
    "negated",
    belief="a loss has no sign",
    hint="""Logarithms of probabilities are negative, and a loss should not be. What is the sign in
    front of the sum?""",
)


wrong(
    "logits are probabilities already",
    "Logits may be any numbers. How many softmaxes lie between them and your logarithm?",
    log_probs=lambda logits: logits.softmax(-1).log_softmax(-1),
)


wrong(
    "a softmax goes along the sentence",
    """Add up the probabilities of all words at one position: they should make 1. Along which axis
    do yours?""",
    log_probs=lambda logits: logits.log_softmax(1),
)


wrong(
    "the logarithm may follow later",
    """For logits far apart a softmax rounds to 0, and what is the logarithm of that? Which function
    does both at once?""",
    log_probs=lambda logits: logits.softmax(-1).log(),
)


wrong(
    "a little more than a probability has a logarithm",
    """However wrong a model is, your loss stops growing at some point. What do you add before you
    take the logarithm, and which function of PyTorch needs no such help?""",
    log_probs=lambda logits: (logits.softmax(-1) + 1e-12).log(),
)


wrong(
    "exponentials stay small",
    """How large may a number be before its exponential overflows? Which function of PyTorch takes
    care of that?""",
    log_probs=lambda logits: (logits.exp() / logits.exp().sum(-1, True)).log(),
)


wrong(
    "the loss is the distance to the smoothed labels",
    """You are off by the same amount whatever the logits are: the entropy of the labels. Which of
    cross-entropy and KL divergence is asked for?""",
    distance=lambda asked, log_probs: functional.kl_div(log_probs, asked, reduction="none"),
)


wrong(
    "there is always a word",
    "A mean over no position is 0 divided by 0. What should the loss of nothing but padding be?",
)(cross_entropy)


wrong(
    "a loss of 0 is a constant",
    """A training loop calls `backward()` on whatever you return. Is your 0 still connected to the
    logits?""",
    then=lambda loss: loss if loss else loss.detach(),
)


wrong(
    "the loss shifts the targets",
    """The logits at a position belong to the target at the same position. Who has shifted them
    already?""",
    logits=lambda logits: logits[:, :-1],
    targets=lambda targets: targets[:, 1:],
)


wrong(
    "tensors lie in one piece",
    """What `teacher_forcing_pair` returns are views. Which function gives a tensor another shape
    even if it is not contiguous in memory?""",
    logits=lambda logits: logits.view(1, -1, logits.shape[-1]),
    targets=lambda targets: targets.view(1, -1),
)


wrong(
    "a loss is a Python number",
    """Nobody can call `backward()` on a Python number. What does the docstring say about the
    result?""",
    then=torch.Tensor.item,
)


wrong(
    "losses are float32",
    "Right in float32. Which dtype did the logits come in?",
    then=torch.Tensor.float,
)


@right
def by_cross_entropy(logits, targets, pad_id=0, smoothing=0.1):
    total = cross_entropy(logits, targets, pad_id, smoothing, "sum")
    return total / max(1, int((targets != pad_id).sum()))


@right
def of_chosen_positions(logits, targets, pad_id=0, smoothing=0.1):
    """Throws padding away first."""
    real = targets != pad_id
    if not real.any():
        return logits.sum() * 0
    log_p = logits[real] - logits[real].logsumexp(dim=1, keepdim=True)  # (words, vocab_size)
    asked = torch.full_like(log_p, smoothing / log_p.shape[1])
    asked.scatter_add_(1, targets[real][:, None], torch.full_like(log_p[:, :1], 1 - smoothing))
    return -torch.einsum("wv,wv->", asked, log_p) / len(log_p)


@right
def by_loops(logits, targets, pad_id=0, smoothing=0.1):
    terms = [
        -(1 - smoothing) * log_p[answer] - smoothing * log_p.sum() / log_p.numel()
        for row, answers in zip(nn.LogSoftmax(dim=-1)(logits), targets.tolist(), strict=True)
        for log_p, answer in zip(row, answers, strict=True)
        if answer != pad_id
    ]
    return sum(terms) / len(terms) if terms else 0 * logits.sum()
