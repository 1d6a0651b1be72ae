"""What an exercise's function is asked, and what is noted of its answer.

A probe is a small function that observes an implementation: `probe(implementation, inputs) ->
dict[str, value]`. `inputs` maps parameter names to arguments, in the order of the signature. The
same probe observes the learner's function, in the learner's process, and the reference, in the
grader's. It decides nothing; `autograder.shared.judge` compares the two observations. This folder
is all of the checks that a learner's process needs, and it holds no answer.

The inputs of a case may have parts instead: `forward`, the arguments of the call; `changed`,
arguments to replace in a second one; and where the exercise is a class `constructor`, the arguments
that make the module, `weights`, tensors by parameter name that it is given, `train`, whether it is
called in train mode, and `method`, if that is another than `forward`. An observation has a
`result`, or things `noted` by name, or both.
"""

import dis
import linecache
import time
import traceback
import warnings
from types import MappingProxyType

import numpy as np

from autograder.shared.probes.calls import Unfit, complaint_about_signature, live
from autograder.shared.probes.functions import (
    arguments_after,
    at_the_start,
    device_kept,
    extremes,
    gradients,
    moved,
    returned,
    returned_for_generator,
    returned_for_views,
)
from autograder.shared.probes.library_code import LibraryCode, is_notebook_cell
from autograder.shared.probes.stand_ins import table_reader, with_stand_ins
from autograder.shared.probes.training import (
    decoded,
    decoded_without_gradients,
    returned_number,
    searched,
    searched_among_equals,
    updated,
)
from autograder.shared.wire import decode, encode, plain
from autograder.shared.wording import describe

__all__ = [  # what checks, private cases and the grader import from here
    "ANSWER_MIME",
    "PROBES",
    "answer",
    "arguments_after",
    "at_the_start",
    "decoded",
    "decoded_without_gradients",
    "device_kept",
    "extremes",
    "gradients",
    "live",
    "moved",
    "observe",
    "returned",
    "returned_for_generator",
    "returned_for_views",
    "returned_number",
    "searched",
    "searched_among_equals",
    "table_reader",
    "updated",
    "with_stand_ins",
]

ANSWER_MIME = "application/vnd.autograder.answer+json"
MOMENT = 0.05  # seconds
LONGEST_MESSAGE = 500_000  # characters, after which no further answer is added to one
KINDS = (
    returned,
    arguments_after,
    returned_for_generator,
    returned_for_views,
    gradients,
    moved,
    device_kept,
    extremes,
    at_the_start,
    decoded,
    decoded_without_gradients,
    returned_number,
    updated,
    searched,
    searched_among_equals,
)
PROBES = MappingProxyType({probe.__name__: probe for probe in KINDS})


def observe(probe, implementation, inputs, known=PROBES):  # whatever PROBES is later
    """Run a probe and reduce what it notes to data; an exception is noted too.

    Returns:
        dict: the probe's observation, or `{"raised": {...}}` or `{"unfit": ...}`, which tells why
            there is none.
    """
    if not callable(implementation):
        return {"unfit": f"is {describe(implementation)}, not a function"}
    arguments = inputs.get("constructor", inputs.get("forward", inputs))
    complaint = complaint_about_signature(implementation, arguments)
    if complaint:
        return {"unfit": complaint}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return plain(known[probe](implementation, live(inputs)))
    except Unfit as reason:
        return {"unfit": str(reason)}
    except (Exception, SystemExit) as error:
        return {"raised": note_of_exception(error)}


def note_of_exception(error):
    """Return what a learner needs to know of an exception: its type, its message, and where in
    their own code it arose.
    """
    line, source, function = None, "", ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if is_notebook_cell(frame.f_code.co_filename):
            line, source = number, linecache.getline(frame.f_code.co_filename, number).strip()
            function = frame.f_code.co_qualname
    stub = isinstance(error, NotImplementedError) and not str(error)
    try:
        message = str(error)
    except Exception:
        message = ""
    return {
        "type": type(error).__name__[:80],
        "bases": [base.__name__[:80] for base in type(error).__mro__],
        "message": message[:300],
        "line": line,
        "source": source[:120],
        "function": function[:80],
        "stub": stub,
        "deliberate": raised_on_purpose(error),
    }


def raised_on_purpose(error):
    """Return whether an exception came from a `raise` statement, not from an operation that
    failed.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return (
        last is not None
        and dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"
    )


def answer(requests):
    """Answer the grader's requests one after the other, inside the learner's kernel.

    Args:
        requests: (id, exercise, probe, text of the inputs) of each; each observation goes back as a
            line of a display message of type `ANSWER_MIME`, with the same id. A message costs more
            than most answers do, so those of a moment share one. The first observation also tells
            which library functions were `used`.
    """
    from IPython import get_ipython
    from IPython.display import publish_display_data

    ready, since, library = [], time.monotonic(), LibraryCode()
    try:
        for each, exercise, probe, inputs in requests:
            implementation = get_ipython().user_ns.get(exercise, None)
            if implementation is None:
                observation = {"unfit": "is not defined"}
            elif library:
                with library:
                    observation = observe(probe, implementation, decode(inputs))
                observation["used"], library = list(library.names), None
            else:
                observation = observe(probe, implementation, decode(inputs))
            ready.append(encode({"id": each, "observation": observation}))
            if time.monotonic() - since > MOMENT or sum(map(len, ready)) > LONGEST_MESSAGE:
                publish_display_data({ANSWER_MIME: "\n".join(ready)})
                ready, since = [], time.monotonic()
    finally:  # where the grader's patience ends, what is ready goes out
        publish_display_data({ANSWER_MIME: "\n".join(ready)})
