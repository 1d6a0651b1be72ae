"""What the heads' weights show: which word translates which, where a head looks while an article is
written, how spread out it is, and what the model would say after each layer.
"""

from dataclasses import replace

import torch

from book.experiments import Experiment
from book.experiments.heads.translators import Seen, article_at, read, trained
from solutions.ch12_interpretation import (
    alignment_error_rate,
    attention_entropy,
    logit_lens,
    read_alignment,
)
from solutions.translator import corpus
from solutions.translator.data.tokenizer import EOS

SHIFTS = (0, 1)  # the row that writes a word, and the row after it, which has read it


@torch.no_grad()
def measure(steps, seeds):
    """Read the alignment from each head, and say where it looks.

    Returns:
        list of dict, for each seed one with `kind` "model", one with `kind` "head" for each head
        of the cross-attention and for their mean in each layer (`head` "mean"), and one with `kind`
        "back" for each head of the decoder's self-attention.

        model: `trained_seconds`; `sentences`, `words` and `right`, of the next words that are
        predicted with the right ones before them; `floor`, the error rate of weights that are on
        linked words, one for each row; `articles` of the words and `articles_right`; `lens`,
        for each layer of the decoder the share of `articles` and of `others` whose likeliest word
        is right there.

        head: `layer`, `head`; `error_rate`, of the alignment that is read off, of the rows that
        write the words and of those after; `linked`, the share of rows, of `articles` and `others`,
        with the most weight on a word that the grammar links to what is written, and `on_noun`, of
        articles on their noun; `noun` and `article`, the mean weight on either while an article is
        written that has both in English (`rows` of them); `entropy`, its mean in nats; `last` and
        `stop`, of the rows that write `<eos>`: the mean weight on the last English word of a
        statement, and on the question mark of a question.

        back: `layer`, `head`; `bos`, the mean weight on `<bos>` where at least two words were
        written since; `bos_value`, the length of its value there, as a multiple of the mean length
        at words.
    """
    known = corpus.annotations()["validation"]
    return [row for seed in seeds for row in rows_of(seed, *trained(steps, seed), known)]


def rows_of(seed, run, model, known):
    """Yield the entries of one seed."""
    sentences = read(run, known)
    with Seen(model) as seen:
        logits = model(sentences.src, sentences.tgt)
    right = (logits.argmax(dim=-1) == sentences.expected) & sentences.words
    articles = sentences.is_article()
    yield {
        "seed": seed,
        "kind": "model",
        "sentences": len(known),
        "trained_seconds": round(run.about["state"]["seconds"]),
        "words": int(sentences.words.sum()),
        "right": int(right.sum()),
        "floor": error_rate(perfect(sentences), sentences, 0),
        "articles": int(articles.sum()),
        "articles_right": int((right & articles).sum()),
        "lens": list(lens_of(model, seen, sentences, articles)),
    }
    for layer in range(len(model.decoder)):
        weights = seen.weights["cross", layer]
        for head in range(weights.shape[1]):
            yield head_row(seed, layer, head, weights[:, [head]], sentences)
        yield head_row(seed, layer, "mean", weights, sentences)
    for layer in range(len(model.decoder)):
        yield from back_rows(seed, layer, seen, sentences)


def lens_of(model, seen, sentences, articles):
    """Yield for each layer the share of articles and of other words that it already has right."""
    read_early = logit_lens(torch.stack(seen.hidden), model.decoder_norm, model.generator)
    for logits in read_early:
        right = logits.argmax(dim=-1) == sentences.expected
        chosen = {"articles": articles, "others": sentences.words & ~articles}
        yield {
            name: round(float(right[places].float().mean()), 4) for name, places in chosen.items()
        }


def perfect(sentences):
    """Return weights with one linked word in each row, a sure one where there is one."""
    weights = torch.zeros(len(sentences.known), 1, sentences.tgt.shape[1], sentences.src.shape[1])
    for row, known in zip(weights[:, 0], sentences.known, strict=True):
        for i, j in sorted(known.possible, key=lambda link: (link in known.sure, link)):
            row[j] = 0
            row[j, i] = 1
    return weights


