"""Norms, networks and encoder layers, each with two faults."""

import torch
from torch import nn
from torch.nn import functional as F

from solutions.ch07_layers import EncoderLayer, FeedForward, LayerNorm
from tests.two_faults import collector

PAIRS, HELD_OUT = [], []
two_faults, held_out = collector(PAIRS), collector(HELD_OUT)


@two_faults("LayerNorm", "eps is added to the standard deviation", "torch.var divides by d_model")
class OutsideTheRootUnbiased(LayerNorm):
    def forward(self, x):
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.weight * (x - mean) / (std + self.eps) + self.bias


@two_faults("LayerNorm", "no eps is needed", "torch.var divides by d_model")
class WithoutEpsUnbiased(LayerNorm):
    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) * self.weight + self.bias


@two_faults("LayerNorm", "one divides by the variance", "only the gain is used")
class ByTheVarianceWithoutBias(LayerNorm):
    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) / (variance + self.eps) * self.weight


@two_faults(
    "LayerNorm",
    "all positions of a sentence share a mean",
    "eps is added to the standard deviation",
)
class OverTwoAxesOutsideTheRoot(LayerNorm):
    def forward(self, x):
        axes = (-2, -1) if x.ndim > 1 else -1
        variance, mean = torch.var_mean(x, dim=axes, correction=0, keepdim=True)
        return (x - mean) / (variance.sqrt() + self.eps) * self.weight + self.bias


@two_faults("LayerNorm", "gain and bias are constants", "torch.var divides by d_model")
class WithBuffersUnbiased(LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        nn.Module.__init__(self)
        self.eps = eps
        self.register_buffer("weight", torch.ones(d_model))
        self.register_buffer("bias", torch.zeros(d_model))

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, keepdim=True)
        return (x - mean) / (variance + self.eps).sqrt() * self.weight + self.bias


@two_faults("FeedForward", "two linear layers are enough", "dropout comes at the end")
class LinearDroppedAtTheEnd(FeedForward):
    def forward(self, x):
        return self.dropout(self.linear_2(self.linear_1(x)))


@two_faults(
    "FeedForward", "any activation will do", "the residual connection belongs to the network"
)
class GeluWithResidual(FeedForward):
    def forward(self, x):
        return x + self.linear_2(self.dropout(F.gelu(self.linear_1(x))))


@two_faults("FeedForward", "there is a ReLU after each layer", "dropout can be forgotten")
class TwoRelusWithoutDropout(FeedForward):
    def forward(self, x):
        return self.linear_2(self.linear_1(x).relu()).relu()


@two_faults("EncoderLayer", "there is only post-norm", "attention finds the mask by itself")
class PostNormWithoutMask(EncoderLayer):
    def forward(self, x, mask=None):
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x)[0]))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


@two_faults("EncoderLayer", "one norm serves both parts", "True in a mask means hidden")
class OneNormAndAMaskTurned(EncoderLayer):
    def forward(self, x, mask=None):
        mask = None if mask is None else ~mask

        def attend(x):
            return self.dropout(self.self_attention(x, x, x, mask)[0])

        def think(x):
            return self.dropout(self.feed_forward(x))

        if self.norm_first:
            x = x + attend(self.norm_1(x))
            return x + think(self.norm_1(x))
        x = self.norm_1(x + attend(x))
        return self.norm_1(x + think(x))


@two_faults("EncoderLayer", "only the query is normalised", "only attention needs a residual")
class QueryNormalisedOneResidual(EncoderLayer):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.dropout(self.self_attention(self.norm_1(x), x, x, mask)[0])
            return self.dropout(self.feed_forward(self.norm_2(x)))
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm_2(self.dropout(self.feed_forward(x)))


@held_out("LayerNorm", "the statistics run over the positions", "torch.var divides by d_model")
class OverPositionsUnbiased(LayerNorm):
    def forward(self, x):
        dim = -2 if x.dim() > 1 else -1
        mean = x.mean(dim, keepdim=True)
        var = x.var(dim, keepdim=True)
        return (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias


@held_out("LayerNorm", "only the gain is used", "no eps is needed")
class GainAloneWithoutEps(LayerNorm):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = ((x - mean) ** 2).mean(-1, keepdim=True) ** 0.5
        return self.weight * ((x - mean) / std)


@held_out("FeedForward", "dropout can be forgotten", "the biases can be left out")
class WithoutBiasesOrDropout(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff, bias=False)
        self.linear_2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.linear_2(torch.relu(self.linear_1(x)))


@held_out("FeedForward", "any activation will do", "dropout comes at the end")
class GeluDroppedAtTheEnd(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.linear_2(F.gelu(self.linear_1(x))))


@held_out("EncoderLayer", "the feed-forward network comes first", "there is only post-norm")
class ThinksFirstPostNorm(EncoderLayer):
    def forward(self, x, mask=None):
        x = self.norm_2(x + self.dropout(self.feed_forward(x)))
        attended, _ = self.self_attention(x, x, x, mask)
        return self.norm_1(x + self.dropout(attended))


@held_out("EncoderLayer", "only attention needs a residual", "True in a mask means hidden")
class OneResidualMaskTurned(EncoderLayer):
    def forward(self, x, mask=None):
        if mask is not None:
            mask = ~mask
        if self.norm_first:
            y = self.norm_1(x)
            x = x + self.dropout(self.self_attention(y, y, y, mask)[0])
            return self.dropout(self.feed_forward(self.norm_2(x)))
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm_2(self.dropout(self.feed_forward(x)))


@held_out("EncoderLayer", "dropout comes after the sum", "there is only post-norm")
class SumsDroppedPostNorm(EncoderLayer):
    def forward(self, x, mask=None):
        x = self.norm_1(self.dropout(x + self.self_attention(x, x, x, mask)[0]))
        return self.norm_2(self.dropout(x + self.feed_forward(x)))
