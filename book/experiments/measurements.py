"""Results of runs that take longer than a page may: read from `book/measured`, where the commands
that made them left them.

`python -m book.experiments NAME` writes `NAME.json`, a dict with

- `command`, `date`, `hardware` (`cpu`, `cores`, `threads`) and `versions`: how it was made;
- `seconds`: by the clock on the wall;
- `initialisation`: how the parameters were drawn;
- `budget`: `steps`, `seeds` (how many, from 0 on) and what else the command was given;
- `runs`: a list of dicts, one for each run; the experiment's module says with which keys.

The other files are made by commands of their own, and have their own forms. `runs.json` is a list
with one dict for each long run, written by `python -m solutions.translator evaluate --record`:

- `text`: what was translated, such as "Multi30k, English-German";
- `command`: the whole command line;
- `hardware`, `date`, `torch`: on what, when, and with which version;
- `weights`: parameters of the model;
- `steps`, `seconds`: of training;
- `sentences`: of the test;
- `bleu_greedy`, `bleu_beam_5`, `chrf`: from 0 to 100: greedy decoding, beam search with 5
  hypotheses, and chrF of the latter;
- `signature`: sacreBLEU's, of the BLEU scores;
- `remark`, perhaps: what a reader must know to judge the row, such as how many settings were tried
  and whether the test was in sight;
- `samples`, perhaps: translations from good to bad, each with `source`, `reference`, `translation`
  and its own `chrf`.

A key that is missing, or null, stays empty in the table. Where a file is missing, nothing was
measured yet.
"""

import json
import re
from pathlib import Path

import numpy as np
from IPython.display import Markdown

from book.experiments import Experiment
from solutions.translator.measure import records

FOLDER = Path(__file__).resolve().parents[1] / "measured"
NOTHING = "–"
MADE_ELSEWHERE = {
    "gpu": Experiment(
        page="ch10_gpu",
        asks="what does a GPU do with a product, a step, an attention, a word?",
        command="python -m book.experiments.cost.on_a_gpu",
    ),
    "runs": Experiment(
        page="ch09_training",
        asks="what comes of training on real text?",
        command="python -m solutions.translator evaluate --record",
    ),
}


def load(name):
    """Return what a file of `book/measured` holds, or None where there is none."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def write(path, measured):
    """Write a file of `book/measured`, one run a line; it is there whole or not at all."""
    lines = ",\n".join(f"  {json.dumps(run)}" for run in measured["runs"])
    head = json.dumps({name: value for name, value in measured.items() if name != "runs"}, indent=1)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(f'{head[:-2]},\n "runs": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    unfinished.replace(path)


def runs_table(runs):
    """Return the table of the long runs, with the command of the first below it; one sentence where
    there are none. Runs that differ in nothing but their seed are one row: mean and range. A model
    that was trained for an earlier row says which.
    """
    if not runs:
        return Markdown("*No runs measured yet.*")
    heads = ("text", "BLEU, greedy", "BLEU, beam 5", "chrF, beam 5", "parameters", "training")
    groups = {}
    for run in runs:
        alike = re.sub(r" --(seed|into) \S+", "", run.get("command") or "")
        groups.setdefault((run.get("text"), alike), []).append(run)
    rows, trained = [], {}
    for group in groups.values():
        first = group[0]
        same = trained.setdefault(first.get("command") or len(rows), len(rows))
        size = millions(first.get("weights")), duration(first.get("seconds"))
        rows.append(
            (
                first.get("text") or NOTHING,
                *(score_of(group, name) for name in ("bleu_greedy", "bleu_beam_5", "chrf")),
                *(size if same == len(rows) else (f"as in row {same + 1}", "")),
            )
        )
    how = made_by(next(iter(groups.values()))[0])
    return Markdown(
        f"{table(heads, rows).data}\n\n::::{{admonition}} What made the first row\n:class:"
        f" dropdown\n\n{how}\n::::"
    )


def score_of(group, name):
    """Write a score of runs that differ in their seed alone."""
    scores = [run[name] for run in group if run.get(name) is not None]
    return spread(scores, 1, 1) if len(scores) > 1 else shown(next(iter(scores), None), "{:.1f}")


def samples_list(runs, text, meanings):
    """Return the kept translations of a text, from good to bad, each with its rank and with what it
    means; one sentence where there are none.

    Args:
        runs: the long runs.
        text: whose samples.
        meanings: for each sample its translation put into English again.
    """
    samples = next(
        (run["samples"] for run in runs or () if run["text"] == text and "samples" in run), None
    )
    if not samples:
        return Markdown("*No samples kept yet.*")
    return Markdown(
        "\n".join(
            f"- *{cell(each['source'])}* (chrF {each['chrf']:.0f}, better than {share:.0%})\n"
            f"  - reference: {cell(each['reference'])}\n"
            f"  - translation: {cell(each['translation'])}\n"
            f"  - that means: *{cell(meaning)}*"
            for each, share, meaning in zip(samples, records.SAMPLES, meanings, strict=True)
        )
    )


def cell(text):
    """Write a sentence so that nothing in it is markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-.!|$~" else c for c in text)


def made_by(run):
    """Say how a run was made."""
    said = (
        f"**{run.get('text') or NOTHING}**, {run.get('hardware') or NOTHING},"
        f" {run.get('date') or NOTHING}:"
    )
    lines = "\n".join(filter(None, (run.get("command"), run.get("signature"))))
    parts = [said, f"```text\n{lines}\n```" if lines else "", run.get("remark", "")]
    return "\n\n".join(filter(None, parts))


def table(heads, rows):
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


def spread(numbers, factor, digits, unit=""):
    """Write a mean with its range: "97.1 % (96.2 to 98.0)"."""
    low, mean, high = (
        f"{factor * number:.{digits}f}"
        for number in (np.min(numbers), np.mean(numbers), np.max(numbers))
    )
    return f"{mean}{unit} ({low} to {high})"


def shown(number, form):
    """Write a number, or nothing."""
    return NOTHING if number is None else form.format(number)


def millions(number):
    """Write a large number: "5.2M"."""
    return NOTHING if number is None else f"{number / 1e6:.1f}M"


def duration(seconds):
    """Write seconds as people do."""
    if seconds is None:
        return NOTHING
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
