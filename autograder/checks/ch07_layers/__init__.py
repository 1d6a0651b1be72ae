"""Checks of `ch07_layers`.

The contract leaves open, and so nothing here asks: how a LayerNorm computes its variance where the
mean is so large that float32 runs out of digits, which extra attributes a module has, and how often
dropout draws. Where dropout acts is asked with weights that let only a few numbers through: then
the smallest and the largest result of 400 calls are certain, though no single round is.
"""

from torch import nn
from torch.nn import functional as F


def post_norm(x, part, norm, drop):
    return norm(x + drop(part(x)))


def pre_norm(x, part, norm, drop):
    return x + drop(part(norm(x)))


def pre_norm_without_stream(x, part, norm, drop):
    return pre_norm(norm(x), part, lambda normalised: normalised, drop)


WITHOUT_RESIDUAL = {
    "post": lambda x, part, norm, drop: norm(drop(part(x))),
    "pre": lambda x, part, norm, drop: drop(part(norm(x))),
}
DROPPING_THE_SUM = {
    "post": lambda x, part, norm, drop: norm(drop(x + part(x))),
    "pre": lambda x, part, norm, drop: drop(x + part(norm(x))),
}


class AlwaysDropping(nn.Dropout):
    def forward(self, x):
        return F.dropout(x, self.p, training=True)
