"""The translator of chapter 9: trained by the course's own loop, so long that it rarely errs, with
what it writes on the way and what it makes of held-out sentences in the end.
"""

import contextlib
import io
import json
import tempfile
from pathlib import Path

from book.experiments import Experiment
from solutions.translator import corpus
from solutions.translator.measure import evaluation
from solutions.translator.runs import FinishedRun, prepare
from solutions.translator.settings import Settings, Shape

PROMISE = corpus.PROMISE, "il tuo gatto è un gatto adorabile"
SHAPE = Shape(128, 4, 2, 2, d_ff=256, dropout=0.0)
SETTINGS = {"tokens": 1024, "learning_rate": 3e-3, "warmup": 100, "look_every": 25}
BEAMS = (1, 2, 5, 10, 50)


def measure(steps, seeds):
    """Train, and translate what was held out.

    Returns:
        list of dict: `steps`, `seed`, `parameters`, `pairs` in training, the last
        `validation_loss`, and for each of `BEAMS`, as strings, `exact`, `bleu` and `words` (the
        mean length of a translation). The first run has more: `looks`, each with `step`, `loss`,
        `validation_loss` and `translations` of `sentences`; and of the held-out pairs `sources`,
        `references`, `greedy` and `beam_5`.
    """
    return [one_run(steps, seed, whole=seed == seeds[0]) for seed in seeds]


def one_run(steps, seed, whole):
    """Return the entry of one run.

    Args:
        whole: also note what it writes.
    """
    easy = corpus.easy_part()
    sentences = [PROMISE, *easy["validation"]]
    settings = Settings(**SETTINGS, steps=steps, seed=seed)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        training = prepare(folder, easy["train"], sentences, SHAPE, settings)
        parameters = sum(each.numel() for each in training.model.parameters())
        loss = training.run()
        history = (Path(folder) / "history.jsonl").read_text(encoding="utf-8").splitlines()
        translated = FinishedRun(folder, "cpu")
        sources, references = zip(*easy["random"], *easy["combinations"], strict=True)
        said = {beam: translated.translate(sources, beam_size=beam) for beam in BEAMS}
    seen = {
        "steps": steps,
        "seed": seed,
        "parameters": parameters,
        "pairs": len(easy["train"]),
        "validation_loss": round(loss, 4),
        "exact": {str(beam): evaluation.exact_matches(said[beam], references) for beam in BEAMS},
        "bleu": {
            str(beam): round(evaluation.bleu(said[beam], references).value, 2) for beam in BEAMS
        },
        "words": {
            str(beam): sum(len(each.split()) for each in said[beam]) / len(references)
            for beam in BEAMS
        },
    }
    if not whole:
        return seen
    return seen | {
        "sentences": [list(pair) for pair in sentences[:3]],
        "looks": list(looks_of(map(json.loads, history))),
        "sources": sources,
        "references": references,
        "greedy": said[1],
        "beam_5": said[5],
    }


def looks_of(history):
    """Yield what was seen at each look at the validation sentences: the loss in training is the
    latest before it.
    """
    loss = None
    for line in history:
        loss = line.get("loss", loss)
        if "validation_loss" in line:
            yield {
                "step": line["step"],
                "loss": loss and round(loss, 4),
                "validation_loss": round(line["validation_loss"], 4),
                "translations": [each["translation"] for each in line["translations"]],
            }


EXPERIMENT = Experiment(
    page="ch09_training",
    asks="what does the course's own loop make of the same sentences with a larger model?",
    long={"steps": 500, "seeds": 3},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
