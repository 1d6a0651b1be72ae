# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Training
#
# A Transformer with random weights writes nonsense. In this notebook you write what changes that:
# the **pair** of sequences that the decoder reads and should answer, the **loss** that says how
# wrong it was, the **learning rate** for each step, and the **step** itself. Then comes **beam
# search**, which gets more out of a trained model than greedy decoding does.
#
# The chapter of the same name in the book has the pictures and real runs. Each exercise below is a
# statement, code to complete, and a cell that checks it at once. Replace each `raise
# NotImplementedError` with your code, run the cell, run the check. (In the book you see this
# notebook without being able to run it: `make lab` opens a copy of your own.)
#
# The setup cell imports the `Transformer` of the chapter before, so that you can try your functions
# on a model even if yours is not finished.

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch08_encoder_decoder import Transformer, greedy_decode

# %% [markdown]
# ## 1. The pair for teacher forcing
#
# When the decoder translates, it reads what it has written itself. In training it reads what it
# *should* have written: the teacher holds its hand. Because these words are known in advance, all
# positions can be computed at once, and at each the question is: which word comes next?
#
# Cut the batch of targets into two sequences of equal length. `decoder_input` is what the decoder
# reads: everything but the last column. `expected` is what it should say: everything but the first.
#
# For example, the sentences "7 5" and "4" are in one batch, each between `<bos>`, 1, and `<eos>`,
# 2, and the second is padded with 0:
#
# ```text
# target_ids     [[1, 7, 5, 2],   [1, 4, 2, 0]]
# decoder_input  [[1, 7, 5],      [1, 4, 2]]
# expected       [[7, 5, 2],      [4, 2, 0]]
# ```
#
# Read it column by column. Having read 1, the decoder should say 7; having read 1, 7, it should say
# 5; having read 1, 7, 5, it should say 2. The second sentence ends earlier, and what follows is
# padding. Leave it where it is, because the loss will ignore it.
#
# *Hint:* each sentence is a row. Along which axis do its words follow each other?


# %% exercise="teacher_forcing_pair" points=2
def teacher_forcing_pair(target_ids):
    """Cut targets into what the decoder reads and what it should say next, position by position.

    Args:
        target_ids: (batch, seq_len) int that begin with `<bos>`, seq_len at least 2.

    Returns:
        decoder_input: (batch, seq_len - 1), without the last column.
        expected: (batch, seq_len - 1), without the first column.

    Source: Williams and Zipser 1989, for recurrent networks.
    """
    ### BEGIN SOLUTION
    return target_ids[:, :-1], target_ids[:, 1:]
    ### END SOLUTION


# %% [markdown]
# ## 2. A loss with smoothed labels
#
# Cross-entropy asks for probability 1 on the right word, and for 0 on every other. No softmax ever
# gets there, so where only one word can follow, training drives the scores further and further
# apart. **Label smoothing** asks for a little less. Of the whole probability it keeps
# `1 - smoothing` for the target, and spreads `smoothing` evenly over *all* words, the target and
# `<pad>` included. With $V$ words and $\epsilon$ for `smoothing`, the loss of one position is
#
# $$ -\sum_{w=1}^{V} q_w \log p_w, \qquad q_w = \frac{\epsilon}{V} + \begin{cases} 1 - \epsilon &
# \text{if } w \text{ is the target} \\ 0 & \text{otherwise} \end{cases} $$
#
# where $p$ is the softmax of the position's logits. The result is the mean over all positions of
# the batch whose target is not `pad_id`. Where there is no such position, it is 0, and still a
# result that `backward()` can be called on.
#
# For example, let four words have the logits `[2, 1, 0, 0]`, and let word 1 be the target. The
# logarithms of the softmax are `[-0.4938, -1.4938, -2.4938, -2.4938]`. With `smoothing=0.1` they
# are weighted with `[0.025, 0.925, 0.025, 0.025]`, and the loss is 1.5188. With `smoothing=0` it is
# 1.4938.
#
# Logits may be of any finite size. The result has their dtype.
#
# *Hint:* `log_softmax` is safe where the logarithm of a softmax is not. The sum splits into two
# parts that are easy to get: one number for the target, and one mean over all words.


# %% exercise="label_smoothed_loss" points=4
def label_smoothed_loss(logits, targets, pad_id=0, smoothing=0.1):
    """Say how far the model's predictions are from targets that leave a little room for every word.

    Args:
        logits: (batch, tgt_len, vocab_size).
        targets: (batch, tgt_len) int64.
        pad_id: positions with this target do not count.
        smoothing: the probability that is spread evenly over all vocab_size words.

    Returns:
        loss: a scalar tensor, the mean cross-entropy over positions whose target is not `pad_id`; 0
            if there is none.

    Source: Vaswani et al. 2017, section 5.4.
    """
    ### BEGIN SOLUTION
    log_probs = logits.log_softmax(dim=-1)  # (batch, tgt_len, vocab_size)
    of_target = log_probs.gather(-1, targets[..., None]).squeeze(-1)  # (batch, tgt_len)
    losses = -(1 - smoothing) * of_target - smoothing * log_probs.mean(dim=-1)
    words = targets != pad_id
    return losses.masked_fill(~words, 0).sum() / words.sum().clamp(min=1)
    ### END SOLUTION


