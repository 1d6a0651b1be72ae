"""What a learner's name may be, whoever writes it: a table, a command, or what was handed in.

Results lie in folders that are called after learners, so a name is that of a single folder.
"""

LONGEST_FOLDER = 255  # bytes of a folder's name, on the file systems of Linux
MOST_SHOWN = 40  # characters of one that is too long


def why_no_name(learner):
    """Return a sentence that says why no learner can be called so, or "" where one can be."""
    if not learner:
        return "“learner” is empty: what is their folder or file called?"
    if "\0" in learner:
        return f"“{learner}” holds a NUL, a character that no file's name has; type it again"
    if len(learner.encode(errors="replace")) > LONGEST_FOLDER:
        return (
            f"“{learner[:MOST_SHOWN]}…” is longer than {LONGEST_FOLDER} bytes, and no folder's"
            " name is; the table of scores has their shorter one"
        )
    if "/" in learner or learner in (".", ".."):
        return (
            f"“{learner}” leads to another folder; a learner is called what their own folder or"
            " file is called"
        )
    return ""
