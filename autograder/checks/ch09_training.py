"""Checks of `ch09_training`.

No model is trained here: a small one, made of weights that the case holds, stands in for it, and a
table for what a model would say (see `autograder.shared.probes`). Inputs of searches are drawn
again until the right answer is clear, and until the wrong ones that a case is there for answer
otherwise. The contract leaves open, and so nothing here asks: what an impossible extension, of
log-probability -inf, may still become where nothing else is left; how often a model is asked; and
gradients after a step.
"""

import heapq
import math
from itertools import pairwise

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.draw import normal, padded, weights, words
from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import (
    arguments_after,
    device_kept,
    gradients,
    returned_for_views,
    returned_number,
    searched,
    searched_among_equals,
    table_reader,
    updated,
    with_stand_ins,
)
from solutions import ch09_training as reference
from solutions.ch09_training import label_smoothed_loss, teacher_forcing_pair

BOS, EOS, FIRST_WORD = 1, 2, 4

# --- teacher_forcing_pair
# --------------------------------------------------------------------------------------------


def targets(rng, lengths, vocab_size=12):
    """Draw targets between `<bos>` and `<eos>`, with so many words each.

    Returns:
        (batch, longest + 2) int64.
    """
    seq_len = max(lengths) + 2
    token_ids = padded(rng, [length + 2 for length in lengths], seq_len, vocab_size)
    token_ids[:, 0] = BOS
    for row, length in enumerate(lengths):
        token_ids[row, length + 1] = EOS
    return token_ids


def batch_of(lengths, dtype=torch.int64):
    """Draw a batch of targets, in any order."""
    return lambda rng: {"target_ids": targets(rng, rng.permutation(lengths).tolist()).to(dtype)}


def two_columns(rng):
    """Sentences that are cut off behind their first word."""
    return {"target_ids": targets(rng, [3, 1, 2, 4])[:, :2].clone()}


def pair_swapped(target_ids):
    return target_ids[:, 1:], target_ids[:, :-1]


def pair_of_the_same(target_ids):
    return target_ids[:, :-1], target_ids[:, :-1]


def pair_whole_input(target_ids):
    return target_ids, target_ids[:, 1:]


def pair_whole(target_ids):
    return target_ids, target_ids


def pair_of_rows(target_ids):
    return target_ids[:-1], target_ids[1:]


def pair_rolled(target_ids):
    return target_ids, target_ids.roll(-1, dims=1)


def pair_without_both_ends(target_ids):
    return target_ids[:, :-1], target_ids[:, 1:-1]


def pair_two_apart(target_ids):
    return target_ids[:, :-2], target_ids[:, 2:]


def pair_without_the_end(target_ids):
    decoder_input, expected = teacher_forcing_pair(target_ids)
    return decoder_input.masked_fill(decoder_input == EOS, 0), expected


def pair_of_floats(target_ids):
    decoder_input, expected = teacher_forcing_pair(target_ids)
    return decoder_input.float(), expected.float()


def pair_of_longs(target_ids):
    decoder_input, expected = teacher_forcing_pair(target_ids)
    return decoder_input.long(), expected.long()


def pair_in_place(target_ids):
    decoder_input = target_ids[:, :-1].clone()
    return decoder_input, target_ids.copy_(target_ids.roll(-1, dims=1))[:, :-1]


def pair_by_narrow(target_ids):
    length = target_ids.size(1) - 1
    return (
        target_ids.narrow(1, 0, length).contiguous(),
        target_ids.narrow(1, 1, length).contiguous(),
    )


def pair_by_index(target_ids):
    places = torch.arange(target_ids.shape[-1] - 1, device=target_ids.device)
    return [target_ids[..., places], target_ids[..., places + 1]]


def pair_by_rows(target_ids):
    rows = target_ids.tolist()
    return tuple(
        torch.tensor([row[cut] for row in rows], dtype=target_ids.dtype, device=target_ids.device)
        for cut in (slice(None, -1), slice(1, None))
    )


def pair_by_columns(target_ids):
    columns = list(target_ids.unbind(dim=1))
    return torch.stack(columns[:-1], dim=1), torch.stack(columns[1:], dim=1)


PAIR = Exercise(
    reference=teacher_forcing_pair,
    returns=("decoder_input", "expected"),
    cases=(
        Case("one sentence", batch_of([3]), weight=2),
        Case("two sentences, one with padding", batch_of([2, 4]), weight=2),
        Case("as many sentences as ids", batch_of([3, 1, 4, 2, 3, 2])),
        Case("ids of 32 bits stay ids of 32 bits", batch_of([2, 1], torch.int32)),
        Case("the target ids stay as they were", batch_of([1, 2]), probe=arguments_after),
        Case("many sentences", batch_of([5, 7, 1, 3, 6]), visible=False, weight=2),
        Case("two ids in each row", two_columns, visible=False),
        Case("one long sentence", batch_of([17]), visible=False),
        Case("small ids of 32 bits", batch_of([4, 1, 2], torch.int32), visible=False),
        Case(
            "ids that do not lie side by side",
            batch_of([4, 2]),
            probe=returned_for_views,
            visible=False,
        ),
        Case(
            "the result lies where the ids lie", batch_of([2, 3]), probe=device_kept, visible=False
        ),
        Case(
            "a batch of target ids stays as it was",
            batch_of([3, 2, 4]),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "the decoder reads what comes and says what was",
            pair_swapped,
            "Your two results are each other's. Which of them begins with `<bos>`?",
        ),
        Misconception(
            "the decoder should say what it reads",
            pair_of_the_same,
            "At each position your decoder reads the very word that it is asked for. What should it"
            " say after `<bos>`?",
        ),
        Misconception(
            "the decoder reads the whole sentence",
            pair_whole_input,
            "Your two results differ in length. After the last word there is nothing left to"
            " predict: who needs to read it?",
        ),
        Misconception(
            "nothing need be cut",
            pair_whole,
            "Both of your results are the whole sentence. Which question does each position ask,"
            " and what is the answer?",
        ),
        Misconception(
            "rows are positions",
            pair_of_rows,
            "You cut off a sentence of the batch. Along which axis do the words of a sentence"
            " stand?",
        ),
        Misconception(
            "what leaves in front comes back behind",
            pair_rolled,
            "In your second result the first word stands behind the last one. How many questions"
            " does a sentence of `seq_len` ids ask?",
        ),
        Misconception(
            "the end need not be said",
            pair_without_both_ends,
            "The second result lost its last column, too. How should a decoder learn when to stop?",
        ),
        Misconception(
            "the word after the next one is asked for",
            pair_two_apart,
            "Between what your decoder reads and what it should say a word is left out. How many"
            " columns does each result lose?",
        ),
        Misconception(
            "the decoder must not read the end",
            pair_without_the_end,
            "In short sentences you replaced the end. The loss overlooks what follows it; the ids"
            " may stay as they are.",
        ),
        Misconception(
            "tensors hold floating numbers",
            pair_of_floats,
            "Ids are looked up in a table. Which dtype did they come in?",
        ),
        Misconception(
            "ids have 64 bits",
            pair_of_longs,
            "Right for ids of 64 bits. Which dtype did these come in?",
        ),
        Misconception(
            "the caller's ids are free to be worked in",
            pair_in_place,
            "Compare `target_ids` before and after the call. Which line writes into it?",
        ),
    ),
    alternatives=(pair_by_narrow, pair_by_index, pair_by_rows, pair_by_columns),
)

# --- label_smoothed_loss
# ---------------------------------------------------------------------------------------------


def loss_case(
    lengths=(3, 2), vocab_size=6, pad_id=None, dtype=torch.float64, scale=1.5, **arguments
):
    """Make the inputs of a case: logits, and targets of which some are padding.

    Args:
        lengths: targets of each sentence that are words.
        pad_id: given by position where it is not None; then 0 is a word like others, and among the
            targets.
        arguments: `smoothing`.
    """

    def inputs(rng):
        expected = padded(
            rng, rng.permutation(lengths).tolist(), max(lengths) + 1, vocab_size, pad_id or 0
        )
        if pad_id is not None:
            expected[:, 0] = torch.where(expected[:, 0] == pad_id, expected[:, 0], 0)
        logits = normal(rng, *expected.shape, vocab_size, dtype=dtype, scale=scale)
        given = {} if pad_id is None and not arguments else {"pad_id": pad_id or 0, **arguments}
        return {"logits": logits, "targets": expected, **given}

    return inputs


def every_target_a_word(rng):
    expected = words(rng, 2, 3, vocab_size=7)
    expected[0, 1] = EOS
    return {"logits": normal(rng, 2, 3, 7, dtype=torch.float64, scale=2), "targets": expected}


def nothing_but_padding(rng):
    return {
        "logits": normal(rng, 2, 3, 5, dtype=torch.float64),
        "targets": torch.zeros(2, 3, dtype=torch.int64),
    }


def huge(offset, scale, **arguments):
    """Logits around a large number, and far from each other."""

    def inputs(rng):
        case = loss_case((2, 1), **arguments)(rng)
        case["logits"] = offset + scale * case["logits"]
        return case

    return inputs


