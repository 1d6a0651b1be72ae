"""Leaves threads, timers, exit handlers, alarms and finalisers behind that change its answers while
it is asked.
"""

# %%
import asyncio
import atexit
import signal
import threading
import weakref


def act(*arguments):
    import autograder.shared.probes as probes

    probes.PROBES["returned"] = lambda implementation, inputs: {"result": True}
    get_ipython().user_ns["softmax"] = print


class Thing:
    pass


thing = Thing()
weakref.finalize(thing, act)
atexit.register(act)
threading.Timer(0.5, act).start()
signal.signal(signal.SIGALRM, act)
signal.setitimer(signal.ITIMER_REAL, 0.3, 0.1)
asyncio.get_event_loop().call_later(0.2, act)


# %% softmax
def softmax(scores, axis=-1):
    return scores
