"""Which system calls a submission may make: those that `system_calls.txt` lists, of a few of them
only with some arguments, and no others.

What is not listed fails as on a kernel that does not have it, because programs know what to do
then. The list follows the default one of the container engines, without what makes memory that
nobody counts.
"""

import ctypes
import itertools
import os
import platform
import struct
from functools import cache
from pathlib import Path

# machine -> (its number in seccomp's data, column of the list)
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}
LIST = Path(__file__).with_suffix(".txt")
KEYCTL, JOIN_SESSION_KEYRING = (250, 219), 1

# Instructions of the kernel's filter programs.
LOAD, AND, IF_EQUAL, IF_AT_LEAST, IF_BIT, LEAVE = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE = 0, 4  # places in what they look at
ARGUMENTS = 16, 24, 32  # the lower half of each; the kernel takes no more of those looked at
ALLOWED, ERROR = 0x7FFF0000, 0x50000
GRANTED = ERROR  # the call returns 0, and does nothing
REFUSED, UNKNOWN, INVALID = ERROR | 1, ERROR | 38, ERROR | 22
NO_PROTOCOL, NO_TYPE, NO_FAMILY = ERROR | 93, ERROR | 94, ERROR | 97
SET_SECCOMP, FILTER = 22, 2

LOCAL, INTERNET, NETLINK = 1, (2, 10), 16  # families of sockets; the others know no namespaces
STREAM, DATAGRAM, TYPE = 1, 2, 0xF  # and the bits that are the type
TCP, UDP, ROUTES = 6, 17, 0
NEW_NAMESPACES = 0x7E020000  # bits of clone's flags that make any
ASK_PERSONALITY = 0xFFFFFFFF
# Commands of fcntl. Locks on a file, leases and notes of its use would be seen by every submission
# that sees the file, and tell it what this one knows. There is nobody here to lock out, so a lock
# is granted and not made; what asks for others' is refused, and so are locks on open files.
LOCK, ASK_ABOUT_FILES = (6, 7), (5, 36, 37, 38, 1024, 1025, 1026)
# Options of prctl: death signal, dumpable, name, capabilities, slack of timers, reaper, privileges,
# huge pages, lengths of vectors, names of memory, tracer. Among the others are tables in the
# kernel, and more filters.
OPTIONS = (1, 2, 3, 4, 15, 16, 21, 23, 29, 30, *range(36, 43), 51, 64, 0x53564D41, 0x59616D61)

libc = ctypes.CDLL(None, use_errno=True)


def this_machine():
    """Return this machine's number in seccomp's data, and its column of the list.

    Raises:
        OSError: if there is none; a boundary must not be weaker unnoticed.
    """
    if platform.machine() not in MACHINES:
        raise OSError(f"no table of system calls for {platform.machine()}")
    return MACHINES[platform.machine()]


@cache
def allowed_calls(column):
    """Return the numbers of the listed calls, by name.

    Args:
        column: 0 for x86-64, 1 for the numbers that all newer machines share.
    """
    lines = [line.split() for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return {name: int(each[column]) for name, *each in lines if each[column] != "-"}


def leave_session_keyring():
    """Take a new and empty keyring instead of the one that the grader's session has; without effect
    where there are none.
    """
    libc.syscall(KEYCTL[this_machine()[1]], JOIN_SESSION_KEYRING, None)


def filter_system_calls():
    """Hold this process and all that it starts to the list, for good. It must have given up
    new privileges before.

    Raises:
        OSError: if the kernel has no such filters, or this machine no list.
    """
    steps = program(*this_machine())
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    if libc.prctl(SET_SECCOMP, FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp: " + os.strerror(ctypes.get_errno()))


def program(machine, column):
    """Return the filter as instructions (what, steps to skip if so, steps to skip if not, with
    which number).
    """
    calls, looked_at = allowed_calls(column), by_arguments()
    steps = [
        (LOAD, 0, 0, MACHINE),
        # a program may switch to the calls of an older machine, with other numbers
        (IF_EQUAL, 1, 0, machine),
        (LEAVE, 0, 0, UNKNOWN),
        (LOAD, 0, 0, NUMBER),
    ]
    for name, looks in looked_at.items():
        steps += [(IF_EQUAL, 0, len(looks), calls[name]), *looks]
    for first, last in ranges({number for name, number in calls.items() if name not in looked_at}):
        steps += [
            (IF_AT_LEAST, 0, 2, first),
            (IF_AT_LEAST, 1, 0, last + 1),
            (LEAVE, 0, 0, ALLOWED),
        ]
    return [*steps, (LEAVE, 0, 0, UNKNOWN)]


def by_arguments():
    """Return the instructions for each call whose arguments decide; each ends with a verdict."""
    first, second, third = ((LOAD, 0, 0, place) for place in ARGUMENTS)
    routes = [third, *one_of((ROUTES,), NO_PROTOCOL)]
    internet = [
        second,
        (AND, 0, 0, TYPE),
        (IF_EQUAL, 2, 0, STREAM),
        (IF_EQUAL, 1, 0, DATAGRAM),
        (LEAVE, 0, 0, NO_TYPE),
        third,
        *one_of((0, TCP, UDP), NO_PROTOCOL),
    ]
    return {
        "clone": [
            first,
            (IF_BIT, 0, 1, NEW_NAMESPACES),
            (LEAVE, 0, 0, REFUSED),
            (LEAVE, 0, 0, ALLOWED),
        ],
        "fcntl": [
            second,
            *one_of(LOCK, verdict=GRANTED),
            *one_of(ASK_ABOUT_FILES, ALLOWED, verdict=INVALID),
        ],
        "flock": [(LEAVE, 0, 0, GRANTED)],
        "personality": [first, *one_of((ASK_PERSONALITY,), REFUSED)],
        "prctl": [first, *one_of(OPTIONS, INVALID)],
        "socketpair": [first, *one_of((LOCAL,), NO_FAMILY)],
        "socket": [
            first,
            (IF_EQUAL, 0, 1, LOCAL),
            (LEAVE, 0, 0, ALLOWED),
            (IF_EQUAL, 0, len(routes), NETLINK),
            *routes,
            (IF_EQUAL, 2, 0, INTERNET[0]),
            (IF_EQUAL, 1, 0, INTERNET[1]),
            (LEAVE, 0, 0, NO_FAMILY),
            *internet,
        ],
    }


def one_of(numbers, otherwise=None, verdict=ALLOWED):
    """Return instructions that leave with a verdict if what was loaded is one of some numbers, and
    with another one, or not yet, where it is none.
    """
    asked = [step for each in numbers for step in ((IF_EQUAL, 0, 1, each), (LEAVE, 0, 0, verdict))]
    return asked if otherwise is None else [*asked, (LEAVE, 0, 0, otherwise)]


def ranges(numbers):
    """Return the (first, last) of each run of whole numbers."""
    return [
        (first, next(each for each in itertools.count(first) if each + 1 not in numbers))
        for first in sorted(numbers)
        if first - 1 not in numbers
    ]
