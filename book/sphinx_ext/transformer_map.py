"""The map of the whole Transformer, large on the first page and small at the top of every chapter:
an extension of Sphinx.

`BOXES` is the one source. A box says what it is called, what it does in one sentence, which page
teaches it, and where it is on a grid of six columns. On a wide screen the grid is drawn as it is;
on a phone it is transposed, so that the same boxes run from top to bottom. The directive
`transformer-map` draws the large map. The small one needs no text in a page: it is put beneath the
title of each page that a box leads to.
"""

import html
from dataclasses import dataclass

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

WIDTH, HEIGHT = 98, 66  # of a box on a wide screen, in pixels, as all that follows
GAP = 16
MARGIN = 10
PHONE_WIDTH = 150
SMALL_HEIGHT, SMALL_GAP = 26, 14
FONT = 13  # of a label
SMALL_FONT = 12  # of a chapter's number, and of the small map
LETTER = 0.54  # mean width of a letter in a wide font, as a share of its size
ENCODER, DECODER, INSIDE, AROUND = range(4)
COLUMNS = 6
LARGE_MAP = "map-of-the-transformer"


@dataclass(frozen=True)
class Box:
    """A part of the Transformer, or of what surrounds it.

    Args:
        id: its name in the drawing.
        label: its lines; joined by spaces they are its name, but for a line that ends in a hyphen.
        short: its name in the small map.
        does: what it does, in one sentence.
        page: stem of the page that teaches it.
        part: ENCODER, DECODER, INSIDE (an attention) or AROUND (the model).
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
        "Self-attention",
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
            "A small network transforms each word by itself, and sums and norms keep the deep "
            "stack trainable."
        ),
        "ch07_layers",
        ENCODER,
        3,
        "encoder",
        "read",
    ),
    Box(
        "dot-product",
        ("Scaled", "dot-product"),
        "Dot product",
        (
            "A query is compared with every key, and the softmax of the scores says how to "
            "mix the values."
        ),
        "ch04_attention",
        INSIDE,
        4,
        "query",
        "read write",
    ),
    Box(
        "why",
        ("Why", "attention?"),
        "Why attention",
        (
            "A single vector cannot hold a long sentence, so the decoder learned to look back "
            "at every word."
        ),
        "ch03_bottleneck",
        INSIDE,
        5,
        "query",
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
        "Masking",
        (
            "Each written word looks at the words before it, because a mask hides those that "
            "come later."
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
        ("The same kind of network as in the encoder transforms each written word by itself."),
        "ch07_layers",
        DECODER,
        4,
        "decoder",
        "write",
    ),
    Box(
        "next-word",
        ("Linear,", "softmax"),
        "Next word",
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


def text_width(text, size):
    """Return about how wide a text is in pixels, at a size in pixels; rather too wide."""
    return LETTER * size * len(text)


def wide_place(box):
    """Return (left, top, width, height) of a box on a wide screen."""
    top = {ENCODER: 44, INSIDE: 44, DECODER: 184, AROUND: 340}[box.part]
    return box.column * (WIDTH + GAP) + MARGIN, top, WIDTH, HEIGHT


def phone_place(box):
    """Return (left, top, width, height) of a box on a phone: rows have become columns."""
    if box.part == AROUND:
        row, right = divmod(box.column, 2)
        top = 650 + row * (HEIGHT + 12)
    else:
        right = box.part == DECODER
        top = (
            40
            + box.column * (HEIGHT + 28)
            + (8 if box.column > 1 else 0)
            + (14 if box.part == INSIDE else 0)
        )
    return 8 + right * (PHONE_WIDTH + 24), top, PHONE_WIDTH, HEIGHT


def small_place(box):
    """Return (left, top, width, height) of a box in the small map."""
    row = {ENCODER: 0, INSIDE: 0, DECODER: 1, AROUND: 2}[box.part]
    top = 4 + row * (SMALL_HEIGHT + SMALL_GAP)
    return box.column * (WIDTH + GAP) + MARGIN, top, WIDTH, SMALL_HEIGHT


SIZES = {"wide": (688, 418), "phone": (354, 886), "small": (688, 114)}
PLACES = {"wide": wide_place, "phone": phone_place, "small": small_place}
CHAIN = {  # pairs of boxes that an arrow joins
    *(("embedding", "positions"), ("positions", "multi-head"), ("multi-head", "feed-forward")),
    *(("written-embedding", "written-positions"), ("written-positions", "masking")),
    *(("masking", "cross"), ("cross", "decoder-feed-forward")),
    *(("decoder-feed-forward", "next-word"), ("feed-forward", "cross")),
}


def arrow(start, end):
    """Return the path of an arrow between the sides of two places that face each other."""
    left, top, width, height = start
    to_left, to_top, *_ = end
    if abs(left - to_left) > abs(top - to_top) or top == to_top:
        y = top + height / 2
        return f"M{left + width:g} {y:g}H{to_left:g}" + head(to_left, y, "right")
    x = left + width / 2
    return f"M{x:g} {top + height:g}V{to_top:g}" + head(x, to_top, "down")


def head(x, y, way):
    """Return the path of an arrow's head whose tip is at a point."""
    along, across = {"right": (-6, 4), "left": (6, 4), "down": (-6, 4), "up": (6, 4)}[way]
    if way in ("right", "left"):
        return f"m{along} -{across}l{-along} {across}l{along} {across}"
    return f"m-{across} {along}l{across} {-along}l{across} {along}"


