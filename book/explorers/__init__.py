"""Explorers: small things to play with, alive in a published page and in a notebook.

Each explorer is one folder with one script, `book/explorers/<name>/<name>.js`, which registers a `render({ model, el })`:

    globalThis.explorers ??= {};
    globalThis.explorers.<name> = { render({ model, el }) { ... } };

That is anywidget's interface, so the same file serves twice. A page of the book loads it as a plain script and needs no kernel, no
widget manager and no other host (`show`); a notebook loads it as an anywidget, whose state Python can read and set (`widget`).
"""

import html
import json
from functools import cache
from pathlib import Path

import anywidget
import traitlets
from IPython.display import HTML

FOLDER = Path(__file__).parent


def names():
    """Return the names of all explorers, sorted."""
    return sorted(script.parent.name for script in FOLDER.glob("*/*.js"))


def script(name):
    """Return the path of an explorer's script.

    Raises:
        ValueError: if there is no explorer of that name.
    """
    if name not in names():
        raise ValueError(f"there is no explorer {name!r}; there are: {', '.join(names())}")
    return FOLDER / name / f"{name}.js"


def show(name, label, **state):
    """Place an explorer in a page of the book.

    Args:
        name: the explorer's folder.
        label: what it is, in a sentence: the name that screen readers say, and the text shown where scripts are off.
        state: what the explorer starts from; anything that JSON can hold.
    """
    source = f"../_static/{name}/{script(name).name}"
    return HTML(
        f'<div class="explorer" role="group" aria-label="{html.escape(label)}" data-explorer="{name}" '
        f'data-state="{html.escape(json.dumps(state))}">'
        f"<noscript>{html.escape(label)} It needs JavaScript.</noscript></div>"
        f'<script defer src="{source}"></script>'
    )


@cache
def _widget_class(name, keys):
    register = f"\nexport default globalThis.explorers.{name};\n"
    traits = {key: traitlets.Any().tag(sync=True) for key in keys}
    return type(
        f"{name.title()}Explorer",
        (anywidget.AnyWidget,),
        {"_esm": script(name).read_text() + register, "_css": (FOLDER / "explorers.css").read_text(), **traits},
    )


def widget(name, **state):
    """Make an explorer for a notebook: an anywidget whose `state` entries are synchronised traits."""
    return _widget_class(name, tuple(sorted(state)))(**state)
