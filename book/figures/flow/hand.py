"""Pictures of the flow: boxes, arrows with shapes on them and small matrices, drawn as SVG.

A picture is drawn twice, for a wide page and for a phone, and the style sheet `flow.css` shows the
one that fits. Colours are roles of the palette, so that a picture follows the theme of its page.
A chapter's module says what is drawn; here is only how. Coordinates are pixels, x to the right and
y down.
"""

import html
import itertools
import json
import math
from contextlib import contextmanager
from dataclasses import dataclass

SIZE, SMALL = 14, 12  # of words, in pixels
LETTER = 0.56  # mean width of a letter, as a share of its size; rather too wide
LINE = 1.25  # from one line of words to the next, as a share of their size
MARGIN = 4
HEAD = 7  # length of an arrow's head
ROUND = 6  # radius of a box's corners


@dataclass(frozen=True)
class Place:
    """Where something is drawn: a rectangle, and the points at which arrows meet it."""

    x: float
    y: float
    width: float
    height: float

    def at(self, across, down):
        """Return a point of it, given as shares of its width and height."""
        return self.x + across * self.width, self.y + down * self.height

    @property
    def west(self):
        """Return the middle of its left side."""
        return self.at(0, 0.5)

    @property
    def east(self):
        """Return the middle of its right side."""
        return self.at(1, 0.5)

    @property
    def north(self):
        """Return the middle of its upper side."""
        return self.at(0.5, 0)

    @property
    def south(self):
        """Return the middle of its lower side."""
        return self.at(0.5, 1)

    @property
    def centre(self):
        """Return its middle."""
        return self.at(0.5, 0.5)

    def row(self, row, rows):
        """Return one of its equal rows."""
        return Place(self.x, self.y + row * self.height / rows, self.width, self.height / rows)

    def column(self, column, columns):
        """Return one of its equal columns."""
        width = self.width / columns
        return Place(self.x + column * width, self.y, width, self.height)


def width_of(text, size=SIZE):
    """Return about how wide the longest line of a text is, in pixels."""
    return LETTER * size * max(map(len, text.split("\n")))


