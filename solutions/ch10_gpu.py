# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # On a GPU
#
# A model that is right can still be too large, or too slow. In this notebook you write what you
# need to find that out before a run: how many numbers a model **trains**, how many **bytes** that
# takes, and how much of a machine's speed a run **uses**. Then you write the three techniques that
# take training to larger hardware: a loss under **mixed precision**, a step whose batch comes in
# **parts**, and the **average** over several machines' gradients.
#
# No exercise needs a GPU. All of them must be right on a CPU, where they are checked, and the same
# code then runs on any device.
#
# The chapter of the same name in the book has the measurements. Each exercise below is a statement,
# code to complete, and a cell that checks it at once. Replace each `raise NotImplementedError` with
# your code, run the cell, run the check. (In the book you see this notebook without being able to
# run it: `make lab` opens a copy of your own.)
#
# The setup cell imports what you need from chapters 8 and 9, so that you can begin even if your own
# functions are not finished.

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch08_encoder_decoder import Transformer
from solutions.ch09_training import label_smoothed_loss, teacher_forcing_pair, train_step

# %% [markdown]
# ## 1. How many numbers does training change?
#
# "It has 93 million parameters" is the first thing that people say about a model, and the first
# thing that they count wrongly. Count the numbers in all parameters of a model that training
# changes:
#
# - A parameter with `requires_grad=False` is **frozen**. Training leaves it alone, so it does not
#   count.
# - A parameter may be **shared**: the same `Parameter` object is then used in several places, as
#   when the output layer reuses the embedding's table. It counts once. Two different parameters
#   that happen to hold equal numbers count twice.
# - A **buffer**, such as a table of positions, is not a parameter.
#
# For example, let a model have an embedding of 10 words with 4 features, and an output layer
# `nn.Linear(4, 10)` with a bias. That makes 40 + 40 + 10 = 90. If the output layer shares the
# embedding's table, 50 numbers are left. If the bias is frozen, too, 40 are left.
#
# *Hint:* print what `model.parameters()` yields for a model whose two layers share a table. How
# often does the table appear?


# %% exercise="parameter_count" points=2
def parameter_count(model):
    """Count the numbers that training changes.

    Args:
        model: an `nn.Module`.

    Returns:
        int: the numbers in all parameters with `requires_grad`; a shared parameter counts once.
    """
    ### BEGIN SOLUTION
    return sum(each.numel() for each in model.parameters() if each.requires_grad)
    ### END SOLUTION


# %% [markdown]
# ## 2. What does training keep in memory?
#
# Some of the memory that training takes is in use all the time, however large the batches are. For
# each parameter that is trained there are
#
# - the parameter itself;
# - its gradient, of the same shape;
# - the averages that the optimizer keeps, which are called **moments**. Adam keeps two, SGD with
#   momentum keeps one, plain SGD none. Each has the parameter's shape.
#
# A frozen parameter takes its own bytes and no more, because it has no gradient, and the optimizer
# has nothing to average. A shared parameter is there once, and so are its gradient and its moments.
# Each number takes as many bytes as the dtype of *its* parameter says: 4 in float32, 2 in bfloat16
# and float16, 8 in float64. Leave out buffers, and the activations that a forward pass leaves for
# the backward pass, because they depend on the batch.
#
# For example, the model of 90 parameters above, in float32 and with Adam, takes 90 · 4 · (1 + 1 +
# 2) = 1,440 bytes. With the embedding's table frozen, it takes 40 · 4 + 50 · 4 · 4 = 960.
#
# *Hint:* what does `element_size()` say about a tensor?


# %% exercise="training_bytes" points=2
def training_bytes(model, moments=2):
    """Add up the bytes that training keeps all the time: parameters, gradients and moments.

    Args:
        model: an `nn.Module`.
        moments: averages that the optimizer keeps of each trained parameter; 2 for Adam.

    Returns:
        int: bytes, without buffers and activations; a shared parameter counts once.
    """
    ### BEGIN SOLUTION
    return sum(
        each.numel() * each.element_size() * (2 + moments if each.requires_grad else 1)
        for each in model.parameters()
    )
    ### END SOLUTION


# %% [markdown]
# How large a model fits your GPU? Put this into a new cell. The model is made without memory for
# its numbers (on the device `meta`), so you can ask for one that would not fit here.
#
# ```python
# from ipywidgets import interact
#
# @interact(d_model=[512, 1024, 2048, 4096], layers=(1, 48), moments=[0, 1, 2])
# def in_memory(d_model=512, layers=6, moments=2):
#     with torch.device("meta"):
#         layer = nn.TransformerEncoderLayer(d_model, 8, 4 * d_model)
#     print(f"{layers * training_bytes(layer, moments) / 2**30:.2f} GiB, without activations")
# ```

