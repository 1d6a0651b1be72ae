"""What each part of a decoder layer is for: the little translator of chapter 8, trained without it.

There are two languages. In that of `toy_translation` each English sentence has one right
translation. In the other, "your" is "tuo" to a friend and "suo" to a stranger, and a translation
may choose, but must not change its mind: "il suo gatto vede la sua gallina".

A recorded run is a dict with `language` ("one translation", "a choice"), `variant`, `steps` and
`seed`; `loss`, per word of sentences that were set aside; `exact`, how many of these it translates
without a mistake, and of how many; in the second language instead `kept`, the mean probability of
the second possessive that suits the first, and `others`, the share of the other words that it has
right.
"""

import numpy as np
import torch
from torch import nn

from book.experiments import Experiment
from book.experiments.little.toy_translation import (
    VERBS_WITH_OBJECT,
    as_batch,
    corpus,
    draw_noun_phrase,
    pick,
    train,
)
from solutions.ch08_encoder_decoder import DecoderLayer, Transformer

FORMAL = {"tuo": "suo", "tua": "sua"}
SIZES = (32, 4, 1, 1, 64)  # those of the page's translator


class AcrossFirst(DecoderLayer):
    """The decoder layer of 2017 with its two attentions in the other order."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        """Look across, look back, then think."""
        x = self.norm_1(x + self.cross_attention(x, memory, memory, memory_mask)[0])
        x = self.norm_2(x + self.self_attention(x, x, x, self_mask)[0])
        return self.norm_3(x + self.feed_forward(x))


class AcrossFirstTransformer(Transformer):
    """A Transformer of such layers."""

    def __init__(self, *sizes, **named):
        super().__init__(*sizes, **named)
        for layer in self.decoder:
            layer.__class__ = AcrossFirst


def without(part):
    """Return a kind of Transformer in whose decoder layers one part adds nothing."""

    class Without(Transformer):
        def __init__(self, *sizes, **named):
            super().__init__(*sizes, **named)
            for layer in self.decoder:
                getattr(layer, part).register_forward_hook(nothing)

    return Without


def nothing(module, arguments, output):
    """Replace what a part returns by zeros."""
    if isinstance(output, tuple):
        return torch.zeros_like(output[0]), output[1]
    return torch.zeros_like(output)


VARIANTS = {
    "all three parts": Transformer,
    "no looking back": without("self_attention"),
    "no looking across": without("cross_attention"),
    "no feed-forward network": without("feed_forward"),
    "across before back": AcrossFirstTransformer,
}
LANGUAGES = {
    "one translation": list(VARIANTS)[:4],
    "a choice": ["all three parts", "no looking back", "across before back"],
}


def draw_choice(rng):
    """Draw a sentence that says "your" twice, and both of its translations."""
    (subject, subject_it), (other, other_it) = (your_phrase(rng) for _ in range(2))
    verb = pick(rng, VERBS_WITH_OBJECT)
    friendly = f"{subject_it} {VERBS_WITH_OBJECT[verb]} {other_it}"
    formal = " ".join(FORMAL.get(word, word) for word in friendly.split())
    return f"{subject} {verb} {other}", (friendly, formal)


def your_phrase(rng):
    """Draw "your black cat" and "il tuo gatto nero"."""
    while True:
        english, italian, _, _ = draw_noun_phrase(rng)
        if english.startswith("your "):
            return english, italian


def choice_corpus(examples=4000, tested=200):
    """Return pairs to learn from, each with one of its two translations, and pairs to test on, with
    both.
    """
    rng = np.random.default_rng(0)
    drawn = {}
    while len(drawn) < examples + tested:
        english, both = draw_choice(rng)
        drawn[english] = both
    drawn = list(drawn.items())
    pairs = [(english, both[rng.integers(2)]) for english, both in drawn[:examples]]
    return pairs, [(english, one) for english, both in drawn[examples:] for one in both]


def train_variant(language, variant, steps, seed=0):
    """Train one of `VARIANTS` on one of `LANGUAGES`.

    Returns:
        the Translator, and the pairs that were set aside.
    """
    pairs, held_out = corpus() if language == "one translation" else choice_corpus()
    kind = VARIANTS[variant]
    return train(pairs, held_out, SIZES, steps, 64, rate=3e-3, seed=seed, kind=kind), held_out


@torch.no_grad()
def examined(translator, held_out, language):
    """Ask a trained translator about sentences that it has not seen."""
    src, tgt = as_batch(held_out, translator.english, translator.italian)
    logits, says = translator.model(src, tgt[:, :-1]), tgt[:, 1:]
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), says.flatten(), ignore_index=0).item()
    if language == "one translation":
        return {"loss": round(loss, 4), "exact": list(translator.exact)}
    possessives = {word for pair in FORMAL.items() for word in pair}
    chosen = torch.isin(says, torch.tensor([translator.italian[word] for word in possessives]))
    second = chosen & (chosen.cumsum(dim=1) == 2)
    probabilities = logits.softmax(dim=-1).gather(2, says[..., None])[..., 0]
    others = says.ne(0) & ~chosen
    return {
        "loss": round(loss, 4),
        "kept": round(probabilities[second].mean().item(), 4),
        "others": round((logits.argmax(dim=-1) == says)[others].float().mean().item(), 4),
    }


def measure(steps, seeds):
    """Train all variants with all budgets and seeds."""
    return [
        {"language": language, "variant": variant, "steps": budget, "seed": seed}
        | examined(*train_variant(language, variant, budget, seed), language)
        for language, variants in LANGUAGES.items()
        for variant in variants
        for budget in steps
        for seed in seeds
    ]


EXPERIMENT = Experiment(
    page="ch08_encoder_decoder",
    asks="what is each part of a decoder layer for?",
    long={"steps": (300, 600), "seeds": 3},
    initialisation="embeddings N(0, 1/d_model), all else PyTorch's default",
    measure=measure,
)
