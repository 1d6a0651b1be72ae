"""Which system calls reach the kernel from inside the sandbox."""

import ctypes
import platform
from pathlib import Path

import pytest

from autograder.boundary.inside.system_calls import MACHINES, allowed_calls, program
from autograder.boundary.kernel import LearnerKernel
from autograder.boundary.sandbox import Sandbox

HERE = MACHINES.get(platform.machine(), (0, 0))[1]
PERMITTED, REFUSED, NOT_THERE, NO_FAMILY, NO_PROTOCOL = 0, 1, 38, 97, 93
INVALID, NO_TYPE = 22, 94
CALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
result = libc.syscall(*(ctypes.c_ulong(each) for each in {words}))
print(0 if result >= 0 else ctypes.get_errno())
"""
OTHERS = {  # not among the allowed ones: numbers on x86-64 and on aarch64
    "modify_ldt": (154, None),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "vmsplice": (278, 75),
    "splice": (275, 76),
    "tee": (276, 77),
    "io_setup": (206, 0),
    "memfd_create": (319, 279),
    "keyctl": (250, 219),
    "ptrace": (101, 117),
    "bpf": (321, 280),
    "unshare": (272, 97),
    "clone3": (435, 435),
    "mbind": (237, 235),
    "remap_file_pages": (216, 234),
    "seccomp": (317, 277),
    "landlock_create_ruleset": (444, 444),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    "unknown": (2_000, 2_000),
}


@pytest.fixture(scope="module")
def kernel(request):
    request.getfixturevalue("sandbox")
    with Sandbox("ch04_attention") as boundary, LearnerKernel(boundary, seconds=120) as kernel:
        yield kernel


def outcome(kernel, name, *arguments):
    """Return the error (0 for none) that a call ends with inside."""
    number = OTHERS[name][HERE] if name in OTHERS else allowed_calls(HERE).get(name)
    if number is None:
        pytest.skip(f"there is no {name} on this machine")
    return int(kernel.run(CALL.format(words=(number, *arguments)), 10).text)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_listed_is_as_if_it_were_not_there(kernel, name):
    assert outcome(kernel, name, 0, 0, 0, 0, 0, 0) == NOT_THERE


@pytest.mark.parametrize(
    "words, expected",
    [
        (("socketpair", 1, 1, 0, 0), 14),  # is made, and has nowhere to go
        *((("socketpair", family, 1, 0, 0), NO_FAMILY) for family in (2, 16, 17, 30, 38, 40, 44)),
        *((("socket", family, 1, 0), NO_FAMILY) for family in (17, 29, 30, 31, 38, 40, 44)),
        (("socket", 1, 1, 0), PERMITTED),
        (("socket", 1, 1 | 0x80800, 0), PERMITTED),
        (("socket", 2, 2, 17), PERMITTED),
        (("socket", 10, 1, 6), PERMITTED),
        (("socket", 2 + 2**32, 1, 0), PERMITTED),  # the kernel looks at 32 bits, and so does this
        (("socket", 40 + 2**32, 1, 0), NO_FAMILY),
        *((("socket", 2, 1, protocol), NO_PROTOCOL) for protocol in (33, 132, 262)),
        *((("socket", 2, kind, 0), NO_TYPE) for kind in (3, 5, 6, 10)),
        (("socket", 16, 3, 0), PERMITTED),
        *((("socket", 16, 3, protocol), NO_PROTOCOL) for protocol in (2, 6, 12, 21)),
        (("personality", 0xFFFFFFFF), PERMITTED),
        *((("personality", kind), REFUSED) for kind in (0x0040000, 0x0000008, 0x0400000)),
        (("prctl", 3), PERMITTED),  # PR_GET_DUMPABLE
        (("prctl", 78, 1, 2**10, 0, 0), INVALID),  # a table of futexes
        (("prctl", 22, 2, 0, 0, 0), INVALID),  # more filters
        (("prctl", 67, 1, 0, 0, 0), INVALID),  # to merge memory with others'
        *((("fcntl", 0, command, 0), INVALID) for command in (5, 36, 37, 38, 1024, 1025, 1026)),
        *((("fcntl", 99, command, 0), PERMITTED) for command in (6, 7)),  # there is no file 99
        (("flock", 99, 2), PERMITTED),
        (("clone", 0x10000000 | 17, 0, 0, 0, 0), REFUSED),
        (("clone", 0x00020000 | 17, 0, 0, 0, 0), REFUSED),
    ],
)
def test_what_arguments_may_be(kernel, words, expected):
    assert outcome(kernel, *words) == expected


@pytest.mark.parametrize("counted", ["sys/fs/file-nr", "sys/fs/inode-nr", "key-users"])
def test_what_others_do_with_files_and_keys_cannot_be_counted(kernel, counted):
    assert Path("/proc", counted).read_text()
    assert kernel.run(f"print([open('/proc/{counted}').read()])", 10).text == "['']\n"


def test_a_table_of_numbers_is_that_of_the_machine():
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp, whose numbers these are compared with, is not here")
    for machine, column in MACHINES.values():
        for name, number in allowed_calls(column).items():
            if (machine, name) != (MACHINES["riscv64"][0], "renameat"):
                known = library.seccomp_syscall_resolve_name_arch(machine, name.encode())
                assert known == number or known < -1, (hex(machine), name)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_program_ends_for_every_number(machine):
    number, column = MACHINES[machine]
    steps = program(number, column)
    allowed = set(allowed_calls(column).values())
    assert len(steps) < 4096
    assert max(max(yes, no) for _, yes, no, _ in steps) < 256
    for call in (*range(600), 0x40000000, 0x40000001, 0xFFFFFFFF):
        left = run(steps, number, call)
        assert (left == 0x50026) == (call not in allowed), call
    assert run(steps, 0x40000003, 0) == 0x50026


def run(steps, machine, call, arguments=(0,) * 6):
    """Return what a filter leaves with, as the kernel runs it."""
    data = {0: call, 4: machine, **{16 + 8 * i: each for i, each in enumerate(arguments)}}
    held, place = None, 0
    while True:
        what, yes, no, number = steps[place]
        place += 1
        match what:
            case 0x20:
                held = data[number]
            case 0x54:
                held &= number
            case 0x06:
                return number
            case 0x15:
                place += yes if held == number else no
            case 0x35:
                place += yes if held >= number else no
            case 0x45:
                place += yes if held & number else no
