"""Attention in tiles, with a cache, in groups and in windows, as others write it.

Collected before the checks were written, from public repositories, threads and problem sets; each
is put in our own words here, and keeps the mistake, or the choice, that it was collected for:

- rwtarpit/assignment2-systems, cs336_systems/flash_attention/autograd.py: scores divided by the
  width and not by its root; ezhoureal/assignment2-systems, cs336_systems/flash_attention.py: an
  argument `is_causal` that nothing reads.
- A class `FlashAttention(query, key, value, M, N, K, P, ChunkN)` in a public gist: the number of
  blocks is `N // ChunkN`, and the running maximum begins at 0.
- crackedaicode.com, "flash-attention-score-computation", and prof.lexailabs.com,
  "flashattention-tiled-forward": both are content with a plain softmax over all scores.
- tile-wise kernels that mask with -10,000 or the lowest number: ohdearquant/lattice #373,
  NVIDIA/TensorRT-LLM #17477, llmmanorg/llmman #235.
- merging of two empty sets gives nan: flashinfer-ai/flashinfer #4051, vllm-project/vllm #39148.
- aclnnRingAttentionUpdate's documentation: the second set's sum is missing from the new one.
- causal masks aligned at the start: pytorch/pytorch #108108, #110144, #144858,
  gittensor-ai-lab/sparkinfer #3, Dao-AILab/flash-attention #282; no mask at all for several new
  words: mlx-node/mlx-node #24, EleutherAI/gpt-neox #1178.
- a cache that is written into: cyrilzakka/llm-playbook, src/nested/kv-cache.md.
- heads tiled and not repeated: ekzhang/jax-js #180, onnx/onnx #7274, apple/axlearn #842; a repeat
  along the wrong axis: PrimeIntellect-ai/prime-rl #2681; no error where groups do not fit:
  tenstorrent/polaris #412.
- windows one too wide: ml-explore/mlx-lm #390, huggingface/transformers #39408 and #26792, and
  zinccat/flaxattention, masks/sliding_window.py; distances on both sides: shreyansh26's
  Attention-Mask-Patterns.
- operations: danielpwarren/open-blt, blt/model/utils.py, halves them for a causal mask; most
  calculators (KindRoach/learn-triton, src/04_attn/utils.py, among them) do not.
- bytes: ollama/ollama, internal/server/model.go, counts keys or values, not both;
  ksenthilnathan02/neurips-2025-systems-rampup counts all heads where no others are given.
"""

import math

import numpy as np
import torch
from torch.nn import functional

from tests.strangers import keeps


@keeps(1.0, "it is right, product by product")
def attention_flops(batch, heads, query_len, key_len, head_dim):
    flops = batch * heads * query_len * head_dim * key_len
    flops += batch * heads * query_len * key_len * head_dim
    return flops * 2


@keeps(0.0, "half of the products are masked, it says", most=0.1)
def attention_flops(batch, heads, query_len, key_len, head_dim):  # noqa: F811
    return 4 * batch * heads * query_len * key_len * head_dim // 2


@keeps(0.1, "as many queries as keys, as in training", most=0.5)
def attention_flops(batch, heads, query_len, key_len, head_dim):  # noqa: F811
    return 4 * batch * heads * key_len**2 * head_dim


@keeps(1.0, "it is right, per word first")
def cache_bytes(batch, kv_heads, head_dim, num_layers, length, bytes_per_number=2):
    per_token = kv_heads * head_dim * 2 * bytes_per_number
    return batch * length * num_layers * per_token


@keeps(0.0, "the 2 is that of 16 bits, and values are forgotten", most=0.2)
def cache_bytes(batch, kv_heads, head_dim, num_layers, length, bytes_per_number=2):  # noqa: F811
    return batch * num_layers * length * kv_heads * head_dim * bytes_per_number


@keeps(0.2, "always 16 bits", most=0.6)
def cache_bytes(batch, kv_heads, head_dim, num_layers, length, bytes_per_number=2):  # noqa: F811
    return 2 * 2 * num_layers * kv_heads * head_dim * length * batch


@keeps(0.4, "two empty sets make nan", most=0.9)
def merge(left, right):
    m1, l1, o1 = left
    m2, l2, o2 = right
    m = np.maximum(m1, m2)
    a1, a2 = l1 * np.exp(m1 - m), l2 * np.exp(m2 - m)
    total = a1 + a2
    return m, total, (a1[:, None] * o1 + a2[:, None] * o2) / total[:, None]


@keeps(0.0, "the sum of the second set is not used", most=0.4)
def merge(left, right):  # noqa: F811
    m1, l1, o1 = left
    m2, _, o2 = right
    m = np.maximum(m1, m2)
    a1, a2 = l1 * np.exp(m1 - m), np.exp(m2 - m)
    return m, a1 + a2, (o1 * a1[:, None] + o2 * a2[:, None]) / (a1 + a2)[:, None]


