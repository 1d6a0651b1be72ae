"""One step of training: clear, predict, backpropagate, clip, update."""

import math
from functools import partial

import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.checks import Checks
from autograder.authoring.draw import padded, weights
from autograder.authoring.drawn import drawn
from autograder.checks.ch09_training.teacher_forcing_pair import (
    of_the_same,
    swapped,
    targets,
    whole,
)
from autograder.shared.probes import loss_returned, updated, weights_moved, with_stand_ins
from solutions.ch09_training import label_smoothed_loss, teacher_forcing_pair, train_step

SIZES = (
    ("src_embedding.weight", (7, 3)),
    ("tgt_embedding.weight", (6, 3)),
    ("generator.weight", (6, 3)),
    ("generator.bias", (6,)),
)


@drawn
def step_case(
    rng,
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
            `autograder.shared.probes.stand_ins.small_translator`.
        size: of its weights.
        longer_than: a length below that of all gradients together; without one they are shorter
            than 1, so that nothing is clipped.
        arguments: `smoothing` and `max_norm`, both or none.
    """

    while True:
        drawn = {name: size * each for name, each in weights(rng, SIZES, dtype).items()}
        model = {"stand_in": "translator", "weights": drawn, "dropout": dropout, "train": train}
        lr = 0.5 if optimizer == "SGD" else 0.01
        inputs = {
            "model": {**model, "old_gradients": old_gradients},
            "optimizer": {"stand_in": "optimizer", "name": optimizer, "lr": lr},
            "src": padded(rng, lengths[::-1], max(lengths), 7),
            "tgt": targets(rng, lengths, 6),
            **arguments,
        }
        length = length_of_gradients(inputs)
        if longer_than <= length and (longer_than or length < 1):
            return inputs


def length_of_gradients(inputs):
    model, _, src, tgt, smoothing, *_ = [*with_stand_ins(inputs).values(), 0.1]
    decoder_input, expected = teacher_forcing_pair(tgt)
    model.zero_grad()
    label_smoothed_loss(model.train()(src, decoder_input), expected, smoothing=smoothing).backward()
    return nn.utils.get_total_norm([each.grad for each in model.parameters()])


def clip_by(
    length=lambda grads: math.sqrt(sum(float((each**2).sum()) for each in grads)),
    factor=lambda length, max_norm: min(1, max_norm / length),
):
    """Make a rule for clipping from what is taken for the length, and what gradients are multiplied
    with.
    """

    def clip(parameters, max_norm):
        grads = [each.grad for each in parameters]
        scale = factor(length(grads), max_norm)
        for grad in grads:
            grad *= scale

    return clip


def step_with(
    mode=nn.Module.train,
    clear=torch.optim.Optimizer.zero_grad,
    pair=teacher_forcing_pair,
    logits=lambda model, src, tgt: model(src, tgt),
    loss=label_smoothed_loss,
    clip=nn.utils.clip_grad_norm_,
    update=lambda model, optimizer: optimizer.step(),
    result=lambda loss, again: loss.item(),
):
    """Make a training step from its rules."""

    def step(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
        def loss_now():
            decoder_input, expected = pair(tgt)
            return loss(logits(model, src, decoder_input), expected, smoothing=smoothing)

        mode(model)
        clear(optimizer)
        found = loss_now()
        found.backward()
        clip(list(model.parameters()), max_norm)
        update(model, optimizer)
        return result(found, loss_now)

    return step


checks = Checks(train_step, family=step_with, probe=updated)
shown, hidden, wrong, right = checks.words

# Most cases ask for one thing, so that a loss that is looked up too late, or a mode, costs itself
# and not the weights.
shown("a small batch", step_case(), weight=2)
shown(
    "long gradients are clipped",
    step_case((3, 2), size=2.0, longer_than=0.3, smoothing=0.1, max_norm=0.1),
    probe=weights_moved,
)
shown(
    "gradients may be longer than 1",
    step_case((1, 3), size=2.0, longer_than=1.2, smoothing=0.1, max_norm=50.0),
    probe=weights_moved,
)
shown(
    "gradients of an earlier step do not count",
    step_case((2, 2), old_gradients=True),
    probe=weights_moved,
    weight=2,
)
shown("a model in eval mode is switched to train mode", step_case((2, 1), dropout=1.0, train=False))
shown(
    "the loss, without smoothing",
    step_case((2, 3), smoothing=0.0, max_norm=2.0),
    probe=loss_returned,
)
shown("AdamW", step_case((3, 1), "AdamW", old_gradients=True), probe=weights_moved)
hidden(
    "a larger batch",
    step_case((4, 1, 2, 3), size=2.0, longer_than=1.2, smoothing=0.3, max_norm=30.0),
    probe=weights_moved,
    weight=2,
)
hidden(
    "a larger batch, clipped",
    step_case(
        (2, 5, 1),
        size=2.0,
        longer_than=0.3,
        smoothing=0.2,
        max_norm=0.05,
        old_gradients=True,
    ),
    weight=2,
)
hidden(
    "the loss of one sentence", step_case((4,), smoothing=0.1, max_norm=40.0), probe=loss_returned
)
hidden(
    "dropout is on, though the model came in eval mode",
    step_case((3, 3), dropout=1.0, train=False, old_gradients=True),
)
hidden("dropout is on in train mode", step_case((1, 3), dropout=1.0), probe=weights_moved)
hidden(
    "the loss, with much smoothing",
    step_case((1, 4), smoothing=0.6, max_norm=60.0),
    probe=loss_returned,
)
hidden("AdamW, a model in eval mode", step_case((2, 2, 3), "AdamW", train=False))
hidden(
    "a model in float32, clipped at a length of 1 if nobody says otherwise",
    step_case((2, 3), size=2.0, longer_than=1.2, dtype=torch.float32),
)


wrong(
    "the gradients of the last step are gone by themselves",
    """What `backward()` finds is added to what `grad` already holds. Is there anything left from
    the step before?""",
    clear=lambda optimizer: None,
)


wrong(
    "gradients may have any length",
    """Right where gradients are short. Between which two lines can they be made shorter, and is
    `max_norm` used there?""",
    clip=lambda *_: None,
)


wrong(
    "each number is clipped by itself",
    """You clip each number by itself, so the gradient points elsewhere afterwards. Whose length
    does `max_norm` limit?""",
    clip=nn.utils.clip_grad_value_,
)


@wrong(
    "each parameter is clipped by itself",
    "You clip each parameter by its own length. How long are all gradients together?",
    rule="clip",
)
def each_tensor(parameters, max_norm):
    for parameter in parameters:
        nn.utils.clip_grad_norm_(parameter, max_norm)


wrong(
    "gradients always have the length max_norm",
    "Short gradients become longer in your step. When should they be scaled at all?",
    clip=clip_by(factor=lambda length, max_norm: max_norm / length),
)


wrong(
    "a norm is a sum of squares",
    "Gradients of 3 and 4 have the length 5. Which one do you compute?",
    clip=clip_by(lambda grads: sum(float((each**2).sum()) for each in grads)),
)


wrong(
    "lengths add up",
    "Gradients of 3 and 4 have the length 5. Which one do you compute?",
    clip=clip_by(lambda grads: sum(float(each.norm()) for each in grads)),
)


wrong(
    "long gradients are thrown away",
    "With long gradients your weights do not move. Should they be dropped, or made shorter?",
    clip=clip_by(factor=lambda length, max_norm: length <= max_norm),
)


wrong(
    "max_norm is 1",
    "Right for the default. Where do you use the argument `max_norm`?",
    max_norm=1.0,
)


wrong(
    "the caller sets the mode",
    """After an evaluation a model is still in eval mode. In which mode should it learn, with all
    of its parts?""",
    mode=lambda model: None,
)


wrong(
    "a model learns in eval mode",
    "In your step dropout is off. In which mode should a model learn?",
    mode=nn.Module.eval,
)


@wrong(
    "the mode is put back",
    """The step itself is right. In which mode should the model be afterwards, according to the
    docstring?""",
    around=True,
)
def back_to_the_mode_before(right, model, *others):
    was_training = model.training
    loss = right(model, *others)
    model.train(was_training)
    return loss


@wrong(
    "the model rests in eval mode",
    """The step itself is right. In which mode should the model be afterwards, according to the
    docstring?""",
    around=True,
)
def eval_afterwards(right, model, *others):
    loss = right(model, *others)
    model.eval()
    return loss


wrong(
    "the loss is looked up after the step",
    """Your weights are right. Is the loss that you return the one before the update, or the one
    after it?""",
    result=lambda loss, again: again().item(),
)


wrong(
    "a tensor is a number",
    """A loss that is kept as a tensor keeps everything alive that it was computed from. Which
    method turns it into a Python number?""",
    result=lambda loss, again: loss,
)


wrong(
    "labels need no smoothing",
    "Right with smoothing=0. Where do you use the argument `smoothing`?",
    smoothing=0.0,
)


wrong(
    "smoothing is always 0.1",
    "Right with the default. Where do you use the argument `smoothing`?",
    smoothing=0.1,
)


wrong(
    "padding counts as a target",
    "Right where no sentence has padding. Which id should the loss ignore?",
    loss=partial(label_smoothed_loss, pad_id=-1),
)


@wrong(
    "a sum is as good as a mean",
    """Your loss grows with the batch. Does something happen to it between the loss function and
    your result?""",
    rule="loss",
)
def sum_of_losses(logits, expected, smoothing):
    return label_smoothed_loss(logits, expected, smoothing=smoothing) * (expected != 0).sum()


wrong(
    "the decoder should say what it reads",
    """At each position your decoder reads the very word that it is asked for. What is each of the
    two results of exercise 1 for?""",
    pair=of_the_same,
)


wrong(
    "nothing need be cut",
    """The decoder reads the whole target, and at each position the very word that it is asked for.
    What was exercise 1 for?""",
    pair=whole,
)


wrong(
    "the decoder reads what comes and says what was",
    """Which of the two results of exercise 1 does the decoder read, and which one does the loss
    get?""",
    pair=swapped,
)


wrong(
    "the decoder reads the target first",
    "Which language does the model read first, and which second? Look at the hint once more.",
    logits=lambda model, src, tgt: model(tgt, src),
)


wrong(
    "backward moves the weights",
    """Your loss is right, but no weight has moved. Who moves them, and what do the gradients hold
    at that moment?""",
    update=lambda *_: None,
)


wrong(
    "two steps are better than one",
    "Your weights have moved too far. How often does the optimizer step?",
    update=lambda model, optimizer: [optimizer.step(), optimizer.step()],
)


@wrong(
    "the weights move along the gradient, whatever the optimizer is",
    "Right for plain gradient descent. Who knows how a gradient becomes a change of weights?",
    rule="update",
)
@torch.no_grad
def against_the_optimizer(model, optimizer):
    for parameter in model.parameters():
        parameter -= optimizer.param_groups[0]["lr"] * parameter.grad


@right
def by_hand(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
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


@right
def by_parts(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
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


@right
def by_closure(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
    """All of it inside of a closure, which the optimizer calls; clears gradients to zeros, and
    predicts all positions at once.
    """
    model.train()

    def closure():
        optimizer.zero_grad(set_to_none=False)
        logits = model(src, tgt)[:, :-1]
        loss = label_smoothed_loss(logits, tgt[:, 1:], 0, smoothing)
        loss.backward()
        nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], max_norm, norm_type=2)
        return loss

    return optimizer.step(closure).item()
