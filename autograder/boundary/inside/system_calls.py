"""Which system calls a submission may make: nearly all, but none of those that lead out of its
world or past its limits.

A list of what is forbidden, not of what is allowed: notebooks import what they like, and the
namespaces are the wall. This closes doors that namespaces leave open (keyrings, sockets between
virtual machines) and memory that belongs to no process.
"""

import ctypes
import os
import platform
import struct

# machine -> (its number in seccomp's data, numbers of system calls: 0 those of x86-64, 1 those that
# all newer machines share)
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}
X32_CALLS = 0x40000000  # bit of x86-64's calls with 32-bit pointers, a second set of numbers
# What no notebook calls: other processes, mounts, namespaces, keyrings, memory and messages that
# belong to no process, the clock, the machine, and corners of the kernel that break often.
FORBIDDEN = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "landlock_create_ruleset": (444, 444),
}
CLONE, CLONE3, SOCKET = (56, 220), (435, 435), (41, 198)
# Of sockets: local, internet, netlink; those of virtual machines know no namespaces.
FAMILIES = (1, 2, 10, 16)
NEW_NAMESPACES = 0x7E020000  # bits of clone's flags that make any
JOIN_SESSION_KEYRING = 1

# Instructions of the kernel's filter programs.
LOAD, IF_EQUAL, IF_AT_LEAST, IF_BIT, LEAVE = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, FIRST_ARGUMENT = 0, 4, 16  # places in what they look at
# The last three are errors 1, 38 and 97.
ALLOWED, REFUSED, UNKNOWN, NO_SUCH_FAMILY = 0x7FFF0000, 0x50001, 0x50026, 0x50061
SET_SECCOMP, FILTER = 22, 2

libc = ctypes.CDLL(None, use_errno=True)


def this_machine():
    """Return this machine's number in seccomp's data, and the column of its calls in the tables
    above.

    Raises:
        OSError: if there is none; a boundary must not be weaker unnoticed.
    """
    if platform.machine() not in MACHINES:
        raise OSError(f"no table of system calls for {platform.machine()}")
    return MACHINES[platform.machine()]


def leave_session_keyring():
    """Take a new and empty keyring instead of the one that the grader's session has; without effect
    where there are none.
    """
    libc.syscall(FORBIDDEN["keyctl"][this_machine()[1]], JOIN_SESSION_KEYRING, None)


def filter_system_calls():
    """Hold this process and all that it starts to the tables above, for good. It must have given up
    new privileges before.

    Raises:
        OSError: if the kernel has no such filters, or this machine no table.
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
    steps = [
        (LOAD, 0, 0, MACHINE),
        # a program may switch to the calls of an older machine, with other numbers
        (IF_EQUAL, 1, 0, machine),
        (LEAVE, 0, 0, UNKNOWN),
        (LOAD, 0, 0, NUMBER),
        (IF_AT_LEAST, 0, 1, X32_CALLS),
        (LEAVE, 0, 0, UNKNOWN),
        # its flags lie where no filter can look; the C library then takes clone
        (IF_EQUAL, 0, 1, CLONE3[column]),
        (LEAVE, 0, 0, UNKNOWN),
    ]
    for columns in FORBIDDEN.values():
        steps += [(IF_EQUAL, 0, 1, columns[column]), (LEAVE, 0, 0, REFUSED)]
    steps += [
        (IF_EQUAL, 0, 4, CLONE[column]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (IF_BIT, 0, 1, NEW_NAMESPACES),
        (LEAVE, 0, 0, REFUSED),
        (LEAVE, 0, 0, ALLOWED),
        (IF_EQUAL, 1, 0, SOCKET[column]),
        (LEAVE, 0, 0, ALLOWED),
        (LOAD, 0, 0, FIRST_ARGUMENT),
    ]
    for family in FAMILIES:
        steps += [(IF_EQUAL, 0, 1, family), (LEAVE, 0, 0, ALLOWED)]
    return [*steps, (LEAVE, 0, 0, NO_SUCH_FAMILY)]
