"""Chapter 13: who depends on whom in four models, and an image as a sentence of patches."""

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture

ON_A_PHONE = ((0, 0), (190, 0), (0, 296), (0, 600))  # where the four models are
ON_A_WIDE_PAGE = ((0, 0), (236, 0), (0, 262), (472, 0))


def four_models(models):
    """Draw who depends on whom in several models: inputs below, outputs above, and a line wherever
    an output moves with an input.

    Args:
        models: list of four dict: `title`; `inputs`, a word for each place; `encoder`, how many of
            the places belong to an encoder; `sees`, a set of (output, input); `learned`, how many
            of the first inputs are learned, so that only dashed lines lead from them; `predicts`,
            dict from an output to what is asked of it. On a wide page the third has a row for
            itself.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet = Drawing()
        for panel, model in enumerate(models):
            left, top = (ON_A_PHONE if phone else ON_A_WIDE_PAGE)[panel]
            apart = 31 if phone else 46 if len(model["inputs"]) < 7 else 76
            places = range(len(model["inputs"]))
            roles = ["encoder" if place < model["encoder"] else "decoder" for place in places]
            xs = [left + apart * place for place in places]
            sheet.words(
                (left - 10, top - (74 if phone else 54)), model["title"], anchor="start", bold=True
            )
            fixed = {(output, source) for output in places for source in range(model["learned"])}
            for output, source in sorted(model["sees"] | fixed):
                line = {"role": roles[output], "width": 1.1, "dashed": source < model["learned"]}
                sheet.arrow((xs[source], top + 99), (xs[output], top + 9), **line, head=False)
            for x, word, role, place in zip(xs, model["inputs"], roles, places, strict=True):
                sheet.circle((x, top), 9, "", role)
                sheet.circle((x, top + 108), 9, "", role)
                asked = model["predicts"].get(place, "")
                if not phone:
                    word = "\n".join(word.split())
                    down = top + 128 + 8 * word.count("\n")
                    sheet.words((x, down), word, size=11.5 if apart < 50 else SMALL)
                    sheet.words((x, top - 22), asked, "right", size=SMALL)
                    continue
                sheet.upright((x, top + 124), word, up=False)
                if asked:
                    sheet.upright((x, top - 15), asked, "right")
        return sheet

    told = []
    for model in models:
        asked = ", ".join(model["predicts"].values())
        told.append(
            f"{model['title']}: {len(model['inputs'])} places, {len(model['sees'])} lines, asked"
            f" for {asked}"
        )
    return Picture(
        "Four panels, each with a row of inputs below, a row of outputs above, and a line"
        f" wherever an output moves with an input: {'; '.join(told)}. In BERT every output is"
        " joined to all inputs, in ViT to all patches, and with dashed lines to the class row, in"
        " GPT to the inputs at its place and to the left, and in T5 the outputs on the right are"
        " joined to all words of the encoder and to their own up to their place.",
        draw,
    )


def bert_reads(panels):
    """Draw what goes into BERT for pairs of sentences, and what is read from its vectors.

    Args:
        panels: dict from a title to (two lists of words, dict from a place to a list of what is
            read there).

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, cell = Drawing(), (41 if phone else 40, 22)
        for number, (title, (sentences, answers)) in enumerate(panels.items()):
            left, top = (0, 372 * number) if phone else (342 * number, 0)
            tokens, kinds = framed(sentences)
            sheet.words((left, top - 122), title, anchor="start", bold=True)
            looks = [["encoder"] * len(tokens), ["plain"] * len(tokens)]
            looks += [["orange" if kind == "A" else "green" for kind in kinds]]
            for down, row in enumerate([tokens, list(range(len(tokens))), kinds]):
                y = top + 118 + down * 40
                sheet.cells((left, y), [row], [looks[down]], cell=cell, size=11)
                if down:
                    name = ("+ position", "+ sentence")[down - 1]
                    sheet.words((left, y - 9), name, "muted", anchor="start", size=11)
            for place in range(len(tokens)):
                x = left + (place + 0.5) * cell[0]
                sheet.arrow((x, top + 116), (x, top + 90))
                sheet.arrow((x, top + 54), (x, top + 33), role="encoder")
                sheet.circle((x, top + 22), 9, "", "encoder")
                read = answers.get(place, [])
                for each, text in enumerate(read):
                    aside = 15 * (each - (len(read) - 1) / 2)
                    sheet.upright((x + aside, top + 8), text, "right" if number else "blue")
            wide = cell[0] * len(tokens)
            middle = left + wide / 2, top + 72
            sheet.box(middle, "norm, encoder layers", "encoder", width=wide, height=34)
        return sheet

    told = []
    for title, (sentences, answers) in panels.items():
        tokens, _ = framed(sentences)
        read = [f"{text!r} from {tokens[place]}" for place in answers for text in answers[place]]
        told.append(f"{title}, {' '.join(tokens)}: {', '.join(read)}")
    return Picture(
        "Two pairs of sentences. Three rows are added for each word: its own, that of its position"
        " from 0 on, and that of its sentence, A or B. The sums go through a norm and encoder"
        f" layers, which give a vector for each word. What is read: {'; '.join(told)}.",
        draw,
    )


