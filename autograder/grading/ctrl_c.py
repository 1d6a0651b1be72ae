"""Ctrl-C that is not lost: libraries catch everything while they are imported, and with it the
KeyboardInterrupt of that moment.
"""

import signal

heard = []


def listen():
    """From now on, remember each Ctrl-C besides raising KeyboardInterrupt."""

    def remember_and_raise(number, frame):
        heard.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, remember_and_raise)


def heed():
    """Raise KeyboardInterrupt if there was a Ctrl-C that somebody swallowed."""
    if heard:
        raise KeyboardInterrupt