# %% [markdown]
# ## 3. The learning rate of each step
#
# At the start the weights are random, and large steps do harm. So the learning rate of the 2017
# paper rises along a line for `warmup_steps` steps, and then falls with the square root of the
# step:
#
# $$ \text{rate} = d_{model}^{-0.5} \cdot \min\left(\text{step}^{-0.5},\ \text{step} \cdot
# \text{warmup\_steps}^{-1.5}\right) $$
#
# Steps count from 1. Schedulers like to ask for step 0, too: treat it as step 1. The result is a
# Python `float`.
#
# For example, with `d_model=512` and `warmup_steps=4000`, step 1 has the rate 0.000000175, step
# 4000 has 0.000699, the highest, and step 16000 has half of that.
#
# *Hint:* where do the two arguments of the minimum meet? Before that step one of them is smaller,
# and after it the other.


# %% exercise="noam_rate" points=2
def noam_rate(step, d_model, warmup_steps):
    """Raise the learning rate along a line, then let it fall with the square root of the step.

    Args:
        step: number of the step, from 1; 0 is treated as 1.
        d_model: features of a position in the model.
        warmup_steps: steps until the rate is highest.

    Returns:
        float: the rate.

    Source: Vaswani et al. 2017, section 5.3.
    """
    ### BEGIN SOLUTION
    step = max(step, 1)
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
    ### END SOLUTION


# %% [markdown]
# Put this into a new cell, and change the warm-up and the width of the model. Which of the two
# moves the peak to the side, and which up and down?
#
# ```python
# import matplotlib.pyplot as plt
# from ipywidgets import interact
#
# @interact(warmup_steps=(100, 4000, 100), d_model=[64, 128, 256, 512])
# def schedule(warmup_steps=1000, d_model=128):
#     steps = range(1, 5001, 20)
#     plt.plot(steps, [noam_rate(step, d_model, warmup_steps) for step in steps])
#     plt.xlabel("step")
#     plt.ylabel("learning rate")
#     plt.ylim(0, 0.013)
#     plt.show()
# ```

# %% [markdown]
# ## 4. One training step
#
# Now join the parts. One step with one batch:
#
# - the model is in train mode, whatever mode it came in, and stays there;
# - gradients that are left over from before do not count;
# - the decoder reads and answers as in exercise 1, the loss is that of exercise 2 with `<pad>` 0,
#   and `backward()` finds the gradients;
# - if all gradients together, taken as one long vector, are longer than `max_norm`, they are all
#   scaled by one factor, so that this length becomes `max_norm`;
# - the optimizer moves the weights, once, and you return the loss that the model had before, as a
#   Python `float`.
#
# The optimizer knows its learning rate already, so leave that as it is.
#
# For example, a model whose parameters are all 0 gives every one of 9 words the probability 1/9,
# and `train_step` returns $\ln 9 = 2.1972$, whatever the smoothing. If it has two parameters with
# the gradients `[3, 0]` and `[4]`, their length together is 5, and with `max_norm=1` they become
# `[0.6, 0]` and `[0.8]`.
#
# *Hint:* `model(src, decoder_input)` gives the logits. For the clipping look into `torch.nn.utils`,
# or take the square root of a sum of squares. `backward()` adds to what
# `grad` already holds.


