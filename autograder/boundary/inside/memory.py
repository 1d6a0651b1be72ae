"""What all processes of a submission hold, memory above all; asked by its keeper.

The keeper shares its submission's mounts and network, so the /proc that it sees shows the
submission's processes and sockets, and no others.

Some memory belongs to the kernel, and no process is charged for it. What can be made without end
is counted here: sockets, each at the most that it may hold, and tables of pages. The rest is
bounded by the limits of `autograder.boundary.inside.world` (descriptors, signals, terminals) or
cannot be had at all, because `autograder.boundary.inside.system_calls` does not let it be asked
for.
"""

import contextlib
import os
import re

MAPPED = 2**28  # bytes of address space in all, beyond which shared mappings are looked at
# Bytes that a process's list of mappings may take; an honest one takes a fifth.
LONGEST_MAPS = 2**20
# mappings whose pages belong to no process: shared ones, whatever their name says, and huge ones
SHARED_MEMORY = re.compile(rb"^(\w+)-(\w+) (?:...s|\S+ \S+ \S+ \S+ +/anon_hugepage)", re.MULTILINE)
SIZES = re.compile(rb"^(VmSize|RssAnon|VmSwap|VmPTE):\s+(\d+) kB$", re.MULTILINE)
# Bytes that one socket may hold: two buffers of net.core.wmem_max, as Linux sets it, a message more
# than that, and a filter.
SOCKET = 2**20


class Held:
    """What a submission holds, compared with what its first process held when it began.

    Args:
        limits: `memory_in_all` in bytes, `processes`.
    """

    def __init__(self, limits):
        self.limits = limits
        self.warm, self.sockets = held_by("/proc/1"), sockets()

    def is_too_much(self):
        """Return whether the submission holds more than it may, so that it has to be ended."""
        memory, processes = self.memory_and_processes()
        return (
            memory > self.limits["memory_in_all"]
            # a limit set on each process does not bind one that is a real root outside
            or processes > self.limits["processes"]
        )

    def memory_and_processes(self):
        """Return the bytes that all processes hold beyond what each shared with the fork server,
        and the number of processes, threads included.
        """
        total, processes, mapped = SOCKET * max(0, sockets() - self.sockets), 0, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError, ValueError):
                processes += os.stat(f"/proc/{pid}/task").st_nlink - 2
                place = place_of(pid)
                size, own = held_by(place)
                mapped[place] = max(0, size - self.warm[0])
                total += max(0, own - self.warm[1])
        if sum(mapped.values()) > MAPPED:
            total += sum(shared_mappings(place, otherwise=more) for place, more in mapped.items())
        return total, processes


def place_of(pid):
    """Return the folder below /proc that tells of a process: where its first thread has left, that
    of one which still runs.
    """
    places = (
        f"/proc/{pid}",
        *(f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")),
    )
    return next((place for place in places if held_by(place)[0]), places[0])


def held_by(place):
    """Return the bytes of address space that a process has, and those that are its own: in memory,
    and neither a file's nor shared, swapped out, or in its tables of pages.
    """
    # as bytes: a process may have any name
    with open(f"{place}/status", "rb") as file:
        sizes = {name: 1024 * int(size) for name, size in SIZES.findall(file.read())}
    return sizes.pop(b"VmSize", 0), sum(sizes.values())


def sockets():
    """Return the number of the submission's sockets, also of those that nobody can name any more,
    and in which something waits.
    """
    with contextlib.suppress(OSError), open("/proc/1/net/sockstat") as file:
        return int(file.readline().split()[2])  # "sockets: used 28"
    return 0


def shared_mappings(place, otherwise):
    """Return the bytes of a process's mappings that may hold memory which no process is charged
    for.

    Args:
        otherwise: the answer for a process that does not let itself be looked at, or not soon
            enough.
    """
    try:
        # as bytes: names of files may hold any, and may break lines of text
        with open(f"{place}/maps", "rb") as file:
            content = file.read(LONGEST_MAPS)
    except PermissionError:
        return otherwise
    except OSError:  # it has ended
        return 0
    if len(content) == LONGEST_MAPS:
        return otherwise  # the keeper would sit over thousands of pieces while memory is taken
    return sum(int(high, 16) - int(low, 16) for low, high in SHARED_MEMORY.findall(content))
