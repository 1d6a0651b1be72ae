"""The limits of a submission's processes bind the submission, on every machine."""

import subprocess
import sys

import pytest

from autograder.boundary.sandbox import Bounds
from autograder.course import ROOT

BEGIN = """
import mmap, os, resource
from types import SimpleNamespace
from autograder.boundary.inside import world
GIB, NO_RESERVE = 2**30, 0x4000  # Python has no name for MAP_NORESERVE
LIMITS = {"memory": 4 * GIB, "processes": 64, "file": 2**20, "cpu": 60}
"""


def run(lines):
    ran = subprocess.run(
        [sys.executable, "-c", BEGIN + lines], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.mark.parametrize("mapped", [0, 6, 20])
def test_what_libraries_map_takes_nothing_of_a_submissions_memory(mapped):
    """PyTorch for a GPU maps more than a submission may take before anything is calculated."""
    assert Bounds().memory == 4 * 2**30
    assert run(f"""
def map_more(gibibytes):
    kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    return mmap.mmap(-1, max(1, int(gibibytes * GIB)), flags=kind)

libraries = map_more({mapped})
world.limit(LIMITS)
first = map_more(3.5)
try:
    map_more(1)
except OSError:
    print("no more")
""") == ["no", "more"]


@pytest.mark.parametrize(
    ("release", "limited"),
    [("4.18.0-553.el8", False), ("5.13.19-6-pve", False), ("5.14.0-427.el9", True), ("10.0", True)],
)
def test_before_linux_5_14_other_peoples_processes_are_not_counted_against_a_submission(
    release, limited
):
    """There the limit counts all processes of a user on the machine, other submissions' too."""
    before, after = run(f"""
os.uname = lambda: SimpleNamespace(release={release!r})
print(resource.getrlimit(resource.RLIMIT_NPROC)[1])
world.limit(LIMITS)
print(resource.getrlimit(resource.RLIMIT_NPROC)[1])
""")
    assert after == ("64" if limited else before)


def test_memory_is_counted_whatever_a_process_calls_itself():
    lines = """
from autograder.boundary.inside.memory import held_by
with open("/proc/self/comm", "wb") as name:
    name.write(b"\\xff\\xfe")
print(held_by("/proc/self")[1] > 2**20)
"""
    assert run(lines) == ["True"]