def head_row(seed, layer, head, weights, sentences):
    """Return the entry of a head, or of several together.

    Args:
        weights: (batch, heads, tgt_len, src_len).
    """
    mean = weights.mean(dim=1)  # (batch, tgt_len, src_len)
    spread = attention_entropy(weights).mean(dim=1)[sentences.words]
    return {
        "seed": seed,
        "kind": "head",
        "layer": layer,
        "head": head,
        "error_rate": [error_rate(weights, sentences, shift) for shift in SHIFTS],
        **where_the_most_is(weights, sentences),
        **where_articles_look(mean, sentences),
        "entropy": round(float(spread.mean()), 4),
        **where_the_end_looks(mean, sentences),
    }


def back_rows(seed, layer, seen, sentences):
    """Yield the entries of a layer's self-attention in the decoder."""
    weights = seen.weights["decoder", layer]  # (batch, heads, tgt_len, tgt_len)
    values = seen.values["decoder", layer].unflatten(-1, (weights.shape[1], -1)).norm(dim=-1)
    later = sentences.words.clone()
    later[:, :2] = False  # at least two words are there to be looked at
    read = sentences.tgt > EOS
    for head in range(weights.shape[1]):
        at_words = values[..., head][read].mean()
        yield {
            "seed": seed,
            "kind": "back",
            "layer": layer,
            "head": head,
            "bos": round(float(weights[:, head, :, 0][later].mean()), 4),
            "bos_value": round(float(values[:, 0, head].mean() / at_words), 4),
        }


def error_rate(weights, sentences, shift):
    """Return the error rate of the alignment that is read off, of all sentences together."""
    aligned = read_alignment(weights, sentences.src != 0).tolist()
    predicted, sure, possible = set(), set(), set()
    for number, known in enumerate(sentences.known):
        places = range(min(len(known.italian), len(aligned[number]) - shift))
        predicted |= {((number, aligned[number][j + shift]), (number, j)) for j in places}
        sure |= {((number, i), (number, j)) for i, j in known.sure}
        possible |= {((number, i), (number, j)) for i, j in known.possible}
    return round(alignment_error_rate(predicted, sure, possible), 4)


def where_the_most_is(weights, sentences):
    """Return the shares of rows with the most weight on a word that is linked, and on the noun."""
    aligned = read_alignment(weights, sentences.src != 0).tolist()
    linked, on_noun = {"articles": [], "others": []}, []
    for row, known in zip(aligned, sentences.known, strict=True):
        for j in range(len(known.italian)):
            article = article_at(known, j)
            linked["articles" if article else "others"].append((row[j], j) in known.possible)
            if article:
                on_noun.append((row[j], j) in known.agreement)
    return {
        "linked": {name: round(sum(each) / len(each), 4) for name, each in linked.items()},
        "on_noun": round(sum(on_noun) / len(on_noun), 4),
    }


def where_articles_look(mean, sentences):
    """Return the mean weight on the noun and on the English article or the like, over the rows that
    write an article which has both.
    """
    on_noun, on_article = [], []
    for row, known in zip(mean, sentences.known, strict=True):
        for j in range(len(known.italian)):
            nouns = [i for i, to in known.agreement if to == j]
            said_by = [i for i, to in known.possible if to == j]
            if article_at(known, j) and said_by and not set(nouns) & set(said_by):
                on_noun.append(float(row[j, nouns].sum()))
                on_article.append(float(row[j, said_by].sum()))
    count = len(on_noun)
    return {
        "rows": count,
        "noun": round(sum(on_noun) / count, 4),
        "article": round(sum(on_article) / count, 4),
    }


def where_the_end_looks(mean, sentences):
    """Return the mean weight on the last English word while `<eos>` is written, of statements and
    of questions.
    """
    found = {"last": [], "stop": []}
    for row, known, expected in zip(mean, sentences.known, sentences.expected, strict=True):
        place = expected.tolist().index(EOS)
        name = "stop" if known.english[-1] == "?" else "last"
        found[name].append(float(row[place, len(known.english) - 1]))
    return {name: round(sum(each) / max(len(each), 1), 4) for name, each in found.items()}


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="which word translates which, as each head of the translator shows it?",
    long={"steps": 1500, "seeds": 5},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
MORE_EXPERIMENTS = {
    "alignments_longer": replace(
        EXPERIMENT,
        asks="the same, after twice the training",
        long={"steps": 3000, "seeds": 2},
    )
}
