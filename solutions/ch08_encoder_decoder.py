# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The full Transformer
#
# In this notebook the parts become a machine. You build the **decoder layer**, which looks back
# over what has been written and across to the source, the whole **Transformer** around it, and
# **greedy decoding**, which makes it translate.
#
# The chapter of the same name in the book has the pictures and a small model at work. Each exercise
# below is a statement, code to complete, and a cell that checks it at once. Replace each `raise
# NotImplementedError` with your code, run the cell, run the check. (In the book you see this
# notebook without being able to run it: `make lab` opens a copy of your own.)
#
# What earlier chapters built comes from the course's own solutions, so you can work here even if
# you left an exercise open there. `need_weights=False` makes their `MultiHeadAttention` faster and
# returns `None` instead of the attention weights; you may use it or not.

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import causal_mask, decoder_mask, padding_mask
from solutions.ch07_layers import EncoderLayer, FeedForward, LayerNorm

# %% [markdown]
# One helper is given, and you will need it in the second exercise: chapter 2's positions, as a
# tensor of the dtype and on the device that you ask for. Run the cell and go on.


# %%
def sinusoidal_positions(seq_len, d_model, dtype=torch.float32, device=None):
    """Write each position as in chapter 2, as a tensor.

    Args:
        seq_len: number of positions.
        d_model: number of columns, even.
        dtype: of the result; the angles themselves have at least 32 bits.
        device: where the result is made.

    Returns:
        (seq_len, d_model): sines in the even columns, cosines in the odd ones.
    """
    # Half precision cannot count past 2048, bfloat16 not past 256.
    wide = torch.promote_types(dtype, torch.float32)
    rates = 10000.0 ** (
        -torch.arange(0, d_model, 2, dtype=wide, device=device) / d_model
    )  # (pairs,)
    angles = torch.arange(seq_len, dtype=wide, device=device)[:, None] * rates  # (seq_len, pairs)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(dtype)


# %% [markdown]
# ## 1. The decoder layer
#
# An encoder layer has two parts. A decoder layer has three, each with a norm and a residual
# connection of its own:
#
# 1. **self-attention** over the target, under `self_mask`;
# 2. **cross-attention**, in which the target asks and the source answers, under `memory_mask`;
# 3. the **feed-forward network**.
#
# In post-norm order, with $m$ for the memory:
#
# $$ \begin{aligned} x &\leftarrow \operatorname{norm}_1(x +
# \operatorname{drop}(\operatorname{self\_attention}(x, x, x))) \\ x &\leftarrow
# \operatorname{norm}_2(x + \operatorname{drop}(\operatorname{cross\_attention}(x, m, m))) \\ x
# &\leftarrow \operatorname{norm}_3(x + \operatorname{drop}(\operatorname{feed\_forward}(x)))
# \end{aligned} $$
#
# With `norm_first=True` each norm is applied to the input of its part instead, and the sum stays as
# it is, just as in `EncoderLayer`. The memory is never normalised here, because the encoder has
# already finished it. In train mode, `dropout` thins out the result of each part, and it works
# inside the feed-forward network, too.
#
# For example, let `DecoderLayer(4, 2, 8, norm_first=True)` have zeros for all the weights and
# biases of its linear layers, except that the bias of `cross_attention.w_o` is `[1, 0, 0, 0]`. Then
# only the second part adds anything, and a target word `[5, 2, 3, 4]` comes out as `[6, 2, 3, 4]`.
# With `norm_first=False` the sum is normalised three times and comes out as `[1.534, -1.168,
# -0.511, 0.145]`.
#
# *Hint:* for each of the two attentions, say aloud who asks and who answers. The result must have
# one row for each word of the target. Which argument has as many?


