"""Masks, and attention under them, as others write them."""

import math

import numpy as np
import torch
from torch.nn import functional

from tests.strangers import keeps


@keeps(0.9, "its mask is of integers", most=0.99, of="padding_mask")
def of_integers(token_ids, pad_id=0):
    return (token_ids != pad_id).int().unsqueeze(1).unsqueeze(2)


@keeps(0.9, "its mask is of floats", most=0.99, of="padding_mask")
def of_floats(token_ids, pad_id=0):
    return (token_ids != pad_id).float()[:, None, None]


@keeps(0.0, "no axis for the heads, so that batches meet heads", most=0.25, of="padding_mask")
def without_an_axis_for_heads(token_ids, pad_id=0):
    return (token_ids != pad_id).unsqueeze(-2)


@keeps(0.9, "two axes, which broadcast to the right mask", most=0.99, of="causal_mask")
def of_two_axes(seq_len, device=None):
    return torch.tril(torch.ones(seq_len, seq_len, device=device)).bool()


@keeps(0.9, "a matrix of floats", most=0.99, of="causal_mask")
def a_matrix_of_floats(seq_len, device=None):
    return torch.tril(torch.ones((seq_len, seq_len), device=device))


@keeps(0.65, "a NumPy triangle that stays on the CPU", most=0.9, of="causal_mask")
def from_numpy(seq_len, device=None):
    above = np.triu(np.ones((1, seq_len, seq_len)), k=1).astype("uint8")
    return torch.from_numpy(above) == 0


@keeps(0.9, "ones and zeros", most=0.99, of="decoder_mask")
def of_ones_and_zeros(token_ids, pad_id=0):
    words = (token_ids != pad_id)[:, None, None, :].int()
    square = torch.ones(token_ids.size(1), token_ids.size(1), device=token_ids.device)
    return words * torch.tril(square).int()


@keeps(0.65, "its triangle stays on the CPU", most=0.95, of="decoder_mask")
def on_the_cpu(token_ids, pad_id=0):
    seq_len = token_ids.size(1)
    past = (1 - torch.triu(torch.ones(1, seq_len, seq_len), diagonal=1)).bool()
    return (token_ids != pad_id).unsqueeze(1).unsqueeze(3).mT & past


def scores_of(query, key):
    return torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))


@keeps(0.5, "the usual -1e9", most=0.75, of="masked_attention")
def by_a_billion(query, key, value, mask=None):
    scores = scores_of(query, key)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = functional.softmax(scores, dim=-1)
    return weights @ value, weights


@keeps(0.5, "the usual -inf: rows without a permission are nan", most=0.75, of="masked_attention")
def by_infinity(query, key, value, mask=None):
    scores = scores_of(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return torch.matmul(weights, value), weights


@keeps(
    1,
    "-inf, and nan swept away after the softmax, whose fill stops the gradient",
    of="masked_attention",
)
def swept(query, key, value, mask=None):
    scores = scores_of(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.nan_to_num(scores.softmax(dim=-1))
    return weights @ value, weights


@keeps(0.9, "it scales by a float32 tensor", of="masked_attention")
def scaled_by_a_tensor(query, key, value, mask=None):
    scale = torch.sqrt(torch.FloatTensor([query.shape[-1]]))
    scores = query @ key.transpose(-2, -1) / scale
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0)
    return weights.to(value.dtype) @ value, weights


@keeps(0.9, "in float16 the lowest number has no room below it", most=0.99)
def masked_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * torch.finfo(scores.dtype).min
    weights = torch.softmax(scores, -1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights
