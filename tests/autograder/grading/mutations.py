"""Damage to what was handed in, drawn at random: to its bytes, its JSON, its cells, their metadata
and their code.
"""

import copy
import json
import string

ODD_VALUES = (
    *(None, True, False, 0, -1, 4.5, 2**63, 1e308, float("nan"), float("inf")),
    *(
        "",
        "\x00",
        "\ud800",
        "\u202e",
        "code",
        "softmax",
        "x" * 5_000,
        [],
        {},
        [[]],
        {"": {}},
        [None],
        ["\n", 1],
    ),
)
METADATA = {
    "points": (0, -5, 1_000, 1e308, "10", None, [10]),
    "grade": (True, False, "yes", None),
    "solution": (True, False, 1, None),
    "locked": (True, False, {}),
    "task": (True, False),
    "cell_type": ("code", "markdown", "raw", "worksheet", 7),
    "schema_version": (0, 1, 2, 3, 4, 99, "3", None),
    "grade_id": (
        "softmax",
        "check_softmax",
        "hidden_softmax",
        "attention_scores",
        "",
        "../softmax",
        None,
        3,
    ),
}
FORMATS = ((3, 0), (4, 0), (4, 5), (4, 99), (5, 0), (-1, None), ("4", "5"), (None, None))


def mutated(rng, notebook):
    """Return the bytes of a notebook after one to three mutations; `rng` is a `random.Random`."""
    notebook = copy.deepcopy(notebook)
    for _ in range(rng.randint(1, 3)):
        rng.choice(MUTATIONS)(rng, notebook)
    content = json.dumps(notebook, indent=rng.choice((None, 1))).encode()
    return rng.choice(BYTE_MUTATIONS)(rng, bytearray(content)) if rng.random() < 0.35 else content


