"""What was handed in and is not graded, or graded on a guess: said with each file's name."""

import difflib
from collections import defaultdict

from autograder.course import chapters
from autograder.grading.handed_in.files import is_a_programs, is_notebook
from autograder.grading.handed_in.whose import by_platform, is_doubtful, learner_and_chapter
from autograder.shared.wire import printable

MOST_NAMED = 10  # files in one remark
# What somebody may have handed in instead of a notebook; other files lie about for other reasons.
ANSWERS = {".py", ".pdf", ".html", ".json", ".doc", ".docx", ".odt", ".zip"}
ALIKE = 0.75  # of 1; what is that much like a chapter's name is a misspelt one


def first_of(names):
    """Write the first of some names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{printable(', '.join(names[:MOST_NAMED]))}{more}"


def meant_by(name):
    """Return the chapter that a name nearly is, or begins; or None."""
    stems, name = chapters(), name.lower()
    begun = [stem for stem in stems if name.startswith("ch") and stem.startswith(f"{name}_")]
    found = begun + difflib.get_close_matches(name, stems, n=1, cutoff=ALIKE)
    return found[0] if found and name not in stems else None


def with_meant(path):
    """Write a path and, where one of its folders nearly is a chapter, which one that is."""
    for folder in path.parts[:-1]:
        if stem := meant_by(folder):
            return f"{path} (did you mean {stem}?)"
    return str(path)


def remark_on_rest(newer, elsewhere, remark):
    """Say which notebooks lie beside those of the arrangement `<learner>/<chapter>/`.

    Args:
        newer: paths of those that lie beside one that counts, and are newer.
        elsewhere: paths of those that are in no folder where one is looked for.
    """
    if elsewhere:
        named = first_of([with_meant(each) for each in sorted(elsewhere)])
        remark(
            "not graded, because beside folders <learner>/<chapter>/ nothing else is looked at:"
            f" {named}; rename their folders, or grade them from a folder of their own"
        )
    if newer:
        named = first_of([str(each) for each in sorted(newer)])
        remark(
            "not graded, although they are no older than the <chapter>.ipynb beside them, which"
            f" counts: {named}; give the one that should count this name"
        )


def without_doubtful(candidates, remark):
    """Leave out the files whose names two learners can have given, and say which they are."""
    doubtful = [each for each in candidates if is_doubtful(each.path)]
    if doubtful:
        remark(
            "not graded, because what Moodle adds is in their names twice, so that two learners can"
            f" be meant: {first_of([str(each.path) for each in doubtful])}; ask them, and call each"
            " file <learner>.ipynb"
        )
    return [each for each in candidates if each not in doubtful]


def without_nobodys(told, remark):
    """Leave out the files that are called after a chapter and nobody, and say which they are.

    Args:
        told: what is Told of each candidate.
    """
    nobodys = [
        each for each in told if told[each].learner in chapters() or meant_by(told[each].learner)
    ]
    if nobodys:
        remark(
            "not graded, because their names do not say whose they are:"
            f" {first_of([with_meant(each.path) for each in nobodys])}; call them <learner>.ipynb"
        )
    return {each: what for each, what in told.items() if each not in nobodys}


def without_those_of_two(told, guess, sure, remark):
    """Leave out the files in several folders that tell the same learner, where neither a folder nor
    a learning platform says whose they are: they may be two learners'. Say which they are.

    Args:
        told: what is Told of each candidate.
        guess: the chapter of a file that tells none.
        sure: the paths of the files that lie in a folder of their learner's.
    """
    of_one = defaultdict(list)
    for each, what in told.items():
        of_one[what.owner(guess)].append(each)
    unsure = [
        each
        for files in of_one.values()
        if len({each.path.parent for each in files}) > 1
        for each in files
        if each.path not in sure and not by_platform(each.path)[0]
    ]
    if unsure:
        remark(
            "not graded, because files of the same name in other folders may be somebody else's:"
            f" {first_of(sorted(str(each.path) for each in unsure))}; put each into"
            " <learner>/<chapter>/<chapter>.ipynb"
        )
    return {each: what for each, what in told.items() if each not in unsure}


def remark_on_others(told, stem, remark):
    """Say which files are passed over although their paths do not say why."""
    others = [
        f"{candidate.path} ({each.stem})"
        for candidate, each in told.items()
        if each.stem not in (None, stem) and each.by_path in (None, stem)
    ]
    if others:
        remark(
            f"not graded, because they hold the exercises of other chapters than {stem}:"
            f" {first_of(others)}"
        )


def remark_on_guesses(told, guess, remark):
    """Say which files do not tell their chapter, and for whose and which one they are taken."""
    guesses = [
        f"{candidate.path} (for {guess} of {each.learner})"
        for candidate, each in told.items()
        if each.stem is None
    ]
    if guesses:
        remark(
            "taken on a guess, because they cannot be read or hold no exercises:"
            f" {first_of(guesses)}"
        )


def remark_on_no_notebooks(paths, learners, remark):
    """Say which files came from learners who handed in no notebook.

    Args:
        learners: who have a folder of a chapter's, which is a submission, whatever is in it.
    """
    stems, others, with_notebook = chapters(), {}, set(learners)
    for path in paths:
        platform, match = by_platform(path)
        if is_a_programs(path) or not path.suffix:
            continue
        who = match["id"] if platform else next(filter(learners.__contains__, path.parts), None)
        who = who or learner_and_chapter(path, stems)[0]
        if is_notebook(path):
            with_notebook.add(who)
        elif platform or path.suffix.lower() in ANSWERS or ".ipynb" in path.name:
            others.setdefault((who, "" if platform else path.parent), path)
    left = sorted(str(path) for (who, _), path in others.items() if who not in with_notebook)
    if left:
        remark(f"not graded, because they are no notebooks: {first_of(left)}")
