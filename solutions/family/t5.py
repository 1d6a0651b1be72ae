"""How T5 tells a query how far away a key is: one number for each bucket of distances."""

import math

import torch


def relative_buckets(query_len, key_len, num_buckets=32, max_distance=128, causal=False):
    """Sort the distances from queries to keys into buckets.

    Half of a direction's buckets are for one distance each; the other half share the distances up
    to `max_distance` so that each is wider than the last by the same factor, and the last one takes
    all that are further away.

    Args:
        query_len, key_len: numbers of positions.
        num_buckets: in all; without `causal`, half are for keys before the query, half after it.
        max_distance: from which on distances are no longer told apart.
        causal: whether keys after the query all count as distance 0, because a mask hides them.

    Returns:
        (query_len, key_len) int64. In T5 each head has a learned number for each bucket, which is
        added to the score.

    Source: Raffel et al. 2020, section 2.1.
    """
    offset = torch.arange(key_len) - torch.arange(query_len)[:, None]  # (query_len, key_len)
    if causal:
        first, distance = torch.zeros_like(offset), (-offset).clamp(min=0)
    else:
        num_buckets //= 2
        first, distance = num_buckets * (offset > 0), offset.abs()
    exact = num_buckets // 2
    growth = torch.log(distance.clamp(min=exact) / exact) / math.log(max_distance / exact)
    shared = exact + (growth * (num_buckets - exact)).long()
    return first + torch.where(distance < exact, distance, shared.clamp(max=num_buckets - 1))
