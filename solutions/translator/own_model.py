"""A learner's own Transformer, imported from their package or module, and the copy that a run
keeps.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

PACKAGE, MODULE = "model", "model.py"  # the copy in a run's folder
NAME = "own_model"  # under which it is imported


def own_module(path):
    """Import a learner's package or module.

    Args:
        path: of a folder with an `__init__.py`, or of a Python file.

    Returns:
        the module, imported anew.

    Raises:
        ValueError: if there is neither.
    """
    path = Path(path)
    file = path / "__init__.py" if path.is_dir() else path
    spec = importlib.util.spec_from_file_location(NAME, file)
    if spec is None or not file.exists():
        raise ValueError(
            f"there is no Python package or file {path};"
            " `python -m autograder export my_transformer` makes one"
        )
    for old in [each for each in sys.modules if each.partition(".")[0] == NAME]:
        del sys.modules[old]  # or another package's chapters would be taken for this one's
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keep_own_model(path, folder):
    """Copy a learner's package or module into the folder of a run, instead of an older copy."""
    path = Path(path)
    copies = {folder / MODULE: path}
    if path.is_dir():
        sources = path.rglob("*.py")
        copies = {folder / PACKAGE / each.relative_to(path): each for each in sources}
    texts = {copy: source.read_bytes() for copy, source in copies.items()}
    shutil.rmtree(folder / PACKAGE, ignore_errors=True)  # only now: it may be the source
    (folder / MODULE).unlink(missing_ok=True)
    for copy, text in texts.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(text)


def kept_own_model(folder):
    """Return the path of the copy that a run keeps."""
    return folder / PACKAGE if (folder / PACKAGE).is_dir() else folder / MODULE
