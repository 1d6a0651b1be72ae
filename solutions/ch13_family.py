# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Four models from the same blocks
#
# You have built every block of a Transformer. In this notebook you build what turns those blocks
# into BERT, GPT, T5 and ViT, and what today's models have changed.
#
# Each of the four models begins with a way to turn data into a question: **hide words** and ask for
# them (BERT), ask for **the next word** at every position (GPT), **cut spans out** and ask for them
# as text (T5), cut an image into **patches** (ViT). You write these four, **a language model** from
# your layers, and the step that makes its scores into **a choice**. The last three exercises are
# what changed after 2017: **positions that turn**, a **norm without a mean**, and a feed-forward
# network **with a gate**.
#
# Each exercise below is a statement, code to complete, and a cell that checks it at once. Replace
# each `raise NotImplementedError` with your code, run the cell, run the check. (In the book you see
# this notebook without being able to run it: `make lab` opens a copy of your own.)
#
# The setup cell imports the blocks of chapters 6 and 7, so that you can begin even if your own are
# not finished.

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
#
# BERT learns by filling gaps. Some words of each sentence are **chosen**, and the model has to say
# which words they were. If every chosen word became `<mask>`, the model would learn only about
# places that hold `<mask>`, and no text that anybody reads has any. So of ten chosen words, eight
# become `<mask>`, one becomes another word, and one stays as it is. The model cannot know which of
# the words that look right are being asked for, so it has to understand all of them.
#
# All chance comes in as arguments, three draws for each place:
#
# - A place is chosen where `choose < probability`, unless its id is one of `special_ids`.
# - A chosen place gets `mask_id` where `change < 0.8`, otherwise its id from `replacement` where
#   `change < 0.9`, and otherwise keeps its own.
# - The labels are the original ids at all chosen places, and -100 everywhere else, which PyTorch's
#   losses ignore.
# - All of it works on whatever device the ids are.
#
# For example, with probability 0.15, no special ids and the mask 40:
#
# | place | 0 | 1 | 2 | 3 |
# | --- | --- | --- | --- | --- |
# | `token_ids` | 5 | 6 | 7 | 8 |
# | `choose` | 0.1 | 0.1 | 0.5 | 0.1 |
# | `change` | 0.3 | 0.85 | 0.1 | 0.95 |
# | `replacement` | 21 | 22 | 23 | 24 |
# | inputs | 40 | 22 | 7 | 8 |
# | labels | 5 | 6 | -100 | 8 |
#
# *Hint:* find out first which places are chosen, as one boolean tensor. Everything else is decided
# within it.


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
#
# GPT's question is simpler: what comes next? Every position of a text asks it, and the text itself
# knows the answer, so that a sentence of ten words holds nine questions.
#
# - The logits at a position are compared with the id at the *next* one. So the logits at the last
#   position are not used, and the first id is not predicted.
# - The loss is the mean cross-entropy over all words of the whole batch that are to be predicted.
#   Padding is never to be predicted.
# - Where nothing is to be predicted the loss is 0, and gradients can still flow (they are 0, too).
#
# For example, let a batch hold the one sentence `[1, 3]`, with logits `[0, 0, 0, ln 5]` at the
# first position. There is one question. The probability of id 3 is 5 / 8, and the loss
# $-\ln(5/8)$ = 0.470, whatever the logits at the second position are.
#
# *Hint:* cut one position off the logits and one off the ids. Which end of each?


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
#
# Now the model: GPT if a position may look back only, and a bidirectional encoder, as BERT needs
# it, if it may look everywhere. Nothing else differs.
#
# - Words and positions have an embedding each, both learned. Their sum goes through dropout; it is
#   not scaled.
# - Then come the layers, which are pre-norm (`norm_first=True`), with the same dropout, and after
#   the last one a norm.
# - The scores of the words are products with the rows of the *same* table that embeds them. The
#   output layer therefore has no parameter of its own, and no bias.
# - Padding is never attended to. It comes after the words, and each row begins with a word. What the
#   model says at padding is of no interest.
# - More ids than `max_len` raise a `ValueError`.
#
# The submodules are `token_embedding`, `position_embedding`, `layers` (an `nn.ModuleList`) and
# `final_norm`. How you initialise them is up to you. With `nn.Embedding`'s own rows of standard
# deviation 1 the first logits would be as large as $\sqrt{d_\text{model}}$, because they are
# products with those rows; GPT-2 draws them with 0.02.
#
# For example, `LanguageModel(68, 64, 48, 4, 2, 96)` has 68 · 48 + 64 · 48 numbers in its two tables,
# 18,960 in each of its two layers and 96 in its last norm: 44,352 in all.
#
# *Hint:* chapter 6 has a mask for each of the two kinds.


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
#
# A language model gives a score to every word. Always taking the best one makes dull texts that run
# in circles; drawing from the whole distribution sooner or later draws nonsense, because a thousand
# unlikely words together are likely. Three knobs lie between the two:
#
# - **temperature** divides the logits before the softmax. Below 1 the choice becomes surer. 0 means
#   the limit, in which the likeliest word has probability 1.
# - **top_k** keeps the `top_k` likeliest words. If there are fewer words, it keeps all.
# - **top_p** keeps the smallest set of likeliest words whose probability reaches `top_p`. The word
#   with which the set reaches it belongs to it.
#
# They are applied in this order, each to what the one before has left, renormalised. Where several
# words are equally likely, those with lower ids come first, at temperature 0, too. A negative
# temperature, a `top_k` below 1 and a `top_p` outside of (0, 1] raise a `ValueError`. The result has
# the dtype and the device of the logits.
#
# For example, let the probabilities be 0.4, 0.3, 0.2 and 0.1. With `top_p=0.6` the first two are
# kept, because 0.4 alone does not reach 0.6. Renormalised they are 0.571 and 0.429. With `top_k=3`
# before it, 0.4, 0.3 and 0.2 become 0.444, 0.333 and 0.222, and then the same two are kept.
#
# *Hint:* sort once. A word belongs to the smallest set if the words *before* it have not reached
# `top_p`. Look up what `stable=True` means for a sort.


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
# Put this into a new cell, and turn the three knobs that every chat has. Which of them can make a
# word impossible, and which only rarer?
#
# ```python
# from ipywidgets import interact
#
# @interact(temperature=(0.0, 3.0), top_k=(1, 5), top_p=(0.1, 1.0))
# def next_word(temperature=1.0, top_k=5, top_p=1.0):
#     logits = torch.tensor([[3.0, 2.5, 1.0, 0.5, -1.0]])
#     chances = next_word_distribution(logits, temperature, top_k, top_p)
#     for word, chance in zip(["cat", "dog", "bird", "fish", "moon"], chances[0], strict=True):
#         print(f"{word:5}{chance:6.1%} " + "#" * round(40 * chance.item()))
# ```