class Drawing:
    """A sheet to draw on; it grows with what is drawn."""

    def __init__(self):
        self._parts = []
        self._reach = []  # (left, top, right, bottom) of each part

    def words(
        self,
        point,
        text,
        role="",
        *,
        anchor="middle",
        size=SIZE,
        bold=False,
        italic=False,
        halo=False,
    ):
        """Write a text, its lines around a point.

        Args:
            anchor: "start", "middle" or "end": which end of the text is at the point.
            halo: whether to clear the ground below the letters, because a line passes there.

        Returns:
            its Place.
        """
        x, y = point
        lines, wide = text.split("\n"), width_of(text, size)
        top = y - LINE * size * len(lines) / 2
        kinds = [role, "bold" if bold else "", "italic" if italic else ""]
        look = f'class="{" ".join(filter(None, kinds))}"' if any(kinds) else ""
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        whole = Place(left, top, wide, LINE * size * len(lines))
        if halo:
            self._rectangle(Place(left, top + 1, wide, whole.height - 2), "ground")
        for place, line in enumerate(lines):
            down = top + LINE * size * (place + 0.5) + 0.35 * size
            self._add(
                f'<text x="{x:.4g}" y="{down:.4g}" font-size="{size}" text-anchor="{anchor}" {look}'
                f">{html.escape(line, quote=False)}</text>"
            )
        return self._reached(whole)

    def upright(self, point, text, role="", *, up=True, size=SMALL):
        """Write a text that begins at a point and runs upwards, or that ends there.

        Returns:
            its Place.
        """
        x, y = point
        long, kind = width_of(text, size), f'class="{role}"' if role else ""
        anchor, middle = "start" if up else "end", x + 0.35 * size
        self._add(
            f'<text transform="translate({middle:.4g} {y:.4g}) rotate(-90)" font-size="{size}"'
            f' text-anchor="{anchor}" {kind}>{html.escape(text, quote=False)}</text>'
        )
        return self._reached(Place(x - size / 2, y - long if up else y, size, long))

    def box(self, centre, text="", role="plain", *, width=0, height=0, size=SIZE, kind="box"):
        """Draw a box with words in it.

        Args:
            centre: the point around which it is drawn.
            width, height: in pixels; 0 for as large as its words need.
            kind: "box"; "solid" for a stronger ground; "frame" for a dashed line and no ground.

        Returns:
            its Place.
        """
        width = width or width_of(text, size) + 18
        height = height or LINE * size * len(text.split("\n")) + 12
        place = Place(centre[0] - width / 2, centre[1] - height / 2, width, height)
        self._rectangle(place, f"{kind} {role}", f'rx="{ROUND}"')
        if text:
            self.words(centre, text, size=size)
        return self._reached(place)

    def frame(self, places, text="", role="plain", *, around=8, anchor="start", above=True):
        """Draw a dashed frame around places, with a name above or below it."""
        left, top = (min(each.at(0, 0)[axis] for each in places) - around for axis in (0, 1))
        right, bottom = (max(each.at(1, 1)[axis] for each in places) + around for axis in (0, 1))
        place = Place(left, top, right - left, bottom - top)
        self._rectangle(place, f"frame {role}", f'rx="{ROUND}"')
        if text:
            across = {"start": left, "middle": (left + right) / 2, "end": right}[anchor]
            y = top - 10 if above else bottom + 10
            self.words((across, y), text, role, anchor=anchor, size=SMALL, bold=True)
        return self._reached(place)

    def cells(self, corner, rows, role="plain", *, cell=(30, 22), size=SMALL, shares=None):
        """Draw a matrix, one cell for each number.

        Args:
            corner: its upper left point.
            rows: lists of what is written in the cells; "" leaves a cell empty.
            role: of all cells, or a list of lists of roles.
            cell: width and height of a cell.
            shares: lists of numbers from 0 to 1: how strongly each cell is tinted.

        Returns:
            its Place.
        """
        for down, row in enumerate(rows):
            for across, text in enumerate(row):
                place = Place(corner[0] + across * cell[0], corner[1] + down * cell[1], *cell)
                kind = role if isinstance(role, str) else role[down][across]
                tint = (
                    "" if shares is None else f'style="--share:{float(shares[down][across]):.3g}"'
                )
                self._rectangle(place, f"cell {kind}", tint)
                if str(text):
                    self.words(place.centre, str(text), size=size)
        return self._reached(Place(*corner, cell[0] * len(rows[0]), cell[1] * len(rows)))

    def stack(self, corner, count, size, role="plain", *, shift=(7, -7), text=""):
        """Draw sheets behind each other, the first in front: a tensor with one more axis.

        Returns:
            the Place of the sheet in front.
        """
        for back in reversed(range(count)):
            x, y = (corner[axis] + back * shift[axis] for axis in (0, 1))
            place = self._reached(Place(x, y, *size))
            self._rectangle(place, f"sheet {role}")
        if text:
            self.words(place.centre, text, size=SMALL)
        return place

    def arrow(self, *points, role="plain", text="", side=None, width=1.6, dashed=False, head=True):
        """Draw an arrow through points.

        Args:
            text: what is written at its middle.
            side: (x, y) by which the text is moved from the middle; None to write on the line.
        """
        points = [tuple(map(float, point)) for point in points]
        (x0, y0), (x1, y1) = points[-2:]
        middle = _middle(points)
        path = f"M{_pair(points[0])}" + "".join(f"L{_pair(point)}" for point in points[1:])
        look = f'style="stroke-width:{width:.3g}"' if width != 1.6 else ""
        self._add(f'<path class="arrow {role}{" dashed" if dashed else ""}" {look} d="{path}"/>')
        if head:
            self._head((x1, y1), math.atan2(y1 - y0, x1 - x0), role, HEAD + max(0, width - 1.6))
        for x, y in points:
            self._reached(Place(x - 2, y - 2, 4, 4))
        if text:
            x, y = middle if side is None else (middle[0] + side[0], middle[1] + side[1])
            anchor = "middle" if side is None or not side[0] else "end" if side[0] < 0 else "start"
            self.words(
                (x, y),
                text,
                role if role != "plain" else "muted",
                size=SMALL,
                anchor=anchor,
                halo=True,
            )

    def circle(self, centre, radius=11, text="", role="plain"):
        """Draw a circle with a sign in it; return its Place."""
        x, y = centre
        self._add(f'<circle class="box {role}" cx="{x:.4g}" cy="{y:.4g}" r="{radius:.3g}"/>')
        if text:
            self.words(centre, text, bold=True)
        return self._reached(Place(x - radius, y - radius, 2 * radius, 2 * radius))

    @contextmanager
    def step(self, number):
        """Make what is drawn within part of one step of a picture that moves."""
        self._add(f'<g data-step="{number}">')
        yield
        self._add("</g>")

    def svg(self, layout):
        """Return the drawing, cut to what is drawn.

        Args:
            layout: "wide", "phone" or "both".
        """
        left, top = (min(each[axis] for each in self._reach) - MARGIN for axis in (0, 1))
        right, bottom = (max(each[axis] for each in self._reach) + MARGIN for axis in (2, 3))
        size = f"{right - left:.0f}"
        box = f"{left:.0f} {top:.0f} {size} {bottom - top:.0f}"
        content = "".join(self._parts)
        return (
            f'<svg class="{layout}" viewBox="{box}" style="--width:{size}px" aria-hidden="true">'
            f"{content}</svg>"
        )

    @property
    def width(self):
        """Return how wide the drawing is, in pixels."""
        return max(each[2] for each in self._reach) - min(each[0] for each in self._reach)

    def _add(self, part):
        self._parts.append(part)

    def _reached(self, place):
        self._reach.append((*place.at(0, 0), *place.at(1, 1)))
        return place

    def _rectangle(self, place, kinds, more=""):
        self._add(
            f'<rect class="{kinds}" x="{place.x:.4g}" y="{place.y:.4g}" width="{place.width:.4g}"'
            f' height="{place.height:.4g}" {more}/>'
        )

    def _head(self, tip, angle, role, length):
        sides = [
            (tip[0] - length * math.cos(angle + turn), tip[1] - length * math.sin(angle + turn))
            for turn in (0.45, -0.45)
        ]
        path = f"M{_pair(tip)}" + "".join(f"L{_pair(point)}" for point in sides) + "z"
        self._add(f'<path class="head {role}" d="{path}"/>')


