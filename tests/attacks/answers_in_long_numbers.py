"""Answers with numbers of a million digits, infinities, and integers that fit nowhere, where arrays
and numbers should be.
"""

# %%
import autograder.shared.probes as probes
from IPython.display import publish_display_data

NUMBERS = [
    "9" * 1_000_000,
    "9" * 4_300,
    "1e999999",
    "NaN",
    "-Infinity",
    "1" + "0" * 4_000 + ".5",
    "0." + "3" * 15_000_000,
]
turn = iter(NUMBERS * 100)


def answer(request):
    told = probes.decode(request)["id"]
    number = next(turn)
    array = '{"array":"float64","shape":[1],"values":[' + number + "]}"
    for result in (number, array):
        text = (
            '{"dict":[["id","' + told + '"],["observation",{"dict":[["result",' + result + "]]}]]}"
        )
        publish_display_data({probes.ANSWER_MIME: text})


probes.answer = answer


# %% softmax
def softmax(scores, axis=-1):
    return scores
