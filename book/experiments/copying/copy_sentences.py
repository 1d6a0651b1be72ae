"""What the explorer `copying` shows: the copies of several sentences, by one machine of each form.

A run, as `measure` returns it, has the keys `kind`, `size`, `steps` and `seed` of `copy_task`, and
`replays`, a list of what `replay` returns, one for each of `sentences()`.
"""

import sys
from itertools import product

import torch

from book.experiments import Experiment
from book.experiments.copying.copy_task import (
    KINDS,
    LENGTHS,
    SENTENCE,
    ids_of,
    random_sentences,
    shares,
    train,
)


def sentences():
    """Return the page's sentence and two random ones, each (1, 20) int64."""
    drawn = random_sentences(2, len(LENGTHS), torch.Generator().manual_seed(2))
    return [ids_of(SENTENCE), *drawn.split(1)]


@torch.no_grad()
def replay(model, sentence, decimals=3):
    """Copy every beginning of a sentence, and keep what one needs to compute additive attention
    again elsewhere.

    Args:
        sentence: (1, seq_len) int64.

    Returns:
        dict: `written`, for each beginning the ids written; with attention also `queries`, for each
        beginning (query_len, d_attention), `keys`, (seq_len, d_attention), both projected, and `v`,
        (d_attention,); all lists.
    """

    def rounded(tensor):
        return tensor.double().numpy().round(decimals).tolist()

    copies = [model.copy(sentence[:, :seq_len]) for seq_len in range(1, sentence.shape[1] + 1)]
    noted = {"written": [written[0].tolist() for written, _, _ in copies]}
    if model.attention:
        noted["queries"] = [rounded(model.w_query(queries[0])) for _, queries, _ in copies]
        noted["keys"] = rounded(model.w_key(copies[-1][2][0]))
        noted["v"] = rounded(model.v.weight[0])
    return noted


def measure(steps, seeds, machines):
    """Train one machine after the other.

    Args:
        machines: such as "vector-32" and "attention-16", with the numbers in a state.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    forms = [name.split("-") for name in machines]
    for budget, (kind, size), seed in product(steps, forms, seeds):
        model = train(int(size), kind == "attention", seed, budget)
        form = {"kind": KINDS[kind], "size": int(size), "steps": budget, "seed": seed}
        replays = [replay(model, each, decimals=2) for each in sentences()]
        runs.append(form | {"replays": replays})
        print(kind, size, budget, file=sys.stderr, flush=True)
    return runs


def for_the_explorer(runs, replayed, count=2):
    """Return the recorded runs in the form that the explorer `copying` reads.

    Args:
        runs: those of `copy_task`.
        replayed: those of this module, of one seed.
        count: how many of the sentences it shows; each adds 70 KB to the page.

    Returns:
        dict with `sentences`; `budgets`; `sizes` of the one vector, and `attention_size`;
            `curves`, from "vector" and "attention" to lists of (seeds, lengths) shares; and under
            these two names also lists of the replays. The lists of the vector have an entry for
            each size of each budget, those of attention for each budget.
    """
    sizes = {
        kind: sorted({run["size"] for run in runs if run["kind"] == kind})
        for kind in KINDS.values()
    }
    budgets = sorted({run["steps"] for run in runs})
    (attention_size,) = sizes["attention"]
    state = {"sentences": [each[0].tolist() for each in sentences()[:count]], "budgets": budgets}
    state |= {"sizes": sizes["one vector"], "attention_size": attention_size, "curves": {}}
    kept = {(run["kind"], run["steps"], run["size"]): run["replays"][:count] for run in replayed}
    for name, kind in KINDS.items():
        forms = list(product(budgets, sizes[kind]))
        state["curves"][name] = [
            shares(runs, kind, budget)[size].round(3).tolist() for budget, size in forms
        ]
        state[name] = [kept[kind, *form] for form in forms]
    return state


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="what do machines of one seed make of three sentences, for the explorer?",
    long={
        "steps": (400, 4000, 20000),
        "seeds": 1,
        "machines": ("vector-16", "vector-32", "vector-64", "attention-16"),
    },
    measure=measure,
)
