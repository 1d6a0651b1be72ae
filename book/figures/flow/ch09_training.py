"""Chapter 9: the loop of a training, the questions of one sentence, and what a search compares."""

import itertools

from book.figures.flow.hand import SMALL, Drawing, Picture, width_of

WIDE_BOX = {"width": 150, "height": 48, "size": 13}


def training_loop(shapes, loss, parameters):
    """Draw the loop of a training as a ring of boxes, with the schedule and the validation beside
    it.

    Args:
        shapes: dict from "src", "tgt", "reads", "says" and "logits" to the shape of that tensor in
            one batch; what the decoder reads and should say are both cut from "tgt".
        loss: of that batch, before training.
        parameters: how many numbers the model has.

    Returns:
        the Picture.
    """
    said = {name: f"({', '.join(map(str, shape))})" for name, shape in shapes.items()}

    def draw(phone):
        sheet = Drawing()
        size = {"width": 132, "height": 48, "size": SMALL} if phone else WIDE_BOX
        right, low = (176, 106) if phone else (250, 150)
        second = (right, low) if phone else (2 * right, 0)
        third = (second[0], second[1] + low)
        last = (third[0] - right, third[1])
        given = f"batch: src {said['src']},\ntgt {said['tgt']}"
        batch = sheet.box((0, 0), given, "encoder", **size)
        model = sheet.box((right, 0), f"model:\n{parameters:,} numbers", "decoder", **size)
        lost = sheet.box(second, f"loss: {loss:.2f}\nat the start", "blue", **size)
        gradients = sheet.box(third, f"{parameters:,}\ngradients, clipped", "orange", **size)
        step = sheet.box(last, "the optimizer’s\nstep", "orange", **size)
        reads = "" if phone else f"reads\n{said['reads']}"
        sheet.arrow(batch.east, model.west, width=2, text=reads, side=(0, -22))
        over = -46 if phone else -56
        x, y = (second[0] + 90, second[1]) if phone else lost.north
        way = (batch.north, (0, over), (x, over), (x, y), *([lost.east] if phone else []))
        sheet.arrow(*way, role="right", width=2)
        says = f"should say {said['says']}"
        sheet.words((right / 2, over), says, "right", size=SMALL, halo=True)
        logits, beside = f"logits\n{said['logits']}", (4 if phone else 8, 0)
        onwards = (model.south, lost.north) if phone else (model.east, lost.west)
        sheet.arrow(*onwards, width=2, text=logits, side=beside if phone else (0, -22))
        back = {"role": "orange", "width": 2}
        sheet.arrow(lost.south, gradients.north, text="backward", side=beside, **back)
        sheet.arrow(gradients.west, step.east, **back)
        if phone:
            x, end = step.at(0.75, 0)[0], model.at(0.15, 1)
            way = (step.at(0.75, 0), (x, low - 36), (end[0], low - 36), end)
            sheet.arrow(*way, **back)
            near = (way[0][0] + 6, low - 12)
            sheet.words(near, "changes\nthe model", "orange", anchor="start", size=SMALL)
            x = step.at(0.2, 0)[0]
            sheet.arrow((x, step.y), batch.at(0.2, 1), width=2)
            sheet.words((x + 6, low - 48), "next\nbatch", "muted", anchor="start", size=SMALL)
        else:
            sheet.arrow(step.north, model.south, text="changes\nthe model", side=beside, **back)
            sheet.arrow(step.west, (0, low), batch.south, width=2)
            sheet.words((8, low / 2), "next batch", "muted", anchor="start", size=SMALL)
        small = {"width": 140, "height": 40, "size": SMALL}
        asks = sheet.box((right, over - 48), "validation:\nasks, never changes", "right", **small)
        sheet.arrow(model.north, asks.south, role="right", dashed=True)
        rate = sheet.box((last[0], last[1] + 84), "schedule:\nhow large a step", "key", **small)
        sheet.arrow(rate.north, step.south, role="key", dashed=True)
        return sheet

    return Picture(
        f"A ring of boxes with arrows. A batch, src {said['src']} and tgt {said['tgt']}, goes to"
        f" the model, which reads all of tgt but its last column, {said['reads']}, and makes"
        f" logits, {said['logits']}. They are compared with all of tgt but its first column,"
        f" {said['says']}, which goes past the model to the loss, {loss:.2f}"
        f" at the start; going backward it becomes {parameters:,} gradients, one for each number"
        " of the model. They are clipped, and the optimizer's step changes the model, with a"
        " rate that the schedule gives. Then comes the next batch. Validation hangs on the model"
        " with a dashed line, because it asks and never changes anything.",
        draw,
    )


