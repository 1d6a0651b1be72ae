"""Explorers: small things to play with, alive in a published page and in a notebook.

Each explorer is one folder, `book/explorers/<name>/`, with one script and one style sheet of that
name. The script draws with what `kit.js` has for all of them, and registers itself with its
`mount`:

    const { html, slider, mount } = globalThis.explorerKit;
    mount("<name>", { start: { ... }, build({ model, choose, verdict, say }) { ... } });

What `mount` makes of it, `explorers.<name>.render({ model, el })`, is anywidget's interface, so the
same file serves twice. A page of the book loads it as a plain script after the kit and needs no
kernel, no widget manager and no other host (`show`). A notebook loads kit and script as an
anywidget that shows what a learner's own function returns (`explore_attention` and the others):
there the script finds its numbers in `model.get("computed")`, which in a page is empty.
"""

import html
import json

from IPython.display import HTML

from book.widgets.functions import (
    explore_attention,
    explore_layer_norm,
    explore_lookup,
    explore_masks,
    explore_positions,
)
from book.widgets.models import (
    explore_beam,
    explore_copying,
    explore_decoding,
    explore_heads,
)
from book.widgets.scripts import names, script, style

# Those that run a trained model, with what `running.js` has for all of them.
RUNNING = ("ablation", "cache", "gap", "sampler", "translator")
# Of these, those that run the trained translator, with what `translating.js` has for them.
TRANSLATING = ("ablation", "cache", "translator")
# Those that train a stack of layers, with `stack.js`.
STACKING = ("depth",)

__all__ = [
    "explore_attention",
    "explore_beam",
    "explore_copying",
    "explore_decoding",
    "explore_heads",
    "explore_layer_norm",
    "explore_lookup",
    "explore_masks",
    "explore_positions",
    "names",
    "script",
    "show",
]


def show(name, label, **state):
    """Place an explorer in a page of the book.

    Args:
        name: the explorer's folder.
        label: what it is, in a sentence: the name that screen readers say, and the text shown where
            scripts are off.
        state: what the explorer starts from; anything that JSON can hold.
    """
    folder = f"../_static/{name}"
    shared = {"running.js": RUNNING, "translating.js": TRANSLATING, "stack.js": STACKING}
    needed = [f"../_static/{file}" for file, users in shared.items() if name in users]
    needed.append(f"{folder}/{script(name).name}")
    scripts = "".join(f'<script defer src="{path}"></script>' for path in needed)
    packed = html.escape(json.dumps(state, separators=(",", ":")), quote=False)
    packed = packed.replace("'", "&#x27;")  # between single quotes JSON's own need no escape
    return HTML(
        f'<link rel="stylesheet" href="{folder}/{style(name).name}"><div class="explorer"'
        f' role="group" aria-label="{html.escape(label)}" data-explorer="{name}"'
        f" data-state='{packed}'><noscript>{html.escape(label)} It needs"
        f" JavaScript.</noscript></div>{scripts}"
    )
