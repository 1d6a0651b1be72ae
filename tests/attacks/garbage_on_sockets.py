"""Writes garbage and frames of absurd length to every socket that leads out of its process."""

# %%
import os
import socket

FRAMES = [
    b"\x02" + b"\xff" * 8 + b"x",
    b"\x02\x00\x00\x00\x40\x00\x00\x00\x00" + b"x" * 100_000,
    b"\x04\x26\x05READY" + b"\xff" * 40,
    b"\xff" * 10_000,
    os.urandom(100_000),
]
for descriptor in range(3, 200):
    for frame in FRAMES:
        try:
            os.set_blocking(descriptor, False)
            socket.socket(fileno=os.dup(descriptor)).send(frame)
        except OSError:
            pass


# %% softmax
def softmax(scores, axis=-1):
    return scores
