"""What a translator trained on the course's corpus has understood: the part of each test split that
comes out exactly right.
"""

from solutions.translator import corpus
from solutions.translator.measure.evaluation import exact_matches

EXPECTED = {  # split: what it asks, and what 1,500 steps of the preset come to
    "random": "new sentences of the kind it was trained on; expect 97 % or more",
    "combinations": "a noun with an adjective that it never saw together; expect 97 % or more",
    "structures": "constructions that it never saw; expect about half",
    "long": "longer than any sentence it saw; expect almost none",
}


def report(run):
    """Return a line for each test split: how many sentences come out exactly right, and how many
    one may expect.

    Args:
        run: FinishedRun.
    """
    splits, lines = corpus.splits(), []
    for name, expected in EXPECTED.items():
        sources, targets = zip(*splits[name], strict=True)
        share = exact_matches(run.translate(sources), targets)
        lines.append(f"{name + ':':13} {share:6.1%} of {len(sources):,} ({expected})")
    return "\n".join(lines)