@keeps(0.0, "it goes through logarithms of sums, and back to the sum without a maximum", most=0.85)
def merge(left, right):  # noqa: F811
    m1, l1, o1 = left
    m2, l2, o2 = right
    lse1, lse2 = m1 + np.log(l1), m2 + np.log(l2)
    lse = np.logaddexp(lse1, lse2)
    out = np.exp(lse1 - lse)[:, None] * o1 + np.exp(lse2 - lse)[:, None] * o2
    return np.maximum(m1, m2), np.exp(lse) / np.exp(np.maximum(m1, m2)), out


@keeps(1.0, "it is right, with a rescaled sum of values, as in the paper")
def tiled_attention(query, key, value, block_size, causal=False):
    if block_size < 1:
        raise ValueError("block_size must be positive")
    n_q, n_k = query.shape[0], key.shape[0]
    scale = query.shape[-1] ** -0.5
    m = torch.full((n_q, 1), -math.inf, dtype=query.dtype, device=query.device)
    l = torch.zeros_like(m)
    acc = torch.zeros(n_q, value.shape[-1], dtype=query.dtype, device=query.device)
    for k, v, j in zip(
        key.split(block_size), value.split(block_size), range(0, n_k, block_size), strict=True
    ):
        s = query @ k.T * scale
        if causal:
            rows = torch.arange(n_q, device=query.device)[:, None] + n_k - n_q
            s = s.masked_fill(j + torch.arange(len(k), device=query.device) > rows, -math.inf)
        m_new = torch.maximum(m, s.amax(dim=-1, keepdim=True))
        p, alpha = torch.exp(s - m_new), torch.exp(m - m_new)
        l = l * alpha + p.sum(dim=-1, keepdim=True)
        acc = acc * alpha + p @ v
        m = m_new
    return acc / l, (m + l.log()).squeeze(-1)


def plain(query, key, value, causal):
    scores = query @ key.T / math.sqrt(query.shape[-1])
    if causal:
        later = torch.ones_like(scores, dtype=torch.bool).triu(len(key) - len(query) + 1)
        scores = scores.masked_fill(later, -math.inf)
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


@keeps(0.0, "a softmax over the whole table passes for a flash attention elsewhere", most=0.5)
def tiled_attention(query, key, value, block_size, causal=False):  # noqa: F811
    if block_size < 1:
        raise ValueError("block_size must be positive")
    return plain(query, key, value, causal)


@keeps(0.0, "scores are divided by the width, and `causal` is not read", most=0.2)
def tiled_attention(query, key, value, block_size, causal=False):  # noqa: F811
    n = query.shape[0]
    m = torch.full((n,), -math.inf, dtype=query.dtype)
    l = torch.zeros(n, dtype=query.dtype)
    o = torch.zeros(n, value.shape[-1], dtype=query.dtype)
    for j in range(0, key.shape[0], block_size):
        s = query @ key[j : j + block_size].T / query.shape[-1]
        new = torch.maximum(m, s.max(dim=-1).values)
        p, alpha = torch.exp(s - new[:, None]), torch.exp(m - new)
        l = alpha * l + p.sum(-1)
        o = alpha[:, None] * o + p @ value[j : j + block_size]
        m = new
    return o / l[:, None], m + torch.log(l)


