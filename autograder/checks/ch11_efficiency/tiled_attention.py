"""Attention over one block of keys after the other, without the table of scores."""

import math

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.authoring.usual import each
from autograder.shared.probes import (
    arguments_after,
    device_kept,
    gradients,
    returned,
    returned_for_views,
    returned_in_little_memory,
    returned_in_tiles,
)
from solutions.ch11_efficiency import tiled_attention


@drawn
def attention(
    rng, query_len, key_len, block_size, d_k=3, d_v=4, causal=None, scale=1.0, dtype=torch.float64
):
    """Draw queries, keys and values; `scale` is that of the queries, and so of the scores."""
    inputs = {
        "query": normal(rng, query_len, d_k, dtype=dtype, scale=scale),
        "key": normal(rng, key_len, d_k, dtype=dtype),
        "value": normal(rng, key_len, d_v, dtype=dtype),
        "block_size": block_size,
    }
    return inputs if causal is None else {**inputs, "causal": causal}


@drawn
def scores_around(rng, middle, query_len, key_len, block_size, causal=False, spread=1.0):
    """Draw queries and keys whose scores lie around a number: the first feature makes it."""
    inputs = attention(rng, query_len, key_len, block_size, causal=causal)
    root = math.sqrt(3)
    inputs["query"][:, 0], inputs["key"][:, 0] = 10.0, middle * root / 10
    inputs["query"][:, 1:] *= spread
    return inputs


@drawn
def queries_far_apart(rng):
    """Draw queries of which the first half has scores around 900, and the second around -900."""
    inputs = scores_around(rng, 900.0, 6, 11, 4)
    inputs["query"][3:, 0] *= -1
    return inputs


@drawn
def rising(rng, sign=1, causal=False):
    """Draw scores that rise from key to key by about a hundred, or fall."""
    inputs = attention(rng, 5, 14, 4, causal=causal)
    inputs["query"][:, 0] = 20.0
    inputs["key"][:, 0] = sign * 9 * torch.arange(14, dtype=torch.float64) - sign * 60
    return inputs


@drawn
def billions_below_zero(rng, causal=False):
    """Draw queries and keys whose scores are all -2**32, about -4e9, to the bit, so that the keys
    share the weight.
    """
    inputs = attention(rng, 5, 9, 4, d_k=4, causal=causal)
    inputs["query"].zero_()[:, 0], inputs["key"].zero_()[:, 0] = 2.0**17, -(2.0**16)
    return inputs


def every_block(key_len, block_size):
    return range(0, key_len, block_size)


def from_the_end(query_len, key_len, device=None):
    """Return the last key that each query sees."""
    return torch.arange(key_len - query_len, key_len, device=device)[:, None]


def refuse_small(block_size):
    if block_size < 1:
        raise ValueError("a block holds a key or more")


def tiled_with(
    scaled=lambda query: query / math.sqrt(query.shape[-1]),
    begin=-math.inf,
    blocks=every_block,
    size=lambda key_len, block_size: block_size,
    last_seen=from_the_end,
    barred=lambda scores, later: scores.masked_fill(later, -math.inf),
    larger=lambda maximum, scores: torch.maximum(maximum, scores.amax(dim=-1, keepdim=True)),
    shrink=lambda shrunk, total: shrunk * total,
    shrink_values=lambda shrunk, summed: shrunk * summed,
    average=lambda summed, total, count: summed / total,
    logarithm=lambda maximum, total: maximum + total.log(),
    refuse=refuse_small,
    weigh=lambda exponentials: exponentials,
):
    """Make an attention in tiles from its rules."""

    def attend(query, key, value, block_size, causal=False):
        refuse(block_size)
        query, block_size = scaled(query), size(len(key), block_size)
        seen = last_seen(len(query), len(key), device=query.device)
        maximum = query.new_full((len(query), 1), begin)
        total, summed, count = torch.zeros_like(maximum), 0, 0
        for start in blocks(len(key), block_size):
            keys, values = key[start : start + block_size], value[start : start + block_size]
            scores = query @ keys.mT
            if causal:
                places = start + torch.arange(len(keys), device=query.device)
                scores = barred(scores, places > seen)
            new = larger(maximum, scores.detach())
            exponentials, shrunk = torch.exp(scores - new), torch.exp(maximum - new)
            total = shrink(shrunk, total) + exponentials.sum(-1, keepdim=True)
            summed = shrink_values(shrunk, summed) + weigh(exponentials) @ values
            maximum, count = new, count + 1
        return average(summed, total, count), logarithm(maximum, total).squeeze(-1)

    return attend


