# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What do the heads look at?
#
# A trained model has thousands of attention weights for each sentence, and they make tempting
# pictures. In this notebook you write the tools that turn pictures into numbers. Four of them read
# weights: the **entropy** of a row, the **rollout** through several layers, the **alignment** of
# two sentences, and the **error rate** of such an alignment. The next two go further: one switches
# **heads off**, and the other asks the gradient how much each head **matters**. The last two look
# for **induction** heads, and for the word that a model would say if it stopped at an earlier
# layer.
#
# The chapter of the same name in the book uses all of them on the course's translator, and says
# what can be concluded from each. Each exercise below is a statement, code to complete, and a cell
# that checks it at once. Replace each `raise NotImplementedError` with your code, run the cell, run
# the check. (In the book you see this notebook without being able to run it: `make lab` opens a
# copy of your own.)
#
# The setup cell imports the module whose heads you switch off in the fifth exercise, so that you
# can begin even if your own is not finished.

# %%
import math
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from solutions.ch05_multi_head import MultiHeadAttention

# %% [markdown]
# ## 1. How spread out is the attention?
#
# A row can have all its weight on one key, or the same weight on every key. The **entropy**
# measures where a row is between these two extremes:
#
# $$H = -\sum_j w_j \ln w_j$$
#
# It is measured in nats, because the logarithm is the natural one. A row with all its weight on one
# key has the entropy 0, and a row that is spread evenly over $n$ keys has $\ln n$.
#
# - The keys are on the last axis. There may be any number of axes before it, even none, and the
#   result has the same ones.
# - Masked keys have a weight of exactly 0. They contribute 0, because $w \ln w$ goes to 0 with $w$,
#   although $\ln 0$ by itself is $-\infty$.
# - The result is differentiable. Where a weight is not 0, however small it may be, the gradient is
#   that of the formula. Where it is 0 the formula has none, and yours may be any finite number.
# - The dtype stays as it is.
#
# For example, the weights 0.5, 0.25, 0.25 and 0 have the entropy 0.5 · 0.693 + 2 · 0.25 · 1.386 =
# 1.040.
#
# *Hint:* compute the gradient for a row with a 0 in it, and look at it. Backpropagation multiplies
# by everything on its way, and a nan that you remove *after* the logarithm is still on that way.


# %% exercise="attention_entropy" points=2
def attention_entropy(weights):
    """Measure how spread out each row of attention weights is.

    Args:
        weights: (..., key_len) floating; they sum to 1 along the last axis, and some may be 0.

    Returns:
        (...) like `weights`, in nats; gradients are finite everywhere.
    """
    ### BEGIN SOLUTION
    # ln 1 = 0, in the value and in the gradient: 0 * ln 0 would be nan in both
    positive = weights.masked_fill(weights == 0, 1)
    return -(weights * positive.log()).sum(dim=-1)
    ### END SOLUTION


# %% [markdown]
# Put this into a new cell, and make a row of weights sharper or flatter. Where is the entropy
# largest, and what does it go to when one weight is nearly 1?
#
# ```python
# from ipywidgets import interact
#
# @interact(sharpness=(0.0, 10.0))
# def spread(sharpness=1.0):
#     weights = torch.softmax(sharpness * torch.tensor([3.0, 2.0, 1.0, 0.0]), dim=-1)
#     print([round(weight, 3) for weight in weights.tolist()])
#     print(f"{attention_entropy(weights):.3f} nats, of at most {math.log(4):.3f}")
# ```

# %% [markdown]
# ## 2. Attention through several layers
#
# The weights of the last layer say which *positions* it reads, but by then each position holds a
# mixture of the whole sentence. **Attention rollout** (Abnar and Zuidema 2020) follows the mixture
# down to the words, under a simplifying assumption: that a layer does nothing but average. Half of
# what a position holds then comes through the residual connection, from the position itself, and
# half comes from where it attends.
#
# For each layer, take the mean of its heads, add the identity matrix for the residual connection,
# and divide each row by its sum. Then multiply the layers, with the last one on the left:
#
# $$A = A_\text{last} \cdots A_2 \, A_1$$
#
# For example, take two words and two layers of one head. In the first layer both words attend to
# word 0, so that $A_1$ = `[[1, 0], [0.5, 0.5]]`. In the second both attend to word 1, so that
# $A_2$ = `[[0.5, 0.5], [0, 1]]`. The rollout is $A_2 A_1$ = `[[0.75, 0.25], [0.5, 0.5]]`. In the
# other order it would be `[[0.5, 0.5], [0.25, 0.75]]`.
#
# Gradients flow, and the result has the dtype and the device of the weights.
#
# *Hint:* a row of the result belongs to a position of the last layer, and a column to a word that
# came in. Which layer's rows must therefore be the rows of the product?


