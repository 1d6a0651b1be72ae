"""Keeps a small result of each block of keys, and merges all of them at the end: between the large
scores that come and go lie small results that stay.
"""

STEM = "ch11_efficiency"


# %% tiled_attention
def tiled_attention(query, key, value, block_size, causal=False):
    if block_size < 1:
        raise ValueError("a block holds a key or more")
    last = torch.arange(len(key) - len(query), len(key), device=query.device)[:, None]
    outputs, sums = [], []
    for start in range(0, len(key), block_size):
        block = slice(start, start + block_size)
        scores = query @ key[block].T / math.sqrt(query.shape[1])
        if causal:
            places = torch.arange(len(key), device=query.device)[block]
            scores = scores.masked_fill(places > last, -math.inf)
        total = scores.logsumexp(1, keepdim=True)
        shares = (scores - total.masked_fill(total.isneginf(), 0)).exp()
        outputs.append(shares @ value[block])
        sums.append(total)
    whole = sums[0]
    for each in sums[1:]:
        whole = torch.logaddexp(whole, each)
    output = sum((each - whole).exp() * part for each, part in zip(sums, outputs, strict=True))
    return output, whole[:, 0]
