"""Learners who hand in together: one notebook, and the same mark for each of them.

`groups.csv` lies in the class's folder, beside its gradebook:

    group,learner
    A,ada
    A,bob

With a column `chapter`, a row holds for that chapter alone, and there it replaces what holds for
its learner elsewhere.
"""

import copy
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import nbformat

from autograder.course import CourseError, chapters
from autograder.term.names import why_no_name
from autograder.term.roster import unknown
from autograder.term.tables import Table, closest
from autograder.whole_files import write_whole

FILE = "groups.csv"
NUMBER = re.compile(r"_(\d+)$")  # a learning platform's own, at the end of a learner's name


@dataclass(frozen=True)
class Groups:
    """Who hands in with whom.

    Args:
        of_learner: (chapter, learner) -> group; the chapter is "" where it holds for all.
        lines: (chapter, learner) -> line of the table.
    """

    of_learner: dict = field(default_factory=dict)
    lines: dict = field(default_factory=dict)

    def require(self, folder, known):
        """Raise a CourseError if somebody is in a group whom nobody knows.

        Args:
            folder: the class's.
            known: called, gives the names that are known.
        """
        with Table(folder / FILE, ()) as table:
            for (_, learner), line in self.lines.items():
                if wrong := unknown(learner, known()):
                    table.fault(line, wrong)

    def of(self, stem):
        """Return the members of each group in a chapter, in the order of the table."""
        members = defaultdict(list)
        for (chapter, learner), group in self.of_learner.items():
            if chapter == stem or (not chapter and (stem, learner) not in self.of_learner):
                members[group].append(learner)
        return dict(members)

    def joined(self, found):
        """Return what was handed in, each group's by one of its members, as whom it may be handed
        in under the group's name.

        Args:
            found: list of HandedIn.

        Raises:
            CourseError: if a group has handed in more than one notebook to a chapter.
        """
        joined, handed_in, faults = [], defaultdict(list), []
        members = {stem: self.of(stem) for stem in {each.stem for each in found}}
        for each in found:
            group = self.group_of(each, members[each.stem])
            if group is None:
                joined.append(each)
                continue
            handed_in[each.stem, group].append(each.learner)
            member = each.learner in members[each.stem][group]
            joined.append(each if member else replace(each, learner=members[each.stem][group][0]))
        for (stem, group), who in handed_in.items():
            if len(who) > 1:
                faults.append(
                    f"  {' and '.join(who)} have each handed in {stem} for the group “{group}”"
                )
        if faults:
            raise CourseError(
                "\n".join(
                    [
                        "a group hands in one notebook, so nothing was graded:",
                        *faults,
                        f"Take away all but one, or take who works alone out of {FILE}.",
                    ]
                )
            )
        return joined

    def group_of(self, handed_in, members):
        """Return the group for which a notebook was handed in, or None.

        Args:
            members: of each group in its chapter.
        """
        own = self.of_learner.get((handed_in.stem, handed_in.learner))
        own = own or self.of_learner.get(("", handed_in.learner))
        if own:
            return own
        return handed_in.learner if handed_in.learner in members else None

    def share(self, stem, places, scores, remark):
        """Give each group's mark to all of its members.

        Args:
            places: where the graded notebooks lie.
            scores: the chapter's Scores.
            remark: called with a sentence about a group that has more than one.

        Returns:
            list of the learners who have got another mark by it, or a first one.
        """
        times = scores.times()
        changed = self.part(stem, places, scores, times, remark)
        for group, members in self.of(stem).items():
            graded = {each: read(places.graded(each, stem)) for each in members}
            graded = {each: notebook for each, notebook in graded.items() if notebook}
            own = [each for each in graded if by_whom(graded[each]) in (None, each)]
            if len(own) > 1:
                remark(
                    f"{' and '.join(own)} of the group “{group}” each have a mark of their own in"
                    f" {stem}, and nobody's was replaced: remove"
                    f" {' or '.join(str(places.graded(each, stem).parent) for each in own)}, and"
                    " grade again"
                )
            if len(own) != 1:
                continue
            for each in members:
                shared = shared_with(each, graded, own[0], group)
                if each != own[0] and each in times:
                    scores.set_time(each, times[own[0]])
                if shared == graded.get(each):
                    continue
                places.feedback(each, stem).unlink(missing_ok=True)
                text = json.dumps(shared, ensure_ascii=False, separators=(",", ":"))
                write_whole(places.graded(each, stem), text)
                scores.store(each, nbformat.from_dict(shared), times[own[0]])
                changed.append(each)
        return changed

    def part(self, stem, places, scores, times, remark):
        """Take back the mark of those who got it from a group that they have left; who handed in
        keeps it, without the group.

        Args:
            times: of all who have a mark.

        Returns:
            list of the learners who keep it.
        """
        members = {each: group for group, whole in self.of(stem).items() for each in whole}
        changed = []
        for learner in sorted(times):
            path = places.graded(learner, stem)
            notebook = read(path, '"group"')
            source = notebook and by_whom(notebook)
            if source is None:
                continue
            record, own = notebook["metadata"]["autograder"], members.get(learner)
            group = record["group"]["name"]
            if own == (group if source == learner else members.get(source, "")):
                continue
            places.feedback(learner, stem).unlink(missing_ok=True)
            if source == learner:
                del record["group"]
                write_whole(path, json.dumps(notebook, ensure_ascii=False, separators=(",", ":")))
                changed.append(learner)
                continue
            path.unlink()
            scores.take_away(learner)
            remark(f"“{learner}” has left the group “{group}”, and has no mark in {stem} any more")
        return changed


