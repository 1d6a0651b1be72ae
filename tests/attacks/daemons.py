"""Starts processes that leave their session, ignore signals and mean to outlive it, and write a
file later.
"""

# %%
import ctypes
import os
import signal
import subprocess
import time

ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # no signal when the parent ends
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (1, 2, 3, 13, 15):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(0.5)
            for path in (
                "/tmp/attacks-were-here",
                "/dev/shm/attacks-were-here",
                "/dev/attacks-were-here",
            ):
                try:
                    open(path, "w").close()
                except OSError:
                    pass
    os._exit(0)
subprocess.Popen(
    "nohup setsid sleep 1000 & (trap '' 1 2 15; sleep 1001) & disown",
    shell=True,
    executable="/bin/bash",
    start_new_session=True,
)


# %% softmax
def softmax(scores, axis=-1):
    return scores
