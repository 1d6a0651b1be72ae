"""Three ways to train a Transformer of one size: ours, `torch.nn.Transformer`, and the textbook's
of chapter 8.
"""

import math

import torch
from torch import nn
from torch.nn import functional

from solutions.ch08_encoder_decoder import Transformer, sinusoidal_positions
from solutions.ch09_training import label_smoothed_loss, teacher_forcing_pair
from solutions.translator.data.shares import places_with_words
from solutions.translator.data.tokenizer import BOS, PAD
from solutions.translator.model import Translator
from solutions.translator.recorded import Recorded
from solutions.translator.settings.precision import float32_products_in, products_in

VOCAB, D_MODEL, HEADS, LAYERS, D_FF, DROPOUT = 8000, 256, 4, 3, 1024, 0.1
BATCH, LENGTH = 64, 32
SIZE = {
    "d_model": D_MODEL,
    "num_heads": HEADS,
    "num_encoder_layers": LAYERS,
    "num_decoder_layers": LAYERS,
    "d_ff": D_FF,
    "dropout": DROPOUT,
}


class Stock(nn.Module):
    """What one writes around `torch.nn.Transformer`: embeddings, positions, masks and the scores of
    all positions.
    """

    def __init__(self):
        super().__init__()
        self.src_embedding, self.tgt_embedding = (
            nn.Embedding(VOCAB, D_MODEL),
            nn.Embedding(VOCAB, D_MODEL),
        )
        self.transformer = nn.Transformer(
            D_MODEL, HEADS, LAYERS, LAYERS, D_FF, DROPOUT, batch_first=True
        )
        self.generator, self.dropout = nn.Linear(D_MODEL, VOCAB), nn.Dropout(DROPOUT)

    def embed(self, ids, embedding):
        x = embedding(ids) * math.sqrt(D_MODEL)
        return self.dropout(x + sinusoidal_positions(ids.shape[1], D_MODEL, x.dtype, x.device))

    def forward(self, src, tgt):
        """Score every word at every position: (batch, tgt_len, vocab_size)."""
        mask = nn.Transformer.generate_square_subsequent_mask(
            tgt.shape[1], device=tgt.device
        ).isinf()
        padding = {
            "src_key_padding_mask": src == PAD,
            "memory_key_padding_mask": src == PAD,
            "tgt_key_padding_mask": tgt == PAD,
        }
        x = self.transformer(
            self.embed(src, self.src_embedding),
            self.embed(tgt, self.tgt_embedding),
            tgt_mask=mask,
            tgt_is_causal=True,  # else it looks at the mask, for which a GPU has to wait
            **padding,
        )
        return self.generator(x)


def ours_loss(model, src, target, words):
    tgt, expected = teacher_forcing_pair(target)
    total = model.loss_of(model.features(src, tgt), expected, 0.1, words)
    return total / (expected != PAD).sum()


def stock_loss(model, src, target, words):
    tgt, expected = teacher_forcing_pair(target)
    logits = model(src, tgt).flatten(0, 1)
    return functional.cross_entropy(
        logits, expected.flatten(), ignore_index=PAD, label_smoothing=0.1
    )


def textbook_loss(model, src, target, words):
    tgt, expected = teacher_forcing_pair(target)
    return label_smoothed_loss(model(src, tgt), expected, PAD, 0.1)


# how each model is made, and its loss
MAKERS = {
    "ours": (lambda: Translator(VOCAB, VOCAB, **SIZE), ours_loss),
    "nn.Transformer": (Stock, stock_loss),
    "textbook": (lambda: Transformer(VOCAB, VOCAB, **SIZE), textbook_loss),
}


class Runner:
    """One way to train: a model, its loss, its optimiser, its precision.

    Args:
        name: a key of `MAKERS`.
        precision: a key of `settings.precision.DTYPES` but "float16", which would need a scaler.
        device: torch.device.
        compiled: the mode in which torch.compile makes code for it, such as "default"; None for no
            code.
        recorded: whether a GPU replays its forward and backward pass; for batches of one shape.
    """

    def __init__(self, name, precision, device, compiled=None, recorded=False):
        make, self.loss = MAKERS[name]
        torch.manual_seed(0)
        self.model = make().to(device).train()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True
        )
        self.precision, self.device = precision, device
        if compiled and name == "ours":  # as the training does
            features = self.model.features
            self.model.features = torch.compile(features, dynamic=False, mode=compiled)
        elif compiled:
            self.loss = torch.compile(self.loss, dynamic=False, mode=compiled)
        self.recorded, self.passes = recorded, self.forward_and_backward
        if recorded:
            self.passes = Recorded(self.forward_and_backward, self.clear_gradients)

    def step(self, src, target, words):
        """Make one update.

        Args:
            words: the places where there is a word to predict, as `batch` returns them.
        """
        self.clear_gradients()
        with float32_products_in(self.precision, self.device):
            loss = self.passes(src, target, words)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss

    def forward_and_backward(self, src, target, words):
        with products_in(self.precision, self.device):
            loss = self.loss(self.model, src, target, words)
        loss.backward()
        return loss.detach()

    def clear_gradients(self):
        self.optimizer.zero_grad(set_to_none=not self.recorded)


def batch(fill, device, seed=0, sentences=None):
    """Return a batch of random words: sources, targets, and the places in the targets where there
    is a word to predict, which a loader knows before a device is asked.

    Args:
        fill: the part of it that is words; the rest is padding.
        sentences: of the batch; without it, `BATCH`.
    """
    rng, count = torch.Generator().manual_seed(seed), sentences or BATCH
    src = torch.randint(4, VOCAB, (count, LENGTH), generator=rng)
    target = torch.randint(4, VOCAB, (count, LENGTH + 1), generator=rng)
    target[:, 0] = BOS
    if fill < 1:
        lengths = torch.linspace(2 * fill - 1, 1, count).mul(LENGTH).round().long().clamp(min=1)
        src[torch.arange(LENGTH) >= lengths[:, None]] = PAD
        target[torch.arange(LENGTH + 1) >= lengths[:, None] + 1] = PAD
    words = places_with_words(target[:, 1:].flatten())
    return src.to(device), target.to(device), words.to(device)