# %% exercise="attention_rollout" points=2
def attention_rollout(weights):
    """Follow attention from the last layer's positions down to the words that came in.

    Args:
        weights: (layers, heads, seq_len, seq_len) floating, the first layer first; rows sum to 1.

    Returns:
        (seq_len, seq_len) like `weights`: row i says how much of each word position i holds at the
        end, if layers do nothing but average.

    Source: Abnar and Zuidema 2020, section 3.
    """
    ### BEGIN SOLUTION
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    rollout = identity
    for layer in weights.mean(dim=1) + identity:
        rollout = layer / layer.sum(dim=-1, keepdim=True) @ rollout
    return rollout
    ### END SOLUTION


# %% [markdown]
# ## 3. Which word translates which?
#
# In cross-attention each position of the target looks at the words of the source. If the model
# attends to what it is translating, then the largest weight of each row is an **alignment**: it
# says which source word belongs to which target position. Read it off.
#
# - Take the mean of the heads, and for each row the source position with the largest mean weight.
# - Padding is never the answer, whatever its weight. `src_mask` is True for words. Each sentence
#   has at least one word, which may be at any place.
# - Row `t` of the weights is row `t` of the result, without a shift. Does that row tell us about
#   the word that the decoder has just read, or about the one that it is about to write? The chapter
#   answers that by measuring, so this function should not decide it.
#
# For example, at one target position two heads have the weights (0.6, 0.3, 0.1) and (0, 0.7, 0.3).
# The mean is (0.3, 0.5, 0.2), so the answer is source position 1, although the first head by itself
# would say 0.
#
# *Hint:* which number could you give to padding that no weight can be smaller than?


# %% exercise="read_alignment" points=2
def read_alignment(weights, src_mask):
    """Find for each target position the source word that gets the most attention.

    Args:
        weights: (batch, heads, tgt_len, src_len) floating, of one cross-attention.
        src_mask: (batch, src_len) bool, True for words; at least one in each sentence.

    Returns:
        (batch, tgt_len) int64: the word with the largest mean weight over the heads.
    """
    ### BEGIN SOLUTION
    mean = weights.mean(dim=1)  # (batch, tgt_len, src_len)
    return mean.masked_fill(~src_mask[:, None], -math.inf).argmax(dim=-1)
    ### END SOLUTION


# %% [markdown]
# ## 4. How wrong is an alignment?
#
# To score an alignment somebody has to know the right one, and people do not always agree. So they
# mark two kinds of pairs: **sure** ones, which an alignment must have, and **possible** ones, which
# it may have. Every sure pair is also possible. The **alignment error rate** (Och and Ney 2003) of
# the predicted pairs $P$, with the sure pairs $S$ and the possible pairs $Q$, is
#
# $$1 - \frac{|P \cap S| + |P \cap Q|}{|P| + |S|}$$
#
# It is 0 if every predicted pair is possible and no sure one is missing. All three arguments are
# sets of pairs (source, target). Where nothing is predicted and nothing is sure, nothing is wrong,
# and the rate is 0.
#
# For example, predict (0, 0), (1, 2) and (2, 1). Let (0, 0) and (1, 1) be sure, and let (1, 2) be
# possible, too. One predicted pair is sure and two are possible, so the rate is 1 - (1 + 2) / (3 +
# 2) = 0.4.
#
# *Hint:* Python's sets have an operator for what two of them have in common.


# %% exercise="alignment_error_rate" points=2
def alignment_error_rate(predicted, sure, possible):
    """Measure how far an alignment is from what people marked.

    Args:
        predicted: set of (source, target) pairs.
        sure: set of pairs that must be there.
        possible: set of pairs that may be there; `sure` is part of it.

    Returns:
        float from 0 (nothing is wrong) to 1; 0 where `predicted` and `sure` are empty.

    Source: Och and Ney 2003.
    """
    ### BEGIN SOLUTION
    if not predicted and not sure:
        return 0.0
    return 1 - (len(predicted & sure) + len(predicted & possible)) / (len(predicted) + len(sure))
    ### END SOLUTION


