"""What passes through the translator of the first page while it writes: the numbers that the map of
the Transformer shows when a reader follows a sentence. Its parameters are those that the page of
chapter 12 asks, rounded to a byte each, so that the page computes the numbers itself.
"""

import math

import torch

from book.experiments.first_translations import written
from book.experiments.heads import in_the_page
from book.experiments.heads.translators import Seen, keeper
from solutions.ch05_multi_head import split_heads
from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS, UNK
from solutions.translator.decoding import translate_ids

SHOWN = 8  # numbers of each vector, the first of them
DECIMALS = 2


def followed_examples(recorded, *others):
    """Return what the first page's explorer needs, with what passes inside.

    Args:
        recorded: list of dict, as the experiment `first_translations` returns it.
        others: sentences of known words; they are translated here.

    Returns:
        list of dict: those of `recorded`, and the same for each of `others`, each with `inside`, as
        `followed` returns it. What `written` finds is computed here with the rounded parameters, so
        that all numbers of the page belong together.
    """
    model, english, italian = in_the_page.translator()
    ids = {word: number for number, word in enumerate(english)}
    examples = [*recorded, *({"source": each.split(), "unknown": []} for each in others)]
    found = []
    for each in examples:
        source = [ids.get(word, UNK) for word in each["source"]]
        now = written(model, source, italian.__getitem__)
        found.append({**each, **now, "inside": followed(model, source)})
    return found


def followed(model, source):
    """Return what passes through a model while it reads a sentence and writes its translation.

    Args:
        model: chapter 8's Transformer.
        source: list of int, the ids of a sentence.

    Returns:
        dict: `width`, of a vector; `layers` and `heads`, how many; `source` and `written` (the
        latter begins with `<bos>`), each a dict of `ids`, of `rows` of the table, multiplied by the
        root of the width, and of `places`, the same with positions added; `looks`, (source,
        source), the self-attention of the encoder's first layer, on average over its heads;
        `memory`; `back`, the same as `looks` for the decoder, for each written word a list that
        ends with itself; `asks`, as `asking` returns it, of the last cross-attention; `end`, what
        the decoder makes of each written word. Of each vector the first `SHOWN` numbers.
    """
    [target] = translate_ids(model, [source])
    src, tgt = padded([source]), padded([[BOS, *target]])
    cross, parts = model.decoder[-1].cross_attention, {}
    with torch.no_grad(), Seen(model) as seen:
        for name in ("w_q", "w_k", "w_v"):
            seen.hook(getattr(cross, name).register_forward_hook(keeper(parts, name)))
        memory = model.encode(src)
        end = model.decode(tgt, memory, src)
        read, wrote = embedded(model, src, "src"), embedded(model, tgt, "tgt")
    looks, back = (seen.weights[group, 0][0].mean(dim=0) for group in ("encoder", "decoder"))
    return {
        "width": model.d_model,
        "layers": len(model.decoder),
        "heads": cross.num_heads,
        "source": {"ids": source, **read},
        "written": {"ids": tgt[0].tolist(), **wrote},
        "looks": rounded(looks),
        "memory": rounded(memory[0, :, :SHOWN]),
        "back": [row[: place + 1] for place, row in enumerate(rounded(back))],
        "asks": asking(*(split_heads(parts[name], cross.num_heads)[0] for name in parts)),
        "end": rounded(end[0, :, :SHOWN]),
    }


def asking(query, key, value):
    """Return how weights come about, for each query in the head that is least sure there, and what
    is mixed by them.

    Args:
        query: (heads, written, head_dim).
        key, value: (heads, source, head_dim).

    Returns:
        dict: `head_dim`; `heads`, for each query the head whose largest weight is the smallest;
        `queries`, of these heads; `keys` and `values`, of all heads; `scores`, (written, source),
        of these heads: their softmax is their weights. Of queries, keys and values the first
        `SHOWN` numbers.
    """
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (heads, written, source)
    unsure = scores.softmax(dim=-1).amax(dim=-1).argmin(dim=0)
    places = torch.arange(len(unsure))
    return {
        "head_dim": query.shape[-1],
        "heads": unsure.tolist(),
        "queries": rounded(query[unsure, places, :SHOWN]),
        "keys": [rounded(each[:, :SHOWN]) for each in key],
        "values": [rounded(each[:, :SHOWN]) for each in value],
        "scores": rounded(scores[unsure, places]),
    }


def embedded(model, ids, side):
    """Return the vectors of some words, before and after positions are added to them.

    Args:
        ids: (1, seq_len) int64.
        side: "src" or "tgt".
    """
    table = getattr(model, f"{side}_embedding")
    rows = table(ids)[0, :, :SHOWN] * model.d_model**0.5
    places = model.embed(ids, table)[0, :, :SHOWN]
    return {"rows": rounded(rows), "places": rounded(places)}


def rounded(numbers):
    """Return a tensor as nested lists of numbers with few decimals."""
    return [[round(number, DECIMALS) for number in row] for row in numbers.tolist()]
