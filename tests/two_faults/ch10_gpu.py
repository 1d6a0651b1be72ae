"""Counts, losses, steps and averages, each with two faults."""

import torch
from torch import nn

from solutions.ch09_training import label_smoothed_loss
from tests.two_faults import collector

PAIRS, HELD_OUT = [], []
two_faults, held_out = collector(PAIRS), collector(HELD_OUT)


@two_faults(
    "parameter_count",
    "a shared parameter counts in each of its places",
    "frozen parameters count like others",
)
def everything_by_name(model):
    return sum(each.numel() for _, each in model.named_parameters(remove_duplicate=False))


@two_faults(
    "parameter_count",
    "everything that a model stores is a parameter",
    "frozen parameters count like others",
)
def the_whole_state(model):
    parameters = sum(each.numel() for each in model.parameters())
    return parameters + sum(each.numel() for each in model.buffers())


@two_faults("training_bytes", "a number takes four bytes", "every optimizer keeps two moments")
def sixteen_each(model, moments=2):
    trained = sum(each.numel() for each in model.parameters() if each.requires_grad)
    frozen = sum(each.numel() for each in model.parameters() if not each.requires_grad)
    return 16 * trained + 4 * frozen


@two_faults(
    "training_bytes",
    "gradients are gone after the step",
    "a shared parameter is there as often as it is used",
)
def weights_and_moments_by_name(model, moments=2):
    return sum(
        each.nbytes * (1 + moments * each.requires_grad)
        for _, each in model.named_parameters(remove_duplicate=False)
    )


@two_faults("utilization", "a training goes forward alone", "a share is a percentage")
def forward_in_percent(words_per_second, num_parameters, peak_flops):
    return 100 * 2 * num_parameters * words_per_second / peak_flops


@two_faults(
    "utilization",
    "a multiplication and its addition are one operation",
    "a share is at most 1",
)
def three_and_capped(words_per_second, num_parameters, peak_flops):
    return min(1.0, 3 * num_parameters * words_per_second / peak_flops)


@two_faults(
    "autocast_loss",
    "sixteen bits are always bfloat16",
    "the loss may be computed in 16 bits, too",
)
def all_in_bfloat16(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    with torch.autocast(src.device.type, dtype=torch.bfloat16):
        logits = model(src, tgt[:, :-1])
    return label_smoothed_loss(logits, tgt[:, 1:], smoothing=smoothing)


@two_faults("autocast_loss", "a loss is computed in train mode", "smoothing is always 0.1")
def trained_with_a_tenth(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    model.train()
    with torch.autocast(src.device.type, dtype=dtype):
        logits = model(src, tgt[:, :-1])
    return label_smoothed_loss(logits.float(), tgt[:, 1:])


def step_in_parts(
    model, optimizer, parts, smoothing, max_norm, count, train=True, clear=True, means=False
):
    counts = [count(tgt) for _, tgt in parts]
    if not any((tgt[:, 1:] != 0).any() for _, tgt in parts):
        return 0.0
    if train:
        model.train()
    if clear:
        optimizer.zero_grad()
    losses = []
    for (src, tgt), size in zip(parts, counts, strict=True):
        if (tgt[:, 1:] != 0).any():
            loss = label_smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:], smoothing=smoothing)
            (loss * size / sum(counts)).backward()
            losses.append((loss.item(), size))
    if max_norm:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    if means:
        return sum(loss for loss, _ in losses) / len(losses)
    return sum(loss * size for loss, size in losses) / sum(counts)


def real_words(tgt):
    return int((tgt[:, 1:] != 0).sum())


@two_faults(
    "accumulated_step",
    "a sentence is a unit",
    "the gradients of the last step are gone by themselves",
)
def sentences_on_old_gradients(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    return step_in_parts(model, optimizer, parts, smoothing, max_norm, len, clear=False)


@two_faults("accumulated_step", "the caller sets the mode", "gradients may have any length")
def any_mode_unclipped(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    return step_in_parts(model, optimizer, parts, smoothing, None, real_words, train=False)


@two_faults("accumulated_step", "the loss is the mean of the means", "max_norm is 1")
def mean_of_means_and_one(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    return step_in_parts(model, optimizer, parts, smoothing, 1.0, real_words, means=True)


@two_faults("average_gradients", "every worker counts the same", "an average over no words is 0")
def plain_mean_of_some(gradients, words):
    some = gradients[words > 0]
    return some.mean(0) if len(some) else torch.zeros_like(gradients[0])


@two_faults("average_gradients", "0 times anything is 0", "an average over no words is 0")
def weighted_sum_of_all(gradients, words):
    wide = torch.promote_types(gradients.dtype, torch.float32)
    shares = (words.to(wide) / words.sum().clamp(min=1)).to(gradients.dtype)
    return torch.tensordot(shares, gradients, dims=1)


@held_out("parameter_count", "bytes are numbers", "a shared parameter counts in each of its places")
def bytes_by_name(model):
    return sum(
        each.numel() * each.element_size()
        for _, each in model.named_parameters(remove_duplicate=False)
        if each.requires_grad
    )


@held_out("training_bytes", "the optimizer keeps nothing", "a number takes four bytes")
def four_bytes_without_moments(model, moments=2):
    return sum(4 * each.numel() * (1 + each.requires_grad) for each in model.parameters())


@held_out("utilization", "a training goes backward alone", "the peak is divided by what was done")
def inverse_of_backward(words_per_second, num_parameters, peak_flops):
    return peak_flops / (4 * num_parameters * words_per_second)


@held_out("autocast_loss", "no graph is needed", "padding counts as a target")
def without_graph_over_padding(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    with torch.no_grad(), torch.autocast(src.device.type, dtype=dtype):
        logits = model(src, tgt[:, :-1])
    return label_smoothed_loss(logits.float(), tgt[:, 1:], pad_id=-1, smoothing=smoothing)


@held_out("accumulated_step", "each part counts the same", "gradients may have any length")
def equal_parts_unclipped(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    return step_in_parts(
        model, optimizer, parts, smoothing, None, lambda tgt: int((tgt[:, 1:] != 0).any())
    )


@held_out("accumulated_step", "the caller sets the mode", "smoothing is always 0.1")
def any_mode_and_a_tenth(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    return step_in_parts(model, optimizer, parts, 0.1, max_norm, real_words, train=False)


@held_out("average_gradients", "the gradients are added up", "0 times anything is 0")
def plain_sum(gradients, words):
    if not words.any():
        raise ValueError("no word")
    return (
        ((words > 0).to(gradients.dtype) @ gradients.flatten(1)).view(gradients.shape[1:])
        if (gradients.ndim > 1)
        else ((words > 0) * gradients).sum()
    )
