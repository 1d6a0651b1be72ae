"""How many answers does pretraining spare, if each model may train as long as it gets better?

`grammar_tasks` gives every model the same steps, so that one that was not trained before may lack
steps and not answers. Here a model trains on few sentences with answers until those of
`HELD` other sentences have not been found any better for `PATIENCE` steps, and keeps the weights
with which they were found best. A model that was pretrained by masked words and one that was not
have the same sentences, the same rate and the same rule.

The rate was chosen in a trial with another seed, by the sentences that are held back; of two it is
the better one for a model without pretraining that has 50 sentences.

    python -m book.experiments few_answers

trains three seeds. The page fine-tunes the pretrained model of seed 0 itself:

    python -m book.experiments.family.few_answers

pretrains that one again and writes its weights, in 16 bits, with its words to
`book/measured/few_answers.safetensors`.
"""

import copy
import json

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from book.experiments import Experiment
from book.experiments.family.grammar_tasks import (
    ASKED,
    MASK,
    PEAK,
    SHAPE,
    TEST,
    WORDS_BEFORE,
    Data,
    Reader,
    counted,
    loss_of,
    score,
    update,
)
from book.experiments.measurements import FOLDER
from book.experiments.undisturbed import undisturbed
from solutions.ch13_family import mask_tokens
from solutions.family.models import Bert
from solutions.translator import corpus
from solutions.translator.corpus.draw import SHAPES, is_short
from solutions.translator.data.tokenizer import PAD

WEIGHTS = FOLDER / "few_answers.safetensors"
PRETRAINING = 1500  # steps
TASKS = ("question",)
WAYS = ("pretrained", "from_scratch")
HELD = 200  # sentences whose answers choose the steps
TEXTS, BATCH = 32, 16  # sentences of a step, without and with answers
RATE, WARM_UP, EVERY, PATIENCE = 2e-3, 50, 50, 200


def trimmed(token_ids, *others):
    """Cut the columns off that hold nothing but padding, from tensors of the same width, too.

    Args:
        token_ids: (batch, seq_len) int64; padding comes after the words.
        others: (batch, ...); those that are not (batch, seq_len) stay as they are.

    Returns:
        tuple of all of them.
    """
    length = int((token_ids != PAD).sum(dim=1).max())
    return tuple(
        each[:, :length] if each.shape == token_ids.shape else each for each in (token_ids, *others)
    )


def adam(model, rate):
    """Return the optimizer of `grammar_tasks`, in the form that is fastest for small models."""
    return torch.optim.AdamW(
        model.parameters(), rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )


def pretrain(model, sentences, words, steps):
    """Train a Reader to guess hidden words, as `grammar_tasks.pretrain` does; only the places that
    are asked for are compared with the whole vocabulary, which is faster.

    Args:
        sentences: (sentences, seq_len) int64.
        words: the vocabulary, in the order of the ids.
    """
    model.train()
    special = [number for number, word in enumerate(words) if word in WORDS_BEFORE]
    optimizer = adam(model, PEAK)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = PEAK * min((step + 1) / WARM_UP, (steps - step) / steps)
        (ids,) = trimmed(sentences[torch.randint(len(sentences), (TEXTS,))])
        draws = torch.rand(2, *ids.shape)
        others = torch.randint(len(WORDS_BEFORE), len(words), ids.shape)
        inputs, labels = mask_tokens(ids, MASK, special, *draws, others)
        asked = labels != -100
        if asked.any():
            guesses = model.bert(inputs)[asked] @ model.bert.token_embedding.weight.T
            update(optimizer, loss_of(guesses, labels[asked]), model)


def tune(model, task, given, held, most, rate=RATE):
    """Train a Reader on answers until those that are held back are found no better, and leave it
    with the weights that found them best.

    Args:
        given, held: as `Data.of` returns them.
        most: steps after which it ends in any case.

    Returns:
        dict: `validation`, the share found best, and `steps`, after which that was.
    """
    optimizer = adam(model, rate)
    best, kept = {"validation": -1.0, "steps": 0}, None
    for step in range(1, most + 1):
        optimizer.param_groups[0]["lr"] = rate * min(step / WARM_UP, 1)
        model.train()
        rows = torch.randint(len(given[0]), (min(BATCH, len(given[0])),))
        token_ids, types, answers = trimmed(*(each[rows] for each in given))
        update(optimizer, loss_of(model(task, token_ids, types), answers), model)
        if step % EVERY and step != most:
            continue
        found = score(model, task, held)
        if found > best["validation"]:
            best = {"validation": found, "steps": step}
            kept = copy.deepcopy(model.state_dict())
        elif step - best["steps"] >= PATIENCE:
            break
    model.load_state_dict(kept)
    return best


