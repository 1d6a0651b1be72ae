"""A tiny GPT that learns from the examples in its prompt.

Each training text is a task of its own: `KEYS` letters are drawn, each gets a letter as its partner
at random, and the text shows this mapping again and again, "a>f b>c a>f d>h b>c". The next text has
another mapping, so nothing about a mapping is worth keeping in the weights. What the model can
learn is to look it up. A second model trains on texts in which each letter is followed by a random
one every time, so that there is no mapping. Both are asked about mappings that were kept back from
training: those in which the numbers of the partners have a sum that `KEPT_BACK` divides.

The sizes, the rate and the number of steps were chosen in trials with another seed. With all 26
letters and texts twice as long, less than half was looked up after 1,000 steps.

    python -m book.experiments in_context

trains five seeds; the page runs and looks into the model of seed 0, whose weights the same command
writes to `book/measured/in_context.safetensors`, in 16 bits. `in_context_longer` trains three seeds
as long, and 4 and 16 times as long, and looks into each.
"""

import itertools
from dataclasses import replace

import torch
from safetensors.torch import load_file, save_file

from book.experiments import Experiment
from book.experiments.family.alice import INITIALISATION, PAD, Letters
from book.experiments.measurements import FOLDER
from book.experiments.undisturbed import undisturbed
from solutions.ch06_masking import causal_mask
from solutions.ch12_interpretation import ablate_heads, induction_score
from solutions.ch13_family import next_word_loss

WEIGHTS = FOLDER / "in_context.safetensors"
ALPHABET = "abcdefghij"
LETTERS = len(ALPHABET)
WORDS = [*(f"{letter}>" for letter in ALPHABET), *ALPHABET]
KEYS, PAIRS, KEPT_BACK = 4, 8, 5  # letters of a mapping, and examples in a text
SHAPE = {"max_len": 2 * PAIRS, "d_model": 64, "num_heads": 4, "num_layers": 2, "d_ff": 128}
BATCH, RATE, WARM_UP, STEPS, ASKED = 64, 6e-3, 100, 800, 2000


def mappings(count, generator, fresh):
    """Draw mappings.

    Args:
        fresh: whether to draw from those that are kept back from training, or from the others.

    Returns:
        (keys, values), each (count, KEYS) int64; the keys of a mapping are different letters.
    """
    many = 8 * count  # about one in five is kept back
    keys = torch.rand(many, LETTERS, generator=generator).argsort(dim=1)[:, :KEYS]
    values = torch.randint(LETTERS, (many, KEYS), generator=generator)
    wanted = (values.sum(dim=1) % KEPT_BACK == 0) == fresh
    return keys[wanted][:count], values[wanted][:count]


def texts(count, generator, consistent=True, fresh=False):
    """Draw texts.

    Args:
        count: how many.
        consistent: whether a letter is followed by the same one in the whole text, or by a random
            one each time.
        fresh: whether the mappings are such that no training has.

    Returns:
        (count, 2 * PAIRS) int64, ids of `WORDS`: letters with ">" at even places, their partners at
        odd ones.
    """
    keys, values = mappings(count, generator, fresh)
    places = torch.randint(KEYS, (count, PAIRS), generator=generator)
    said = values.gather(1, places)
    if not consistent:
        said = torch.randint(LETTERS, (count, PAIRS), generator=generator)
    return torch.stack([keys.gather(1, places), LETTERS + said], dim=-1).flatten(1)


def blank():
    """Return a model that has read nothing."""
    return Letters(len(WORDS), **SHAPE)


