"""One model for all tasks: text goes in, behind the name of the task, and text comes out.

The model is chapter 8's Transformer. It learns six tasks at once: to translate the sentences of the
course's corpus into Italian, and the five of `grammar_tasks` as text: "entities : paolo sleeps in
the garden" -> "name paolo place garden". Beside it stands what copies the sentence, and what always
gives the most frequent answer.
"""

from collections import Counter

import torch

from book.experiments import Experiment
from book.experiments.family.grammar_tasks import TEST, kind, questions, summary
from book.experiments.undisturbed import undisturbed
from solutions.ch08_encoder_decoder import Transformer, greedy_decode
from solutions.ch09_training import train_step
from solutions.translator import corpus
from solutions.translator.corpus.draw import drawn_splits
from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS, EOS, SPECIALS

LABELLED = 20_000  # sentences of the training whose answers are given
BATCH, PEAK, WARM_UP = 64, 2e-3, 200
SHAPE = {
    "d_model": 96,
    "num_heads": 4,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "d_ff": 384,
}


def texts_of(known):
    """Return the tasks of an annotated sentence as (task, text, answer), lists of words; a task
    that the sentence does not have is left out.
    """
    english = list(known.english)
    entities = [
        word for pair in zip(known.entities[0], english, strict=True) if pair[0] for word in pair
    ]
    found = [
        ("translate", english, list(known.italian)),
        ("kind", english, [kind(known)]),
        ("entities", english, entities or ["none"]),
        ("roles", english, [role or "?" for role in known.roles[0]]),
        ("summary", english, summary(known)),
    ]
    found += [
        ("question", [asked, ":", *english], english[start:end])
        for asked, (start, end) in questions(known).items()
    ]
    return [(task, [task, ":", *text], answer) for task, text, answer in found]


def annotated(count):
    """Return the first `count` sentences of the training, annotated."""
    kept = []

    def note(split, drawn):
        if split == "train" and len(kept) < count:
            kept.append(corpus.annotate(drawn))

    drawn_splits(0, note, ("train",))
    return kept


def ids_of(rows, numbers):
    """Return rows of words as ids."""
    return [[numbers[word] for word in row] for row in rows]


def measure(steps, seeds):
    """Train with each seed.

    Returns:
        list of dict: for each seed and task, of 1,000 sentences of which none was seen, the shares
        of answers that are `right` from the first word to the last, of a `copy` of the sentence,
        and of the most frequent answer, `majority`; `asked`, how many answers there are.
    """
    train = [each for known in annotated(LABELLED) for each in texts_of(known)]
    test = [each for known in corpus.annotations()["random"][:TEST] for each in texts_of(known)]
    words = sorted({word for each in train for side in each[1:] for word in side})
    numbers = {word: number for number, word in enumerate((*SPECIALS, *words))}
    test = [each for each in test if numbers.keys() >= {*each[1], *each[2]}]
    src = padded(ids_of([text for _, text, _ in train], numbers))
    tgt = padded([[BOS, *row, EOS] for row in ids_of([each[2] for each in train], numbers)])
    common = {}
    for task, _, answer in train:
        common.setdefault(task, Counter())[tuple(answer)] += 1
    return [row for seed in seeds for row in of_seed(seed, steps, src, tgt, test, numbers, common)]


def of_seed(seed, steps, src, tgt, test, numbers, common):
    """Yield the entries of one seed."""
    with undisturbed():
        torch.manual_seed(seed)
        model = Transformer(len(numbers), len(numbers), **SHAPE, dropout=0.1, norm_first=True)
        optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = PEAK * min((step + 1) / WARM_UP, (steps - step) / steps)
            rows = torch.randint(len(src), (BATCH,))
            longest = (src[rows] != 0).sum(1).max(), (tgt[rows] != 0).sum(1).max()
            train_step(model, optimizer, src[rows, : longest[0]], tgt[rows, : longest[1]])
        model.eval()
        names, said = {number: word for word, number in numbers.items()}, []
        for start in range(0, len(test), 256):
            batch = padded(ids_of([text for _, text, _ in test[start : start + 256]], numbers))
            for row in greedy_decode(model, batch, max_len=24).tolist():
                said.append([names[each] for each in row[1:] if each > EOS])
    for task in common:
        asked = [
            (text, answer, out)
            for (of, text, answer), out in zip(test, said, strict=True)
            if of == task
        ]
        most = list(common[task].most_common(1)[0][0])
        yield {
            "task": task,
            "seed": seed,
            "asked": len(asked),
            "right": sum(answer == out for _, answer, out in asked) / len(asked),
            "copy": sum(answer == text[2:] for text, answer, _ in asked) / len(asked),
            "majority": sum(answer == most for _, answer, _ in asked) / len(asked),
        }


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="can one model do all tasks, if all are text to text?",
    long={"steps": 4000, "seeds": 3},
    measure=measure,
)
