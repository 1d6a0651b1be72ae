"""A tiny bidirectional model that fills a gap in an English sentence of the course's grammar.

It is chapter 13's `LanguageModel(causal=False)`, trained as BERT is: `mask_tokens` hides words of
the corpus's English side, and the model guesses them from both sides. On sentences that it has not
seen, each word is hidden alone, and counted as right where the model puts it first. Beside it are
three guesses that only count: the most frequent word, the word that came most often after the one
on the left, and the word that came most often between the two neighbours.

    python -m book.experiments gap_model

trains three seeds and records their accuracies. The page's explorer runs the model of seed 0:

    python -m book.experiments.family.gap_model

trains that one again and writes its weights, in 16 bits, with its words to
`book/measured/gap_model.safetensors`.
"""

import json
from collections import Counter, defaultdict

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch.nn import functional

from book.experiments import Experiment
from book.experiments.measurements import FOLDER
from book.experiments.undisturbed import undisturbed
from solutions.ch13_family import LanguageModel, mask_tokens
from solutions.translator import corpus
from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import PAD, SPECIALS, UNK

MASK = len(SPECIALS)  # its id; words come after it
WORDS_BEFORE = (*SPECIALS, "<mask>")
WEIGHTS = FOLDER / "gap_model.safetensors"
SHAPE = {"max_len": 16, "d_model": 64, "num_heads": 4, "num_layers": 2, "d_ff": 256}
BATCH, LEARNING_RATE, STEPS = 64, 4e-3, 6000
EDGE = ""  # the neighbour of a sentence's first and last word


def sentences(split):
    """Return the English sentences of a split of the corpus, as lists of words."""
    return [corpus.words(english) for english, _ in corpus.splits()[split]]


def vocabulary(train):
    """Return the words by their ids: special ones, then those of the training in alphabetical
    order.
    """
    return [*WORDS_BEFORE, *sorted({word for words in train for word in words})]


def encoded(lines, words):
    """Return sentences as one (sentences, seq_len) int64 tensor of ids, padded."""
    ids = {word: number for number, word in enumerate(words)}
    return padded([[ids.get(word, UNK) for word in line] for line in lines])


def new_model(words):
    return LanguageModel(len(words), causal=False, **SHAPE)


def trained(token_ids, words, steps, seed):
    """Train a model to guess hidden words.

    Args:
        token_ids: (sentences, seq_len) int64.
        words: the vocabulary.
        steps: how many batches.
        seed: of weights, batches and hidden words.

    Returns:
        LanguageModel in eval mode.
    """
    draws = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = new_model(words)
    adam = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, LEARNING_RATE, total_steps=steps)
    for _ in range(steps):
        batch = token_ids[torch.randint(len(token_ids), (BATCH,), generator=draws)]
        batch = batch[:, : (batch != PAD).sum(dim=1).max()]
        choose, change = (torch.rand(batch.shape, generator=draws) for _ in range(2))
        replacement = torch.randint(MASK + 1, len(words), batch.shape, generator=draws)
        inputs, labels = mask_tokens(batch, MASK, range(MASK + 1), choose, change, replacement)
        loss = functional.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        schedule.step()
    return model.eval()


def each_word_hidden(token_ids):
    """Return every sentence once for each of its words, with that word hidden.

    Returns:
        inputs: (words, seq_len) int64.
        places: (words,) int64, where the gap is.
        labels: (words,) int64, what was there.
    """
    rows, places = (token_ids != PAD).nonzero(as_tuple=True)
    inputs = token_ids[rows].scatter(1, places[:, None], MASK)
    return inputs, places, token_ids[rows, places]


@torch.no_grad()
def accuracy(model, token_ids):
    """Return the share of words that the model puts first where each is hidden alone."""
    right = 0
    inputs, places, labels = each_word_hidden(token_ids)
    for part in torch.arange(len(labels)).split(512):
        logits = model(inputs[part])[torch.arange(len(part)), places[part]]  # (words, vocab_size)
        right += (logits.argmax(dim=-1) == labels[part]).sum().item()
    return right / len(labels)


def neighbours(line):
    """Return (left neighbour, word, right neighbour) for each word of a sentence."""
    return zip([EDGE, *line], line, [*line[1:], EDGE], strict=False)


def by_counting(train, test):
    """Return dict: what a guess looks at -> the share of hidden words that it guesses, where it
    takes what came most often in the training, and the most frequent word where nothing did.
    """
    views = {
        "nothing": lambda left, right: (),
        "left": lambda left, right: (left,),
        "both": lambda left, right: (left, right),
    }
    shares = {}
    for name, view in views.items():
        seen = defaultdict(Counter)
        for line in train:
            for left, word, right in neighbours(line):
                seen[view(left, right)][word] += 1
        best = {key: counts.most_common(1)[0][0] for key, counts in seen.items()}
        frequent = Counter(word for line in train for word in line).most_common(1)[0][0]
        guessed = [
            best.get(view(left, right), frequent) == word
            for line in test
            for left, word, right in neighbours(line)
        ]
        shares[name] = sum(guessed) / len(guessed)
    return shares


def measure(steps, seeds):
    """Train one model for each seed, and count what it and the guesses get right."""
    train, test = sentences("train"), sentences("random")
    words = vocabulary(train)
    token_ids, test_ids = encoded(train, words), encoded(test, words)
    counted = by_counting(train, test)
    runs = []
    for seed in seeds:
        with undisturbed():
            model = trained(token_ids, words, steps, seed)
            runs.append({"seed": seed, "model": accuracy(model, test_ids), **counted})
    return runs


def save(steps=STEPS, seed=0, path=WEIGHTS):
    """Train the model of a seed, and write its weights in 16 bits."""
    train = sentences("train")
    words = vocabulary(train)
    with undisturbed():
        model = trained(encoded(train, words), words, steps, seed)
    weights = {name: tensor.half() for name, tensor in model.state_dict().items()}
    save_file(weights, path, metadata={"words": json.dumps(words)})


def load(path=WEIGHTS):
    """Return the trained LanguageModel in eval mode, in float32, and its words."""
    with safe_open(path, "pt") as file:
        words = json.loads(file.metadata()["words"])
        weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    model = new_model(words)
    model.load_state_dict(weights)
    return model.eval(), words


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="how often does a tiny bidirectional model fill a gap, and how often does counting?",
    long={"steps": STEPS, "seeds": 3},
    initialisation="PyTorch's default, and embeddings of standard deviation 0.02",
    measure=measure,
)

if __name__ == "__main__":
    save()
