"""What does a beam add on real text, and why? One translator of captions decodes the same test with
several beams and length penalties: BLEU, the length of what it writes beside that of the
references, and a paired bootstrap over the test's sentences against greedy decoding.

It reads `train`, `val` and `test_2016_flickr` of Multi30k, such as `train.en.gz` and `train.fr.gz`,
from `work/multi30k`.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from book.experiments import Experiment
from solutions.translator.data.text import clean, read_pairs
from solutions.translator.decoding import translate_ids
from solutions.translator.runs import FinishedRun, prepare
from solutions.translator.settings import Settings, Shape

CAPTIONS = Path("work/multi30k")
SHAPE = Shape(192, 4, 2, 2, d_ff=384, dropout=0.0)
SETTINGS = {"tokens": 768, "learning_rate": 2.5e-3, "warmup": 400, "look_every": 500}
VOCABULARY = 3000
DRAWS = 1000


def measure(steps, beams, penalties, seeds):
    """Train from each seed, and decode with each beam and each length penalty.

    Returns:
        list of dict: `seed`, `sentences` of the test, and `decoded`: a list with `beam`, `penalty`,
        `bleu`, `length` (the words written, as a share of those of the references) and `p`, the
        p-value of the difference from greedy decoding; greedy decoding, which knows no penalty,
        has none.
    """
    return [one_run(steps, beams, penalties, seed) for seed in seeds]


def one_run(steps, beams, penalties, seed):
    """Return the entry of one run."""
    pairs, validation, test = (
        read_pairs(CAPTIONS / f"{name}.en.gz", CAPTIONS / f"{name}.fr.gz")
        for name in ("train", "val", "test_2016_flickr")
    )
    sources, references = zip(*test, strict=True)
    pairs, _ = clean(pairs)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        settings = Settings(**SETTINGS, steps=steps, seed=seed)
        prepare(folder, pairs, validation, SHAPE, settings, VOCABULARY).run()
        translated = FinishedRun(folder, "cpu")
    greedy, decoded = said(translated, sources, 1), []
    for penalty in penalties:
        for beam in beams:
            if beam == 1 and penalty != penalties[0]:
                continue
            seen = scored(said(translated, sources, beam, penalty), greedy, references)
            decoded.append({"beam": beam, "penalty": penalty, **seen})
            print(seed, decoded[-1], file=sys.stderr, flush=True)
    return {"seed": seed, "sentences": len(test), "decoded": decoded}


def said(run, sources, beam, penalty=0.6):
    """Return the translations of a finished run."""
    found = translate_ids(run.model, run.source.encode(list(sources)), beam, penalty)
    return [run.target.decode(each) for each in found]


def scored(translations, greedy, references):
    """Return what is recorded of some translations; they are compared with greedy ones."""
    bleu = BLEU().corpus_score(translations, [list(references)])
    seen = {"bleu": round(bleu.score, 2), "length": round(bleu.sys_len / bleu.ref_len, 4)}
    return seen | {
        "p": None if translations == greedy else p_value(greedy, translations, references)
    }


def p_value(baseline, system, references):
    """Return the p-value of sacreBLEU's paired bootstrap."""
    named = [("baseline", baseline), ("system", system)]
    metrics = {"BLEU": BLEU(references=[list(references)])}
    test = PairedTest(named, metrics, references=None, test_type="bs", n_samples=DRAWS)
    _, found = test()
    return round(found["BLEU"][1].p_value, 4)


EXPERIMENT = Experiment(
    page="ch09_translating",
    asks="what does a beam add on real text, and is it the search or the length?",
    long={"steps": 2500, "beams": (1, 5), "penalties": (0.6,), "seeds": 1},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
