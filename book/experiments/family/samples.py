"""What the tiny GPT of `alice` writes, by how its letters are chosen.

Of each text two things are counted: how many of its words stand in the chapters that the model has
read, and how long the longest piece is that stands there letter by letter. A text that is copied
has all its words right, so the two belong together.
"""

import re

from book.experiments import Experiment
from book.experiments.family import alice
from book.experiments.undisturbed import undisturbed

PROMPT = "Alice was beginning to "
WAYS = {
    "greedy": {"temperature": 0.0},
    "temperature 0.5": {"temperature": 0.5},
    "temperature 1": {},
    "temperature 1.5": {"temperature": 1.5},
    "top-k 5": {"top_k": 5},
    "top-p 0.8": {"top_p": 0.8},
}


def words(text):
    """Return the words of a text in small letters, without the last, which may be cut off."""
    return re.findall("[a-z]+", text.lower())[:-1]


def longest_copy(text, book):
    """Return how many letters the longest piece of a text has that stands in the book."""
    longest = 0
    for start in range(len(text)):
        while start + longest < len(text) and text[start : start + longest + 1] in book:
            longest += 1
    return longest


def measure(length, seeds):
    """Let the model write as many texts as there are seeds, in each of the `WAYS`.

    Args:
        length: of a text, in letters.

    Returns:
        list of dict: `way`, `text`, the share of its words that are `known`, and `copied`, the
        length of its longest copy.
    """
    book, rows = alice.texts()["train"], []
    known = {*words(f"{book} .")}
    with undisturbed():
        model = alice.loaded()
        for way, knobs in WAYS.items():
            # a greedy choice knows no chance
            count = 1 if way == "greedy" else len(seeds)
            for text in alice.write(model, PROMPT, length, seed=0, rows=count, **knobs):
                said = words(PROMPT + text)
                rows.append(
                    {
                        "way": way,
                        "text": text,
                        "known": sum(word in known for word in said) / len(said),
                        "copied": longest_copy(text, book),
                    }
                )
    return rows


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="what does a tiny GPT write, by how its letters are chosen?",
    short={"length": 80, "seeds": 1},
    long={"length": 400, "seeds": 5},
    initialisation="the weights of alice.safetensors",
    measure=measure,
)
