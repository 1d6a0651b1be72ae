"""The Transformer of chapter 8 once more, made fast: the same parameters under the same names, the
same numbers, less work.

What makes it fast, each of it measured by `make bench`:

- the three projections of a self-attention are one matrix product, and so are the two of a
  cross-attention's memory;
- attention is PyTorch's fused kernel, which never holds the weights; the decoder's mask is "causal"
  and nothing else, because padding comes after the words, where the causal mask hides it anyway;
- the vocabulary is scored only where there is a word to predict, not where there is padding, and a
  few positions at a time (`solutions.translator.loss`);
- dropout draws eight numbers at once (on a CPU);
- decoding keeps the keys and values of what has been written (`start`, `advance`), so that a
  further word costs one position.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from solutions.ch08_encoder_decoder import Transformer, sinusoidal_positions
from solutions.translator.data.shares import places_with_words
from solutions.translator.loss import projected_loss


class Translator(Transformer):
    """The contract's Transformer, fast. Arguments, parameters and results are those of
    `solutions.ch08_encoder_decoder.Transformer`.

    Args:
        tied: True gives the generator the target's embedding as its weight; "all" shares it with
            the source's embedding, too, which needs one vocabulary for both languages.

    Attributes:
        recomputed: whether the backward pass computes each layer again instead of keeping what the
            forward pass computed (Chen et al. 2016).
    """

    def __init__(self, src_vocab_size, tgt_vocab_size, *arguments, tied=False, **named):
        super().__init__(src_vocab_size, tgt_vocab_size, *arguments, **named)
        if tied == "all" and src_vocab_size != tgt_vocab_size:
            raise ValueError(
                f"one embedding cannot serve vocabularies of {src_vocab_size} and {tgt_vocab_size}"
                " words"
            )
        self.initialise()
        if tied:
            self.generator.weight = self.tgt_embedding.weight
        if tied == "all":
            self.src_embedding.weight = self.tgt_embedding.weight
        self.rate = self.dropout.p
        self.recomputed = False

    def initialise(self):
        """Draw the weights so that every layer keeps the size of what it is given (Glorot and
        Bengio 2010).
        """
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1 and "embedding" not in name:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith(("w_q.bias", "w_k.bias", "w_v.bias", "w_o.bias", "generator.bias")):
                nn.init.zeros_(parameter)
        for embedding in (self.src_embedding, self.tgt_embedding):
            nn.init.normal_(embedding.weight, std=self.d_model**-0.5)

    # --- the whole sentence at once, for training ---

    def encode(self, src):
        """Read the source: see `Transformer.encode`."""
        mask = self.memory_mask(src)
        x = self.embed(src, self.src_embedding)
        for layer in self.encoder:
            x = self.remembered(self.encoder_layer, x, layer, mask)
        return normalised(self.encoder_norm, x) if self.norm_first else x

    def encoder_layer(self, x, layer, mask):
        """Pass every position through one layer of the encoder."""
        x = self.residual(x, layer.norm_1, self_attend, layer.self_attention, mask)
        return self.residual(x, layer.norm_2, self.feed_forward, layer.feed_forward)

    def decode(self, tgt, memory, src):
        """Read the target so far, beside the memory: see `Transformer.decode`. In `tgt`, padding
        comes after the words, never before.
        """
        mask = self.memory_mask(src)
        x = self.embed(tgt, self.tgt_embedding)
        for layer in self.decoder:
            x = self.remembered(self.decoder_layer, x, layer, memory, mask)
        return normalised(self.decoder_norm, x) if self.norm_first else x

    def decoder_layer(self, x, layer, memory, mask):
        """Pass every position through one layer of the decoder."""
        x = self.residual(x, layer.norm_1, self_attend, layer.self_attention, None, True)
        x = self.residual(x, layer.norm_2, cross_attend, layer.cross_attention, memory, mask)
        return self.residual(x, layer.norm_3, self.feed_forward, layer.feed_forward)

    def remembered(self, function, *arguments):
        """Return what a layer makes of its input, and keep for the backward pass all of what it
        computes on the way, or its input alone.
        """
        if self.recomputed and self.training and torch.is_grad_enabled():
            return checkpoint(function, *arguments, use_reentrant=False)
        return function(*arguments)

    def features(self, src, tgt):
        """Return what the generator scores: (batch, tgt_len, d_model)."""
        return self.decode(tgt, self.encode(src), src)

    def loss(self, src, tgt, expected, smoothing=0.0):
        """Return the sum of the label-smoothed losses of all words that are to be predicted.

        Args:
            src: (batch, src_len) int64.
            tgt, expected: (batch, tgt_len) int64, as `teacher_forcing_pair` gives them.

        Returns:
            a scalar float32; divide it by the number of words.
        """
        return self.loss_of(self.features(src, tgt), expected, smoothing)

    def loss_of(self, features, expected, smoothing=0.0, words=None):
        """Return the sum of the losses, as `loss` does.

        Args:
            features: (batch, tgt_len, d_model).
            words: (some,) int64: the places in the flattened `expected` that count, others among
                them that have `pad_id`. Without it they are looked for, which makes a GPU wait.
        """
        hidden, expected = features.flatten(0, 1), expected.flatten()
        if words is None:
            words = places_with_words(expected)
        return projected_loss(
            hidden[words], self.generator, expected[words], self.pad_id, smoothing
        )

    def residual(self, x, norm, sublayer, *arguments):
        """Add `sublayer(x, *arguments)` to `x`, normalised before or after."""
        if self.norm_first:
            return x + self.drop(sublayer(normalised(norm, x), *arguments))
        return normalised(norm, x + self.drop(sublayer(x, *arguments)))

    def feed_forward(self, x, layer):
        """Pass every position through the feed-forward network."""
        return layer.linear_2(self.drop(functional.relu(layer.linear_1(x))))

    def embed(self, token_ids, embedding, since=0):
        """Look the words up, and add where they stand, beginning at position `since`."""
        x = embedding(token_ids) * math.sqrt(self.d_model)  # (batch, seq_len, d_model)
        positions = sinusoidal_positions(
            since + token_ids.shape[1], self.d_model, x.dtype, x.device
        )[since:]
        return self.drop(x + positions)

    def drop(self, x):
        """Set numbers to 0 with the model's dropout rate, in train mode."""
        return dropped(x, self.rate) if self.training and self.rate else x

    def memory_mask(self, src):
        """Return which words of the source are words, or None where all are."""
        mask = (src != self.pad_id)[:, None, None]  # (batch, 1, 1, src_len)
        # a GPU, or a compiler, would have to wait for the answer
        may_look = src.device.type == "cpu" and not torch.compiler.is_compiling()
        return None if may_look and bool(mask.all()) else mask

    # --- one word after the other, for translating ---

    def start(self, src, max_len):
        """Read the source, and make room for what will be written.

        Args:
            src: (batch, src_len) int64.
            max_len: the most ids that a target will have.

        Returns:
            Cache, for `advance`.
        """
        memory, mask = self.encode(src), self.memory_mask(src)
        rows, heads = (
            src.shape[0],
            self.decoder[0].self_attention.num_heads if len(self.decoder) else 1,
        )
        room = (rows, heads, max_len, self.d_model // heads)
        layers = []
        for layer in self.decoder:
            keys, values = projected(memory, layer.cross_attention, "w_k", "w_v")
            written = [memory.new_empty(room), memory.new_empty(room)]
            layers.append((written, (heads_of(keys, heads), heads_of(values, heads))))
        return Cache(layers, mask)

    def advance(self, ids, cache):
        """Say which word comes next, given the last one written.

        Args:
            ids: (batch,) int64: the last word of each row.
            cache: as `start` made it; it takes up what is new.

        Returns:
            logits: (batch, tgt_vocab_size).
        """
        x = self.embed(ids[:, None], self.tgt_embedding, since=cache.length)
        for layer, (written, memory) in zip(self.decoder, cache.layers, strict=True):
            x = self.residual(
                x, layer.norm_1, attend_to_written, layer.self_attention, written, cache.length
            )
            x = self.residual(
                x, layer.norm_2, attend_to, layer.cross_attention, *memory, cache.mask
            )
            x = self.residual(x, layer.norm_3, self.feed_forward, layer.feed_forward)
        cache.length += 1
        return self.generator((normalised(self.decoder_norm, x) if self.norm_first else x)[:, -1])


@dataclass
class Cache:
    """What decoding need not compute again.

    Args:
        layers: for each decoder layer ([keys, values] of what was written, (keys, values) of the
            memory).
        mask: which words of the sources are words; None where all are.
        length: ids written so far.
    """

    layers: list
    mask: torch.Tensor | None
    length: int = 0

    def choose(self, rows):
        """Keep these rows, in this order; one may be taken several times.

        Args:
            rows: (new_batch,) int64.
        """
        self.layers = [
            (
                [each.index_select(0, rows) for each in written],
                tuple(each.index_select(0, rows) for each in memory),
            )
            for written, memory in self.layers
        ]
        self.mask = None if self.mask is None else self.mask.index_select(0, rows)

    def choose_written(self, rows):
        """Do the same where each row has the source that it had: only what was written moves."""
        for written, _ in self.layers:
            written[:] = [self.moved(each, rows) for each in written]

    def moved(self, each, rows):
        room = torch.empty_like(each)
        room[:, :, : self.length] = each[:, :, : self.length].index_select(0, rows)
        return room


def self_attend(x, attention, mask=None, causal=False):
    """Let every position attend to all others, or to those before it: one product for queries, keys
    and values.
    """
    query, key, value = (
        heads_of(each, attention.num_heads) for each in projected(x, attention, "w_q", "w_k", "w_v")
    )
    return attention.w_o(merged(attend(query, key, value, mask, causal)))


def cross_attend(x, attention, memory, mask):
    """Let every position attend to the memory."""
    key, value = (
        heads_of(each, attention.num_heads) for each in projected(memory, attention, "w_k", "w_v")
    )
    return attend_to(x, attention, key, value, mask)


def attend_to_written(x, attention, written, length):
    """Let one new position attend to what was written and to itself, and note its key and value."""
    query, key, value = (
        heads_of(each, attention.num_heads) for each in projected(x, attention, "w_q", "w_k", "w_v")
    )
    keys, values = written
    keys[:, :, length : length + 1], values[:, :, length : length + 1] = key, value
    return attention.w_o(
        merged(attend(query, keys[:, :, : length + 1], values[:, :, : length + 1]))
    )


def attend_to(x, attention, key, value, mask):
    """Let positions attend to keys and values that are there already."""
    query = heads_of(attention.w_q(x), attention.num_heads)
    return attention.w_o(merged(attend(query, key, value, mask)))


def attend(query, key, value, mask=None, causal=False):
    """Attend with PyTorch's fused kernel; on a CPU in float32, because its backward pass in
    bfloat16 is slow where sentences are short.
    """
    if query.device.type == "cpu" and query.dtype == torch.bfloat16:
        with torch.autocast("cpu", enabled=False):
            wide = (each.float() for each in (query, key, value))
            return functional.scaled_dot_product_attention(
                *wide, attn_mask=mask, is_causal=causal
            ).to(query.dtype)
    return functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=causal
    )


