"""Encoders and decoders as others write them."""

import math

import torch
from torch import nn

from solutions import ch08_encoder_decoder as reference
from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch07_layers import FeedForward, LayerNorm
from solutions.ch08_encoder_decoder import sinusoidal_positions
from tests.strangers import keeps


@keeps(0.9, "its positions are float32, which is the helper's default", most=0.99)
class Transformer(reference.Transformer):
    def embed(self, token_ids, embedding):
        x = embedding(token_ids) * math.sqrt(self.d_model)
        positions = sinusoidal_positions(token_ids.shape[1], self.d_model, device=x.device)
        return self.dropout(x + positions)


def with_a_table(self, *arguments, **options):
    reference.Transformer.__init__(self, *arguments, **options)
    self.register_buffer("table", sinusoidal_positions(5_000, self.d_model), persistent=False)


def from_a_table(self, token_ids, embedding):
    x = embedding(token_ids) * math.sqrt(self.d_model)
    return self.dropout(x + self.table[: token_ids.shape[1]])


keeps(0.9, "its positions are a buffer of 5,000 float32 rows", most=0.99)(
    type(
        "Transformer",
        (reference.Transformer,),
        {"__init__": with_a_table, "embed": from_a_table},
    )
)


class Layer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm_1, self.norm_2, self.norm_3 = (LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)


@keeps(0.7, "it knows post-norm alone", most=0.85)
class DecoderLayer(Layer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, self_mask)[0]))
        across, _ = self.cross_attention(x, memory, memory, memory_mask)
        x = self.norm_2(x + self.dropout(across))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))


@keeps(0.15, "it knows pre-norm alone", most=0.5)
class DecoderLayer(Layer):  # noqa: F811
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        normed = self.norm_1(x)
        x = x + self.dropout(self.self_attention(normed, normed, normed, self_mask)[0])
        normed = self.norm_2(x)
        x = x + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])
        return x + self.dropout(self.feed_forward(self.norm_3(x)))


@keeps(0.5, "it decodes one sentence, in the mode that it finds", most=0.7)
def greedy_decode(model, src, max_len=64, bos_id=1, eos_id=2):
    memory = model.encode(src)
    ys = torch.ones(1, 1, dtype=torch.long) * bos_id
    for _ in range(max_len - 1):
        out = model.decode(ys, memory, src)
        next_word = model.generator(out[:, -1]).argmax(dim=-1).item()
        ys = torch.cat([ys, torch.full((1, 1), next_word)], dim=1)
        if next_word == eos_id:
            break
    return ys


@keeps(0.55, "it decodes one sentence, in eval mode", most=0.75)
@torch.no_grad()
def greedy_decode(model, src, max_len=64, bos_id=1, eos_id=2):  # noqa: F811
    model.eval()
    memory = model.encode(src)
    ys = torch.tensor([[bos_id]])
    for _ in range(max_len - 1):
        scores = model.generator(model.decode(ys, memory, src))[:, -1]
        _, next_word = torch.max(scores, dim=1)
        ys = torch.cat([ys, next_word[:1, None]], dim=1)
        if next_word[0].item() == eos_id:
            break
    return ys


@keeps(0.5, "ended rows go on, until all have ended", most=0.8)
@torch.no_grad()
def greedy_decode(model, src, max_len=64, bos_id=1, eos_id=2):  # noqa: F811
    model.eval()
    memory = model.encode(src)
    ys = torch.full((src.size(0), 1), bos_id)
    done = torch.zeros(src.size(0), dtype=torch.bool)
    while ys.size(1) < max_len and not done.all():
        next_word = model.generator(model.decode(ys, memory, src)[:, -1]).argmax(-1)
        ys = torch.cat([ys, next_word.unsqueeze(1)], dim=1)
        done |= next_word == eos_id
    return ys