def distribution(targets, vocab_size, dtype, smoothing):
    """Write down the distribution that the loss asks for.

    Returns:
        (batch, tgt_len, vocab_size).
    """
    return (1 - smoothing) * functional.one_hot(targets, vocab_size).to(
        dtype
    ) + smoothing / vocab_size


def loss_with(
    wanted=distribution,
    log_probs=lambda logits: logits.log_softmax(dim=-1),
    counts=lambda targets, pad_id: targets != pad_id,
    total=lambda losses: losses.sum(),
    divisor=lambda words, losses: words.sum().clamp(min=1),
    finish=lambda loss, logits: loss,
    pad=lambda pad_id: pad_id,
    smooth=lambda smoothing: smoothing,
):
    """Make a loss from its rules."""

    def label_smoothed_loss(logits, targets, pad_id=0, smoothing=0.1):
        asked = wanted(targets, logits.shape[-1], logits.dtype, smooth(smoothing))
        losses = -(asked * log_probs(logits)).sum(dim=-1)  # (batch, tgt_len)
        counted = counts(targets, pad(pad_id))
        losses = losses.masked_fill(~counted, 0)
        return finish(total(losses) / divisor(counted, losses), logits)

    return label_smoothed_loss


def among_the_others(targets, vocab_size, dtype, smoothing):
    hot = functional.one_hot(targets, vocab_size).to(dtype)
    return (1 - smoothing) * hot + smoothing / (vocab_size - 1) * (1 - hot)


def target_without_its_share(targets, vocab_size, dtype, smoothing):
    hot = functional.one_hot(targets, vocab_size).to(dtype)
    return (1 - smoothing) * hot + smoothing / vocab_size * (1 - hot)


def target_keeps_all(targets, vocab_size, dtype, smoothing):
    return functional.one_hot(targets, vocab_size).to(dtype) + smoothing / vocab_size


def nothing_for_padding(targets, vocab_size, dtype, smoothing):
    hot = functional.one_hot(targets, vocab_size).to(dtype)
    spread = torch.full((vocab_size,), smoothing / (vocab_size - 1), dtype=dtype)
    spread[0] = 0
    return (1 - smoothing) * hot + spread


def nothing_for_padding_nor_target(targets, vocab_size, dtype, smoothing):
    hot = functional.one_hot(targets, vocab_size).to(dtype)
    spread = smoothing / (vocab_size - 2) * (1 - hot)
    spread[..., 0] = 0
    return (1 - smoothing) * hot + spread


def smoothing_for_the_target(targets, vocab_size, dtype, smoothing):
    return distribution(targets, vocab_size, dtype, 1 - smoothing)


def loss_kl(logits, targets, pad_id=0, smoothing=0.1):
    asked = distribution(targets, logits.shape[-1], logits.dtype, smoothing)
    losses = functional.kl_div(logits.log_softmax(-1), asked, reduction="none").sum(-1)
    real = targets != pad_id
    return losses.masked_fill(~real, 0).sum() / real.sum().clamp(min=1)


def loss_nan_without_words(logits, targets, pad_id=0, smoothing=0.1):
    return functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing
    )


def loss_constant_without_words(logits, targets, pad_id=0, smoothing=0.1):
    if not (targets != pad_id).any():
        return logits.new_zeros(())
    return label_smoothed_loss(logits, targets, pad_id, smoothing)


def loss_by_view(logits, targets, pad_id=0, smoothing=0.1):
    return label_smoothed_loss(
        logits.view(1, -1, logits.shape[-1]), targets.view(1, -1), pad_id, smoothing
    )


def loss_shifted(logits, targets, pad_id=0, smoothing=0.1):
    return label_smoothed_loss(logits[:, :-1], targets[:, 1:], pad_id, smoothing)


def loss_of_each_sentence(logits, targets, pad_id=0, smoothing=0.1):
    each = [
        label_smoothed_loss(*row, pad_id, smoothing)
        for row in zip(logits[:, None], targets[:, None], strict=True)
    ]
    return torch.stack(each).mean()


def loss_of_each_position(logits, targets, pad_id=0, smoothing=0.1):
    asked = distribution(targets, logits.shape[-1], logits.dtype, smoothing)
    return -(asked * logits.log_softmax(-1)).sum(-1) * (targets != pad_id)


def loss_without_the_uniform_part(logits, targets, pad_id=0, smoothing=0.1):
    return (1 - smoothing) * label_smoothed_loss(logits, targets, pad_id, 0.0)