def questions_of_a_sentence(words, ids):
    """Draw how the two cuts of one target make what the decoder reads and what it should say.

    Args:
        words: of the target, with its beginning and its end.
        ids: of the words.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, apart = Drawing(), 66 if phone else 96
        wide = apart - (4 if phone else 14)

        def chips(y, picked, role, first):
            return [
                sheet.box(
                    (apart * (place - first), y),
                    f"{word}\n{number}",
                    role,
                    width=wide,
                    height=40,
                    size=SMALL,
                )
                for place, (word, number) in picked
            ]

        both = list(enumerate(zip(words, ids, strict=True)))
        says = chips(0, both[1:], "right", 1)
        reads = chips(110, both[:-1], "decoder", 0)
        for low, high in zip(reads, says, strict=True):
            sheet.arrow(low.north, high.south, text="?", side=(6, 0))
        left = -wide / 2
        sheet.words(
            (left, -34),
            "should say: the target without its first token",
            "right",
            anchor="start",
            size=SMALL,
        )
        sheet.words(
            (left, 144),
            "reads: the target without its last token",
            "decoder",
            anchor="start",
            size=SMALL,
        )
        return sheet

    asked = "; ".join(
        f"{one} {i} should say {other} {j}"
        for (one, i), (other, j) in itertools.pairwise(zip(words, ids, strict=True))
    )
    return Picture(
        "Two rows of boxes with words and ids, and an arrow from each box below to the one above"
        f" it. The lower row is what the decoder reads, “{' '.join(words[:-1])}”, the upper row"
        f" what it should say, “{' '.join(words[1:])}”, so each word is asked for the one that"
        f" follows: {asked}.",
        draw,
    )


def beam_tree(levels, edges, chosen):
    """Draw the beginnings that a search compares, from left to right.

    Args:
        levels: for each length the (name, text, place) of the beginnings of that length; place is
            the height in the picture.
        edges: dict from (name, name) to the probability of that word.
        chosen: dict from a label to the names on its way, drawn in a colour each.

    Returns:
        the Picture.
    """
    roles = {
        pair: role
        for way, role in zip(chosen.values(), ("orange", "blue"), strict=True)
        for pair in itertools.pairwise(way)
    }

    def draw(phone):
        sheet, across, down = Drawing(), 102 if phone else 190, 56
        boxes = {}
        for level, names in enumerate(levels):
            for name, text, place in names:
                ends = [role for (_, end), role in roles.items() if end == name]
                centre = (across * level, -down * place)
                boxes[name] = sheet.box(
                    centre,
                    text,
                    ends[0] if ends else "plain",
                    width=48 if phone else 56,
                    height=28,
                    size=SMALL,
                )
        for (start, end), probability in edges.items():
            role = roles.get((start, end), "plain")
            width = 0.8 + 5 * probability
            sheet.arrow(boxes[start].east, boxes[end].west, role=role, width=width)
        for (start, end), probability in edges.items():
            (x0, y0), (x1, y1) = boxes[start].east, boxes[end].west
            middle = x0 + 0.5 * (x1 - x0), y0 + 0.5 * (y1 - y0)
            sheet.words(
                middle,
                f"{probability:.2f}",
                roles.get((start, end), "muted"),
                size=SMALL,
                halo=True,
            )
        for (label, way), role in zip(chosen.items(), ("orange", "blue"), strict=True):
            x, y = boxes[way[-1]].east
            sheet.words((x + 6, y), label, role, anchor="start", size=SMALL)
        return sheet

    told = "; ".join(
        f"from {start or 'the beginning'} to {end}, {p:.2f}" for (start, end), p in edges.items()
    )
    ways = "; ".join(f"{label} for {way[-1]}" for label, way in chosen.items())
    return Picture(
        f"A tree from left to right, with lines as thick as their probabilities: {told}. Two ways"
        f" through it are coloured: {ways}.",
        draw,
    )


def shared_runs(words, runs):
    """Show which runs of words of a translation are in the reference.

    Args:
        words: of the translation.
        runs: dict from the length of a run to a bool for each run, from left to right.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet = Drawing()
        size, gap = (SMALL, 9) if phone else (14, 22)
        edges = [0]
        for word in words:
            edges.append(edges[-1] + width_of(word, size) + gap)
        for place, word in enumerate(words):
            sheet.words(((edges[place] + edges[place + 1]) / 2, 0), word, bold=True, size=size)
        y = 26
        for length, found in runs.items():
            lanes = min(length, len(found))
            for place, shared in enumerate(found):
                left, right = edges[place] + 3, edges[place + length] - 3
                middle = ((left + right) / 2, y + 17 * (place % lanes))
                sheet.box(
                    middle,
                    "",
                    "right" if shared else "wrong",
                    width=right - left,
                    height=12,
                    kind="solid" if shared else "frame",
                )
            said = f"{sum(found)} of {len(found)}"
            sheet.words((edges[-1] + 8, y + 17 * (lanes - 1) / 2), said, anchor="start", size=SMALL)
            y += 17 * lanes + 16
        return sheet

    counted = ", ".join(
        f"{sum(found)} of {len(found)} runs of {length}" for length, found in runs.items()
    )
    return Picture(
        f"Below the words “{' '.join(words)}” a bar for each run of one, two, three and four words,"
        " as wide as its words: filled where the reference has the run, dashed where it has not."
        f" Filled are {counted}.",
        draw,
    )
