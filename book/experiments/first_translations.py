"""What does the translator of the first page write, where does it look while it writes, and which
words were likely?
"""

import torch

from book.experiments import Experiment
from book.experiments.heads.translators import trained
from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS
from solutions.translator.decoding import translate_ids
from solutions.translator.measure.attention_map import cross_attention

SENTENCES = (
    "your cat is a lovely cat",
    "the old women do not read the new book",
    "my cousin reads the book",
)
UNKNOWN = "<unk>"
LIKELY = 5  # words that are shown for each place


def measure(steps, seeds):
    """Translate the sentences that the first page offers.

    Returns:
        list of dict, one for each seed and sentence: `source` and `written`, their words, the last
        of the latter `<eos>`; `unknown`, the source words that it has never seen; `weights`,
        (written, layers, heads, source) nested lists, the cross-attention; `likely`, for each
        written word the likeliest words of that place, each with its probability.
    """
    return [
        {"seed": seed, **translated(*trained(steps, seed), sentence)}
        for seed in seeds
        for sentence in SENTENCES
    ]


def translated(run, model, sentence):
    """Return what `measure` says of one sentence.

    Args:
        run: FinishedRun.
        model: its Transformer, as chapter 8 builds it.
    """
    [source], unknown = run.source.encode([sentence]), run.source.unknown_words(sentence)
    unseen = iter(unknown)
    words = [next(unseen) if word == UNKNOWN else word for word in run.source.tokens(sentence)]
    return {"source": words, "unknown": unknown, **written(model, source, run.target.token)}


def written(model, source, token):
    """Return what `measure` says of a translation.

    Args:
        source: list of int, the ids of a sentence.
        token: function from an id to its word.
    """
    [target] = translate_ids(model, [source])
    with torch.no_grad():
        logits = model(padded([source]), padded([[BOS, *target]]))[0]
    shares, ids = logits.softmax(dim=-1).topk(LIKELY)
    likely = [
        [[token(int(number)), round(float(share), 4)] for number, share in zip(*place, strict=True)]
        for place in zip(ids, shares, strict=True)
    ]
    weights = cross_attention(model, source, target).transpose(2, 0, 1, 3)
    return {
        "written": [place[0][0] for place in likely],
        "weights": [
            [[[round(float(x), 3) for x in row] for row in heads] for heads in layers]
            for layers in weights
        ],
        "likely": likely,
    }


EXPERIMENT = Experiment(
    page="index",
    asks="what does the translator of the first page write, and where does it look?",
    long={"steps": 1500, "seeds": 1},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
