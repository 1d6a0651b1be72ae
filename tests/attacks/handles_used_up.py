"""Uses up descriptors, threads, pseudo-terminals, inotify watches, timers and locks, and keeps
them.
"""

# %%
import ctypes
import os
import pty
import resource
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
held = []
for take in (
    pty.openpty,
    lambda: libc.inotify_init1(0),
    lambda: os.pipe(),
    lambda: libc.timerfd_create(1, 0),
    lambda: os.eventfd(0),
):
    for _ in range(150):
        try:
            held.append(take())
        except OSError as error:
            print(error)
            break
try:
    while True:
        thread = threading.Thread(target=time.sleep, args=(100,), daemon=True)
        thread.start()
except RuntimeError as error:
    print(error, threading.active_count())


# %% softmax
def softmax(scores, axis=-1):
    return scores