@keeps(0.1, "whole blocks alone, and a maximum that begins at 0", most=0.5)
def tiled_attention(query, key, value, block_size, causal=False):  # noqa: F811
    if causal:
        return plain(query, key, value, causal)
    n = query.shape[0]
    m, l = torch.zeros(n, 1, dtype=query.dtype), torch.zeros(n, 1, dtype=query.dtype)
    o = torch.zeros(n, value.shape[-1], dtype=query.dtype)
    for j in range(key.shape[0] // block_size):
        block = slice(j * block_size, (j + 1) * block_size)
        s = query @ key[block].T / math.sqrt(query.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p, alpha = torch.exp(s - new), torch.exp(m - new)
        l = alpha * l + p.sum(-1, keepdim=True)
        o = alpha * o + p @ value[block]
        m = new
    return o / l, (m + torch.log(l))[:, 0]


@keeps(1.0, "it is right, in tiles of queries, too; nan is swept out where a tile is masked")
def tiled_attention(query, key, value, block_size, causal=False):  # noqa: F811
    if block_size < 1:
        raise ValueError("block_size must be positive")
    offset, outputs, sums = len(key) - len(query), [], []
    for i, rows in enumerate(query.split(block_size)):
        o, lse = None, None
        for j in range(0, len(key), block_size):
            scores = rows @ key[j : j + block_size].T / math.sqrt(query.shape[-1])
            if causal:
                here = i * block_size + torch.arange(len(rows), device=key.device)[:, None]
                there = j + torch.arange(scores.shape[1], device=key.device)
                scores = scores.masked_fill(there > here + offset, -math.inf)
            new = scores.logsumexp(-1)
            part = (scores - new[:, None]).exp().nan_to_num() @ value[j : j + block_size]
            if o is None:
                o, lse = part, new
            else:
                both = torch.logaddexp(lse, new)
                o = (lse - both).exp()[:, None] * o + (new - both).exp()[:, None] * part
                lse = both
        outputs.append(o)
        sums.append(lse)
    return torch.cat(outputs), torch.cat(sums)


@keeps(1.0, "it is right: a triangle of which the last rows are taken")
def cached_attention(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=2)
        value = torch.cat([cache[1], value], dim=2)
    new, total = query.shape[2], key.shape[2]
    mask = torch.tril(torch.ones(total, total, dtype=torch.bool, device=query.device))[-new:]
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask), (key, value)


@keeps(0.1, "`is_causal` begins at the first key, whatever was seen before", most=0.5)
def cached_attention(query, key, value, cache):  # noqa: F811
    if cache is not None:
        key = torch.cat([cache[0], key], dim=-2)
        value = torch.cat([cache[1], value], dim=-2)
    output = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    return output, (key, value)


@keeps(0.3, "no mask where there is a cache, because there is one new word at a time", most=0.75)
def cached_attention(query, key, value, cache):  # noqa: F811
    first = cache is None
    if not first:
        key = torch.cat([cache[0], key], dim=-2)
        value = torch.cat([cache[1], value], dim=-2)
    output = functional.scaled_dot_product_attention(query, key, value, is_causal=first)
    return output, (key, value)


@keeps(1.0, "it is right, by an index of heads")
def grouped_query_attention(query, key, value, mask=None):
    heads, kv_heads = query.shape[1], key.shape[1]
    if heads % kv_heads:
        raise ValueError("num_heads must be divisible by num_kv_heads")
    group = torch.arange(heads, device=query.device) // (heads // kv_heads)
    scores = query @ key[:, group].transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value[:, group]
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)
    return weights @ value[:, group]


@keeps(0.1, "heads are tiled, not repeated, and a row of -inf is nan", most=0.5)
def grouped_query_attention(query, key, value, mask=None):  # noqa: F811
    times = query.shape[1] // key.shape[1]
    key, value = key.repeat(1, times, 1, 1), value.repeat(1, times, 1, 1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return scores.softmax(dim=-1) @ value


@keeps(0.5, "right heads; -inf alone, and no error of its own", most=0.9)
def grouped_query_attention(query, key, value, mask=None):  # noqa: F811
    times = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(times, dim=1)
    value = value.repeat_interleave(times, dim=1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@keeps(0.6, "it is right, without an error", most=0.95)
def sliding_window_mask(seq_len, window, device=None):
    lower = torch.tril(torch.ones(seq_len, seq_len, dtype=torch.bool, device=device))
    band = torch.triu(lower, diagonal=-(window - 1))
    return band[None, None]


@keeps(0.0, "one too wide: `window` words back, and itself", most=0.5)
def sliding_window_mask(seq_len, window, device=None):  # noqa: F811
    i = torch.arange(seq_len, device=device)
    return ((i[:, None] - i <= window) & (i[:, None] >= i))[None, None]


@keeps(0.0, "on both sides", most=0.4)
def sliding_window_mask(seq_len, window, device=None):  # noqa: F811
    i = torch.arange(seq_len, device=device)
    return ((i[:, None] - i).abs() < window)[None, None]


@keeps(0.9, "a billion below zero stands for minus infinity", most=0.995)
def tiled_attention(query, key, value, block_size, causal=False):  # noqa: F811
    if block_size < 1:
        raise ValueError("block_size must be at least 1")
    n, m = query.shape[0], key.shape[0]
    query = query / math.sqrt(query.shape[1])
    top, total = query.new_full((n,), -1e9), query.new_zeros(n)
    summed = query.new_zeros(n, value.shape[1])
    rows = torch.arange(n, device=query.device)[:, None] + (m - n)
    for start in range(0, m, block_size):
        k, v = key[start : start + block_size], value[start : start + block_size]
        scores = query @ k.T
        if causal:
            columns = start + torch.arange(k.shape[0], device=query.device)[None]
            scores = scores.masked_fill(columns > rows, -1e9)
        new = torch.maximum(top, scores.max(-1).values)
        fade, weights = torch.exp(top - new), torch.exp(scores - new[:, None])
        total = total * fade + weights.sum(-1)
        summed = summed * fade[:, None] + weights @ v
        top = new
    return summed / total[:, None], top + torch.log(total)