def _pair(point):
    return f"{point[0]:.4g} {point[1]:.4g}"


def _middle(points):
    """Return the point halfway along a line through points."""
    lengths = [math.dist(*pair) for pair in itertools.pairwise(points)]
    rest = sum(lengths) / 2
    for (start, end), length in zip(itertools.pairwise(points), lengths, strict=True):
        if rest <= length:
            share = rest / length if length else 0
            return tuple(a + share * (b - a) for a, b in zip(start, end, strict=True))
        rest -= length
    return points[-1]


class Picture:
    """A picture as a page shows it: the drawing for a wide page, that for a phone, and the same in
    words.
    """

    def __init__(self, alt, draw, steps=()):
        """Draw it.

        Args:
            alt: what the picture shows, in words.
            draw: function from whether it is for a phone to a Drawing.
            steps: a sentence for each step of a picture that moves; `flow.js` plays it.
        """
        self.alt, self.steps = alt, list(steps)
        self.wide, self.phone = draw(False), draw(True)

    def _repr_html_(self):
        alike = self.wide.svg("both") == self.phone.svg("both")
        layouts = {"both": self.wide} if alike else {"wide": self.wide, "phone": self.phone}
        drawn = "".join(drawing.svg(layout) for layout, drawing in layouts.items())
        told = f' data-steps="{html.escape(json.dumps(self.steps))}"' if self.steps else ""
        said = html.escape(self.alt)
        return f'<div class="flow" role="img" aria-label="{said}"{told}>{drawn}</div>'

    def __repr__(self):
        return self.alt