def framed(sentences):
    """Return what BERT reads of two lists of words, and which sentence each belongs to."""
    first, second = ([*words, "[SEP]"] for words in sentences)
    return ["[CLS]", *first, *second], ["A"] * (1 + len(first)) + ["B"] * len(second)


def image_to_patches(image, patches, patch_size, rows):
    """Draw an image with its patches, the row of pixels that each becomes, and the vectors that a
    matrix makes of these.

    Args:
        image: (height, width), dark where it is large.
        patches: (count, patch_size * patch_size), as `patchify` returns them.
        rows: (count, d_model), what the matrix makes of them.

    Returns:
        the Picture.
    """
    count, marked = len(patches), len(patches) // 2
    per_row = image.shape[1] // patch_size
    largest = image.max()

    def draw(phone):
        sheet, pixel, cell = Drawing(), 17 if phone else 26, 15 if phone else 24
        height = len(image) * pixel
        blank = [[""] * image.shape[1] for _ in image]
        whole = sheet.cells(
            (0, 0), blank, "plain", cell=(pixel, pixel), shares=1.7 * image / largest
        )
        for place in range(count):
            x, y = (pixel * patch_size * each for each in (place % per_row, place // per_row))
            side = pixel * patch_size
            role, kind = ("orange", "frame") if place != marked else ("orange", "outline")
            sheet.box((x + side / 2, y + side / 2), "", role, width=side, height=side, kind=kind)
        left = whole.width + (34 if phone else 70)
        line, starts = height / count, []
        for place, patch in enumerate(patches):
            role = "orange" if place == marked else "plain"
            corner = (left, line * place + 1)
            starts.append(
                sheet.cells(
                    corner,
                    [[""] * len(patch)],
                    role,
                    cell=(cell, line - 3),
                    shares=[1.7 * patch / largest],
                )
            )
        x, y = (pixel * patch_size * (each + 0.5) for each in (marked % per_row, marked // per_row))
        sheet.arrow((x + pixel * patch_size / 2, y), starts[marked].west, role="orange", width=2)
        after = starts[0].east[0] + (46 if phone else 96)
        broad = (70 if phone else 160) / len(rows[0])
        strong = np.abs(rows) / np.abs(rows).max()
        for place, row in enumerate(strong):
            role = "orange" if place == marked else "encoder"
            corner = (after, line * place + 1)
            end = sheet.cells(corner, [[""] * len(row)], role, cell=(broad, line - 3), shares=[row])
            sheet.arrow(
                starts[place].east, end.west, role="orange" if place == marked else "plain", width=1
            )
        sheet.words((whole.centre[0], -16), "an image", size=SMALL)
        sheet.words(
            (left + cell * len(patches[0]) / 2, -16),
            f"{count} rows of\n{len(patches[0])} pixels"
            if phone
            else f"{count} rows of {len(patches[0])} pixels",
            size=SMALL,
        )
        sheet.words(
            (after + broad * len(rows[0]) / 2, -16),
            f"{count} vectors\nof {len(rows[0])}"
            if phone
            else f"{count} vectors of {len(rows[0])}",
            "encoder",
            size=SMALL,
        )
        sheet.words(((starts[0].east[0] + after) / 2, height + 14), "× matrix", "muted", size=SMALL)
        return sheet

    return Picture(
        f"An image of {image.shape[0]} by {image.shape[1]} pixels is cut into {count} patches of"
        f" {patch_size} by {patch_size}. Each patch becomes a row of {len(patches[0])} pixels,"
        " from the upper left patch to the lower right one, and a matrix makes a vector of"
        f" {len(rows[0])} numbers of each row. Patch {marked + 1} is marked on its way.",
        draw,
    )


def gated_features(features, gates, factors, products):
    """Draw how SwiGLU multiplies each feature by what silu makes of its gate.

    Args:
        features, gates: (hidden,) what two matrices make of a word.
        factors: (hidden,) silu of the gates.
        products: (hidden,) features times factors.

    Returns:
        the Picture.
    """
    shown = {
        "features": [_said(number, 0) for number in features],
        "gates": [_said(number, 0) for number in gates],
        "factors": [_said(number, 2) for number in factors],
        "products": [_said(number, 2) for number in products],
    }

    def draw(_):
        sheet, cell = Drawing(), (41, 26)
        wide = cell[0] * len(features)
        left, right, middle = wide / 2, wide * 1.5 + 32, wide + 16

        def row(x, y, name, role):
            return sheet.cells((x - wide / 2, y), [shown[name]], role, cell=cell)

        word = sheet.words((middle, 0), "x", italic=True)
        up = sheet.box((left, 44), "w_up", "value")
        gate = sheet.box((right, 44), "w_gate", "purple")
        found, signs = row(left, 88, "features", "value"), row(right, 88, "gates", "purple")
        factors = row(right, 160, "factors", "purple")
        times = sheet.circle((middle, 214), 12, "×")
        product = row(middle, 248, "products", "value")
        down = sheet.box((middle, 318), "w_down", "value")
        sheet.arrow(word.at(0, 0.5), (left, 0), up.north)
        sheet.arrow(word.at(1, 0.5), (right, 0), gate.north)
        sheet.arrow(up.south, found.north, role="value")
        sheet.arrow(gate.south, signs.north, role="purple")
        sheet.arrow(signs.south, factors.north, role="purple", text="silu")
        sheet.arrow(found.south, (left, 214), times.west, role="value")
        sheet.arrow(factors.south, (right, 214), times.east, role="purple")
        sheet.arrow(times.south, product.north)
        sheet.arrow(product.south, down.north, role="value")
        sheet.arrow(down.south, (middle, 362))
        sheet.words((0, 126), "features", "value", anchor="start", size=SMALL)
        sheet.words((wide + 32, 126), "gates", "purple", anchor="start", size=SMALL)
        sheet.words((right + left, 198), "factors", "purple", anchor="end", size=SMALL)
        return sheet

    told = {name: ", ".join(row) for name, row in shown.items()}
    return Picture(
        "A word goes through two matrices. One makes features"
        f" [{told['features']}], the other one gates [{told['gates']}], of which silu makes"
        f" factors [{told['factors']}]. Each feature is multiplied by its factor, which gives"
        f" [{told['products']}], and a third matrix leads back.",
        draw,
    )


def _said(number, digits):
    return f"{number:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def thin_matrices(features, rank):
    """Draw a frozen matrix and the two thin ones that LoRA trains beside it, to scale.

    Args:
        features: rows and columns of the frozen matrix.
        rank: columns of the one thin matrix, and rows of the other.

    Returns:
        the Picture.
    """
    thin = f"{rank * features:,} numbers"

    def draw(phone):
        sheet, side = Drawing(), 116
        thick = side * rank / features

        def matrix(x, y, role, wide=side, high=side, text="", kind="solid"):
            centre = (x + wide / 2, y + high / 2)
            return sheet.box(centre, text, role, width=wide, height=high, size=SMALL, kind=kind)

        frozen = matrix(0, 0, "masked", text=f"W, frozen\n{features**2:,}\nnumbers", kind="frame")
        sheet.words((side + 18, side / 2), "+", bold=True)
        one = matrix(side + 42, 0, "orange", wide=thick)
        other = matrix(one.at(1, 0)[0] + 16, 0, "orange", high=thick)
        sheet.words((one.centre[0], -14), "B", "orange", bold=True)
        sheet.words((other.centre[0], -14), "A", "orange", bold=True)
        sheet.words((other.x + 4, 24), f"A: {thin}\nat random", anchor="start", size=SMALL)
        sheet.words((other.x + 4, 88), f"B: {thin}\nat first all 0", anchor="start", size=SMALL)
        if phone:
            merged = matrix(100, side + 54, "orange", text="W + BA,\nmerged", kind="box")
            sheet.arrow(frozen.south, (58, merged.west[1]), merged.west, role="masked")
            start = (other.centre[0], 112)
            sheet.arrow(start, (start[0], merged.east[1]), merged.east, role="orange")
        else:
            x = other.at(1, 0)[0]
            merged = matrix(x + 66, 0, "orange", text="W + BA,\nmerged", kind="box")
            sheet.arrow((x + 12, side / 2), merged.west, role="orange")
        return sheet

    return Picture(
        f"A square, the frozen matrix W of {features**2:,} numbers, plus the product of two lines"
        f" of its length: B, {thin}, which begin at 0, and A, {thin}, which begin at"
        " random. An arrow leads to a square of the size of W, W + BA, into which they are merged.",
        draw,
    )
