# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Four models from the same blocks

# %%
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from solutions.ch06_masking import decoder_mask, padding_mask
from solutions.ch07_layers import EncoderLayer, LayerNorm

# %% [markdown]
# ## 1. Guess the hidden words


# %% exercise="mask_tokens" points=3
def mask_tokens(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    """Hide words for a model to guess, as BERT does.

    Args:
        token_ids: (batch, seq_len) int64.
        mask_id: the id of `<mask>`.
        special_ids: ids that are never chosen; may be empty.
        choose, change: (batch, seq_len) floating, drawn uniformly from [0, 1).
        replacement: (batch, seq_len) int64, ids drawn at random.
        probability: the share of words to choose.

    Returns:
        (inputs, labels), each (batch, seq_len) int64. `labels` are -100 where no word was chosen.

    Source: Devlin et al. 2019, section 3.1.
    """
    ### BEGIN SOLUTION
    special = torch.isin(token_ids, token_ids.new_tensor(list(special_ids)))
    chosen = (choose < probability) & ~special
    inputs = torch.where(chosen & (change < 0.9), replacement, token_ids)
    inputs = inputs.masked_fill(chosen & (change < 0.8), mask_id)
    return inputs, token_ids.masked_fill(~chosen, -100)
    ### END SOLUTION


# %% [markdown]
# ## 2. Guess the next word


# %% exercise="next_word_loss" points=3
def next_word_loss(logits, token_ids, pad_id=0):
    """Measure how well each position predicts the id that follows it.

    Args:
        logits: (batch, seq_len, vocab_size) floating, at the positions of `token_ids`.
        token_ids: (batch, seq_len) int64.
        pad_id: the id of padding, which is never to be predicted.

    Returns:
        Scalar: the mean cross-entropy over all words of the batch that are to be predicted, in
        nats; 0 where there is none.
    """
    ### BEGIN SOLUTION
    targets = token_ids[:, 1:]
    losses = functional.cross_entropy(
        logits[:, :-1].transpose(1, 2), targets, ignore_index=pad_id, reduction="sum"
    )
    return losses / (targets != pad_id).sum().clamp(min=1)
    ### END SOLUTION


# %% [markdown]
# ## 3. A model of language


# %% exercise="LanguageModel" points=5
class LanguageModel(nn.Module):
    """GPT, or with `causal=False` a bidirectional encoder.

    Args:
        vocab_size: number of ids.
        max_len: length of the longest sequence.
        d_model, num_heads, num_layers, d_ff, dropout: as in an `EncoderLayer`.
        causal: whether a position sees only itself and what comes before it.

    Source: Radford et al. 2019 for GPT.
    """

    def __init__(
        self, vocab_size, max_len, d_model, num_heads, num_layers, d_ff, dropout=0.0, causal=True
    ):
        ### BEGIN SOLUTION
        super().__init__()
        self.causal = causal
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_ff, dropout, norm_first=True)
            for _ in range(num_layers)
        )
        self.final_norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        # rows of standard deviation 1 would begin with logits of standard deviation sqrt(d_model)
        for embedding in self.token_embedding, self.position_embedding:
            nn.init.normal_(embedding.weight, std=0.02)
        ### END SOLUTION

    def forward(self, token_ids, pad_id=0):
        """Score each id of the vocabulary at each position.

        Args:
            token_ids: (batch, seq_len) int64; padding comes after the words.
            pad_id: the id of padding, which no position attends to.

        Returns:
            (batch, seq_len, vocab_size) logits.

        Raises:
            ValueError: if `seq_len` is greater than `max_len`.
        """
        ### BEGIN SOLUTION
        seq_len, max_len = token_ids.shape[1], self.position_embedding.num_embeddings
        if seq_len > max_len:
            raise ValueError(f"the sequence has {seq_len} ids, and the model {max_len} positions")
        positions = torch.arange(seq_len, device=token_ids.device)
        x = self.dropout(self.token_embedding(token_ids) + self.position_embedding(positions))
        mask = decoder_mask(token_ids, pad_id) if self.causal else padding_mask(token_ids, pad_id)
        for layer in self.layers:
            x = layer(x, mask)
        return functional.linear(self.final_norm(x), self.token_embedding.weight)
        ### END SOLUTION


# %% [markdown]
# ## 4. Choose what to say


# %% exercise="next_word_distribution" points=4
def next_word_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    """Turn logits into the distribution from which the next word is drawn.

    Args:
        logits: (batch, vocab_size) floating.
        temperature: divides the logits; 0 leaves only the likeliest word.
        top_k: how many of the likeliest words are kept; None keeps all.
        top_p: the smallest set of likeliest words is kept whose probability reaches this number;
            None keeps all.

    Returns:
        (batch, vocab_size) like `logits`; rows sum to 1.

    Raises:
        ValueError: for a negative `temperature`, a `top_k` below 1, or a `top_p` outside (0, 1].

    Source: Holtzman et al. 2020 for `top_p`.
    """
    ### BEGIN SOLUTION
    if temperature < 0:
        raise ValueError(f"the temperature is {temperature}, and cannot be negative")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}: at least one word must be left")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is {top_p}, and must lie between 0 (excluded) and 1")
    # stable: of equal words the lower id comes first
    order = logits.argsort(dim=-1, descending=True, stable=True)
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, order[:, :1], 1)
    # the largest logit becomes 0, so that a small temperature cannot overflow
    scores = (logits - logits.amax(dim=-1, keepdim=True)) / temperature
    probabilities = scores.gather(-1, order).softmax(dim=-1)
    if top_k is not None:
        probabilities = probabilities[:, :top_k]
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    if top_p is not None:
        # a word stays if those before it have not reached top_p yet
        before = probabilities.cumsum(dim=-1) - probabilities
        probabilities = probabilities.masked_fill(before >= top_p, 0)
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    kept = order[:, : probabilities.shape[-1]]
    return torch.zeros_like(logits).scatter(-1, kept, probabilities)
    ### END SOLUTION


