"""Encoder layers as others write them."""

import torch
from torch import nn

from solutions import ch07_layers as reference
from solutions.ch05_multi_head import MultiHeadAttention
from tests.strangers import keeps


class Layer(nn.Module):
    """An encoder layer as a sublayer around each part."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = reference.FeedForward(d_model, d_ff, dropout)
        self.norm_1 = reference.LayerNorm(d_model)
        self.norm_2 = reference.LayerNorm(d_model)
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)


@keeps(0.7, "it knows post-norm alone", most=0.85)
class EncoderLayer(Layer):
    def forward(self, x, mask=None):
        attention, _ = self.self_attention(x, x, x, mask)
        x = self.norm_1(x + self.dropout1(attention))
        return self.norm_2(x + self.dropout2(self.feed_forward(x)))


@keeps(0.15, "it knows pre-norm alone", most=0.5)
class EncoderLayer(Layer):  # noqa: F811
    def forward(self, x, mask=None):
        normed = self.norm_1(x)
        x = x + self.dropout1(self.self_attention(normed, normed, normed, mask)[0])
        return x + self.dropout2(self.feed_forward(self.norm_2(x)))


@keeps(0.6, "it knows post-norm alone, and drops nothing of the parts", most=0.8)
class EncoderLayer(Layer):  # noqa: F811
    def forward(self, x, mask=None):
        x = self.norm_1(x + self.self_attention(x, x, x, mask)[0])
        return self.norm_2(x + self.feed_forward(x))


@keeps(0.9, "the variance of large equal numbers comes out below zero", most=0.99)
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = (x * x).mean(-1, keepdim=True) - mean * mean
        return self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias
