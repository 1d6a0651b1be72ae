"""Has what fine-tuning changes a low rank?

The model, the texts and the matrices are those of `lora`, but here each matrix is trained itself,
and nothing beside it. Afterwards the change of every matrix is cut to the nearest one of each rank
(its largest singular values), and put back. LoRA of that rank could have found the same, and it may
find something better. Weights do not decay, because decay alone changes all of a matrix.
"""

import torch
from torch import nn

from book.experiments import Experiment
from book.experiments.after_2017.lora import BATCH, LAYERS, sentences
from book.experiments.family import alice
from book.experiments.undisturbed import undisturbed

SHOWN = "layers.0.self_attention.w_v"  # whose change is recorded whole


def matrices(model):
    """Return dict: name -> weight of each linear layer beside which `lora` puts LoRA."""
    return {
        name: module.weight
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] in LAYERS
    }


def cut_to(rank, left, sizes, right):
    """Return the matrix of a rank that is nearest to the one with this decomposition."""
    return left[:, :rank] * sizes[:rank] @ right[:rank]


def fine_tuned(rate, steps, seed, new):
    """Train the matrices alone.

    Returns:
        the model, dict of the change of each matrix, and the smallest validation loss.
    """
    torch.manual_seed(seed)
    model = alice.loaded().requires_grad_(False)
    trained = matrices(model)
    before = {name: weight.clone() for name, weight in trained.items()}
    for weight in trained.values():
        weight.requires_grad_(True)
    texts = new["train"], new["validation"]
    history = alice.train(model, *texts, steps, seed, BATCH, rate, decay=0)
    changes = {name: weight.detach() - before[name] for name, weight in trained.items()}
    return model.requires_grad_(False), changes, min(each["validation"] for each in history)


def losses_by_rank(model, changes, test):
    """Cut all changes to each rank.

    Returns:
        list of dict: `rank`, the `test` loss, and the share of the changes' squares that is `kept`.
    """
    trained = matrices(model)
    after = {name: weight.clone() for name, weight in trained.items()}
    parts = {name: torch.linalg.svd(each, full_matrices=False) for name, each in changes.items()}
    whole = sum(change.square().sum() for change in changes.values())
    rows = []
    for rank in range(max(min(change.shape) for change in changes.values()) + 1):
        cut = {name: cut_to(rank, *each) for name, each in parts.items()}
        for name, weight in trained.items():
            weight.copy_(after[name] - changes[name] + cut[name])
        kept = sum(each.square().sum() for each in cut.values()) / whole
        rows.append({"rank": rank, "test": alice.loss_on(model, test), "kept": kept.item()})
    return rows


def measure(steps, seeds, rates):
    """Fine-tune with each number of steps, rate and seed, and cut the changes.

    Returns:
        list of dict: `steps`, `rate`, `seed`, `validation`, and for each rank what `losses_by_rank`
        says; the first of them has `change`, that of `SHOWN`.
    """
    new = {name: alice.encoded(text) for name, text in sentences().items()}
    rows = []
    with undisturbed():
        for budget in steps:
            for rate in rates:
                for seed in seeds:
                    model, changes, validation = fine_tuned(rate, budget, seed, new)
                    test = alice.cut(new["test"], model.max_len)
                    found = losses_by_rank(model, changes, test)
                    rows.append(
                        {"steps": budget, "rate": rate, "seed": seed, "validation": validation}
                        | {key: [row[key] for row in found] for key in ("rank", "test", "kept")}
                    )
                    if len(rows) == 1:
                        rounded = changes[SHOWN].double().mul(1e4).round().div(1e4)
                        rows[0]["change"] = rounded.tolist()
    return rows


EXPERIMENT = Experiment(
    page="ch13_since_2017",
    asks="has what fine-tuning changes a low rank?",
    long={"steps": (200, 400), "seeds": 3, "rates": (1e-3, 3e-3)},
    initialisation="the weights of alice.safetensors",
    measure=measure,
)
