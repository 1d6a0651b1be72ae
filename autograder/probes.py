"""What an exercise's function is asked, and what is noted of its answer.

A probe is a small function that observes an implementation: `probe(implementation, inputs) -> dict[str, value]`. `inputs` maps parameter
names to arguments, in the order of the signature. The same probe observes the learner's function, in the learner's process, and the
reference, in the grader's. It decides nothing; `autograder.judge` compares the two observations. This module is all of the checks that
a learner's process needs, and it holds no answer.
"""

import dis
import inspect
import linecache
import traceback
import warnings

import numpy as np

from autograder.wire import Opaque, decode, encode, plain

ANSWER_MIME = "application/vnd.autograder.answer+json"


def returned(implementation, inputs):
    """Note what the function returns."""
    return {"result": implementation(*inputs.values())}


def arguments_after(implementation, inputs):
    """Note which arguments the call has changed. Expected: none."""
    before = plain(inputs)
    implementation(*inputs.values())
    return {"changed": [name for name, value in inputs.items() if encode(plain(value)) != encode(before[name])]}


def returned_for_generator(implementation, inputs):
    """Note what the function returns when its first argument is a generator, which can be read only once."""
    name, first = next(iter(inputs.items()))
    return returned(implementation, {**inputs, name: (item for item in first)})


PROBES = {probe.__name__: probe for probe in (returned, arguments_after, returned_for_generator)}


def observe(probe, implementation, inputs):
    """Run a probe and reduce what it notes to data; an exception is noted too.

    Returns:
        dict: the probe's observation, or `{"raised": {...}}` or `{"unfit": ...}`, which tells why there is none.
    """
    if not callable(implementation):
        return {"unfit": f"is {describe(implementation)}, not a function"}
    complaint = complaint_about_signature(implementation, inputs)
    if complaint:
        return {"unfit": complaint}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return plain(PROBES[probe](implementation, inputs))
    except (Exception, SystemExit) as error:
        return {"raised": note_of_exception(error)}


def complaint_about_signature(implementation, inputs):
    """Return why the function cannot be called with these arguments by name, or None."""
    try:
        signature = inspect.signature(implementation)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*inputs.values())
    except TypeError:
        return f"takes {str(signature)[:120]}, and is called with ({', '.join(inputs)}); keep the stub's first line"
    return None


def note_of_exception(error):
    """Return what a learner needs to know of an exception: its type, its message, and where in their own code it arose."""
    line, source, function = None, "", ""
    for frame in traceback.extract_tb(error.__traceback__):
        if is_notebook_cell(frame.filename):
            line, source, function = frame.lineno, linecache.getline(frame.filename, frame.lineno).strip(), frame.name
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
    """Return whether an exception came from a `raise` statement, not from an operation that failed."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"


def is_notebook_cell(filename):
    return "ipykernel_" in filename or filename.startswith("<ipython-input")


def describe(value):
    """Say in a few words what a value is: `a list of 3`, `None`, `a float64 array of shape (2, 3)`."""
    value = plain(value)
    match value:
        case None:
            return "None"
        case np.ndarray():
            return f"{article(value.dtype.name)} array of shape {value.shape}"
        case Opaque():
            return value.description
        case tuple() | list() | dict():
            return f"a {type(value).__name__} of {len(value)}"
        case bool() | int() | float():
            return f"the {type(value).__name__} {value}"
        case _:
            return f"the string {value[:40]!r}"


def article(name):
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def answer(request):
    """Answer one request of the grader, inside the learner's kernel.

    Args:
        request: text of `{"id", "exercise", "probe", "inputs"}`; the observation goes back as a display message of type
            `ANSWER_MIME`, with the same id.
    """
    from IPython import get_ipython
    from IPython.display import publish_display_data

    asked = decode(request)
    implementation = get_ipython().user_ns.get(asked["exercise"], None)
    if implementation is None:
        observation = {"unfit": "is not defined"}
    else:
        observation = observe(asked["probe"], implementation, asked["inputs"])
    publish_display_data({ANSWER_MIME: encode({"id": asked["id"], "observation": observation})})