# %% [markdown]
# ## 5. Switch heads off
#
# Weights show where a head looks, not whether anybody needs what it finds. To learn that, take the
# head away and see what breaks. Write a context manager that gives each head of an attention module
# a **gate**, a number that multiplies the head's output before `w_o` mixes the heads. A gate of 1
# leaves a head as it is, a gate of 0 removes it, and 0.5 turns it down.
#
# ```python
# with ablate_heads(attention, torch.tensor([1.0, 0.0])):
#     output, weights = attention(x, x, x)  # without head 1
# output, weights = attention(x, x, x)  # with both heads again
# ```
#
# - `attention` is the `MultiHeadAttention` of chapter 5: `w_o` gets the heads side by side, head 0
#   first, each with its block of `d_model / num_heads` features.
# - The weights that the module returns inside the block are what they always were.
# - Gradients reach `gates`, because the next exercise needs them.
# - Blocks may be nested, also for the same module. Then their gates multiply.
# - After the block the module computes what it did before, with the same parameters. That holds
#   after an exception, too, and the exception still leaves the block.
# - Other modules are not affected, and it does not matter how the module is called: with a mask, or
#   with `need_weights=False`.
#
# For example, let two heads of 2 features find 1, 2 and 3, 4 for one position. With the gates 1 and
# 0, `w_o` gets 1, 2, 0, 0.
#
# You have used `with` blocks before, but this may be the first one that you write. With
# `@contextmanager` you need a function with one `yield`: what is above the `yield` runs when the
# block begins, and what is below runs when it ends. An exception in the block is raised again at
# the `yield`.
#
# *Hint:* PyTorch can show you what a layer is about to get, and let you replace it: look up
# `register_forward_pre_hook`. Which of the module's layers gets the heads' outputs? And which
# statement of Python runs its last part even after an exception?


