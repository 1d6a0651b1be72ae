"""Hidden words, choices, patches, rotations, norms and gates, as others write them.

Each is put in our own words, after habits seen in public repositories: labels and inputs that share
memory and a bare 15 % in copies of `mask_tokens`; the sorted filter of thomwolf's gist and the
masked `topk` of GPT-2; patches in the order of MAE's einsum and of `unfold`; Llama's complex
numbers, GPT-NeoX's halves; RMSNorm as T5, Gemma and lucidrains write it; gates with the letters of
Llama, or with the sigmoid of the first GLU; minGPT and nanoGPT for the model and its loss.
"""

import torch
from torch import nn
from torch.nn import functional

import solutions.ch13_family as reference
from solutions.ch06_masking import decoder_mask, padding_mask
from solutions.ch07_layers import EncoderLayer, LayerNorm
from tests.strangers import keeps


@keeps(1.0, "it is right: a clone, special places by a loop, indices assigned")
def mask_tokens(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    labels, inputs = token_ids.clone(), token_ids.clone()
    special = torch.zeros_like(token_ids, dtype=torch.bool)
    for each in special_ids:
        special |= token_ids == each
    masked = (choose < probability) & ~special
    labels[~masked] = -100
    replaced = masked & (change < 0.8)
    inputs[replaced] = mask_id
    other = masked & ~replaced & (change < 0.9)
    inputs[other] = replacement[other]
    return inputs, labels


@keeps(0.4, "right numbers, written into the ids that it was given", most=0.95)
def mask_tokens(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):  # noqa: F811
    labels = token_ids.clone()
    masked = choose < probability
    for each in special_ids:
        masked &= token_ids != each
    labels[~masked] = -100
    token_ids[masked & (change < 0.8)] = mask_id
    other = masked & (change >= 0.8) & (change < 0.9)
    token_ids[other] = replacement[other]
    return token_ids, labels


@keeps(0.1, "each chosen word becomes the mask, and none another", most=0.6)
def mask_tokens(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):  # noqa: F811
    chosen = (choose < probability) & ~torch.isin(token_ids, torch.tensor(list(special_ids)).long())
    return token_ids.masked_fill(chosen, mask_id), token_ids.masked_fill(~chosen, -100)


@keeps(0.2, "labels of the words that changed alone: those kept are not asked for", most=0.75)
def mask_tokens(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):  # noqa: F811
    inputs, _ = reference.mask_tokens(
        token_ids, mask_id, special_ids, choose, change, replacement, probability
    )
    return inputs, torch.where(inputs != token_ids, token_ids, -100)


@keeps(0.3, "labels everywhere", most=0.7)
def mask_tokens(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):  # noqa: F811
    inputs, _ = reference.mask_tokens(
        token_ids, mask_id, special_ids, choose, change, replacement, probability
    )
    return inputs, token_ids.clone()


@keeps(1.0, "it is right: flat rows and the padding selected")
def next_word_loss(logits, token_ids, pad_id=0):
    said = logits[:, :-1].reshape(-1, logits.shape[-1])
    asked = token_ids[:, 1:].reshape(-1)
    keep = asked != pad_id
    if not keep.any():
        return (logits * 0).sum()
    return functional.cross_entropy(said[keep], asked[keep])


@keeps(0.5, "right but nan where nothing is predicted", most=0.95)
def next_word_loss(logits, token_ids, pad_id=0):  # noqa: F811
    said = logits[:, :-1, :].contiguous().view(-1, logits.size(-1))
    asked = token_ids[:, 1:].contiguous().view(-1)
    return functional.cross_entropy(said, asked, ignore_index=pad_id)


@keeps(0.1, "padding is predicted, too", most=0.6)
def next_word_loss(logits, token_ids, pad_id=0):  # noqa: F811
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), token_ids[:, 1:].flatten())


@keeps(0.0, "minGPT's loss, for targets that were shifted already", most=0.4)
def next_word_loss(logits, token_ids, pad_id=0):  # noqa: F811
    return functional.cross_entropy(
        logits.view(-1, logits.size(-1)), token_ids.view(-1), ignore_index=pad_id
    )