# %% [markdown]
# ## 5. Everything is text to text


# %% exercise="span_corruption" points=3
def span_corruption(token_ids, spans, first_sentinel, eos_id):
    """Cut spans out of a text for a model to write, as T5 does.

    Args:
        token_ids: list of ids, without `<eos>`.
        spans: list of (start, end) pairs, `end` excluded; sorted, not empty, without overlap.
        first_sentinel: id that stands for the first span; the next ones count down from it.
        eos_id: the id of `<eos>`.

    Returns:
        (inputs, targets), two lists of ids.

    Source: Raffel et al. 2020, section 3.1.4.
    """
    ### BEGIN SOLUTION
    inputs, targets, done = [], [], 0
    for index, (start, end) in enumerate(spans):
        sentinel = first_sentinel - index
        inputs += [*token_ids[done:start], sentinel]
        targets += [sentinel, *token_ids[start:end]]
        done = end
    return [*inputs, *token_ids[done:], eos_id], [*targets, first_sentinel - len(spans), eos_id]
    ### END SOLUTION


# %% [markdown]
# ## 6. An image is a sentence of patches


# %% exercise="patchify" points=2
def patchify(images, patch_size):
    """Cut images into square patches, each a row of numbers.

    Args:
        images: (batch, channels, height, width).
        patch_size: side of a patch, in pixels.

    Returns:
        (batch, patches, channels * patch_size * patch_size): patches in row-major order, and the
        features of each ordered by channel, row, column.

    Raises:
        ValueError: unless `patch_size` divides height and width.

    Source: Dosovitskiy et al. 2021, section 3.1.
    """
    ### BEGIN SOLUTION
    batch, channels, height, width = images.shape
    if height % patch_size or width % patch_size:
        raise ValueError(
            f"patches of {patch_size} x {patch_size} do not fill an image of {height} x {width}"
        )
    rows, columns = height // patch_size, width // patch_size
    patches = images.reshape(batch, channels, rows, patch_size, columns, patch_size)
    return patches.permute(0, 2, 4, 1, 3, 5).reshape(batch, rows * columns, -1)
    ### END SOLUTION


# %% [markdown]
# ## 7. Positions that turn


# %% exercise="apply_rotary" points=3
def apply_rotary(x, positions):
    """Rotate each pair of features by an angle that grows with the position.

    Args:
        x: (..., seq_len, head_dim) floating, queries or keys.
        positions: (seq_len,) int64.

    Returns:
        Like `x`.

    Raises:
        ValueError: if `head_dim` is odd.

    Source: Su et al. 2021, section 3.2.2.
    """
    ### BEGIN SOLUTION
    head_dim = x.shape[-1]
    if head_dim % 2:
        raise ValueError(f"head_dim is {head_dim}: features cannot be paired")
    # 16 bits cannot tell large angles apart
    dtype = torch.promote_types(x.dtype, torch.float32)
    pairs = torch.arange(0, head_dim, 2, dtype=dtype, device=x.device)
    angles = positions.to(pairs)[:, None] / 10000 ** (pairs / head_dim)
    first, second = x[..., 0::2].to(dtype), x[..., 1::2].to(dtype)
    turned = (
        first * angles.cos() - second * angles.sin(),
        first * angles.sin() + second * angles.cos(),
    )
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)
    ### END SOLUTION


# %% [markdown]
# ## 8. A norm without a mean


# %% exercise="RMSNorm" points=2
class RMSNorm(nn.Module):
    """Root mean square normalisation over the last axis.

    Args:
        d_model: number of features.
        eps: added to the mean square before the root.

    Source: Zhang and Sennrich 2019.
    """

    def __init__(self, d_model, eps=1e-5):
        ### BEGIN SOLUTION
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        ### END SOLUTION

    def forward(self, x):
        """Divide each row by its root mean square, and scale its features.

        Args:
            x: (..., d_model) floating.

        Returns:
            Like `x`.
        """
        ### BEGIN SOLUTION
        # squares of half-precision numbers overflow above 256
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean_square = wide.square().mean(dim=-1, keepdim=True)
        return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
        ### END SOLUTION


# %% [markdown]
# ## 9. A feed-forward network with a gate


# %% exercise="SwiGLU" points=2
class SwiGLU(nn.Module):
    """A feed-forward network whose hidden features are gated by others.

    Args:
        d_model: number of features that come in and go out.
        d_ff: number of hidden features.

    Source: Shazeer 2020.
    """

    def __init__(self, d_model, d_ff):
        ### BEGIN SOLUTION
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        ### END SOLUTION

    def forward(self, x):
        """Transform each position by itself.

        Args:
            x: (..., d_model) floating.

        Returns:
            Like `x`.
        """
        ### BEGIN SOLUTION
        return self.w_down(functional.silu(self.w_gate(x)) * self.w_up(x))
        ### END SOLUTION
