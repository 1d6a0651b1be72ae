"""Answers with lists in lists in lists, from a hundred to a million deep, as result, as message, as
name and as answer.
"""

# %%
import autograder.shared.probes as probes
from IPython.display import publish_display_data

turn = iter([100, 300, 480, 490, 900, 1_000, 5_000, 1_000_000] * 100)


def answer(request):
    told = probes.decode(request)["id"]
    depth = next(turn)
    nested = "[" * depth + "]" * depth
    for text in (
        nested,
        '{"dict":[["id","' + told + '"],["observation",{"dict":[["result",' + nested + "]]}]]}",
    ):
        publish_display_data({probes.ANSWER_MIME: text})


probes.answer = answer


# %% softmax
def softmax(scores, axis=-1):
    return scores
