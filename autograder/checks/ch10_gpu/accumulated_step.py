"""A step whose batch goes through in parts."""

import math

import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.checks import Checks
from autograder.authoring.draw import padded, weights
from autograder.authoring.drawn import drawn
from autograder.checks.ch09_training.teacher_forcing_pair import targets
from autograder.checks.ch09_training.train_step import SIZES
from autograder.checks.ch10_gpu import declare_losses_of_another_question
from autograder.shared.probes import accumulated, accumulated_in_turn, with_stand_ins
from solutions.ch09_training import label_smoothed_loss, teacher_forcing_pair, train_step
from solutions.ch10_gpu import accumulated_step


def words_in(tgt):
    return int((tgt[:, 1:] != 0).sum())


def where_it_has_words(size):
    """Return how much a part counts by a size, unless no target in it is a word."""
    return lambda tgt: size(tgt) if words_in(tgt) else 0


def clip_all(model, max_norm):
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)


def clear(optimizer):
    optimizer.zero_grad()


def step_with(
    mode=nn.Module.train,
    at_first=clear,
    before_each=lambda optimizer: None,
    size=words_in,
    whole_size=sum,
    pair=teacher_forcing_pair,
    loss=label_smoothed_loss,
    skipped=lambda count: count == 0,
    nothing_to_do=lambda counts: not any(counts),
    backward=torch.Tensor.backward,
    after_each=lambda model, optimizer, max_norm: None,
    clip=clip_all,
    update=lambda model, optimizer: optimizer.step(),
    result=lambda shares, means: float(sum(map(float, shares))),
):
    """Make a step in parts from its rules."""

    def step(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
        counts = [size(tgt) for _, tgt in parts]
        if nothing_to_do([words_in(tgt) for _, tgt in parts]):
            return 0.0
        mode(model)
        at_first(optimizer)
        shares, means = [], []
        for (src, tgt), count in zip(parts, counts, strict=True):
            if not skipped(words_in(tgt)):
                before_each(optimizer)
                decoder_input, expected = pair(tgt)
                mean = loss(model(src, decoder_input), expected, smoothing=smoothing)
                share = mean * (count / whole_size(counts))
                backward(share)
                after_each(model, optimizer, max_norm)
                means.append(mean.detach())
                shares.append(share.detach())
        clip(model, max_norm)
        update(model, optimizer)
        return result(shares, means)

    return step


@drawn
def parts_case(
    rng,
    parts=((2, 3), (1,)),
    optimizer="SGD",
    dtype=torch.float64,
    dropout=0.0,
    train=True,
    old_gradients=False,
    size=1.0,
    longer_than=0.0,
    **arguments,
):
    """Make the inputs of a case: a small model, its optimizer, and a batch in parts.

    Args:
        parts: words of each target of each part, `<eos>` not counted; a part of () has only a
            sentence of padding.
        dropout, train, old_gradients: of the model.
        size: of its weights.
        longer_than: a length below that of all gradients together; without one they are shorter
            than 1, so that nothing is clipped.
        arguments: `smoothing` and `max_norm`, both or none.
    """
    while True:
        drawn = {name: size * each for name, each in weights(rng, SIZES, dtype).items()}
        model = {"stand_in": "translator", "weights": drawn, "dropout": dropout, "train": train}
        inputs = {
            "model": {**model, "old_gradients": old_gradients},
            "optimizer": {
                "stand_in": "optimizer",
                "name": optimizer,
                "lr": 0.5 if optimizer == "SGD" else 0.01,
            },
            "parts": [a_part(rng, lengths) for lengths in parts],
            **arguments,
        }
        length = length_of_gradients(inputs)
        if longer_than <= length and (longer_than or length < 1):
            return inputs


def a_part(rng, lengths):
    if lengths:
        return padded(rng, lengths[::-1], max(lengths), 7), targets(rng, lengths, 6)
    tgt = torch.zeros(2, 4, dtype=torch.int64)
    tgt[:, 0] = 1
    return torch.zeros(2, 3, dtype=torch.int64), tgt


def length_of_gradients(inputs):
    model, _, parts, smoothing, *_ = [*with_stand_ins(inputs).values(), 0.1]
    model.train().zero_grad()
    words = sum(words_in(tgt) for _, tgt in parts)
    for src, tgt in parts:
        if words_in(tgt):
            loss = label_smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:], smoothing=smoothing)
            (loss * words_in(tgt) / words).backward()
    grads = [each.grad for each in model.parameters() if each.grad is not None]
    return float(nn.utils.get_total_norm(grads)) if grads else 0.0


checks = Checks(accumulated_step, family=step_with, probe=accumulated)
shown, hidden, wrong, right = checks.words

