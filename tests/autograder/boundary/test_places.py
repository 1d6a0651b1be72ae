"""Folders for kernels' sockets: those of runs that were killed are removed, and no others."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autograder.boundary import places
from autograder.boundary.unsandboxed import Unsandboxed
from autograder.course import ROOT

HOLDS_ONE = """
from autograder.boundary.places import new_folder
folder = new_folder()
print(folder.name, flush=True)
input()
"""


@pytest.fixture
def shared(monkeypatch):
    """A folder for temporary files of our own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # pytest's own is too long for sockets
        monkeypatch.setattr("tempfile.tempdir", short)
        yield Path(short)


def somebody(shared):
    """Start a process that holds a temporary folder; return both."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS_ONE],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(shared)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    folder = Path(process.stdout.readline().strip())
    assert folder.parent == shared
    return process, folder


def test_what_a_killed_run_left_is_removed(shared):
    process, folder = somebody(shared)
    (folder / "kernel-x").mkdir()
    process.kill(), process.wait()
    assert folder.exists()
    with places.new_folder() as own:
        assert not folder.exists()
        assert list(shared.iterdir()) == [Path(own)]


def test_a_folder_in_use_stays_whatever_number_its_process_has_here(shared, monkeypatch):
    """In another container, or on another host, that shares the temporary folder, its number means
    somebody else or nobody.
    """
    process, folder = somebody(shared)
    monkeypatch.setattr("psutil.pid_exists", lambda number: False)
    with places.new_folder():
        assert folder.exists()
    process.communicate("\n")


def test_what_a_killed_run_left_is_removed_though_another_process_has_its_number(
    shared, monkeypatch
):
    process, folder = somebody(shared)
    process.kill(), process.wait()
    monkeypatch.setattr("psutil.pid_exists", lambda number: True)
    with places.new_folder():
        assert not folder.exists()


def test_folders_of_others_stay(shared):
    """Those of an instructor, too, who calls one a name that begins like ours."""
    for name in ("autograder-results", "autograder-4194305-results", "autograder-kernels-mine"):
        (shared / name).mkdir()
    (shared / "autograder-kernels-link").symlink_to(shared / "autograder-results")
    with places.new_folder():
        pass
    assert len(list(shared.iterdir())) == 4


def test_a_folder_that_is_removed_while_it_is_made_is_made_again(shared, monkeypatch):
    hold, seen = places.hold, []

    def robbed(folder, make=0):
        if make and not seen:
            seen.append(folder)
            subprocess.run(["rm", "-rf", folder], check=True)
        return hold(folder, make)

    monkeypatch.setattr(places, "hold", robbed)
    with places.new_folder() as own:
        assert own != str(seen[0])
        assert os.listdir(own)


def test_without_a_sandbox_a_kernels_folder_is_in_one_that_is_held(shared):
    with Unsandboxed("ch04_attention") as boundary:
        process = boundary.fork()
        with places.new_folder():
            assert process.folder.exists()
        process.end()
    assert not list(shared.iterdir())


def test_a_folder_whose_lock_was_removed_before_it_was_locked_is_not_held(shared):
    (shared / "ours").mkdir()
    first = places.hold(shared / "ours", os.O_CREAT)
    assert places.hold(shared / "ours") is None
    (shared / "ours" / places.LOCK).unlink()
    with pytest.raises(FileNotFoundError):
        places.hold(shared / "ours")
    first.close()


def test_where_files_cannot_be_locked_nothing_is_removed(shared, monkeypatch):
    process, folder = somebody(shared)
    process.kill(), process.wait()

    def refuse(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    with places.new_folder() as own:
        assert {Path(own), folder} == set(shared.iterdir())


def test_a_full_disk_is_said_and_not_tried_again_and_again(shared, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(places, "hold", refuse)
    with pytest.raises(OSError, match="No space left"):
        places.new_folder()
