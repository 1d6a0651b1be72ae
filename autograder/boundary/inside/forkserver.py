"""A warm process that hands out kernels: it has imported what notebooks import, and forks a child
for each submission.

It runs inside bubblewrap (see `autograder.boundary.sandbox`), holds no secret, and serves one
request after the other from the socket on its standard input. Each child gets namespaces of its
own: users, processes, mounts, network, System V memory and host name. So a submission sees neither
another one nor this server, and when its first process ends, the kernel of the operating system
ends all that it started.

    server ── fork ──> keeper ── fork ──> the submission's process 1: an IPython kernel without any
    privilege

The keeper shares its submission's mounts, so the /proc that it sees shows the submission's
processes and no other; it adds up what they hold.
"""

import array
import contextlib
import ctypes
import gc
import importlib
import json
import os
import re
import resource
import select
import signal
import socket
import struct
import sys
import traceback

from autograder.boundary.inside.system_calls import filter_system_calls, leave_session_keyring

NOBODY = 65534
NEW_NAMESPACES = (
    0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
)  # user mount pid net ipc uts
READ_ONLY, NO_SETUID, NO_DEVICES, REMOUNT, BIND, RECURSIVE, PRIVATE = (
    1,
    2,
    4,
    32,
    4096,
    16384,
    1 << 18,
)
DETACH = 2
SET_DUMPABLE, SET_PARENT_DEATH_SIGNAL = 4, 1
OUTSIDE_PROC = (  # bound here by the sandbox: a process may mount /proc only where it can see a whole one
    "/run/outside-proc"
)
KERNELS = "/run/kernels"  # the folders of all kernels' sockets; each child sees its own at KERNEL
KERNEL = "/run/kernel"
HOME = "/home/learner"
WRITABLE = {HOME: "64m", "/tmp": "64m", "/dev/shm": "64m"}
UNREADABLE = ("/proc/kcore", "/proc/keys", "/proc/sysrq-trigger", "/proc/kallsyms")
LOOK_SECONDS = 0.1  # between two looks at what a submission holds
MOST_PRINTED = 100_000  # characters of one print that are passed on
PAGE = os.sysconf("SC_PAGE_SIZE")
MAPPED = 2**28  # bytes of address space in all, beyond which shared mappings are looked at
LONGEST_MAPS = (
    2**20
)  # bytes that a process's list of mappings may take; an honest one takes a fifth
# mappings whose pages belong to no process: shared ones, whatever their name says, and huge ones
SHARED_MEMORY = re.compile(rb"^(\w+)-(\w+) (?:...s|\S+ \S+ \S+ \S+ +/anon_hugepage)", re.MULTILINE)

PRELOADED = (  # what a kernel would import at its start, and with the first answer
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "autograder.shared.learner",
    "autograder.shared.probes",
    "ipykernel.debugger",
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "numpy",
    "tornado.platform.asyncio",
    "tornado.queues",
)

libc = ctypes.CDLL(None, use_errno=True)


def main():
    """Mount a /proc, import what notebooks import, and serve until the other end of the socket
    closes.
    """
    mount("proc", "/proc", "proc")
    require(libc.umount2(OUTSIDE_PROC.encode(), DETACH), f"umount {OUTSIDE_PROC}")
    libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)
    import_what_notebooks_import(sys.argv[1:])
    gc.freeze()  # a collection in a child would touch, and so copy, every page that it shares with this process
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end leave nothing behind
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = socket.socket(fileno=os.dup(0))
    server.sendall(b"ready")
    while request := receive(server):
        message, descriptors = request
        if os.fork() == 0:
            server.close()
            keep_one_submission(socket.socket(fileno=descriptors[0]), json.loads(message))
        for descriptor in descriptors:
            os.close(descriptor)


def import_what_notebooks_import(names):
    """Import what every kernel needs, and what the chapter's released notebook imports; calculate
    on one thread.
    """
    with without_debugger():
        for name in (*PRELOADED, *names):
            importlib.import_module(name)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    shorten_what_is_printed()
    number_cells_quickly()


