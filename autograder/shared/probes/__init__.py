"""What an exercise's function is asked, and what is noted of its answer.

A probe is a small function that observes an implementation: `probe(implementation, inputs) ->
dict[str, value]`. `inputs` maps parameter names to arguments, in the order of the signature. The
same probe observes the learner's function, in the learner's process, and the reference, in the
grader's. It decides nothing; `autograder.shared.judge` compares the two observations. This folder
is all of the checks that a learner's process needs, and it holds no answer.

The inputs of a case may have parts instead: `forward`, the arguments of the call; `changed`,
arguments to replace in a second one; `left_out`, the usual values of those that a call
leaves out; and where the exercise is a class `constructor`, the arguments that make the module,
`weights`, tensors by parameter name that it is given, `train`, whether it is called in train mode,
and `method`, if that is another than `forward`. An observation has a `result`, or things `noted` by
name, or both.
"""

import builtins
import contextlib
import difflib
import dis
import linecache
import sys
import traceback
import warnings
from types import MappingProxyType

import numpy as np

from autograder.shared.probes.attention import (
    attended_in_chunks,
    continued_again,
    gradients_through_cache,
    merged_in_turn,
    returned_in_little_memory,
    returned_in_tiles,
    returned_with_cache,
)
from autograder.shared.probes.calls import Unfit, complaint_about_signature, live
from autograder.shared.probes.frozen import freeze
from autograder.shared.probes.functions import (
    arguments_after,
    at_the_start,
    device_kept,
    extremes,
    gradients,
    left_out,
    moved,
    numbers_at_the_start,
    products_of_rows,
    returned,
    returned_at_words,
    returned_for_generator,
    returned_for_views,
    returned_without_chance,
)
from autograder.shared.probes.interpretation import (
    gradients_of_gates,
    gradients_through_modules,
    gradients_where_not_zero,
    gradients_within_rows,
    importance_afterwards,
    others_under_gates,
    outputs_after_an_exception,
    outputs_after_gates,
    rated,
    rated_afterwards,
    returned_by_stand_ins,
    returned_under_gates,
    weights_under_gates,
)
from autograder.shared.probes.library_code import is_notebook_cell
from autograder.shared.probes.scaling import (
    accumulated,
    accumulated_in_turn,
    counted_up,
    precision_afterwards,
    returned_by_autocast,
    trained_by_autocast,
)
from autograder.shared.probes.stand_ins import table_reader, with_stand_ins
from autograder.shared.probes.training import (
    calls_counted,
    decoded,
    decoded_without_gradients,
    loss_returned,
    returned_number,
    searched,
    searched_among_equals,
    updated,
    weights_moved,
)
from autograder.shared.wire import plain
from autograder.shared.wording import describe

__all__ = [  # what checks, private cases and the grader import from here
    "PROBES",
    "accumulated",
    "accumulated_in_turn",
    "arguments_after",
    "at_the_start",
    "attended_in_chunks",
    "calls_counted",
    "continued_again",
    "counted_up",
    "decoded",
    "decoded_without_gradients",
    "device_kept",
    "extremes",
    "gradients",
    "gradients_of_gates",
    "gradients_through_cache",
    "gradients_through_modules",
    "gradients_where_not_zero",
    "gradients_within_rows",
    "importance_afterwards",
    "left_out",
    "live",
    "loss_returned",
    "merged_in_turn",
    "moved",
    "numbers_at_the_start",
    "observe",
    "others_under_gates",
    "outputs_after_an_exception",
    "outputs_after_gates",
    "precision_afterwards",
    "products_of_rows",
    "rated",
    "rated_afterwards",
    "returned",
    "returned_at_words",
    "returned_by_autocast",
    "returned_by_stand_ins",
    "returned_for_generator",
    "returned_for_views",
    "returned_in_little_memory",
    "returned_in_tiles",
    "returned_number",
    "returned_under_gates",
    "returned_with_cache",
    "returned_without_chance",
    "searched",
    "searched_among_equals",
    "table_reader",
    "trained_by_autocast",
    "updated",
    "weights_moved",
    "weights_under_gates",
    "with_stand_ins",
]

