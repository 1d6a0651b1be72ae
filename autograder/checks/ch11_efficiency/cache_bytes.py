"""How large the keys and values are that a decoder keeps."""

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.probes import returned_number
from solutions.ch11_efficiency import cache_bytes


@drawn
def sizes(rng, batch=(2, 7), kv_heads=(2, 9), head_dim=(3, 40), num_layers=(3, 13), **rest):
    """Draw sizes, each from a range or as it is given; `bytes_per_number` where it is given."""
    given = {
        "batch": batch,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "num_layers": num_layers,
        "length": rest.get("length", (20, 90)),
    }
    drawn_sizes = {
        name: integer(rng, *each) if isinstance(each, tuple) else each
        for name, each in given.items()
    }
    if "bytes_per_number" in rest:
        drawn_sizes["bytes_per_number"] = rest["bytes_per_number"]
    return drawn_sizes


def bytes_with(
    kept=2,
    heads=lambda kv_heads: kv_heads,
    width=lambda head_dim: head_dim,
    layers=lambda num_layers: num_layers,
    words=lambda length: length,
    sentences=lambda batch: batch,
    size=lambda bytes_per_number: bytes_per_number,
):
    """Make a count from its rules."""

    def count(batch, kv_heads, head_dim, num_layers, length, bytes_per_number=2):
        numbers = sentences(batch) * heads(kv_heads) * width(head_dim)
        return kept * numbers * layers(num_layers) * words(length) * size(bytes_per_number)

    return count


checks = Checks(cache_bytes, family=bytes_with, probe=returned_number)
shown, hidden, wrong, right = checks.words

shown("one sentence in 16 bits", sizes(1), weight=2)
shown("a batch in 16 bits", sizes(), weight=2)
shown("float32 takes 4 bytes for each number", sizes(bytes_per_number=4), weight=3)
shown("one layer, one word, one head", sizes(1, 1, num_layers=1, length=1))
hidden("another batch in 16 bits", sizes(), weight=3)
hidden("8 bits for each number", sizes(bytes_per_number=1), weight=2)
hidden("a batch whose numbers are in float32", sizes(bytes_per_number=4), weight=3)
hidden("a single head, which all queries share", sizes(kv_heads=1))
hidden("one layer", sizes(num_layers=1))
hidden("a long document", sizes(8, 8, 128, 80, length=(90_000, 110_000)))
hidden("one word", sizes(length=1, bytes_per_number=4))


wrong(
    "keys are all that is kept",
    "You count one thing for each word. What does a new word need besides the keys?",
    kept=1,
)


wrong(
    "queries are kept, too",
    "You keep three things for each word. Which of them does no later word need?",
    kept=3,
)


wrong(
    "numbers are bytes",
    "You count numbers. How many bytes does each of them take?",
    size=lambda bytes_per_number: 1,
)


wrong(
    "a number takes two bytes",
    "Right in 16 bits. What has become of the last argument?",
    size=lambda bytes_per_number: 2,
)


wrong(
    "a number takes four bytes",
    "Right in float32. What has become of the last argument?",
    size=lambda bytes_per_number: 4,
)


wrong(
    "layers share one cache",
    "Right for one layer. Are the keys of two layers the same numbers?",
    layers=lambda num_layers: 1,
)


wrong(
    "sentences share one cache",
    "Right for one sentence. Whose keys does each sentence of a batch need?",
    sentences=lambda batch: 1,
)


wrong(
    "heads share one cache",
    "Right for one head. How many numbers does a word's key have in all heads together?",
    heads=lambda kv_heads: 1,
)


wrong(
    "the cache holds scores",
    "Your cache grows with the square of the length. What is kept for a word, and how often?",
    words=lambda length: length * length,
)


wrong(
    "the cache holds one word",
    "Right for one word. Which words does the next one look at?",
    words=lambda length: 1,
)


wrong(
    "the new word is not in the cache",
    "You count one word too few. Is the key of the newest word kept, too?",
    words=lambda length: length - 1,
)


wrong(
    "memory is counted in bits",
    "Your count is in bits. How many of them make a byte?",
    size=lambda bytes_per_number: 8 * bytes_per_number,
)


checks.usual("as a float")


wrong(
    "memory is counted in megabytes",
    "The result should be in bytes. What do you divide by?",
    then=lambda total: total / 1e6,
)


@right
def by_words(batch, kv_heads, head_dim, num_layers, length, bytes_per_number=2):
    of_a_word = (kv_heads * head_dim + kv_heads * head_dim) * bytes_per_number
    return sum(length * of_a_word for _ in range(num_layers)) * batch


@right
def by_shapes(batch, kv_heads, head_dim, num_layers, length, bytes_per_number=2):
    total = bytes_per_number
    for size in (num_layers, 2, batch, kv_heads, length, head_dim):
        total *= size
    return total


@right
def by_the_width(batch, kv_heads, head_dim, num_layers, length, bytes_per_number=2):
    width = kv_heads * head_dim
    return num_layers * batch * length * (2 * width) * bytes_per_number
