"""Where the explorers' scripts and style sheets are."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "explorers"


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


def style(name):
    """Return the path of the style sheet of an explorer, as `script` does that of its script."""
    return script(name).with_suffix(".css")
