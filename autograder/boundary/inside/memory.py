"""How much memory all processes of a submission hold; asked by its keeper.

The keeper shares its submission's mounts, so the /proc that it sees shows the submission's
processes and no other; it adds up what they hold.
"""

import contextlib
import os
import re

PAGE = os.sysconf("SC_PAGE_SIZE")
MAPPED = 2**28  # bytes of address space in all, beyond which shared mappings are looked at
# Bytes that a process's list of mappings may take; an honest one takes a fifth.
LONGEST_MAPS = 2**20
# mappings whose pages belong to no process: shared ones, whatever their name says, and huge ones
SHARED_MEMORY = re.compile(rb"^(\w+)-(\w+) (?:...s|\S+ \S+ \S+ \S+ +/anon_hugepage)", re.MULTILINE)


def memory_held(warm):
    """Return the bytes that all of the submission's processes hold beyond what each shared with the
    fork server.

    Args:
        warm: what `held_by` said of the first one at its start.
    """
    total, mapped = 0, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError):
            place = place_of(pid)
            size, own = held_by(place)
            mapped[place] = max(0, size - warm[0])
            total += max(0, own - warm[1])
    if sum(mapped.values()) > MAPPED:
        total += sum(shared_mappings(place, otherwise=more) for place, more in mapped.items())
    return total


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
    """Return the bytes of address space that a process has, and those in memory that are neither a
    file's nor shared.
    """
    with open(f"{place}/statm") as file:
        size, resident, shared, *_ = map(int, file.read().split())
    return size * PAGE, (resident - shared) * PAGE


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