shown("two parts of different size", parts_case(), weight=4)
shown("one part", parts_case([(2, 3)]))
shown(
    "long gradients are clipped, once",
    parts_case(
        [(3,), (1, 2)], size=2.0, longer_than=0.3, old_gradients=True, smoothing=0.1, max_norm=0.1
    ),
)
shown(
    "gradients of an earlier step do not count",
    parts_case([(3,), (1, 1)], old_gradients=True),
    weight=2,
)
shown(
    "a model in eval mode is switched to train mode",
    parts_case([(2,), (1, 3)], dropout=1.0, train=False),
)
shown("a part without a word", parts_case([(), (2, 1)]))
shown("no part has a word", parts_case([(), ()], "AdamW", old_gradients=True))
shown(
    "a part's backward pass comes before the next part",
    parts_case([(2,), (1, 2), (3,)]),
    probe=accumulated_in_turn,
    weight=2,
)
hidden(
    "three parts",
    parts_case([(4, 1), (2,), (3, 3, 1)], size=2.0, longer_than=1.2, smoothing=0.3, max_norm=30.0),
    weight=3,
)
hidden(
    "three parts, clipped",
    parts_case(
        [(2, 5), (1,), (3,)],
        size=2.0,
        longer_than=0.3,
        old_gradients=True,
        smoothing=0.2,
        max_norm=0.05,
    ),
)
hidden(
    "dropout is on, though the model came in eval mode",
    parts_case([(1, 3), (2,)], dropout=1.0, train=False, old_gradients=True),
)
hidden("AdamW", parts_case([(3,), (1, 2)], "AdamW", old_gradients=True))
hidden("parts without words at either end", parts_case([(), (3,), (1, 2), ()]))
hidden(
    "a model in float32, clipped at a length of 1 if nobody says otherwise",
    parts_case([(2, 3), (1,)], size=2.0, longer_than=1.2, dtype=torch.float32),
)
hidden(
    "one part after the other, one of them without a word",
    parts_case([(2, 2), (), (4, 1)]),
    probe=accumulated_in_turn,
    weight=2,
)


wrong(
    "each part counts the same",
    """Right where all parts have the same number of words. Which word counts for more in your mean:
    one of a part with many words, or one of a part with few?""",
    size=where_it_has_words(lambda tgt: 1),
)


wrong(
    "a sentence is a unit",
    "Each part has a share in the mean. Do you count its sentences or its words?",
    size=where_it_has_words(len),
)


wrong(
    "padding is a word",
    "You count all positions of a target. Which of them are words?",
    size=where_it_has_words(lambda tgt: tgt[:, 1:].numel()),
)


wrong(
    "the beginning is a word that is predicted",
    """Which ids of a target does the model have to predict? You count one too many in each
    sentence.""",
    size=where_it_has_words(lambda tgt: int((tgt != 0).sum())),
)


wrong(
    "the losses of all parts are added up",
    "Your gradients grow with the number of parts. What should all shares add up to?",
    whole_size=max,
    size=lambda tgt: 1,
)


wrong(
    "a mean is a sum over words",
    "Your gradients grow with the number of words. What is a mean over all words divided by?",
    whole_size=lambda counts: 1,
)


wrong(
    "the gradients of the last step are gone by themselves",
    """Each `backward()` adds to what `grad` already holds. Is there anything left from the step
    before?""",
    at_first=lambda optimizer: None,
)


wrong(
    "each part begins with clear gradients",
    """What do the earlier parts of a batch leave for the optimizer in your step? Count how often
    you clear the gradients.""",
    before_each=clear,
)


