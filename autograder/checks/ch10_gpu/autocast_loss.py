"""A training loss whose products are computed in 16 bits."""

import copy

import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.checks import Checks
from autograder.authoring.draw import padded, weights
from autograder.authoring.drawn import drawn
from autograder.checks.ch09_training.teacher_forcing_pair import targets
from autograder.checks.ch09_training.train_step import SIZES
from autograder.checks.ch10_gpu import declare_losses_of_another_question
from autograder.shared.probes import (
    precision_afterwards,
    returned_by_autocast,
    trained_by_autocast,
    with_stand_ins,
)
from solutions.ch09_training import label_smoothed_loss, teacher_forcing_pair
from solutions.ch10_gpu import autocast_loss

BFLOAT16, FLOAT16 = ({"stand_in": "dtype", "name": name} for name in ("bfloat16", "float16"))
CLEAR = 1e-3  # of a loss: by this much it depends on which numbers are rounded, and how
OUT_OF_RANGE = 99


def computed_with(
    pair=teacher_forcing_pair,
    logits=lambda model, src, decoder_input: model(src, decoder_input),
    device=lambda src: src.device.type,
    context=torch.autocast,
    widen=torch.Tensor.float,
    loss=label_smoothed_loss,
):
    """Make a loss under autocast from its rules."""

    def compute(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
        decoder_input, expected = pair(tgt)
        with context(device(src), dtype=dtype):
            found = logits(model, src, decoder_input)
        return loss(widen(found), expected, smoothing=smoothing)

    return compute


def no_context(device, dtype):
    return torch.autocast(device, dtype=dtype, enabled=False)


def loss_in_16_bits(logits, expected, smoothing):
    return label_smoothed_loss(logits, expected, smoothing=smoothing)


@drawn
def loss_case(rng, lengths=(2, 3), dropout=0.0, train=True, **arguments):
    """Make the inputs of a case: a small model in float32, and a batch, drawn until its loss shows
    what was rounded.

    Args:
        lengths: words of each target; the sources have as many, in the opposite order.
        dropout, train: of the model.
        arguments: `smoothing` and `dtype`, both or none.
    """
    while True:
        drawn = {name: 4 * each for name, each in weights(rng, SIZES).items()}
        model = {"stand_in": "translator", "weights": drawn, "dropout": dropout, "train": train}
        inputs = {
            "model": model,
            "src": padded(rng, lengths[::-1], max(lengths), 7),
            "tgt": targets(rng, lengths, 6),
            **arguments,
        }
        if dropout or is_clear(inputs):
            return inputs


def is_clear(inputs):
    """Return whether the loss differs from what it would be without autocast, in the other dtype,
    and from what 16 bits would make of the loss itself.
    """
    given = list(with_stand_ins(inputs).values())
    dtype = given[4] if len(given) > 4 else torch.bfloat16
    other = torch.float16 if dtype == torch.bfloat16 else torch.bfloat16
    with torch.no_grad():
        right = float(autocast_loss(*given))
        others = [
            float(computed_with(context=no_context)(*given)),
            float(autocast_loss(*[*given, 0.1][:4], other)),
            float(computed_with(widen=lambda logits: logits, loss=loss_in_16_bits)(*given)),
        ]
    # in float16 both are finer
    return all(
        abs(each - right) > CLEAR * right / (4 if dtype == torch.float16 else 1) for each in others
    )


@drawn
def raising_case(rng, **arguments):
    """A target with a word that the model does not know, so that the model raises an exception."""
    case = loss_case(rng, (2, 1), **arguments)
    tgt = case["tgt"].clone()
    tgt[0, 1] = OUT_OF_RANGE
    return {**case, "tgt": tgt}


checks = Checks(autocast_loss, family=computed_with, probe=returned_by_autocast)
shown, hidden, wrong, right = checks.words

shown("the products are rounded to bfloat16, the loss is not", loss_case(), weight=6)
shown("float16", loss_case((3, 2), smoothing=0.1, dtype=FLOAT16), weight=3)
shown("more smoothing", loss_case((1, 3), smoothing=0.3, dtype=BFLOAT16))
shown("a model in eval mode stays in it", loss_case((2, 1), train=False))
shown(
    "gradients reach the float32 parameters", loss_case((2, 3)), probe=trained_by_autocast, weight=4
)
shown("autocast is as it was", loss_case((2, 2)), probe=precision_afterwards)
shown("autocast is as it was after an exception", raising_case(), probe=precision_afterwards)
hidden("a larger batch", loss_case((4, 1, 3), smoothing=0.2, dtype=BFLOAT16), weight=6)
hidden("float16, a larger batch", loss_case((1, 4, 2), smoothing=0.1, dtype=FLOAT16), weight=3)
hidden("without smoothing", loss_case((3, 2), smoothing=0.0, dtype=BFLOAT16))
hidden("dropout is on in train mode", loss_case((2, 2), dropout=1.0))
hidden("dropout is off in eval mode", loss_case((1, 3), train=False))
hidden(
    "gradients by float16",
    loss_case((1, 3), smoothing=0.1, dtype=FLOAT16),
    probe=trained_by_autocast,
    weight=4,
)
hidden(
    "autocast to float16 is as it was",
    loss_case((2, 2), smoothing=0.1, dtype=FLOAT16),
    probe=precision_afterwards,
)
hidden(
    "float16 is as it was after an exception",
    raising_case(smoothing=0.1, dtype=FLOAT16),
    probe=precision_afterwards,
)


wrong(
    "autocast belongs to a GPU",
    """Your loss is that of float32. Is autocast on while the model runs, and is it on for the kind
    of device that `src` is on?""",
    device=lambda src: "cuda",
)


wrong(
    "sixteen bits are always bfloat16",
    "Right for the default. What has become of the argument `dtype`?",
    dtype=torch.bfloat16,
)


wrong(
    "sixteen bits are always float16",
    "Your products have too many digits for bfloat16. What has become of the argument `dtype`?",
    dtype=torch.float16,
)


wrong(
    "the loss may be computed in 16 bits, too",
    """Print the dtype of the logits, and of your loss. In which of the two is a sum over the whole
    vocabulary computed?""",
    widen=lambda logits: logits,
)


@wrong(
    "it is enough if the loss ends in float32",
    """Your result has the right dtype, but the digits that it lost on the way do not come back. At
    which point do the numbers become float32?""",
    rule="loss",
)
def widened_at_the_end(logits, expected, smoothing):
    return label_smoothed_loss(logits.bfloat16(), expected, smoothing=smoothing).float()


@wrong(
    "the model is converted to 16 bits",
    """Look at the dtype of the model's parameters after your call. Who converts them for each
    product, if you leave them alone?""",
    around=True,
)
def of_a_converted_model(right, model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    return right(model.to(dtype), src, tgt, smoothing, dtype)


@wrong(
    "a model in 16 bits needs no autocast",
    """Your model is in 16 bits, but not all that it computes with. Look at the dtype of its
    parameters after your call: who converts them for each product, if you leave them alone?""",
    around=True,
)
def of_a_converted_model_alone(right, model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    decoder_input, expected = teacher_forcing_pair(tgt)
    logits = model.to(dtype)(src, decoder_input)
    return label_smoothed_loss(logits.float(), expected, smoothing=smoothing)


@wrong(
    "a copy of the model does the work",
    """The gradients of your loss do not reach the model that you were given. Which model do they
    reach?""",
    around=True,
)
def of_a_copy(right, model, *others):
    return right(copy.deepcopy(model), *others)


@wrong(
    "only the result of the products is rounded",
    """You round the logits. But a matrix unit that works in 16 bits needs its inputs in 16 bits,
    too. Who rounds them before each product?""",
    around=True,
)
def of_rounded_logits(right, model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    decoder_input, expected = teacher_forcing_pair(tgt)
    logits = model(src, decoder_input).to(dtype).float()
    return label_smoothed_loss(logits, expected, smoothing=smoothing)


@wrong(
    "no graph is needed",
    "Your loss is right, but nobody can call `backward()` on it. Where was its graph lost?",
    rule="logits",
)
def without_graph(model, src, decoder_input):
    with torch.no_grad():
        return model(src, decoder_input)


@wrong(
    "autocast is switched on and off by hand",
    """Check whether autocast is on before your call and after it. What if your caller had it on
    already, or if the model raises an exception?""",
    around=True,
)
def switched_by_hand(right, model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    decoder_input, expected = teacher_forcing_pair(tgt)
    torch.set_autocast_dtype("cpu", dtype)
    torch.set_autocast_enabled("cpu", True)
    logits = model(src, decoder_input)
    torch.set_autocast_enabled("cpu", False)
    return label_smoothed_loss(logits.float(), expected, smoothing=smoothing)


@wrong(
    "the model never raises an exception",
    """Your code restores autocast at its end. Does it get there if the model raises an
    exception?""",
    around=True,
)
def put_back_at_the_end(right, model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    before = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    decoder_input, expected = teacher_forcing_pair(tgt)
    torch.set_autocast_dtype("cpu", dtype)
    torch.set_autocast_enabled("cpu", True)
    logits = model(src, decoder_input)
    torch.set_autocast_enabled("cpu", before[0])
    torch.set_autocast_dtype("cpu", before[1])
    torch.clear_autocast_cache()
    return label_smoothed_loss(logits.float(), expected, smoothing=smoothing)


@wrong(
    "autocast may stay on",
    "Check whether autocast is on after your call. Who should have switched it off?",
    around=True,
)
def left_on(right, *arguments):
    loss = right(*arguments)
    torch.set_autocast_enabled("cpu", True)
    return loss


@wrong(
    "an exception is best caught",
    """When the model raises an exception, your function goes on as if nothing had happened. Who
    should hear of it?""",
    around=True,
)
def swallowing(right, model, src, *others):
    try:
        return right(model, src, *others)
    except IndexError:
        return torch.zeros((), requires_grad=True)


@wrong(
    "a loss is computed in train mode",
    """Compare the model's mode before and after your call. Whose business is it in this
    exercise?""",
    rule="logits",
)
def in_train_mode(model, src, decoder_input):
    return model.train()(src, decoder_input)


@wrong(
    "a loss is computed in eval mode",
    """Compare the model's mode before and after your call. Whose business is it in this
    exercise?""",
    rule="logits",
)
def in_eval_mode(model, src, decoder_input):
    return model.eval()(src, decoder_input)


declare_losses_of_another_question(wrong)


wrong(
    "the decoder reads the target first",
    "Which language does the model read first, and which second?",
    logits=lambda model, src, decoder_input: model(decoder_input, src),
)


@right
def by_parts_of_the_model(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    """The model's parts one by one, and a loss of PyTorch's."""
    with torch.amp.autocast(device_type=src.device.type, dtype=dtype):
        memory = model.encode(src)
        logits = model.generator(model.decode(tgt[:, :-1], memory, src))
    return functional.cross_entropy(
        logits.transpose(1, 2).to(torch.float32),
        tgt[:, 1:],
        ignore_index=0,
        label_smoothing=smoothing,
    )


@right
def by_switching_it_off_inside(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    """All of it inside of autocast, which is switched off again for the loss."""
    decoder_input, expected = teacher_forcing_pair(tgt)
    kind = src.device.type
    with torch.autocast(kind, dtype=dtype):
        logits = model(src, decoder_input)
        with torch.autocast(kind, enabled=False):
            words = (expected != 0).float()
            log_probs = logits.float().log_softmax(-1)
            target = log_probs.gather(-1, expected.unsqueeze(-1))[..., 0]
            losses = -(1 - smoothing) * target - smoothing * log_probs.mean(-1)
            return (losses * words).sum() / words.sum()


@right
def by_decorating(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    """Autocast as a decorator, and logits of all positions, of which the last is dropped."""
    run = torch.autocast(src.device.type, dtype=dtype)(model.__call__)
    logits = run(src, tgt)[:, :-1]
    wide = torch.empty(logits.shape, dtype=torch.float32).copy_(logits)
    return label_smoothed_loss(wide, tgt[:, 1:], 0, smoothing)


@right
def by_hand_with_finally(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    kind = src.device.type
    was_on, was_dtype = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
    try:
        torch.set_autocast_enabled(kind, True)
        torch.set_autocast_dtype(kind, dtype)
        logits = nn.Module.__call__(model, src, tgt[:, :-1])
    finally:
        torch.set_autocast_enabled(kind, was_on)
        torch.set_autocast_dtype(kind, was_dtype)
        torch.clear_autocast_cache()
    return label_smoothed_loss(logits.float(), tgt[:, 1:], smoothing=smoothing)
