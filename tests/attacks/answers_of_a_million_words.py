"""Answers with a million names of changed arguments and of ancestors of an exception, all of which
a message might quote.
"""

# %%
import json

import autograder.shared.probes as probes
from IPython.display import publish_display_data

NAMES = ["x" * 12] * 1_000_000
turn = iter(
    [
        {"dict": [["changed", NAMES]]},
        {"dict": [["raised", {"dict": [["bases", NAMES], ["type", "E" * 10_000]]}]]},
    ]
    * 100
)


def answer(request):
    told = probes.decode(request)["id"]
    publish_display_data(
        {probes.ANSWER_MIME: json.dumps({"dict": [["id", told], ["observation", next(turn)]]})}
    )


probes.answer = answer


# %% softmax
def softmax(scores, axis=-1):
    return scores
