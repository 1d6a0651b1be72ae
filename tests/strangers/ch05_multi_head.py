"""Multi-head attention as others write it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.strangers import keeps


class Attention(nn.Module):
    """As most code has it; the methods are what people differ in."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.h, self.d_k = num_heads, d_model // num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def scores(self, q, k):
        return torch.matmul(q, k.transpose(-2, -1)) / self.d_k**0.5

    def hidden(self, scores, mask):
        return scores.masked_fill(mask == 0, float("-inf"))

    def dropped(self, weights):
        return weights

    def returned(self, weights):
        return weights

    def forward(self, query, key, value, mask=None):
        batch = query.size(0)
        q, k, v = (
            layer(x).view(batch, -1, self.h, self.d_k).transpose(1, 2)
            for layer, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        scores = self.scores(q, k)
        if mask is not None:
            scores = self.hidden(scores, mask)
        weights = self.dropped(F.softmax(scores, dim=-1))
        x = torch.matmul(weights, v).transpose(1, 2).contiguous()
        return self.w_o(x.view(batch, -1, self.h * self.d_k)), self.returned(weights)


def attention(**methods):
    return type("MultiHeadAttention", (Attention,), methods)


def by_a_tensor(self, q, k):
    return q @ k.transpose(-2, -1) / torch.sqrt(torch.FloatTensor([self.d_k]))


keeps(0.85, "its scale is a float32 tensor", most=0.99)(attention(scores=by_a_tensor))
keeps(0.5, "its weights are averaged over the heads", most=0.7)(
    attention(returned=lambda self, weights: weights.mean(dim=1))
)
keeps(0.5, "it returns None instead of the weights", most=0.7)(
    attention(returned=lambda self, weights: None)
)
keeps(0.75, "its weights are dropped in train mode", most=0.95)(
    attention(dropped=lambda self, weights: F.dropout(weights, 0.1, self.training))
)
keeps(0.0, "its weights are always dropped: `F.dropout` without `training`", most=0.25)(
    attention(dropped=lambda self, weights: F.dropout(weights, 0.1))
)
for low in (-1e4, -1e9):
    keeps(0.8, f"masked scores are {low:g}", most=0.98 if low == -1e4 else 1.0)(
        attention(hidden=lambda self, scores, mask, low=low: scores.masked_fill(mask == 0, low))
    )


def with_bias_of_nobody(self, d_model, num_heads):
    Attention.__init__(self, d_model, num_heads)
    for layer in (self.w_q, self.w_k, self.w_v):
        layer.bias = None


keeps(0.0, "three of its layers have no bias", most=0.3)(attention(__init__=with_bias_of_nobody))
