"""`python -m autograder defence chNN`: for each learner three questions about their own code, with
keys that come from running it, changed, in the sandbox. Who wrote the code answers them in minutes.
"""

import csv
import io
import random
import sys
from dataclasses import asdict

from autograder.authoring.loading import questions_of
from autograder.authoring.released import carries_points, solutions_in, stubs
from autograder.boundary.kernel import LearnerKernel
from autograder.boundary.sandbox import boundary, end_boundary
from autograder.course import CourseError, require_chapter
from autograder.desk.questions import Trial, what_is_there, what_then, which_line
from autograder.grading.command import places_from
from autograder.grading.grade import Limits
from autograder.grading.places import seed_of
from autograder.reporting.csv_files import FORMULA_IN_CODE, harmless
from autograder.reporting.learner_page import environment
from autograder.reporting.record import read_graded
from autograder.shared.wire import printable
from autograder.whole_files import write_whole

QUESTIONS = 3
SECONDS = 20.0  # for all that is tried with one learner's code


def defence(options):
    """Write the sheets of a chapter: `sheets.html` for the learners, `keys.html` and
    `questions.csv` for whoever asks.

    Returns:
        int: exit status, 1 where somebody's questions could not be made.

    Raises:
        CourseError: if nothing has been graded.
    """
    stem, places = require_chapter(options.chapter), places_from(options)
    seed = seed_of(stem, "defence", places.key)
    sheets, failed = {}, 0
    try:
        for learner, notebook in read_graded(stem, places.folder / "autograded"):
            sheets[learner] = []
            if notebook["metadata"]["autograder"].get("problem"):
                continue
            try:
                sheets[learner] = sheet_of(learner, notebook, stem, seed, options.unsandboxed)
            except CourseError:
                raise
            except Exception as error:  # whatever a learner's code brings about is theirs alone
                failed += 1
                told = f"{learner}: no questions; to make them stopped with {error!r}"
                print(printable(told[:300]), file=sys.stderr)
    finally:
        end_boundary(stem, options.unsandboxed)
    if not sheets:
        raise CourseError(f"nothing has been graded in {places.folder}; grade {stem} first")
    folder = places.folder / "defence" / stem
    folder.mkdir(parents=True, exist_ok=True)
    template = environment().get_template("defence.html.j2")
    for name, with_keys in {"sheets": False, "keys": True}.items():
        page = template.render(stem=stem, sheets=sheets, with_keys=with_keys)
        write_whole(folder / f"{name}.html", page)
    write_whole(folder / "questions.csv", as_csv(sheets))
    few = [learner for learner, sheet in sheets.items() if len(sheet) < QUESTIONS]
    print(printable(f"{stem}: questions for {len(sheets)} in {folder}"))
    if few:
        print(
            printable(
                f"fewer than {QUESTIONS}, because there is too little code that runs: "
                f"{', '.join(few)}"
            )
        )
    return int(failed > 0)


def as_csv(sheets):
    """Return all questions with their keys as a table."""
    file = io.StringIO()
    columns = ("exercise", "call", "before", "text", "key", "arguments", "listing")
    writer = csv.writer(file)
    writer.writerow(["learner", "number", *columns])
    for learner, sheet in sheets.items():
        for number, question in enumerate(sheet, 1):
            told = asdict(question)
            cells = [learner, str(number), *(told[name] for name in columns)]
            writer.writerow([harmless(printable(cell), FORMULA_IN_CODE) for cell in cells])
    return "\ufeff" + file.getvalue()


def sheet_of(learner, notebook, stem, seed, unsandboxed=False):
    """Return a learner's questions, list of at most three; of each kind one where that is possible,
    and each about another exercise where that is.
    """
    rng = random.Random(f"{seed.hex()} {learner}")
    limits = Limits()
    sources = {
        name: source
        for name, source in solutions_in(notebook).items()
        if source != stubs(stem).get(name)
    }
    names = list(sources)
    rng.shuffle(names)
    kinds = [which_line, what_then, what_is_there]
    rng.shuffle(kinds)
    prepared = questions_of(stem, seed)
    sheet, used = [], set()
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with LearnerKernel(boundary(stem, unsandboxed), SECONDS) as kernel:
        for cell in cells:
            if not carries_points(cell):
                kernel.run(cell["source"], limits.cell)
        trials = {name: Trial(kernel, name, sources[name], limits) for name in names}
        names = [each for each in names if trials[each].find_case(prepared["check", each].cases)]
        for kind in [*kinds, *kinds]:  # where a kind is not to be had, another is asked twice
            for name in sorted(names, key=lambda each: each in used):
                if len(sheet) == QUESTIONS or not kernel.remaining():
                    break
                question = kind(trials[name], rng)
                trials[name].restore()
                told = {(each.exercise, each.text) for each in sheet}
                nothing = question and question.same and any(each.same for each in sheet)
                if question and not nothing and (name, question.text) not in told:
                    sheet.append(question)
                    used.add(name)
                    break
    return sheet