def arrows(layout):
    """Return the paths of all arrows between boxes."""
    place, by_id = PLACES[layout], {box.id: box for box in BOXES}
    return [arrow(place(by_id[one]), place(by_id[other])) for one, other in sorted(CHAIN)]


def frame(boxes, layout, kind):
    """Draw a frame around some boxes."""
    places = [PLACES[layout](box) for box in boxes]
    left, top = (min(each[axis] for each in places) - 6 for axis in (0, 1))
    right = max(each[0] + each[2] for each in places) + 6
    bottom = max(each[1] + each[3] for each in places) + 6
    size = f'width="{right - left:g}" height="{bottom - top:g}"'
    return f'<rect class="frame {kind}" x="{left:g}" y="{top:g}" {size} rx="10"/>'


def note(x, y, text, anchor="start", kind=""):
    """Write a text that is no box's."""
    return f'<text class="note {kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def surroundings(layout):
    """Draw what links no page: frames, arrows, the sentences that go in and come out."""
    of = {part: [box for box in BOXES if box.part == part] for part in range(4)}
    frames = [
        frame(of[ENCODER][2:], layout, "encoder"),
        frame(of[DECODER][2:5], layout, "decoder"),
        frame(of[INSIDE], layout, "query"),
    ]
    if layout == "wide":
        loop = "M629 250V282H59V250" + head(59, 250, "up")
        out = "M629 184V162" + head(629, 162, "up")
        paths = [*arrows(layout), "M59 28V44" + head(59, 44, "down"), loop, out]
        notes = [
            note(10, 20, "your cat is a lovely cat", kind="words"),
            note(678, 154, "il tuo gatto è un …", "end", "words"),
            note(238, 30, "Encoder, N layers", kind="encoder"),
            note(238, 170, "Decoder, N layers", kind="decoder"),
            note(466, 30, "Attention itself", kind="query"),
            note(411, 148, "memory", kind="encoder"),
            note(344, 300, "each written word goes back in", "middle"),
            note(10, 330, "Around the model"),
        ]
    else:
        loop = "M332 551H346V73H332" + head(332, 73, "left")
        out = "M257 584V602" + head(257, 602, "down")
        paths = [*arrows(layout), "M83 26V40" + head(83, 40, "down"), loop, out]
        notes = [
            note(83, 20, "your cat is …", "middle", "words"),
            note(257, 28, "written words", "middle"),
            note(257, 618, "il tuo gatto è …", "middle", "words"),
            note(8, 225, "Encoder", kind="encoder"),
            note(182, 225, "Decoder", kind="decoder"),
            note(8, 422, "Attention itself", kind="query"),
            note(8, 640, "Around the model"),
        ]
    lines = f'<path class="arrow" d="{"".join(paths)}"/>'
    return f'<g aria-hidden="true">{"".join(frames)}{lines}{"".join(notes)}</g>'


