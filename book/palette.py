"""The palette of figures and explorers: roles (query, key, right, wrong ...) and series (blue,
orange ...), as `book/explorers/palette.css` has them.
"""

import re
from functools import cache
from pathlib import Path

SHEET = Path(__file__).resolve().parent / "explorers" / "palette.css"
ROLES = ("query", "key", "value", "encoder", "decoder", "masked", "right", "wrong")
SERIES = ("blue", "orange", "green", "purple", "grey")


@cache
def colours(theme="light"):
    """Return the palette of a theme.

    Args:
        theme: "light", on white, or "dark".

    Returns:
        dict from the name of a role or series to its "#rrggbb".
    """
    sheet = re.sub(r"/\*.*?\*/", "", SHEET.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = {}
    for selector, declarations in re.findall(r"([^{}]+)\{([^{}]+)\}", sheet):
        if ("dark" in selector) == (theme == "dark"):
            found |= re.findall(r"--(\w+): (#\w{6});", declarations)
    return {name: found[name] for name in (*ROLES, *SERIES)}