# %% exercise="DecoderLayer" points=4
class DecoderLayer(nn.Module):
    """Look back over what has been written, look across to the source, then think.

    Args:
        d_model: features of a position.
        num_heads: heads of both attentions.
        d_ff: inner width of the feed-forward network.
        dropout: for the feed-forward network, and for the output of each of the three parts before
            it is added to the residual.
        norm_first: normalise the input of each part (pre-norm), not the sum after it (post-norm, as
            in 2017).

    Submodules `self_attention`, `cross_attention`, `feed_forward`, and `norm_1`, `norm_2`,
    `norm_3`, which belong to them in this order.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        ### BEGIN SOLUTION
        super().__init__()
        self.norm_first = norm_first
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        """Pass a sequence through the layer.

        Args:
            x: (batch, tgt_len, d_model): the target so far.
            memory: (batch, src_len, d_model): what the encoder made of the source.
            self_mask: bool, broadcasts to (batch, heads, tgt_len, tgt_len); True means "may
                attend".
            memory_mask: bool, broadcasts to (batch, heads, tgt_len, src_len).

        Returns:
            like `x`.
        """

        ### BEGIN SOLUTION
        def look_back(x):
            return self.dropout(self.self_attention(x, x, x, self_mask, need_weights=False)[0])

        def look_across(x):
            return self.dropout(
                self.cross_attention(x, memory, memory, memory_mask, need_weights=False)[0]
            )

        def think(x):
            return self.dropout(self.feed_forward(x))

        if self.norm_first:
            x = x + look_back(self.norm_1(x))
            x = x + look_across(self.norm_2(x))
            return x + think(self.norm_3(x))
        x = self.norm_1(x + look_back(x))
        x = self.norm_2(x + look_across(x))
        return self.norm_3(x + think(x))
        ### END SOLUTION


# %% [markdown]
# ## 2. The Transformer
#
# Now put everything in its place. `encode` turns the ids of the source into the **memory**: look
# the words up, multiply by $\sqrt{d_{model}}$, add the positions, apply dropout, and pass the sum
# through the encoder's layers. `decode` does the same with the ids of the target and the decoder's
# layers, which also get the memory. `forward` does both, and then applies `generator`, a linear
# layer that gives each word of the target language a score for being the next, its **logit**. There
# is no softmax, because losses and `argmax` take logits.
#
# The model itself masks padding, in the three places where a word could look at it: the encoder's
# self-attention, the decoder's, and the cross-attention. The decoder's self-attention also hides
# what comes later. With `norm_first=True` there is one more norm after each stack, `encoder_norm`
# and `decoder_norm`; otherwise these two do not exist. The layers get `dropout` and `norm_first`,
# too. A sentence may be of any length, and the positions have the dtype and the device of the
# embeddings.
#
# For example, let `d_model` be 4, let the second word of a source have the embedding `[0.5, 0,
# -0.5, 1]`, and let the encoder have no layers. Then `encode` gives this word $2 \cdot [0.5, 0,
# -0.5, 1] + [0.8415, 0.5403, 0.0100, 1.0000]$, which is `[1.8415, 0.5403, -0.9900, 3.0000]`. And
# `Transformer(11, 9, d_model=4, num_heads=2, num_encoder_layers=2, num_decoder_layers=3, d_ff=8)`
# has 1,249 parameters.
#
# The stub names the methods for you to fill. You may add others.
#
# *Hint:* `nn.ModuleList` is what makes a list of layers part of the module. For the masks, write
# down the shape of the scores in each of the three attentions. Whose words are the columns?


# %% exercise="Transformer" points=6
class Transformer(nn.Module):
    """Read a source sentence, and say for every position of the target which word comes next.

    Args:
        src_vocab_size, tgt_vocab_size: how many words each language's vocabulary has.
        d_model: features of a position, even.
        num_heads: heads of every attention.
        num_encoder_layers, num_decoder_layers: heights of the two stacks.
        d_ff: inner width of the feed-forward networks.
        dropout: for the layers, and for the sum of embeddings and positions.
        pad_id: the id of padding; nothing attends to it.
        norm_first: pre-norm layers, and a norm after each stack; post-norm layers and none
            otherwise.

    Submodules `src_embedding`, `tgt_embedding` (each an `nn.Embedding`), `encoder`, `decoder` (each
    an `nn.ModuleList`) and `generator` (an `nn.Linear` with bias); with `norm_first` also
    `encoder_norm` and `decoder_norm`.

    Source: Vaswani et al. 2017, section 3.
    """

    def __init__(
        self,
        src_vocab_size,
        tgt_vocab_size,
        d_model=512,
        num_heads=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        d_ff=2048,
        dropout=0.1,
        pad_id=0,
        norm_first=False,
    ):
        ### BEGIN SOLUTION
        super().__init__()
        self.d_model, self.pad_id, self.norm_first = d_model, pad_id, norm_first
        sizes = (d_model, num_heads, d_ff, dropout, norm_first)
        self.src_embedding = nn.Embedding(src_vocab_size, d_model)
        self.tgt_embedding = nn.Embedding(tgt_vocab_size, d_model)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(num_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(num_decoder_layers))
        if norm_first:  # each layer adds to a sum that nothing has normalised
            self.encoder_norm = LayerNorm(d_model)
            self.decoder_norm = LayerNorm(d_model)
        self.generator = nn.Linear(d_model, tgt_vocab_size)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def encode(self, src):
        """Read the source.

        Args:
            src: (batch, src_len) int64.

        Returns:
            memory: (batch, src_len, d_model).
        """
        ### BEGIN SOLUTION
        x = self.embed(src, self.src_embedding)
        mask = padding_mask(src, self.pad_id)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x) if self.norm_first else x
        ### END SOLUTION

    def decode(self, tgt, memory, src):
        """Read the target so far, together with what the encoder made of the source.

        Args:
            tgt: (batch, tgt_len) int64.
            memory: (batch, src_len, d_model), as `encode` returns it.
            src: (batch, src_len) int64, which says where the memory has padding.

        Returns:
            (batch, tgt_len, d_model): position t depends on the target up to t, and on the source.
        """
        ### BEGIN SOLUTION
        x = self.embed(tgt, self.tgt_embedding)
        self_mask, memory_mask = decoder_mask(tgt, self.pad_id), padding_mask(src, self.pad_id)
        for layer in self.decoder:
            x = layer(x, memory, self_mask, memory_mask)
        return self.decoder_norm(x) if self.norm_first else x
        ### END SOLUTION

    def forward(self, src, tgt):
        """Score every word as the next one, at every position of the target.

        Args:
            src: (batch, src_len) int64.
            tgt: (batch, tgt_len) int64, beginning with `<bos>`.

        Returns:
            logits: (batch, tgt_len, tgt_vocab_size).
        """
        ### BEGIN SOLUTION
        return self.generator(self.decode(tgt, self.encode(src), src))

    def embed(self, token_ids, embedding):
        """Look the words up, and add their positions."""
        x = embedding(token_ids) * math.sqrt(self.d_model)  # (batch, seq_len, d_model)
        positions = sinusoidal_positions(token_ids.shape[1], self.d_model, x.dtype, x.device)
        return self.dropout(x + positions)
        ### END SOLUTION


# %% [markdown]
# What makes a model large? Put this into a new cell and guess before you move anything: does it
# double with the layers, with `d_model`, or with the vocabulary?
#
# ```python
# from ipywidgets import interact
#
# @interact(layers=(1, 6), d_model=[64, 128, 256], words=[100, 1000, 10_000])
# def size(layers=2, d_model=64, words=100):
#     model = Transformer(words, words, d_model, 4, layers, layers, 4 * d_model)
#     print(f"{sum(each.numel() for each in model.parameters()):,} numbers to learn")
# ```

# %% [markdown]
# ## 3. Greedy decoding
#
# A trained model gives scores for the next word. To translate, start with `<bos>`, take the word
# with the highest score, append it, and ask again, until `<eos>` comes. Do it for a whole batch at
# once:
#
# - the source is encoded once, and the decoder sees everything that has been written so far;
# - a row that has produced `eos_id` is finished, and gets 0 from then on, while others go on;
# - when every row is finished, or rows have `max_len` ids, counting `bos_id`, stop at once;
# - decode in eval mode and without gradients, and leave the model in the mode in which it came to
#   you.
#
# For example, say that a model wants to write 7, 5, `<eos>` for the first source and 4, `<eos>` for
# the second. The result has as many columns as the longer one needs:
#
# `[[1, 7, 5, 2], [1, 4, 2, 0]]`
#
# and with `max_len=3` it is `[[1, 7, 5], [1, 4, 2]]`.
#
# *Hint:* `model.decode` returns a vector for every position, and only one of them knows all the
# words written so far. Keep one boolean per row that says whether the row has finished.


# %% exercise="greedy_decode" points=4
def greedy_decode(model, src, max_len=64, bos_id=1, eos_id=2):
    """Translate, one word after the other, always taking the likeliest.

    Args:
        model: offers `encode`, `decode`, `generator` and `forward` as `Transformer` does.
        src: (batch, src_len) int64.
        max_len: the most ids in a row of the result, `bos_id` counted.
        bos_id, eos_id: what a row starts with, and what ends it.

    Returns:
        (batch, out_len) int64, out_len <= max_len: decoding stops when every row has produced
        `eos_id`; after it a row holds 0. The model is left in the mode, train or eval, in which it
        came.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return extend_until_eos(model, src, max_len, bos_id, eos_id)
    finally:
        model.train(was_training)


def extend_until_eos(model, src, max_len, bos_id, eos_id):
    """Decode with the model as it is."""
    memory = model.encode(src)
    ids = torch.full((src.shape[0], 1), bos_id, device=src.device)  # (batch, 1)
    ended = torch.zeros(src.shape[0], dtype=torch.bool, device=src.device)
    while ids.shape[1] < max_len and not ended.all():
        logits = model.generator(model.decode(ids, memory, src)[:, -1])  # (batch, tgt_vocab_size)
        next_ids = logits.argmax(dim=-1).masked_fill(ended, 0)
        ids = torch.cat([ids, next_ids[:, None]], dim=1)
        ended |= next_ids == eos_id
    return ids
    ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_decoding
# explore_decoding(greedy_decode)
# ```
#
# You will see the decoding of the book's page, with your function choosing the words of a small
# translator. Training the translator takes some seconds.

# %% [markdown]
# ## What you have now
#
# A Transformer, whole, from token ids to a sentence in another language. With parameters drawn at
# random it writes nonsense. The next chapter gives it data, a loss and a GPU, and what you wrote
# here learns to translate.
