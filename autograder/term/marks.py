"""Marks that a person gave in formgrader for answers in words, brought into the records, from which
every page and every table is made.
"""

import json

from autograder.whole_files import write_whole


def take_marks(stem, places, scores):
    """Bring the records to what the gradebook says of answers in words, and each member of a group
    to the mark of who handed in for it, without running anybody's code.

    A mark counts when a person has given it for the answer that is there today: for another one
    `scores.unmark` takes it back.

    Args:
        places: where the graded notebooks lie.
        scores: the chapter's Scores.

    Returns:
        list of the learners for whom that changed anything.
    """
    marks, changed = scores.marks(), []
    for learner, own in sorted(marks.items()):
        path = places.graded(learner, stem)
        try:
            notebook = json.loads(path.read_text(encoding="utf-8"))
            record = notebook["metadata"]["autograder"]
            written = record["written"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # the report says of such a file what is wrong with it
        group = record.get("group")
        if group and group["handed_in_by"] in marks:
            theirs = marks[group["handed_in_by"]]
            if theirs != own:
                scores.mark(learner, theirs)
                own = theirs
        told = {name: {**each, **told_of(each, own.get(name))} for name, each in written.items()}
        if told == written:
            continue
        record["written"] = told
        places.feedback(learner, stem).unlink(missing_ok=True)  # a page is there when all is
        write_whole(path, json.dumps(notebook, ensure_ascii=False, separators=(",", ":")))
        changed.append(learner)
    return changed


def told_of(answer, mark):
    """Return what a record says of the mark of an answer.

    Args:
        answer: what it says of the answer.
        mark: (score or None, comment, points), as the gradebook has it; None where it has none.
    """
    score, comment, points = mark or (None, "", answer["points"])
    if score is None and answer["blank"]:
        score = 0.0
    return {"score": score, "comment": comment, "points": points}