# %% [markdown]
# ## 3. How much of the machine does a run use?
#
# A device's data sheet says how many floating-point operations (FLOPs) a second it can do at most:
# its **peak**. Training reaches far fewer. To say how far a run is from the peak, you need to know
# how many FLOPs it does, and for that there is a rule of thumb.
#
# In the forward pass each weight of a matrix is multiplied with each word once, and the product is
# added to a sum, which makes 2 FLOPs per weight and word. The backward pass computes two products
# of the same size, one for the gradient of the weights and one for that of the inputs, which makes
# another 4. A whole training step therefore does 6 FLOPs per weight and word.
#
# **Utilization** is the share of the peak that these FLOPs make up. Which parameters and which
# words to count is for the caller to decide, and the chapter has a section on it. Do not cap the
# result at 1: a number above it tells the caller that something was counted wrongly.
#
# For example, a model of 50 million parameters that trains on 100,000 words a second does 6 · 50
# million · 100,000 = 3 · 10^13 FLOPs a second. On a device with a peak of 10^14 its
# utilization is 0.3.
#
# *Hint:* write down the units of all three arguments. Which of them have to cancel so that a share
# is left?


# %% exercise="utilization" points=2
def utilization(words_per_second, num_parameters, peak_flops):
    """Say which share of a device's peak training uses, at 6 FLOPs per parameter and word.

    Args:
        words_per_second: words that training goes through in a second.
        num_parameters: the parameters that each of these words is multiplied with.
        peak_flops: FLOPs that the device can do in a second.

    Returns:
        float: the share; 1 is the peak, and the result may be larger.

    Source: Kaplan et al. 2020, section 2.1, for the 6 FLOPs.
    """
    ### BEGIN SOLUTION
    return 6 * num_parameters * words_per_second / peak_flops
    ### END SOLUTION


# %% [markdown]
# ## 4. A loss under mixed precision
#
# A GPU computes large matrix products much faster in 16 bits than in 32. **Autocast** does them in
# 16 bits and leaves the parameters in float32: it converts copies of them on the way into each
# product.
#
# Compute the teacher-forced `label_smoothed_loss` of chapter 9, with `<pad>` 0, in two parts:
#
# - Run the model under autocast to `dtype`, which is `torch.bfloat16` or `torch.float16`, for the
#   kind of device that `src` is on. (`src.device.type` is its name.)
# - Compute the loss outside, in float32, from the logits that came out. A sum over a whole
#   vocabulary is no place for 16 bits.
#
# Afterwards everything is as it was before, except that there is a graph to call `backward()` on:
# parameters keep their dtype, the model keeps its mode, and autocast is on or off as the caller had
# it, even if the model raised an exception.
#
# For example, a model's output layer has the weights `[[3.01], [2.0]]`, no bias, and reads the
# feature 1.0. In float32 the logits are 3.01 and 2.0. bfloat16 has only 8 significant bits, which
# turn 3.01 into 3.015625. With `smoothing=0` and word 0 as the target, the loss is 0.3106 in
# float32 and 0.3093 from the logits that come out of autocast.
#
# *Hint:* `torch.autocast` makes a context. Which lines belong inside its `with` block, and which
# one comes after it? What dtype do the logits have when they leave it?


# %% exercise="autocast_loss" points=4
def autocast_loss(model, src, tgt, smoothing=0.1, dtype=torch.bfloat16):
    """Compute a training loss with the model's products in 16 bits and the loss itself in float32.

    Args:
        model: has float32 parameters; `model(src, decoder_input)` gives logits
            (batch, tgt_len - 1, tgt_vocab_size).
        src: (batch, src_len) int64.
        tgt: (batch, tgt_len) int64 that begin with `<bos>`, 1; `<pad>` is 0.
        smoothing: for the loss.
        dtype: what the model's products are computed in, torch.bfloat16 or torch.float16.

    Returns:
        loss: a scalar float32 tensor that `backward()` can be called on.

    Source: Micikevicius et al. 2018.
    """
    ### BEGIN SOLUTION
    decoder_input, expected = teacher_forcing_pair(tgt)
    with torch.autocast(src.device.type, dtype=dtype):
        logits = model(src, decoder_input)  # (batch, tgt_len - 1, tgt_vocab_size)
    return label_smoothed_loss(logits.float(), expected, smoothing=smoothing)
    ### END SOLUTION


