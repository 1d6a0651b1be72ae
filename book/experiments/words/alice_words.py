"""Word vectors of a real book: chapter 1's skip-gram on "Alice's Adventures in Wonderland" (Lewis
Carroll, 1865).

The book is cut at its full stops, question marks and the like; words are in lower case, and those
that occur at least ten times get a row. A word predicts each neighbour that is at most two places
away. The loss is the chapter's, and so are its gradients, for all pairs of the book at once; the
steps are Adam's, because plain ones take ten times as many here. `GROUPS` was put together by hand
from those words, after a look at neighbours that another method had found, and nothing that trains
sees it. Width, rate and start were chosen with two seeds, by `share_in_group`.

A recorded run has `seed`, `steps`, `loss`, `share`, which is `share_in_group`'s, and, for the first
budget and two seeds, `rows`, with two decimals, each divided by its length. A run of `alice_starts`
has `start`, by which its random numbers are multiplied, too, and no rows. A run of `alice_windows`
has `window`, how many places away a neighbour may be, and `king`, the words nearest to that one.
"""

import re
from collections import Counter

import numpy as np

from book.experiments import Experiment, measurements

TEXT = measurements.FOLDER.parent / "texts" / "wonderland.txt"
LEAST, WINDOW, WIDTH, RATE, START = 10, 2, 16, 0.01, 0.01
GROUPS = (
    "head eyes hand hands face mouth arm feet foot",
    "could would should can can't might must shall may won't don't",
    "said replied asked cried added remarked",
    "king queen hatter hare gryphon turtle duchess dormouse mouse cat rabbit caterpillar dodo"
    " pigeon footman cook",
    "she he it they i you we",
    "her his its my your their",
)


def words_of(text):
    """Return the words of a text, in lower case."""
    return re.findall(r"[a-z]+(?:['-][a-z]+)*", text.lower())


def chapters():
    """Return the texts of the book's twelve chapters."""
    return re.split(r"^CHAPTER [IVX]+$", TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


def sentences():
    """Return the book as lists of words."""
    pieces = re.split(r"[.!?;:()\n*]|--", TEXT.read_text(encoding="utf-8"))
    return [words for piece in pieces if (words := words_of(piece))]


def pair_counts(window=WINDOW):
    """Count who is near whom.

    Args:
        window: how many places away a neighbour may be.

    Returns:
        the words, most frequent first, and (words, words) how often the second is a neighbour of
        the first.
    """
    book = sentences()
    counts = Counter(word for sentence in book for word in sentence)
    words = [word for word, count in counts.most_common() if count >= LEAST]
    ids = {word: number for number, word in enumerate(words)}
    near = np.zeros((len(words), len(words)))
    for sentence in book:
        row = [ids.get(word) for word in sentence]
        for place, centre in enumerate(row):
            around = row[max(0, place - window) : place] + row[place + 1 : place + window + 1]
            for neighbour in around:
                if centre is not None and neighbour is not None:
                    near[centre, neighbour] += 1
    return words, near


def train(near, seed, steps, start=START):
    """Fit a table by chapter 1's loss, with Adam.

    Args:
        near: (words, words) counts of pairs.
        start: standard deviation of the random numbers at the start.

    Returns:
        the table, (words, WIDTH), and its last loss.
    """
    both = start * np.random.default_rng(seed).normal(size=(2, len(near), WIDTH))
    mean, square = np.zeros_like(both), np.zeros_like(both)
    target = near / near.sum()
    share = target.sum(axis=1, keepdims=True)
    for step in range(1, steps + 1):
        table, readout = both
        powers = np.exp(table @ readout.T)
        probabilities = powers / powers.sum(axis=1, keepdims=True)
        error = share * probabilities - target
        gradient = np.array([error @ readout, error.T @ table])
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        scale = np.sqrt(square / (1 - 0.99**step)) + 1e-8
        both = both - RATE * mean / (1 - 0.9**step) / scale
    return table, -np.sum(target * np.log(probabilities))


def neighbours(words, table, word, count):
    """Return the words whose rows have the largest cosines with that of a word, nearest first."""
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[words.index(word)]))
    return [words[row] for row in order if words[row] != word][:count]


def share_in_group(words, table, count=3):
    """Return how many of the nearest words of each word of `GROUPS` are in its group, as a share,
    and the share that chance would give.
    """
    found, chance = [], []
    for group in map(str.split, GROUPS):
        for word in group:
            found += [each in group for each in neighbours(words, table, word, count)]
            chance.append((len(group) - 1) / (len(words) - 1))
    return np.mean(found), np.mean(chance)


def measure(steps, seeds):
    """Train with each budget and seed; see the module for what a run holds."""
    words, near = pair_counts()
    runs = []
    for budget in steps:
        for seed in seeds:
            table, loss = train(near, seed, budget)
            share = share_in_group(words, table)[0]
            run = {"steps": budget, "seed": seed, "loss": round(float(loss), 4)}
            run["share"] = round(float(share), 4)
            if budget == steps[0] and seed < 2:
                unit = table / np.linalg.norm(table, axis=1, keepdims=True)
                run["rows"] = unit.round(2).tolist()
            runs.append(run)
    return runs


def measure_starts(steps, starts, seeds):
    """Train from several starts, each with every seed."""
    words, near = pair_counts()
    runs = []
    for start in starts:
        for seed in seeds:
            table, loss = train(near, seed, steps, start)
            share = share_in_group(words, table)[0]
            run = {"start": start, "seed": seed, "loss": round(float(loss), 4)}
            runs.append({**run, "share": round(float(share), 4)})
    return runs


def measure_windows(steps, windows, seeds):
    """Train with windows of several widths, each with every budget and seed."""
    runs = []
    for window in windows:
        words, near = pair_counts(window)
        for budget in steps:
            for seed in seeds:
                table, loss = train(near, seed, budget)
                share = share_in_group(words, table)[0]
                run = {"window": window, "steps": budget, "seed": seed}
                run |= {"loss": round(float(loss), 4), "share": round(float(share), 4)}
                runs.append({**run, "king": neighbours(words, table, "king", 5)})
    return runs


def explorer_state(recorded):
    """Return the words, and their rows in two trainings, in hundredths: what the explorer
    `neighbours` starts from.
    """
    tables = [np.array(run["rows"]) for run in recorded["runs"] if "rows" in run]
    rows = [(100 * table).round().astype(int).tolist() for table in tables]
    return {"words": pair_counts()[0], "tables": rows}


EXPERIMENT = Experiment(
    page="ch01_embeddings",
    asks="which words of a real book end up close together, and is it chance?",
    long={"steps": (300, 150, 600), "seeds": 5},
    initialisation="normal, with standard deviation 0.01",
    measure=measure,
)

MORE_EXPERIMENTS = {
    "alice_starts": Experiment(
        page="ch01_embeddings",
        asks="does a large start still do harm where there are far more words than columns?",
        long={"steps": 1200, "starts": (0.01, 1.0), "seeds": 3},
        initialisation="normal, with standard deviation `starts`",
        measure=measure_starts,
    ),
    "alice_windows": Experiment(
        page="ch01_embeddings",
        asks="which words come close if a neighbour may be further away?",
        long={"steps": (300, 600), "windows": (1, 2, 5, 10), "seeds": 3},
        initialisation="normal, with standard deviation 0.01",
        measure=measure_windows,
    ),
}