def value_replaced(rng, notebook):
    within, key = any_place(rng, notebook)
    within[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def value_dropped(rng, notebook):
    within, key = any_place(rng, notebook)
    del within[key]


def value_nested(rng, notebook):
    within, key = any_place(rng, notebook)
    for _ in range(rng.choice((1, 2, 50))):
        within[key] = [within[key]] if rng.random() < 0.5 else {"source": within[key]}


def values_swapped(rng, notebook):
    (one, key), (other, other_key) = any_place(rng, notebook), any_place(rng, notebook)
    moved = copy.deepcopy(other[other_key])
    other[other_key] = copy.deepcopy(one[key])
    one[key] = moved


def cell_dropped(rng, notebook):
    del cells_of(notebook)[rng.randrange(len(cells_of(notebook)))]


def cell_doubled(rng, notebook):
    cells = cells_of(notebook)
    cells.insert(rng.randint(0, len(cells)), copy.deepcopy(rng.choice(cells)))


def cells_reordered(rng, notebook):
    rng.choice((rng.shuffle, list.reverse))(cells_of(notebook))


def cell_moved(rng, notebook):
    cells = cells_of(notebook)
    cells.insert(rng.randrange(len(cells)), cells.pop(rng.randrange(len(cells))))


def cell_retyped(rng, notebook):
    any_cell(rng, notebook)["cell_type"] = rng.choice(METADATA["cell_type"])


def ids_swapped(rng, notebook):
    one, other = (nbgrader_of(any_cell(rng, notebook)) for _ in range(2))
    one["grade_id"], other["grade_id"] = other.get("grade_id"), one.get("grade_id")


def cell_added(rng, notebook):
    source = rng.choice(
        (
            "",
            "x = 1",
            "softmax = None",
            "raise SystemExit",
            "def softmax(",
            "%%bash\nls",
            "import os; os._exit(1)",
        )
    )
    cell = {
        "cell_type": "code",
        "source": source,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    cells_of(notebook).insert(rng.randint(0, len(cells_of(notebook))), cell)


def metadata_invented(rng, notebook):
    for cell in rng.sample(cells_of(notebook), min(3, len(cells_of(notebook)))):
        name = rng.choice(list(METADATA))
        if isinstance(cell, dict):
            nbgrader_of(cell)[name] = rng.choice(METADATA[name])


def tags_invented(rng, notebook):
    tags = rng.choice(
        (["skip-execution"], ["raises-exception"], ["remove-cell"], "skip-execution", 5)
    )
    for cell in cells_of(notebook):
        if isinstance(cell, dict):
            cell.setdefault("metadata", {})
            if isinstance(cell["metadata"], dict):
                cell["metadata"]["tags"] = tags


def record_invented(rng, notebook):
    notebook["metadata"] = {
        "autograder": {"problem": None, "cells": [], "seed": "00"},
        "kernelspec": {"name": "bash"},
    }


def format_invented(rng, notebook):
    notebook["nbformat"], notebook["nbformat_minor"] = rng.choice(FORMATS)


def sources_spliced(rng, notebook):
    one, other = any_cell(rng, notebook), any_cell(rng, notebook)
    head, tail = text_of(one), text_of(other)
    one["source"] = head[: rng.randint(0, len(head))] + tail[rng.randint(0, len(tail)) :]


def lines_changed(rng, notebook):
    cell = any_cell(rng, notebook)
    lines = text_of(cell).splitlines(keepends=True) or [""]
    place = rng.randrange(len(lines))
    lines[place : place + 1] = rng.choice(
        ([], [lines[place]] * 2, ["    " + lines[place]], [lines[place].lstrip()])
    )
    cell["source"] = rng.choice((lines, "".join(lines)))


def bytes_flipped(rng, content):
    for _ in range(rng.choice((1, 3, 30))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def bytes_removed(rng, content):
    start = rng.randrange(len(content))
    del content[start : start + rng.choice((1, 2, 20, 2_000))]
    return bytes(content)


def bytes_inserted(rng, content):
    start = rng.randrange(len(content))
    drawn = rng.choice(
        (
            rng.randbytes(rng.randint(1, 50)),
            rng.choice(string.punctuation).encode() * rng.randint(1, 5),
        )
    )
    content[start:start] = drawn
    return bytes(content)


def bytes_moved(rng, content):
    start, end = sorted(rng.randrange(len(content)) for _ in range(2))
    return bytes(content[:start] + content[end:] + content[start:end])


def cut_off(rng, content):
    return bytes(content[: rng.randrange(len(content))])


def written_otherwise(rng, content):
    return content.decode(errors="replace").encode(
        rng.choice(("utf-8-sig", "utf-16", "utf-32", "utf-7")), "replace"
    )


BYTE_MUTATIONS = (
    bytes_flipped,
    bytes_removed,
    bytes_inserted,
    bytes_moved,
    cut_off,
    written_otherwise,
)
MUTATIONS = (
    *(value_replaced, value_dropped, value_nested, values_swapped),
    *(
        cell_dropped,
        cell_doubled,
        cells_reordered,
        cell_moved,
        cell_retyped,
        cell_added,
        ids_swapped,
    ),
    *(
        metadata_invented,
        tags_invented,
        record_invented,
        format_invented,
        sources_spliced,
        lines_changed,
    ),
)


def any_place(rng, notebook):
    """Return a list or dictionary in the notebook that is not empty, and an index or a key of it;
    deep ones are as likely as others.
    """
    places, todo = [], [notebook]
    while todo:
        value = todo.pop()
        inside = list(value.items() if isinstance(value, dict) else enumerate(value))
        places += [(value, key) for key, _ in inside]
        todo += [each for _, each in inside if isinstance(each, dict | list)]
    return rng.choice(places)


def cells_of(notebook):
    """Return the list of cells, where an earlier mutation has left one; otherwise one with an empty
    cell, which belongs to nothing.
    """
    cells = notebook.get("cells")
    return cells if isinstance(cells, list) and cells else [{}]


def any_cell(rng, notebook):
    cell = rng.choice(cells_of(notebook))
    return cell if isinstance(cell, dict) else {}


def nbgrader_of(cell):
    """Return a cell's metadata for nbgrader, which is made where there is none."""
    if not isinstance(cell.get("metadata"), dict):
        cell["metadata"] = {}
    if not isinstance(cell["metadata"].get("nbgrader"), dict):
        cell["metadata"]["nbgrader"] = {}
    return cell["metadata"]["nbgrader"]


def text_of(cell):
    """Return a cell's source as one text, whatever an earlier mutation has made of it."""
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
