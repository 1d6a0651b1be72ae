"""What a translator writes of one sentence when some of its heads are off, and how sure it still is
of each word: for each head alone, and for all sets of heads of the cross-attention. The explorer of
chapter 12 shows it where no model runs in the page.
"""

from contextlib import ExitStack

import torch

from book.experiments.heads.patching import OTHER
from book.experiments.heads.translators import Seen, attentions
from solutions.translator.data.tokenizer import BOS, EOS

GROUPS = ("cross", "decoder", "encoder")  # the explorer's order
MOST = 24  # words of a translation


@torch.no_grad()
def recorded(model, sentence, english, italian):
    """Translate a sentence with all heads, and without some.

    Args:
        sentence: str.
        english, italian: the words of both vocabularies, by their ids.

    Returns:
        dict. `other_gender` is `OTHER`. `first` is what all heads do: `source` and `written` words,
        `weights` of the cross-attention (words, layers, heads, source words), and for each word its
        `rivals`: the same article of the other gender, or else the second choice. `without` has a
        row for each set of heads: the set, as a number with a bit for each head, what is written,
        as a number of `sentences`, and for each of the first's words the logit of its rival minus
        its own.
    """
    source = sentence.split()
    src = torch.tensor([[english.index(word) for word in source]])
    everything = [module for group in GROUPS for module in attentions(model)[group]]
    heads = sum(module.num_heads for module in everything)
    cross = sum(module.num_heads for module in attentions(model)["cross"])
    sets = [*range(2**cross), *(1 << head for head in range(cross, heads))]
    gates = torch.tensor([[not off >> head & 1 for head in range(heads)] for off in sets]).float()
    (whole,) = greedy(model, src, everything, gates[:1])
    tgt = torch.tensor([[BOS, *whole[:-1]]])
    with Seen(model) as seen:
        (logits,) = model(src, tgt)
    rivals = [rival(italian, word, row) for word, row in zip(whole, logits, strict=True)]
    written = greedy(model, src, everything, gates)
    with switched(everything, gates):
        found = model(src.expand(len(sets), -1), tgt.expand(len(sets), -1))
    places = range(len(whole))
    leads = found[:, places, rivals] - found[:, places, whole]
    sentences = list(dict.fromkeys(map(tuple, written)))
    weights = torch.stack([seen.weights["cross", layer][0] for layer in range(len(model.decoder))])
    return {
        "other_gender": OTHER,
        "first": {
            "source": source,
            "unknown": [],
            "written": [italian[word] for word in whole],
            "weights": rounded(weights.permute(2, 0, 1, 3), 3),
            "rivals": [italian[word] for word in rivals],
        },
        "sentences": [[italian[word] for word in words] for words in sentences],
        "without": [
            [off, sentences.index(tuple(words)), *rounded(row, 1)]
            for off, words, row in zip(sets, written, leads, strict=True)
        ],
    }


def rival(italian, word, logits):
    """Return the id of the article of the other gender, or else of the second choice."""
    if italian[word] in OTHER:
        return italian.index(OTHER[italian[word]])
    return next(other for other in logits.topk(2).indices.tolist() if other != word)


def rounded(numbers, digits):
    if numbers.dim() > 1:
        return [rounded(each, digits) for each in numbers]
    return [round(number, digits) + 0.0 for number in numbers.tolist()]


def switched(modules, gates):
    """Return a context in which each row of a batch has its own gates.

    Args:
        modules: of attention.
        gates: (batch, heads of all modules).
    """
    blocks = ExitStack()
    shares = gates.split([module.num_heads for module in modules], dim=1)
    for module, share in zip(modules, shares, strict=True):

        def close(_, given, share=share):
            found = given[0].unflatten(-1, (share.shape[1], -1))
            return ((found * share[:, None, :, None]).flatten(-2),)

        blocks.callback(module.w_o.register_forward_pre_hook(close).remove)
    return blocks


def greedy(model, src, modules, gates):
    """Translate one sentence with each row of gates.

    Returns:
        list of lists of int, ending with `<eos>` unless they are too long.
    """
    written = [[] for _ in gates]
    open_rows = list(range(len(gates)))
    while open_rows and len(written[open_rows[0]]) < MOST:
        tgt = torch.tensor([[BOS, *written[row]] for row in open_rows])
        with switched(modules, gates[open_rows]):
            logits = model(src.expand(len(tgt), -1), tgt)[:, -1]
        for row, word in zip(open_rows, logits.argmax(dim=-1).tolist(), strict=True):
            written[row].append(word)
        open_rows = [row for row in open_rows if written[row][-1] != EOS]
    return written