def loss_by_cross_entropy(logits, targets, pad_id=0, smoothing=0.1):
    total = functional.cross_entropy(
        logits.reshape(-1, logits.size(-1)),
        targets.reshape(-1),
        ignore_index=pad_id,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return total / max(1, int((targets != pad_id).sum()))


def loss_of_chosen_positions(logits, targets, pad_id=0, smoothing=0.1):
    """Throws padding away first."""
    real = targets != pad_id
    if not real.any():
        return logits.sum() * 0
    chosen, answers = logits[real], targets[real]  # (words, vocab_size), (words,)
    log_p = chosen - torch.logsumexp(chosen, dim=1, keepdim=True)
    right = log_p[torch.arange(len(answers), device=answers.device), answers]
    return -((1 - smoothing) * right + smoothing * log_p.mean(dim=1)).mean()


def loss_by_loops(logits, targets, pad_id=0, smoothing=0.1):
    terms = []
    for row, answers in zip(logits, targets.tolist(), strict=True):
        for scores, answer in zip(row, answers, strict=True):
            if answer != pad_id:
                log_p = nn.LogSoftmax(dim=-1)(scores)
                terms.append(
                    -(1 - smoothing) * log_p[answer] - smoothing * log_p.sum() / log_p.numel()
                )
    return sum(terms) / len(terms) if terms else 0 * logits.sum()


def loss_by_scatter(logits, targets, pad_id=0, smoothing=0.1):
    """The distribution, written into a tensor, and weights for the positions."""
    shape = logits.shape
    asked = torch.full_like(logits, smoothing / shape[-1]).scatter_add(
        2, targets.unsqueeze(2), torch.full_like(logits[..., :1], 1 - smoothing)
    )
    real = targets.ne(pad_id).to(logits.dtype)
    count = real.sum()
    losses = torch.logsumexp(logits, 2) * asked.sum(2) - torch.einsum("btv,btv->bt", asked, logits)
    return (losses * real).sum() / torch.where(count > 0, count, torch.ones_like(count))


LOSS = Exercise(
    reference=label_smoothed_loss,
    cases=(
        Case("two sentences, with padding", loss_case(), weight=2),
        Case("every target is a word", every_target_a_word),
        Case("without smoothing", loss_case((2, 4), smoothing=0.0)),
        Case("with more smoothing", loss_case((3, 1), 5, smoothing=0.4), weight=2),
        Case("padding may have any id, and 0 may be a word", loss_case((2, 3), pad_id=3), weight=2),
        Case("logits in the thousands", huge(1000, 300)),
        Case("nothing but padding costs nothing", nothing_but_padding),
        Case("gradients", loss_case((2, 1), 5), probe=gradients),
        Case("nothing but padding has gradients of 0", nothing_but_padding, probe=gradients),
        Case("tensors that do not lie in one piece", loss_case((3, 1)), probe=returned_for_views),
        Case("float32 stays float32", loss_case((3, 1), dtype=torch.float32)),
        Case("the arguments stay as they were", loss_case((1, 2)), probe=arguments_after),
        Case("a larger batch", loss_case((5, 1, 3, 4), 9), visible=False, weight=2),
        Case("much smoothing", loss_case((2, 4, 1), 8, smoothing=0.7), visible=False, weight=2),
        Case(
            "another id of padding, among words",
            loss_case((4, 2, 1), 9, pad_id=5, smoothing=0.2),
            visible=False,
        ),
        Case(
            "the last id is padding", loss_case((2, 3), 7, pad_id=6, smoothing=0.1), visible=False
        ),
        Case("no smoothing, a larger batch", loss_case((3, 4, 2), 7, smoothing=0.0), visible=False),
        Case("logits hundreds apart", huge(-3000, 400, smoothing=0.2), visible=False),
        Case("one sentence without padding's place", every_target_a_word, visible=False),
        Case("padding alone costs nothing", nothing_but_padding, visible=False),
        Case(
            "gradients with smoothing",
            loss_case((3, 1), 6, pad_id=4, smoothing=0.3),
            probe=gradients,
            visible=False,
        ),
        Case(
            "padding alone has gradients of 0", nothing_but_padding, probe=gradients, visible=False
        ),
        Case(
            "other tensors not in one piece",
            loss_case((1, 3), 5),
            probe=returned_for_views,
            visible=False,
        ),
        Case("float32, another shape", loss_case((2, 2, 4), 5, dtype=torch.float32), visible=False),
        Case("bfloat16 stays bfloat16", loss_case((2, 3), dtype=torch.bfloat16), visible=False),
        Case(
            "the result lies where the logits lie",
            loss_case((2, 3)),
            probe=device_kept,
            visible=False,
        ),
        Case(
            "both arguments stay as they were",
            loss_case((2, 1)),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "labels need no smoothing",
            loss_with(smooth=lambda smoothing: 0.0),
            "Right with smoothing=0. What should a model lose that gives the target all of the"
            " probability?",
        ),
        Misconception(
            "smoothing is always 0.1",
            loss_with(smooth=lambda smoothing: 0.1),
            "Right with the default. What has become of the argument `smoothing`?",
        ),
        Misconception(
            "the smoothing goes to the target",
            loss_with(wanted=smoothing_for_the_target),
            "With little smoothing your loss hardly heeds the target. Which part of the probability"
            " stays with it?",
        ),
        Misconception(
            "the smoothing goes to the other words",
            loss_with(wanted=among_the_others),
            "Over how many words do you spread the smoothing? Look whether the target is one of"
            " them.",
        ),
        Misconception(
            "the target gets no share of the smoothing",
            loss_with(wanted=target_without_its_share),
            "Add up the probabilities that you ask for: they should make 1. Does the target get a"
            " share of what is spread?",
        ),
        Misconception(
            "the target keeps all",
            loss_with(wanted=target_keeps_all),
            "Add up the probabilities that you ask for: they should make 1. What does the target"
            " give away?",
        ),
        Misconception(
            "what is spread is not counted",
            loss_without_the_uniform_part,
            "The part of the target is right. Who pays for the words over which the smoothing is"
            " spread?",
        ),
        Misconception(
            "padding gets nothing of the smoothing",
            loss_with(wanted=nothing_for_padding),
            "Over how many words do you spread the smoothing? `<pad>` has a column in the logits"
            " like every other.",
        ),
        Misconception(
            "neither padding nor the target gets any of the smoothing",
            loss_with(wanted=nothing_for_padding_nor_target),
            "Over how many words do you spread the smoothing? The statement says all of them, and"
            " some implementations leave out two.",
        ),
        Misconception(
            "padding counts as a target",
            loss_with(counts=lambda targets, pad_id: torch.ones_like(targets, dtype=torch.bool)),
            "A model should not be asked to predict padding. Which positions enter your mean?",
        ),
        Misconception(
            "the mean goes over all positions",
            loss_with(divisor=lambda words, losses: losses.numel()),
            "Padding adds nothing to your sum, and is still counted. By how many positions do you"
            " divide?",
        ),
        Misconception(
            "padding is 0",
            loss_with(pad=lambda pad_id: 0),
            "Right as long as padding is 0. What has become of the argument that says which id it"
            " has?",
        ),
        Misconception(
            "a sum is as good as a mean",
            loss_with(divisor=lambda words, losses: 1),
            "Your loss grows with the batch. What should it be divided by?",
        ),
        Misconception(
            "each sentence has a mean of its own",
            loss_of_each_sentence,
            "Every word counts the same, whether its sentence is long or short. Over what do you"
            " take the first mean?",
        ),
        Misconception(
            "one loss for each position",
            loss_of_each_position,
            "Your losses of the single positions still need to become one number.",
        ),
        Misconception(
            "a loss has no sign",
            loss_with(finish=lambda loss, logits: -loss),
            "Logarithms of probabilities are negative, and a loss should not be. What is the sign"
            " in front of the sum?",
        ),
        Misconception(
            "logits are probabilities already",
            loss_with(log_probs=lambda logits: logits.softmax(dim=-1).log_softmax(dim=-1)),
            "Logits may be any numbers. How many softmaxes lie between them and your logarithm?",
        ),
        Misconception(
            "a softmax goes along the sentence",
            loss_with(log_probs=lambda logits: logits.log_softmax(dim=1)),
            "Add up the probabilities of all words at one position: they should make 1. Along which"
            " axis do yours?",
        ),
        Misconception(
            "the logarithm may follow later",
            loss_with(log_probs=lambda logits: logits.softmax(dim=-1).log()),
            "For logits far apart a softmax rounds to 0, and what is the logarithm of that? Which"
            " function does both at once?",
        ),
        Misconception(
            "exponentials stay small",
            loss_with(
                log_probs=lambda logits: (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()
            ),
            "How large may a number be before its exponential overflows? Which function of PyTorch"
            " takes care of that?",
        ),
        Misconception(
            "the loss is the distance to the smoothed labels",
            loss_kl,
            "You are off by the same amount whatever the logits are: the entropy of the labels."
            " Which of cross-entropy and KL divergence is asked for?",
        ),
        Misconception(
            "there is always a word",
            loss_nan_without_words,
            "A mean over no position is 0 divided by 0. What should the loss of nothing but"
            " padding be?",
        ),
        Misconception(
            "a loss of 0 is a constant",
            loss_constant_without_words,
            "A training loop calls `backward()` on whatever you return. Does your 0 know of the"
            " logits that it came from?",
        ),
        Misconception(
            "the loss shifts the targets",
            loss_shifted,
            "The logits at a position belong to the target at the same position. Who has shifted"
            " them already?",
        ),
        Misconception(
            "tensors lie in one piece",
            loss_by_view,
            "What `teacher_forcing_pair` returns are views. Which function gives a tensor another"
            " shape even if its numbers do not lie in one piece?",
        ),
        Misconception(
            "a loss is a Python number",
            loss_with(finish=lambda loss, logits: loss.item()),
            "Nobody can call `backward()` on a Python number. What does the docstring say about the"
            " result?",
        ),
        Misconception(
            "losses are float32",
            loss_with(finish=lambda loss, logits: loss.float()),
            "Right in float32. Which dtype did the logits come in?",
        ),
    ),
    alternatives=(
        loss_with(),
        loss_by_cross_entropy,
        loss_of_chosen_positions,
        loss_by_loops,
        loss_by_scatter,
    ),
    shortcuts=("cross_entropy", "CrossEntropyLoss"),
)

# --- noam_rate
# -------------------------------------------------------------------------------------------------------

WIDTHS = (
    384,
    512,
    640,
    768,
    896,
    1024,
)  # wide, with long warm-ups: the rates are small, so that float32 is precise enough


def rate_case(low, high):
    """Draw a step as a part of the warm-up, between two bounds."""

    def inputs(rng):
        warmup_steps = int(rng.integers(80, 200)) * 100
        step = int(warmup_steps * rng.uniform(low, high)) if high > low else int(warmup_steps * low)
        return {"step": step, "d_model": int(rng.choice(WIDTHS)), "warmup_steps": warmup_steps}

    return inputs


def first_steps(step):
    return lambda rng: {**rate_case(1, 2)(rng), "step": step}


def noam_with(
    first=lambda step: max(step, 1),
    choose=min,
    falling=lambda step, warmup_steps: step**-0.5,
    rising=lambda step, warmup_steps: step * warmup_steps**-1.5,
    factor=lambda d_model: d_model**-0.5,
):
    """Make a schedule from its rules."""

    def noam_rate(step, d_model, warmup_steps):
        step = first(step)
        return factor(d_model) * choose(falling(step, warmup_steps), rising(step, warmup_steps))

    return noam_rate


def rate_up_to_1(step, d_model, warmup_steps):
    step = max(step, 1)
    return min(step / warmup_steps, (warmup_steps / step) ** 0.5)


def rate_as_tensor(step, d_model, warmup_steps):
    return torch.tensor(reference.noam_rate(step, d_model, warmup_steps))


def rate_0_first(step, d_model, warmup_steps):
    return reference.noam_rate(step, d_model, warmup_steps) if step else 0.0


def rate_by_branches(step, d_model, warmup_steps):
    if step < 1:
        step = 1
    if step < warmup_steps:
        return step / (math.sqrt(d_model) * warmup_steps * math.sqrt(warmup_steps))
    return 1 / math.sqrt(d_model * step)


def rate_by_numpy(step, d_model, warmup_steps):
    step = np.maximum(step, 1)
    return np.power(float(d_model), -0.5) * np.minimum(
        1 / np.sqrt(step), step / np.power(warmup_steps, 1.5)
    )


def rate_by_torch(step, d_model, warmup_steps):
    step = torch.tensor(step, dtype=torch.float64).clamp(min=1)
    return (torch.minimum(step.rsqrt(), step * warmup_steps**-1.5) * d_model**-0.5).item()


def rate_by_the_peak(step, d_model, warmup_steps):
    part = (step or 1) / warmup_steps
    return float(min(part, part**-0.5) / (d_model * warmup_steps) ** 0.5)


NOAM = Exercise(
    reference=reference.noam_rate,
    cases=(
        Case("in the middle of the warm-up", rate_case(0.2, 0.8), probe=returned_number, weight=2),
        Case("after the warm-up", rate_case(1.5, 6), probe=returned_number, weight=2),
        Case("step 0 is treated as step 1", first_steps(0), probe=returned_number),
        Case("the first step", first_steps(1), probe=returned_number),
        Case("the highest rate", rate_case(1, 1), probe=returned_number),
        Case(
            "early in the warm-up",
            rate_case(0.01, 0.2),
            probe=returned_number,
            visible=False,
            weight=2,
        ),
        Case(
            "soon after the warm-up",
            rate_case(1.1, 1.4),
            probe=returned_number,
            visible=False,
            weight=2,
        ),
        Case("long after the warm-up", rate_case(40, 900), probe=returned_number, visible=False),
        Case("before the first step", first_steps(0), probe=returned_number, visible=False),
        Case("the second step of all", first_steps(2), probe=returned_number, visible=False),
        Case("at the peak of the curve", rate_case(1, 1), probe=returned_number, visible=False),
    ),
    misconceptions=(
        Misconception(
            "step 0 is a step like others",
            noam_with(first=lambda step: step),
            "What is 0 to the power of -0.5? Schedulers ask for step 0, too.",
        ),
        Misconception(
            "before the first step the rate is 0",
            rate_0_first,
            "With a rate of 0 a step is lost. As which step should step 0 be treated?",
        ),
        Misconception(
            "steps count from 0",
            noam_with(first=lambda step: step + 1),
            "Your rates are those of the next step. From which number do steps count, and which one"
            " is the exception?",
        ),
        Misconception(
            "the larger of the two counts",
            noam_with(choose=max),
            "Your rate starts very high, falls, and then grows without end. Compute both parts for"
            " step 1: which one is meant?",
        ),
        Misconception(
            "the rate only rises",
            noam_with(choose=lambda falling, rising: rising),
            "Right until the warm-up ends. What should happen then?",
        ),
        Misconception(
            "the rate only falls",
            noam_with(choose=lambda falling, rising: falling),
            "Right after the warm-up. Your first step is the largest of all; what is the warm-up"
            " for?",
        ),
        Misconception(
            "after the warm-up the rate stays",
            noam_with(falling=lambda step, warmup_steps: warmup_steps**-0.5),
            "Right until the warm-up ends. Does your rate ever fall?",
        ),
        Misconception(
            "both parts have the power -0.5",
            noam_with(rising=lambda step, warmup_steps: step * warmup_steps**-0.5),
            "At the end of the warm-up both parts should be equal. Are yours? Look at the powers"
            " once more.",
        ),
        Misconception(
            "the power -1.5 belongs to the whole product",
            noam_with(rising=lambda step, warmup_steps: (step * warmup_steps) ** -1.5),
            "During the warm-up the rate should rise along a line. To what does the power -1.5"
            " belong?",
        ),
        Misconception(
            "wide models take large steps",
            noam_with(factor=lambda d_model: d_model**0.5),
            "Your rate is too high by a factor of d_model. What is the sign of the first power?",
        ),
        Misconception(
            "a minus binds before a power and a division",
            noam_with(factor=lambda d_model: d_model**-1 / 2),
            "The shape of your curve is right, and a factor is wrong. In which order does Python"
            " work through a power and a division?",
        ),
        Misconception(
            "the width plays no part",
            noam_with(factor=lambda d_model: 1.0),
            "The shape of your curve is right, and its height is wrong. Which argument is not"
            " used?",
        ),
        Misconception(
            "the width is 512",
            noam_with(factor=lambda d_model: 512**-0.5),
            "Right for a d_model of 512. Is a number written in your code that should be an"
            " argument?",
        ),
        Misconception(
            "the warm-up takes 4000 steps",
            noam_with(rising=lambda step, warmup_steps: step * 4000**-1.5),
            "Right after the warm-up. Is a number written in your code that should be an argument?",
        ),
        Misconception(
            "the highest rate is 1",
            rate_up_to_1,
            "Your curve has the right shape and the height 1. The formula gives the rate itself,"
            " not a factor for it.",
        ),
        Misconception(
            "a tensor is a number",
            rate_as_tensor,
            "The number is right, and its type is not. Which method makes a Python number of a"
            " tensor?",
        ),
    ),
    alternatives=(noam_with(), rate_by_branches, rate_by_numpy, rate_by_torch, rate_by_the_peak),
)

# --- train_step
# ------------------------------------------------------------------------------------------------------

SIZES = {
    "src_embedding.weight": (7, 3),
    "tgt_embedding.weight": (6, 3),
    "generator.weight": (6, 3),
    "generator.bias": (6,),
}


def step_case(
    lengths=(2, 3),
    optimizer="SGD",
    dtype=torch.float64,
    dropout=0.0,
    train=True,
    old_gradients=False,
    size=1.0,
    longer_than=0.0,
    **arguments,
):
    """Make the inputs of a case: a small model, its optimizer, and a batch.

    Args:
        lengths: words of each target; the sources have as many, one after the other the other way
            round.
        dropout, train, old_gradients: of the model; see
            `autograder.shared.probes.small_translator`.
        size: of its weights.
        longer_than: a length below that of all gradients together.
        arguments: `smoothing` and `max_norm`, both or none.
    """

    def draw(rng):
        drawn = {
            name: size * each for name, each in weights(rng, list(SIZES.items()), dtype).items()
        }
        model = {"stand_in": "translator", "weights": drawn, "dropout": dropout, "train": train}
        lr = 0.5 if optimizer == "SGD" else 0.01
        return {
            "model": {**model, "old_gradients": old_gradients},
            "optimizer": {"stand_in": "optimizer", "name": optimizer, "lr": lr},
            "src": padded(rng, lengths[::-1], max(lengths), 7),
            "tgt": targets(rng, lengths, 6),
            **arguments,
        }

    def inputs(rng):
        drawn = draw(rng)
        while length_of_gradients(drawn) < longer_than:
            drawn = draw(rng)
        return drawn

    return inputs


def length_of_gradients(inputs):
    model, _, src, tgt, smoothing, *_ = [*with_stand_ins(inputs).values(), 0.1]
    decoder_input, expected = teacher_forcing_pair(tgt)
    label_smoothed_loss(model.train()(src, decoder_input), expected, smoothing=smoothing).backward()
    return nn.utils.get_total_norm([each.grad for each in model.parameters()])


def clip_all(model, max_norm):
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)


def step_with(
    mode=lambda model: model.train(),
    clear=lambda model, optimizer: optimizer.zero_grad(),
    pair=teacher_forcing_pair,
    logits=lambda model, src, tgt: model(src, tgt),
    loss=label_smoothed_loss,
    smooth=lambda smoothing: smoothing,
    norm=lambda max_norm: max_norm,
    clip=clip_all,
    update=lambda model, optimizer: optimizer.step(),
    tell=lambda loss, again, was_training, model: loss.item(),
):
    """Make a training step from its rules."""

    def train_step(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
        def loss_now():
            decoder_input, expected = pair(tgt)
            return loss(logits(model, src, decoder_input), expected, smoothing=smooth(smoothing))

        was_training = model.training
        mode(model)
        clear(model, optimizer)
        found = loss_now()
        found.backward()
        clip(model, norm(max_norm))
        update(model, optimizer)
        return tell(found, loss_now, was_training, model)

    return train_step


def leave_gradients(model, optimizer):
    pass


def clip_nothing(model, max_norm):
    pass


def clip_each_number(model, max_norm):
    nn.utils.clip_grad_value_(model.parameters(), max_norm)


def clip_each_tensor(model, max_norm):
    for parameter in model.parameters():
        nn.utils.clip_grad_norm_([parameter], max_norm)


def clip_always(model, max_norm):
    length = math.sqrt(sum(float((each.grad**2).sum()) for each in model.parameters()))
    for each in model.parameters():
        each.grad *= max_norm / length


def clip_without_root(model, max_norm):
    length = sum(float((each.grad**2).sum()) for each in model.parameters())
    for each in model.parameters():
        each.grad *= min(1, max_norm / length)


def clip_sum_of_norms(model, max_norm):
    length = sum(float(each.grad.norm()) for each in model.parameters())
    for each in model.parameters():
        each.grad *= min(1, max_norm / length)


def clip_to_nothing(model, max_norm):
    length = math.sqrt(sum(float((each.grad**2).sum()) for each in model.parameters()))
    if length > max_norm:
        for each in model.parameters():
            each.grad.zero_()


def leave_weights(model, optimizer):
    pass


def twice(model, optimizer):
    optimizer.step()
    optimizer.step()


def against_the_optimizer(model, optimizer):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= optimizer.param_groups[0]["lr"] * parameter.grad


def back_to_the_mode_before(loss, again, was_training, model):
    model.train(was_training)
    return loss.item()


def eval_afterwards(loss, again, was_training, model):
    model.eval()
    return loss.item()


def sum_of_losses(logits, expected, smoothing):
    return label_smoothed_loss(logits, expected, smoothing=smoothing) * (expected != 0).sum()


def padding_counts(logits, expected, smoothing):
    return label_smoothed_loss(logits, expected, -1, smoothing)


def step_by_hand(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
    """No helper: gradients set to None, a loss of PyTorch's, and clipping by a square root."""
    for parameter in model.parameters():
        parameter.grad = None
    model.train(True)
    logits = model(src, tgt[:, :-1])
    loss = functional.cross_entropy(
        logits.transpose(1, 2), tgt[:, 1:].contiguous(), ignore_index=0, label_smoothing=smoothing
    )
    loss.backward()
    grads = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    length = torch.sqrt(sum(grad.square().sum() for grad in grads))
    if length > max_norm:
        for grad in grads:
            grad.mul_(max_norm / length)
    optimizer.step()
    return float(loss)


def step_by_parts(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
    """The model's parts one by one, gradients by `torch.autograd.grad`, cleared again at the
    end.
    """
    model.train()
    pair = teacher_forcing_pair(tgt)
    logits = model.generator(model.decode(pair[0], model.encode(src), src))
    loss = label_smoothed_loss(logits, pair[1], smoothing=smoothing)
    parameters = list(model.parameters())
    found = torch.autograd.grad(loss, parameters)
    length = torch.cat([each.flatten() for each in found]).norm()
    factor = torch.clamp(max_norm / (length + 1e-6), max=1.0)
    for parameter, each in zip(parameters, found, strict=True):
        parameter.grad = each * factor
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    return loss.detach().cpu().numpy()[()]


def step_by_closure(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
    """All of it inside of a closure, which the optimizer calls; clears gradients to zeros, and
    predicts all positions at once.
    """
    model.train()

    def closure():
        optimizer.zero_grad(set_to_none=False)
        logits = model(src, tgt)[:, :-1]
        loss = label_smoothed_loss(logits, tgt[:, 1:], 0, smoothing)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(
            [each for group in optimizer.param_groups for each in group["params"]],
            max_norm,
            norm_type=2,
        )
        return loss

    return optimizer.step(closure).item()


TRAIN = Exercise(
    reference=reference.train_step,
    cases=(
        Case("a small batch", step_case(), probe=updated, weight=2),
        Case(
            "long gradients are clipped",
            step_case((3, 2), size=2.0, longer_than=0.3, smoothing=0.1, max_norm=0.1),
            probe=updated,
        ),
        Case(
            "gradients may be longer than 1",
            step_case((1, 3), size=2.0, longer_than=1.2, smoothing=0.1, max_norm=50.0),
            probe=updated,
        ),
        Case(
            "gradients of an earlier step do not count",
            step_case((2, 2), old_gradients=True),
            probe=updated,
            weight=2,
        ),
        Case(
            "a model in eval mode is switched to train mode",
            step_case((2, 1), dropout=1.0, train=False),
            probe=updated,
        ),
        Case("without smoothing", step_case((2, 3), smoothing=0.0, max_norm=2.0), probe=updated),
        Case("AdamW", step_case((3, 1), "AdamW", old_gradients=True), probe=updated),
        Case(
            "a larger batch",
            step_case((4, 1, 2, 3), size=2.0, longer_than=1.2, smoothing=0.3, max_norm=30.0),
            probe=updated,
            visible=False,
            weight=2,
        ),
        Case(
            "a larger batch, clipped",
            step_case(
                (2, 5, 1),
                size=2.0,
                longer_than=0.3,
                smoothing=0.2,
                max_norm=0.05,
                old_gradients=True,
            ),
            probe=updated,
            visible=False,
            weight=2,
        ),
        Case(
            "one sentence",
            step_case((4,), smoothing=0.1, max_norm=40.0),
            probe=updated,
            visible=False,
        ),
        Case(
            "dropout is on, though the model came in eval mode",
            step_case((3, 3), dropout=1.0, train=False, old_gradients=True),
            probe=updated,
            visible=False,
        ),
        Case(
            "dropout is on in train mode",
            step_case((1, 3), dropout=1.0),
            probe=updated,
            visible=False,
        ),
        Case(
            "much smoothing",
            step_case((1, 4), smoothing=0.6, max_norm=60.0),
            probe=updated,
            visible=False,
        ),
        Case(
            "AdamW, a model in eval mode",
            step_case((2, 2, 3), "AdamW", train=False),
            probe=updated,
            visible=False,
        ),
        Case(
            "a model in float32",
            step_case((2, 3), dtype=torch.float32),
            probe=updated,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "the gradients of the last step are gone by themselves",
            step_with(clear=leave_gradients),
            "What `backward()` finds is added to what stands in `grad` already. Is there anything"
            " left from the step before?",
        ),
        Misconception(
            "gradients may have any length",
            step_with(clip=clip_nothing),
            "Right where gradients are short. Between which two lines can they be made shorter, and"
            " is `max_norm` used there?",
        ),
        Misconception(
            "each number is clipped by itself",
            step_with(clip=clip_each_number),
            "You cut off single numbers, and the gradient points elsewhere afterwards. Of what is"
            " `max_norm` the largest length?",
        ),
        Misconception(
            "each parameter is clipped by itself",
            step_with(clip=clip_each_tensor),
            "Each of your parameters has a length and a factor of its own. How long are all"
            " gradients together?",
        ),
        Misconception(
            "gradients always have the length max_norm",
            step_with(clip=clip_always),
            "Short gradients become longer in your step. When should they be scaled at all?",
        ),
        Misconception(
            "a norm is a sum of squares",
            step_with(clip=clip_without_root),
            "Gradients of 3 and 4 have the length 5. Which one do you compute?",
        ),
        Misconception(
            "lengths add up",
            step_with(clip=clip_sum_of_norms),
            "Gradients of 3 and 4 have the length 5. Which one do you compute?",
        ),
        Misconception(
            "long gradients are thrown away",
            step_with(clip=clip_to_nothing),
            "With long gradients your weights do not move. Should they be dropped, or made"
            " shorter?",
        ),
        Misconception(
            "max_norm is 1",
            step_with(norm=lambda max_norm: 1.0),
            "Right for the default. What has become of the argument `max_norm`?",
        ),
        Misconception(
            "the caller sets the mode",
            step_with(mode=lambda model: None),
            "After an evaluation a model comes in eval mode. In which mode should it learn, with"
            " all of its parts?",
        ),
        Misconception(
            "a model learns in eval mode",
            step_with(mode=lambda model: model.eval()),
            "In your step dropout is off. In which mode should a model learn?",
        ),
        Misconception(
            "the mode is put back",
            step_with(tell=back_to_the_mode_before),
            "The step itself is right. In which mode should the model be afterwards, according to"
            " the docstring?",
        ),
        Misconception(
            "the model rests in eval mode",
            step_with(tell=eval_afterwards),
            "The step itself is right. In which mode should the model be afterwards, according to"
            " the docstring?",
        ),
        Misconception(
            "the loss is looked up after the step",
            step_with(tell=lambda loss, again, was_training, model: again().item()),
            "Your weights are right. Is the loss that you return the one before the update, or the"
            " one after it?",
        ),
        Misconception(
            "a tensor is a number",
            step_with(tell=lambda loss, again, was_training, model: loss),
            "A loss that is kept as a tensor keeps everything alive that it was computed from."
            " Which method makes a Python number of it?",
        ),
        Misconception(
            "labels need no smoothing",
            step_with(smooth=lambda smoothing: 0.0),
            "Right with smoothing=0. What has become of the argument `smoothing`?",
        ),
        Misconception(
            "smoothing is always 0.1",
            step_with(smooth=lambda smoothing: 0.1),
            "Right with the default. What has become of the argument `smoothing`?",
        ),
        Misconception(
            "padding counts as a target",
            step_with(loss=padding_counts),
            "Right where no sentence has padding. Which id should the loss overlook?",
        ),
        Misconception(
            "a sum is as good as a mean",
            step_with(loss=sum_of_losses),
            "Your loss grows with the batch. Does something happen to it between the loss function"
            " and your result?",
        ),
        Misconception(
            "the decoder should say what it reads",
            step_with(pair=pair_of_the_same),
            "At each position your decoder reads the very word that it is asked for. What do the"
            " two results of exercise 1 stand for?",
        ),
        Misconception(
            "nothing need be cut",
            step_with(pair=pair_whole),
            "The decoder reads the whole target, and at each position the very word that it is"
            " asked for. What was exercise 1 for?",
        ),
        Misconception(
            "the decoder reads what comes and says what was",
            step_with(pair=pair_swapped),
            "Which of the two results of exercise 1 does the decoder read, and which one does the"
            " loss get?",
        ),
        Misconception(
            "the decoder reads the target first",
            step_with(logits=lambda model, src, tgt: model(tgt, src)),
            "Which language does the model read first, and which second? Look at the hint once"
            " more.",
        ),
        Misconception(
            "backward moves the weights",
            step_with(update=leave_weights),
            "Your loss is right, and no weight has moved. Who moves them, and what do the gradients"
            " hold at that moment?",
        ),
        Misconception(
            "two steps are better than one",
            step_with(update=twice),
            "Your weights have moved too far. How often does the optimizer step?",
        ),
        Misconception(
            "the weights move along the gradient, whatever the optimizer is",
            step_with(update=against_the_optimizer),
            "Right for plain gradient descent. Who knows how a gradient becomes a change of"
            " weights?",
        ),
    ),
    alternatives=(step_with(), step_by_hand, step_by_parts, step_by_closure),
)

# --- beam_search
# -----------------------------------------------------------------------------------------------------

CLEAR = 1e-4  # hypotheses whose scores are closer than this might change places by rounding
MOST_TABLES = 3000  # tried until one is clear


def search_case(
    *wrong,
    right=(),
    vocab_size=6,
    rows=11,
    end=0.0,
    first_end=None,
    impossible=0.0,
    dtype=torch.float64,
    scale=1.0,
    **arguments,
):
    """Make the inputs of a case: a table of log-probabilities whose best sentence is clear.

    Args:
        wrong: searches that answer otherwise here.
        right: searches, right or wrong, that answer as they should here.
        vocab_size, rows: of the table; see `autograder.shared.probes.table_reader`.
        end: added to the logit of the end, everywhere.
        first_end: added to it after `<bos>` instead, where it is not None.
        impossible: the part of the words that cannot follow, in each row.
        scale: how far the logits lie apart.
        arguments: those of `beam_search`, in order, without gaps.
    """
    bos_id, eos_id = arguments.get("bos_id", BOS), arguments.get("eos_id", EOS)

    def draw(rng):
        logits = normal(rng, 2, rows, vocab_size, dtype=torch.float64, scale=scale)
        logits[1:, :, eos_id] += end
        logits[0, :, eos_id] += end if first_end is None else first_end
        never = torch.from_numpy(rng.random(logits.shape) < impossible)
        never[..., eos_id] = False
        table = logits.masked_fill(never, -math.inf).log_softmax(dim=-1).to(dtype)
        return {"step_log_probs": {"stand_in": "table", "table": table}, **arguments}

    def answer(search, inputs):
        try:
            return search(
                table_reader(inputs["step_log_probs"]["table"], bos_id), *list(inputs.values())[1:]
            )
        except (RuntimeError, ValueError):
            return None

    def inputs(rng):
        for _ in range(MOST_TABLES):
            drawn = draw(rng)
            table = drawn["step_log_probs"]["table"]
            if not is_clear(table_reader(table, bos_id), **arguments):
                continue
            best = answer(reference.beam_search, drawn)
            if all(
                answer(each, drawn) == best for each in (without_the_impossible, *right)
            ) and all(answer(each, drawn) != best for each in wrong):
                return drawn
        raise RuntimeError(f"no table tells {', '.join(each.__name__ for each in wrong)} apart")

    return inputs


def is_clear(step_log_probs, bos_id=BOS, eos_id=EOS, beam_size=4, max_len=64, length_penalty=0.6):
    """Return whether rounding cannot change a search: no two candidates of a step, nor the best two
    results, are close.
    """
    live, finished = [([bos_id], 0.0)], []
    count = 2 * beam_size if beam_size > 1 else 1
    while live and len(live[0][0]) < max_len:
        candidates = sorted(extensions_of(step_log_probs, live), reverse=True)
        possible = [total for total, _ in candidates[: count + 1] if total > -math.inf]
        if not all_apart(possible):
            return False
        live, ended = sorted_out(candidates[:count], eos_id, beam_size)
        finished += ended
    scores = [penalised(total, len(ids) - 1, length_penalty) for ids, total in finished or live]
    return all_apart(sorted(scores, reverse=True)[:2])


def all_apart(falling):
    return all(one - other > CLEAR for one, other in pairwise(falling))


def extensions_of(step_log_probs, live):
    """Return (log-probability, ids) of each live hypothesis with each word after it."""
    log_probs = step_log_probs(torch.tensor([ids for ids, _ in live])).tolist()
    return [
        (so_far + log_prob, [*ids, word])
        for (ids, so_far), row in zip(live, log_probs, strict=True)
        for word, log_prob in enumerate(row)
    ]


def sorted_out(candidates, eos_id, room):
    """Return those that live on, as many as there is room for, and those that ended."""
    live = [(ids, total) for total, ids in candidates if ids[-1] != eos_id]
    return live[:room], [(ids, total) for total, ids in candidates if ids[-1] == eos_id]


def penalised(log_prob, length, length_penalty):
    return log_prob / ((5 + length) / 6) ** length_penalty


def equally_good(lengths, vocab_size=7, **arguments):
    """Make the inputs of a case in which all words are equally likely, and the end is likely after
    so many words, elsewhere not.
    """

    def inputs(rng):
        table = torch.full((12, 1, vocab_size), 0.0, dtype=torch.float64)
        table[:, 0, arguments.get("eos_id", EOS)] = -6.0
        for length in lengths:
            table[length, 0, arguments.get("eos_id", EOS)] = float(rng.uniform(1.5, 3))
        return {
            "step_log_probs": {"stand_in": "table", "table": table.log_softmax(dim=-1)},
            **arguments,
        }

    return inputs


def beam_with(
    start=lambda bos_id, beam_size: [([bos_id], 0.0)],
    candidates=extensions_of,
    taken=lambda beam_size, vocab_size: 2 * beam_size if beam_size > 1 else 1,
    share=lambda found, eos_id, beam_size, finished: sorted_out(found, eos_id, beam_size),
    limit=lambda max_len: max_len,
    enough=lambda finished, beam_size: False,
    pool=lambda finished, live: finished or live,
    score=lambda total, length, length_penalty: penalised(total, length, length_penalty),
    width=lambda beam_size: beam_size,
    special=lambda bos_id, eos_id: (bos_id, eos_id),
    finish=lambda ids, eos_id: ids[1:-1] if ids[-1] == eos_id else ids[1:],
):
    """Make a beam search from its rules."""

    def beam_search(
        step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
    ):
        bos_id, eos_id = special(bos_id, eos_id)
        beam_size = width(beam_size)
        live, finished = start(bos_id, beam_size), []
        while live and len(live[0][0]) < limit(max_len) and not enough(finished, beam_size):
            found = sorted(candidates(step_log_probs, live), reverse=True)
            vocab_size = len(found) // len(live)
            live, ended = share(found[: taken(beam_size, vocab_size)], eos_id, beam_size, finished)
            finished += ended
        ids, _ = max(
            pool(finished, live), key=lambda each: score(each[1], len(each[0]) - 1, length_penalty)
        )
        return finish(ids, eos_id)

    return beam_search


def until_enough_live(found, eos_id, beam_size, finished):
    live, ended = [], []
    for total, ids in found:
        if len(live) == beam_size:
            break
        (ended if ids[-1] == eos_id else live).append((ids, total))
    return live, ended


def less_room_for_each_finished(found, eos_id, beam_size, finished):
    live, ended = [], []
    for total, ids in found:
        if len(live) + len(ended) + len(finished) == beam_size:
            break
        (ended if ids[-1] == eos_id else live).append((ids, total))
    return live, ended


def finished_ones_take_places(found, eos_id, beam_size, finished):
    return sorted_out(found[:beam_size], eos_id, beam_size)


def the_end_is_a_word(found, eos_id, beam_size, finished):
    """What has ended is put aside, and lives on as well."""
    ended = [(ids, total) for total, ids in found if ids[-1] == eos_id]
    return [(ids, total) for total, ids in found][:beam_size], ended


def each_by_its_best_word(step_log_probs, live):
    """Branches at the first step alone."""
    every = extensions_of(step_log_probs, live)
    if len(live) == 1:
        return every
    return [max(each for each in every if each[1][:-1] == ids) for ids, _ in live]


def by_the_last_word_alone(step_log_probs, live):
    return extensions_of(step_log_probs, [(ids, 0.0) for ids, _ in live])


def by_added_probabilities(step_log_probs, live):
    return [
        (so_far + math.exp(log_prob), longer)
        for ids, so_far in live
        for log_prob, longer in extensions_of(step_log_probs, [(ids, 0.0)])
    ]


def by_penalised_words(step_log_probs, live):
    """Divides by the length again at each step."""
    return [(total / len(ids) * 2, ids) for total, ids in extensions_of(step_log_probs, live)]


def start_with_copies(bos_id, beam_size):
    return [([bos_id], 0.0)] * beam_size


def beam_that_is_too_wide(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    if max_len > 1:
        step_log_probs(torch.tensor([[bos_id]])).flatten().topk(
            2 * beam_size if beam_size > 1 else 1
        )
    return reference.beam_search(step_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty)


def beam_of_tensors(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    found = reference.beam_search(
        step_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty
    )
    return torch.tensor(found, dtype=torch.int64)


def beam_of_small_tensors(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    found = reference.beam_search(
        step_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty
    )
    return list(torch.tensor(found, dtype=torch.int64))


def penalty_by_length(total, length, length_penalty):
    return total / max(length, 1) ** length_penalty


def penalty_multiplied(total, length, length_penalty):
    return total * ((5 + length) / 6) ** length_penalty


greedy = beam_with(width=lambda beam_size: 1)
first_end_wins = beam_with(enough=lambda finished, beam_size: bool(finished))
stops_when_enough_ended = beam_with(enough=lambda finished, beam_size: len(finished) >= beam_size)
best_extensions_alone = beam_with(share=finished_ones_take_places)
shrinking = beam_with(share=less_room_for_each_finished)
stops_looking = beam_with(share=until_enough_live)
ends_that_live = beam_with(share=the_end_is_a_word)
two_when_greedy = beam_with(taken=lambda beam_size, vocab_size: 2 * beam_size)
as_many_as_words = beam_with(
    taken=lambda beam_size, vocab_size: min(2 * beam_size, vocab_size) if beam_size > 1 else 1
)
everything_is_looked_at = beam_with(
    taken=lambda beam_size, vocab_size: None if beam_size > 1 else 1
)
live_ones_compete = beam_with(pool=lambda finished, live: finished + live)
live_ones_alone = beam_with(pool=lambda finished, live: live or finished)
likeliest = beam_with(score=lambda total, length, length_penalty: total)
divided_by_length = beam_with(score=penalty_by_length)
multiplied = beam_with(score=penalty_multiplied)
end_not_counted = beam_with(
    score=lambda total, length, length_penalty: penalised(total, length - 1, length_penalty)
)
beginning_counted = beam_with(
    score=lambda total, length, length_penalty: penalised(total, length + 1, length_penalty)
)
always_six_tenths = beam_with(
    score=lambda total, length, length_penalty: penalised(total, length, 0.6)
)
one_too_long = beam_with(limit=lambda max_len: max_len + 1)
one_too_short = beam_with(limit=lambda max_len: max(1, max_len - 1))
ids_1_and_2 = beam_with(special=lambda bos_id, eos_id: (1, 2))
last_word_alone = beam_with(candidates=by_the_last_word_alone)
added_probabilities = beam_with(candidates=by_added_probabilities)
penalised_on_the_way = beam_with(candidates=by_penalised_words)
side_by_side = beam_with(candidates=each_by_its_best_word)
copies = beam_with(start=start_with_copies)
with_beginning = beam_with(finish=lambda ids, eos_id: ids[:-1] if ids[-1] == eos_id else ids)
with_end = beam_with(finish=lambda ids, eos_id: ids[1:])
without_last_word = beam_with(finish=lambda ids, eos_id: ids[1:-1])


def possible_extensions(step_log_probs, live):
    return [each for each in extensions_of(step_log_probs, live) if each[0] > -math.inf]


def without_the_impossible(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    """Lists; an extension that cannot be is none."""
    live, finished = [([bos_id], 0.0)], []
    for _ in range(max_len - 1):
        found = heapq.nlargest(
            2 * beam_size if beam_size > 1 else 1, possible_extensions(step_log_probs, live)
        )
        last = live
        live, ended = sorted_out(found, eos_id, beam_size)
        finished += ended
        if not live:
            break
    best = max(
        finished or live or last,
        key=lambda each: penalised(each[1], len(each[0]) - 1, length_penalty),
    )
    return [each for each in best[0][1:] if each != eos_id]


def beam_in_tensors(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    """Keeps the best finished one alone, and ranks by score instead of log-probability: within a
    step all have one length.
    """
    prefixes, totals = torch.tensor([[bos_id]]), torch.zeros(1)
    best, best_score = None, -math.inf
    for length in range(1, max_len):
        log_probs = step_log_probs(prefixes)
        divisor = ((length + 5) / 6) ** length_penalty
        scores = (totals.to(log_probs)[:, None] + log_probs).flatten() / divisor
        order = scores.argsort(descending=True)[: 2 * beam_size if beam_size > 1 else 1]
        rows, ids = order // log_probs.size(1), order % log_probs.size(1)
        ended = ids == eos_id
        for place, row in zip(order[ended], rows[ended], strict=True):
            if scores[place] > best_score:
                best, best_score = prefixes[row, 1:].tolist(), scores[place]
        rows, ids = rows[~ended][:beam_size], ids[~ended][:beam_size]
        if len(ids) == 0:
            break
        totals = scores[order[~ended][:beam_size]] * divisor
        prefixes = torch.cat([prefixes[rows], ids[:, None]], dim=1)
    return prefixes[0, 1:].tolist() if best is None else best


def beam_of_fixed_size(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    """Keeps beam_size rows from the start, those that do not live with a log-probability of
    -inf.
    """
    if beam_size == 1:
        return greedy_by_argmax(step_log_probs, bos_id, eos_id, max_len)
    prefixes = torch.full((beam_size, 1), bos_id)
    totals = torch.full((beam_size,), -torch.inf)
    totals[0] = 0
    finished = []
    while prefixes.shape[1] < max_len:
        table = totals[:, None] + step_log_probs(prefixes)
        values, places = table.reshape(-1).sort(descending=True)
        values, places = values[: 2 * beam_size], places[: 2 * beam_size]
        rows, ids = (
            places.div(table.shape[1], rounding_mode="floor"),
            places.remainder(table.shape[1]),
        )
        for value, row, each in zip(values, rows, ids, strict=True):
            if each == eos_id and value.isfinite():
                score = value / ((5 + prefixes.shape[1]) / 6) ** length_penalty
                finished.append((score.item(), prefixes[row].tolist()[1:]))
        values = values.masked_fill(ids == eos_id, -torch.inf)
        totals, kept = values.topk(min(beam_size, len(values)))
        prefixes = torch.cat([prefixes[rows[kept]], ids[kept, None]], dim=1)
        if totals.isinf().all():
            break
    return max(finished)[1] if finished else prefixes[totals.argmax(), 1:].tolist()


def greedy_by_argmax(step_log_probs, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(step_log_probs(torch.tensor([ids]))[0].argmax().item())
        if ids[-1] == eos_id:
            return ids[1:-1]
    return ids[1:]


def penalty(length_penalty, beam_size=3, max_len=7):
    """Return arguments up to the last."""
    return {
        "bos_id": BOS,
        "eos_id": EOS,
        "beam_size": beam_size,
        "max_len": max_len,
        "length_penalty": length_penalty,
    }


def sizes(beam_size, max_len):
    return {"bos_id": BOS, "eos_id": EOS, "beam_size": beam_size, "max_len": max_len}


def equal(length_penalty, beam_size, max_len):
    return penalty(length_penalty, beam_size, max_len)


BEAM = Exercise(
    reference=reference.beam_search,
    cases=(
        Case(
            "a beam of two finds what a greedy search does not",
            search_case(greedy, side_by_side, copies, with_end, **sizes(2, 6)),
            probe=searched,
            weight=2,
        ),
        Case(
            "a beam of three",
            search_case(best_extensions_alone, last_word_alone, added_probabilities, **sizes(3, 7)),
            probe=searched,
            weight=2,
        ),
        Case("beam_size=1 is greedy", search_case(two_when_greedy, **sizes(1, 8)), probe=searched),
        Case(
            "the best sentence ends after others did",
            search_case(
                stops_when_enough_ended, first_end_wins, shrinking, scale=2.0, **penalty(1.0, 2, 8)
            ),
            probe=searched,
        ),
        Case(
            "one that has ended leaves its place to another",
            search_case(
                best_extensions_alone, right=[stops_looking], end=1.0, **penalty(4.0, 2, 6)
            ),
            probe=searched,
        ),
        Case(
            "an end that comes late in the order",
            search_case(stops_looking, end=-0.5, **sizes(2, 6)),
            probe=searched,
        ),
        Case(
            "a finished one wins over a likelier one that lives",
            search_case(live_ones_compete, live_ones_alone, end=-1.5, **sizes(3, 5)),
            probe=searched,
        ),
        Case(
            "nothing ends",
            search_case(without_last_word, vocab_size=8, end=-60.0, **sizes(3, 6)),
            probe=searched,
        ),
        Case(
            "a beam wider than the vocabulary",
            search_case(
                beam_that_is_too_wide, as_many_as_words, vocab_size=5, rows=7, **sizes(8, 5)
            ),
            probe=searched,
        ),
        Case("length_penalty=0", search_case(always_six_tenths, **penalty(0.0)), probe=searched),
        Case(
            "a large length_penalty",
            search_case(
                beginning_counted,
                end_not_counted,
                divided_by_length,
                multiplied,
                likeliest,
                **penalty(2.0, 3, 6),
            ),
            probe=searched,
        ),
        Case(
            "max_len=2 leaves room for one word",
            search_case(one_too_long, end=-60.0, **sizes(2, 2)),
            probe=searched,
        ),
        Case(
            "max_len=1 leaves room for none",
            search_case(one_too_long, end=-60.0, **sizes(2, 1)),
            probe=searched,
        ),
        Case(
            "the end is by far the best first word",
            search_case(first_end=6.0, **sizes(3, 5)),
            probe=searched,
        ),
        Case(
            "the end is the best first word, and the best sentence is longer",
            search_case(first_end_wins, end=1.0, **penalty(4.0, 3, 7)),
            probe=searched,
        ),
        Case(
            "words that cannot follow",
            search_case(
                greedy, multiplied, right=[likeliest], impossible=0.4, **penalty(1.0, 2, 6)
            ),
            probe=searched,
        ),
        Case(
            "other ids for beginning and end",
            search_case(ids_1_and_2, bos_id=3, eos_id=0, beam_size=2, max_len=6),
            probe=searched,
        ),
        Case(
            "several are equally good",
            equally_good((3,), **equal(0.6, 3, 6)),
            probe=searched_among_equals,
        ),
        Case(
            "the arguments by default",
            search_case(greedy, end=1.5),
            probe=searched,
            visible=False,
            weight=2,
        ),
        Case(
            "a beam of four",
            search_case(
                best_extensions_alone, last_word_alone, greedy, vocab_size=9, rows=23, **sizes(4, 8)
            ),
            probe=searched,
            visible=False,
            weight=2,
        ),
        Case(
            "two of many words",
            search_case(
                greedy, side_by_side, copies, vocab_size=12, rows=17, end=1.0, **sizes(2, 9)
            ),
            probe=searched,
            visible=False,
            weight=2,
        ),
        Case(
            "greedy, another table",
            search_case(two_when_greedy, vocab_size=8, **sizes(1, 9)),
            probe=searched,
            visible=False,
        ),
        Case(
            "the best one ends late",
            search_case(
                stops_when_enough_ended, first_end_wins, shrinking, scale=2.0, **penalty(1.2, 3, 10)
            ),
            probe=searched,
            visible=False,
        ),
        Case(
            "those that have ended leave their places to others",
            search_case(
                best_extensions_alone, right=[stops_looking], end=1.0, **penalty(4.0, 3, 7)
            ),
            probe=searched,
            visible=False,
        ),
        Case(
            "an end below those that live",
            search_case(stops_looking, vocab_size=8, end=-0.5, **penalty(0.3, 3, 6)),
            probe=searched,
            visible=False,
        ),
        Case(
            "what lives at the end never wins over what has finished",
            search_case(
                live_ones_compete, live_ones_alone, vocab_size=8, end=-1.5, **penalty(0.0, 2, 6)
            ),
            probe=searched,
            visible=False,
        ),
        Case(
            "nothing ends, longer",
            search_case(without_last_word, end=-70.0, **sizes(2, 12)),
            probe=searched,
            visible=False,
        ),
        Case(
            "room for every sentence",
            search_case(
                beam_that_is_too_wide, as_many_as_words, vocab_size=4, rows=9, **sizes(50, 4)
            ),
            probe=searched,
            visible=False,
        ),
        Case(
            "no length_penalty, a beam of two",
            search_case(always_six_tenths, **penalty(0.0, 2, 8)),
            probe=searched,
            visible=False,
        ),
        Case(
            "longer is better",
            search_case(
                beginning_counted,
                end_not_counted,
                divided_by_length,
                multiplied,
                likeliest,
                end=1.0,
                **penalty(3.0, 2, 8),
            ),
            probe=searched,
            visible=False,
        ),
        Case(
            "one word alone",
            search_case(one_too_long, vocab_size=9, end=-60.0, **sizes(3, 2)),
            probe=searched,
            visible=False,
        ),
        Case(
            "no room for a word",
            search_case(one_too_long, vocab_size=10, end=-60.0, **sizes(4, 1)),
            probe=searched,
            visible=False,
        ),
        Case(
            "a sentence of no words",
            search_case(first_end=7.0, **sizes(4, 6)),
            probe=searched,
            visible=False,
        ),
        Case(
            "half of the words cannot follow",
            search_case(
                greedy,
                multiplied,
                right=[likeliest],
                vocab_size=9,
                impossible=0.5,
                **penalty(1.0, 3, 7),
            ),
            probe=searched,
            visible=False,
        ),
        Case(
            "ids that change places",
            search_case(ids_1_and_2, bos_id=2, eos_id=1, beam_size=3, max_len=6),
            probe=searched,
            visible=False,
        ),
        Case(
            "log-probabilities in float32",
            search_case(greedy, dtype=torch.float32, **sizes(3, 6)),
            probe=searched,
            visible=False,
        ),
        Case(
            "many are equally good",
            equally_good((2, 4), **equal(1.0, 4, 8)),
            probe=searched_among_equals,
            visible=False,
        ),
        Case(
            "equally good, and none ends",
            equally_good((), **equal(0.6, 3, 5)),
            probe=searched_among_equals,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "one hypothesis is enough",
            greedy,
            "You find what a greedy search finds. How many beginnings live after your first step?",
        ),
        Misconception(
            "a beam is so many greedy searches",
            side_by_side,
            "After the first step each of your hypotheses goes its own way. May two of the best"
            " come from the same one?",
        ),
        Misconception(
            "the beam starts with copies",
            copies,
            "Your hypotheses are all the same. How many different beginnings are there before the"
            " first step?",
        ),
        Misconception(
            "the first to end wins",
            first_end_wins,
            "You stop at the first sentence that ends. Could another, still alive, end with a"
            " better score?",
        ),
        Misconception(
            "enough have ended",
            stops_when_enough_ended,
            "You stop when a number of sentences have ended. Which two things end this search,"
            " according to the statement?",
        ),
        Misconception(
            "what has ended takes a place",
            best_extensions_alone,
            "After a step in which one ends, fewer live than there is room for. Through how many"
            " extensions do you go?",
        ),
        Misconception(
            "each finished one makes the beam smaller",
            shrinking,
            "Your beam gets smaller with each sentence that ends. How many may live, whatever has"
            " finished?",
        ),
        Misconception(
            "a full beam ends the step",
            stops_looking,
            "When the last place is taken, you look no further. What about an end that comes after"
            " it in the order?",
        ),
        Misconception(
            "what has ended goes on",
            ends_that_live,
            "A finished sentence gets further words. What happens to a hypothesis when it ends?",
        ),
        Misconception(
            "every extension is looked at",
            everything_is_looked_at,
            "An end counts as finished only if it is among the best extensions. Among how many?",
        ),
        Misconception(
            "with beam_size=1 there are two to look at",
            two_when_greedy,
            "With beam_size=1 the search is greedy. What does a greedy search do when the best word"
            " is the end?",
        ),
        Misconception(
            "there are as many extensions as words",
            as_many_as_words,
            "You never look at more extensions than there are words. How many are there, when"
            " several hypotheses live?",
        ),
        Misconception(
            "there are always enough extensions",
            beam_that_is_too_wide,
            "One hypothesis and a few words do not make 2 * beam_size extensions. How many are"
            " there to choose from?",
        ),
        Misconception(
            "what lives may win, too",
            live_ones_compete,
            "At the end you compare finished and unfinished ones. When does one that still lives"
            " count?",
        ),
        Misconception(
            "what still lives wins",
            live_ones_alone,
            "You return a sentence that has no end, although others have finished. When does one"
            " that still lives count?",
        ),
        Misconception(
            "the likeliest wins",
            likeliest,
            "You compare log-probabilities of sentences of different lengths. Which does that"
            " favour, and what is `length_penalty` for?",
        ),
        Misconception(
            "length_penalty is 0.6",
            always_six_tenths,
            "Right for the default. What has become of the argument `length_penalty`?",
        ),
        Misconception(
            "the score is divided by a power of the length",
            divided_by_length,
            "Your score divides by a power of something else than the formula does. Compute it for"
            " a sentence of one word.",
        ),
        Misconception(
            "the score is multiplied",
            multiplied,
            "Your score makes long sentences worse. Log-probabilities are negative: what does a"
            " factor above 1 do to them?",
        ),
        Misconception(
            "the end does not count",
            end_not_counted,
            "Count the length of the sentence of one word in the statement. Is `<eos>` part of it?",
        ),
        Misconception(
            "the beginning counts",
            beginning_counted,
            "Count the length of the sentence of one word in the statement. Is `<bos>` part of it?",
        ),
        Misconception(
            "scores are penalised on the way",
            penalised_on_the_way,
            "The totals that you carry on are divided again at every step. When is a score needed"
            " at all?",
        ),
        Misconception(
            "the last word says all",
            last_word_alone,
            "You rank hypotheses by their last word. What have they brought with them?",
        ),
        Misconception(
            "probabilities add up",
            added_probabilities,
            "Probabilities are multiplied. What does that mean for their logarithms, which you are"
            " given?",
        ),
        Misconception(
            "one word more fits behind max_len",
            one_too_long,
            "Count the ids of your longest prefix against max_len, `<bos>` included.",
        ),
        Misconception(
            "max_len is one id too many",
            one_too_short,
            "Your search stops one id too early. When exactly is a prefix full?",
        ),
        Misconception(
            "sentences begin with 1 and end with 2",
            ids_1_and_2,
            "Right for the default ids. What has become of the arguments that hold them?",
        ),
        Misconception(
            "the beginning belongs to the result",
            with_beginning,
            "The words are right. What should not stand in front of them?",
        ),
        Misconception(
            "the end belongs to the result",
            with_end,
            "The words are right. What should not stand behind them?",
        ),
        Misconception(
            "the last id is always the end",
            without_last_word,
            "Where nothing has ended, a word is missing from your result. What is the last id of a"
            " hypothesis that still lives?",
        ),
        Misconception(
            "the result is a tensor",
            beam_of_tensors,
            "The words are right, and their container is not. Which method makes a Python list of a"
            " tensor?",
        ),
        Misconception(
            "the result is a list of tensors",
            beam_of_small_tensors,
            "The words are right, and each of them is still a tensor. Which method makes a Python"
            " number of it?",
        ),
    ),
    alternatives=(beam_with(), without_the_impossible, beam_in_tensors, beam_of_fixed_size),
    shortcuts=("BeamSearchScorer", "generate"),
)

EXERCISES = (PAIR, LOSS, NOAM, TRAIN, BEAM)
