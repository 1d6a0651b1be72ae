"""The parts of the whole Transformer, and what surrounds it: the one source of its map.

A box says what it is called, what it does in one sentence, which page teaches it, and where it is
on a grid of six columns.
"""

from dataclasses import dataclass

from autograder.course import pages_of

ENCODER, DECODER, INSIDE, AROUND = range(4)


@dataclass(frozen=True)
class Box:
    """A part of the Transformer, or of what surrounds it.

    Args:
        id: its name in the drawing.
        label: its lines; joined by spaces they are its name, but for a line that ends in a hyphen.
        short: its name in the small map: words of the same name.
        does: what it does, in one sentence.
        page: stem of the page that teaches it.
        part: ENCODER, DECODER, INSIDE (an attention, or why there is one) or AROUND (the model).
        column: from 0 to 5.
        role: its colour in `palette.css`.
        phase: what the translator does while this part is at work: "read" or "write".
    """

    id: str
    label: tuple[str, ...]
    short: str
    does: str
    page: str
    part: int
    column: int
    role: str
    phase: str = ""

    @property
    def name(self):
        """Return the label as one text."""
        return " ".join(self.label).replace("- ", "-")

    @property
    def chapter(self):
        """Return the number of its chapter."""
        return int(self.page[2:4])


BOXES = (
    Box(
        "embedding",
        ("Words to", "vectors"),
        "Words",
        ("Each English word becomes an id, and the id selects a row of numbers from a table."),
        "ch01_embeddings",
        ENCODER,
        0,
        "encoder",
        "read",
    ),
    Box(
        "positions",
        ("Positions",),
        "Positions",
        (
            "A pattern of sines and cosines is added to each vector, so that the model knows "
            "where the word is."
        ),
        "ch02_positional_encoding",
        ENCODER,
        1,
        "encoder",
        "read",
    ),
    Box(
        "multi-head",
        ("Multi-head", "attention"),
        "Multi-head",
        (
            "Several heads look at the whole sentence side by side, and each mixes the words "
            "in its own way."
        ),
        "ch05_multi_head",
        ENCODER,
        2,
        "encoder",
        "read",
    ),
    Box(
        "feed-forward",
        ("Add & norm,", "feed-forward"),
        "Feed-forward",
        (
            "A small network transforms each word by itself; sums and norms, around it and around "
            "each attention, keep the deep stack trainable."
        ),
        "ch07_layers",
        ENCODER,
        3,
        "encoder",
        "read",
    ),
    Box(
        "why",
        ("Why", "attention?"),
        "Why attention",
        (
            "A long sentence is hard to squeeze into a single vector, so the decoder learned to "
            "look back at every word."
        ),
        "ch03_bottleneck",
        INSIDE,
        4,
        "grey",
    ),
    Box(
        "dot-product",
        ("Scaled", "dot-product"),
        "Dot-product",
        (
            "A query is compared with every key, and the softmax of the scores says how to "
            "mix the values."
        ),
        "ch04_attention",
        INSIDE,
        5,
        "query",
        "read write",
    ),
    Box(
        "written-embedding",
        ("Words to", "vectors"),
        "Words",
        (
            "The Italian words written so far become vectors too, from a table of their own "
            "or a shared one."
        ),
        "ch01_embeddings",
        DECODER,
        0,
        "decoder",
        "write",
    ),
    Box(
        "written-positions",
        ("Positions",),
        "Positions",
        "The written words get positions in the same way as the words that were read.",
        "ch02_positional_encoding",
        DECODER,
        1,
        "decoder",
        "write",
    ),
    Box(
        "masking",
        ("Masked self-", "attention"),
        "Masked",
        (
            "Each written word looks at itself and the words before it, because a mask hides "
            "those that come later."
        ),
        "ch06_masking",
        DECODER,
        2,
        "decoder",
        "write",
    ),
    Box(
        "cross",
        ("Cross-", "attention"),
        "Cross-attention",
        "The decoder asks, and the encoder's memory of the English sentence answers.",
        "ch08_encoder_decoder",
        DECODER,
        3,
        "decoder",
        "write",
    ),
    Box(
        "decoder-feed-forward",
        ("Add & norm,", "feed-forward"),
        "Feed-forward",
        (
            "The same kind of network as in the encoder transforms each written word by itself; "
            "sums and norms are around it and around both attentions."
        ),
        "ch07_layers",
        DECODER,
        4,
        "decoder",
        "write",
    ),
    Box(
        "next-word",
        ("Linear,", "softmax"),
        "Linear, softmax",
        (
            "A matrix gives each Italian word a score, the softmax makes probabilities of "
            "them, and one word is chosen."
        ),
        "ch08_encoder_decoder",
        DECODER,
        5,
        "decoder",
        "write",
    ),
    Box(
        "training",
        ("Training",),
        "Training",
        "Pairs of sentences and a loss adjust every number of the model, step by step.",
        "ch09_training",
        AROUND,
        0,
        "grey",
    ),
    Box(
        "translating",
        ("Translating",),
        "Translating",
        ("A search for the best sentence, and a score that says how good the translations are."),
        "ch09_translating",
        AROUND,
        1,
        "grey",
    ),
    Box(
        "gpu",
        ("On a GPU",),
        "On a GPU",
        "A GPU trains the model faster, once you know where its time and its memory go.",
        "ch10_gpu",
        AROUND,
        2,
        "grey",
    ),
    Box(
        "cost",
        ("What it costs",),
        "What it costs",
        ("The cost of attention grows with the square of the length, and there are ways to save."),
        "ch11_efficiency",
        AROUND,
        3,
        "grey",
    ),
    Box(
        "heads",
        ("What heads", "look at"),
        "Heads",
        "You can read, switch off and test the heads of a trained model.",
        "ch12_interpretation",
        AROUND,
        4,
        "grey",
    ),
    Box(
        "family",
        ("The family",),
        "The family",
        (
            "The encoder alone gives BERT, the decoder alone gives GPT, and patches of an "
            "image give ViT."
        ),
        "ch13_family",
        AROUND,
        5,
        "grey",
    ),
)

CHAIN = {  # pairs of boxes that an arrow joins
    *(("embedding", "positions"), ("positions", "multi-head"), ("multi-head", "feed-forward")),
    *(("written-embedding", "written-positions"), ("written-positions", "masking")),
    *(("masking", "cross"), ("cross", "decoder-feed-forward")),
    *(("decoder-feed-forward", "next-word"), ("feed-forward", "cross")),
}

# of a sentence on its way; how weights come about, and what is mixed by them, is shown where the
# decoder asks the encoder
STEPS = [box.id for box in BOXES if box.phase in ("read", "write")]
STEPS.insert(STEPS.index("cross") + 1, "dot-product")
STEPS.insert(STEPS.index("cross") + 2, "dot-product")
ATTENTIONS = "multi-head", "masking", "cross"  # inside of which is what the frame INSIDE holds


def boxes_of(page):
    """Return the boxes that a page of the book teaches; where it has none of its own, those of its
    chapter's first page.
    """
    own = [box for box in BOXES if box.page == page]
    return own or [box for box in BOXES if box.page == pages_of(page)[0]]
