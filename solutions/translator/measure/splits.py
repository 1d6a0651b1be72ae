"""What a translator trained on the course's corpus has understood: the part of each test split that
comes out exactly right.
"""

from solutions.translator import corpus
from solutions.translator.measure.evaluation import exact_matches

EXPECTED = {  # split: what the preset "small" comes to, and what the split holds
    "random": ("97 % or more", "like those that it was trained on"),
    "combinations": ("97 % or more", "a noun with an adjective that it never saw together"),
    "structures": ("about half", "constructions that it never saw"),
    "long": ("very few", "longer than any that it saw"),
}


def report(run):
    """Return lines that say how many sentences of each test split come out exactly right, and how
    many one may expect.

    Args:
        run: FinishedRun.
    """
    splits = corpus.splits()
    lines = [
        "Exactly right, of sentences that it never saw, and what to expect of a full training:"
    ]
    for name, (expected, what) in EXPECTED.items():
        sources, targets = zip(*splits[name], strict=True)
        share = exact_matches(run.translate(sources), targets)
        lines.append(f"  {name:12} {share:6.1%} of {len(sources):5,}  ({expected}): {what}")
    return "\n".join(lines)
