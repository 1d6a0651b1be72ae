"""The drawings of the map of the Transformer, as SVG.

On a wide screen the grid of `map_boxes` is drawn as it is; on a phone it is transposed, so that the
same boxes run from top to bottom. All sizes are in pixels.
"""

import html

from book.sphinx_ext.map_boxes import (
    AROUND,
    ATTENTIONS,
    BOXES,
    CHAIN,
    DECODER,
    ENCODER,
    INSIDE,
    STEPS,
    boxes_of,
)

WIDTH, HEIGHT = 98, 66  # of a box on a wide screen
GAP = 16
MARGIN = 10
APART = 16  # what is inside of an attention, from the encoder
PHONE_WIDTH, PHONE_GAP = 132, 60  # between its columns, the name of an arrow has room
SMALL_HEIGHT, SMALL_GAP = 26, 14
FONT = 13  # of a label
SMALL_FONT = 12  # of a chapter's number, and of the small map
LETTER = 0.54  # mean width of a letter in a wide font, as a share of its size


def text_width(text, size):
    """Return about how wide a text is in pixels, at a size in pixels."""
    return LETTER * size * len(text)


def wide_place(box):
    """Return (left, top, width, height) of a box on a wide screen."""
    top = {ENCODER: 44, INSIDE: 44, DECODER: 184, AROUND: 340}[box.part]
    apart = APART if box.part == INSIDE else 0
    return box.column * (WIDTH + GAP) + MARGIN + apart, top, WIDTH, HEIGHT


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
    return 8 + right * (PHONE_WIDTH + PHONE_GAP), top, PHONE_WIDTH, HEIGHT


def small_place(box):
    """Return (left, top, width, height) of a box in the small map."""
    row = {ENCODER: 0, INSIDE: 0, DECODER: 1, AROUND: 2}[box.part]
    top = 4 + row * (SMALL_HEIGHT + SMALL_GAP)
    return box.column * (WIDTH + GAP) + MARGIN, top, WIDTH, SMALL_HEIGHT


SIZES = {"wide": (704, 418), "phone": (354, 886), "small": (688, 114)}
PLACES = {"wide": wide_place, "phone": phone_place, "small": small_place}


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
    """Write a text that is no box's; of kind "words", the script replaces it by the words of the
    sentence that it follows.
    """
    return f'<text class="note {kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def surroundings(layout):
    """Draw what links no page: frames, arrows, the sentences that go in and come out."""
    of = {part: [box for box in BOXES if box.part == part] for part in range(4)}
    frames = [
        frame(of[ENCODER][2:], layout, "encoder"),
        frame(of[DECODER][2:5], layout, "decoder"),
        frame(of[INSIDE][1:], layout, "query"),
    ]
    if layout == "wide":
        loop = "M629 250V282H59V250" + head(59, 250, "up")
        out = "M629 184V162" + head(629, 162, "up")
        paths = [*arrows(layout), "M59 28V44" + head(59, 44, "down"), loop, out]
        notes = [
            note(10, 20, "your cat is a lovely cat", kind="words"),
            note(678, 154, "il tuo gatto è un …", "end", "words"),
            note(238, 30, "Encoder, 2 layers", kind="encoder"),
            note(238, 170, "Decoder, 2 layers", kind="decoder"),
            note(700, 30, "Inside attention", "end", "query"),
            note(411, 148, "memory", kind="encoder"),
            note(344, 300, "each written word goes back in", "middle"),
            note(10, 330, "Around the model"),
        ]
    else:
        loop = "M332 551H346V73H332" + head(332, 73, "left")
        out = "M266 584V602" + head(266, 602, "down")
        paths = [*arrows(layout), "M74 26V40" + head(74, 40, "down"), loop, out]
        notes = [
            note(74, 20, "your cat is …", "middle", "words"),
            note(266, 28, "written words", "middle"),
            note(266, 618, "il tuo gatto è …", "middle", "words"),
            note(8, 225, "Encoder, 2 layers", kind="encoder"),
            note(200, 225, "Decoder, 2 layers", kind="decoder"),
            note(170, 356, "memory", "middle", "encoder"),
            note(28, 520, "Inside attention", kind="query"),
            note(8, 640, "Around the model"),
        ]
    lines = f'<path class="arrow" d="{"".join(paths)}"/>'
    key = mark(*((572, 22) if layout == "wide" else (8, 512)), 14)  # explains the boxes' marks
    return f'<g aria-hidden="true">{"".join(frames)}{lines}{"".join(notes)}{key}</g>'


def mark(left, top, width):
    """Draw the stripe that an attention has, and the frame of what is inside of one."""
    return f'<path class="mark query" d="M{left:g} {top + 3:g}h{width:g}"/>'


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
    stripe = mark(left + 8, top + height - 6, width - 16) if box.id in ATTENTIONS else ""
    return rect + "".join(lines) + number + stripe


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
        steps = " ".join(str(i) for i, name in enumerate(STEPS) if name == box.id)
        step = f' data-step="{steps}"' if steps else ""
        links.append(
            f'<g role="listitem"><a class="box {box.role}" href="{address(box.page)}"'
            f' data-phase="{box.phase}"{step} aria-label="{said}">{shape(box, layout)}</a></g>'
        )
    return svg(layout, surroundings(layout) + "".join(links), 'role="list"')


def small(page):
    """Draw the small map with the boxes of one page lit."""
    lit = boxes_of(page)
    boxes = "".join(
        f'<g class="box {box.role}{" here" if box in lit else ""}">{shape(box, "small")}</g>'
        for box in BOXES
    )
    lines = f'<path class="arrow" d="{"".join(arrows("small"))}"/>'
    return svg("small", lines + boxes, 'aria-hidden="true"')
