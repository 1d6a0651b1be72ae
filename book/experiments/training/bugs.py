"""What can be wrong with a translator and its training: models, decoders and changed lines, to be
planted in the loop of chapter 9 by `planted_bugs`.
"""

import copy
import math
from dataclasses import dataclass, field
from functools import partial

import torch

from book.experiments import leaky_transformer
from book.experiments.training import training_loop
from solutions.ch06_masking import decoder_mask
from solutions.ch08_encoder_decoder import Transformer, extend_until_eos

NONE = "none"


class WithoutSourceMask(Transformer):
    """Attends to the source's padding, in the encoder and from the decoder."""

    def encode(self, src):
        """See `Transformer.encode`."""
        x = self.embed(src, self.src_embedding)
        for layer in self.encoder:
            x = layer(x)
        return self.encoder_norm(x)

    def decode(self, tgt, memory, src):
        """See `Transformer.decode`."""
        return super().decode(tgt, memory, torch.ones_like(src))


class ReadingItself(Transformer):
    """Its cross-attention reads the decoder's own states, where the memory belongs."""

    def decode(self, tgt, memory, src):
        """See `Transformer.decode`."""
        x, mask = self.embed(tgt, self.tgt_embedding), decoder_mask(tgt, self.pad_id)
        for layer in self.decoder:
            x = layer(x, x, mask, mask)
        return self.decoder_norm(x)


class Unscaled(Transformer):
    """Its attentions do not divide the scores by sqrt(head_dim)."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        for name, module in self.named_modules():
            if name.endswith("w_q"):
                module.register_forward_hook(self.multiplied)

    def multiplied(self, module, arguments, query):
        """Undo the division before it happens."""
        heads = self.encoder[0].self_attention.num_heads
        return query * math.sqrt(self.d_model // heads)


class Tied(Transformer):
    """Its generator shares the target's embedding."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.generator.weight = self.tgt_embedding.weight


def translate_in_train_mode(page, model, src):
    """Decode greedily with dropout on."""
    model.train()
    with torch.no_grad():
        return extend_until_eos(model, src, 16, 1, 2)


def translate_by_the_last_word(page, model, src):
    """Decode greedily; the decoder gets the last word alone, always as if it were the first."""

    class Forgetful:
        encode, generator = model.encode, model.generator

        def decode(self, tgt, memory, src):
            return model.decode(tgt[:, -1:], memory, src)

    model.eval()
    with torch.no_grad():
        return extend_until_eos(Forgetful(), src, 16, 1, 2)


def translate_rightly(page, model, src):
    """Decode greedily, as the page does."""
    return page["greedy_decode"](model, src, max_len=16)


@dataclass(frozen=True)
class Bug:
    """What is planted.

    Args:
        edits, names: see `training_loop.loop_with`.
        model: arguments of the page's `new_model`.
        decode: called with the page's names, the model and `src`: (batch, src_len); returns ids.
    """

    edits: tuple = ()
    names: dict = field(default_factory=dict)
    model: dict = field(default_factory=dict)
    decode: callable = translate_rightly


LOGITS = "logits = model(src, decoder_input)"
ZERO_GRAD = "        optimizer.zero_grad()\n"
NO_CLIPPING = "(model.parameters(), 1.0)", "(model.parameters(), math.inf)"
LARGE = ("std=64**-0.5", "std=1.0")
BUGS = {
    NONE: Bug(),
    "the decoder sees later words": Bug(model={"kind": leaky_transformer.Transformer}),
    "padding of the source is not masked": Bug(model={"kind": WithoutSourceMask}),
    "cross-attention reads the decoder": Bug(model={"kind": ReadingItself}),
    "scores are not divided by √d_k": Bug(model={"kind": Unscaled}),
    "embeddings start at PyTorch's size": Bug(edits=(LARGE,)),
    "the same, and tied to the generator": Bug(edits=(LARGE,), model={"kind": Tied}),
    "softmax before the loss": Bug(edits=((LOGITS, f"{LOGITS}.softmax(dim=-1)"),)),
    "the answer is not shifted": Bug(
        names={"teacher_forcing_pair": lambda ids: (ids[:, :-1], ids[:, :-1])}
    ),
    "the loss counts padding": Bug(
        names={
            "label_smoothed_loss": partial(
                training_loop.label_smoothed_loss,
                pad_id=-1,
            )
        }
    ),
    "sources belong to other targets": Bug(
        edits=(
            ("        model.train()\n", "        src = src.roll(1, 0)\n        model.train()\n"),
        )
    ),
    "no zero_grad": Bug(edits=((ZERO_GRAD, ""),)),
    "no zero_grad, no clipping": Bug(edits=((ZERO_GRAD, ""), NO_CLIPPING)),
    "the optimizer holds a copy": Bug(
        edits=(("AdamW(model.parameters()", "AdamW(copied(model).parameters()"),),
        names={"copied": copy.deepcopy},
    ),
    "the rate is ten times as high": Bug(edits=(("highest=1e-2", "highest=1e-1"),)),
    "dropout stays on in translating": Bug(model={"dropout": 0.1}, decode=translate_in_train_mode),
    "the decoder gets the last word alone": Bug(decode=translate_by_the_last_word),
}