def shape(box, layout):
    """Draw a box with its label."""
    left, top, width, height = PLACES[layout](box)
    rect = f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="7"/>'
    centre = left + width / 2
    if layout == "small":
        return rect + f'<text x="{centre:g}" y="{top + 17}">{html.escape(box.short)}</text>'
    first = top + (22 if len(box.label) == 2 else 29)
    lines = [
        f'<text x="{centre:g}" y="{first + 16 * row}">{html.escape(line)}</text>'
        for row, line in enumerate(box.label)
    ]
    y = first + 16 * len(box.label) + 2
    number = f'<text class="number" x="{centre:g}" y="{y}">chapter {box.chapter}</text>'
    return rect + "".join(lines) + number


def svg(layout, content, attributes):
    """Wrap a drawing."""
    width, height = SIZES[layout]
    return f'<svg class="{layout}" viewBox="0 0 {width} {height}" {attributes}>{content}</svg>'


def large(layout, address):
    """Draw the large map.

    Args:
        layout: "wide" or "phone".
        address: function from the stem of a page to where it is.
    """
    links = []
    for box in BOXES:
        said = html.escape(f"{box.name}, chapter {box.chapter}. {box.does}")
        links.append(
            f'<g role="listitem"><a class="box {box.role}" href="{address(box.page)}"'
            f' data-phase="{box.phase}" aria-label="{said}">{shape(box, layout)}</a></g>'
        )
    return svg(layout, surroundings(layout) + "".join(links), 'role="list"')


def small(page):
    """Draw the small map with the boxes of one page lit."""
    boxes = "".join(
        f'<g class="box {box.role}{" here" if box.page == page else ""}">{shape(box, "small")}</g>'
        for box in BOXES
    )
    lines = f'<path class="arrow" d="{"".join(arrows("small"))}"/>'
    return svg("small", lines + boxes, 'aria-hidden="true"')


def here(page):
    """Return in plain words which part of the Transformer a page teaches."""
    names = dict.fromkeys(box.name for box in BOXES if box.page == page)
    return " and ".join(names)


class TransformerMap(SphinxDirective):
    """The large map."""

    def run(self):
        """Return it as a node that holds HTML."""
        builder, page = self.env.app.builder, self.env.docname

        def address(stem):
            return builder.get_relative_uri(page, f"book/{stem}")

        static = "../" * page.count("/") + "_static/transformer_map.js"
        made = (
            f'<nav class="transformer-map" id="{LARGE_MAP}" aria-label="Map of the Transformer">'
            f"{large('wide', address)}{large('phone', address)}"
            '<p class="does" aria-hidden="true">Point at a box to see what it does; choose it to'
            f' open its chapter.</p></nav><script defer src="{static}"></script>'
        )
        return [nodes.raw("", made, format="html")]


def put_small_map(app, doctree, page_name):
    """Put the small map beneath the title of a page that a box leads to."""
    page = page_name.removeprefix("book/")
    if not here(page):
        return
    home = app.builder.get_relative_uri(page_name, app.config.root_doc)
    made = (
        f'<div class="transformer-map at-the-top">{small(page)}<p>You are here: '
        f"<strong>{html.escape(here(page))}</strong>."
        f' <a href="{home}#{LARGE_MAP}">The whole map</a></p></div>'
    )
    title = next(doctree.findall(nodes.title))
    title.parent.insert(title.parent.index(title) + 1, nodes.raw("", made, format="html"))


def setup(app):
    """Be an extension of Sphinx."""
    app.add_directive("transformer-map", TransformerMap)
    app.connect("doctree-resolved", put_small_map)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
