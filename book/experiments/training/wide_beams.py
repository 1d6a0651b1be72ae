"""When does a wider beam harm? The little translator of chapter 8, trained from several seeds and
stopped early or twice as late, decodes its test with beams of many sizes and several length
penalties.
"""

import sys

from book.experiments import Experiment, unsure_translator
from book.experiments.little import toy_translation
from book.experiments.undisturbed import undisturbed
from solutions.translator.decoding import translate_ids
from solutions.translator.measure import evaluation


def measure(steps, beams, penalties, seeds):
    """Train from each seed for so many steps, and decode with each beam and each length penalty.

    Returns:
        list of dict: `seed`, `steps`, `sentences` of the test, and `decoded`: a list with `beam`,
        `penalty`, `bleu`, `length` (the words written, as a share of those of the references),
        `right` (translations without a mistake) and `empty` ones; greedy decoding has no penalty.
    """
    return [one_run(each, beams, penalties, seed) for each in steps for seed in seeds]


def one_run(steps, beams, penalties, seed):
    """Return the entry of one run."""
    _, test = toy_translation.corpus()
    with undisturbed():
        translator = toy_translation.train_translator(steps=steps, seed=seed)
    decoded = []
    for beam in beams:
        for penalty in penalties if beam > 1 else (None,):
            seen = scored(translator, test, beam, penalty)
            decoded.append({"beam": beam, "penalty": penalty, **seen})
            print(steps, seed, decoded[-1], file=sys.stderr, flush=True)
    return {"seed": seed, "steps": steps, "sentences": len(test), "decoded": decoded}


def scored(translator, test, beam, penalty):
    """Return what is recorded of a translator's answers."""
    sources = [translator.source(english)[0].tolist() for english, _ in test]
    references = [italian for _, italian in test]
    found = translate_ids(translator.model, sources, beam, penalty or 0.0)
    written = [" ".join(translator.words(each)) for each in found]
    return {
        "bleu": round(evaluation.bleu(written, references).value, 2),
        "length": round(words_of(written) / words_of(references), 4),
        "right": sum(one == other for one, other in zip(written, references, strict=True)),
        "empty": written.count(""),
    }


def words_of(sentences):
    """Count words."""
    return sum(len(each.split()) for each in sentences)


EXPERIMENT = Experiment(
    page="ch09_translating",
    asks="when does a wider beam harm, and what does a length penalty do about it?",
    long={
        "steps": (unsure_translator.STEPS, 2 * unsure_translator.STEPS),
        "beams": (1, 2, 5, 10, 20, 50),
        "penalties": (0.0, 0.6, 1.0),
        "seeds": 6,
    },
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
