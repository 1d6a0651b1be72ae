"""A submission's world: the namespaces that it enters, what is mounted in them, and the rights and
limits that it cannot change again.
"""

import contextlib
import ctypes
import os
import re
import resource
import socket
import struct

NOBODY = 65534
# user, mount, pid, net, ipc, uts
NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
# flags of mount(2)
READ_ONLY, NO_SETUID, NO_DEVICES = 1, 2, 4
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16384, 1 << 18
SET_DUMPABLE, SET_PARENT_DEATH_SIGNAL = 4, 1
HOME = "/home/learner"
WRITABLE = {HOME: "64m", "/tmp": "64m", "/dev/shm": "64m"}
# Of each, the buffers lie in the kernel's memory.
TERMINALS = "newinstance,ptmxmode=0666,mode=620,max=16"
KEPT_BY_THE_KERNEL = {"max_user_namespaces": 0}
# Among them what counts the files and keys of the whole machine, to the piece: by opening files,
# two submissions could tell each other anything.
COUNTS = ("file-nr", "inode-nr", "inode-state", "dentry-state")
UNREADABLE = (
    *("/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/sysrq-trigger", "/proc/kallsyms"),
    *(f"/proc/sys/fs/{name}" for name in COUNTS),
)
libc = ctypes.CDLL(None, use_errno=True)


def enter_new_namespaces(user):
    """Enter new namespaces, as a user without any right outside of them; the first child will be
    process 1 of its own world.

    Args:
        user: to become, where this is a real root, whom limits on the number of processes do not
            bind; None: stay who this is.
    """
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    uid, gid = os.getuid(), os.getgid()
    libc.prctl(SET_DUMPABLE, 1, 0, 0, 0)  # or the maps below belong to root
    require(libc.unshare(NEW_NAMESPACES), "unshare")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{NOBODY} {uid} 1")
    write("/proc/self/gid_map", f"{NOBODY} {gid} 1")
    libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)


def arrange_world():
    """Mount what this submission may see and write, and hide the rest."""
    mount(None, "/", None, RECURSIVE | PRIVATE)
    for path, size in WRITABLE.items():
        mount(
            "tmpfs", path, "tmpfs", NO_SETUID | NO_DEVICES, f"size={size},nr_inodes=16k,mode=1777"
        )
    remount_read_only("/dev")  # an ordinary user's submissions would own it, and share it
    mount("devpts", "/dev/pts", "devpts", NO_SETUID, TERMINALS)
    mount("proc", "/proc", "proc")
    for name, most in KEPT_BY_THE_KERNEL.items():
        write(f"/proc/sys/user/{name}", str(most))
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
        limits: `memory` in bytes of address space for one process, beyond what its libraries take,
            `processes`, `file` in bytes, `cpu` in seconds.
    """
    wanted = {
        resource.RLIMIT_AS: mapped() + limits["memory"],
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_FSIZE: limits["file"],
        resource.RLIMIT_CPU: limits["cpu"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 1024,  # signals and timers
    }
    if not counts_processes_by_namespace():  # the keeper counts them, too
        del wanted[resource.RLIMIT_NPROC]
    for which, value in wanted.items():
        resource.setrlimit(which, (value, value))


def mapped():
    """Return the bytes of address space that this process has: PyTorch for a GPU takes more of it
    than a submission may.
    """
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def counts_processes_by_namespace():
    """Return whether a limit on processes counts those of a submission alone, as it does since
    Linux 5.14, and not those of the same user on the whole machine.
    """
    major, minor = re.match(r"(\d+)\.(\d+)", os.uname().release).groups()
    return (int(major), int(minor)) >= (5, 14)


def drop_capabilities():
    """Give up every right inside the new namespaces, for good: nothing that is executed later gets
    any back.
    """
    for capability in range(64):
        # PR_CAPBSET_DROP; beyond the last one it fails, which is fine
        libc.prctl(24, capability, 0, 0, 0)
    header = struct.pack("Ii", 0x20080522, 0)
    require(libc.capset(header, struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)), "capset")
    require(libc.prctl(38, 1, 0, 0, 0), "no_new_privs")


def close_all_but(*kept):
    """Close every descriptor that leads out of this process, and let input and outputs lead
    nowhere.
    """
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    for descriptor in range(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0]):
        if descriptor not in kept:
            with contextlib.suppress(OSError):
                os.close(descriptor)


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
