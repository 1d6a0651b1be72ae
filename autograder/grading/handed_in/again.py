"""What was handed in again, or before: told by what there is of it in the graded notebook."""

import json

import nbformat

from autograder.authoring.released import graded_cells, released, written_in
from autograder.whole_files import write_whole


def graded_before(path, stem, submission):
    """Return the graded notebook of just this submission, if there is one that has today's
    cells.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        record = notebook.metadata["autograder"]
        same = (record["notebook"], record["problem"]) == (submission.sha256, submission.problem)
        today = {cell.metadata.nbgrader.grade_id for cell in graded_cells(released(stem))}
        same = same and {cell["cell"] for cell in record["cells"]} == today
        same = same and record.get("written", {}).keys() == written_in(released(stem)).keys()
        return notebook if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_older(handed_in, submission, path, times):
    """Return whether what has been graded of a learner is another file, and was handed in later.

    Args:
        path: of their graded notebook.
        times: called, gives when each learner handed in what has been graded.
    """
    record = record_in(path)
    if record.get("notebook") in (None, submission.sha256):
        return False
    before, now = record.get("file_time", ""), submission.file_time
    if before and before[:4] == now[:4]:  # by one clock, of which a deadline may believe neither
        return now < before
    if handed_in.timestamp is None:
        return False
    graded = times().get(handed_in.learner)
    return graded is not None and handed_in.timestamp < graded


def tell_time(path, before, submission):
    """Let the record of a graded notebook say what time the file has from which it is known today:
    the same file may have come with a timestamp since, or without.

    Args:
        before: the notebook, as `graded_before` returns it.
    """
    if before.metadata["autograder"].get("file_time", "") != submission.file_time:
        before.metadata["autograder"]["file_time"] = submission.file_time
        write_whole(path, json.dumps(before, ensure_ascii=False, separators=(",", ":")))


def record_in(path):
    """Return the record of a graded notebook; {} where there is none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["metadata"]["autograder"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