# %% [markdown]
# ## 5. Everything is text to text
#
# T5 puts every task into one form: text goes in, text comes out. So does its pretraining. Spans are
# cut out of a text, and a **sentinel** marks each place. The decoder writes what was there: each
# sentinel with the words that it stands for.
#
# - The i-th span (from 0) has the sentinel `first_sentinel - i`: T5 keeps its sentinels at the end
#   of the vocabulary, and counts them down.
# - Each span has a sentinel of its own, even if two of them touch.
# - After the last span the targets hold one more sentinel, which says that nothing else is missing.
# - Both lists end with `eos_id`.
#
# For example, `[4, 5, 6, 7, 8]` with the spans `[(1, 2), (3, 5)]`, sentinels from 31 on and
# `<eos>` 2 becomes the inputs `[4, 31, 6, 30, 2]` and the targets `[31, 5, 30, 7, 8, 29, 2]`.
#
# *Hint:* go from left to right, and remember where the last span ended.


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
#
# A Transformer reads rows of numbers. For an image to become such rows, ViT cuts it into square
# patches and writes the pixels of each patch one after the other.
#
# - Patches come row by row: first those along the upper edge, from left to right.
# - The features of a patch are ordered by channel, then row, then column.
# - `patch_size` has to divide height and width; otherwise a `ValueError` is raised.
#
# For example, this image of one channel has four patches of 2 × 2:
#
# ```text
#  0  1  2  3
#  4  5  6  7      ->   [0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]
#  8  9 10 11
# 12 13 14 15
# ```
#
# *Hint:* a reshape can split an axis into two, but it never changes the order of the numbers in
# memory. What does?


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
#
# The Transformer of 2017 *adds* positions to words. Most of today's models *turn* queries and keys
# instead. The features are taken in pairs, and each pair is a point in a plane, which is rotated by
# an angle that grows with the position:
#
# $$\begin{pmatrix} x'_{2i} \\ x'_{2i+1} \end{pmatrix} =
# \begin{pmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix}
# \begin{pmatrix} x_{2i} \\ x_{2i+1} \end{pmatrix}, \qquad
# \theta = \frac{\text{position}}{10000^{2i/\text{head\_dim}}}$$
#
# The product of a query and a key then depends on the *distance* between them alone, because
# rotating both by the same angle changes nothing.
#
# - `positions` gives the position of each row. They may begin anywhere and come in any order.
# - Angles are computed in float32 at least, because bfloat16 cannot tell position 257 from 256. The
#   result has the dtype and the device of `x`.
# - An odd `head_dim` raises a `ValueError`.
#
# For example, the row `[1, 0, 1, 0]` at position 2 becomes `[cos 2, sin 2, cos 0.02, sin 0.02]` =
# `[-0.4161, 0.9093, 0.9998, 0.0200]`.
#
# *Hint:* `x[..., 0::2]` are the first numbers of all pairs. Compute both new numbers before you
# store either.


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
#
# LayerNorm subtracts the mean, divides by the standard deviation, scales and shifts. RMSNorm leaves
# out the mean and the shift, and divides by the **root of the mean square**:
#
# $$y = \frac{x}{\sqrt{\text{mean}(x^2) + \epsilon}} \cdot w$$
#
# - The mean runs over the last axis. The only parameter is `weight`, of shape `(d_model,)`, which
#   begins with ones.
# - Mean and division are computed in float32 at least: the square of 300 is more than float16 can
#   hold. The result has the dtype of `x`, even if the weight is wider.
#
# For example, `[1, 7]` has the mean square 25, so with a weight of ones and a negligible
# $\epsilon$ it becomes `[0.2, 1.4]`.
#
# *Hint:* write LayerNorm down and cross out two things.


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
#
# In chapter 7 a feed-forward network was two linear layers with a ReLU between them. Most of today's
# models have three: one makes features, a second one makes a **gate** for each of them, and a third
# one leads back.
#
# $$\text{SwiGLU}(x) = W_\text{down} \left( \text{silu}(W_\text{gate}\, x) \odot
# W_\text{up}\, x \right), \qquad \text{silu}(z) = z \cdot \text{sigmoid}(z)$$
#
# The three layers are called `w_gate`, `w_up` and `w_down`, and have no bias. $\odot$ multiplies
# number by number.
#
# For example, with one feature and all three weights 1, $x = 2$ gives silu(2) · 2 = 1.762 · 2 =
# 3.523.
#
# *Hint:* PyTorch has silu in `torch.nn.functional`.


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


# %% [markdown]
# ## What you have now
#
# You have the pieces in which today's models differ from the Transformer of 2017, and from each
# other. The chapter puts them together: four models, each in one screen of code, and then weights
# that others have trained, running in blocks of this course.