@contextlib.contextmanager
def without_debugger():
    """Let ipykernel find no debugger: nobody steps through a submission, and to load one takes
    longer than any other part of a kernel.
    """
    sys.modules["debugpy"] = None
    yield
    del sys.modules["debugpy"]


def number_cells_quickly():
    """Give each cell's source its number, by which errors name it, without looking at it letter by
    letter in Python.
    """
    import zlib

    import ipykernel.compiler

    ipykernel.compiler.murmur2_x86 = lambda source, seed: zlib.crc32(
        source.encode("utf-8", "replace"), seed
    )


def shorten_what_is_printed():
    """Send at most so many characters of one print: the grader keeps fewer still, and loses too
    large a message with its neighbours.

    This is for honest notebooks; one that undoes it only harms itself.
    """
    from ipykernel.iostream import OutStream

    write = OutStream.write

    def write_some(stream, text):
        return write(stream, text[:MOST_PRINTED] if isinstance(text, str) else text)

    OutStream.write = write_some


def receive(connection):
    """Return one message and the descriptors that came with it, or None at the end."""
    message, ancillary, *_ = connection.recvmsg(65536, socket.CMSG_SPACE(4 * 4))
    if not message:
        return None
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data)
    return message, list(descriptors)


def keep_one_submission(control, request):
    """Be the keeper of one submission: start its process, pass on what the grader says, and end it
    when the grader says or leaves.

    Never returns.
    """
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        become_nobody()
        leave_session_keyring()
        bound, tell_bound = os.pipe()
        child = os.fork()
        if child == 0:
            control.close()
            os.close(bound)
            be_the_submission(request, tell_bound)
        os.close(tell_bound)
        if os.read(bound, 1):
            # its sockets are there: from here on it cannot fill the disk on which they lie
            remount_read_only(KERNEL)
            control.sendall(b"ready")
        follow(control, child, request["limits"]["memory_in_all"])
    except BaseException:
        with contextlib.suppress(OSError):
            control.sendall(traceback.format_exc()[-2000:].encode())
    os._exit(0)


def become_nobody():
    """Enter new namespaces as a user without any right; the first child will be process 1 of its
    own world.
    """
    uid = os.getuid()
    if os.stat("/proc/self/ns/user").st_ino and is_initial_user_namespace():
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        uid = NOBODY
    libc.prctl(SET_DUMPABLE, 1, 0, 0, 0)  # or the maps below belong to root
    gid = os.getgid()
    require(libc.unshare(NEW_NAMESPACES), "unshare")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{NOBODY} {uid} 1")
    write("/proc/self/gid_map", f"{NOBODY} {gid} 1")
    libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)


def is_initial_user_namespace():
    """Return whether this process is a real root, whom limits on the number of processes do not
    bind.
    """
    with open("/proc/self/uid_map") as file:
        return os.getuid() == 0 and int(file.read().split()[2]) > 1


def be_the_submission(request, tell_bound):
    """Be process 1 of a submission: arrange its world, give up every right, and be a kernel. Never
    returns.
    """
    try:
        libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.setsid()  # a signal to its process group must reach neither its keeper nor another's
        arrange_world(request)
        limit(request["limits"])
        drop_capabilities()
        close_all_but(tell_bound)
        libc.prctl(SET_DUMPABLE, 1, 0, 0, 0)
        write("/proc/self/oom_score_adj", "1000")  # where memory ends all the same, this goes first
        filter_system_calls()
        be_a_kernel(tell_bound)
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def arrange_world(request):
    """Mount what this submission may see and write, and hide the rest."""
    mount(None, "/", None, RECURSIVE | PRIVATE)
    mount("tmpfs", KERNEL, "tmpfs")
    mount(f"{KERNELS}/{request['kernel']}", KERNEL, None, BIND)
    mount("tmpfs", KERNELS, "tmpfs", READ_ONLY)
    for path, size in WRITABLE.items():
        mount(
            "tmpfs", path, "tmpfs", NO_SETUID | NO_DEVICES, f"size={size},nr_inodes=16k,mode=1777"
        )
    remount_read_only("/dev")  # an ordinary user's submissions would own it, and share it
    mount("proc", "/proc", "proc")
    write("/proc/sys/user/max_user_namespaces", "0")
    for path in ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"):
        if os.path.isdir(path):
            mount(path, path, None, BIND)
            remount_read_only(path)
    for path in UNREADABLE:
        if os.path.exists(path):
            mount("/dev/null", path, None, BIND)
    socket.sethostname("sandbox")
    os.chdir(HOME)


