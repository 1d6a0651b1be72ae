"""Writes garbage into the socket on which requests come, and goes on as if nothing were: the
grader's end gives the connection up, and may wait for ever to send its next request.
"""

# %%
import os
import socket

GARBAGE = b"\x02" + b"\xff" * 8 + b"x"
for name in os.listdir("/proc/self/fd"):
    try:
        each = socket.socket(fileno=os.dup(int(name)))
        if each.family == socket.AF_UNIX and str(each.getsockname()).endswith("kernel-1"):
            each.send(GARBAGE)
    except OSError:
        pass
