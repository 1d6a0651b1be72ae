"""Checks of `ch10_gpu`.

Everything is checked on a CPU, with models of a few dozen numbers. The contract leaves four things
open, so nothing here checks them: what `.grad` holds after a step; in which mode a step leaves the
model if it had no word to learn from; what becomes of a part's graph after its backward pass; what
a sentence without words does beside others that have some.
"""

from functools import partial

from autograder.checks.ch09_training.teacher_forcing_pair import of_the_same
from solutions.ch09_training import label_smoothed_loss


def declare_losses_of_another_question(wrong):
    """Declare what goes wrong wherever a loss is computed; the exercise's family has the rules
    `loss` and `pair`, and its function the argument `smoothing`.
    """
    wrong(
        "smoothing is always 0.1",
        "Right with the default. What has become of the argument `smoothing`?",
        smoothing=0.1,
    )
    wrong(
        "padding counts as a target",
        "Right where no sentence has padding. Which id should the loss ignore?",
        loss=partial(label_smoothed_loss, pad_id=-1),
    )
    wrong(
        "the decoder should say what it reads",
        """At each position your decoder reads the very word that it is asked for. What do the two
        results of `teacher_forcing_pair` mean?""",
        pair=of_the_same,
    )
    wrong(
        "a target is read and said as it is",
        """At each position your decoder reads the very word that it is asked for. What do the two
        results of `teacher_forcing_pair` mean?""",
        pair=lambda tgt: (tgt, tgt),
    )
