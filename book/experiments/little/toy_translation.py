"""A language small enough to learn in seconds: English phrases about animals, and their Italian.

The rules are few, and each makes a translator look in another place: an Italian adjective stands
behind its noun, articles, possessives and adjectives follow the noun's gender, and "my" is two
words, "il mio" or "la mia".
"""

import base64
import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from book.experiments import Experiment
from solutions.ch01_embeddings import build_vocabulary, encode
from solutions.ch08_encoder_decoder import Transformer, greedy_decode, sinusoidal_positions

LONGEST = 20  # words of a translation, `<bos>` counted
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
        ids = greedy_decode(self.model, self.source(sentence), max_len=LONGEST)[0]
        return " ".join(self.words(ids[ids > 2]))


@torch.enable_grad()
def train(pairs, held_out, sizes, steps, batch_size, rate, seed=0, kind=Transformer):
    """Train a small Transformer on pairs of sentences, teacher-forced.

    Args:
        pairs, held_out: lists of (English, Italian), to learn from and to test on.
        sizes: d_model, num_heads, layers of the encoder, layers of the decoder, d_ff.
        rate: the highest learning rate; it climbs for a fifth of the steps, and falls after that.
        kind: the class of the model.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    english, italian = (
        build_vocabulary(sentences) for sentences in zip(*pairs, *held_out, strict=True)
    )
    model = kind(len(english), len(italian), *sizes, dropout=0.0)
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


def train_translator(examples=4000, tested=400, steps=600, seed=0):
    """Train the translator of the page: one layer on each side, four heads, a few seconds."""
    pairs, held_out = corpus(examples, tested)
    sizes = (32, 4, 1, 1, 64)
    return train(pairs, held_out, sizes, steps, batch_size=64, rate=3e-3, seed=seed)


def corpus(examples=4000, tested=400):
    """Return pairs of sentences to learn from, and others to test on, `KEPT_BACK` among them."""
    rng = np.random.default_rng(0)
    pairs = {}
    while len(pairs) < examples + tested:
        english, italian = draw_pair(rng)
        if english not in KEPT_BACK:
            pairs[english] = italian
    pairs = list(pairs.items())
    return pairs[:examples], [*KEPT_BACK.items(), *pairs[examples:]]


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


def explorer_state(translators, sentences):
    """Return what the explorer of decoding needs to run decoders by itself.

    Args:
        translators: dict from what a reader calls it to the Translator. All have the same words,
            and decoders of one post-norm layer.
        sentences: English ones, which it translates.
    """
    (some, *_) = translators.values()
    return {
        "sentences": [{"source": sentence.split()} for sentence in sentences],
        "vocabulary": list(some.italian),
        "decoders": [
            {"name": name, **packed_decoder(each.model, map(each.source, sentences))}
            for name, each in translators.items()
        ],
    }


@torch.no_grad()
def packed_decoder(model, sources):
    """Pack a decoder of one layer, with what its cross-attention reads of some sentences.

    Args:
        model: a Transformer.
        sources: (1, src_len) int64 each.

    Returns:
        dict: `heads`; `shapes`, of each matrix by its name, where a linear layer has its bias in a
        last column; `numbers`, those of all matrices in this order, as multiples of `unit` in 16
        bits each, written in base64.
    """
    (layer,) = model.decoder
    linear = {"generator": model.generator}
    linear |= {f"self_{name}": getattr(layer.self_attention, f"w_{name}") for name in "qkvo"}
    linear |= {f"cross_{name}": getattr(layer.cross_attention, f"w_{name}") for name in "qo"}
    linear |= {name: getattr(layer.feed_forward, name) for name in ("linear_1", "linear_2")}
    norms = {name: getattr(layer, name) for name in ("norm_1", "norm_2", "norm_3")}
    matrices = {
        "words": model.tgt_embedding.weight * math.sqrt(model.d_model),
        "positions": sinusoidal_positions(LONGEST, model.d_model),
        **{name: torch.column_stack([each.weight, each.bias]) for name, each in linear.items()},
        **{name: torch.stack([each.weight, each.bias]) for name, each in norms.items()},
    }
    for place, src in enumerate(sources):
        memory = model.encode(src)[0]  # (src_len, d_model)
        matrices[f"keys_{place}"] = layer.cross_attention.w_k(memory)
        matrices[f"values_{place}"] = layer.cross_attention.w_v(memory)
    numbers = torch.cat([matrix.flatten() for matrix in matrices.values()]).double()
    unit = numbers.abs().max().item() / (2**15 - 1)
    return {
        "heads": layer.self_attention.num_heads,
        "shapes": {name: list(matrix.shape) for name, matrix in matrices.items()},
        "numbers": base64.b64encode((numbers / unit).round().numpy().astype("<i2")).decode(),
        "unit": unit,
    }


EXPERIMENT = Experiment(
    page="ch08_encoder_decoder",
    asks="does the whole model learn to translate, and where does it look?",
    short={"steps": 600, "seeds": 1},
)