@keeps(0.2, "the mean of each sentence's mean", most=0.75)
def next_word_loss(logits, token_ids, pad_id=0):  # noqa: F811
    asked = token_ids[:, 1:]
    log_probs = logits[:, :-1].log_softmax(-1)
    losses = -log_probs.gather(-1, asked.unsqueeze(-1)).squeeze(-1)
    real = (asked != pad_id).to(losses)
    return ((losses * real).sum(1) / real.sum(1).clamp(min=1)).mean()


class Variant(nn.Module):
    scale, tied, norm, positions, checked = False, True, True, True, True

    def __init__(
        self, vocab_size, max_len, d_model, num_heads, num_layers, d_ff, dropout=0.0, causal=True
    ):
        super().__init__()
        self.causal, self.max_len, self.d_model = causal, max_len, d_model
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            [EncoderLayer(d_model, num_heads, d_ff, dropout, norm_first=True)] * 0
            + [
                EncoderLayer(d_model, num_heads, d_ff, dropout, norm_first=True)
                for _ in range(num_layers)
            ]
        )
        self.final_norm = LayerNorm(d_model)
        if not self.tied:
            self.lm_head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, token_ids, pad_id=0):
        length = token_ids.size(1)
        if self.checked and length > self.max_len:
            raise ValueError(f"{length} ids are more than {self.max_len}")
        x = self.token_embedding(token_ids)
        if self.scale:
            x = x * self.d_model**0.5
        x = self.dropout(x + self.position_embedding.weight[:length])
        mask = (decoder_mask if self.causal else padding_mask)(token_ids, pad_id)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.final_norm(x) if self.norm else x
        return self.lm_head(x) if not self.tied else x @ self.token_embedding.weight.T


@keeps(1.0, "it is right: a product with the transposed table, rows of the positions' weight")
class LanguageModel(Variant):
    pass


@keeps(0.3, "an output layer of its own", most=0.8)
class LanguageModel(Variant):  # noqa: F811
    tied = False


@keeps(0.3, "words are scaled, as in 2017", most=0.8)
class LanguageModel(Variant):  # noqa: F811
    scale = True


@keeps(0.25, "no norm after the last layer", most=0.8)
class LanguageModel(Variant):  # noqa: F811
    norm = False


@keeps(0.8, "an assertion where a ValueError is asked for", most=0.99)
class LanguageModel(Variant):  # noqa: F811
    checked = False

    def forward(self, token_ids, pad_id=0):
        assert token_ids.size(1) <= self.max_len, "too long"
        return super().forward(token_ids, pad_id)


@keeps(0.7, "an IndexError of the table where the text is too long", most=0.97)
class LanguageModel(reference.LanguageModel):  # noqa: F811
    def forward(self, token_ids, pad_id=0):
        x = self.token_embedding(token_ids)
        x = self.dropout(x + self.position_embedding(torch.arange(token_ids.shape[1])))
        make = reference.decoder_mask if self.causal else reference.padding_mask
        for layer in self.layers:
            x = layer(x, make(token_ids, pad_id))
        return self.final_norm(x) @ self.token_embedding.weight.T


FINER = "the usual filter, without errors, temperature 0 and the order of ties"


@keeps(0.4, FINER, most=0.9)
def next_word_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    logits = logits / temperature
    if top_k is not None:
        smallest = torch.topk(logits, min(top_k, logits.size(-1)))[0][:, [-1]]
        logits = logits.masked_fill(logits < smallest, -float("inf"))
    if top_p is not None:
        ordered, indices = torch.sort(logits, descending=True)
        remove = ordered.softmax(-1).cumsum(-1) > top_p
        remove[:, 1:] = remove[:, :-1].clone()
        remove[:, 0] = False
        logits = logits.masked_fill(remove.scatter(1, indices, remove), -float("inf"))
    return logits.softmax(-1)


def plain(logits, temperature, top_k, top_p, drop_crossing=False, p_first=False, clamp=None):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature or top_k is too small")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p is no share")
    order = torch.sort(logits, dim=-1, descending=True, stable=True).indices
    if temperature == 0:
        if clamp is None:
            return functional.one_hot(order[:, 0], logits.shape[1]).to(logits)
        temperature = clamp
    probs = torch.softmax((logits - logits.max(-1, keepdim=True).values) / temperature, -1)
    probs = probs.gather(1, order)

    def by_k(probs):
        probs = probs.clone()
        probs[:, top_k:] = 0
        return probs / probs.sum(-1, keepdim=True)

    def by_p(probs):
        total = probs.cumsum(-1)
        gone = total > top_p if drop_crossing else total - probs >= top_p
        gone[:, 0] = False
        probs = probs.masked_fill(gone, 0)
        return probs / probs.sum(-1, keepdim=True)

    steps = [by_k] * (top_k is not None) + [by_p] * (top_p is not None)
    for step in reversed(steps) if p_first else steps:
        probs = step(probs)
    return torch.zeros_like(probs).scatter_(1, order, probs)


