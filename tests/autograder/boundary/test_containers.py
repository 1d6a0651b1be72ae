"""In containers of several kinds, grading either works or says in a sentence why it cannot."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autograder.course import ROOT
from tests.conftest import ROOTLESS, hand_in, run_in_map, solved_notebook

STEM = "ch04_attention"
MANY = """
import os, time
for _ in range(300):
    if os.fork() == 0:
        time.sleep(20)
print("MADE", flush=True)
time.sleep(10)
"""
RUN_IT = f"""
from autograder.boundary import sandbox
from autograder.boundary.kernel import LearnerKernel
sandbox.groups_here = lambda bounds: None
with sandbox.Sandbox({STEM!r}) as boundary, LearnerKernel(boundary, 60) as kernel:
    print(kernel.run({MANY!r}, 20))
"""


@pytest.fixture
def place():
    """A folder that everybody may write to, with a right solution handed in."""
    folder = Path(tempfile.mkdtemp(prefix="containers-", dir="/tmp"))
    hand_in(folder, "ada", STEM, solved_notebook(STEM))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def grade(place, *prefix, uid_map=""):
    """Grade what is in a folder, by a command that begins with others, one of which may wait for a
    map of users; return the exit status, and what was said.
    """
    command = [sys.executable, "-m", "autograder", "grade", place / "submitted"]
    return run_in_map(
        [*prefix, *command, "--into", place / "into", "--workers", "1"],
        uid_map,
        env={
            "HOME": str(place),
            "TMPDIR": str(place),
            "PYTHONPATH": str(ROOT),
            "PATH": "/usr/bin:/bin",
            "PYTHON": sys.base_prefix,
        },
    )


@pytest.fixture
def user_namespaces():
    """Skip where nobody can make a namespace of users."""
    tried = subprocess.run(["unshare", "--user", "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no namespace of users can be made here: {tried.stderr.strip()}")


@pytest.mark.usefixtures("sandbox", "user_namespaces")
def test_root_of_a_map_of_one_user_grades(place):
    status, said = grade(place, "unshare", "--user", "--map-root-user")
    assert status == 0, said
    assert "1 graded" in said


@pytest.mark.usefixtures("sandbox", "user_namespaces")
@pytest.mark.skipif(os.getuid() != 0, reason="to write a map of two lines takes root")
@pytest.mark.parametrize("uid_map", [ROOTLESS, "0 100000 1000\n"])
def test_root_of_any_map_grades(place, uid_map):
    status, said = grade(place, uid_map=uid_map)
    assert status == 0, said
    assert "1 graded" in said


@pytest.mark.usefixtures("sandbox", "user_namespaces")
@pytest.mark.parametrize("allowed", [0, 1])  # bubblewrap takes one, each submission another
def test_where_too_few_namespaces_can_be_made_nothing_is_begun(place, allowed):
    shell = f'echo {allowed} > /proc/sys/user/max_user_namespaces; exec "$@"'
    status, said = grade(place, "unshare", "--user", "--map-root-user", "sh", "-c", shell, "sh")
    assert status == 2, said
    assert "does not let a process make a namespace of users" in said
    assert "graded" not in said
    assert "\n" not in said.strip()


@pytest.mark.usefixtures("sandbox", "user_namespaces")
def test_where_proc_is_hidden_in_part_nothing_is_begun(place):
    shell = 'mount --bind /dev/null /proc/kallsyms && exec "$@"'
    status, said = grade(
        place, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", shell, "sh"
    )
    assert status == 2, said
    assert "hides a part of /proc" in said
    assert "\n" not in said.strip()


# what Docker leaves to the root of a container
DOCKERS = [
    "chown",
    "dac_override",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "net_bind_service",
    "net_raw",
    "sys_chroot",
    "mknod",
    "audit_write",
    "setfcap",
]


@pytest.mark.usefixtures("sandbox")
@pytest.mark.skipif(os.getuid() != 0, reason="it takes root to give away what root may do")
@pytest.mark.parametrize("lacks", ["", "NET_ADMIN"])
def test_the_container_of_the_book_may_do_what_it_has_to(place, lacks):
    page = (ROOT / "book" / "sandbox.md").read_text(encoding="utf-8")
    command = page.split("docker run --rm")[1].split("grade /collected")[0]
    added = set(re.findall(r"--cap-add (\w+)", command)) - {lacks}
    may = ",+".join(["-all", *DOCKERS, *map(str.lower, added)])
    status, said = grade(place, "setpriv", "--bounding-set", may)
    if lacks:
        assert status == 2 and f"start it with --cap-add {lacks}" in said
    else:
        assert status == 0 and "1 graded" in said, said


@pytest.mark.usefixtures("sandbox", "user_namespaces")
def test_processes_are_counted_where_no_limit_on_them_binds():
    # the root of this map is the real one outside, and so is each of its submissions
    run = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", RUN_IT],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "died" in run.stdout or "BlockingIOError" in run.stdout, run.stdout + run.stderr