KINDS = (
    returned,
    arguments_after,
    returned_for_generator,
    returned_for_views,
    gradients,
    left_out,
    moved,
    device_kept,
    extremes,
    at_the_start,
    decoded,
    decoded_without_gradients,
    returned_number,
    calls_counted,
    updated,
    weights_moved,
    loss_returned,
    searched,
    searched_among_equals,
    counted_up,
    returned_by_autocast,
    trained_by_autocast,
    precision_afterwards,
    accumulated,
    accumulated_in_turn,
    merged_in_turn,
    returned_in_tiles,
    returned_in_little_memory,
    returned_with_cache,
    returned_without_chance,
    attended_in_chunks,
    continued_again,
    gradients_through_cache,
    gradients_where_not_zero,
    gradients_within_rows,
    rated,
    rated_afterwards,
    returned_by_stand_ins,
    gradients_through_modules,
    returned_under_gates,
    weights_under_gates,
    others_under_gates,
    outputs_after_gates,
    outputs_after_an_exception,
    gradients_of_gates,
    importance_afterwards,
    returned_at_words,
    numbers_at_the_start,
    products_of_rows,
)
SURELY_ALIKE = 0.8  # of a misspelt name to the one that was meant, by difflib's measure
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
        with warnings.catch_warnings(), np.errstate(all="ignore"), usual_settings():
            warnings.simplefilter("ignore")
            return plain(known[probe](implementation, live(inputs)))
    except Unfit as reason:
        return {"unfit": str(reason)}
    except (Exception, SystemExit) as error:
        return {"raised": note_of_exception(error)}
    except BaseException as error:  # a person's or the grader's interruption, or a learner's own
        if not raised_by_learner(error):
            raise
        return {"raised": note_of_exception(error)}


@contextlib.contextmanager
def usual_settings():
    """Ask with the settings of torch that questions are made for, whatever a notebook has set for
    itself: new tensors are float32, and one thread computes, since several wait for each other
    where many submissions share a processor.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)


def note_of_exception(error):
    """Return what a learner needs to know of an exception: its type, its message, and where in
    their own code it arose.
    """
    line, source, function = None, "", ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if is_notebook_cell(frame.f_code.co_filename):
            line, source = number, linecache.getline(frame.f_code.co_filename, number).strip()
            function = frame.f_code.co_qualname
    meant = meant_by(error)
    stub = isinstance(error, NotImplementedError) and not str(error)
    try:
        leaves = type(error) is SystemExit and error.code is None  # `exit()`
        message = "" if leaves else str(error)
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
        **({"meant": meant[:80]} if meant else {}),
    }


def meant_by(error):
    """Return the name that was meant by one that is unknown; "" unless exactly one is like it."""
    known = []
    with contextlib.suppress(Exception):  # whatever a learner's objects are
        name = error.name
        if type(error) is NameError:
            frame, own = names_around(error)
            if hasattr(own.get("self"), name):
                return f"self.{name}"
            known = [own, {**frame.f_globals, **vars(builtins)}]
        elif type(error) is AttributeError:
            known = [dir(error.obj)]
        for names in known:
            public = [each for each in names if not each.startswith("_")]
            if alike := difflib.get_close_matches(name, public, n=2, cutoff=SURELY_ALIKE):
                return alike[0] if len(alike) == 1 else ""
    return ""


def names_around(error):
    """Return the frame in which an exception arose, and the local names there; in a comprehension,
    also those around it.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = dict(frames[-1].f_locals)
    for inner, outer in zip(frames[::-1], frames[-2::-1], strict=False):
        if not inner.f_code.co_name.startswith("<"):  # `<listcomp>`, `<lambda>`
            break
        own = {**outer.f_locals, **own}
    return frames[-1], own


def raised_by_learner(error):
    """Return whether an exception came from a `raise` statement in a learner's own code."""
    *_, (last, _) = traceback.walk_tb(error.__traceback__)
    path = last.f_code.co_filename
    return raised_on_purpose(error) and (is_notebook_cell(path) or path == "<string>")


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


freeze(__name__)
