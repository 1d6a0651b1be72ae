"""Whether a training fits into memory, by arithmetic: what it keeps all the time, and what the
forward pass of a batch leaves for the backward pass.

What a batch takes is counted tensor by tensor, and lies within 15 % of measured peaks: on a CPU, in
one process and in two that share the weights, and on an H100 where it is more than 0.3 GB
(`book/measured/gpu.json`). A GPU needs less: it takes one byte for each number that dropout may set
to 0, where a CPU takes two or four, and its attention keeps what it needs in 16 bits.
"""

import functools
from dataclasses import replace

import torch

from solutions.ch10_gpu import training_bytes
from solutions.translator.loss import ROWS, ROWS_ON_A_GPU
from solutions.translator.model import Translator
from solutions.translator.settings.precision import DTYPES

LEFT_FREE = 0.1  # part of a device: for its libraries, and for gaps between tensors
WORKSPACE = 10**8  # bytes that a GPU's libraries of products take for themselves for a moment
FEWEST, MOST = 2**9, 2**20  # tokens of a batch that are tried


def largest_batch(shape, vocab_size, settings, memory, devices=1, kind="cpu"):
    """Return the most tokens, a power of two, of a batch with which a training fits, or 0.

    Args:
        memory: bytes of each device; a tenth stays free.
        shape, vocab_size, settings, devices, kind: as for `needed`.
    """
    best, tokens = 0, FEWEST
    while tokens <= MOST:
        tried = replace(settings, tokens=tokens)
        if needed(shape, vocab_size, tried, devices, kind) > (1 - LEFT_FREE) * memory:
            break
        best, tokens = tokens, 2 * tokens
    return best


def needed(shape, vocab_size, settings, devices=1, kind="cpu"):
    """Return the bytes that a training of the course's own model takes on each device at its peak.

    Args:
        shape: Shape.
        vocab_size: of either side.
        settings: Settings, whose precision is not "auto".
        devices: how many share a batch and, where `sharded` is on, the weights.
        kind: of a device, "cpu" or "cuda".
    """
    words = -(-settings.tokens // (settings.accumulate * devices))  # rounded up
    if settings.sharded:
        fixed = kept_all_the_time(shape, vocab_size, devices)
    else:  # where there are several, each has the gradients twice: its own, and all devices' mean
        fixed = kept_all_the_time(shape, vocab_size) * (5 if devices > 1 else 4) // 4
    taken = activations(shape, vocab_size, settings, words, kind)
    # a shape that is new warms up beside the memory that earlier recordings keep
    return fixed + taken * (2 if settings.recorded else 1)


@functools.cache
def kept_all_the_time(shape, vocab_size, parts=1):
    """Return the bytes of weights, gradients and Adam's moments on each device.

    Args:
        parts: into which they are divided. Where there are several, a device needs all weights and
            all gradients, too, while it computes a batch.
    """
    with torch.device("meta"):  # where a tensor has a shape and no numbers
        model = Translator(vocab_size, vocab_size, **shape.__dict__)
    for_a_batch = training_bytes(model, moments=0) if parts > 1 else 0
    return training_bytes(model) // parts + for_a_batch


def activations(shape, vocab_size, settings, words, kind="cpu"):
    """Return the bytes that are in use at the peak of a step, beyond those kept all the time.

    Args:
        words: of each side, in a micro-batch.
        kind: of a device, "cpu" or "cuda".
    """
    d_model, dropping, on_gpu = shape.d_model, shape.dropout > 0, kind == "cuda"
    size = DTYPES[settings.precision].itemsize  # of a number in a product
    counts = shape.num_encoder_layers, shape.num_decoder_layers
    layers = [kept_by_layer(shape, size, words, attentions, kind) for attentions in (1, 2)]
    kept = sum(count * layer for count, layer in zip(counts, layers, strict=True))
    at_the_loss = again = 0
    if settings.recomputed:  # what enters each layer is kept, and one layer at a time is whole
        kept = 4 * words * d_model * sum(counts)
        again = max(layer for count, layer in zip((*counts, 1), (*layers, 0), strict=True) if count)
        if size == 2:  # autocast's copies of the weights, until the loss is there
            at_the_loss = sum(
                count * 2 * (2 * shape.d_ff * d_model + products * d_model**2)
                for count, products in zip(counts, (1, 3), strict=True)
            )
    # the inputs of the last norms, and what dropout leaves of the embeddings
    kept += words * d_model * (8 + (2 if on_gpu else 8) * dropping)
    # the words' features three times and their gradient, their scores, two tables of the generator
    at_the_loss += 16 * words * d_model + 8 * vocab_size * d_model
    rows = ROWS_ON_A_GPU if on_gpu else ROWS
    scores = 4 if size == 4 else 2 + 4 + (0 if on_gpu else 4)  # bytes of a score, also as float32
    at_the_loss += min(words, rows) * vocab_size * scores + WORKSPACE * on_gpu
    in_the_backward_pass = again + words * (shape.d_ff * size * (2 - dropping) + 8 * d_model)
    return kept + max(at_the_loss, in_the_backward_pass)


def kept_by_layer(shape, size, words, attentions, kind="cpu"):
    """Return the bytes that a layer's forward pass leaves for its backward pass.

    Args:
        size: of a number in a product, in bytes.
        words: of each side.
        attentions: 1 in an encoder layer, 2 in a decoder layer.
        kind: of a device, "cpu" or "cuda".
    """
    d_model, d_ff, dropping, on_gpu = shape.d_model, shape.d_ff, shape.dropout > 0, kind == "cuda"
    norms, copied = attentions + 1, 2 * (size == 2)  # bytes of a copy in 16 bits, where one is made
    mask = 1 if on_gpu else size  # bytes for each number that dropout may set to 0
    # a CPU attends in float32, and what it finds is copied
    inside = 4 * size if on_gpu else 4 * 4 + copied
    each = (4 + size) * norms  # what enters a norm, and what leaves it for a product
    each += inside * attentions  # queries, keys, values, and what they find
    each += copied * (attentions - 1)  # of the memory
    each += mask * norms * dropping  # which numbers each sublayer's dropout leaves
    inner = size + (mask + size) * dropping  # what leaves relu, which are left, what is left
    position = each * d_model + inner * d_ff + 4 * attentions * shape.num_heads
    joined = 4 * (3 if attentions == 1 else 5) * d_model**2  # projections made one matrix
    halved = 2 * (2 * d_ff * d_model + 4 * attentions * d_model**2)  # weights in 16 bits
    return words * position + (halved if size == 2 else joined)
