"""The course's commands: for learners, for those who grade, and for those who change the course."""

import argparse
import os
import sys

from autograder.course import ROOT, CourseError, chapters, require_chapter
from autograder.grading import ctrl_c


def main(arguments=None):
    """Run one command; a mistake that a person can put right is one sentence on stderr and exit
    status 2.
    """
    parser = argparse.ArgumentParser(
        prog="python -m autograder", description=__doc__.splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("release", help="solutions/ -> notebooks/").add_argument(
        "chapters", nargs="*", help="all, if none is named"
    )
    commands.add_parser(
        "work", help="put your own copies of the notebooks into work/, where there is none yet"
    )
    commands.add_parser("grade-work", help="grade the copies in work/").add_argument(
        "chapters", nargs="*", help="all that are there"
    )
    add_export(commands)
    add_grade(commands)
    add_desk(commands)
    add_authoring(commands)
    commands.add_parser("page", help="one page of the book, built alone").add_argument(
        "page", help="ch07, ch07_layers or glossary"
    )
    bench = commands.add_parser("bench", help="what grading costs, ours beside stock nbgrader")
    bench.add_argument(
        "--chapters",
        nargs="*",
        metavar="CHAPTER",
        help="instead of ch04_attention and ch08_encoder_decoder",
    )
    bench.add_argument("--count", type=int, help="submissions that both grade")
    bench.add_argument("--repeats", type=int, help="runs of each")
    bench.add_argument("--growth", type=int, nargs="*", help="class sizes, to see how ours grows")
    demo = commands.add_parser(
        "demo", help="notebooks, book, a sample class graded, a translator trained"
    )
    demo.add_argument(
        "--minutes", type=float, help="end the translator's training then, even if it is not done"
    )
    options = parser.parse_args(arguments)
    try:
        return run(options) or 0
    except CourseError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("autograder: stopped; what is finished is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # who reads on, as in `explain ada | head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def add_authoring(commands):
    """Add the options of `new`, `check` and `proportions`."""
    new = commands.add_parser(
        "new", help="begin an exercise: its stub, its checks, its line in the book"
    )
    new.add_argument("chapter", help="ch06 or ch06_masking")
    new.add_argument("signature", help="prefix_mask, or better 'prefix_mask(seq_len, prefix_len)'")
    new.add_argument("--points", type=float, default=2, help="2, if nothing is said")
    check = commands.add_parser("check", help="all that must stay true of one thing, and only that")
    what = check.add_mutually_exclusive_group(required=True)
    what.add_argument("--exercise", metavar="NAME")
    what.add_argument(
        "--attack", metavar="NAME", help="a file of tests/attacks, without its ending"
    )
    what.add_argument("--page", metavar="PAGE", help="ch07, ch07_layers or glossary")
    commands.add_parser(
        "proportions", help="what share of its points each known wrong answer keeps"
    ).add_argument("chapter", help="ch06 or ch06_masking")


def add_export(commands):
    """Add the options of `export`."""
    export = commands.add_parser(
        "export",
        help="your Transformer as a package: what passes in work/ is yours, the rest the course's",
        description=(
            "Collect what you wrote in work/, where it passes its checks, and the course's"
            " solutions elsewhere, into a package with one module per chapter that can be imported"
            " and trained. It says which is which, and why."
        ),
    )
    export.add_argument(
        "package", help="its name or path: my_transformer makes my_transformer/ in this folder"
    )
    export.add_argument("--force", action="store_true", help="write over an export of that name")
    export.add_argument(
        "--reference",
        action="store_true",
        help="the course's solutions alone, to compare with or to go on without work/",
    )


def add_grade(commands):
    """Add the options of `grade`."""
    grade = commands.add_parser(
        "grade",
        help="grade a class",
        description=(
            "Grade a class. Ended at any moment and run again, it grades what is missing, and"
            " nothing twice."
        ),
    )
    grade.add_argument(
        "folder",
        nargs="?",
        help=(
            "<learner>/<chapter>/<chapter>.ipynb, <learner>.ipynb, or a zip of either, as Canvas"
            " and Moodle give it; submitted/ in the class's folder, if nothing is named"
        ),
    )
    grade.add_argument(
        "--chapter", help="the one to grade; all that were handed in, if none is named"
    )
    grade.add_argument(
        "--into", help="folder for graded notebooks, pages and reports, instead of autograder/"
    )
    grade.add_argument(
        "--gradebook", help="SQLAlchemy URL of the gradebook: sqlite:///... or postgresql://..."
    )
    grade.add_argument(
        "--workers", type=int, help="processes; as many as there are cores, if nothing is said"
    )
    grade.add_argument(
        "--scheduler", help="address of a dask.distributed scheduler whose workers grade: tls://..."
    )
    for name, what in {
        "ca-file": "certificate of who signed the cluster's certificates",
        "cert": "your own certificate",
        "key": "its private key",
    }.items():
        grade.add_argument(
            f"--tls-{name}", metavar="PEM", help=f"with --scheduler: {what}, as for dask's commands"
        )
    grade.add_argument(
        "--unencrypted",
        action="store_true",
        help="with --scheduler: let everybody on the way read the seed and learners' work",
    )
    grade.add_argument(
        "--regrade",
        action="store_true",
        help="grade again with the stored seeds; say what would change",
    )
    grade.add_argument(
        "--keep", action="store_true", help="with --regrade: put the new scores in place of the old"
    )
    grade.add_argument(
        "--unsandboxed",
        action="store_true",
        help="run learners' code as yourself, and mark every score so",
    )


def add_desk(commands):
    """Add the options of what an instructor asks for during a term."""
    explain = commands.add_parser("explain", help="where each of a learner's points comes from")
    explain.add_argument("learner", help="as the folder or the table of scores has the name")
    explain.add_argument("--chapter", help="one; all that were graded, if none is named")
    disputes = commands.add_parser(
        "disputes", help="for each complaint in disputes.csv a page on which to decide"
    )
    defence = commands.add_parser(
        "defence", help="for each learner three questions about their own code, with keys"
    )
    defence.add_argument("chapter")
    assist = commands.add_parser(
        "assist", help="let your own program propose marks for answers in words"
    )
    assist.add_argument("chapter")
    overview = commands.add_parser("overview", help="a class across all its chapters, on one page")
    update = commands.add_parser(
        "update", help="what a new release, or another course.csv, changes for whom"
    )
    update.add_argument("--chapter", help="one; all that were graded, if none is named")
    update.add_argument("--keep", action="store_true", help="change it")
    update.add_argument("--workers", type=int, help="processes, as for `grade`")
    forget = commands.add_parser("forget", help="take away all that there is about a learner")
    forget.add_argument("learner")
    forget.add_argument("--sure", action="store_true", help="do it; nothing brings it back")
    push = commands.add_parser("push", help="send a chapter's marks to Canvas or Moodle")
    push.add_argument("platform", choices=("canvas", "moodle"))
    push.add_argument("--chapter", required=True)
    push.add_argument("--url", required=True, help="of your Canvas or Moodle: https://...")
    push.add_argument("--course", required=True, help="its number, from its address")
    push.add_argument("--assignment", required=True, help="its number, from its address")
    push.add_argument("--send", action="store_true", help="send; otherwise it is only said")
    for each in (explain, disputes, defence, assist, overview, update, forget, push):
        each.add_argument("--into", help="the class's folder, as for `grade`")
        each.add_argument("--gradebook", help="its gradebook, as for `grade`")
    for each in (disputes, defence, update):
        each.add_argument(
            "--unsandboxed", action="store_true", help="run learners' code as yourself"
        )


def run(options):
    """Run the command that was asked for; return its exit status, or None.

    The parts are imported here, so that each command loads what it needs.
    """
    match options.command:
        case "release":
            from autograder.authoring.release import release

            for stem in [require_chapter(stem) for stem in options.chapters] or chapters():
                print(release(stem).relative_to(ROOT))
        case "work":
            from autograder.tools.work import put_copies

            put_copies()
        case "grade-work":
            from autograder.tools.work import grade_work

            grade_work([require_chapter(stem) for stem in options.chapters])
        case "export":
            from autograder.export.package import export

            export(options.package, options.force, options.reference)
        case "grade":
            ctrl_c.listen()
            from autograder.grading.command import grade_or_regrade

            return grade_or_regrade(options)
        case "explain":
            from autograder.desk.explain import explain

            explain(options)
        case "disputes":
            from autograder.desk.disputes import disputes

            return disputes(options)
        case "defence":
            from autograder.desk.defence import defence

            return defence(options)
        case "assist":
            from autograder.desk.assist import assist

            return assist(options)
        case "overview":
            from autograder.desk.overview import overview

            overview(options)
        case "push":
            from autograder.desk.push import push

            return push(options)
        case "update":
            from autograder.desk.update import update

            return update(options)
        case "forget":
            from autograder.desk.forget import forget

            forget(options)
        case "new":
            from autograder.tools.new_exercise import new_exercise

            new_exercise(options.chapter, options.signature, options.points)
        case "check":
            from autograder.tools.check import check_attack, check_exercise, check_page

            if options.exercise:
                return check_exercise(options.exercise)
            return check_attack(options.attack) if options.attack else check_page(options.page)
        case "proportions":
            from autograder.tools.new_exercise import chapter_named
            from autograder.tools.proportions import print_proportions

            print_proportions(chapter_named(options.chapter))
        case "page":
            from autograder.tools.page import build_page

            return build_page(options.page)
        case "bench":
            from autograder.tools.bench import bench

            wanted = {
                "stems": options.chapters and [require_chapter(stem) for stem in options.chapters]
            }
            wanted |= {"count": options.count, "repeats": options.repeats, "growth": options.growth}
            bench(**{name: value for name, value in wanted.items() if value is not None})
        case "demo":
            from autograder.tools.demo import demo

            demo(options.minutes)


if __name__ == "__main__":
    sys.exit(main())
