"""Four ways to say which source words a translation depends on, each scored by what it predicts:
attention, rollout, gradients and erasure.
"""

import torch

from book.experiments import Experiment
from book.experiments.heads.translators import Seen, article_at, read, trained
from solutions.ch12_interpretation import attention_rollout
from solutions.translator import corpus
from solutions.translator.data.tokenizer import PAD, SPECIALS

SENTENCES = 200
SWAPS = 5  # random words that replace each source word


def measure(steps, seeds):
    """Score each source word for each written word, in each way.

    Returns:
        list of dict, one for each seed and `method`: `linked`, the share of written words whose
        highest score is on a source word that the grammar links to it; `noun`, the share of
        articles whose two highest scores include the noun; `rank`, the mean over written words of
        Spearman's correlation between the scores and what swapping source words does; `top`, the
        share of written words whose highest score is on the word whose swap does most. `passes` is
        how often the model was run for each sentence, about, where S and T are its words in both
        languages; `rows` and `articles` count the written words.
    """
    known = corpus.annotations()["validation"][:SENTENCES]
    return [row for seed in seeds for row in rows_of(seed, *trained(steps, seed), known)]


def rows_of(seed, run, model, known):
    """Yield the entries of one seed."""
    model.requires_grad_(False)
    sentences = read(run, known)
    effect = swapped(model, sentences, torch.Generator().manual_seed(seed))
    for method, (passes, scores) in methods(model, sentences, seed).items():
        yield {
            "seed": seed,
            "method": method,
            "passes": passes,
            **compared(scores, effect, sentences),
        }


def methods(model, sentences, seed):
    """Return dict: method -> what it costs, and (batch, tgt_len, src_len) scores."""
    with torch.no_grad(), Seen(model) as seen:
        model(sentences.src, sentences.tgt)
    ends = 0, len(model.decoder) - 1
    first, last = (seen.weights["cross", layer].mean(dim=1) for layer in ends)
    encoder = torch.stack([seen.weights["encoder", layer] for layer in range(len(model.encoder))])
    mixed = torch.stack([attention_rollout(each) for each in encoder.transpose(0, 1)])
    by_norm, by_product = gradients(model, sentences)
    chance = torch.rand(first.shape, generator=torch.Generator().manual_seed(seed))
    return {
        "attention, first layer": ("1", first),
        "attention, last layer": ("1", last),
        "last layer and rollout": ("1", last @ mixed),
        "gradient": ("1 + T", by_norm),
        "gradient times input": ("1 + T", by_product),
        "erasure": ("1 + S", erased(model, sentences)),
        "chance": ("0", chance),
    }


def right_words(model, src, sentences):
    """Return (batch, tgt_len): the log-probability of each right word."""
    logits = model(src, sentences.tgt)
    return logits.log_softmax(dim=-1).gather(-1, sentences.expected[..., None])[..., 0]


def gradients(model, sentences):
    """Return two (batch, tgt_len, src_len): the length of the gradient of a right word's
    log-probability with respect to each source word's embedding, and the size of its inner product
    with it.
    """
    embedded = []

    def keep(module, given, output):
        embedded.append(output.detach().requires_grad_())
        return embedded[0]

    handle = model.src_embedding.register_forward_hook(keep)
    log_probs = right_words(model, sentences.src, sentences)
    handle.remove()
    rows = [
        torch.autograd.grad(log_probs[:, t].sum(), embedded[0], retain_graph=True)[0]
        for t in range(log_probs.shape[1])
    ]
    found = torch.stack(rows, dim=1)  # (batch, tgt_len, src_len, d_model)
    return found.norm(dim=-1), (found * embedded[0][:, None]).sum(dim=-1).detach().abs()


@torch.no_grad()
def erased(model, sentences):
    """Return (batch, tgt_len, src_len): by how much a right word's log-probability falls when no
    position may look at a source word, because it is masked like padding.
    """
    before = right_words(model, sentences.src, sentences)
    drops = []
    for place in range(sentences.src.shape[1]):
        src = sentences.src.clone()
        alone = (src != PAD).sum(dim=1) == 1  # a sentence keeps its last word
        src[~alone, place] = PAD
        drops.append(before - right_words(model, src, sentences))
    return torch.stack(drops, dim=-1)


@torch.no_grad()
def swapped(model, sentences, generator):
    """Return (batch, tgt_len, src_len): by how much a right word's log-probability falls when
    another word, drawn from all of the vocabulary, takes the place of a source word; a mean over
    several draws.
    """
    before = right_words(model, sentences.src, sentences)
    vocab_size = model.src_embedding.num_embeddings
    drops = torch.zeros(*before.shape, sentences.src.shape[1])
    for place in range(sentences.src.shape[1]):
        for _ in range(SWAPS):
            drawn = torch.randint(len(SPECIALS), vocab_size, (len(before),), generator=generator)
            src = sentences.src.clone()
            src[:, place] = torch.where(src[:, place] == PAD, PAD, drawn)
            drops[..., place] += (before - right_words(model, src, sentences)) / SWAPS
    return drops


def compared(scores, effect, sentences):
    """Return how well scores fit the grammar, and what swapping does."""
    linked, nouns, ranks, tops = [], [], [], []
    for number, known in enumerate(sentences.known):
        words = len(known.english)
        if words < 3:
            continue
        for j in range(len(known.italian)):
            row, does = scores[number, j, :words], effect[number, j, :words]
            best = row.argsort(descending=True).tolist()
            linked.append((best[0], j) in known.possible)
            tops.append(best[0] == int(does.argmax()))
            ranks.append(spearman(row, does))
            said_by = {i for i, to in known.possible if to == j}
            deciding = {i for i, to in known.agreement if to == j}
            if article_at(known, j) and said_by and not said_by & deciding:
                nouns.append(bool(deciding & set(best[:2])))
    return {
        "rows": len(linked),
        "articles": len(nouns),
        **{
            name: round(sum(each) / len(each), 4)
            for name, each in (("linked", linked), ("noun", nouns), ("rank", ranks), ("top", tops))
        },
    }


def spearman(one, other):
    """Return Spearman's correlation of two lists of numbers without ties."""
    ranks = torch.stack([each.argsort().argsort().double() for each in (one, other)])
    return float(torch.corrcoef(ranks)[0, 1])


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="which way of pointing at source words predicts what they do?",
    long={"steps": 1500, "seeds": 5},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