# %% exercise="ablate_heads" points=6
@contextmanager
def ablate_heads(attention, gates):
    """Multiply the output of each head by a gate, as long as the block lasts.

    Args:
        attention: a `MultiHeadAttention`.
        gates: (num_heads,) floating, one for each head; gradients reach them.

    After the block, also after an exception, the module computes what it did before.
    """

    ### BEGIN SOLUTION
    def scale(module, inputs):
        (heads,) = inputs  # (batch, query_len, d_model), head 0's features first
        return heads * gates.repeat_interleave(heads.shape[-1] // len(gates))

    handle = attention.w_o.register_forward_pre_hook(scale)
    try:
        yield
    finally:
        handle.remove()
    ### END SOLUTION


# %% [markdown]
# ## 6. How much does each head matter?
#
# A model of 6 layers with 8 heads each has 48 heads, so switching off each of them takes 48 runs.
# Michel and others (2019) ask the gradient instead: if all heads are gated and the gates are 1, how
# fast does the loss change when a gate does? One backward pass answers that for all heads at once.
#
# `loss_fn(gates)` is a function of all gates, with one row for each layer. It runs a model and
# returns a loss. Return $|\partial\,\text{loss} / \partial\,\text{gates}|$, taken where every gate
# is 1.
#
# - Of `gates` only the shape, the dtype and the device count. The numbers in it do not, and they
#   stay as they are.
# - The result is made of plain numbers, without a graph.
# - The model that `loss_fn` runs has parameters, and somebody may be in the middle of training it,
#   so no parameter's `.grad` may change.
#
# For example, for one layer with two heads and the loss $(3 g_0 - g_1)^2$ the derivatives at (1, 1)
# are $2 \cdot 2 \cdot 3 = 12$ and $2 \cdot 2 \cdot (-1) = -4$. The importance is 12 and 4.
#
# *Hint:* `backward()` leaves a gradient in every parameter that it meets. PyTorch has a function
# that returns the gradients you ask for and leaves the others alone.


# %% exercise="head_importance" points=4
def head_importance(loss_fn, gates):
    """Ask the gradient how much a loss depends on each head.

    Args:
        loss_fn: `loss_fn(gates)` returns a scalar.
        gates: (layers, heads) floating; only shape, dtype and device count.

    Returns:
        (layers, heads) like `gates`: the size of the derivative where all gates are 1, without a
        graph. No parameter's `.grad` changes.

    Source: Michel et al. 2019, section 4.1.
    """
    ### BEGIN SOLUTION
    ones = torch.ones_like(gates, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss_fn(ones), ones)
    return gradient.abs()
    ### END SOLUTION


# %% [markdown]
# ## 7. Find induction heads
#
# After "the cat sat. the", what comes next? A model that has seen the beginning says "cat". An
# **induction head** does that: at each position it looks for an earlier occurrence of the same
# word, and attends to the word *right after* that, because it may come again (Olsson et al. 2022).
# Score each head by how much it does so.
#
# For each position whose id has occurred before, take the **latest** earlier occurrence of the same
# id, and the weight that the position gives to the place right after it. The score is the mean of
# these weights over the positions of a sentence that have an earlier occurrence.
#
# - Positions without an earlier occurrence are left out of the mean. A sentence without any repeat
#   has the score 0.
# - If an id comes twice in a row, the place right after the earlier one is the position itself, and
#   its own weight counts.
# - Each sentence has a score of its own for each head, and gradients flow.
#
# For example, let the ids be 5, 6, 7, 5, 6. Position 3 repeats position 0, so it should attend to
# position 1. Position 4 repeats position 1, so it should attend to position 2. The score is the
# mean of `weights[3, 1]` and `weights[4, 2]`.
#
# *Hint:* which pairs of positions hold the same id? Of these, keep the ones in which the key comes
# before the query, and then find the last one in each row.


# %% exercise="induction_score" points=4
def induction_score(weights, token_ids):
    """Measure how much each head attends to what came after the same word before.

    Args:
        weights: (batch, heads, seq_len, seq_len) floating; rows are queries.
        token_ids: (batch, seq_len) int64, without padding.

    Returns:
        (batch, heads) like `weights`: the mean weight that a position gives to the place right
        after the latest earlier occurrence of its id; 0 for a sentence without repeats.

    Source: Olsson et al. 2022.
    """
    ### BEGIN SOLUTION
    place = torch.arange(token_ids.shape[1], device=token_ids.device)
    earlier = (token_ids[:, :, None] == token_ids[:, None]).tril(-1)  # (batch, query, key)
    repeats = earlier.any(dim=-1)  # (batch, seq_len)
    target = (earlier * place).amax(dim=-1) + repeats  # right after the latest one
    heads = weights.shape[1]
    given = weights.gather(-1, target[:, None, :, None].expand(-1, heads, -1, 1)).squeeze(-1)
    return (given * repeats[:, None]).sum(dim=-1) / repeats.sum(dim=-1, keepdim=True).clamp(min=1)
    ### END SOLUTION


# %% [markdown]
# ## 8. What would the model say here?
#
# The last layer's states go through `generator`, which turns them into scores for all words.
# Nothing keeps you from sending the states of an *earlier* layer through it as well. This is called
# the **logit lens**, because it shows the word that the model would say if it stopped there.
#
# - `hidden` holds the states after each layer.
# - A model with pre-norm has one more norm after the last layer, and `generator` has never seen
#   states without it. So `norm` is applied to the states of each layer, with their own mean and
#   variance, and `generator` comes next. A model with post-norm has no such norm, and then `norm` is
#   None.
# - Gradients flow.
#
# For example, states of shape (6, 2, 5, 512), which are 6 layers, 2 sentences and 5 positions, give
# scores of shape (6, 2, 5, vocab_size). With the norm of the model, the last of the six are the
# logits that the model itself computes.
#
# *Hint:* a norm and a linear layer both work on the last axis. What do they do to the axes before
# it?


# %% exercise="logit_lens" points=2
def logit_lens(hidden, norm, generator):
    """Let a model's output layer read the states after each layer.

    Args:
        hidden: (layers, batch, tgt_len, d_model) floating, the states after each layer.
        norm: the module after the last layer, over the last axis; or None.
        generator: the output layer, from d_model to vocab_size.

    Returns:
        (layers, batch, tgt_len, vocab_size): the logits if the model stopped at that layer.
    """
    ### BEGIN SOLUTION
    return generator(hidden if norm is None else norm(hidden))
    ### END SOLUTION


# %% [markdown]
# ## What you have now
#
# You have eight tools now, and a difference between them matters more than any of them. Entropy,
# rollout, alignments and induction scores describe what a model *shows*. Gates tell you what it
# *needs*, because they change something and look at what follows. The chapter puts both kinds side
# by side on one model, and scores each by what it predicts.