def read(path, mention=""):
    """Return a graded notebook as a dict, or None where there is none that can be read.

    Args:
        mention: text without which it is not asked for; to look for it is quicker than to parse.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if mention not in text:
            return None
        notebook = json.loads(text)
        notebook["metadata"]["autograder"]["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return notebook


def by_whom(notebook):
    """Return who handed in a graded notebook for a group, or None."""
    group = notebook["metadata"]["autograder"].get("group")
    return group["handed_in_by"] if group else None


def shared_with(learner, graded, source, group):
    """Return the graded notebook that a member of a group gets.

    Args:
        graded: the members' graded notebooks, as far as there are any.
        source: the member who handed in.
    """
    shared = copy.deepcopy(graded[source])
    record = shared["metadata"]["autograder"]
    record["group"] = {"name": group, "handed_in_by": source}
    if learner != source:
        platform, number = record.pop("known_as", "").split(" ")[0], NUMBER.search(learner)
        if platform and number:  # as in “Ada Rossi_101”; the number of who handed in is another
            record["known_as"] = f"{platform} {number[1]}"
        record.pop("late", None)
        before = graded.get(learner, {}).get("metadata", {}).get("autograder", {})
        if "late" in before:  # a deadline may be another for each
            record["late"] = before["late"]
    return shared


def read_groups(folder):
    """Return the Groups in a class's folder; there may be none.

    Raises:
        CourseError: if the table is not clear; the message names each line.
    """
    path = folder / FILE
    found = Groups()
    if not path.exists():
        return found
    with Table(path, ("group", "learner"), optional=("chapter",)) as table:
        lines = found.lines
        for line, row in table.rows():
            stem, group, learner = row.get("chapter", ""), row["group"], row["learner"]
            if stem and stem not in chapters():
                table.fault(line, f"there is no chapter “{stem}”{closest(stem, chapters())}")
            elif not group or not learner:
                table.fault(line, "a row has a group and a learner")
            elif wrong := why_no_name(learner):
                table.fault(line, wrong)
            elif first := lines.get((stem, learner)):
                other = found.of_learner[stem, learner]
                where = "there twice" if other == group else f"in the group “{other}” too"
                table.fault(line, f"“{learner}” is {where}, by line {first}; one row must go")
            else:
                lines[stem, learner] = line
                found.of_learner[stem, learner] = group
        sizes = Counter((stem, group) for (stem, _), group in found.of_learner.items())
        for (stem, learner), line in lines.items():
            group = found.of_learner[stem, learner]
            if learner in found.of_learner.values():
                table.fault(line, f"“{learner}” is a group and a learner; call one differently")
            elif sizes[stem, group] == 1:
                table.fault(line, f"the group “{group}” has one member; is a name misspelt?")
    return found
