"""How many operations attention's two products take."""

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.probes import returned_number
from solutions.ch11_efficiency import attention_flops


@drawn
def sizes(rng, batch=(2, 6), heads=(2, 9), query_len=(5, 30), key_len=(31, 60), head_dim=(3, 20)):
    """Draw sizes, each from a range or as it is given; keys differ from queries in number."""
    given = {
        "batch": batch,
        "heads": heads,
        "query_len": query_len,
        "key_len": key_len,
        "head_dim": head_dim,
    }
    return {
        name: integer(rng, *each) if isinstance(each, tuple) else each
        for name, each in given.items()
    }


@drawn
def square(rng):
    given = sizes(rng)
    return {**given, "query_len": given["key_len"]}


def count_with(
    scores=lambda batch, heads, query_len, key_len: batch * heads * query_len * key_len,
    first=lambda head_dim: 2 * head_dim,
    second=lambda head_dim: 2 * head_dim,
):
    """Make a count from its rules: how many scores there are, and what each costs in the first
    product and in the second.
    """

    def count(batch, heads, query_len, key_len, head_dim):
        return scores(batch, heads, query_len, key_len) * (first(head_dim) + second(head_dim))

    return count


checks = Checks(attention_flops, family=count_with, probe=returned_number)
shown, hidden, wrong, right = checks.words

shown("one head of one sentence", sizes(1, 1), weight=2)
shown("all heads of a batch", sizes(), weight=2)
shown("as many queries as keys", square())
shown("one new word and many keys", sizes(query_len=1, key_len=(200, 900)))
hidden("all heads of another batch", sizes(), weight=3)
hidden("one sentence, several heads", sizes(1))
hidden("several sentences, one head", sizes(heads=1))
hidden("more queries than keys", sizes(query_len=(61, 90)))
hidden("as many of both", square())
hidden("a long document", sizes(2, 16, (90_000, 100_000), (100_000, 110_000), 64))
hidden("heads of a single feature", sizes(head_dim=1))


wrong(
    "half of it is all",
    """Have you counted both products? Is a multiplication with its addition two operations? And
    does a mask save what it hides?""",
    second=lambda head_dim: 0,
)


wrong(
    "an inner product has one addition less",
    "By the first rule of the statement, how much does an inner product of n numbers count?",
    first=lambda head_dim: 2 * head_dim - 1,
)


wrong(
    "there are as many queries as keys",
    "Right where both lengths are equal. How many rows and columns does the table of scores have?",
    scores=lambda batch, heads, query_len, key_len: batch * heads * key_len * key_len,
)


wrong(
    "each query meets each query",
    "The number of keys plays no part in your count. What does each query meet?",
    scores=lambda batch, heads, query_len, key_len: batch * heads * query_len * query_len,
)


wrong(
    "work grows with the sum of the lengths",
    "How many scores are there for 2 queries and 3 keys? Draw their table.",
    scores=lambda batch, heads, query_len, key_len: batch * heads * (query_len + key_len),
)


wrong(
    "heads share their scores",
    "Right for one head. Does each head have scores of its own?",
    scores=lambda batch, heads, query_len, key_len: batch * query_len * key_len,
)


wrong(
    "a batch costs as much as a sentence",
    "Right for one sentence. How many of them does a batch have?",
    scores=lambda batch, heads, query_len, key_len: heads * query_len * key_len,
)


wrong(
    "the softmax counts, too",
    "You count more than the two products. What does the second rule leave out?",
    second=lambda head_dim: 2 * head_dim + 3,
)


wrong(
    "the projections count, too",
    "Your count includes the projections. Which products does the statement ask for?",
    second=lambda head_dim: 2 * head_dim + 8 * head_dim * head_dim,
)


wrong(
    "training is meant",
    "That is about what training takes. Which pass does the statement ask for?",
    then=lambda count: 3 * count,
)


@wrong(
    "n numbers take one addition less than multiplications",
    """You count additions to the last one. By the first rule of the statement, how much does an
    inner product of n numbers count?""",
)
def one_addition_less(batch, heads, query_len, key_len, head_dim):
    first = query_len * key_len * (2 * head_dim - 1)
    second = query_len * head_dim * (2 * key_len - 1)
    return batch * heads * (first + second)


checks.usual("as a float")


@right
def by_products(batch, heads, query_len, key_len, head_dim):
    first = query_len * key_len * head_dim
    second = query_len * head_dim * key_len
    return 2 * (first + second) * batch * heads


@right
def by_words(batch, heads, query_len, key_len, head_dim):
    """Counts what a query takes first."""
    for_a_query = key_len * (head_dim + head_dim) + head_dim * (key_len + key_len)
    return for_a_query * query_len * heads * batch


@right
def in_one_line(batch, heads, query_len, key_len, head_dim):
    return 4 * batch * heads * query_len * key_len * head_dim
