"""Tables that an instructor keeps by hand or in a spreadsheet. What is wrong in one is told with
its line, everything at once, and nothing is done on a guess.
"""

import csv
import difflib
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from autograder.course import CourseError
from autograder.shared.wire import printable

MOST_TOLD = 20  # faults of one table
LONGEST_NUMBER = 40  # characters
NUMBER = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)", re.ASCII)
SEPARATORS = ",;\t"  # a spreadsheet writes what its country separates with


@dataclass
class Table:
    """The rows of a file, and what is found to be wrong with them. Use it in a `with` statement:
    at its end all faults are told.

    Args:
        path: the file.
        columns: names that its first line must have.
        optional: names that it may have besides.
    """

    path: Path
    columns: tuple
    optional: tuple = ()
    faults: list = field(default_factory=list)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None and self.faults:
            told = [f"  line {line}: {text}" for line, text in sorted(self.faults)[:MOST_TOLD]]
            left = len(self.faults) - len(told)
            more = [f"  and {left} more"] if left else []
            raise CourseError(
                "\n".join([f"{self.path} is not clear, so nothing was changed:", *told, *more])
            )

    def fault(self, line, text):
        """Note what is wrong in a line."""
        self.faults.append((line, printable(text)[:300]))

    def rows(self):
        """Yield (line, dict from column to text) of each row that has all its cells; empty ones are
        passed over.

        Raises:
            CourseError: if the file cannot be read as a table with these columns.
        """
        text = self.text()
        heading = text.lstrip().splitlines()[0] if text.strip() else ""
        separator = max(SEPARATORS, key=heading.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        names = None
        try:
            for cells in reader:
                cells = [cell.strip() for cell in cells]
                if names is None:
                    names = self.names_in(cells)
                elif len(cells) > len(names) and any(cells[len(names) :]):
                    self.fault(
                        reader.line_num,
                        f"{len(cells)} cells under {len(names)} columns; what holds a separator"
                        " needs quotation marks",
                    )
                elif any(cells):
                    padded = [*cells, *[""] * (len(names) - len(cells))]
                    yield reader.line_num, dict(zip(names, padded, strict=False))
        except csv.Error as error:
            raise CourseError(f"{self.path}, line {reader.line_num}: {error}") from None
        if names is None:
            self.names_in([])

    def text(self):
        """Return the file's text, whatever mark it begins with.

        Raises:
            CourseError: if it is not UTF-8, with the line.
        """
        content = self.path.read_bytes()
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise CourseError(
                f"{self.path}, line 1: this is UTF-16, as a spreadsheet's “Unicode text” is; save"
                " it as “CSV UTF-8”"
            )
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise CourseError(
                f"{self.path}, line {line}: byte {content[error.start]:#x} is not UTF-8; save the"
                " table as “CSV UTF-8”"
            ) from None

    def names_in(self, cells):
        """Return the columns' names.

        Raises:
            CourseError: if one is missing, there twice, or unknown.
        """
        names = [cell.lower() for cell in cells]
        known = (*self.columns, *self.optional)
        wrong = [f"no column “{name}”" for name in self.columns if name not in names]
        wrong += [f"“{name}” twice" for name in known if names.count(name) > 1]
        wrong += [f"a column “{name}”" for name in names if name not in known]
        if wrong:
            raise CourseError(
                printable(
                    f"{self.path}, line 1: there is {' and '.join(wrong)}; the columns are"
                    f" {', '.join(self.columns)}"
                    + (f", and possibly {', '.join(self.optional)}" if self.optional else "")
                )
            )
        return names


def number_in(text):
    """Return the number of points that a cell names, a plain decimal such as 2.5 or 2,5.

    Raises:
        ValueError: with a sentence, if it names none; `float` takes `1_000`, `1e308` and `nan`.
    """
    if len(text) > LONGEST_NUMBER or not NUMBER.fullmatch(text):
        raise ValueError(f"“{text[:LONGEST_NUMBER]}” is no number of points; write it as in 2.5")
    return float(text.replace(",", ".")) + 0.0  # of -0 and 0, a sum is 0


def closest(name, names):
    """Return “; did you mean ...?” with the most similar of some names, or the first that holds it,
    as “Ada Rossi_101” does “Ada”; or "".
    """
    by_letters = {each.casefold(): each for each in sorted(names)}
    name = name.casefold()
    found = difflib.get_close_matches(name, by_letters, n=1)
    found += [each for each in by_letters if name and name in each]
    return f"; did you mean {by_letters[found[0]]}?" if found else ""
