"""Uses threads and processes that end, pools of them, the bar of tqdm, whose thread does not end, and
files in its home folder and in temporary ones.
"""

FLAGGED = {"looks", "reference"}

# %%
import concurrent.futures
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import threading

from tqdm import tqdm

assert sum(tqdm(range(3))) == 3
thread = threading.Thread(target=sum, args=([1, 2],))
thread.start()
thread.join()
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert list(pool.map(abs, [-1, -2])) == [1, 2]
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
assert (
    subprocess.run([sys.executable, "-c", "print(42)"], capture_output=True, text=True).stdout
    == "42\n"
)
pathlib.Path("notes.txt").write_text("mine")
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x" * 1_000_000)
