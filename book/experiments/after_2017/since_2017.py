"""What has changed since 2017, each change alone in the same small language model.

The model is a GPT of letters on "Alice's Adventures in Wonderland", like that of `alice`, but
smaller. One thing at a time is replaced by its successor: learned positions by rotary ones, each
LayerNorm by an RMSNorm, the feed-forward network by a SwiGLU with two thirds of its inner width (so
that both have as many parameters, but for biases), and as many keys and values as queries by half
as many. All variants see the same pieces of text in the same order.
"""

import torch
from torch import nn

from book.experiments import Experiment
from book.experiments.family.alice import encoded, letters, texts, train
from book.experiments.undisturbed import undisturbed
from solutions.ch05_multi_head import merge_heads, split_heads
from solutions.ch06_masking import causal_mask
from solutions.ch07_layers import FeedForward, LayerNorm
from solutions.ch11_efficiency import grouped_query_attention
from solutions.ch13_family import RMSNorm, SwiGLU, apply_rotary

VARIANTS = ("as in GPT", "rotary positions", "RMSNorm", "SwiGLU", "grouped queries", "all four")
D_MODEL, HEADS, LAYERS, MAX_LEN = 64, 4, 2, 64


class GroupedAttention(nn.Module):
    """Self-attention that looks back, with fewer keys and values than queries, or as many; its
    queries and keys may be turned by their positions.

    Args:
        kv_heads: heads of keys and values; divides `num_heads`.
        rotary: whether positions turn queries and keys.
    """

    def __init__(self, d_model, num_heads, kv_heads, rotary):
        super().__init__()
        self.num_heads, self.kv_heads, self.rotary = num_heads, kv_heads, rotary
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model * kv_heads // num_heads)
        self.w_v = nn.Linear(d_model, d_model * kv_heads // num_heads)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x):
        """Attend: (batch, seq_len, d_model) -> like it."""
        query = split_heads(self.w_q(x), self.num_heads)
        key, value = (split_heads(w(x), self.kv_heads) for w in (self.w_k, self.w_v))
        if self.rotary:
            positions = torch.arange(x.shape[1])
            query, key = apply_rotary(query, positions), apply_rotary(key, positions)
        output = grouped_query_attention(query, key, value, causal_mask(x.shape[1]))
        return self.w_o(merge_heads(output))


class Letters(nn.Module):
    """A GPT of which each part can be the old one or its successor.

    Args:
        vocab_size: number of ids.
        new: names of `VARIANTS` that are in use.
    """

    def __init__(self, vocab_size, new=()):
        super().__init__()
        self.max_len = MAX_LEN
        norm = RMSNorm if "RMSNorm" in new else LayerNorm
        rotary = "rotary positions" in new
        kv_heads = HEADS // 2 if "grouped queries" in new else HEADS
        self.embedding = nn.Embedding(vocab_size, D_MODEL)
        nn.init.normal_(self.embedding.weight, std=D_MODEL**-0.5)
        self.positions = (
            None if rotary else nn.Parameter(D_MODEL**-0.5 * torch.randn(MAX_LEN, D_MODEL))
        )
        self.attentions = nn.ModuleList(
            GroupedAttention(D_MODEL, HEADS, kv_heads, rotary) for _ in range(LAYERS)
        )
        self.networks = nn.ModuleList(
            SwiGLU(D_MODEL, 4 * D_MODEL * 2 // 3)
            if "SwiGLU" in new
            else FeedForward(D_MODEL, 4 * D_MODEL)
            for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(norm(D_MODEL) for _ in range(2 * LAYERS + 1))

    def forward(self, token_ids, pad_id=None):
        """Score the next letter at each position.

        Args:
            token_ids: (batch, seq_len) int64, none of which is padding.

        Returns:
            (batch, seq_len, vocab_size) logits.
        """
        x = self.embedding(token_ids)
        if self.positions is not None:
            x = x + self.positions[: token_ids.shape[1]]
        *norms, last = self.norms
        pairs = zip(self.attentions, self.networks, norms[::2], norms[1::2], strict=True)
        for attention, network, first, second in pairs:
            x = x + attention(first(x))
            x = x + network(second(x))
        return last(x) @ self.embedding.weight.T


def parts_of(variant):
    """Return what is new in a variant."""
    return VARIANTS[1:-1] if variant == "all four" else (variant,)


def cached_bytes(variant, seq_len):
    """Return how many bytes of keys and values one sequence leaves in a cache, in float32."""
    kv_heads = HEADS // 2 if "grouped queries" in parts_of(variant) else HEADS
    return 4 * 2 * LAYERS * kv_heads * (D_MODEL // HEADS) * seq_len


def measure(steps, seeds):
    """Train each variant with each seed.

    Args:
        steps: several budgets; each is a training of its own, whose rate ends at 0.

    Returns:
        list of dict: `variant`, `steps`, `seed`, `parameters`, and the smallest `validation` loss,
        in nats a letter.
    """
    parts, rows = texts(), []
    ids, validation = encoded(parts["train"]), encoded(parts["validation"])
    for variant in VARIANTS:
        for budget in steps:
            for seed in seeds:
                with undisturbed():
                    torch.manual_seed(seed)
                    model = Letters(len(letters()), parts_of(variant))
                    history = train(model, ids, validation, budget, seed)
                rows.append(
                    {
                        "variant": variant,
                        "steps": budget,
                        "seed": seed,
                        "parameters": sum(each.numel() for each in model.parameters()),
                        "validation": min(each["validation"] for each in history),
                    }
                )
    return rows


EXPERIMENT = Experiment(
    page="ch13_since_2017",
    asks="what does each change since 2017 buy a small language model?",
    short={"steps": (40,), "seeds": 1},
    long={"steps": (500, 1000), "seeds": 3},
    initialisation="embeddings from a normal distribution of standard deviation 1 / sqrt(d_model),"
    " else PyTorch's default",
    measure=measure,
)
