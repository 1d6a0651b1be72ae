"""The stacks of chapter 7: encoder layers of which a part can be taken away, what arrives at each
of them, and a short training.

Everything starts as the theory of deep stacks assumes: matrices drawn by Glorot's rule, biases 0.
Seeds decide everything else.
"""

import math

import numpy as np
import torch
from torch import nn

from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch07_layers import EncoderLayer, LayerNorm

D_MODEL, NUM_HEADS, D_FF = 32, 4, 64
# Name -> norm, residual.
KINDS = {
    "neither": (None, False),
    "residuals alone": (None, True),
    "norms alone": ("post", False),
    "norms first, alone": ("pre", False),
    "post-norm": ("post", True),
    "pre-norm": ("pre", True),
}
CLASSES = 10  # of the random labels that the gradients are measured with
LETTERS, WORD_LEN = 6, 5  # of the words that are learned backwards


class PartialLayer(EncoderLayer):
    """An encoder layer that may lack its norms or its residual connections.

    Args:
        norm: "post", "pre", or None for a layer without norms.
        residual: whether x is added to what each part makes of it.
    """

    def __init__(self, norm, residual):
        super().__init__(D_MODEL, NUM_HEADS, D_FF, norm_first=norm == "pre")
        self.norm, self.residual = norm, residual

    def forward(self, x):
        """Pass x: (batch, seq_len, d_model) through the parts that there are."""

        def attend(x):
            return self.self_attention(x, x, x, need_weights=False)[0]

        for part, norm in ((attend, self.norm_1), (self.feed_forward, self.norm_2)):
            found = part(norm(x) if self.norm == "pre" else x)
            x = x + found if self.residual else found
            x = norm(x) if self.norm == "post" else x
        return x


def stack(depth, norm, residual):
    """Make layers that start by Glorot's rule, with biases of 0.

    Returns:
        nn.ModuleList of `depth` PartialLayers.
    """
    layers = nn.ModuleList([PartialLayer(norm, residual) for _ in range(depth)])
    for parameter_name, parameter in layers.named_parameters():
        if parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter)
        elif parameter_name.endswith("bias"):
            nn.init.zeros_(parameter)
    return layers


def pass_through(layers, x):
    """Return x after each layer."""
    seen = []
    for layer in layers:
        x = layer(x)
        seen.append(x)
    return seen


def at_the_start(depth, norm, residual, seed, batch=4, seq_len=16):
    """Measure a new stack, before any training.

    Random vectors go in; a random linear layer guesses random labels from what comes out (after one
    more norm in pre-norm, as is usual).

    Returns:
        gradients: (depth,) list, the norm of the gradient of each layer's matrices, all of them
            together.
        likeness: (depth,) list, the mean cosine between the vectors of two positions after each
            layer.
    """
    torch.manual_seed(seed)
    layers = stack(depth, norm, residual).double()
    x = torch.randn(batch, seq_len, D_MODEL, dtype=torch.float64)
    readout = torch.randn(D_MODEL, CLASSES, dtype=torch.float64) / math.sqrt(D_MODEL)
    labels = torch.randint(CLASSES, (batch * seq_len,))
    seen = pass_through(layers, x)
    last = LayerNorm(D_MODEL).double()(seen[-1]) if norm == "pre" else seen[-1]
    nn.functional.cross_entropy((last @ readout).flatten(0, 1), labels).backward()
    return [gradient_norm(layer) for layer in layers], [likeness(each.detach()) for each in seen]


def measure(depths, seeds):
    """Measure new stacks of every kind and depth.

    Returns:
        dict from a name in KINDS to a dict from a depth to a (2, seeds, depth) array: gradients and
        likeness, layer by layer.
    """
    return {
        name: {
            depth: np.stack([at_the_start(depth, norm, residual, seed) for seed in seeds], axis=1)
            for depth in depths
        }
        for name, (norm, residual) in KINDS.items()
    }


def for_the_explorer(measured):
    """Return what was measured as the explorer `depth` reads it, with three digits a number.

    Returns:
        dict from norm and residual to a dict from a depth to `gradients`: lowest, middle and
            highest seed, and `likeness`: middle.
    """

    def short(numbers):
        return [float(f"{number:.3g}") for number in numbers]

    return {
        f"{norm or 'none'}{' residual' if residual else ''}": {
            depth: {
                "gradients": [short(f(gradients, axis=0)) for f in (np.min, np.median, np.max)],
                "likeness": short(np.median(likeness, axis=0)),
            }
            for depth, (gradients, likeness) in measured[name].items()
        }
        for name, (norm, residual) in KINDS.items()
    }


def gradient_norm(layer):
    """Return the root of the sum of squares over the gradients of a layer's matrices."""
    return math.sqrt(sum(p.grad.square().sum().item() for p in layer.parameters() if p.ndim > 1))


def likeness(x):
    """Return the mean cosine between the vectors of two different positions; 1 where all positions
    hold the same.

    Args:
        x: (batch, seq_len, d_model).
    """
    directions = nn.functional.normalize(x, dim=-1)
    cosines = directions @ directions.mT  # (batch, seq_len, seq_len)
    seq_len = x.shape[1]
    return ((cosines.sum((-2, -1)) - seq_len) / (seq_len * (seq_len - 1))).mean().item()


def train_backwards(norm, residual, seed, depth=12, steps=250, rate=3e-3, warmup=1, batch=16):
    """Train a stack to write words of random letters backwards.

    Args:
        warmup: the number of steps in which the learning rate rises to `rate`, in equal parts.

    Returns:
        (steps,) list of losses.
    """
    torch.manual_seed(seed)
    embedding, generator = nn.Embedding(LETTERS, D_MODEL), nn.Linear(D_MODEL, LETTERS)
    last = LayerNorm(D_MODEL) if norm == "pre" else nn.Identity()
    layers = stack(depth, norm, residual)
    model = nn.ModuleList([embedding, layers, last, generator])
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / warmup)
    )
    positions = torch.tensor(sinusoidal_encoding(WORD_LEN, D_MODEL), dtype=torch.float32)
    losses = []
    for _ in range(steps):
        letters = torch.randint(LETTERS, (batch, WORD_LEN))
        logits = generator(last(pass_through(layers, embedding(letters) + positions)[-1]))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), letters.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def loss_of_letters_without_places():
    """Return the best mean loss of one who knows which letters a word has, and how often, but not
    where they stand.
    """
    total = 0.0
    for counts, ways in letter_counts(WORD_LEN, LETTERS):
        entropy = -sum(n / WORD_LEN * math.log(n / WORD_LEN) for n in counts if n)
        total += ways / LETTERS**WORD_LEN * entropy
    return total


def letter_counts(length, letters):
    """Yield how often each letter may stand in a word, and how many words there are like that."""
    if letters == 1:
        yield (length,), 1
        return
    for first in range(length + 1):
        for others, ways in letter_counts(length - first, letters - 1):
            yield (first, *others), ways * math.comb(length, first)
