"""A translator that is not done learning: the little one of chapter 8 after few steps, so that a
search has something to find.
"""

from functools import cache

import torch

from book.experiments import Experiment
from book.experiments.little import toy_translation
from book.experiments.undisturbed import one_thread, undisturbed

STEPS = 125
SENTENCES = ("my fox runs", "the red rabbit runs", "a rabbit follows the fox", "a fox is white")
MAX_LEN = 7
SIZES = (1, 2, 3, 4, 5)
LOOKED_AT = 2 * max(SIZES)  # extensions in all; so no more than that of any one beginning
DECIMALS = 4


def trained(steps=STEPS):
    """Train the translator, in about two seconds. Random numbers and the number of threads are
    afterwards what they were.
    """
    with undisturbed():
        return toy_translation.train_translator(steps=steps)


def next_words(translator, sentence):
    """Return what a beam search asks.

    Args:
        sentence: an English sentence to translate.

    Returns:
        a function of prefixes (beam, len) int64, which gives the log-probabilities (beam,
        vocab_size) of the next word, float32. They are rounded, so that a page can hold them, and
        each prefix is looked at by itself, so that no row depends on those beside it.
    """
    src = translator.source(sentence)

    @cache
    def row(prefix):
        with torch.no_grad(), one_thread():
            logits = translator.model(src, torch.tensor([prefix]))[0, -1]
        return logits.log_softmax(dim=-1).round(decimals=DECIMALS)

    def step_log_probs(prefixes):
        return torch.stack([row(tuple(prefix)) for prefix in prefixes.tolist()])

    return step_log_probs


def searched(translator, sentence, beam_search):
    """Note what beams of all sizes ask about a sentence.

    Args:
        beam_search: the reference.

    Returns:
        dict: `source`, its words, and `rows`: for each beginning that is asked about its ids
        without `<bos>`, the ids of its likeliest next words, and their log-probabilities.
    """
    answers, asked = next_words(translator, sentence), {}

    def noted(prefixes):
        asked.update((tuple(prefix), None) for prefix in prefixes.tolist())
        return answers(prefixes)

    for size in SIZES:
        beam_search(noted, beam_size=size, max_len=MAX_LEN)
    rows = []
    for prefix in asked:
        best = answers(torch.tensor([prefix]))[0].topk(LOOKED_AT)
        log_probs = [round(number, DECIMALS) for number in best.values.tolist()]
        rows.append([list(prefix[1:]), best.indices.tolist(), log_probs])
    return {"source": sentence.split(), "rows": rows}


def explorer_state(translator, beam_search):
    """Return what the explorer of beam search needs to search by itself."""
    sentences = [searched(translator, sentence, beam_search) for sentence in SENTENCES]
    return {"sentences": sentences, "vocabulary": list(translator.italian), "max_len": MAX_LEN}


EXPERIMENT = Experiment(
    page="ch09_training",
    asks="what does a beam find that a greedy search misses?",
    short={"steps": 125, "seeds": 1},
)
