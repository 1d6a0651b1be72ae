"""What share of an exercise's points each known wrong answer keeps, for those who weigh its cases.

One that is wrong everywhere should keep little, and one that slips at the edge should keep much:
whoever reads the list sees which ones are out of proportion.
"""

from dataclasses import replace

from autograder.authoring.loading import load_exercises
from autograder.shared.judge import judge, share
from autograder.shared.probes import observe
from autograder.shared.wire import copied

SEEDS = (b"one", b"two", b"three")


def proportions(stem, seeds=SEEDS):
    """Return the shares that a chapter's known wrong answers keep.

    Args:
        seeds: whose questions are asked.

    Returns:
        dict: (share, Misconception) pairs by exercise, from the smallest share to the largest; a
            share is from 0 to 1, the mean over the seeds.
    """
    return {
        name: sorted(shares_of(each, seeds), key=lambda pair: (pair[0], pair[1].belief))
        for name, each in load_exercises(stem).items()
    }


def shares_of(exercise, seeds):
    """Yield the (share, Misconception) of each wrong answer of an exercise."""
    asked = [
        replace(exercise.prepare(seed, visible), hints=(), combinations=())  # to count is quicker
        for seed in seeds
        for visible in (True, False)
    ]
    for wrong in exercise.misconceptions:
        kept = [
            share(
                judge(
                    each,
                    [
                        observe(case.probe, wrong.implementation, copied(case.inputs))
                        for case in each.cases
                    ],
                )
            )
            for each in asked
        ]
        yield sum(kept) / len(kept), wrong


def print_proportions(stem):
    """Print the shares, an exercise after the other."""
    for name, shares in proportions(stem).items():
        print(f"{name}: the share of points that each known wrong answer keeps")
        for kept, wrong in shares:
            print(f"  {kept:5.0%}  {wrong.belief}")
