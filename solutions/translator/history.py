"""What is seen during a training: a bar for those who watch, and lines of JSON (and TensorBoard's
logs where that is installed) for later.
"""

import contextlib
import functools
import json
import sys
import time
from pathlib import Path

from tqdm import tqdm

HISTORY = "history.jsonl"
BAR = "{percentage:3.0f}%|{bar:20}| {elapsed} so far, about {remaining} left{postfix}"


class History:
    """The notes that a training leaves in its folder.

    Args:
        folder: of the run.
    """

    def __init__(self, folder):
        self.folder, self.path, self.last_step = Path(folder), Path(folder) / HISTORY, 0

    def note(self, seen):
        """Write a line.

        Args:
            seen: dict of what JSON can hold, with the key "step".
        """
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(seen, ensure_ascii=False) + "\n")
        for name, value in seen.items():
            if self.writer and isinstance(value, int | float) and name != "step":
                self.writer.add_scalar(name, value, seen["step"])

    def forget_after(self, step):
        """Remove what was noted after the checkpoint from which training continues."""
        self.last_step = step
        if self.path.exists():
            lines = self.path.read_text(encoding="utf-8").splitlines()
            whole = [line for line in lines if line.endswith("}")]  # the last may be cut off
            kept = [line for line in whole if json.loads(line)["step"] <= step]
            self.path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")

    @functools.cached_property
    def writer(self):
        """The writer of TensorBoard's logs, or None where it is not installed."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return None
        return SummaryWriter(self.folder / "tensorboard", purge_step=self.last_step + 1)

    def close(self):
        """Write out what TensorBoard has not yet written."""
        if self.writer:
            self.writer.close()


class Recent:
    """The loss and the speed since the last line of the log."""

    def __init__(self):
        self.loss_sum, self.words, self.since = 0.0, 0, time.monotonic()

    def add(self, loss_sum, words):
        """Count a step."""
        self.loss_sum, self.words = self.loss_sum + loss_sum, self.words + words

    def words_per_second(self):
        """Return the speed."""
        return self.words / (time.monotonic() - self.since)

    @contextlib.contextmanager
    def paused(self):
        """Leave out the time that the block takes."""
        started = time.monotonic()
        yield
        self.since += time.monotonic() - started


def progress_bar(progress, shown):
    """Return a bar that says how much is done and, from the speed so far, how long the rest takes.

    Args:
        progress: how much is done already, from 0 to 1.
        shown: False for a bar that is never seen.
    """
    on_screen = sys.stderr.isatty()
    return tqdm(
        total=1000,
        initial=int(1000 * progress),
        bar_format=BAR,
        smoothing=0.1,
        mininterval=0.1 if on_screen else 10,  # seconds; a file shall not fill with bars
        disable=not shown,
        leave=False,
    )