def trained(steps, seed, consistent):
    """Train a model on texts, by next-word prediction at every place.

    Returns:
        the model, in eval mode.
    """
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = blank()
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), fused=True)
    for step in range(steps):
        rate = RATE * min((step + 1) / WARM_UP, 1 - step / steps)
        optimizer.param_groups[0]["lr"] = rate
        ids = texts(BATCH, generator, consistent)
        loss = next_word_loss(model(ids, pad_id=PAD), ids, pad_id=PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def shown_before(ids):
    """Say where a letter was shown before with what it becomes: (count, 2 * PAIRS) -> (count,
    PAIRS) bool.
    """
    keys = ids[:, ::2]
    return (keys[:, :, None] == keys[:, None]).tril(-1).any(dim=-1)


@torch.no_grad()
def by_examples(model, ids):
    """Ask a model about the next letter after 0, 1, 2, ... examples.

    Args:
        ids: texts that it has not seen.

    Returns:
        dict of lists, one number for each number of examples: the share that is `right`, and the
        share of prompts that have `shown` the letter; and two numbers: what is right where the
        letter was shown before, `looked_up`, and where it was not, `guessed`.
    """
    found = model(ids, pad_id=PAD)[:, ::2].argmax(dim=-1) == ids[:, 1::2]
    shown = shown_before(ids)
    return {
        "right": found.float().mean(dim=0).tolist(),
        "shown": shown.float().mean(dim=0).tolist(),
        "looked_up": found[shown].float().mean().item(),
        "guessed": found[~shown].float().mean().item(),
    }


@torch.no_grad()
def looked_into(model, ids):
    """See how a model looks a letter up.

    Returns:
        dict: `induction`, for each layer the scores of its heads; `looked_up_without`, for each
        layer what is right where the letter was shown before if no head of the layer finds
        anything; and what the function `by_place` returns.
    """
    seen, mask = model.token_embedding(ids), causal_mask(ids.shape[1])
    seen = seen + model.position_embedding(torch.arange(ids.shape[1]))
    scores, without = [], []
    for layer in model.layers:
        rows = layer.norm_1(seen)
        weights = layer.self_attention(rows, rows, rows, mask)[1]
        scores.append(induction_score(weights, ids).mean(dim=0).tolist())
        seen = layer(seen, mask)
        with ablate_heads(layer.self_attention, torch.zeros(weights.shape[1])):
            without.append(by_examples(model, ids)["looked_up"])
    return {
        "induction": scores,
        "looked_up_without": without,
        "by_place": by_place(model, ids),
    }


@torch.no_grad()
def by_place(model, ids):
    """Return for each place the share that is right after `PAIRS - 1` examples, of the texts that
    show the letter there and nowhere else. (Over shorter prompts, too, early places would look
    better than they are, because only they are asked for in short prompts.)
    """
    found = model(ids, pad_id=PAD)[:, -2].argmax(dim=-1) == ids[:, -1]
    same = ids[:, :-2:2] == ids[:, -2, None]  # (count, earlier)
    once = same & (same.sum(dim=-1, keepdim=True) == 1)
    return [found[there].float().mean().item() for there in once.T]


def asked(seed):
    """Return the texts about which the models of a seed are asked, of mappings kept back."""
    return texts(ASKED, torch.Generator().manual_seed(10_000 + seed), fresh=True)


def measure(steps, seeds):
    """Train two models with each seed, and ask both about the same fresh mappings.

    The weights of seed 0 are written to `WEIGHTS`, if the budget is the recorded one.

    Returns:
        list of dict: `seed`, `texts` ("mappings" or "no mapping") of the training, and what
        `by_examples` finds in 2,000 fresh mappings.
    """
    rows = []
    for seed in seeds:
        fresh = asked(seed)
        for consistent, name in ((True, "mappings"), (False, "no mapping")):
            with undisturbed():
                model = trained(steps, seed, consistent)
                rows.append({"seed": seed, "texts": name, **by_examples(model, fresh)})
            if (steps, seed, consistent) == (STEPS, 0, True):
                save_file(
                    {each: weight.half() for each, weight in model.state_dict().items()}, WEIGHTS
                )
    return rows


def measure_longer(steps, seeds):
    """Train on mappings alone, ask as `measure` does, and look inside.

    Args:
        steps: lengths of training; each begins anew.

    Returns:
        list of dict: `steps`, `seed`, and what `by_examples` and `looked_into` find in 2,000 fresh
        mappings.
    """
    rows = []
    for length, seed in itertools.product(steps, seeds):
        with undisturbed():
            model = trained(length, seed, consistent=True)
        fresh, run = asked(seed), {"steps": length, "seed": seed}
        rows.append(run | by_examples(model, fresh) | looked_into(model, fresh))
    return rows


def loaded():
    """Return the model whose weights are in `book/measured`, in eval mode."""
    model = blank()
    model.load_state_dict({name: each.float() for name, each in load_file(WEIGHTS).items()})
    return model.eval()


@torch.no_grad()
def answer(model, prompt):
    """Let a model say which letter comes next.

    Args:
        prompt: such as "a>f b>c a>".

    Returns:
        (letter, probability) of the likeliest one.
    """
    *examples, last = prompt.split()
    parts = [part for each in examples for part in (each[:2], each[2:])]
    ids = torch.tensor([[WORDS.index(part) for part in (*parts, last)]])
    shares = model(ids, pad_id=PAD)[0, -1].softmax(dim=-1)
    best = shares.argmax().item()
    return WORDS[best], shares[best].item()


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="can a tiny GPT learn a mapping from the examples in its prompt?",
    short={"steps": 40, "seeds": 1},
    long={"steps": STEPS, "seeds": 5},
    initialisation=INITIALISATION,
    measure=measure,
)
MORE_EXPERIMENTS = {
    "in_context_longer": replace(
        EXPERIMENT,
        asks="what does the same GPT find in its prompt if it trains 4 or 16 times as long?",
        long={"steps": (STEPS, 4 * STEPS, 16 * STEPS), "seeds": 3},
        measure=measure_longer,
    )
}
