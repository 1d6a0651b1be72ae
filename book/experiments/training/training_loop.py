"""The loop of chapter 9, as the page has it, run again: with other seeds, for longer, or with some
of its lines changed.

The page's own cells are executed, those tagged `training-data`, `training-model`, `training-loop`
and `training-translate`, so that what is measured here is what the reader sees.
"""

import math
import re
import time
from functools import cache
from itertools import chain, count, islice
from pathlib import Path

import torch
from torch import nn

from book.experiments import Experiment
from solutions.ch08_encoder_decoder import Transformer, greedy_decode
from solutions.ch09_training import label_smoothed_loss, teacher_forcing_pair
from solutions.translator.corpus import easy_part
from solutions.translator.data.batches import Batches, padded
from solutions.translator.data.tokenizer import Tokenizer
from solutions.translator.measure import evaluation

PAGE = Path(__file__).resolve().parents[2] / "ch09_training.md"
DATA, *CELLS = "training-data", "training-model", "training-loop", "training-translate"
IMPORTED = {  # what the page's first cell imports, as far as these cells use it
    "math": math,
    "torch": torch,
    "nn": nn,
    "AdamW": torch.optim.AdamW,
    "chain": chain,
    "count": count,
    "islice": islice,
    "Transformer": Transformer,
    "greedy_decode": greedy_decode,
    "label_smoothed_loss": label_smoothed_loss,
    "teacher_forcing_pair": teacher_forcing_pair,
    "Batches": Batches,
    "padded": padded,
    "Tokenizer": Tokenizer,
    "easy_part": easy_part,
}


def cell(tag):
    """Return the code of the page's cell with a tag.

    Raises:
        ValueError: if there is not exactly one.
    """
    pattern = rf"^```\{{code-cell\}} ipython3\n:tags: \[[^\]]*\b{tag}\b[^\]]*\]\n\n(.*?)^```$"
    found = re.findall(pattern, PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"{PAGE.name} has {len(found)} cells tagged {tag}, not one")
    return found[0]


@cache  # its sentences are read-only, and take a second to encode
def data():
    """Return every name that the page's cell of the data defines."""
    defined = dict(IMPORTED)
    exec(compile(cell(DATA), PAGE.name, "exec"), defined)
    return defined


def loop_with(edits=(), **names):
    """Execute the page's cells with some lines changed, except those of the data.

    Args:
        edits: pairs (what the page says, what is executed instead).
        names: what a name of the page's first cell shall mean instead.

    Returns:
        dict: every name that the cells define: `train`, `new_model`, `translate`, `training`, ...

    Raises:
        ValueError: if the page does not say exactly once what an edit changes.
    """
    code = "\n".join(map(cell, CELLS))
    for said, instead in edits:
        if code.count(said) != 1:
            raise ValueError(f"the cells of {PAGE.name} say {code.count(said)} times: {said}")
        code = code.replace(said, instead)
    defined = data() | names
    exec(compile(code, PAGE.name, "exec"), defined)
    return defined


def held_out(page):
    """Return the pairs of sentences, never trained on, of which a run translates all."""
    return page["easy"]["random"] + page["easy"]["combinations"]


def exactly_right(page, model, pairs):
    """Return the part of some pairs that a model translates to the letter."""
    sources, references = zip(*pairs, strict=True)
    return evaluation.exact_matches(page["translate"](model, list(sources)), references)


def measure(steps, seeds):
    """Run the loop of the page.

    Returns:
        list of dict: `steps`, `seed`, the last `validation_loss`, without smoothing, `exact`, the
        part of the held-out sentences that came out right, and `seconds` of training.
    """
    page, runs = loop_with(), []
    for budget in steps:
        for seed in seeds:
            model = page["new_model"](seed=seed)
            batches = page["batches_of"](page["easy"]["train"], seed=seed)
            begun = time.monotonic()
            *_, last = page["train"](model, batches, page["validation"], steps=budget)
            seconds = round(time.monotonic() - begun, 1)
            exact = round(exactly_right(page, model, held_out(page)), 4)
            seen = {"validation_loss": round(last[2], 4), "exact": exact, "seconds": seconds}
            runs.append({"steps": budget, "seed": seed, **seen})
    return runs


EXPERIMENT = Experiment(
    page="ch09_training",
    asks="how far does the page's own loop come, and does it go on with more steps?",
    short={"steps": 400, "seeds": 1},
    long={"steps": (400, 800), "seeds": 5},
    initialisation="PyTorch's default, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
