"""A learner's beam search, watched: which beginnings it asks about, and what it returns."""

from collections import Counter

import torch

from book.widgets.driven import Unfit, called, kind_of, name_of

BOS, EOS = 1, 2
MOST_QUESTIONS = 500  # that one search may ask


def watched(beam_search, model, vocab_size, beam_size, max_len, length_penalty):
    """Call a learner's search, and return what it kept alive and what came of it.

    Args:
        model: a function of prefixes (beam, len) int64, which gives log-probabilities (beam,
            vocab_size).

    Returns:
        dict: `levels`, for each length the beginnings that it asked about, the likeliest first;
        `alive`, their log-probabilities by themselves; `result`, the ids that it returned, with
        their `log_prob` and `score`.

    Raises:
        Unfit: if it asks or returns what cannot be shown.
    """
    levels = Levels(beam_search, vocab_size, max_len)
    settings = {"beam_size": beam_size, "max_len": max_len, "length_penalty": length_penalty}
    found = called(
        beam_search,
        lambda prefixes: model(levels.note(prefixes)),
        bos_id=BOS,
        eos_id=EOS,
        **settings,
    )
    ids = word_ids(found, vocab_size, max_len, beam_search)
    return {**levels.scored(model), **result_of(ids, model, max_len, length_penalty)}


class Levels:
    """What a learner's search asks about: for each length the beginnings, in whatever order and
    however many at once.

    Args:
        function: the learner's; its name is in what is said.
    """

    def __init__(self, function, vocab_size, max_len):
        self.name, self.vocab_size, self.max_len = name_of(function), vocab_size, max_len
        self.questions, self.beginnings = 0, {}

    def note(self, prefixes):
        """Note what is asked, and return it.

        Raises:
            Unfit: if it is no (beam, len) int64 of beginnings, or never comes to an end.
        """
        self.questions += 1
        problem = self.problem_of(prefixes)
        if problem:
            raise Unfit(f"Your {self.name} asks step_log_probs {problem}.")
        seen, length = Counter(tuple(ids) for ids in prefixes.tolist()), prefixes.shape[1]
        # a beginning lives as often as one question names it, however many questions do
        self.beginnings[length] = self.beginnings.get(length, Counter()) | seen
        return prefixes

    def problem_of(self, prefixes):
        """Say what is wrong with a question; nothing if all is well."""
        if self.questions > MOST_QUESTIONS:
            return f"more than {MOST_QUESTIONS} times, and does not stop"
        kind = prefixes.dtype if torch.is_tensor(prefixes) else kind_of(prefixes)
        if kind != torch.int64:
            return f"about {kind}; prefixes are a tensor of torch.int64"
        shape = tuple(prefixes.shape)
        if len(shape) != 2 or 0 in shape:
            return f"about prefixes of shape {shape}; it should be (beam, len)"
        if shape[1] > self.max_len:
            return f"about prefixes of {shape[1]} ids, although max_len is {self.max_len}"
        if (prefixes[:, 0] != BOS).any():
            return "about a prefix that does not begin with bos_id"
        if ((prefixes < 0) | (prefixes >= self.vocab_size)).any():
            return f"about ids that are not in the vocabulary of {self.vocab_size} words"
        return ""

    def scored(self, model):
        """Return what was alive at each length, the likeliest first, and the log-probabilities by
        themselves.

        Raises:
            Unfit: if the model was never asked.
        """
        if not self.beginnings:
            raise Unfit(f"Your {self.name} never asks step_log_probs.")
        levels = []
        for length in range(1, max(self.beginnings) + 1):
            beginnings = self.beginnings.get(length, Counter()).elements()
            level = [
                {"ids": list(prefix[1:]), "log_prob": log_prob_of(prefix[1:], model)}
                for prefix in beginnings
            ]
            levels.append(sorted(level, key=lambda each: -each["log_prob"]))
        return {
            "levels": levels,
            "alive": [[each["log_prob"] for each in level] for level in levels],
        }


def log_prob_of(ids, model):
    """Return the log-probability of ids behind `<bos>`."""
    return sum(
        model(torch.tensor([[BOS, *ids[:place]]]))[0, word].item() for place, word in enumerate(ids)
    )


def word_ids(found, vocab_size, max_len, function):
    """Return the ids that a learner's search returns.

    Raises:
        Unfit: if it is no list of int, or holds what is no word, or too much.
    """
    name = name_of(function)
    if not isinstance(found, list):
        raise Unfit(f"Your {name} returns {kind_of(found)}; it should return a list of int.")
    others = [each for each in found if type(each) is not int]
    if others:
        raise Unfit(
            f"Your {name} returns a list that holds {kind_of(others[0])}; it should hold int alone."
        )
    if not all(0 <= each < vocab_size for each in found):
        raise Unfit(
            f"Your {name} returns ids that are not in the vocabulary of {vocab_size} words."
        )
    if BOS in found or EOS in found:
        raise Unfit(
            f"Your {name} returns {'bos_id' if BOS in found else 'eos_id'} among its ids; it should"
            " leave it out."
        )
    if len(found) >= max_len:
        raise Unfit(
            f"Your {name} returns {len(found)} ids; behind <bos> there is room for {max_len - 1}."
        )
    return found


def result_of(ids, model, max_len, length_penalty):
    """Return what a search returned with its log-probability and score. It has ended, unless it
    fills all of max_len.
    """
    whole = [*ids, EOS] if len(ids) < max_len - 1 else ids
    log_prob = log_prob_of(whole, model)
    return {
        "result": ids,
        "log_prob": log_prob,
        "score": log_prob / ((5 + len(whole)) / 6) ** length_penalty,
    }