def read():
    """Return the words by their ids, a Data, and the sentences of the training without answers."""
    unlabelled = [["<class>", *corpus.words(pair[0])] for pair in corpus.splits()["train"]]
    words = [*WORDS_BEFORE, *ASKED.values()]
    words += sorted({word for row in unlabelled for word in row} - set(words))
    data = Data(words)
    return words, data, data.encoded(unlabelled)


def measure(pretraining, labelled, steps, seeds):
    """Train and score.

    Args:
        pretraining: steps of the training by masked words.
        labelled: several numbers of sentences with answers.
        steps: at most, of each training with answers.

    Returns:
        list of dict: `task`, `labelled`, `seed`; `pretrained` and `from_scratch`, the share that
        is right of 1,000 sentences of which none was seen; `validation_` and `steps_` before these
        names, as `tune` returns them; and the shares of `words` and `majority`, which count.
    """
    words, data, sentences = read()
    known = corpus.annotations()
    parts = known["validation"], known["random"][:TEST]
    return [
        row
        for seed in seeds
        for row in of_seed(seed, words, data, sentences, *parts, pretraining, labelled, steps)
    ]


def of_seed(seed, words, data, sentences, pool, test, pretraining, labelled, steps):
    """Yield the entries of one seed, which also chooses the sentences with answers."""
    with undisturbed():
        torch.manual_seed(seed)
        order = torch.randperm(len(pool)).tolist()
        held_back, shown = order[:HELD], order[HELD:]
        model = Reader(words)
        weights = {"from_scratch": copy.deepcopy(model.state_dict())}
        pretrain(model, sentences, words, pretraining)
        weights["pretrained"] = copy.deepcopy(model.state_dict())
        for task in TASKS:
            wanted = data.of(task, test)
            held = data.of(task, [pool[place] for place in held_back])
            for count in labelled:
                given = data.of(task, [pool[place] for place in shown[:count]])
                row = {"task": task, "labelled": count, "seed": seed}
                for way in WAYS:
                    model.load_state_dict(weights[way])
                    found = tune(model, task, given, held, steps)
                    row |= {f"{name}_{way}": number for name, number in found.items()}
                    row[way] = score(model, task, wanted)
                yield row | counted(task, given, wanted)


def spared(few, many):
    """Say how many answers a model without pretraining needs to be as good as a pretrained one.

    Args:
        few: the share that the pretrained one has right.
        many: dict from numbers of answers, increasing, to the share that the other has right.

    Returns:
        float: the number of answers, between two that were tried along a line over their
        logarithms; infinite if none that was tried is enough.
    """
    before = None
    for count, share in many.items():
        if share >= few:
            if before is None:
                return float(count)
            low, least = before
            return low * (count / low) ** ((few - least) / (share - least))
        before = count, share
    return float("inf")


def save(seed=0, path=WEIGHTS):
    """Pretrain the model of a seed as `of_seed` does, and write its BERT in 16 bits."""
    words, _, sentences = read()
    with undisturbed():
        torch.manual_seed(seed)
        torch.randperm(len(corpus.splits()["validation"]))  # as `of_seed` draws before its weights
        model = Reader(words)
        pretrain(model, sentences, words, PRETRAINING)
    weights = {name: each.half() for name, each in model.bert.state_dict().items()}
    save_file(weights, path, metadata={"words": json.dumps(words)})


def annotated(count, seed=0):
    """Return sentences with their answers, drawn as those of the training, without drawing all of
    them.
    """
    kept, writer = [], corpus.Writer(f"answers {seed}", corpus.kept_back_pairs())
    corpus.collect(
        count, writer, SHAPES, is_short, set(), lambda drawn: kept.append(corpus.annotate(drawn))
    )
    return kept


def loaded(path=WEIGHTS):
    """Return the pretrained Bert of the page, in eval mode, and the Data of its words."""
    with safe_open(path, "pt") as file:
        words = json.loads(file.metadata()["words"])
        weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    bert = Bert(len(words), **SHAPE)
    bert.load_state_dict(weights)
    return bert.eval(), Data(words)


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="how many answers does pretraining spare, if each model trains until it gets no better?",
    short={"pretraining": 20, "labelled": (25,), "steps": 10, "seeds": 1},
    long={
        "pretraining": PRETRAINING,
        "labelled": (25, 50, 100, 200, 400, 800),
        "steps": 3000,
        "seeds": 3,
    },
    initialisation="embeddings from a normal distribution of standard deviation 0.02, else"
    " PyTorch's default",
    measure=measure,
)

if __name__ == "__main__":
    save()