@keeps(1.0, "it is right: one_hot, a stable sort, zeros from top_k on")
def next_word_distribution(logits, temperature=1.0, top_k=None, top_p=None):  # noqa: F811
    return plain(logits, temperature, top_k, top_p)


@keeps(0.5, "the word that crosses top_p is dropped", most=0.85)
def next_word_distribution(logits, temperature=1.0, top_k=None, top_p=None):  # noqa: F811
    return plain(logits, temperature, top_k, top_p, drop_crossing=True)


@keeps(0.6, "top_p before top_k", most=0.95)
def next_word_distribution(logits, temperature=1.0, top_k=None, top_p=None):  # noqa: F811
    return plain(logits, temperature, top_k, top_p, p_first=True)


@keeps(0.7, "temperature 0 is a small one: ties share", most=0.97)
def next_word_distribution(logits, temperature=1.0, top_k=None, top_p=None):  # noqa: F811
    return plain(logits, temperature, top_k, top_p, clamp=1e-6)


@keeps(1.0, "it is right: place by place, with a look-up of starts")
def span_corruption(token_ids, spans, first_sentinel, eos_id):
    starts = {start: (end, i) for i, (start, end) in enumerate(spans)}
    inputs, targets, place = [], [], 0
    while place < len(token_ids):
        if place in starts:
            end, i = starts[place]
            inputs.append(first_sentinel - i)
            targets.append(first_sentinel - i)
            targets.extend(token_ids[place:end])
            place = end
        else:
            inputs.append(token_ids[place])
            place += 1
    return [*inputs, eos_id], [*targets, first_sentinel - len(spans), eos_id]


@keeps(0.3, "the last sentinel is missing, as in the collators", most=0.7)
def span_corruption(token_ids, spans, first_sentinel, eos_id):  # noqa: F811
    inputs, targets = reference.span_corruption(token_ids, spans, first_sentinel, eos_id)
    return inputs, [*targets[:-2], eos_id]


@keeps(0.0, "sentinels count up", most=0.5)
def span_corruption(token_ids, spans, first_sentinel, eos_id):  # noqa: F811
    inputs, targets, last = [], [], 0
    for i, (start, end) in enumerate(spans):
        inputs += [*token_ids[last:start], first_sentinel + i]
        targets += [first_sentinel + i, *token_ids[start:end]]
        last = end
    return inputs + token_ids[last:] + [eos_id], [*targets, first_sentinel + len(spans), eos_id]


@keeps(0.5, "by a mask of noise: spans that touch become one", most=0.95)
def span_corruption(token_ids, spans, first_sentinel, eos_id):  # noqa: F811
    noise = [any(a <= i < b for a, b in spans) for i in range(len(token_ids))]
    inputs, targets, sentinel = [], [], first_sentinel + 1
    for i, token in enumerate(token_ids):
        if noise[i]:
            if i == 0 or not noise[i - 1]:
                sentinel -= 1
                inputs.append(sentinel)
                targets.append(sentinel)
            targets.append(token)
        else:
            inputs.append(token)
    return [*inputs, eos_id], [*targets, sentinel - 1, eos_id]


@keeps(1.0, "it is right: nn.Unfold's columns")
def patchify(images, patch_size):
    if images.shape[2] % patch_size != 0 or images.shape[3] % patch_size != 0:
        raise ValueError("image size must be divisible by patch size")
    return functional.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


