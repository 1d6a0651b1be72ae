"""The instructor's page about one chapter: what is counted and measured here,
`templates/report.html.j2` lays out.
"""

import base64
import hashlib
import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from statistics import mean, quantiles

from markupsafe import Markup, escape

from autograder.authoring.released import title_of
from autograder.reporting.csv_files import no_formula
from autograder.reporting.flags import KINDS
from autograder.reporting.learner_page import environment
from autograder.shared.wire import unmasked

MOST_BARS = 20
PLOT_HEIGHT = 180  # pixels of the distribution's plot, its labels apart
SPARK_BARS, SPARK_HEIGHT = 10, 28
# Remarks of one kind: a longer list is read by nobody, and the table of learners has them all.
MOST_LISTED = 300
MOST_BELIEFS, MOST_CASES, MOST_EXAMPLES = 6, 5, 3
SHORT = {  # kind of remark -> its word in the table
    "unreadable": "not read",
    "beyond": "not looked at",
    "library": "library",
    "looks": "looks",
    "same": "same",
    "reference": "published",
    "characters": "characters",
    "stopped": "stopped",
    "slow": "slow",
    "handed in": "note",
    "waits": "waits",
    "disputed": "disputed",
    "unsandboxed": "no sandbox",
}


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram; x and width in percent, y and height in pixels from the top."""

    x: float
    width: float
    y: float
    height: float
    count: int
    label: str


def report_page(stem, results, exercises, links, absent=()):
    """Return the page as HTML, in which whatever a learner wrote, their name included, is text.

    Args:
        stem: the chapter.
        results: list of `autograder.reporting.results.Result`, in the order in which they are
            listed.
        exercises: exercise -> points, in the notebook's order.
        links: called with a learner's name, gives the addresses of their feedback page and of their
            graded notebook.
        absent: the names of those who have handed in nothing.
    """
    totals, points = [result.total for result in results], sum(exercises.values())
    bare = sum(result.sandbox == "none" for result in results)
    # "" where nothing of a notebook was run
    everywhere = bare > 0 and all(result.sandbox in ("none", "") for result in results)
    read = [result for result in results if not result.unread]
    return page_template().render(
        stem=stem,
        title=title_of(stem),
        newest=max((result.graded for result in results), default="")[:16].replace("T", " "),
        results=results,
        absent=absent,
        bare=bare,
        everywhere=everywhere,
        points=points,
        summary=summary_of(totals, points, len(results) - len(read)),
        bars=histogram(totals, points),
        ticks=ticks_of(totals, points),
        plot_height=PLOT_HEIGHT,
        spark_height=SPARK_HEIGHT,
        exercises=[about_exercise(name, most, read) for name, most in exercises.items()],
        columns=exercises,
        kinds=remarks_by_kind(results, everywhere),
        most_listed=MOST_LISTED,
        most_beliefs=MOST_BELIEFS,
        words=[
            SHORT[kind]
            for kind in KINDS
            if any(flag.kind == kind for result in results for flag in result.flags)
        ],
        rows=rows_of(results, exercises, links, everywhere),
        link=cache(links),
    )


@cache
def page_template():
    """Return the compiled template, with what it needs to name its own style and script in its
    security policy.
    """
    made = environment().overlay()
    made.filters["sha256"] = lambda text: base64.b64encode(
        hashlib.sha256(str(text).encode()).digest()
    ).decode()
    made.filters["no_formula"] = no_formula
    made.filters["percent"] = lambda share: f"{share:.0%}"
    made.filters["score"] = lambda value: f"{round(value, 2):g}"
    made.filters["breakable"] = lambda name: Markup("_<wbr>").join(
        escape(part) for part in name.split("_")
    )
    return made.get_template("report.html.j2")


def summary_of(totals, points, unread):
    """Return (label, value, what it means) of the class's numbers."""
    if not totals:
        return []
    low, middle, high = (
        quantiles(totals, n=4, method="inclusive") if len(totals) > 1 else totals * 3
    )
    full, none = sum(total >= points for total in totals), sum(total == 0 for total in totals)
    return [
        ("median", f"{round(middle, 2):g}", f"of {points:g} points"),
        (
            "middle half",
            f"{round(low, 2):g} to {round(high, 2):g}",
            "from the first to the third quartile",
        ),
        ("mean", f"{round(mean(totals), 2):g}", f"{mean(totals) / points:.0%} of the points"),
        ("full marks", f"{full:,}", f"{full / len(totals):.0%} of the class"),
        (
            "zero",
            f"{none:,}",
            (
                f"{unread:,} of them could not be read"
                if unread
                else f"{none / len(totals):.0%} of the class"
            ),
        ),
    ]


def counts_of(values, most, bars):
    """Count values in equal steps from 0 up to `most`, which has a bar of its own: full marks are
    not almost full marks.
    """
    counts = [0] * (bars + 1)
    for value in values:
        counts[bars if value >= most else int(value / most * bars + 1e-9)] += 1
    return counts


