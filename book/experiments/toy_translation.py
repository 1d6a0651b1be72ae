"""A language small enough to learn in seconds: English phrases about animals, and their Italian.

The rules are few, and each makes a translator look in another place: an Italian adjective stands
behind its noun, articles, possessives and adjectives follow the noun's gender, and "my" is two
words, "il mio" or "la mia".
"""

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from book.experiments import Experiment
from solutions.ch01_embeddings import build_vocabulary, encode
from solutions.ch08_encoder_decoder import Transformer, greedy_decode

DETERMINERS = {
    "the": ("il", "la"),
    "a": ("un", "una"),
    "my": ("il mio", "la mia"),
    "your": ("il tuo", "la tua"),
}
# The Italian word, and its gender: 0 takes the first form of an article or adjective, 1 the second.
NOUNS = {
    "cat": ("gatto", 0),
    "dog": ("cane", 0),
    "horse": ("cavallo", 0),
    "wolf": ("lupo", 0),
    "rabbit": ("coniglio", 0),
    "cow": ("mucca", 1),
    "hen": ("gallina", 1),
    "fox": ("volpe", 1),
    "goat": ("capra", 1),
    "frog": ("rana", 1),
}
ADJECTIVES = {
    "black": ("nero", "nera"),
    "white": ("bianco", "bianca"),
    "red": ("rosso", "rossa"),
    "tired": ("stanco", "stanca"),
    "hungry": ("affamato", "affamata"),
    "lovely": ("adorabile", "adorabile"),
}
VERBS = {"sleeps": "dorme", "eats": "mangia", "runs": "corre"}
VERBS_WITH_OBJECT = {"sees": "vede", "follows": "segue"}
KEPT_BACK = {  # never shown in training
    "your cat is a lovely cat": "il tuo gatto è un gatto adorabile",
    "the black cat sees my white hen": "il gatto nero vede la mia gallina bianca",
    "your red cow follows the tired horse": "la tua mucca rossa segue il cavallo stanco",
    "my hungry goat is white": "la mia capra affamata è bianca",
    "a lovely fox runs": "una volpe adorabile corre",
}


def draw_pair(rng):
    """Draw an English sentence and its Italian translation."""
    subject, subject_it, noun, gender = draw_noun_phrase(rng)
    kind = rng.integers(4)
    if kind == 0:
        verb = pick(rng, VERBS)
        return f"{subject} {verb}", f"{subject_it} {VERBS[verb]}"
    if kind == 1:
        verb = pick(rng, VERBS_WITH_OBJECT)
        other, other_it, _, _ = draw_noun_phrase(rng)
        return f"{subject} {verb} {other}", f"{subject_it} {VERBS_WITH_OBJECT[verb]} {other_it}"
    adjective = pick(rng, ADJECTIVES)
    adjective_it = ADJECTIVES[adjective][gender]
    if kind == 2:
        return f"{subject} is {adjective}", f"{subject_it} è {adjective_it}"
    return (
        f"{subject} is a {adjective} {noun}",
        f"{subject_it} è {DETERMINERS['a'][gender]} {NOUNS[noun][0]} {adjective_it}",
    )


def draw_noun_phrase(rng):
    """Draw "the black cat", "il gatto nero", and the noun with its gender."""
    determiner, noun = pick(rng, DETERMINERS), pick(rng, NOUNS)
    noun_it, gender = NOUNS[noun]
    english, italian = [determiner, noun], [DETERMINERS[determiner][gender], noun_it]
    if rng.random() < 0.5:
        adjective = pick(rng, ADJECTIVES)
        english.insert(1, adjective)
        italian.append(ADJECTIVES[adjective][gender])
    return " ".join(english), " ".join(italian), noun, gender


def pick(rng, words):
    return list(words)[rng.integers(len(words))]


@dataclass(frozen=True)
class Translator:
    """A trained model with its two vocabularies, from words to ids.

    Args:
        losses: (steps,) the loss before each update.
        exact: how many of the sentences that were set aside it translates without a mistake, and of
            how many.
    """

    model: Transformer
    english: dict
    italian: dict
    losses: np.ndarray
    exact: tuple[int, int]

    def source(self, sentence):
        """Return an English sentence as (1, src_len) ids."""
        return torch.from_numpy(encode(sentence, self.english))[None]

    def target(self, sentence):
        """Return an Italian sentence as (1, tgt_len) ids, `<bos>` in front."""
        return torch.tensor([[1, *encode(sentence, self.italian)]])

    def batch(self, pairs):
        """Return pairs of sentences as two tensors of ids, filled up with padding."""
        return as_batch(pairs, self.english, self.italian)

    def words(self, ids):
        """Return Italian ids as words."""
        names = list(self.italian)  # ids count up from 0, in the order of the dictionary
        return [names[int(index)] for index in ids]

    def translate(self, sentence):
        """Return the words that greedy decoding writes, without `<bos>`, `<eos>` and padding."""
        ids = greedy_decode(self.model, self.source(sentence), max_len=20)[0]
        return " ".join(self.words(ids[ids > 2]))