# %% [markdown]
# ## 5. A large batch in small parts
#
# A batch that does not fit into memory can go through in **parts**. This works because what fills
# the memory is what the forward pass leaves for the backward pass, and that is free again as soon
# as the part's `backward()` has ended. The gradients stay and add up. After the last part the
# optimizer steps, once.
#
# Do it so that the result equals one `train_step` on all parts together:
#
# - the loss is the mean over all words of all parts. A **word** is a target that is not `<pad>`, as
#   in chapter 9: `<eos>` is one, but `<bos>` is not, because it is never a target. A part with more
#   words has a larger share in the mean;
# - gradients that are left over from before do not count, all gradients of the whole batch are
#   clipped together, once, to `max_norm`, and the optimizer steps once;
# - the model learns in train mode, and stays in it;
# - each part's backward pass has ended before the next part's forward pass begins;
# - return the mean loss that the model had before the step, a Python `float`.
#
# A part may hold nothing but padding, because a process that has run out of sentences gets such a
# part to keep in step with the others. Do not run the model on it. If no part has a word,
# nothing changes, and the result is 0.0.
#
# For example, one part has 3 words and the mean loss 2.0, another has 1 word and the mean loss 4.0.
# Together the loss is (3 · 2.0 + 1 · 4.0) / 4 = 2.5. The mean of the two means would be 3.0, and in
# its gradient the single word of the second part would count three times as much as a word of the
# first.
#
# *Hint:* each part's share depends on the words of *all* parts. When do you count them?


# %% exercise="accumulated_step" points=6
def accumulated_step(model, optimizer, parts, smoothing=0.1, max_norm=1.0):
    """Move the weights once, as if all parts had been one batch, with the memory of one part.

    Args:
        model: `model(src, decoder_input)` gives logits (batch, tgt_len - 1, tgt_vocab_size).
        optimizer: holds the model's parameters.
        parts: list of (src, tgt), each (batch, src_len) and (batch, tgt_len) int64; batch and
            lengths may differ between parts. Targets begin with `<bos>`, 1; `<pad>` is 0.
        smoothing: for the loss.
        max_norm: the largest norm that all gradients may have together.

    Returns:
        float: the mean loss per word before the update, over all parts; 0.0 if there is no word.
    """
    ### BEGIN SOLUTION
    counts = [(tgt[:, 1:] != 0).sum() for _, tgt in parts]
    counts = torch.stack(counts).tolist() if parts else []  # a GPU is waited for once
    if not any(counts):
        return 0.0
    model.train()
    optimizer.zero_grad()
    shares = []
    for (src, tgt), count in zip(parts, counts, strict=True):
        if count:
            decoder_input, expected = teacher_forcing_pair(tgt)
            loss = label_smoothed_loss(model(src, decoder_input), expected, smoothing=smoothing)
            share = count / sum(counts) * loss
            share.backward()  # frees what this part's forward pass left
            shares.append(share.detach())  # still a tensor, because .item() would wait
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return sum(shares).item()
    ### END SOLUTION


# %% [markdown]
# ## 6. One gradient from many workers
#
# In **data parallelism** each **worker**, a process with a device of its own, has a copy of the
# model and a part of the batch. Each computes the gradient of its own mean loss per word. Before
# the step they need one gradient that is the same for all: that of the mean over all words of all
# workers.
#
# Combine the gradients of one parameter, stacked along the first axis. A worker's share is its part
# of all words. There are three rules for the edges:
#
# - A worker without words does not count, even if its gradient is nan (because a mean over no words
#   is 0 divided by 0).
# - A nan of a worker that did have words stays in the result, because something went wrong there
#   and hiding it would not repair it.
# - If no worker had a word, raise a `ValueError`.
#
# The result keeps the dtype of the gradients. Compute the shares at least as precisely as the
# gradients are, and mind how coarse 16-bit numbers are: in bfloat16, 257 words become 256, and a
# third becomes 0.334; in float16, 70,000 words become infinite. So it is best to compute shares and
# sum in float32 or wider, and to round once, at the end.
#
# For example, two workers had 3 words and 1 word, and found the gradients `[2.0, 4.0]` and
# `[6.0, 0.0]`. Together that is 3/4 of the first and 1/4 of the second: `[3.0, 3.0]`. A third
# worker with 0 words and the gradient `[nan, nan]` changes nothing.
#
# *Hint:* what is 0 · nan? And which shape must the shares have so that they broadcast over the
# gradients, however many axes these have?


# %% exercise="average_gradients" points=4
def average_gradients(gradients, words):
    """Average the gradients that several workers found for their own parts of a batch.

    Args:
        gradients: (workers, ...) floating, each the gradient of a worker's mean loss per word.
        words: (workers,) int, how many words each had.

    Returns:
        (...): the gradient of the mean over all words, in the dtype of `gradients`.

    Raises:
        ValueError: if no worker had a word.
    """
    ### BEGIN SOLUTION
    total = words.sum()
    if total == 0:
        raise ValueError("no worker had a word, so there is nothing to average")
    precise = torch.promote_types(gradients.dtype, torch.float32)
    shares = words.to(precise) / total  # (workers,)
    some = words > 0  # 0 times nan is nan, so workers without words are left out
    mean = torch.tensordot(shares[some], gradients[some].to(precise), dims=1)
    return mean.to(gradients.dtype)  # rounded once, at the end
    ### END SOLUTION


# %% [markdown]
# ## What you have now
#
# You can say what a training run costs before you start it, and you have the three pieces that let
# it grow: 16-bit products, batches larger than the memory, and gradients from many devices. The
# chapter in the book puts them together and measures each.