def histogram(totals, points):
    """Return the bars of the distribution of scores."""
    step = max(1, math.ceil(points / MOST_BARS))
    steps = math.ceil(points / step)
    counts = [0] * (steps + 1)
    for total in totals:
        counts[steps if total >= points else int(total / step + 1e-9)] += 1
    highest, width = top_of(counts), 100 / len(counts)
    return [
        Bar(
            x=round(index * width + 0.1 * width, 2),
            width=round(0.8 * width, 2),
            y=round(PLOT_HEIGHT * (1 - count / highest), 1),
            height=round(PLOT_HEIGHT * count / highest, 1),
            count=count,
            label=f"{points if index == steps else index * step:g}",
        )
        for index, count in enumerate(counts)
    ]


def ticks_of(totals, points):
    """Return (y in pixels, number of learners) for the lines behind the distribution."""
    highest = top_of([bar.count for bar in histogram(totals, points)]) if totals else 1
    step = next(step for step in nice_steps() if highest / step <= 5)
    return [(round(PLOT_HEIGHT * (1 - at / highest), 1), at) for at in range(0, highest + 1, step)]


def nice_steps():
    """Yield 1, 2, 5, 10, 20, 50, ..."""
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def top_of(counts):
    """Return the number at which an axis ends: a round one, with room for the highest bar's
    label.
    """
    highest = max(counts, default=0) or 1
    step = next(step for step in nice_steps() if highest / step <= 4.6)
    return step * math.ceil(highest / step)


def about_exercise(name, points, results):
    """Return what the class did in one exercise.

    Args:
        results: of those whose notebook could be read.
    """
    written = [result for result in results if name not in result.untouched]
    shares = [result.scores.get(name, 0) / points for result in results]
    counts = counts_of(shares, 1, SPARK_BARS)
    beliefs, missed = {}, Counter()
    for result in written:
        for belief in result.beliefs.get(name, ()):
            beliefs.setdefault(belief, []).append(result.learner)
        missed.update(result.missed.get(name, ()))
    answered = sum(name in result.missed for result in written)
    return {
        "name": name,
        "points": points,
        "mean": mean(shares) if shares else 0,
        "full": sum(share >= 1 for share in shares),
        "untouched": len(results) - len(written),
        "undefined": sum(name in result.undefined for result in written),
        "answered": answered,
        "spark": [
            (
                i * 100 / len(counts),
                round(max(1.5 * (n > 0), SPARK_HEIGHT * n / max(1, *counts)), 1),
                n,
            )
            for i, n in enumerate(counts)
        ],
        "beliefs": [
            (belief, len(who), len(who) / len(written), who[:MOST_EXAMPLES])
            for belief, who in sorted(beliefs.items(), key=lambda item: (-len(item[1]), item[0]))
        ],
        "cases": [
            (title, hidden, n, n / answered)
            for (title, hidden), n in missed.most_common(MOST_CASES)
        ],
    }


def remarks_by_kind(results, everywhere):
    """Return the remarks for human eyes, kind by kind, those about a group once.

    Args:
        everywhere: whether nobody was graded in a sandbox; then the page says so above, and lists
            nobody.
    """
    by_kind = {kind: {} for kind in KINDS}
    for result in results:
        for flag in result.flags:
            if flag.group and flag.group[0] != result.learner:
                continue
            by_kind[flag.kind].setdefault((flag.group or (result.learner,), flag), None)
    kinds = []
    for kind, found in by_kind.items():
        if not found or (kind == "unsandboxed" and everywhere):
            continue
        heading, meaning = KINDS[kind]
        learners = {learner for group, _ in found for learner in group}
        listed = [(group[:40], len(group), flag) for group, flag in list(found)[:MOST_LISTED]]
        kinds.append(
            {
                "name": kind.replace(" ", "-"),
                "heading": heading,
                "meaning": meaning,
                "learners": len(learners),
                "listed": listed,
                "placed": any(flag.line or flag.exercise for _, _, flag in listed),
                "left_out": len(found) - len(listed),
            }
        )
    return kinds


def rows_of(results, exercises, links, everywhere):
    """Yield the rows of the table of learners."""
    for result in results:
        kinds = dict.fromkeys(flag.kind for flag in result.flags)
        if everywhere:
            kinds.pop("unsandboxed", None)
        yield {
            "learner": unmasked(result.learner),
            "links": links(result.learner),
            "scores": [
                (f"{score:g}", "f" if score >= points else "z" if score == 0 else "")
                for name, points in exercises.items()
                for score in [result.scores.get(name, 0)]
            ],
            "total": f"{result.total:g}",
            "group": unmasked(result.group[0]) if result.group else "",
            "late": f"{result.late.by} late, −{result.penalty:g}" if result.penalty else "",
            "kinds": [(kind.replace(" ", "-"), SHORT[kind]) for kind in kinds],
        }
