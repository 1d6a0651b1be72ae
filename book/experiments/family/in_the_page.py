"""The models of chapter 13 that readers run in the page: what its explorers begin with, before they
have fetched a model, and the files that they fetch (`book.sphinx_ext.assets` has them made).
"""

import torch

from book.experiments.family import alice, gap_model
from solutions.translator.data.tokenizer import PAD

WEIGHTS = {"gpt": alice.WEIGHTS, "gap": gap_model.WEIGHTS}  # by the names of the exported files
EXAMPLES = [
    "the cat is tired",
    "my brother reads the old newspaper",
    "the old cat sleeps",
    "i sleep in the garden",
    "why did the dogs follow him?",
]
DIGITS = 6  # of a number that comes with the page


def model(name):
    """Return a LanguageModel, its words and the id of its padding: `gpt` writes letters, and `gap`
    fills gaps.
    """
    if name == "gpt":
        return alice.loaded(), alice.letters(), alice.PAD
    return *gap_model.load(), PAD


@torch.no_grad()
def sampler_state(prompt):
    """Return what the explorer `sampler` begins with: the characters, the prompt and the logits
    after it.
    """
    gpt, characters, pad_id = model("gpt")
    logits = (
        gpt(alice.encoded(prompt)[None], pad_id)[0, -1].double().round(decimals=DIGITS).tolist()
    )
    return {"characters": characters, "first": {"prompt": prompt, "logits": logits}}


@torch.no_grad()
def gap_state(sentence, gap, place, other):
    """Return what the explorer `gap` begins with: a sentence, what the model puts into its gap, and
    what it puts there when `other` takes the place of another word.

    Args:
        sentence: words, with spaces between them.
        gap: which of them is hidden, from 0.
        place: which other one changes.
        other: what it becomes.
    """
    bidirectional, vocabulary, pad_id = model("gap")
    words = sentence.split()
    first = {"words": words, "gap": gap, "place": place, "other": other}
    changed = [other if at == place else word for at, word in enumerate(words)]
    for name, line in (("before", words), ("after", changed)):
        ids = gap_model.encoded([line], vocabulary)
        ids[0, gap] = gap_model.MASK
        shares = bidirectional(ids, pad_id)[0, gap].double().softmax(dim=-1)
        first[name] = shares.round(decimals=DIGITS).tolist()
    longest = bidirectional.position_embedding.num_embeddings
    return {
        "vocabulary": vocabulary, "first": first, "longest": longest, "examples": EXAMPLES,
    }  # fmt: skip