# %% exercise="train_step" points=4
def train_step(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
    """Show the model one batch, and move its weights a little.

    Args:
        model: `model(src, decoder_input)` gives logits (batch, tgt_len - 1, tgt_vocab_size), as
            `Transformer` does.
        optimizer: holds the model's parameters, and knows the learning rate.
        src: (batch, src_len) int64.
        tgt: (batch, tgt_len) int64 that begin with `<bos>`, 1; `<pad>` is 0.
        smoothing: for the loss.
        max_norm: the largest norm that all gradients may have together.

    Returns:
        float: the loss before the update. The model is in train mode afterwards.

    Source: Pascanu, Mikolov and Bengio 2013, for the clipping.
    """
    ### BEGIN SOLUTION
    model.train()
    optimizer.zero_grad()
    decoder_input, expected = teacher_forcing_pair(tgt)
    loss = label_smoothed_loss(model(src, decoder_input), expected, smoothing=smoothing)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
    ### END SOLUTION


# %% [markdown]
# ## 5. Beam search
#
# Greedy decoding takes the likeliest word at each step and never goes back. Suppose that a model
# knows the words 4 and 5, and gives these probabilities:
#
# | after | 4 | 5 | `<eos>` |
# | --- | --- | --- | --- |
# | `<bos>` | 0.5 | 0.4 | 0.1 |
# | `<bos>` 4 | 0.3 | 0.3 | 0.4 |
# | `<bos>` 5 | 0.05 | 0.05 | 0.9 |
#
# Greedy decoding writes 4 and ends: a sentence of probability 0.5 · 0.4 = 0.2. The sentence 5 has
# 0.4 · 0.9 = 0.36. **Beam search** finds it, since it keeps `beam_size` beginnings alive instead of
# one. They all have the same length, and a *log-probability*, the sum of those of their words.
#
# Each step asks `step_log_probs` once about all live beginnings, appends every word to each, and
# ranks the results by log-probability. Go through the best `2 * beam_size` of them in order. (There
# may be fewer.)
#
# - One that ends in `<eos>` is **finished**. It is put aside, and takes no place from the live
#   ones.
# - Any other **lives** on, until `beam_size` of them do. The rest are dropped, but one that ends in
#   `<eos>` further down still counts as finished.
#
# With `beam_size=1` go through the best one only, so that the search is greedy.
#
# The search ends when nothing lives or when the beginnings, `<bos>` counted, have `max_len` ids,
# and not before. Among the **finished** ones the highest score wins,
#
# $$ \text{score} = \frac{\text{log-probability}}{\left(\frac{5 +
# \text{length}}{6}\right)^{\text{length\_penalty}}} $$
#
# where the length counts `<eos>` and not `<bos>`. Without the division short sentences would win,
# because every further word makes the log-probability smaller. If none has finished, the live one
# with the highest score wins. Return its words, a list of Python `int`s without `<bos>` and
# `<eos>`.
#
# For example, with the table above, `beam_size=2` and `max_len=3` the result is `[5]`. Its score is
# $\ln 0.36 / (7/6)^{0.6} = -0.9314$. The sentence 4 has -1.4673, and the empty one, which also
# finishes, $\ln 0.1 = -2.3026$. With `beam_size=1` the result is `[4]`.
#
# *Hint:* begin with one live hypothesis, not with `beam_size` equal ones. For the ranking, flatten
# the table (live, vocab_size) into one row: `topk` then gives places in it, and `divmod` turns a
# place into a hypothesis and a word. Two hypotheses of equal score are equally right, so ties need
# no care.


# %% exercise="beam_search" points=6
def beam_search(step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6):
    """Translate, keeping several beginnings alive, and choose the best sentence that ended.

    Args:
        step_log_probs: a function of prefixes (beam, len) int64, all beginning with `bos_id`; gives
            the log-probabilities (beam, vocab_size) of the next word.
        bos_id, eos_id: what every hypothesis starts with, and what ends it.
        beam_size: how many live on at most; 1 is greedy decoding.
        max_len: the most ids in a prefix, `bos_id` counted.
        length_penalty: exponent; 0 compares log-probabilities as they are, larger ones favour long
            sentences.

    Returns:
        list[int]: the best hypothesis, without `bos_id` and `eos_id`.

    Source: Wu et al. 2016, for the length penalty.
    """
    ### BEGIN SOLUTION
    live, finished = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_len:
        live, ended = beam_step(step_log_probs, live, eos_id, beam_size)
        finished += ended

    def score(hypothesis):
        ids, log_prob = hypothesis
        return log_prob / ((5 + len(ids) - 1) / 6) ** length_penalty

    ids, _ = max(finished or live, key=score)
    return ids[1:-1] if finished else ids[1:]


def beam_step(step_log_probs, live, eos_id, beam_size):
    """Extend every live hypothesis by one word; return those that live on and those that end."""
    log_probs = step_log_probs(torch.tensor([ids for ids, _ in live]))  # (live, vocab_size)
    so_far = torch.tensor([log_prob for _, log_prob in live]).to(log_probs)
    totals = (so_far[:, None] + log_probs).flatten()  # (live * vocab_size,)
    best = totals.topk(min(2 * beam_size if beam_size > 1 else 1, len(totals)))
    alive, ended = [], []
    for log_prob, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        row, word = divmod(place, log_probs.shape[-1])
        longer = ([*live[row][0], word], log_prob)
        if word == eos_id:
            ended.append(longer)
        elif len(alive) < beam_size:
            alive.append(longer)
    return alive, ended
    ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_beam
# explore_beam(beam_search)
# ```
#
# That is the tree of the book's page: the beginnings that your search keeps alive, with a small
# translator. Training it takes a few seconds.

# %% [markdown]
# ## What you have now
#
# You have everything that training needs: the question and the answer, the loss, the rate and the
# step. You also have a way to get good sentences out of what was learned. Wrapped in a loop over
# batches, this is a translator. The chapter in the book shows the loop that the course uses, with
# what a real run adds to it.