def whole(query, key, value, causal):
    """Compute attention with the table of all scores."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if causal:
        places = torch.arange(len(key), device=key.device)
        last_seen = from_the_end(len(query), len(key), device=key.device)
        scores = scores.masked_fill(places > last_seen, -math.inf)
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


checks = Checks(
    tiled_attention,
    returns=("output", "logsumexp"),
    family=tiled_with,
    probe=returned_in_tiles,
    shortcuts="scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu"
    " _scaled_dot_product_flash_attention flex_attention",
)
shown, hidden, wrong, right = checks.words

shown("blocks of the same size", attention(4, 12, 4), weight=3)
shown("the last block is smaller", attention(5, 14, 4), weight=2)
shown("blocks of one key", attention(6, 9, 1, 5, 2), weight=2)
shown("a block that is larger than all keys", attention(3, 5, 50), probe=returned)
shown("causal, as many queries as keys", attention(9, 9, 4, causal=True), weight=2)
shown(
    "causal, fewer queries: the last one sees all keys",
    attention(4, 11, 3, causal=True),
    probe=returned,
)
shown("scores around a thousand", scores_around(1000.0, 4, 9, 3), weight=3)
shown("scores far below zero", scores_around(-1000.0, 4, 9, 3), weight=3)
shown("each score is computed once", attention(8, 20, 4, 24, 1), weight=2)
# Half of the points are where a table is hardest to hide.
shown(
    "more queries and keys",
    attention(20, 30, 4, 2, 2),
    graded=attention(3000, 3000, 64, 2, 2),
    probe=returned_in_little_memory,
    weight=20,
)
shown("gradients flow", attention(4, 9, 4), probe=gradients)
shown("a block of no key is refused", attention(3, 5, 0), probe=returned)
hidden("another number of blocks", attention(6, 25, 5), weight=3)
hidden("a single key is left for the last block", attention(5, 16, 5), weight=2)
hidden("a single query and many keys", attention(1, 17, 4, 2, 3), weight=2)
hidden("more queries than keys", attention(20, 7, 3, 3, 2))
hidden("values wider than keys", attention(6, 13, 4, 2, 7))
hidden("causal, with blocks that some queries do not see", attention(13, 13, 3, causal=True))
hidden("causal, fewer queries, a smaller last block", attention(5, 17, 4, causal=True), weight=2)
hidden(
    "causal, with a first block that the first query sees in part",
    attention(8, 10, 7, causal=True),
    probe=returned,
)
hidden("scores rise from key to key", rising(), weight=3)
hidden("scores fall from key to key", rising(-1), probe=returned, weight=2)
hidden(
    "one query has large scores, another one small ones",
    queries_far_apart(),
    probe=returned,
    weight=3,
)
hidden(
    "causal, with scores far below zero",
    scores_around(-40_000.0, 8, 8, 3, causal=True, spread=3.0),
    weight=3,
)
hidden(
    "causal, with scores four billion below zero", billions_below_zero(causal=True), probe=returned
)
hidden("a thousand keys in float32", attention(200, 1000, 64, 8, 8, dtype=torch.float32), weight=2)
hidden("each score is computed once, also if causal", attention(12, 12, 4, 30, 1, causal=True))
hidden(
    "there is no room for the table of all scores",
    attention(3000, 3000, 64, 2, 1),
    probe=returned_in_little_memory,
    weight=33,  # half of the points, as above
)
hidden("gradients flow, causal", attention(5, 8, 3, causal=True), probe=gradients)
hidden("a negative block size is refused", attention(3, 5, -4), probe=returned)
hidden("tensors that are not contiguous in memory", attention(5, 9, 4), probe=returned_for_views)
hidden("on the device of the arguments", attention(4, 6, 4, causal=True), probe=device_kept)
hidden("arguments stay as they were", attention(4, 9, 4, causal=True), probe=arguments_after)


# for both of whom it was made, at once or of blocks: the grader sees the same tensor
LARGEST = """Your numbers are right. But how many numbers does your largest tensor hold, and how
does that grow with the length? Look at what you compute before you go through the blocks, and at
what you put side by side."""


@wrong("the table of scores is not in the way", LARGEST)
def with_the_table(query, key, value, block_size, causal=False):
    refuse_small(block_size)
    return whole(query, key, value, causal)


@wrong(
    "tiles are blocks of queries",
    """You go through the queries, and each of your blocks has a score for every key. Which of the
    two lengths should a tile not depend on?""",
)
def in_blocks_of_queries(query, key, value, block_size, causal=False):
    refuse_small(block_size)
    results = []
    for start in range(0, len(query), block_size):
        scores = query[start : start + block_size] @ key.mT / math.sqrt(query.shape[-1])
        if causal:
            seen = from_the_end(len(query), len(key), key.device)[start : start + block_size]
            places = torch.arange(len(key), device=key.device)
            scores = scores.masked_fill(places > seen, -math.inf)
        results.append((scores.softmax(-1) @ value, scores.logsumexp(-1)))
    return tuple(map(torch.cat, zip(*results, strict=True)))


@wrong("blocks may be joined again", LARGEST)
def joined_scores(query, key, value, block_size, causal=False):
    refuse_small(block_size)
    query = query / math.sqrt(query.shape[-1])
    scores = torch.cat([query @ keys.mT for keys in key.split(block_size)], dim=-1)
    if causal:
        places = torch.arange(len(key), device=key.device)
        later = places > from_the_end(len(query), len(key), key.device)
        scores = scores.masked_fill(later, -math.inf)
    sums = scores.logsumexp(-1)
    weights = torch.exp(scores - sums[:, None]).split(block_size, dim=-1)
    blocks = zip(weights, value.split(block_size), strict=True)
    return sum(weight @ values for weight, values in blocks), sums


@wrong(
    "the maximum is looked for first",
    """Your numbers are right, but you go through the keys more than once. Can you correct the sums
    when a larger maximum comes?""",
)
def in_two_passes(query, key, value, block_size, causal=False):
    refuse_small(block_size)
    query = query / math.sqrt(query.shape[-1])
    seen = from_the_end(len(query), len(key), key.device)

    def scores_of(start):
        scores = query @ key[start : start + block_size].mT
        if causal:
            later = start + torch.arange(scores.shape[1], device=key.device) > seen
            scores = scores.masked_fill(later, -math.inf)
        return scores

    maximum = query.new_full((len(query),), -math.inf)
    for start in range(0, len(key), block_size):
        maximum = torch.maximum(maximum, scores_of(start).detach().amax(-1))
    total, summed = 0, 0
    for start in range(0, len(key), block_size):
        exponentials = torch.exp(scores_of(start) - maximum[:, None])
        total = total + exponentials.sum(-1)
        summed = summed + exponentials @ value[start : start + block_size]
    return summed / total[:, None], maximum + total.log()


wrong(
    "scores are measured from 0",
    """Right for small scores. What is the exponential of 1000, and what is left of the exponential
    of -1000? What does a softmax subtract?""",
    begin=0.0,
    larger=lambda maximum, scores: torch.zeros_like(maximum),
)


wrong(
    "the maximum begins at 0",
    """Right where each query has a score above 0. What is your maximum if all scores are far below
    0? Which number is below all of them?""",
    begin=0.0,
)


wrong(
    "a billion below zero is below every score",
    """Where does your maximum begin? Scores may be of any size. Which number is below all of
    them?""",
    begin=-1e9,
)


wrong(
    "whatever comes first, a query sees something of it",
    """A query may see no key of the block that you are at. Follow one whose maximum is -inf there:
    what is -inf - (-inf)?""",
    blocks=lambda key_len, block_size: reversed(range(0, key_len, block_size)),
)


wrong(
    "the maximum is that of the last block",
    """Your maximum may fall from one block to the next. What happens to the old sums when they are
    measured from a number that is far smaller?""",
    larger=lambda maximum, scores: scores.amax(dim=-1, keepdim=True),
)


wrong(
    "all queries share one maximum",
    """Your maximum is one number for all queries. If one query has far smaller scores than another,
    what is left of its exponentials?""",
    larger=lambda maximum, scores: torch.maximum(maximum, scores.max()),
)


wrong(
    "only whole blocks count",
    "Right where the blocks divide the keys. What becomes of the keys after the last whole block?",
    blocks=lambda key_len, block_size: range(0, key_len - block_size + 1, block_size),
)


wrong(
    "the block size is a number of blocks",
    "How many keys does one of your blocks have? Compare that with `block_size`.",
    size=lambda key_len, block_size: -(-key_len // block_size),
)


wrong(
    "causal begins at the first key",
    """Right where there are as many queries as keys. With fewer, which keys does your last query
    see? It should see all.""",
    last_seen=lambda query_len, key_len, device=None: torch.arange(query_len, device=device)[
        :, None
    ],
)


wrong(
    "a query does not see its own key",
    "What does the last query see? It should see all keys, the last one included.",
    last_seen=lambda *given, **named: from_the_end(*given, **named) - 1,
)


wrong(
    "a query sees one key more",
    "The query before the last one should see all keys but one. How many does yours see?",
    last_seen=lambda *given, **named: from_the_end(*given, **named) + 1,
)


wrong(
    "every block has a triangle of its own",
    """Your mask counts the keys of each block from 0. Where in the whole sequence does a block
    begin?""",
    barred=lambda scores, later: scores.masked_fill(
        torch.arange(scores.shape[1], device=scores.device)
        > torch.arange(len(scores), device=scores.device)[:, None],
        -math.inf,
    ),
)


wrong(
    "causal can be left out",
    "Right without `causal`. Where do you use this argument?",
    barred=lambda scores, later: scores,
)


wrong(
    "a masked score is -10,000",
    "What if the scores that a query sees are below the number that you put in for the others?",
    barred=lambda scores, later: scores.masked_fill(later, -10_000.0),
)


wrong(
    "a masked score is 0",
    "What is the exponential of 0? Which score has an exponential of 0?",
    barred=lambda scores, later: scores.masked_fill(later, 0.0),
)


@wrong(
    "each block has a softmax of its own",
    """A query may see no key of a block at all. What are the maximum and the average of such a
    block, and what is -inf - (-inf)?""",
)
def by_whole_softmaxes(query, key, value, block_size, causal=False):
    refuse_small(block_size)
    query = query / math.sqrt(query.shape[-1])
    seen = from_the_end(len(query), len(key), device=query.device)
    output, sums = 0, None
    for start in range(0, len(key), block_size):
        scores = query @ key[start : start + block_size].mT
        if causal:
            places = start + torch.arange(scores.shape[1], device=query.device)
            scores = scores.masked_fill(places > seen, -math.inf)
        part, new = scores.softmax(-1) @ value[start : start + block_size], scores.logsumexp(-1)
        both = new if sums is None else torch.logaddexp(sums, new)
        old = 0 if sums is None else torch.exp(sums - both)[:, None]
        output, sums = old * output + torch.exp(new - both)[:, None] * part, both
    return output, sums


wrong(
    "what has been added stays as it is",
    """When a larger maximum comes, the old sums are still measured from the smaller one. What do
    you do about that?""",
    shrink=lambda shrunk, total: total,
    shrink_values=lambda shrunk, summed: summed,
)


wrong(
    "only the total has to be updated",
    """Your second result is right. The sum of the values was made with the same exponentials as the
    total: what happens to it when the maximum rises?""",
    shrink_values=lambda shrunk, summed: summed,
)


wrong(
    "only the values have to be updated",
    """In your code the sum of the values shrinks when the maximum rises. What about the total that
    it is divided by?""",
    shrink=lambda shrunk, total: total,
)


@wrong(
    "the average of the blocks' averages is the average",
    "Each block counts the same in your output. Does each hold the same part of the weights?",
)
def mean_of_blocks(query, key, value, block_size, causal=False):
    refuse_small(block_size)
    _, sums = tiled_attention(query, key, value, block_size, causal)
    blocks = list(zip(key.split(block_size), value.split(block_size), strict=True))
    seen = from_the_end(len(query), len(key), device=query.device)
    outputs, start = [], 0
    for keys, values in blocks:
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        if causal:
            places = start + torch.arange(len(keys), device=query.device)
            scores = scores.masked_fill(places > seen, torch.finfo(scores.dtype).min)
        outputs.append(scores.softmax(-1) @ values)
        start += len(keys)
    return sum(outputs) / len(outputs), sums


wrong(
    "a sum is an average",
    "Your output grows with the number of keys. What is it divided by at the end?",
    average=lambda summed, total, count: summed,
)


wrong(
    "the dot products are the scores",
    "The weights are sharper than they should be. What happens to dot products before the softmax?",
    scaled=lambda query: query,
)


wrong(
    "scores are divided by the width",
    "Your weights are too even. Which power of `d_k` does the scale take?",
    scaled=lambda query: query / query.shape[-1],
)


wrong(
    "the sum is that of what is left after the maximum",
    "Your output is right. From which number were the exponentials in your second result measured?",
    logarithm=lambda maximum, total: total.log(),
)


wrong(
    "the sum is wanted, not its logarithm",
    "Your output is right. The second result is a logarithm, because the sum itself may overflow.",
    logarithm=lambda maximum, total: maximum.exp() * total,
)


wrong(
    "the logarithm has the base 2",
    "Your output is right. What is the base of the logarithm that undoes `exp`?",
    logarithm=lambda maximum, total: (maximum + total.log()) / math.log(2),
)


wrong(
    "the maximum is asked for",
    "Your output is right. The second result is about the whole sum, not its largest part.",
    logarithm=lambda maximum, total: maximum,
)


wrong(
    "any block size will do",
    "What should happen with a block size below 1? The docstring says it.",
    refuse=lambda block_size: None,
    size=lambda key_len, block_size: max(1, block_size),
)


wrong(
    "gradients do not reach the scores",
    """The numbers are right, but your weights are cut off from the graph, so queries and keys would
    never learn.""",
    weigh=torch.detach,
)


checks.usual("detached")


wrong(
    "the output is all that is asked for",
    "How many results does the docstring name?",
    then=lambda results: results[0],
)


checks.usual("in another order")


wrong(
    "attention works in float32",
    """The numbers are right to seven digits. Which dtype did the arguments have, and which one does
    your result have?""",
    then=each(torch.Tensor.float),
)


@right
def by_descriptions(query, key, value, block_size, causal=False):
    """Describes each block by itself, and merges the descriptions."""
    if block_size <= 0:
        raise ValueError("too small")
    offset, whole_so_far = len(key) - len(query), None
    rows = torch.arange(len(query), device=query.device)
    for start in range(0, len(key), block_size):
        scores = (query @ key[start : start + block_size].T) * query.shape[-1] ** -0.5
        if causal:
            columns = torch.arange(start, start + scores.shape[1], device=query.device)
            barred = columns[None] > rows[:, None] + offset
            scores = torch.where(barred, -math.inf, scores)
        maximum = scores.detach().max(dim=-1).values
        start_from = maximum.masked_fill(maximum.isneginf(), 0)
        exponentials = (scores - start_from[:, None]).exp()
        block = maximum, exponentials.sum(-1), exponentials @ value[start : start + block_size]
        whole_so_far = block if whole_so_far is None else merged(whole_so_far, block)
    maximum, total, summed = whole_so_far
    return summed / total[:, None], maximum + torch.log(total)


def merged(one, other):
    maximum = torch.maximum(one[0], other[0])
    start_from = maximum.masked_fill(maximum.isneginf(), 0)
    first, second = (torch.exp(each[0] - start_from) for each in (one, other))
    total = first * one[1] + second * other[1]
    return maximum, total, first[:, None] * one[2] + second[:, None] * other[2]


@right
def by_halves(query, key, value, block_size, causal=False):
    """Splits the keys in two until a block is small enough."""
    if block_size < 1:
        raise ValueError(block_size)
    query = query / query.shape[-1] ** 0.5
    last = from_the_end(len(query), len(key), device=query.device)

    def described(low, high):
        if high - low > block_size:
            middle = (low + high) // 2
            return merged(described(low, middle), described(middle, high))
        scores = query @ key[low:high].mT
        if causal:
            later = torch.arange(low, high, device=query.device) > last
            scores = scores.masked_fill(later, -math.inf)
        maximum = scores.detach().amax(-1)
        start_from = maximum.masked_fill(maximum.isneginf(), 0)
        exponentials = torch.exp(scores - start_from[:, None])
        return maximum, exponentials.sum(-1), exponentials @ value[low:high]

    maximum, total, summed = described(0, len(key))
    return summed / total.unsqueeze(-1), maximum + total.log()


@right
def in_tiles_of_both(query, key, value, block_size, causal=False):
    """Goes through blocks of queries, too, and leaves out blocks that none of them sees."""
    if block_size < 1:
        raise ValueError("at least one")
    offset, results = len(key) - len(query), []
    for top, rows in zip(range(0, len(query), block_size), query.split(block_size), strict=True):
        output, sums = 0, None
        for start in range(0, len(key), block_size):
            if causal and start > top + len(rows) - 1 + offset:
                break
            keys, values = key[start : start + block_size], value[start : start + block_size]
            scores = rows @ keys.mT / math.sqrt(query.shape[-1])
            if causal:
                here = torch.arange(top, top + len(rows), device=query.device)[:, None] + offset
                there = torch.arange(start, start + len(keys), device=query.device)
                lowest = torch.finfo(scores.dtype).min
                new = scores.masked_fill(there > here, lowest).logsumexp(-1)
                scores = scores.masked_fill(there > here, -math.inf)
            else:
                new = scores.logsumexp(-1)
            both = new if sums is None else torch.logaddexp(sums, new)
            part = torch.exp(scores - both[:, None]) @ values
            output = part if sums is None else torch.exp(sums - both)[:, None] * output + part
            sums = both
        results.append((output, sums))
    return torch.cat([each for each, _ in results]), torch.cat([each for _, each in results])


@right
def key_by_key(query, key, value, block_size, causal=False):
    """Takes one key after the other, however large a block may be."""
    if block_size < 1:
        raise ValueError("at least one")
    sums, output = None, None
    for place in range(len(key)):
        first = max(0, place - (len(key) - len(query))) if causal else 0
        score = (query @ key[place]) / math.sqrt(query.shape[-1])
        if causal:
            later = torch.arange(len(query), device=query.device) < first
            score = score.masked_fill(later, -math.inf)
        if sums is None:
            sums, output = score, value[place].expand(len(query), -1)
            continue
        both = torch.logaddexp(sums, score)
        old, new = torch.exp(sums - both), torch.exp(score - both)
        output = old[:, None] * output + new[:, None] * value[place]
        sums = both
    return output, sums