def projected(x, attention, *names):
    """Apply several of an attention's projections to the same input with one matrix product."""
    layers = [getattr(attention, name) for name in names]
    weight = torch.cat([layer.weight for layer in layers])  # (d_model * len(names), d_model)
    bias = torch.cat([layer.bias for layer in layers])
    return functional.linear(x, weight, bias).chunk(len(names), dim=-1)


def heads_of(x, num_heads):
    """(batch, seq_len, d_model) -> (batch, heads, seq_len, head_dim)."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merged(x):
    """(batch, heads, seq_len, head_dim) -> (batch, seq_len, d_model)."""
    return x.transpose(1, 2).flatten(2)


def normalised(norm, x):
    """Apply a LayerNorm of chapter 7 with PyTorch's own kernel."""
    return functional.layer_norm(
        x, x.shape[-1:], norm.weight.to(x.dtype), norm.bias.to(x.dtype), norm.eps
    )


def dropped(x, rate):
    """Set numbers to 0 with a probability, and make the others larger by as much.

    On a CPU one draw of 64 bits serves eight numbers; the rate is then a multiple of 1/256, such as
    26/256 for 0.1, and the scale goes with it.
    """
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return functional.dropout(x, rate)
    never = round(256 * rate)
    draws = (
        torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
        .random_(-(2**63), None)
        .view(torch.uint8)
    )
    kept = (draws[: x.numel()] >= never).view(x.shape)
    return x * kept.to(x.dtype).mul_(256 / (256 - never))