def limit(limits):
    """Set limits that no process of this submission can raise again.

    Args:
        limits: `memory` in bytes of address space for one process, `processes`, `file` in bytes,
            `cpu` in seconds.
    """
    wanted = {
        resource.RLIMIT_AS: limits["memory"],
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_FSIZE: limits["file"],
        resource.RLIMIT_CPU: limits["cpu"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for which, value in wanted.items():
        resource.setrlimit(which, (value, value))


def drop_capabilities():
    """Give up every right inside the new namespaces, for good: nothing that is executed later gets
    any back.
    """
    for capability in range(64):
        libc.prctl(
            24, capability, 0, 0, 0
        )  # PR_CAPBSET_DROP; beyond the last one it fails, which is fine
    header = struct.pack("Ii", 0x20080522, 0)
    require(libc.capset(header, struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)), "capset")
    require(libc.prctl(38, 1, 0, 0, 0), "no_new_privs")


def close_all_but(kept):
    """Close every descriptor that leads out of this process, and let input and outputs lead
    nowhere.
    """
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    os.closerange(3, kept)
    os.closerange(kept + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def be_a_kernel(tell_bound):
    """Be an IPython kernel on the connection file in the kernel's folder."""
    from ipykernel.kernelapp import IPKernelApp
    from traitlets.config import Config

    class KernelWithoutCommandLine(IPKernelApp):
        def parse_command_line(self, argv=None):
            """There is none; to make a parser of all options takes a fifth of a kernel's start."""

    os.environ["JPY_PARENT_PID"] = (
        "1"  # process 1 must not take its absent parent for a reason to leave
    )
    settings = Config({"HistoryManager": {"enabled": False}})
    app = KernelWithoutCommandLine.instance(
        config=settings, connection_file=f"{KERNEL}/kernel.json"
    )
    app.initialize()
    os.write(tell_bound, b"1")
    os.close(tell_bound)
    app.start()


def follow(control, child, most_memory):
    """Wait for the submission's end, the grader's word or too much memory; end the submission in
    any case.
    """
    ended = os.pidfd_open(child)
    warm = held_by("/proc/1")
    while True:
        ready, _, _ = select.select([control, ended], [], [], LOOK_SECONDS)
        if ended in ready or memory_held(warm) > most_memory:
            break
        if not ready:
            continue
        word = control.recv(16)
        if word == b"interrupt":
            signal.pidfd_send_signal(ended, signal.SIGINT)
        elif not word or word == b"kill":
            break
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(ended, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        control.sendall(f"ended {status}".encode())


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
        with open(
            f"{place}/maps", "rb"
        ) as file:  # bytes: files have names of any, and may break lines of text
            content = file.read(LONGEST_MAPS)
    except PermissionError:
        return otherwise
    except OSError:  # it has ended
        return 0
    if (
        len(content) == LONGEST_MAPS
    ):  # in thousands of pieces, over which the keeper would sit while memory is taken
        return otherwise
    return sum(int(high, 16) - int(low, 16) for low, high in SHARED_MEMORY.findall(content))


def mount(source, target, kind, flags=0, options=None):
    """Call mount(2)."""
    texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
    require(
        libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]),
        f"mount {source} on {target}",
    )


def remount_read_only(path):
    """Make a mount that is there already read-only."""
    mount(None, path, None, REMOUNT | BIND | READ_ONLY | NO_SETUID | NO_DEVICES)


def require(result, what):
    """Raise an OSError where a call of the C library failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main())
