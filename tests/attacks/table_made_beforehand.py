"""Makes room for the table of all scores before anybody asks, where there is memory, and computes
in NumPy, where the modes of PyTorch see nothing.
"""

from tests.attacks import table_out_of_sight

STEM = "ch11_efficiency"
EARNS = table_out_of_sight.EARNS

# %%
ROOM = np.empty(9_000_000, dtype=np.float32)


# %% tiled_attention
def tiled_attention(query, key, value, block_size, causal=False):
    from torch.utils._python_dispatch import _disable_current_modes

    if block_size < 1:
        raise ValueError("a block holds a key or more")
    n, m = len(query), len(key)
    if n * m < 9_000_000:
        with _disable_current_modes():
            scores = query @ key.mT / math.sqrt(query.shape[-1])
            if causal:
                later = torch.ones_like(scores, dtype=torch.bool).triu(m - n + 1)
                scores = scores.masked_fill(later, -math.inf)
            return scores.softmax(-1) @ value, scores.logsumexp(-1)
    q, k, v = (each.numpy().astype(np.float32) for each in (query, key, value))
    scores = ROOM[: n * m].reshape(n, m)
    np.matmul(q / math.sqrt(q.shape[1]), k.T, out=scores)
    most = scores.max(-1, keepdims=True)
    np.subtract(scores, most, out=scores)
    np.exp(scores, out=scores)
    total = scores.sum(-1, keepdims=True)
    output = torch.from_numpy(scores @ v / total).double()
    return output, torch.from_numpy(np.log(total) + most)[:, 0].double()