@wrong(
    "each part is a step of its own",
    "How often do your weights move? With all parts at once they would move once.",
    around=True,
)
def a_step_each(right, model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    losses = [
        train_step(model, optimizer, *part, smoothing, max_norm)
        for part in parts
        if words_in(part[1])
    ]
    return sum(losses) / max(1, len(losses))


@wrong(
    "each part is a step, and its loss counts by its words",
    "How often do your weights move? With all parts at once they would move once.",
    around=True,
)
def a_step_each_by_words(right, model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    counts = [words_in(tgt) for _, tgt in parts]
    losses = [
        count * train_step(model, optimizer, *part, smoothing, max_norm)
        for count, part in zip(counts, parts, strict=True)
        if count
    ]
    return sum(losses) / max(1, sum(counts))


wrong(
    "each part is clipped",
    "You clip while parts are still to come. Which gradients should `max_norm` limit?",
    after_each=lambda model, optimizer, max_norm: clip_all(model, max_norm),
)


wrong(
    "gradients may have any length",
    "Right where gradients are short. What is `max_norm` for?",
    clip=lambda model, max_norm: None,
)


wrong(
    "max_norm is 1",
    "Right for the default. What has become of the argument `max_norm`?",
    max_norm=1.0,
)


@wrong(
    "one backward pass at the end is enough",
    """Your weights are right. But look at the memory when the last forward pass begins: how many
    parts have left something there that still waits for its backward pass?""",
    around=True,
)
def one_backward_pass(right, model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    total = sum(words_in(tgt) for _, tgt in parts)
    if not total:
        return 0.0
    model.train()
    optimizer.zero_grad()
    loss = sum(
        label_smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:], smoothing=smoothing)
        * (words_in(tgt) / total)
        for src, tgt in parts
        if words_in(tgt)
    )
    loss.backward()
    clip_all(model, max_norm)
    optimizer.step()
    return loss.item()


@wrong(
    "parts may be joined again",
    """Your weights are right. But the parts were made because the whole batch does not fit: how
    many sentences does your model read at once?""",
    around=True,
)
def joined(right, model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    parts = [part for part in parts if words_in(part[1])]
    if not parts:
        return 0.0
    src, tgt = (
        nn.utils.rnn.pad_sequence([row for part in parts for row in part[side]], batch_first=True)
        for side in (0, 1)
    )
    return train_step(model, optimizer, src, tgt, smoothing, max_norm)


wrong(
    "a part without words does no harm",
    """What does your model compute for a part that holds nothing but padding? Look for a nan, and
    remember what a nan times 0 is.""",
    skipped=lambda count: False,
)


@wrong(
    "some part always has a word",
    "What do you divide by when no part has a word? Nothing should change then.",
    around=True,
)
def divided_by_no_words(right, model, optimizer, parts, *others):
    words = sum(words_in(tgt) for _, tgt in parts)
    return right(model, optimizer, parts, *others) * words / words


@wrong(
    "without words there is still a step to take",
    """When no part has a word, your weights still move. What does an optimizer do with gradients
    of 0, or with old ones?""",
    around=True,
)
def stepping_anyway(right, model, optimizer, parts, *others):
    loss = right(model, optimizer, parts, *others)
    if not any(words_in(tgt) for _, tgt in parts):
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
    return loss


wrong(
    "the caller sets the mode",
    """After an evaluation, a model arrives in eval mode. In which mode should it learn, with all
    of its layers?""",
    mode=lambda model: None,
)


wrong(
    "the last loss is the loss",
    "Your weights are right. How many parts does the loss that you return come from?",
    result=lambda shares, means: means[-1].item(),
)


wrong(
    "the loss is the mean of the means",
    "Your weights are right. You return a mean over parts: how many words does each part have?",
    result=lambda shares, means: float(sum(map(float, means)) / len(means)),
)


wrong(
    "a tensor is a number",
    """A loss that is kept as a tensor keeps everything alive that it was computed from. Which
    method turns it into a Python number?""",
    result=lambda shares, means: sum(shares),
)


declare_losses_of_another_question(wrong)


wrong(
    "backward moves the weights",
    """Your loss is right, but no weight has moved. Who moves the weights, and what do the gradients
    hold at that moment?""",
    update=lambda model, optimizer: None,
)


@right
def by_sums(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    """Adds up gradients of sums of losses, and divides them once, at the end."""
    model.train()
    optimizer.zero_grad(set_to_none=False)
    total, words = 0.0, 0
    for src, tgt in parts:
        here = words_in(tgt)
        if here == 0:
            continue
        logits = model(src, tgt[:, :-1])
        loss = functional.cross_entropy(
            logits.flatten(0, 1),
            tgt[:, 1:].flatten(),
            ignore_index=0,
            label_smoothing=smoothing,
            reduction="sum",
        )
        loss.backward()
        total, words = total + loss.item(), words + here
    if words == 0:
        return 0.0
    for parameter in model.parameters():
        parameter.grad /= words
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return total / words


@right
def by_gradients_of_each(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    """Gradients by `torch.autograd.grad`, averaged by hand, clipped by a square root."""
    parameters = list(model.parameters())
    parts = [(src, *teacher_forcing_pair(tgt)) for src, tgt in parts if words_in(tgt)]
    words = [int(expected.count_nonzero()) for *_, expected in parts]
    if not parts:
        return 0.0
    model.train(True)
    mean, found = 0.0, [torch.zeros_like(each) for each in parameters]
    for (src, decoder_input, expected), count in zip(parts, words, strict=True):
        logits = model.generator(model.decode(decoder_input, model.encode(src), src))
        loss = label_smoothed_loss(logits, expected, 0, smoothing)
        for each, more in zip(found, torch.autograd.grad(loss, parameters), strict=True):
            each += more * count / sum(words)
        mean += float(loss) * count / sum(words)
    length = math.sqrt(sum(float(each.square().sum()) for each in found))
    for parameter, each in zip(parameters, found, strict=True):
        parameter.grad = each if length <= max_norm else each * (max_norm / length)
    optimizer.step()
    optimizer.zero_grad()
    return mean


@right
def by_the_rest(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    """Keeps a mean of what came so far, which each new part moves by its share."""
    seen, mean = 0, 0.0
    for src, tgt in parts:
        count = words_in(tgt)
        if not count:
            continue
        if not seen:
            model.train()
            optimizer.zero_grad()
        old = seen / (seen + count)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(old)
        loss = label_smoothed_loss(model(src, tgt)[:, :-1], tgt[:, 1:], smoothing=smoothing)
        (loss * (1 - old)).backward()
        mean, seen = old * mean + (1 - old) * loss.item(), seen + count
    if seen:
        clip_all(model, max_norm)
        optimizer.step()
    return mean


@right
def of_single_sentences(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    """Goes through the sentences one by one: smaller parts still."""
    rows = [(src[None], tgt[None]) for part in parts for src, tgt in zip(*part, strict=True)]
    rows = [(src, tgt) for src, tgt in rows if words_in(tgt)]
    return accumulated_step(model, optimizer, rows, smoothing, max_norm)
