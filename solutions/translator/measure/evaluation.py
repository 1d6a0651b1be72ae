"""How good translations are: BLEU and chrF with their signatures, and the part that is exactly
right.

A score is comparable only with one of the same signature, which says how the text was cut and
counted. All of them take whole sentences as people write them, never tokens.
"""

from typing import NamedTuple

from sacrebleu.metrics import BLEU, CHRF


class Score(NamedTuple):
    """A score from 0 to 100, and the signature that says how it was computed."""

    value: float
    signature: str

    def __str__(self):
        return f"{self.value:.1f} ({self.signature})"


def bleu(hypotheses, references, lowercase=False, tokenize="13a"):
    """Score a whole test set by the runs of one to four words that translations share with
    references.

    Args:
        hypotheses: list of translations.
        references: list of right ones, one for each.
        lowercase: count capitals as small letters.
        tokenize: how sacrebleu cuts words: "13a", "intl", "char", "none", ...

    Returns:
        Score.

    Raises:
        ValueError: if the lists are empty or of different lengths.

    Source: Papineni et al. 2002, as sacrebleu computes it (Post 2018).
    """
    return scored(BLEU(lowercase=lowercase, tokenize=tokenize), hypotheses, references)


def chrf(hypotheses, references, word_order=0):
    """Score a whole test set by the runs of one to six letters that translations share with
    references.

    Args:
        hypotheses: list of translations.
        references: list of right ones, one for each.
        word_order: 2 counts also single words and pairs of words, which is called chrF++.

    Returns:
        Score.

    Raises:
        ValueError: if the lists are empty or of different lengths.

    Source: Popović 2015, as sacrebleu computes it (Post 2018).
    """
    return scored(CHRF(word_order=word_order), hypotheses, references)


def exact_matches(hypotheses, references):
    """Return the part, from 0 to 1, of the translations that are their references to the letter.

    Raises:
        ValueError: if the lists are empty or of different lengths.
    """
    require_pairs(hypotheses, references)
    return sum(map(str.__eq__, hypotheses, references)) / len(references)


def by_length(sources, hypotheses, references, measure=exact_matches, edges=(5, 10, 15, 20)):
    """Measure short and long sentences apart, by the words of the source.

    Args:
        sources, hypotheses, references: lists of equal length.
        measure: `measure(hypotheses, references)`, such as `bleu`.
        edges: the most words in each group but the last, rising.

    Returns:
        dict: label such as "6 to 10" -> (sentences, what `measure` gives). Groups without a
            sentence are left out.

    Raises:
        ValueError: if the lists are empty or of different lengths.
    """
    require_pairs(sources, references)
    require_pairs(hypotheses, references)
    groups = {}
    for source, hypothesis, reference in zip(sources, hypotheses, references, strict=True):
        groups.setdefault(length_label(len(source.split()), edges), []).append(
            (hypothesis, reference)
        )
    labels = [length_label(edge, edges) for edge in (*edges, edges[-1] + 1)]
    return {
        label: (len(groups[label]), measure(*map(list, zip(*groups[label], strict=True))))
        for label in labels
        if label in groups
    }


def length_label(words, edges):
    """Name the group of a sentence with so many words."""
    low = 1
    for edge in edges:
        if words <= edge:
            return f"{low} to {edge}"
        low = edge + 1
    return f"{low} or more"


def scored(metric, hypotheses, references):
    """Score with one of sacrebleu's metrics."""
    require_pairs(hypotheses, references)
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(value, str(metric.get_signature()))


def require_pairs(hypotheses, references):
    """Raise a ValueError unless there is one translation for each reference, and at least one."""
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise TypeError("lists of sentences are needed, not one sentence alone")
    if len(hypotheses) != len(references):
        raise ValueError(
            f"there are {len(hypotheses)} translations for {len(references)} references; each needs"
            " its own"
        )
    if not references:
        raise ValueError("there is nothing to score: the lists are empty")