@keeps(0.3, "MAE's order: channels last within a patch", most=0.75)
def patchify(images, patch_size):  # noqa: F811
    p, (n, c, height, width) = patch_size, images.shape
    if height % p or width % p:
        raise ValueError("no whole patches")
    x = images.reshape(n, c, height // p, p, width // p, p)
    return torch.einsum("nchpwq->nhwpqc", x).reshape(n, (height // p) * (width // p), p * p * c)


@keeps(0.5, "right, but an assertion instead of a ValueError", most=0.95)
def patchify(images, patch_size):  # noqa: F811
    p = patch_size
    assert images.shape[2] % p == 0 and images.shape[3] % p == 0
    x = images.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5)
    return x.flatten(3).flatten(1, 2)


@keeps(0.1, "unfold without a permutation: a patch for each channel", most=0.6)
def patchify(images, patch_size):  # noqa: F811
    p, (n, c, height, width) = patch_size, images.shape
    if height % p or width % p:
        raise ValueError("no whole patches")
    return images.unfold(2, p, p).unfold(3, p, p).reshape(n, -1, c * p * p)


@keeps(0.8, "Llama's complex numbers: right in float32")
def apply_rotary(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("head_dim must be even")
    dim = x.shape[-1]
    freqs = 1.0 / (10000.0 ** (torch.arange(0, dim, 2).float() / dim))
    angles = torch.outer(positions.float(), freqs)
    cis = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * cis).flatten(-2).type_as(x)


@keeps(0.2, "NeoX's halves", most=0.6)
def apply_rotary(x, positions):  # noqa: F811
    dim = x.shape[-1]
    if dim % 2:
        raise ValueError("head_dim must be even")
    inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim))
    angles = positions[:, None] * inv_freq
    angles = torch.cat([angles, angles], dim=-1)
    first, second = x.double().chunk(2, dim=-1)
    turned = torch.cat([-second, first], dim=-1)
    return (x * angles.cos() + turned * angles.sin()).to(x.dtype)


@keeps(0.15, "turned the other way", most=0.6)
def apply_rotary(x, positions):  # noqa: F811
    return reference.apply_rotary(x, -positions)


@keeps(0.1, "positions are not read: rows count from 0", most=0.6)
def apply_rotary(x, positions):  # noqa: F811
    return reference.apply_rotary(x, torch.arange(x.shape[-2]))


@keeps(0.6, "T5's: the weight multiplies what is back in half precision; right otherwise")
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


@keeps(0.4, "statistics in the dtype of x, right otherwise", most=0.9)
class RMSNorm(RMSNorm):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


@keeps(0.3, "eps after the root", most=0.8)
class RMSNorm(RMSNorm):
    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        rms = wide.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5
        return (self.weight * wide / (rms + self.eps)).to(x.dtype)


@keeps(0.3, "lucidrains's: normalize and a factor, and no eps of one's own", most=0.85)
class RMSNorm(RMSNorm):
    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        unit = functional.normalize(wide, dim=-1) * x.shape[-1] ** 0.5
        return (unit * self.weight).to(x.dtype)


class Gated(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        z = self.w_gate(x)
        return self.w_down(z * torch.sigmoid(z) * self.w_up(x))


@keeps(1.0, "it is right: z times sigmoid by hand")
class SwiGLU(Gated):
    pass


@keeps(0.1, "the gate and the other are swapped", most=0.6)
class SwiGLU(Gated):  # noqa: F811
    def forward(self, x):
        return self.w_down(self.w_gate(x) * functional.silu(self.w_up(x)))


@keeps(0.1, "GEGLU: gelu in the place of silu", most=0.7)
class SwiGLU(Gated):  # noqa: F811
    def forward(self, x):
        return self.w_down(functional.gelu(self.w_gate(x)) * self.w_up(x))


@keeps(0.0, "the sigmoid of the first GLU: no number is right", most=0.6)
class SwiGLU(Gated):  # noqa: F811
    def forward(self, x):
        return self.w_down(torch.sigmoid(self.w_gate(x)) * self.w_up(x))


@keeps(0.4, "right but for biases", most=0.9)
class SwiGLU(Gated):  # noqa: F811
    def __init__(self, d_model, d_ff):
        nn.Module.__init__(self)
        self.w_gate = nn.Linear(d_model, d_ff)
        self.w_up = nn.Linear(d_model, d_ff)
        self.w_down = nn.Linear(d_ff, d_model)


@keeps(0.7, "eps comes after the root", most=0.85)
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        rms = wide.square().mean(-1, keepdim=True).sqrt() + self.eps
        return (wide / rms * self.weight).to(x.dtype)
