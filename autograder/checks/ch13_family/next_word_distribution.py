"""From logits to the distribution that the next word is drawn from."""

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.laws import sums_to_one
from autograder.shared.probes import arguments_after, device_kept, returned_for_views
from solutions.ch13_family import next_word_distribution


@drawn
def apart(rng, *shape, step=0.3, dtype=torch.float64):
    """Draw logits in random order, none of which is closer to another than about `step`."""
    batch, vocab_size = shape
    rows = [rng.permutation(vocab_size) - vocab_size / 2 for _ in range(batch)]
    return (step * torch.from_numpy(np.stack(rows) + rng.uniform(-0.2, 0.2, shape))).to(dtype)


@drawn
def equal(rng, *shape):
    """Draw rows of one number each."""
    return torch.from_numpy(rng.integers(-3, 4, (shape[0], 1))).double().expand(shape).clone()


@drawn
def with_equals(rng, batch, vocab_size):
    """Draw rows of whole numbers in which the largest occurs three times, and so do others."""
    rows = [rng.permutation(np.arange(vocab_size) // 3) for _ in range(batch)]
    return torch.from_numpy(np.stack(rows)).double()


def kept_likeliest(probabilities, count):
    """Keep the likeliest words of each row, of equal ones the first; not renormalised."""
    order = probabilities.argsort(dim=-1, descending=True, stable=True)[:, : max(count, 0)]
    return torch.zeros_like(probabilities).scatter(-1, order, probabilities.gather(-1, order))


def renormalised(probabilities):
    return probabilities / probabilities.sum(dim=-1, keepdim=True)


def first_of_the_largest(logits):
    order = logits.argsort(dim=-1, descending=True, stable=True)[:, :1]
    return torch.zeros_like(logits).scatter(-1, order, 1)


def smallest_set(probabilities, top_p, kept=lambda sums, each, top_p: sums - each < top_p):
    """Keep the likeliest words until `top_p` is reached; not renormalised."""
    order = probabilities.argsort(dim=-1, descending=True, stable=True)
    ordered = probabilities.gather(-1, order)
    ordered = ordered.masked_fill(~kept(ordered.cumsum(dim=-1), ordered, top_p), 0)
    return torch.zeros_like(probabilities).scatter(-1, order, ordered)


def require_sense(temperature, top_k, top_p):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature below 0, or top_k below 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p outside (0, 1]")


def distribution_with(
    required=require_sense,
    coldest=first_of_the_largest,
    tempered=lambda logits, temperature: (logits / temperature).softmax(dim=-1),
    by_count=lambda probabilities, top_k: renormalised(kept_likeliest(probabilities, top_k)),
    by_mass=lambda probabilities, top_p: renormalised(smallest_set(probabilities, top_p)),
    order=("temperature", "top_k", "top_p"),
):
    """Make a distribution from its rules; `order` says which is applied when."""

    def next_word_distribution(logits, temperature=1.0, top_k=None, top_p=None):
        required(temperature, top_k, top_p)
        if temperature == 0:
            return coldest(logits)
        probabilities = logits.softmax(dim=-1)
        for step in order:
            if step == "temperature":
                # of zero probability stays out, whatever the temperature
                probabilities = tempered(
                    torch.where(probabilities > 0, logits, -torch.inf), temperature
                )
            elif step == "top_k" and top_k is not None:
                probabilities = by_count(probabilities, top_k)
            elif step == "top_p" and top_p is not None:
                probabilities = by_mass(probabilities, top_p)
        return probabilities

    return next_word_distribution


checks = Checks(
    next_word_distribution,
    laws=(sums_to_one,),
    family=distribution_with,
    shortcuts="""TopKLogitsWarper TopPLogitsWarper TemperatureLogitsWarper top_k_top_p_filtering
    top_k_top_p_sampling""",
)
shown, hidden, wrong, right = checks.words

shown("logits alone: a softmax", logits=apart(2, 5), weight=1)
shown("a low temperature", logits=apart(2, 5), temperature=0.5)
shown("a high temperature", logits=apart(2, 5), temperature=3.0)
shown("temperature 0", logits=apart(2, 5), temperature=0.0)
shown("temperature 0, and equal words", logits=with_equals(2, 9), temperature=0.0)
shown("the two likeliest of five", logits=apart(2, 5), temperature=1.0, top_k=2, weight=2)
shown("the likeliest word alone", logits=apart(2, 5), temperature=1.0, top_k=1)
shown("more words asked for than there are", logits=apart(2, 4), temperature=1.0, top_k=9)
shown("four of nine, of which some are equal", logits=with_equals(2, 9), temperature=1.0, top_k=4)
shown(
    "half of the probability", logits=apart(2, 5), temperature=1.0, top_k=None, top_p=0.5, weight=2
)
shown("nine tenths of it", logits=apart(2, 6), temperature=1.0, top_k=None, top_p=0.9, weight=2)
shown(
    "so little that one word is enough",
    logits=apart(2, 5, step=1.5),
    temperature=1.0,
    top_k=None,
    top_p=0.05,
)
shown(
    "four equal words: two of them are half",
    logits=equal(2, 4),
    temperature=1.0,
    top_k=None,
    top_p=0.5,
)
# At this temperature two words reach `top_p`, and without it three.
shown("all three at once", logits=apart(2, 8), temperature=0.5, top_k=5, top_p=0.65, weight=3)
shown("a negative temperature is refused", logits=apart(1, 4), temperature=-0.5)
shown("a top_k of 0 is refused", logits=apart(1, 4), temperature=1.0, top_k=0)
shown("a top_p of 0 is refused", logits=apart(1, 4), temperature=1.0, top_k=None, top_p=0.0)
shown(
    "the logits stay as they were",
    logits=apart(2, 5),
    temperature=0.7,
    top_k=3,
    top_p=0.8,
    probe=arguments_after,
)
hidden("a larger batch, tempered", logits=apart(5, 12), temperature=0.3)
hidden(
    "a larger batch, the five likeliest", logits=apart(5, 12), temperature=1.0, top_k=5, weight=2
)
hidden(
    "a larger batch, most of the probability",
    logits=apart(5, 12),
    temperature=1.0,
    top_k=None,
    top_p=0.8,
    weight=2,
)
hidden(
    "rows of different spread",
    logits=normal(6, 12, scale=3.0, dtype=torch.float64),
    temperature=1.0,
    top_k=None,
    top_p=0.85,
)
hidden(
    "all three at once, colder", logits=apart(4, 12), temperature=0.6, top_k=6, top_p=0.85, weight=3
)
hidden(
    "all three at once, hotter", logits=apart(4, 12), temperature=2.5, top_k=4, top_p=0.5, weight=2
)
hidden("as many as there are", logits=apart(2, 6), temperature=1.0, top_k=6)
hidden("far more than there are", logits=apart(2, 6), temperature=1.0, top_k=100)
hidden("a top_p of 1 keeps all", logits=apart(3, 6), temperature=1.0, top_k=None, top_p=1.0)
hidden(
    "temperature 0 in a larger batch with equal words", logits=with_equals(4, 12), temperature=0.0
)
hidden(
    "temperature 0 with top_k and top_p", logits=apart(3, 7), temperature=0.0, top_k=3, top_p=0.5
)
hidden(
    "five of twelve, of which some are equal", logits=with_equals(3, 12), temperature=1.0, top_k=5
)
hidden("eight equal words: a quarter", logits=equal(2, 8), temperature=1.0, top_k=None, top_p=0.25)
hidden(
    "equal words at another temperature", logits=equal(2, 8), temperature=2.0, top_k=4, top_p=0.75
)
hidden("large logits", logits=300 + 100 * normal(3, 6, dtype=torch.float64), temperature=0.5)
hidden("a top_p above 1 is refused", logits=apart(2, 4), temperature=1.0, top_k=None, top_p=1.2)
hidden("a negative top_p is refused", logits=apart(2, 4), temperature=1.0, top_k=None, top_p=-0.1)
hidden("a negative top_k is refused", logits=apart(2, 4), temperature=1.0, top_k=-2)
hidden("another negative temperature is refused", logits=apart(2, 4), temperature=-2.0)
hidden("a single word", logits=apart(3, 1), temperature=0.7, top_k=3, top_p=0.5)
hidden(
    "float32 stays float32",
    logits=apart(2, 6, dtype=torch.float32),
    temperature=0.8,
    top_k=4,
    top_p=0.8,
)
hidden(
    "logits that are not contiguous in memory",
    logits=apart(3, 6),
    temperature=0.8,
    top_k=4,
    top_p=0.8,
    probe=returned_for_views,
)
hidden(
    "the result lies where the logits lie",
    logits=apart(2, 6),
    temperature=0.8,
    top_k=4,
    top_p=0.8,
    probe=device_kept,
)
hidden(
    "the logits of a batch stay as they were",
    logits=apart(3, 7),
    temperature=0.0,
    probe=arguments_after,
)


wrong(
    "the word that crosses is left out",
    """Add up what you have kept, before you renormalise: does it reach `top_p`? The set must reach
    it.""",
    by_mass=lambda probabilities, top_p: renormalised(
        torch.where(
            smallest_set(probabilities, top_p, lambda sums, each, p: sums <= p).sum(-1, True) > 0,
            smallest_set(probabilities, top_p, lambda sums, each, p: sums <= p),
            kept_likeliest(probabilities, 1),
        )
    ),
)


wrong(
    "one word more is safer",
    """You keep a word although those before it have reached `top_p` already. When is the set the
    smallest one?""",
    by_mass=lambda probabilities, top_p: renormalised(
        smallest_set(probabilities, top_p, lambda sums, each, p: sums - each <= p)
    ),
)


wrong(
    "top_p is a least probability",
    """You keep words by their own probability. `top_p` speaks of the probability of a set: how do
    you get from one to the other?""",
    by_mass=lambda probabilities, top_p: renormalised(
        torch.where(probabilities >= top_p * probabilities.amax(-1, keepdim=True), probabilities, 0)
    ),
)


wrong(
    "top_p is there to be had",
    "Change `top_p`: your result stays as it was.",
    top_p=None,
    required=lambda temperature, top_k, top_p: require_sense(temperature, top_k, None),
)


wrong(
    "the unlikeliest words reach top_p",
    "You begin to add up at the wrong end. Which words belong to the smallest set?",
    by_mass=lambda probabilities, top_p: renormalised(
        torch.where(
            smallest_set(-probabilities, top_p, lambda sums, each, p: each - sums < p) != 0,
            probabilities,
            0,
        )
    ),
)


wrong(
    "words come in the order of their ids",
    """You add up the probabilities in the order of the vocabulary. In which order does the smallest
    set grow?""",
    by_mass=lambda probabilities, top_p: renormalised(
        probabilities.masked_fill(probabilities.cumsum(-1) - probabilities >= top_p, 0)
    ),
)


wrong(
    "what is kept by top_p keeps its probability",
    "Your rows do not sum to 1. What is to be done after words have gone?",
    by_mass=smallest_set,
)


wrong(
    "what is kept by top_k keeps its probability",
    """Your rows do not sum to 1, or the next step counts with numbers that do not. What is to be
    done after words have gone?""",
    by_count=kept_likeliest,
)


wrong(
    "probability that is left over goes to the likeliest word",
    "You give what was cut off to one word. Renormalising shares it: how?",
    by_mass=lambda probabilities, top_p: (
        smallest_set(probabilities, top_p)
        + first_of_the_largest(probabilities)
        * (1 - smallest_set(probabilities, top_p).sum(-1, keepdim=True))
    ),
)


wrong(
    "top_k counts from 0",
    "Ask for the two likeliest, and count what you get.",
    by_count=lambda probabilities, top_k: renormalised(kept_likeliest(probabilities, top_k + 1)),
)


wrong(
    "top_k leaves out the last",
    "Ask for the two likeliest, and count what you get.",
    by_count=lambda probabilities, top_k: renormalised(
        kept_likeliest(probabilities, max(top_k - 1, 1))
    ),
)


wrong(
    "all words as likely as the last one kept are kept",
    """Among equal words you keep more than were asked for. Which of them come first?""",
    by_count=lambda probabilities, top_k: renormalised(
        torch.where(
            probabilities >= probabilities.topk(min(top_k, probabilities.shape[-1])).values[:, -1:],
            probabilities,
            0,
        )
    ),
)


wrong(
    "of equal words the last comes first",
    "Among equal words you keep the later ones. Does your sorting keep the order of equal words?",
    by_count=lambda probabilities, top_k: renormalised(
        kept_likeliest(probabilities.flip(-1), top_k).flip(-1)
    ),
    coldest=lambda logits: first_of_the_largest(logits.flip(-1)).flip(-1),
)


wrong(
    "top_k is there to be had",
    "Change `top_k`: your result stays as it was.",
    top_k=None,
    required=lambda temperature, top_k, top_p: require_sense(temperature, None, top_p),
)


wrong(
    "there are always more words than top_k",
    "What if the vocabulary has fewer words than are asked for?",
    by_count=lambda probabilities, top_k: renormalised(
        torch.zeros_like(probabilities).scatter(-1, *reversed(probabilities.topk(top_k)))
    ),
)


wrong(
    "top_p before top_k",
    """Each step alone is right. With both, `top_p` is a share of which distribution: of the full
    one, or of what `top_k` has left?""",
    order=("temperature", "top_p", "top_k"),
)


wrong(
    "temperature comes last",
    """Each step alone is right. The temperature changes how many words reach `top_p`: when is it
    applied?""",
    order=("top_k", "top_p", "temperature"),
)


wrong(
    "a temperature multiplies",
    "Your low temperatures make the choice wider. What becomes of the logits?",
    tempered=lambda logits, temperature: (logits * temperature).softmax(-1),
)


wrong(
    "a temperature divides probabilities",
    """Dividing probabilities by a number and renormalising gives them back. What is it that a
    temperature divides?""",
    tempered=lambda logits, temperature: renormalised(logits.softmax(-1) / temperature),
)


wrong(
    "temperature 0 is a division like others",
    "What is a logit divided by 0? The docstring says what temperature 0 leaves.",
    coldest=lambda logits: (logits / 0.0).softmax(-1),
)


wrong(
    "temperature 0 means no temperature",
    "Temperature 0 is not temperature 1. What does it leave, by the docstring?",
    coldest=lambda logits: logits.softmax(-1),
)


wrong(
    "temperature 0 shares among equals",
    "At temperature 0, several of your words share the probability. Which one comes first?",
    coldest=lambda logits: renormalised((logits == logits.amax(-1, keepdim=True)).to(logits.dtype)),
)


wrong(
    "logits are returned",
    "Do your rows sum to 1?",
    then=lambda probabilities: probabilities.log(),
)


wrong(
    "any argument has some meaning",
    "Which arguments make no sense, and what does the docstring say about them?",
    required=lambda temperature, top_k, top_p: None,
)


wrong(
    "a top_p of 1 makes no sense",
    "All of the probability is a share of it, too. Which end of the interval is excluded?",
    required=lambda temperature, top_k, top_p: require_sense(
        temperature, top_k, 2 if top_p == 1 else top_p
    ),
)


checks.usual("in float32")
checks.usual("changes its argument")


@right
def word_by_word(logits, temperature=1.0, top_k=None, top_p=None):
    require_sense(temperature, top_k, top_p)
    rows = []
    for row in logits.tolist():
        ranked = sorted(range(len(row)), key=lambda word: -row[word])
        if temperature == 0:
            rows.append([float(word == ranked[0]) for word in range(len(row))])
            continue
        sizes = [np.exp((row[word] - row[ranked[0]]) / temperature) for word in ranked]
        sizes = [size / sum(sizes) for size in sizes][:top_k]
        if top_p is not None:
            share, total = 0.0, sum(sizes)
            for count, size in enumerate(sizes, 1):
                share += size / total
                if share >= top_p:
                    sizes = sizes[:count]
                    break
        chances = dict(zip(ranked, sizes, strict=False))
        rows.append([chances.get(word, 0.0) / sum(sizes) for word in range(len(row))])
    return torch.tensor(rows, dtype=logits.dtype, device=logits.device)


@right
def by_minus_infinity(logits, temperature=1.0, top_k=None, top_p=None):
    require_sense(temperature, top_k, top_p)
    if temperature == 0:
        return first_of_the_largest(logits)
    sorted_logits, order = (logits / temperature).sort(dim=-1, descending=True, stable=True)
    sorted_logits = sorted_logits.clone()
    if top_k is not None:
        sorted_logits[:, top_k:] = -torch.inf
    if top_p is not None:
        shares = sorted_logits.softmax(dim=-1)
        gone = shares.cumsum(dim=-1) >= top_p
        gone = torch.cat([torch.zeros_like(gone[:, :1]), gone[:, :-1]], dim=-1)
        sorted_logits = sorted_logits.masked_fill(gone, -torch.inf)
    return torch.empty_like(logits).scatter_(-1, order, sorted_logits.softmax(dim=-1))


@right
def by_ranks(logits, temperature=1.0, top_k=None, top_p=None):
    require_sense(temperature, top_k, top_p)
    order = logits.argsort(dim=-1, descending=True, stable=True)
    ranks = order.argsort(dim=-1)
    if temperature == 0:
        return (ranks == 0).to(logits.dtype)
    chances = torch.softmax(logits / temperature, dim=-1)
    if top_k is not None:
        chances = renormalised(chances * (ranks < top_k))
    if top_p is not None:
        ahead = ranks[:, None, :] < ranks[:, :, None]  # (batch, word, words ahead of it)
        before = (chances[:, None, :] * ahead).sum(dim=-1)
        chances = renormalised(chances * (before < top_p - 1e-12))
    return chances
