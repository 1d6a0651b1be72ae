"""What a step of training costs, by arithmetic: FLOPs and bytes.

The arithmetic is that of the Transformer of chapter 8 without dropout, whose attention never holds
its table of weights. It counts what the forward pass leaves for the backward pass, tensor by
tensor.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# Bytes that a layer keeps for the backward pass, per position: for each feature of d_model in an
# encoder layer, in a decoder layer, and of the memory in a decoder layer; for each feature of d_ff.
# In float32 an encoder layer keeps 12 tensors: the inputs of its two sublayers, query, key, value
# and output of the attention, and three for each norm. Under autocast those of the norms stay in
# float32, and the input of each product is kept as a copy in 16 bits: three copies for query, key
# and value.
KEPT = {"float32": (12 * 4, 18 * 4, 2 * 4, 4), "bfloat16": (40, 58, 8, 2)}
LOGITS_HELD = 3  # float32 tables of logits that the loss and its backward pass hold at once


@dataclass(frozen=True)
class Run:
    """The sizes of a model and of its batches; `seq_len` is that of sources and of targets."""

    d_model: int
    layers: int
    d_ff: int
    vocab_size: int
    batch: int
    seq_len: int
    heads: int = 4

    @property
    def words(self):
        """Positions in a batch, on each side."""
        return self.batch * self.seq_len


def activation_bytes(run, precision="float32"):
    """Count the bytes that are in use when the backward pass begins, beyond those that training
    keeps all the time.

    Args:
        run: a Run.
        precision: "float32", or "bfloat16" for autocast.
    """
    encoder, decoder, memory, inner = KEPT[precision]
    layers = run.layers * ((encoder + decoder + memory) * run.d_model + 2 * inner * run.d_ff)
    copies = 2 * sum(product_parameters(run)) if precision == "bfloat16" else 0
    return run.words * (layers + 4 * LOGITS_HELD * run.vocab_size) + copies


def product_parameters(run):
    """Count the parameters that a word of the source, and one of the target, is multiplied with.

    Returns:
        (source, target): the first includes the keys and values that the decoder makes of it.
    """
    square, inner = run.d_model**2, 2 * run.d_model * run.d_ff
    source = run.layers * (4 * square + inner + 2 * square)
    target = run.layers * (4 * square + inner + 2 * square) + run.d_model * run.vocab_size
    return source, target


def step_flops(run):
    """Count the FLOPs of a training step: products with parameters, and the two
    products of each attention.
    """
    attention = 3 * run.layers * 4 * run.words * run.seq_len * run.d_model
    return 6 * run.words * sum(product_parameters(run)) + 3 * attention


def product_intensity(words, width=512, size=2):
    """Return the FLOPs per byte of words times a square weight matrix, each number moved once.

    Args:
        size: bytes of a number.
    """
    return 2 * words * width**2 / (size * (width**2 + 2 * words * width))
