"""Masked words, next words, spans, patches, rotations, norms and gates, each with two faults."""

import torch
from torch import nn
from torch.nn import functional

from solutions import ch13_family as reference
from solutions.ch06_masking import padding_mask
from tests.two_faults import collector

PAIRS, HELD_OUT = [], []
two_faults, held_out = collector(PAIRS), collector(HELD_OUT)


@two_faults("mask_tokens", "any word may be chosen", "every word is to be guessed")
def labels_for_all(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    chosen = choose < probability
    inputs = torch.where(chosen & (change < 0.9), replacement, token_ids)
    return inputs.masked_fill(chosen & (change < 0.8), mask_id), token_ids.clone()


@two_faults("mask_tokens", "every chosen word becomes the mask", "places without a label hold 0")
def always_masked_and_zero(
    token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15
):
    chosen = (choose < probability) & ~torch.isin(token_ids, token_ids.new_tensor(special_ids))
    return token_ids.masked_fill(chosen, mask_id), token_ids.masked_fill(~chosen, 0)


@two_faults(
    "mask_tokens",
    "what is not masked becomes another word",
    "only what is masked is to be guessed",
)
def never_staying(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    chosen = (choose < probability) & ~torch.isin(token_ids, token_ids.new_tensor(special_ids))
    masked = chosen & (change < 0.8)
    inputs = torch.where(chosen, replacement, token_ids).masked_fill(masked, mask_id)
    return inputs, token_ids.masked_fill(~masked, -100)


@two_faults("next_word_loss", "a position predicts its own word", "padding is a word like others")
def neither_shifted_nor_masked(logits, token_ids, pad_id=0):
    return functional.cross_entropy(logits.flatten(0, 1), token_ids.flatten())


@two_faults(
    "next_word_loss", "each sentence counts the same", "there is always something to predict"
)
def mean_of_means(logits, token_ids, pad_id=0):
    targets = token_ids[:, 1:]
    losses = functional.cross_entropy(
        logits[:, :-1].mT, targets, ignore_index=pad_id, reduction="none"
    )
    return (losses.sum(-1) / (targets != pad_id).sum(-1)).mean()


@two_faults("next_word_loss", "padding is 0", "losses add up")
def sum_without_zeros(logits, token_ids, pad_id=0):
    return functional.cross_entropy(
        logits[:, :-1].mT, token_ids[:, 1:], ignore_index=0, reduction="sum"
    )


@two_faults(
    "LanguageModel",
    "embeddings are multiplied by the root of d_model",
    "a GPT sees the whole sentence",
)
class ScaledAndSeeing(reference.LanguageModel):
    def forward(self, token_ids, pad_id=0):
        if token_ids.shape[1] > self.position_embedding.num_embeddings:
            raise ValueError("too long")
        x = self.token_embedding(token_ids) * self.token_embedding.embedding_dim**0.5
        x = self.dropout(x + self.position_embedding.weight[: token_ids.shape[1]])
        for layer in self.layers:
            x = layer(x, padding_mask(token_ids, pad_id))
        return self.final_norm(x) @ self.token_embedding.weight.T


@two_faults(
    "LanguageModel",
    "pre-norm layers need no norm behind them",
    "there are always enough positions",
)
class WithoutTheLastNorm(reference.LanguageModel):
    def forward(self, token_ids, pad_id=0):
        positions = self.position_embedding(torch.arange(token_ids.shape[1]))
        x = self.dropout(self.token_embedding(token_ids) + positions)
        mask = padding_mask(token_ids, pad_id)
        if self.causal:
            mask = mask & torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        for layer in self.layers:
            x = layer(x, mask)
        return x @ self.token_embedding.weight.T


def knobs(logits, temperature, top_k, top_p):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("no such choice")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("no such share")
    return logits.softmax(-1) if temperature == 0 else (logits / temperature).softmax(-1)


@two_faults(
    "next_word_distribution",
    "the word that crosses is left out",
    "temperature 0 means no temperature",
)
def below_the_border(logits, temperature=1.0, top_k=None, top_p=None):
    probabilities, order = knobs(logits, temperature, top_k, top_p).sort(
        dim=-1, descending=True, stable=True
    )
    if top_k is not None:
        probabilities[:, top_k:] = 0
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    if top_p is not None:
        out = probabilities.cumsum(-1) > top_p
        out[:, 0] = False
        probabilities = probabilities.masked_fill(out, 0)
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return torch.zeros_like(logits).scatter(-1, order, probabilities)


@two_faults(
    "next_word_distribution",
    "top_p is there to be had",
    "all words as likely as the last one kept are kept",
)
def threshold_alone(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    if top_k is not None:
        least = logits.topk(min(max(top_k, 1), logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    return knobs(logits, temperature, top_k, None)


@two_faults("span_corruption", "sentinels count up", "the targets end with the last span")
def upwards_without_the_last(token_ids, spans, first_sentinel, eos_id):
    inputs, targets, done = [], [], 0
    for sentinel, (start, end) in enumerate(spans, first_sentinel):
        inputs += [*token_ids[done:start], sentinel]
        targets += [sentinel, *token_ids[start:end]]
        done = end
    return [*inputs, *token_ids[done:], eos_id], [*targets, eos_id]


@two_faults("span_corruption", "the end of a span belongs to it", "the inputs need no end")
def one_more_without_an_end(token_ids, spans, first_sentinel, eos_id):
    inputs, targets, done, sentinel = [], [], 0, first_sentinel
    for start, end in spans:
        inputs += [*token_ids[done:start], sentinel]
        targets += [sentinel, *token_ids[start : end + 1]]
        done, sentinel = end + 1, sentinel - 1
    return [*inputs, *token_ids[done:]], [*targets, sentinel, eos_id]


@two_faults(
    "patchify",
    "patches are read column by column",
    "what does not fill a patch is dropped",
)
def columns_of_what_fits(images, patch_size):
    windows = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    return windows.permute(0, 3, 2, 1, 4, 5).flatten(1, 2).flatten(2)


@two_faults(
    "patchify",
    "the channels of a pixel belong together",
    "patches lie on the feature axis",
)
def channels_last_and_turned(images, patch_size):
    if images.shape[2] % patch_size or images.shape[3] % patch_size:
        raise ValueError("patches do not fill the image")
    windows = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    return windows.permute(0, 2, 3, 4, 5, 1).flatten(1, 2).flatten(2).mT


@two_faults(
    "apply_rotary",
    "the first half turns with the second",
    "rows stand at 0, 1, 2 and so on",
    true_too=("angles live on the CPU",),
)
def halves_in_a_row(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] / 10000 ** (torch.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    turned = (
        first * angles.cos() - second * angles.sin(),
        first * angles.sin() + second * angles.cos(),
    )
    return torch.cat(turned, dim=-1).to(x.dtype)


@two_faults(
    "apply_rotary",
    "the sign of the sine does not matter",
    "i is the number of the column",
    true_too=("angles live on the CPU",),
)
def backwards_and_slow(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    columns = torch.arange(0, x.shape[-1], 2)
    angles = positions[:, None] / 10000 ** (2 * columns / x.shape[-1])
    first, second = x[..., ::2], x[..., 1::2]
    turned = (
        first * angles.cos() + second * angles.sin(),
        second * angles.cos() - first * angles.sin(),
    )
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)


@two_faults("RMSNorm", "a norm subtracts the mean", "eps is added to the root")
class CentredWithEpsOutside(reference.RMSNorm):
    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + self.eps) * self.weight


@two_faults(
    "RMSNorm",
    "squares add up",
    "the weight is there to be had",
    true_too=("squares fit into any dtype",),  # nothing is widened
)
class SummedAndBare(reference.RMSNorm):
    def forward(self, x):
        return x / (x.pow(2).sum(-1, keepdim=True) + self.eps).sqrt()


@two_faults("SwiGLU", "gate and up may change places", "a gate is a sigmoid")
class SigmoidOfTheOther(reference.SwiGLU):
    def forward(self, x):
        return self.w_down(torch.sigmoid(self.w_up(x)) * self.w_gate(x))


@two_faults("SwiGLU", "the gate has a GELU", "linear layers have a bias")
class GeluWithBiases(reference.SwiGLU):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.w_gate = nn.Linear(d_model, d_ff)
        self.w_up = nn.Linear(d_model, d_ff)
        for layer in self.w_gate, self.w_up:
            nn.init.constant_(layer.bias, 0.2)

    def forward(self, x):
        return self.w_down(functional.gelu(self.w_gate(x)) * self.w_up(x))


@held_out("span_corruption", "one sentinel stands for every span", "the targets need no end")
def one_name_and_no_end(token_ids, spans, first_sentinel, eos_id):
    inputs, targets, done = [], [], 0
    for start, end in spans:
        inputs += [*token_ids[done:start], first_sentinel]
        targets += [first_sentinel, *token_ids[start:end]]
        done = end
    return [*inputs, *token_ids[done:], eos_id], [*targets, first_sentinel]


@held_out("span_corruption", "spans that touch are one", "the sentinels count from 1")
def joined_and_counted_from_one(token_ids, spans, first_sentinel, eos_id):
    inputs, targets, sentinel, hidden = [], [], first_sentinel, False
    cut = {place for span in spans for place in range(*span)}
    for place, token_id in enumerate(token_ids):
        if place not in cut:
            inputs.append(token_id)
        else:
            if not hidden:
                sentinel -= 1
                inputs.append(sentinel)
                targets.append(sentinel)
            targets.append(token_id)
        hidden = place in cut
    return [*inputs, eos_id], [*targets, sentinel - 1, eos_id]


@held_out("span_corruption", "the targets are the words alone", "the inputs need no end")
def words_alone_and_open_inputs(token_ids, spans, first_sentinel, eos_id):
    inputs, targets = list(token_ids), []
    for index in range(len(spans) - 1, -1, -1):
        start, end = spans[index]
        targets = token_ids[start:end] + targets
        inputs[start:end] = [first_sentinel - index]
    return inputs, [*targets, first_sentinel - len(spans), eos_id]


@held_out(
    "patchify",
    "a reshape keeps neighbours together",
    "what does not fill a patch is dropped",
)
def view_of_what_fits(images, patch_size):
    rows, columns = images.shape[2] // patch_size, images.shape[3] // patch_size
    fitting = images[:, :, : rows * patch_size, : columns * patch_size]
    return fitting.reshape(len(images), rows * columns, -1)


@held_out("patchify", "pixels of a patch are read column by column", "all images make one sentence")
def lying_in_one_sentence(images, patch_size):
    if images.shape[2] % patch_size or images.shape[3] % patch_size:
        raise ValueError("patches do not fill the image")
    windows = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    patches = windows.permute(0, 2, 3, 1, 5, 4)
    return patches.reshape(-1, images.shape[1] * patch_size**2)


@held_out(
    "apply_rotary", "the turned pairs may be left in halves", "angles fit into the dtype of x"
)
def left_in_halves_and_narrow(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    exponents = torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1]
    angles = positions.to(x.dtype)[:, None] * (10000.0**-exponents).to(x.dtype)
    first, second = x[..., ::2], x[..., 1::2]
    return torch.cat(
        [
            first * angles.cos() - second * angles.sin(),
            first * angles.sin() + second * angles.cos(),
        ],
        dim=-1,
    )


@held_out("apply_rotary", "both terms are added", "positions count from 1")
def added_from_one(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    exponents = torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1]
    angles = (positions + 1)[:, None] / 10000**exponents
    first, second = x[..., ::2].float(), x[..., 1::2].float()
    turned = (
        first * angles.cos() + second * angles.sin(),
        first * angles.sin() + second * angles.cos(),
    )
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)


@held_out(
    "apply_rotary",
    "the exponent is i, and not 2i",
    "the result has the dtype of the angles",
)
def fast_and_wide(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    dtype = torch.promote_types(x.dtype, torch.float32)
    i = torch.arange(x.shape[-1] // 2, dtype=dtype, device=x.device)
    angles = positions[:, None] / 10000 ** (i / x.shape[-1])
    points = torch.view_as_complex(x.to(dtype).unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(points * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


@held_out("RMSNorm", "one divides by the mean square", "float32 leaves as float32")
class SquaredAndWide(reference.RMSNorm):
    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return wide / (wide.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


@held_out("RMSNorm", "the weight is added", "the mean runs over the positions")
class ShiftedColumns(reference.RMSNorm):
    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        axis = -2 if x.ndim > 1 else -1
        roots = torch.rsqrt(wide.pow(2).mean(axis, keepdim=True) + self.eps)
        return (wide * roots + self.weight).to(x.dtype)


@held_out("SwiGLU", "gate and up add up", "the gate has a ReLU")
class OpenedByASum(reference.SwiGLU):
    def forward(self, x):
        return self.w_down(self.w_gate(x).relu() + self.w_up(x))


@held_out("SwiGLU", "both sides have an activation", "there is a residual connection inside")
class ActiveWithARoad(reference.SwiGLU):
    def forward(self, x):
        return x + self.w_down(functional.silu(self.w_gate(x)) * functional.silu(self.w_up(x)))
