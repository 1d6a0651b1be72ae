"""The course's commands: `python -m autograder release | work | grade-work | demo`."""

import argparse
import sys

from autograder.course import ROOT, CourseError, chapters, require_chapter


def main(arguments=None):
    """Run one command; a mistake that a person can put right is one sentence on stderr and exit status 2."""
    parser = argparse.ArgumentParser(prog="python -m autograder", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("release", help="solutions/ -> notebooks/").add_argument(
        "chapters", nargs="*", help="all, if none is named"
    )
    commands.add_parser("work", help="put your own copies of the notebooks into work/, where there is none yet")
    commands.add_parser("grade-work", help="grade the copies in work/").add_argument(
        "chapters", nargs="*", help="all that are there"
    )
    commands.add_parser("demo", help="notebooks, book, and a sample class graded")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except CourseError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 2
    return 0


def run(options):
    """Run the command that was asked for. The parts are imported here, so that each command loads what it needs."""
    match options.command:
        case "release":
            from autograder.release import release

            for stem in [require_chapter(stem) for stem in options.chapters] or chapters():
                print(release(stem).relative_to(ROOT))
        case "work":
            from autograder.work import copy_missing

            copy_missing()
        case "grade-work":
            from autograder.work import grade_work

            grade_work([require_chapter(stem) for stem in options.chapters])
        case "demo":
            from autograder.demo import demo

            demo()


if __name__ == "__main__":
    sys.exit(main())