@torch.enable_grad()
def train(pairs, held_out, sizes, steps, batch_size, rate, seed=0):
    """Train a small Transformer on pairs of sentences, teacher-forced.

    Args:
        pairs, held_out: lists of (English, Italian), to learn from and to test on.
        sizes: d_model, num_heads, layers of the encoder, layers of the decoder, d_ff.
        rate: the highest learning rate; it climbs for a fifth of the steps, and falls after that.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    english, italian = (
        build_vocabulary(sentences) for sentences in zip(*pairs, *held_out, strict=True)
    )
    model = Transformer(len(english), len(italian), *sizes, dropout=0.0)
    for embedding in (model.src_embedding, model.tgt_embedding):
        # Of size 1 once they are multiplied by sqrt(d_model)
        nn.init.normal_(embedding.weight, std=sizes[0] ** -0.5)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=steps, pct_start=0.2
    )
    src, tgt = as_batch(pairs, english, italian)
    losses = []
    for _ in range(steps):
        chosen = torch.randint(len(pairs), (batch_size,))
        logits = model(src[chosen], tgt[chosen, :-1])
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), tgt[chosen, 1:].flatten(), ignore_index=0
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    src, tgt = as_batch(held_out or pairs, english, italian)
    return Translator(
        model.eval(), english, italian, np.array(losses), exactly_right(model, src, tgt)
    )


def as_batch(pairs, english, italian):
    """Return the sentences as two tensors of ids, filled up with 0; Italian ones from `<bos>` to
    `<eos>`.
    """
    sources = [torch.from_numpy(encode(sentence, english)) for sentence, _ in pairs]
    targets = [torch.tensor([1, *encode(sentence, italian), 2]) for _, sentence in pairs]
    return tuple(nn.utils.rnn.pad_sequence(rows, batch_first=True) for rows in (sources, targets))


def exactly_right(model, src, tgt):
    """Count the sentences that greedy decoding translates without a mistake."""
    ids = greedy_decode(model, src, max_len=tgt.shape[1])
    wrong = nn.functional.pad(ids, (0, tgt.shape[1] - ids.shape[1])).ne(tgt).any(dim=1)
    return int((~wrong).sum()), len(src)


def train_translator(examples=4000, tested=400, steps=600):
    """Train the translator of the page: one layer on each side, four heads, a few seconds."""
    rng = np.random.default_rng(0)
    pairs = {}
    while len(pairs) < examples + tested:
        english, italian = draw_pair(rng)
        if english not in KEPT_BACK:
            pairs[english] = italian
    pairs = list(pairs.items())
    held_out = [*KEPT_BACK.items(), *pairs[examples:]]
    return train(pairs[:examples], held_out, (32, 4, 1, 1, 64), steps, batch_size=64, rate=3e-3)


def train_tiny_translator(steps=300):
    """Train a model of six features and one head on eight sentences, small enough to print; it
    learns them by heart.
    """
    pairs = [
        (
            f"the {adjective} {noun} {verb}",
            f"{DETERMINERS['the'][gender]} {noun_it} {ADJECTIVES[adjective][gender]} {verb_it}",
        )
        for (adjective, (noun, (noun_it, gender)), (verb, verb_it)) in itertools.product(
            ("black", "white"),
            [(noun, NOUNS[noun]) for noun in ("cat", "hen")],
            [(verb, VERBS[verb]) for verb in ("sleeps", "eats")],
        )
    ]
    return train(pairs, [], (6, 1, 1, 1, 12), steps, batch_size=8, rate=2e-2)


def cross_attention(model, src, tgt):
    """Return what the decoder looks at in the source.

    Args:
        src: (batch, src_len) int64.
        tgt: (batch, tgt_len) int64.

    Returns:
        (layers, batch, heads, tgt_len, src_len): the weights of each cross-attention.
    """
    seen = []

    def note(attention, arguments, output):
        seen.append(attention.forward(*arguments)[1])  # asked again, this time for its weights

    handles = [layer.cross_attention.register_forward_hook(note) for layer in model.decoder]
    with torch.no_grad():
        model(src, tgt)
    for handle in handles:
        handle.remove()
    return torch.stack(seen)


def decoding_steps(translator, sentence, decimals=3):
    """Decode a sentence greedily, and note every step.

    Returns:
        dict: `source`, its words, and what `noted_steps` returns.
    """
    ids = greedy_decode(translator.model, translator.source(sentence), max_len=20)
    return {"source": sentence.split(), **noted_steps(translator, sentence, ids, decimals)}


def noted_steps(translator, sentence, ids, decimals=3):
    """Note what the model knows at every step of writing.

    Args:
        ids: (1, tgt_len) int64, what is written, `<bos>` first.

    Returns:
        dict: `steps`, one for each word written: `logits` over the Italian vocabulary, and
        `attention`, by head, the weights over the source's words, both rounded; `chosen`, the ids
        written, `<bos>` not counted.
    """
    src = translator.source(sentence)
    with torch.no_grad():
        logits = translator.model(src, ids[:, :-1])[0]  # (tgt_len, vocab_size)
    attention = cross_attention(translator.model, src, ids[:, :-1])[-1, 0].transpose(
        0, 1
    )  # (tgt_len, heads, src_len)
    steps = [
        {
            "logits": row.numpy().round(decimals).tolist(),
            "attention": heads.numpy().round(decimals).tolist(),
        }
        for row, heads in zip(logits.double(), attention.double(), strict=True)
    ]
    return {"steps": steps, "chosen": ids[0, 1:].tolist()}


EXPERIMENT = Experiment(
    page="ch08_encoder_decoder",
    asks="does the whole model learn to translate, and where does it look?",
    short={"steps": 600, "seeds": 1},
)
